"""How people use a scale: levels by person, and spread against the mean with what a bounded scale leaves impossible."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from dashboard.figures.axes import scale_axis, stack_panels
from dashboard.figures.template import Template, blank_figure, end_words, escape

if TYPE_CHECKING:
    import pandas as pd
    import plotly.graph_objects as go


# More people than this are counted in the cells of a grid: so many dots are neither read nor drawn in time.
DOTS = 2_000
_WIDE, _TALL = 64, 32


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
    """Draw SD and relative SD against the mean, one dot per person; of very many, how many lie in each cell of a grid.

    Above, what no ratings on this scale can reach is hatched: the largest SD at each mean, for ``typical_n`` ratings.

    Parameters
    ----------
    frame
        One row per person: participant, mean, std_dev, relative_std_dev, n_turns.
    """
    figure = blank_figure(template, height=36 * template.font_size)
    stack_panels(figure, (1.2, 1.0))
    _impossible(figure, template, limits, typical_n)
    top = (limits[1] - limits[0]) / 2 * 1.12
    panels = {"std_dev": (1, top), "relative_std_dev": (2, 1.0)}
    if len(frame) <= DOTS:
        for column, (row, _) in panels.items():
            figure.add_trace(_dots(frame[frame[column].notna()], column, row, template))
    else:
        counted = {column: _count_cells(frame, column, (limits, height)) for column, (_, height) in panels.items()}
        most = max(int(counts.max()) for counts in counted.values())
        for column, (row, height) in panels.items():
            figure.add_trace(_cells(counted[column], most, row, (limits, height), template))
        figure.update_layout(barmode="overlay", bargap=0)
        _name_ends(figure, most, template)
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
        inside = np.r_[False, (height >= largest) & (height <= top), False]
        # Straight pieces: their ends are all that is needed.
        first, last = np.flatnonzero(~inside[:-1] & inside[1:]), np.flatnonzero(inside[:-1] & ~inside[1:]) - 1
        for one, other in zip(first, last, strict=True):
            x += [float(mean[one]), float(mean[other]), None]
            y += [float(height[one]), float(height[other]), None]
    return go.Scatter(
        x=x, y=y, mode="lines", line={"color": template.quiet, "width": 0.7}, hoverinfo="skip", showlegend=False, xaxis="x", yaxis="y"
    )  # fmt: skip


def _dots(known: pd.DataFrame, column: str, row: int, template: Template) -> go.Scatter:
    import plotly.graph_objects as go

    many = len(known) > 500
    return go.Scatter(
        x=known["mean"],
        y=known[column],
        mode="markers",
        marker={
            "color": template.accent,
            "size": 3 if many else 5,
            "opacity": 0.5 if many else 0.75,
            "line": {"width": 0 if many else 0.5, "color": template.ground},
        },
        customdata=list(zip([escape(name) for name in known["participant"]], known["n_turns"], strict=True)),
        hovertemplate="Participant %{customdata[0]}<br>mean %{x:.2f}, %{y:.2f}<br>n = %{customdata[1]:,}<extra></extra>",
        showlegend=False,
        xaxis="x" if row == 1 else "x2",
        yaxis="y" if row == 1 else "y2",
    )


def _count_cells(frame: pd.DataFrame, column: str, extent: tuple[tuple[float, float], float]) -> np.ndarray:
    """Return how many people lie in each cell of a grid of means and spreads, shape (64, 32)."""
    (low, high), top = extent
    known = frame[frame[column].notna()]
    x = np.clip(((known["mean"].to_numpy() - low) / (high - low) * _WIDE).astype(int), 0, _WIDE - 1)
    y = np.clip((known[column].to_numpy() / top * _TALL).astype(int), 0, _TALL - 1)
    return np.bincount(x * _TALL + y, minlength=_WIDE * _TALL).reshape(_WIDE, _TALL)


def _depth(n: int, most: int, template: Template) -> str:
    """Return the shade of a cell with n people: a single one has to be seen, too."""
    return shade(0.08 + 0.92 * n / most, template)


def _cells(
    counts: np.ndarray, most: int, row: int, extent: tuple[tuple[float, float], float], template: Template
) -> go.Bar:
    """Return the cells that hold people as bars, darker where there are more."""
    import plotly.graph_objects as go

    (low, high), top = extent
    wide, tall = (high - low) / _WIDE, top / _TALL
    across, up = np.nonzero(counts)
    found = counts[across, up]
    return go.Bar(
        x=low + (across + 0.5) * wide,
        y=np.full(len(found), tall),
        base=up * tall,
        width=wide,
        marker={"color": [_depth(n, most, template) for n in found], "line": {"width": 0}},
        customdata=np.column_stack([low + across * wide, low + (across + 1) * wide, up * tall, found])
        .round(4)
        .tolist(),
        hovertemplate=(
            "mean %{customdata[0]:.2f} to %{customdata[1]:.2f}, spread from %{customdata[2]:.2f}<br>"
            "%{customdata[3]:,.0f} participants<extra></extra>"
        ),
        showlegend=False,
        xaxis="x" if row == 1 else "x2",
        yaxis="y" if row == 1 else "y2",
    )


def _name_ends(figure: go.Figure, most: int, template: Template) -> None:
    """Name the lightest and the darkest cell in the legend."""
    import plotly.graph_objects as go

    for n, name in ((1, "1 participant"), (most, f"{most:,} participants")):
        figure.add_trace(
            go.Scatter(
                x=[None],
                y=[None],
                mode="markers",
                marker={"symbol": "square", "size": 10, "color": _depth(n, most, template)},
                name=name,
            )
        )
