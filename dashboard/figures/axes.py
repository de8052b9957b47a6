"""Axes that show a rating scale as the raters saw it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dashboard.figures.template import escape

if TYPE_CHECKING:
    import plotly.graph_objects as go


def scale_axis(
    figure: go.Figure,
    axis: str,
    limits: tuple[float, float],
    ends: tuple[str | None, str | None],
    *,
    title: str,
    room: float = 0.0,
    **where: int,
) -> None:
    """Set an axis to a rating scale: whole steps where there are few, the words of its ends below their numbers.

    Parameters
    ----------
    axis
        ``x`` or ``y``.
    limits
        The scale's minimum and maximum.
    ends
        What they are called.
    title
        Title of the axis.
    room
        What the axis shows beyond either end, in units of the scale.
    **where
        ``row`` and ``col`` of a subplot.
    """
    low, high = limits
    span = high - low
    n_steps = round(span) if abs(span - round(span)) < 1e-9 and 1 <= span <= 10 else 4
    ticks = [low + span * index / n_steps for index in range(n_steps + 1)]
    texts = [f"{tick:g}" for tick in ticks]
    for index, word in ((0, ends[0]), (-1, ends[1])):
        if word:
            texts[index] = f"{texts[index]}<br>{escape(word)}" if axis == "x" else f"{escape(word)} {texts[index]}"
    update = figure.update_xaxes if axis == "x" else figure.update_yaxes
    update(
        title_text=title,
        tickvals=ticks,
        ticktext=texts,
        range=[low - room, high + room],
        **where,
    )
