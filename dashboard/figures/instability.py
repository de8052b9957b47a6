"""How people's instability and inertia spread, the group's autocorrelation beside."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from dashboard.figures.axes import stack_panels
from dashboard.figures.template import Template, blank_figure

if TYPE_CHECKING:
    import pandas as pd
    import plotly.graph_objects as go


def draw_instability(
    frame: pd.DataFrame, *, template: Template, largest: float, phi: tuple[float, float, float]
) -> go.Figure:
    """Draw how many people have which RMSSD (above) and which inertia (below).

    Parameters
    ----------
    frame
        One row per person: rmssd, inertia; NaN where undefined.
    largest
        The largest difference that the scale allows: end of the RMSSD axis.
    phi
        The group's AR(1) within conversations with its interval, drawn as a line with a band; NaN where unknown.
    """
    figure = blank_figure(template, height=33 * template.font_size)
    stack_panels(figure, (1.0, 1.0), gap=0.24)
    _bars(figure, frame["rmssd"].dropna().to_numpy(), (0.0, largest), 1, template)
    _bars(figure, frame["inertia"].dropna().to_numpy(), (-1.0, 1.0), 2, template)
    figure.layout.xaxis.update(title_text="RMSSD", range=[0, largest])
    figure.layout.xaxis2.update(title_text="Inertia", range=[-1, 1])
    for name in ("yaxis", "yaxis2"):
        figure.layout[name].update(title_text="Participants", rangemode="tozero")
    estimate, low, high = phi
    if estimate == estimate:
        figure.add_shape(
            type="rect",
            xref="x2",
            yref="y2 domain",
            x0=low,
            x1=high,
            y0=0,
            y1=1,
            line_width=0,
            fillcolor=template.quiet,
            opacity=0.3,
        )
        figure.add_shape(
            type="line",
            xref="x2",
            yref="y2 domain",
            x0=estimate,
            x1=estimate,
            y0=0,
            y1=1,
            line={"color": template.ink, "width": 1.5},
        )
        figure.add_annotation(
            xref="x2",
            yref="y2 domain",
            x=estimate,
            y=1.0,
            yanchor="bottom",
            text=f"group’s AR(1) {estimate:.2f}",
            showarrow=False,
            font={"size": template.small},
        )
    return figure


def _bars(figure: go.Figure, values: np.ndarray, limits: tuple[float, float], panel: int, template: Template) -> None:
    import plotly.graph_objects as go

    edges = np.linspace(*limits, 21)
    counted, _ = np.histogram(np.clip(values, *limits), bins=edges)
    suffix = "" if panel == 1 else "2"
    figure.add_trace(
        go.Bar(
            x=(edges[:-1] + edges[1:]) / 2,
            y=counted,
            width=(edges[1] - edges[0]) * 0.94,
            marker={"color": template.accent},
            customdata=np.column_stack([edges[:-1], edges[1:]]).tolist(),
            hovertemplate="%{customdata[0]:.2f} to %{customdata[1]:.2f}: %{y:,} participants<extra></extra>",
            showlegend=False,
            xaxis=f"x{suffix}",
            yaxis=f"y{suffix}",
        )
    )
