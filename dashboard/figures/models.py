"""Figures of mixed models: terms as a forest, shares of variance, marginal means."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from dashboard.figures.template import Template, blank_figure, escape, ink_on, rows_height, shorten, wrap
from dashboard.figures.values import value_column

if TYPE_CHECKING:
    import pandas as pd
    import plotly.graph_objects as go

# Persons are neutral grey on every page; their conversations and the turns take the accent's neighbours.
_PARTS_LIGHT = ("#6b6f76", "#56B4E9", "#0072B2", "#CC79A7", "#E69F00")
_REST_LIGHT, _REST_DARK = "#dcdfe4", "#3a404b"


def draw_forest(
    frame: pd.DataFrame, *, template: Template, unit: str, label: str = "label", estimate: str = "estimate"
) -> go.Figure:
    """Draw coefficients and their intervals, one row per term, with a line at zero; reference levels stand hollow on it.

    Parameters
    ----------
    frame
        One row per term in display order: ``label``, ``estimate``, conf_low, conf_high, and is_reference (estimate 0).
    unit
        Title of the axis.
    """
    import plotly.graph_objects as go

    places = list(range(len(frame)))
    figure = blank_figure(template, height=rows_height(len(frame), template, per_row=1.9, around=6.0))
    _zero_line(figure, template)
    for place, row in zip(places, frame.itertuples(), strict=True):
        if row.conf_low == row.conf_low and not row.is_reference:
            figure.add_trace(_bar(place, float(row.conf_low), float(row.conf_high), template))
    figure.add_trace(
        go.Scatter(
            x=frame[estimate],
            y=places,
            mode="markers",
            cliponaxis=False,
            marker={
                "color": [template.ground if one else template.accent for one in frame["is_reference"]],
                "size": 9,
                "line": {
                    "color": [template.quiet if one else template.ground for one in frame["is_reference"]],
                    "width": [1.5 if one else 1 for one in frame["is_reference"]],
                },
            },
            customdata=[_hover(row) for row in frame.itertuples()],
            hovertemplate="%{customdata}<extra></extra>",
            showlegend=False,
        )
    )
    texts = [_value(row) for row in frame.itertuples()]
    value_column(figure, places, texts, template, quiet=list(frame["is_reference"]))
    names = [escape(shorten(str(text), template.label_length + 4)) for text in frame[label]]
    figure.update_xaxes(title_text=_title(unit, template), range=_reach(frame, 0.0))
    figure.update_yaxes(tickvals=places, ticktext=names, range=[len(frame) - 0.4, -0.7], showgrid=False)
    return figure


def _title(text: str, template: Template) -> str:
    """Return the title of an axis, in two lines where the figure is a column of a paper."""
    return wrap(escape(text), 34 if template.paper else 90)


def _reach(frame: pd.DataFrame, *also: float) -> list[float]:
    """Return limits that show every interval whole, with a little room at either end."""
    ends = [*frame["conf_low"].dropna(), *frame["conf_high"].dropna(), *frame["estimate"].dropna(), *also]
    low, high = min(ends), max(ends)
    room = 0.05 * (high - low or 1.0)
    return [low - room, high + room]


def _hover(row: Any) -> str:
    name = escape(row.label)
    if row.is_reference:
        return f"{name}: the reference level"
    return f"{name}: {row.estimate:.3f}<br>95 % interval {row.conf_low:.3f} to {row.conf_high:.3f}"


def _value(row: Any) -> str:
    decimals = 2 if abs(row.estimate) >= 0.095 else 3
    return "reference" if row.is_reference else f"{row.estimate:.{decimals}f}".replace("-", "−")


def _zero_line(figure: Any, template: Template) -> None:
    figure.add_shape(
        type="line", x0=0, x1=0, yref="paper", y0=0, y1=1, layer="below", line={"color": template.quiet, "width": 1}
    )


def _bar(place: float, low: float, high: float, template: Template, *, upright: bool = False, color: str = "") -> Any:
    import plotly.graph_objects as go

    ends, same = [low, high], [place, place]
    return go.Scatter(
        x=same if upright else ends,
        y=ends if upright else same,
        mode="lines",
        line={"color": color or template.accent, "width": 3},
        opacity=0.55,
        hoverinfo="skip",
        showlegend=False,
    )


def draw_variance_shares(frame: pd.DataFrame, *, template: Template, labels: Mapping[str, str]) -> go.Figure:
    """Draw one bar that divides the variance the fixed terms leave, each part labelled with its share.

    Parameters
    ----------
    frame
        One row per part in display order: ``group``, ``share``; ``residual`` last.
    labels
        Label of each group.
    """
    import plotly.graph_objects as go

    figure = blank_figure(template, height=(12.5 + 1.6 * len(frame)) * template.font_size)
    start = 0.0
    for index, row in enumerate(frame.itertuples()):
        rest = row.group == "residual"
        color = (_REST_DARK if template.dark else _REST_LIGHT) if rest else _PARTS_LIGHT[index % len(_PARTS_LIGHT)]
        name = labels.get(str(row.group), str(row.group))
        figure.add_trace(
            go.Bar(
                x=[row.share],
                y=[0],
                orientation="h",
                marker={"color": color, "line": {"color": template.ground, "width": 1}},
                text=[f"{100 * row.share:.0f} %"] if row.share >= 0.045 else None,
                textposition="inside",
                insidetextanchor="middle",
                textangle=0,
                constraintext="none",
                textfont={"color": ink_on(color), "size": template.font_size},
                name=f"{escape(name)}",
                hovertemplate=f"{escape(name)}: {100 * row.share:.1f} %<extra></extra>",
            )
        )
        start += row.share
    figure.update_layout(barmode="stack", bargap=0.2, showlegend=True, legend_y=1.04)
    figure.update_layout(legend={"itemclick": False, "itemdoubleclick": False})
    unit = _title("Share of the variance that the fixed terms leave", template)
    figure.update_xaxes(range=[0, 1], tickformat=".0%", title_text=unit)
    figure.update_yaxes(visible=False)
    return figure


def draw_marginal_means(
    frame: pd.DataFrame, *, template: Template, row: str, unit: str, colors: Mapping[str, str] | None = None
) -> go.Figure:
    """Draw a marginal mean and its interval per level.

    Parameters
    ----------
    frame
        One row per level in display order: ``row``, estimate, conf_low, conf_high.
    unit
        Title of the axis.
    colors
        Colour of each level; the accent otherwise.
    """
    import plotly.graph_objects as go

    places = list(range(len(frame)))
    shades = [(colors or {}).get(str(level), template.accent) for level in frame[row]]
    figure = blank_figure(template, height=rows_height(len(frame), template, per_row=2.0, around=6.0))
    for place, one, shade in zip(places, frame.itertuples(), shades, strict=True):
        if one.conf_low == one.conf_low:
            figure.add_trace(_bar(place, float(one.conf_low), float(one.conf_high), template, color=shade))
    figure.add_trace(
        go.Scatter(
            x=frame["estimate"],
            y=places,
            mode="markers",
            cliponaxis=False,
            marker={"color": shades, "size": 9, "line": {"color": template.ground, "width": 1}},
            customdata=list(
                zip([escape(str(one)) for one in frame[row]], frame["conf_low"], frame["conf_high"], strict=True)
            ),
            hovertemplate="%{customdata[0]}: %{x:.3f}<br>95 % interval %{customdata[1]:.3f} to %{customdata[2]:.3f}<extra></extra>",
            showlegend=False,
        )
    )
    figure.update_xaxes(title_text=_title(unit, template), range=_reach(frame))
    names = [escape(shorten(str(level), template.label_length)) for level in frame[row]]
    figure.update_yaxes(tickvals=places, ticktext=names, range=[len(frame) - 0.4, -0.6], showgrid=False)
    value_column(figure, places, [f"{value:.2f}".replace("-", "−") for value in frame["estimate"]], template)
    return figure


def draw_agreement(frame: pd.DataFrame, *, template: Template) -> go.Figure:
    """Draw each term's estimate over its standard error in the linear and in the ordinal model, with lines at ±1.96.

    Parameters
    ----------
    frame
        One row per term: label, statistic_linear, statistic_ordinal, agrees.
    """
    import plotly.graph_objects as go

    places = list(range(len(frame)))
    figure = blank_figure(
        template, height=rows_height(len(frame), template, per_row=2.9 if template.paper else 2.2, around=8.0)
    )
    _zero_line(figure, template)
    for place in (-1.96, 1.96):
        figure.add_shape(
            type="line",
            x0=place,
            x1=place,
            yref="paper",
            y0=0,
            y1=1,
            layer="below",
            line={"color": template.quiet, "width": 1, "dash": "dot"},
        )
    series = (("linear", "Linear", template.accent, "circle", -0.21), ("ordinal", "Ordinal", "#E69F00", "square", 0.21))
    for key, name, color, symbol, shift in series:
        figure.add_trace(
            go.Scatter(
                x=frame[f"statistic_{key}"],
                y=[place + shift for place in places],
                mode="markers",
                name=name,
                cliponaxis=False,
                marker={"color": color, "symbol": symbol, "size": 9, "line": {"color": template.ground, "width": 1}},
                customdata=[escape(text) for text in frame["label"]],
                hovertemplate=f"%{{customdata}}, {name.lower()}: %{{x:.2f}}<extra></extra>",
            )
        )
    names = [
        wrap(escape(str(text)), 24 if template.paper else 60) + ("" if agrees else " ≠")
        for text, agrees in zip(frame["label"], frame["agrees"], strict=True)
    ]
    figure.update_layout(legend={"itemclick": False, "itemdoubleclick": False})
    figure.update_xaxes(title_text=_title("Estimate over its standard error (dotted: ±1.96)", template))
    figure.update_yaxes(tickvals=places, ticktext=names, range=[len(frame) - 0.4, -0.7], showgrid=False)
    return figure


def draw_model_comparison(frame: pd.DataFrame, *, template: Template) -> go.Figure:
    """Draw how far each model's AIC lies above the lowest.

    Parameters
    ----------
    frame
        One row per model: formula, aic_difference.
    """
    import plotly.graph_objects as go

    places = list(range(len(frame)))
    figure = blank_figure(template, height=rows_height(len(frame), template, per_row=3.0, around=5.5))
    figure.add_trace(
        go.Bar(
            x=frame["aic_difference"],
            y=places,
            orientation="h",
            width=0.42,
            offset=0.02,
            marker={"color": template.accent},
            text=[f"+{value:,.1f}" if value > 0 else "lowest" for value in frame["aic_difference"]],
            textposition="outside",
            cliponaxis=False,
            customdata=[escape(text) for text in frame["formula"]],
            hovertemplate="%{customdata}<br>AIC +%{x:,.1f}<extra></extra>",
            showlegend=False,
        )
    )
    for place, text in zip(places, frame["formula"], strict=True):
        figure.add_annotation(
            x=0,
            xref="paper",
            xanchor="left",
            y=place - 0.02,
            yanchor="bottom",
            text=escape(shorten(str(text).partition(" ~ ")[2] or str(text), 76)),
            showarrow=False,
            font={"size": template.small},
        )
    largest = float(max([*frame["aic_difference"], 1.0]))
    figure.update_xaxes(title_text="AIC above the lowest", range=[0, largest * 1.15], rangemode="tozero")
    figure.update_yaxes(visible=False, range=[len(frame) - 0.3, -0.7])
    return figure
