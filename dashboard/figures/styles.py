"""How people use a scale: levels by person, and spread against the mean with what a bounded scale leaves impossible."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from dashboard.figures.axes import scale_axis, stack_panels
from dashboard.figures.template import Template, blank_figure, end_words, escape

if TYPE_CHECKING:
    import pandas as pd
    import plotly.graph_objects as go


def shade(share: float, template: Template) -> str:
    """Return a blue whose depth grows with a share from 0 to 1; the ground itself at 0."""
    light, deep = ((22, 32, 46), (120, 205, 250)) if template.dark else ((244, 247, 250), (0, 62, 110))
    # The square root spreads small shares, which are most, over more of the scale.
    depth = float(np.sqrt(min(1.0, max(0.0, share))))
    return "#" + "".join(f"{round(a + (b - a) * depth):02x}" for a, b in zip(light, deep, strict=True))


def draw_level_use(
    frame: pd.DataFrame,
    *,
    template: Template,
    levels: tuple[float, ...],
    ends: tuple[str | None, str | None],
    unit: str,
    n_people: int,
) -> go.Figure:
    """Draw how much each person uses each level: people from left to right, levels from bottom to top.

    Parameters
    ----------
    frame
        One row per place and level: place (0, 1, …), name, level, share. A place is a person, or a bin of people.
    levels
        The levels of the scale, lowest first.
    ends
        What the lowest and the highest level are called.
    unit
        Title of the level axis.
    n_people
        How many people the places stand for.
    """
    import plotly.graph_objects as go

    figure = blank_figure(template, height=19 * template.font_size)
    n_places = int(frame["place"].max()) + 1
    for index, level in enumerate(levels):
        part = frame[frame["level"] == level]
        figure.add_trace(
            go.Bar(
                x=part["place"],
                y=np.full(len(part), 0.94),
                base=np.full(len(part), index - 0.47),
                width=1.0 if n_places > 60 else 0.94,
                marker={"color": [shade(share, template) for share in part["share"]], "line": {"width": 0}},
                customdata=list(zip([escape(name) for name in part["name"]], part["share"], strict=True)),
                hovertemplate=f"%{{customdata[0]}}<br>{level:g}: %{{customdata[1]:.0%}} of ratings<extra></extra>",
                showlegend=False,
            )
        )
    texts = [f"{level:g}" for level in levels]
    for index, word in ((0, ends[0]), (-1, ends[1])):
        texts[index] = f"{end_words(word)} {texts[index]}" if word else texts[index]
    binned = "" if n_places == n_people else f" in {n_places} groups"
    figure.update_layout(bargap=0, barmode="overlay")
    figure.update_xaxes(
        title_text=f"{n_people:,} participants{binned}, lowest mean first",
        range=[-0.5, n_places - 0.5],
        showticklabels=False,
        showgrid=False,
    )
    figure.update_yaxes(
        title_text=unit,
        tickvals=list(range(len(levels))),
        ticktext=texts,
        range=[-0.5, len(levels) - 0.5],
        showgrid=False,
    )
    _key(figure, template)
    return figure


def _key(figure: go.Figure, template: Template) -> None:
    """Explain the shades: five squares with their shares, above the figure."""
    import plotly.graph_objects as go

    for share in (0.0, 0.25, 0.5, 0.75, 1.0):
        figure.add_trace(
            go.Scatter(
                x=[None],
                y=[None],
                mode="markers",
                marker={
                    "symbol": "square",
                    "size": 10,
                    "color": shade(share, template),
                    "line": {"width": 0.5, "color": template.quiet},
                },
                name=f"{100 * share:.0f} %",
            )
        )
    figure.update_layout(legend={"itemwidth": 30, "title": {"text": "Share of a person’s ratings ", "side": "top"}})


def draw_style_map(
    frame: pd.DataFrame,
    *,
    template: Template,
    unit: str,
    limits: tuple[float, float],
    ends: tuple[str | None, str | None],
    typical_n: int,
) -> go.Figure:
    """Draw SD and relative SD against the mean, one dot per person.

    Above, what no ratings on this scale can reach is hatched: the largest SD at each mean, for ``typical_n`` ratings.

    Parameters
    ----------
    frame
        One row per person: participant, mean, std_dev, relative_std_dev, n_turns.
    """
    figure = blank_figure(template, height=36 * template.font_size)
    stack_panels(figure, (1.2, 1.0))
    _impossible(figure, template, limits, typical_n)
    for column, row in (("std_dev", 1), ("relative_std_dev", 2)):
        figure.add_trace(_dots(frame, column, row, template))
    top = (limits[1] - limits[0]) / 2 * 1.12
    layout = figure.layout
    layout.yaxis.update(title_text="SD", range=[-0.06 * top, top])
    layout.yaxis2.update(title_text="Relative SD", range=[-0.06, 1.08], tickvals=[0, 0.5, 1])
    layout.xaxis.update(range=[limits[0] - 0.1, limits[1] + 0.1], showticklabels=False)
    scale_axis(figure, "x", limits, ends, title=f"Mean of {unit[:1].lower()}{unit[1:]}", room=0.1, panel=2)
    return figure


def _impossible(figure: go.Figure, template: Template, limits: tuple[float, float], n: int) -> None:
    import plotly.graph_objects as go

    mean = np.linspace(*limits, 241)
    largest = np.sqrt((mean - limits[0]) * (limits[1] - mean) * n / max(n - 1, 1))
    top = (limits[1] - limits[0]) / 2 * 1.12
    figure.add_trace(
        go.Scatter(
            x=[*mean, limits[1], limits[0]],
            y=[*largest, top, top],
            fill="toself",
            mode="lines",
            line={"color": template.quiet, "width": 1},
            fillcolor=template.grid,
            hoverinfo="skip",
            showlegend=False,
            xaxis="x",
            yaxis="y",
        )
    )
    figure.add_trace(_hatching(mean, largest, top, template))
    figure.add_annotation(
        x=limits[0] + 0.03 * (limits[1] - limits[0]),
        y=top * 0.93,
        xref="x",
        yref="y",
        xanchor="left",
        text="impossible on this scale",
        showarrow=False,
        bgcolor=template.ground,
        font={"size": template.small, "color": template.ink},
    )


def _hatching(mean: np.ndarray, largest: np.ndarray, top: float, template: Template) -> go.Scatter:
    """Return slanted lines over what lies above ``largest``: drawn one by one, since a PDF holds patterns as a bitmap."""
    import plotly.graph_objects as go

    slope = 1.5 * top / (mean[-1] - mean[0])
    x: list[float | None] = []
    y: list[float | None] = []
    for start in np.arange(-1.5 * top, top, top / 16):
        height = start + slope * (mean - mean[0])
        inside = (height >= largest) & (height <= top)
        x += [float(one) if seen else None for one, seen in zip(mean, inside, strict=True)] + [None]
        y += [float(one) if seen else None for one, seen in zip(height, inside, strict=True)] + [None]
    return go.Scatter(
        x=x, y=y, mode="lines", line={"color": template.quiet, "width": 0.7}, hoverinfo="skip", showlegend=False, xaxis="x", yaxis="y"
    )  # fmt: skip


def _dots(frame: pd.DataFrame, column: str, row: int, template: Template) -> go.Scatter:
    import plotly.graph_objects as go

    known = frame[frame[column].notna()]
    many = len(known) > 1000
    return go.Scatter(
        x=known["mean"],
        y=known[column],
        mode="markers",
        marker={
            "color": template.accent,
            "size": 2.5 if many else 5,
            "opacity": 0.35 if many else 0.75,
            "line": {"width": 0 if many else 0.5, "color": template.ground},
        },
        customdata=list(zip([escape(name) for name in known["participant"]], known["n_turns"], strict=True)),
        hovertemplate="Participant %{customdata[0]}<br>mean %{x:.2f}, %{y:.2f}<br>n = %{customdata[1]:,}<extra></extra>",
        showlegend=False,
        xaxis="x" if row == 1 else "x2",
        yaxis="y" if row == 1 else "y2",
    )
