"""Standardised costs with intervals, beside a published one."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dashboard.figures.dodged import draw_dodged_intervals
from dashboard.figures.template import Template

if TYPE_CHECKING:
    import pandas as pd
    import plotly.graph_objects as go


def draw_impact(
    frame: pd.DataFrame, *, template: Template, series_labels: dict[str, str], reported: float, unit: str
) -> go.Figure:
    """Draw one row per outcome, one dot with its interval per series, and the published value as a dashed line.

    Parameters
    ----------
    frame
        One row per outcome and series: outcome, series, estimate, conf_low, conf_high, n.
    series_labels
        Label of each series.
    reported
        The published value.
    unit
        Title of the axis.
    """
    known = frame[frame["estimate"].notna()]
    values = [0.0, reported, *known["estimate"], *known["conf_low"].dropna(), *known["conf_high"].dropna()]
    reach = 0.06 * (max(values) - min(values))
    figure = draw_dodged_intervals(
        known,
        template=template,
        row="outcome",
        series="series",
        estimate="estimate",
        series_labels=series_labels,
        unit=unit,
        axis_range=(min(values) - reach, max(values) + reach),
        zero=0.0,
        count="n",
        decimals=2,
    )
    figure.add_shape(
        type="line",
        x0=reported,
        x1=reported,
        y0=0,
        y1=1,
        yref="paper",
        line={"color": template.ink, "width": 1.5, "dash": "dash"},
        # In the legend: beside the line its words would lie over intervals.
        showlegend=True,
        name=f"reported {reported:g} (contrast not stated)",
    )
    # The published value takes a line of the legend more.
    figure.layout.height += 1.8 * template.font_size
    return figure
