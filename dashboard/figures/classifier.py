"""Metrics of classifiers beside the published ones, and predicted levels against what they mean."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from dashboard.figures.axes import scale_axis
from dashboard.figures.template import (
    MARKERS,
    OKABE_ITO,
    Template,
    blank_figure,
    escape,
    rows_height,
    shorten,
    wrap,
)

if TYPE_CHECKING:
    import pandas as pd
    import plotly.graph_objects as go


def draw_metrics(
    frame: pd.DataFrame,
    *,
    template: Template,
    row: str,
    series: str,
    labels: Mapping[str, str],
    unit: str,
    reported: Mapping[str, float] | None = None,
    reference: Mapping[str, float] | None = None,
    reference_label: str = "",
    single: pd.DataFrame | None = None,
    limits: tuple[float, float] = (0.0, 1.0),
    lines: Mapping[str, float] | None = None,
) -> go.Figure:
    """Draw an estimate with its interval per row and series, published values dashed, and a reference as a short bar.

    Parameters
    ----------
    frame
        One row per ``row`` and ``series``: mean, conf_low, conf_high.
    labels
        Label of each row, in drawing order.
    unit
        Title of the axis.
    reported
        Published value by row.
    reference
        What something trivial reaches, by row, called ``reference_label``.
    single
        Single measurements behind the means, drawn as small rings: ``row``, ``series``, estimate.
    limits
        Limits of the axis; widened where an interval goes beyond.
    lines
        Published values that hold for every row, by what they are called.
    """
    rows = [one for one in labels if one in set(frame[row])]
    names = list(dict.fromkeys(frame[series]))
    # A row is one line per series, and a line above and below it for what stands there.
    lanes = len(names) + 1.4 * bool(reported) + 1.4 * bool(reference) + 0.6
    around = 9 + 1.8 * bool(lines)
    figure = blank_figure(template, height=rows_height(len(rows), template, per_row=1.25 * lanes, around=around))
    step, above = 1 / lanes, 1.4 * bool(reported) / lanes
    first = -0.5 + above + 0.8 * step
    for index, name in enumerate(names):
        places = {one: place + first + index * step for place, one in enumerate(rows)}
        style = (template.visible(OKABE_ITO[index % len(OKABE_ITO)]), MARKERS[index % len(MARKERS)])
        part = frame[frame[series] == name]
        if single is not None:
            figure.add_trace(_rings(single[single[series] == name], row, places, style))
        for trace in _series(part, row, places, style, labels, name, template):
            figure.add_trace(trace)
        _values(figure, part, row, places, template)
    low = min([limits[0], *frame["conf_low"].dropna(), *frame["mean"].dropna()])
    high = max([limits[1], *frame["conf_high"].dropna()])
    span = (first - 0.5 * step, first + (len(names) - 0.5) * step)
    middle = (low + high) / 2
    _mark(figure, rows, reported or {}, template, text="reported", span=(span[0] - 0.5 * step, span[1]), middle=middle)
    _mark(
        figure,
        rows,
        reference or {},
        template,
        text=reference_label,
        span=(span[0], span[1] + 0.5 * step),
        middle=middle,
        below=True,
    )
    figure.update_xaxes(title_text=wrap(unit, 40), range=[low - 0.02 * (high - low), high])
    figure.update_yaxes(
        tickvals=[place + first + (len(names) - 1) * step / 2 for place in range(len(rows))],
        ticktext=[wrap(escape(labels[one]), 16) for one in rows],
        range=[len(rows) - 0.45, -0.55 - (1.4 / lanes if lines else 0)],
        showgrid=False,
    )
    _draw_lines(figure, lines or {}, template, place=-0.5)
    figure.update_layout(showlegend=len(names) > 1, margin_r=3.6 * template.font_size)
    return figure


def _draw_lines(figure: go.Figure, lines: Mapping[str, float], template: Template, *, place: float) -> None:
    """Draw dashed lines through all rows; the words of the lowest stand on its left, of the others on their right."""
    for name, value in lines.items():
        dashed = {"color": template.ink, "width": 1.5, "dash": "dash"}
        figure.add_shape(type="line", x0=value, x1=value, y0=0, y1=1, yref="paper", line=dashed, layer="below")
        figure.add_annotation(
            x=value,
            y=place,
            xanchor="right" if value == min(lines.values()) else "left",
            yanchor="bottom",
            text=f"{escape(name)} {value:.3f}",
            showarrow=False,
            font={"size": template.small, "color": template.ink},
        )


def _values(figure: go.Figure, part: pd.DataFrame, row: str, places: Mapping[str, float], template: Template) -> None:
    """Print each estimate in a column on the right, where no mark is in its way."""
    for one, value in zip(part[row], part["mean"], strict=True):
        if one in places and value == value:
            figure.add_annotation(
                x=1,
                xref="paper",
                xanchor="left",
                xshift=4,
                y=places[one],
                text=f"{value:.2f}".replace("-", "−"),
                showarrow=False,
                font={"size": template.small},
            )


def _rings(part: pd.DataFrame, row: str, places: Mapping[str, float], style: tuple[str, str]) -> go.Scatter:
    import plotly.graph_objects as go

    part = part[part[row].isin(list(places)) & part["estimate"].notna()]
    return go.Scatter(
        x=part["estimate"],
        y=[places[one] for one in part[row]],
        mode="markers",
        marker={"symbol": f"{style[1]}-open", "size": 5, "color": style[0], "line": {"width": 1}},
        opacity=0.8,
        cliponaxis=False,
        hoverinfo="skip",
        showlegend=False,
    )


def _series(
    part: pd.DataFrame,
    row: str,
    places: Mapping[str, float],
    style: tuple[str, str],
    labels: Mapping[str, str],
    name: str,
    template: Template,
) -> Sequence[go.Scatter]:
    import plotly.graph_objects as go

    part = part[part[row].isin(list(places)) & part["mean"].notna()]
    x: list[float | None] = []
    y: list[float | None] = []
    for one, low, high in zip(part[row], part["conf_low"], part["conf_high"], strict=True):
        if low == low:
            x, y = [*x, low, high, None], [*y, places[one], places[one], None]
    hovers = [escape(labels[one]) for one in part[row]]
    return (
        go.Scatter(
            x=x,
            y=y,
            mode="lines",
            line={"color": style[0], "width": 3},
            opacity=0.55,
            hoverinfo="skip",
            showlegend=False,
        ),
        go.Scatter(
            x=part["mean"],
            y=[places[one] for one in part[row]],
            mode="markers",
            name=escape(shorten(name, 30)),
            marker={"color": style[0], "symbol": style[1], "size": 9, "line": {"color": template.ground, "width": 1}},
            cliponaxis=False,
            customdata=list(zip(hovers, part["conf_low"], part["conf_high"], strict=True)),
            hovertemplate=(
                f"{escape(name)}<br>%{{customdata[0]}}: %{{x:.3f}}<br>95 % interval %{{customdata[1]:.3f}} to "
                "%{customdata[2]:.3f}<extra></extra>"
            ),
        ),
    )


def _mark(
    figure: go.Figure,
    rows: Sequence[str],
    values: Mapping[str, float],
    template: Template,
    *,
    text: str,
    span: tuple[float, float],
    middle: float,
    below: bool = False,
) -> None:
    """Draw a value of a row as an upright line, dashed or dotted, with its words at the upper or the lower end.

    ``span`` is its reach around the row's place; the words stand on the side of the line that has more room.
    """
    for one, value in values.items():
        if one not in rows or value != value:
            continue
        place = rows.index(one)
        color = template.quiet if below else template.ink
        figure.add_shape(
            type="line",
            x0=value,
            x1=value,
            y0=place + span[0],
            y1=place + span[1],
            line={"color": color, "width": 1.5, "dash": "dot" if below else "dash"},
        )
        figure.add_annotation(
            x=value,
            y=place + span[1 if below else 0],
            xanchor="left" if value <= middle else "right",
            yanchor="top" if below else "bottom",
            text=f"{escape(text)} {value:.3f}".strip(),
            showarrow=False,
            borderpad=0,
            font={"size": template.small, "color": color},
        )


def draw_calibration(
    frame: pd.DataFrame,
    *,
    template: Template,
    series: str,
    limits: tuple[float, float],
    ends: tuple[str | None, str | None],
    x_title: str,
    y_title: str,
) -> go.Figure:
    """Draw the mean truth of each predicted level with its interval, the line of perfect calibration dotted.

    Parameters
    ----------
    frame
        One row per ``series`` and level: level, mean, conf_low, conf_high, n_observations.
    limits, ends
        Ends of the scale and their words.
    """
    import plotly.graph_objects as go

    figure = blank_figure(template, height=27 * template.font_size)
    figure.add_shape(
        type="line",
        x0=limits[0],
        y0=limits[0],
        x1=limits[1],
        y1=limits[1],
        line={"color": template.quiet, "width": 1, "dash": "dot"},
    )
    names = list(dict.fromkeys(frame[series]))
    for index, name in enumerate(names):
        part = frame[(frame[series] == name) & frame["mean"].notna()]
        color, symbol = template.visible(OKABE_ITO[index % len(OKABE_ITO)]), MARKERS[index % len(MARKERS)]
        x = part["level"] + 0.12 * (index - (len(names) - 1) / 2)
        bars_x: list[float | None] = []
        bars_y: list[float | None] = []
        for place, low, high in zip(x, part["conf_low"], part["conf_high"], strict=True):
            if low == low:
                bars_x, bars_y = [*bars_x, place, place, None], [*bars_y, low, high, None]
        figure.add_trace(
            go.Scatter(
                x=bars_x,
                y=bars_y,
                mode="lines",
                line={"color": color, "width": 2.5},
                hoverinfo="skip",
                showlegend=False,
            )
        )
        figure.add_trace(
            go.Scatter(
                x=x,
                y=part["mean"],
                mode="lines+markers",
                name=escape(shorten(name, 30)),
                line={"color": color, "width": 1},
                marker={"color": color, "symbol": symbol, "size": 9, "line": {"color": template.ground, "width": 1}},
                customdata=list(
                    zip(part["level"], part["conf_low"], part["conf_high"], part["n_observations"], strict=True)
                ),
                hovertemplate=(
                    f"{escape(name)}, predicted %{{customdata[0]:g}}<br>mean ground truth %{{y:.2f}} "
                    "(%{customdata[1]:.2f} to %{customdata[2]:.2f})<br>n = %{customdata[3]:,.0f}<extra></extra>"
                ),
            )
        )
    scale_axis(figure, "x", limits, ends, title=x_title, room=0.3)
    scale_axis(figure, "y", limits, ends, title=y_title, room=0.3)
    figure.update_layout(showlegend=len(names) > 1)
    return figure
