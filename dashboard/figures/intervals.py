"""Dots with their intervals, one row per level; and bars of counts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from dashboard.figures.template import Template, blank_figure, end_words, escape, rows_height, shorten, wrap
from dashboard.figures.values import value_column

if TYPE_CHECKING:
    import pandas as pd
    import plotly.graph_objects as go


def draw_intervals(
    frame: pd.DataFrame,
    *,
    template: Template,
    row: str,
    estimate: str,
    labels: Mapping[str, str],
    unit: str,
    axis_range: tuple[float, float] | None,
    percent: bool = False,
    count: str = "n_observations",
    reported: Mapping[str, float] | None = None,
    zero: bool = False,
) -> go.Figure:
    """Draw an estimate and its interval per row, the intervals first.

    Parameters
    ----------
    frame
        One row per level: ``row``, ``estimate``, conf_low, conf_high, ``count``. Rows without an estimate are left out.
    template
        The medium's template.
    row, estimate, count
        Column names.
    labels
        Label of each row.
    unit
        Title of the axis.
    axis_range
        Limits of the axis; None takes those of the data.
    percent
        Whether values are shares.
    reported
        Published values by row, drawn as dashed marks labelled "reported".
    zero
        Whether zero means "no difference" and gets a line.

    Returns
    -------
    plotly.graph_objects.Figure
    """
    import plotly.graph_objects as go

    shown = frame[frame[estimate].notna()]
    places = list(range(len(shown)))
    number = ".0%" if percent else ".2f"
    title = wrap(escape(unit), template.line_length)
    # The shortest figures would otherwise lose their rows to a title of several lines.
    around = max(6.5, 6.6 + 1.4 * title.count("<br>"))
    figure = blank_figure(template, height=rows_height(len(shown), template, per_row=2.1, around=around))
    if zero:
        figure.add_vline(x=0, line={"color": template.ink, "width": 1})
    for place, low, high in zip(places, shown["conf_low"], shown["conf_high"], strict=True):
        if low == low:
            figure.add_trace(_interval(place, low, high, template))
    low, high = axis_range = axis_range or _reach(
        shown, estimate, [value for level, value in (reported or {}).items() if level in set(shown[row])], zero=zero
    )
    for level, value in (reported or {}).items():
        if level in set(shown[row]):
            place = list(shown[row]).index(level)
            at_row = [value, *shown.iloc[place][[estimate, "conf_low", "conf_high"]].dropna()]
            room = {"right": (high - max(at_row)) / (high - low), "left": (min(at_row) - low) / (high - low)}
            _mark_reported(figure, place, value, template, percent=percent, room=room)
    names = [escape(shorten(labels.get(level, str(level)), template.label_length)) for level in shown[row]]
    values = [f"{100 * value:.0f} %" if percent else f"{value:.2f}".replace("-", "−") for value in shown[estimate]]
    figure.add_trace(
        go.Scatter(
            x=shown[estimate],
            y=places,
            mode="markers",
            text=values,
            cliponaxis=False,
            marker={"color": template.accent, "size": 9, "line": {"color": template.ground, "width": 1}},
            customdata=list(zip(names, words_beside(shown, count, number), strict=True)),
            hovertemplate=f"%{{customdata[0]}}: %{{x:{number}}}%{{customdata[1]}}<extra></extra>",
            showlegend=False,
        )
    )
    figure.update_xaxes(title_text=title, range=axis_range, tickformat=".0%" if percent else None)
    figure.update_yaxes(tickvals=places, ticktext=names, range=[len(shown) - 0.4, -0.6], showgrid=False)
    value_column(figure, places, values, template)
    return figure


def words_beside(frame: pd.DataFrame, count: str, number: str) -> list[str]:
    """Return what a hover says beside each estimate: its interval where it has one, and n where it is known."""
    texts = []
    for low, high, n in zip(frame["conf_low"], frame["conf_high"], frame[count], strict=True):
        interval = f"<br>95 % interval {low:{number}} to {high:{number}}" if low == low and high == high else ""
        texts.append(interval + (f"<br>n = {n:,.0f}" if n == n and n > 0 else ""))
    return texts


def draw_counts(frame: pd.DataFrame, *, template: Template, row: str, count: str, unit: str, noun: str) -> go.Figure:
    """Draw one horizontal bar per row, its count printed at the end.

    Parameters
    ----------
    frame
        One row per bar: ``row`` and ``count``.
    unit
        Title of the axis.
    noun
        What is counted, in the plural, for the hover text.
    """
    import plotly.graph_objects as go

    places = list(range(len(frame)))
    names = [escape(shorten(str(level), template.label_length)) for level in frame[row]]
    figure = blank_figure(template, height=rows_height(len(frame), template, per_row=2.0, around=5.5))
    figure.add_trace(
        go.Bar(
            x=frame[count],
            y=places,
            orientation="h",
            marker={"color": template.accent},
            text=[f"{value:,.0f}" for value in frame[count]],
            textposition="outside",
            cliponaxis=False,
            customdata=names,
            hovertemplate=f"%{{customdata}}: %{{x:,.0f}} {noun}<extra></extra>",
            showlegend=False,
        )
    )
    largest = max([*frame[count], 1])
    figure.update_layout(bargap=0.35)
    figure.update_xaxes(title_text=unit, range=[0, largest * 1.12], rangemode="tozero", dtick=_whole_step(largest))
    figure.update_yaxes(tickvals=places, ticktext=names, range=[len(frame) - 0.5, -0.5], showgrid=False)
    return figure


def draw_histogram(
    frame: pd.DataFrame, *, template: Template, unit: str, noun: str, ends: tuple[str | None, str | None]
) -> go.Figure:
    """Draw counted bins as bars.

    Parameters
    ----------
    frame
        One row per bin: low, high, n. Bins join and have one width.
    unit
        Title of the value axis.
    noun
        What is counted, in the plural.
    ends
        What the ends of the scale are called.
    """
    import plotly.graph_objects as go

    figure = blank_figure(template, height=19 * template.font_size)
    width = float((frame["high"] - frame["low"]).iloc[0])
    figure.add_trace(
        go.Bar(
            x=(frame["low"] + frame["high"]) / 2,
            y=frame["n"],
            width=width * 0.94,
            marker={"color": template.accent},
            customdata=list(zip(frame["low"], frame["high"], strict=True)),
            hovertemplate=f"%{{customdata[0]:.2f}} to %{{customdata[1]:.2f}}: %{{y:,.0f}} {noun}<extra></extra>",
            showlegend=False,
        )
    )
    low, high = float(frame["low"].min()), float(frame["high"].max())
    ticks = [low + step for step in range(round(high - low) + 1)] if high - low <= 12 else None
    figure.update_xaxes(
        title_text=unit,
        range=[low, high],
        tickvals=ticks,
        ticktext=_end_labels(ticks, ends) if ticks else None,
        tickangle=0,
        showgrid=False,
    )
    figure.update_yaxes(title_text=noun.capitalize(), rangemode="tozero", dtick=_whole_step(float(frame["n"].max())))
    return figure


def _whole_step(largest: float) -> int | None:
    """Return the step of a count axis: 1 where Plotly would put ticks between whole numbers."""
    return 1 if largest <= 6 else None


def _end_labels(ticks: list[float], ends: tuple[str | None, str | None]) -> list[str]:
    texts = [f"{tick:g}" for tick in ticks]
    for index, word in ((0, ends[0]), (-1, ends[1])):
        if word:
            texts[index] += f"<br>{end_words(word)}"
    return texts


def _interval(place: int, low: float, high: float, template: Template) -> Any:
    import plotly.graph_objects as go

    return go.Scatter(
        x=[low, high],
        y=[place, place],
        mode="lines",
        line={"color": template.accent, "width": 3},
        opacity=0.55,
        hoverinfo="skip",
        showlegend=False,
    )


def _reach(shown: pd.DataFrame, estimate: str, reported: Sequence[float], *, zero: bool) -> tuple[float, float]:
    """Return limits that show every interval whole: lines alone would end at the axis' ends."""
    ends = [
        *shown[[estimate, "conf_low", "conf_high"]].to_numpy().ravel(),
        *reported,
        *([0.0] if zero else []),
    ]
    known = [float(one) for one in ends if one == one]
    room = 0.05 * (max(known) - min(known) or 1.0) if known else 0.0
    return (min(known) - room, max(known) + room) if known else (0.0, 1.0)


def _mark_reported(
    figure: Any, place: int, value: float, template: Template, *, percent: bool, room: Mapping[str, float]
) -> None:
    """Mark a published value; ``room`` is the share of the axis that is free at either end of the row."""
    figure.add_shape(
        type="line",
        x0=value,
        x1=value,
        y0=place - 0.35,
        y1=place + 0.35,
        line={"color": template.ink, "width": 1.5, "dash": "dash"},
    )
    text = f"reported {100 * value:.1f} %" if percent else f"reported {value:g}"
    # On its own row, at the end of the axis that is farther away: below the mark it would meet the next row. Where
    # neither end has room for it, in two lines right of the mark.
    side = max(room, key=lambda one: room[one])
    axis_width = 0.55 * (template.width or 1000)
    if room[side] * axis_width < 0.5 * template.small * len(text):
        where: dict[str, Any] = {"x": value, "xanchor": "left", "xshift": 3, "align": "left"}
        text = text.replace(" ", "<br>", 1)
    else:
        where = {"x": 1.0 if side == "right" else 0.01, "xref": "paper", "xanchor": side}
    figure.add_annotation(
        **where,
        y=place,
        text=text,
        showarrow=False,
        yanchor="middle",
        font={"size": template.small, "color": template.quiet},
    )
