"""Axes that show a rating scale as the raters saw it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dashboard.figures.template import end_words, wrap

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
    panel: int = 1,
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
    panel
        Which panel's axis, counted from 1.
    """
    low, high = limits
    span = high - low
    n_steps = round(span) if abs(span - round(span)) < 1e-9 and 1 <= span <= 10 else 4
    ticks = [low + span * index / n_steps for index in range(n_steps + 1)]
    texts = [f"{tick:g}" for tick in ticks]
    for index, word in ((0, ends[0]), (-1, ends[1])):
        if word:
            texts[index] = (
                f"{texts[index]}<br>{end_words(word)}" if axis == "x" else f"{end_words(word)} {texts[index]}"
            )
    name = f"{axis}axis{panel if panel > 1 else ''}"
    figure.layout[name].update(
        title_text=wrap(title) if axis == "x" else title,
        tickvals=ticks,
        ticktext=texts,
        tickangle=0,
        range=[low - room, high + room],
    )


def stack_panels(figure: go.Figure, shares: tuple[float, ...], *, gap: float = 0.06) -> None:
    """Give a figure several panels, the first on top, each with axes like those it has: x, x2, … and y, y2, ….

    Parameters
    ----------
    shares
        Height of each panel, relative to one another.
    gap
        Space between panels as a share of the figure.
    """
    room = 1 - gap * (len(shares) - 1)
    top = 1.0
    for index, share in enumerate(shares, start=1):
        suffix = "" if index == 1 else str(index)
        low = top - room * share / sum(shares)
        if index > 1:
            figure.layout[f"xaxis{suffix}"] = figure.layout.xaxis.to_plotly_json() | {"anchor": f"y{suffix}"}
            figure.layout[f"yaxis{suffix}"] = figure.layout.yaxis.to_plotly_json() | {"anchor": f"x{suffix}"}
        figure.layout[f"yaxis{suffix}"].domain = [max(0.0, low), top]
        top = low - gap
