"""Step curves of survival with the numbers at risk below, and the cumulative incidence beside."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from dashboard.figures.breakdowns import band, shown_turns
from dashboard.figures.template import DASHES, Template, blank_figure, escape, shorten, wrap

if TYPE_CHECKING:
    import pandas as pd
    import plotly.graph_objects as go

NAME_LENGTH = 20
MOST_BANDS = 4
TITLE_WIDTH = 32


def draw_survival(
    frame: pd.DataFrame,
    incidence: pd.DataFrame,
    *,
    template: Template,
    levels: Sequence[str],
    labels: Mapping[str, str],
    colors: Mapping[str, str],
    units: tuple[str, str],
    x_title: str,
    survival: str = "survival",
    start: float = 1.0,
    counted: str = "Conversations at risk",
) -> go.Figure:
    """Draw one step curve per level in the upper panel, numbers at risk under it, and the incidence in the lower panel.

    Parameters
    ----------
    frame
        One row per level and turn: level, turn, ``survival``, conf_low, conf_high, n_at_risk. Turns that are not to be shown
        are left out by the caller.
    incidence
        One row per level and turn: level, turn, cumulative_incidence, conf_low, conf_high; empty for no lower panel.
    levels, labels, colors
        The levels in order, their labels and colours.
    units
        Titles of the two vertical axes.
    x_title
        Title of the horizontal axis.
    survival, start
        The column to draw and its value before the first turn.
    counted
        What the numbers below the curve are.
    """
    last = int(max([*frame["turn"], *incidence["turn"], 1]))
    size, both = template.font_size, not incidence.empty
    # Without a lower panel the axis' title stands between the curve and the numbers.
    titled = 0.0 if both else (1.4 * (wrap(x_title, TITLE_WIDTH).count("<br>") + 1)) * size
    heights = (15 * size, len(levels) * 1.5 * size + (5.4 if both else 3.4) * size + titled, 12 * size if both else 0.0)
    several = len(levels) > 1
    widest = max((len(shorten(labels[one], NAME_LENGTH)) for one in levels), default=0)
    # Plotly makes no room for annotations: the names of the rows need a margin of their own.
    margin = {
        "t": 2 * size,
        "b": 4.2 * size if both else 8,
        "l": max(5.2 * size, 0.56 * template.small * widest + 8) if several else 8,
    }
    total = sum(heights)
    figure = blank_figure(template, height=total + margin["t"] + margin["b"])
    figure.update_layout(margin=figure.layout.margin.to_plotly_json() | margin)
    curve = (1 - heights[0] / total, 1.0)
    figure.update_yaxes(domain=list(curve), range=[0, 1.02], tickformat=".0%", title_text=wrap(units[0], 24), nticks=6)
    for index, level in enumerate(levels):
        part = frame[frame["level"] == level]
        style = (colors.get(level, template.accent), DASHES[index % len(DASHES)])
        _add_steps(
            figure, part, survival, labels[level], style, start=start, panel=1, with_band=len(levels) <= MOST_BANDS
        )
    _axis(figure, last, panel=1, title="" if both else x_title)
    _numbers_at_risk(
        figure,
        frame,
        levels,
        labels,
        colors,
        template,
        below=curve[0],
        total=total,
        last=last,
        counted=counted,
        gap=(2.9 * size + titled) / total,
    )
    if both:
        figure.layout["xaxis2"] = figure.layout.xaxis.to_plotly_json() | {"anchor": "y2"}
        figure.layout["yaxis2"] = figure.layout.yaxis.to_plotly_json() | {
            "anchor": "x2",
            "domain": [0.0, heights[2] / total],
            "range": [
                0,
                min(1.02, max(0.05, 1.15 * float(incidence[["cumulative_incidence", "conf_high"]].max().max()))),
            ],
        }
        figure.layout["yaxis2"].title.text = wrap(units[1], 24)
        for index, level in enumerate(levels):
            part = incidence[incidence["level"] == level]
            style = (colors.get(level, template.accent), DASHES[index % len(DASHES)])
            _add_steps(
                figure,
                part,
                "cumulative_incidence",
                labels[level],
                style,
                start=0.0,
                panel=2,
                with_band=len(levels) <= MOST_BANDS,
            )
        _axis(figure, last, panel=2, title=x_title)
    return figure


def _add_steps(
    figure: go.Figure,
    part: pd.DataFrame,
    column: str,
    label: str,
    style: tuple[str, str],
    *,
    start: float,
    panel: int,
    with_band: bool,
) -> None:
    import pandas as pd
    import plotly.graph_objects as go

    if part.empty:
        return
    color, dash = style
    axes = {"xaxis": f"x{panel if panel > 1 else ''}", "yaxis": f"y{panel if panel > 1 else ''}"}
    origin = pd.DataFrame({"turn": [0], column: [start], "conf_low": [start], "conf_high": [start]})
    full = pd.concat([origin, part[["turn", column, "conf_low", "conf_high"]]], ignore_index=True)
    # A step holds until the next turn: the last one is drawn on a little, or it would not be seen.
    full = pd.concat([full, full.tail(1).assign(turn=full["turn"].iloc[-1] + 0.5)], ignore_index=True)
    if with_band:
        figure.add_traces(band(full, "turn", color, opacity=0.16, step=True, **axes))
    figure.add_trace(
        go.Scatter(
            x=full["turn"],
            y=full[column],
            mode="lines",
            line={"shape": "hv", "color": color, "width": 2.2, "dash": dash},
            name=escape(shorten(label, 30)),
            showlegend=False,
            customdata=list(zip(full["conf_low"], full["conf_high"], strict=True)),
            hovertemplate=(
                f"{escape(label)}, turn %{{x}}: %{{y:.0%}}<br>95 % interval %{{customdata[0]:.0%}} to "
                "%{customdata[1]:.0%}<extra></extra>"
            ),
            **axes,
        )
    )


def _axis(figure: go.Figure, last: int, *, panel: int, title: str) -> None:
    ticks = [0, *(turn for turn in shown_turns(0, last) if turn)]
    figure.layout[f"xaxis{panel if panel > 1 else ''}"].update(
        title_text=wrap(title, TITLE_WIDTH), tickvals=ticks, ticktext=[str(turn) for turn in ticks], range=[-0.25, last + 0.4], showgrid=False, tickangle=0
    )  # fmt: skip


def _numbers_at_risk(
    figure: go.Figure,
    frame: pd.DataFrame,
    levels: Sequence[str],
    labels: Mapping[str, str],
    colors: Mapping[str, str],
    template: Template,
    *,
    below: float,
    total: float,
    last: int,
    counted: str,
    gap: float,
) -> None:
    """Write how many are at risk at the printed turns, one row per level, under the curve's axis: the legend, too."""
    small = {"size": template.small, "color": template.quiet}
    row = 1.5 * template.font_size / total
    top = below - gap
    figure.add_annotation(
        x=0, xref="paper", y=top, yref="paper", text=counted, showarrow=False, xanchor="left", yanchor="middle",
        font=small,
    )  # fmt: skip
    ticks = [turn for turn in shown_turns(0, last) if turn]
    for index, level in enumerate(levels, start=1):
        part = frame[frame["level"] == level].set_index("turn")["n_at_risk"]
        y = top - index * row
        if len(levels) > 1:
            figure.add_annotation(
                x=-0.01, xref="paper", y=y, yref="paper", text=escape(shorten(labels[level], NAME_LENGTH)), showarrow=False,
                xanchor="right", yanchor="middle", font=small | {"color": template.ink},
            )  # fmt: skip
            # The row's sample of its line makes it the legend.
            figure.add_shape(
                type="line", x0=0.0, x1=0.09, xref="paper", y0=y, y1=y, yref="paper",
                line={"color": colors.get(level, template.accent), "width": 2.2, "dash": DASHES[(index - 1) % len(DASHES)]},
            )  # fmt: skip
        for turn in ticks:
            if turn in part.index:
                figure.add_annotation(
                    x=turn, y=y, yref="paper", text=f"{part[turn]:,.0f}", showarrow=False, yanchor="middle", font=small
                )
