"""Estimates with intervals for several series per row, one below the other."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from dashboard.figures.intervals import words_beside
from dashboard.figures.template import MARKERS, OKABE_ITO, Template, blank_figure, escape, rows_height, shorten, wrap

if TYPE_CHECKING:
    import pandas as pd
    import plotly.graph_objects as go


def draw_dodged_intervals(
    frame: pd.DataFrame,
    *,
    template: Template,
    row: str,
    series: str,
    estimate: str,
    series_labels: dict[Any, str],
    colors: list[str] | None = None,
    unit: str,
    axis_range: tuple[float, float] | None = None,
    zero: float | None = None,
    count: str = "n_conversations",
    decimals: int = 1,
) -> go.Figure:
    """Draw an estimate with its interval per row and series, the series of a row one below the other.

    Parameters
    ----------
    frame
        One row per ``row`` and ``series``: ``estimate``, conf_low, conf_high, ``count``; rows in order of appearance.
    series_labels
        Label of each series, in drawing order; each has a colour and a marker of its own.
    colors
        Colours of the series; Okabe and Ito's unless given.
    zero
        Where to draw a reference line.
    decimals
        Decimals of hover texts.
    """
    rows = list(dict.fromkeys(frame[row]))
    title = wrap(escape(unit), template.line_length)
    around = 7.5 + 1.4 * (title.count("<br>") + 1)
    per_row = 0.8 + 0.75 * len(series_labels)
    figure = blank_figure(template, height=rows_height(len(rows), template, per_row=per_row, around=around))
    if zero is not None:
        figure.add_shape(
            type="line", x0=zero, x1=zero, y0=0, y1=1, yref="paper", line={"color": template.quiet, "width": 1}
        )
    step = 0.72 / max(1, len(series_labels))
    palette = colors or list(OKABE_ITO)
    for index, (key, label) in enumerate(series_labels.items()):
        part = frame[(frame[series] == key) & frame[estimate].notna()]
        places = [rows.index(one) + (index - (len(series_labels) - 1) / 2) * step for one in part[row]]
        style = (template.visible(palette[index % len(palette)]), MARKERS[index % len(MARKERS)])
        figure.add_traces(
            [
                _intervals(part, places, style[0]),
                _dots(part, places, label, style, row, estimate, count, decimals, template),
            ]
        )
    figure.update_xaxes(title_text=title, range=list(axis_range or _limits(frame, estimate)))
    figure.update_yaxes(
        tickvals=list(range(len(rows))),
        ticktext=[escape(shorten(str(one), template.label_length)) for one in rows],
        range=[len(rows) - 0.45, -0.55],
        showgrid=False,
    )
    figure.update_layout(legend_y=1.02, legend_bgcolor="rgba(0,0,0,0)")
    return figure


def _limits(frame: pd.DataFrame, estimate: str) -> tuple[float, float]:
    """Return limits that hold every interval with room at both ends."""
    values = frame[[estimate, "conf_low", "conf_high"]].to_numpy(dtype=float)
    low, high = np.nanmin(values), np.nanmax(values)
    room = 0.04 * (high - low) or 1.0
    return float(low - room), float(high + room)


def _intervals(part: pd.DataFrame, places: list[float], color: str) -> go.Scatter:
    import plotly.graph_objects as go

    x: list[float | None] = []
    y: list[float | None] = []
    for place, low, high in zip(places, part["conf_low"], part["conf_high"], strict=True):
        if low == low:
            x, y = [*x, low, high, None], [*y, place, place, None]
    return go.Scatter(x=x, y=y, mode="lines", line={"color": color, "width": 2.5}, hoverinfo="skip", showlegend=False)


def _dots(
    part: pd.DataFrame,
    places: list[float],
    label: str,
    style: tuple[str, str],
    row: str,
    estimate: str,
    count: str,
    decimals: int,
    template: Template,
) -> go.Scatter:
    import plotly.graph_objects as go

    names = [escape(str(one)) for one in part[row]]
    color, symbol = style
    return go.Scatter(
        x=part[estimate],
        y=places,
        mode="markers",
        name=escape(label),
        marker={"color": color, "symbol": symbol, "size": 8, "line": {"color": template.ink, "width": 0.8}},
        cliponaxis=False,
        customdata=list(zip(names, words_beside(part, count, f".{decimals}f"), strict=True)),
        hovertemplate=(f"%{{customdata[0]}}, {escape(label)}: %{{x:.{decimals}f}}%{{customdata[1]}}<extra></extra>"),
    )
