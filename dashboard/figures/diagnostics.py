"""Figures that tell whether a mixed model can be trusted: residuals, normal quantiles, influence."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from dashboard.figures.template import OKABE_ITO, Template, blank_figure, escape, rows_height, shorten, wrap
from dashboard.figures.values import value_column

if TYPE_CHECKING:
    import pandas as pd
    import plotly.graph_objects as go

MAX_POINTS = 1_500
N_BINS = 20


def draw_residuals(frame: pd.DataFrame, *, template: Template) -> go.Figure:
    """Draw residuals against fitted values, with their mean and spread per equally filled bin.

    Parameters
    ----------
    frame
        One row per row fitted: fitted, residual. Above 1,500 rows every nth point is drawn; bins use all.
    """
    import plotly.graph_objects as go

    figure = blank_figure(template, height=22 * template.font_size)
    ordered = frame.sort_values("fitted", kind="stable")
    thin = ordered.iloc[:: max(1, -(-len(ordered) // MAX_POINTS))]
    figure.add_trace(
        go.Scatter(
            x=thin["fitted"],
            y=thin["residual"],
            mode="markers",
            marker={"color": template.quiet, "size": 4, "opacity": 0.35},
            hoverinfo="skip",
            showlegend=False,
        )
    )
    bins = _binned(ordered)
    for sign in (-1, 1):
        figure.add_trace(
            _line(bins["fitted"], bins["mean"] + sign * bins["std"], template, dash="dot", name="± SD", shown=sign > 0)
        )
    figure.add_trace(_line(bins["fitted"], bins["mean"], template, dash="solid", name="Mean", shown=True))
    figure.add_shape(
        type="line", xref="paper", x0=0, x1=1, y0=0, y1=0, layer="below", line={"color": template.quiet, "width": 1}
    )
    figure.update_layout(legend={"itemclick": False, "itemdoubleclick": False})
    figure.update_xaxes(title_text="Fitted value")
    figure.update_yaxes(title_text="Residual")
    return figure


def _binned(ordered: pd.DataFrame) -> pd.DataFrame:
    import numpy as np

    number = np.minimum(np.arange(len(ordered)) * N_BINS // max(len(ordered), 1), N_BINS - 1)
    grouped = ordered.groupby(number)
    table = grouped["residual"].agg(["mean", "std"])
    table["fitted"] = grouped["fitted"].mean()
    return table


def _line(x: Any, y: Any, template: Template, *, dash: str, name: str, shown: bool) -> Any:
    import plotly.graph_objects as go

    return go.Scatter(
        x=x,
        y=y,
        mode="lines",
        line={"color": template.accent, "width": 2, "dash": dash},
        name=name,
        hoverinfo="skip",
        showlegend=shown,
    )


def draw_quantiles(series: Mapping[str, pd.DataFrame], *, template: Template) -> go.Figure:
    """Draw normal quantile plots of several sets of values in one panel, each over its own standard deviation.

    Parameters
    ----------
    series
        Per name a frame: theoretical, observed (sorted).
    """
    import plotly.graph_objects as go

    figure = blank_figure(template, height=24 * template.font_size)
    figure.add_shape(
        type="line", x0=-3.6, x1=3.6, y0=-3.6, y1=3.6, layer="below", line={"color": template.quiet, "width": 1}
    )
    markers = ("circle", "square", "diamond", "triangle-up")
    for index, (name, frame) in enumerate(series.items()):
        spread = float(frame["observed"].std())
        if not spread > 0:
            continue
        thin = frame.iloc[:: max(1, -(-len(frame) // MAX_POINTS))]
        figure.add_trace(
            go.Scatter(
                x=thin["theoretical"],
                y=(thin["observed"] - frame["observed"].mean()) / spread,
                mode="markers",
                marker={
                    "color": template.quiet if index == 0 else OKABE_ITO[(index - 1) % len(OKABE_ITO)],
                    "size": 5,
                    "symbol": markers[index % len(markers)],
                    "opacity": 0.75,
                },
                name=escape(name),
                hovertemplate=f"{escape(name)}: normal %{{x:.2f}}, observed %{{y:.2f}}<extra></extra>",
            )
        )
    figure.update_layout(legend={"itemclick": False, "itemdoubleclick": False})
    figure.update_xaxes(title_text="Normal quantile", range=[-3.8, 3.8])
    figure.update_yaxes(title_text="Observed, in its own SD")
    return figure


def draw_influence(frame: pd.DataFrame, *, template: Template, group: str) -> go.Figure:
    """Draw how far each coefficient moves without one group, in standard errors; one row per group.

    Parameters
    ----------
    frame
        One row per group and term: level, term, change_scaled.
    group
        What the groups are called.
    """
    import plotly.graph_objects as go

    strongest = (
        frame.groupby("level")["change_scaled"].apply(lambda part: part.abs().max()).sort_values(ascending=False)
    )
    levels = [str(level) for level in strongest.index]
    places = {level: place for place, level in enumerate(levels)}
    figure = blank_figure(
        template, height=rows_height(len(levels), template, per_row=2.3 if template.paper else 1.7, around=6.5)
    )
    figure.add_shape(
        type="line", x0=0, x1=0, yref="paper", y0=0, y1=1, layer="below", line={"color": template.quiet, "width": 1}
    )
    own = frame.assign(size=frame["change_scaled"].abs())
    largest = set(own.loc[own.groupby("level")["size"].idxmax()].index)
    emphasised = [index in largest for index in own.index]
    figure.add_trace(
        go.Scatter(
            x=own["change_scaled"],
            y=[places[str(level)] for level in own["level"]],
            mode="markers",
            cliponaxis=False,
            marker={
                "color": [template.accent if one else template.quiet for one in emphasised],
                "size": [9 if one else 5 for one in emphasised],
                "opacity": [1.0 if one else 0.5 for one in emphasised],
            },
            customdata=[escape(term) for term in own["term"]],
            hovertemplate="%{customdata}: %{x:.2f} SE<extra></extra>",
            showlegend=False,
        )
    )
    # Which coefficient moves most is said beside its row: beside its dot, long names meet the axis and the edge.
    moved = own[emphasised]
    texts = [wrap(escape(shorten(str(term), 34)), 18 if template.paper else 34) for term in moved["term"]]
    value_column(figure, [places[str(level)] for level in moved["level"]], texts, template)
    low, high = min(0.0, float(own["change_scaled"].min())), max(0.0, float(own["change_scaled"].max()))
    room = 0.05 * max(high - low, 0.2)
    figure.update_xaxes(
        title_text=wrap(
            escape(f"Coefficient with minus without the {group}, in standard errors"), 40 if template.paper else 90
        ),
        range=[low - room, high + room],
    )
    figure.update_yaxes(
        tickvals=list(range(len(levels))),
        ticktext=[escape(shorten(level, 24)) for level in levels],
        range=[len(levels) - 0.4, -0.7],
        showgrid=False,
    )
    return figure
