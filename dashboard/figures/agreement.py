"""How dimensions agree with the overall rating: three kappas per dimension, with published figures beside."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from dashboard.figures.dodged import draw_dodged_intervals
from dashboard.figures.template import Template

if TYPE_CHECKING:
    import pandas as pd
    import plotly.graph_objects as go

_LABELS = {"unweighted": "unweighted", "linear": "linear weights", "quadratic": "quadratic weights"}


def draw_kappas(
    frame: pd.DataFrame, *, template: Template, labels: Mapping[str, str], reported: Mapping[str, float]
) -> go.Figure:
    """Draw Cohen's kappa of each dimension in three weightings.

    Parameters
    ----------
    frame
        One row per dimension and weighting: dimension, weights, estimate, conf_low, conf_high, n_observations.
    labels
        Label of each dimension.
    reported
        Published kappas by dimension, drawn as dashed lines across the dimension's row.
    """
    shown = frame.assign(row=[labels.get(name, name) for name in frame["dimension"]])
    low = min(0.0, float(shown[["estimate", "conf_low"]].min().min()))
    figure = draw_dodged_intervals(
        shown,
        template=template,
        row="row",
        series="weights",
        estimate="estimate",
        series_labels=dict(_LABELS),
        unit="Kappa with the overall rating",
        axis_range=(low, 1.0),
        count="n_observations",
        decimals=2,
    )
    rows = list(dict.fromkeys(shown["row"]))
    for name, value in reported.items():
        if labels.get(name, name) in rows:
            place = rows.index(labels.get(name, name))
            figure.add_shape(
                type="line",
                x0=value,
                x1=value,
                y0=place - 0.46,
                y1=place + 0.46,
                line={"color": template.ink, "width": 1.3, "dash": "dash"},
            )
            figure.add_annotation(
                x=0.01,
                xref="paper",
                y=place,
                text=f"reported {value:g}",
                xanchor="left",
                showarrow=False,
                font={"size": template.small, "color": template.quiet},
            )
    return figure
