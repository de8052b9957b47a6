"""Ratings around an event: what was seen, what comparable conversations show, and what order alone would give."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from dashboard.figures.axes import scale_axis
from dashboard.figures.breakdowns import band
from dashboard.figures.template import Template, blank_figure, wrap

if TYPE_CHECKING:
    import pandas as pd
    import plotly.graph_objects as go


def draw_alignment(
    frame: pd.DataFrame,
    order: pd.DataFrame,
    *,
    template: Template,
    labels: Mapping[str, str],
    limits: tuple[float, float],
    ends: tuple[str | None, str | None],
    title: str,
    x_title: str,
) -> go.Figure:
    """Draw means by offset from the event, with the band that shuffled order gives behind them.

    Parameters
    ----------
    frame
        One row per offset and series: offset, series (``breakdown``, ``matched``), mean, conf_low, conf_high, n_conversations.
    order
        One row per offset: offset, mean, conf_low, conf_high of shuffled ratings.
    labels
        Labels of ``breakdown``, ``matched`` and ``order``.
    limits, ends, title
        The rating scale's limits, the words of its ends, and the vertical axis' title.
    x_title
        Title of the horizontal axis.
    """
    import plotly.graph_objects as go

    figure = blank_figure(template, height=27 * template.font_size)
    shades = band(order, "offset", template.quiet, opacity=0.28)
    for shade in shades[1:]:
        shade.update(name=labels["order"], showlegend=True)
    figure.add_traces(shades)
    styles = {"matched": (template.quiet, "dash", "square"), "breakdown": (template.accent, "solid", "circle")}
    for series, (color, dash, symbol) in styles.items():
        part = frame[(frame["series"] == series) & frame["mean"].notna()]
        figure.add_trace(
            go.Scatter(
                x=part["offset"],
                y=part["mean"],
                mode="lines+markers",
                name=labels[series],
                line={"color": color, "width": 2.2, "dash": dash},
                marker={"symbol": symbol, "size": 7, "color": color, "line": {"color": template.ground, "width": 1}},
                error_y={
                    "type": "data",
                    "symmetric": False,
                    "array": (part["conf_high"] - part["mean"]).fillna(0),
                    "arrayminus": (part["mean"] - part["conf_low"]).fillna(0),
                    "thickness": 1.5,
                    "width": 0,
                    "color": color,
                },
                customdata=list(zip(part["conf_low"], part["conf_high"], part["n_conversations"], strict=True)),
                hovertemplate=(
                    "%{x:+d}: %{y:.2f}<br>95 % interval %{customdata[0]:.2f} to %{customdata[1]:.2f}<br>"
                    "%{customdata[2]:,.0f} conversations<extra></extra>"
                ),
            )
        )
    offsets = sorted(frame["offset"].unique())
    counts = frame[frame["series"] == "breakdown"].set_index("offset")["n_conversations"]
    texts = [f"{_signed(one)}<br>{counts.get(one, 0):,.0f}" for one in offsets]
    scale_axis(figure, "y", limits, ends, title=wrap(title, 30), room=0.04 * (limits[1] - limits[0]))
    figure.update_xaxes(
        title_text=wrap(x_title, 44),
        tickvals=offsets,
        ticktext=texts,
        tickangle=0,
        range=[offsets[0] - 0.4, offsets[-1] + 0.4],
        showgrid=False,
    )
    figure.update_layout(legend={"y": 1.02})
    return figure


def _signed(offset: int) -> str:
    return "0" if offset == 0 else f"{offset:+d}".replace("-", "−")
