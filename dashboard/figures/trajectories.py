"""Ratings by turn: the mean with its band, the model's line, how many still run, and single conversations behind."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from dashboard.figures.axes import scale_axis
from dashboard.figures.breakdowns import band, shown_turns
from dashboard.figures.template import DASHES, MARKERS, Template, blank_figure, escape, shorten, wrap

if TYPE_CHECKING:
    import pandas as pd
    import plotly.graph_objects as go

MOST_BANDS = 4


def draw_trajectories(
    frame: pd.DataFrame,
    lines: pd.DataFrame,
    *,
    template: Template,
    running: Mapping[int, int],
    levels: Sequence[str],
    labels: Mapping[str, str],
    colors: Mapping[str, str],
    limits: tuple[float, float],
    ends: tuple[str | None, str | None],
    title: str,
    x_title: str,
    lines_label: str,
    ticks: Mapping[int, str] | None = None,
    threshold: float | None = None,
) -> go.Figure:
    """Draw one mean curve per level over a sample of single conversations.

    Parameters
    ----------
    frame
        One row per level and turn: level, turn, mean, conf_low, conf_high, n_running; and fitted, NaN where there is no
        model's line.
    lines
        One row per point of a single conversation: conversation, turn, value, shift (to keep equal ratings apart). May be empty.
    running
        How many conversations run at each turn, printed below it.
    levels, labels, colors
        The levels in order, their labels and colours.
    limits, ends, title
        The rating scale's limits, the words of its ends, and the vertical axis' title.
    x_title
        Title of the horizontal axis.
    lines_label
        What the lines behind are called.
    ticks
        Labels of the horizontal axis by turn; None prints turn numbers.
    threshold
        Where to draw the line of low ratings.
    """
    figure = blank_figure(template, height=(28 + (1.3 * len(levels) if len(levels) > 1 else 0)) * template.font_size)
    if len(lines):
        figure.add_trace(_single(lines, template, lines_label))
    for index, level in enumerate(levels):
        part = frame[(frame["level"] == level) & frame["mean"].notna()]
        color = colors.get(level, template.accent)
        if len(levels) <= MOST_BANDS:
            figure.add_traces(band(part, "turn", color, opacity=0.2))
        figure.add_trace(_mean(part, labels[level], color, index, template, several=len(levels) > 1))
        if len(levels) == 1 and part["fitted"].notna().any():
            figure.add_trace(_line(part, template))
    if threshold is not None:
        figure.add_shape(
            type="line", x0=0, x1=1, xref="paper", y0=threshold, y1=threshold, line={"color": template.quiet, "width": 1, "dash": "dot"}
        )  # fmt: skip
    first, last = int(frame["turn"].min()), int(frame["turn"].max())
    shown = list(ticks) if ticks else shown_turns(first, last)
    texts = [f"{ticks[turn] if ticks else turn}<br>{running.get(turn, 0):,.0f}" for turn in shown]
    room = 0.06 * (limits[1] - limits[0])
    scale_axis(figure, "y", limits, ends, title=wrap(title, 32), room=room)
    figure.update_xaxes(
        title_text=wrap(x_title, 42),
        tickvals=shown,
        ticktext=texts,
        tickangle=0,
        range=[first - 0.4, last + 0.4],
        showgrid=False,
    )
    figure.update_layout(legend={"y": 1.02}, hovermode="closest")
    return figure


def _single(lines: pd.DataFrame, template: Template, label: str) -> go.Scatter:
    """Return one trace of all single conversations, broken between them: thousands of points stay light."""
    import plotly.graph_objects as go

    x: list[float | None] = []
    y: list[float | None] = []
    ids: list[list[object]] = []
    for name, part in lines.groupby("conversation", sort=False):
        x += [*part["turn"].tolist(), None]
        y += [*(part["value"] + part["shift"]).tolist(), None]
        ids += [
            *(
                [name, escape(name), int(turn), value]
                for turn, value in zip(part["source_turn"], part["value"], strict=True)
            )
        ]
        ids.append([None, None, None, None])
    return go.Scatter(
        x=x,
        y=y,
        mode="lines+markers",
        name=escape(label),
        line={"color": template.quiet, "width": 0.8},
        marker={"color": template.quiet, "size": 3.5},
        opacity=0.35,
        connectgaps=False,
        customdata=ids,
        hovertemplate="%{customdata[1]}, turn %{customdata[2]}: %{customdata[3]:.3g}<extra></extra>",
    )


def _mean(part: pd.DataFrame, label: str, color: str, index: int, template: Template, *, several: bool) -> go.Scatter:
    import plotly.graph_objects as go

    return go.Scatter(
        x=part["turn"],
        y=part["mean"],
        mode="lines+markers",
        name=escape(shorten(label, 34)),
        line={"color": color, "width": 2.4, "dash": DASHES[index % len(DASHES)] if several else "solid"},
        marker={
            "symbol": MARKERS[index % len(MARKERS)],
            "size": 7,
            "color": color,
            "line": {"color": template.ground, "width": 1},
        },
        customdata=list(zip(part["conf_low"], part["conf_high"], part["n_running"], strict=True)),
        hovertemplate=(
            f"{escape(label)}, %{{x}}: %{{y:.2f}}<br>95 % interval %{{customdata[0]:.2f}} to %{{customdata[1]:.2f}}<br>"
            "%{customdata[2]:,.0f} conversations running<extra></extra>"
        ),
    )


def _line(part: pd.DataFrame, template: Template) -> go.Scatter:
    import plotly.graph_objects as go

    return go.Scatter(
        x=part["turn"],
        y=part["fitted"],
        mode="lines",
        name="Model’s line",
        line={"color": template.ink, "width": 1.8, "dash": "dash"},
        hovertemplate="Model, turn %{x}: %{y:.2f}<extra></extra>",
    )
