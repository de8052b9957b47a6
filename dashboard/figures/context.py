"""Several measures around an event, one panel each."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from dashboard.figures.axes import stack_panels
from dashboard.figures.template import Template, blank_figure, escape, wrap

if TYPE_CHECKING:
    import pandas as pd
    import plotly.graph_objects as go


def draw_context(
    frame: pd.DataFrame,
    *,
    template: Template,
    measures: Sequence[str],
    labels: Mapping[str, str],
    percent: Sequence[str],
    series_labels: Mapping[str, str],
    x_title: str,
) -> go.Figure:
    """Draw means by offset from an event, one panel per measure, the comparison dashed.

    Parameters
    ----------
    frame
        One row per measure, offset and series (``breakdown``, ``matched``): mean, conf_low, conf_high, n_conversations.
    measures, labels
        The measures from top to bottom, and what they are called, with unit.
    percent
        Measures that are shares.
    series_labels
        Labels of the series.
    x_title
        Title of the horizontal axis.
    """
    import plotly.graph_objects as go

    size = template.font_size
    figure = blank_figure(template, height=(9 * len(measures) + 9) * size)
    stack_panels(figure, (1.0,) * len(measures), gap=min(0.12, 2.6 / (9 * len(measures))) if len(measures) > 1 else 0)
    offsets = sorted(frame["offset"].unique())
    styles = {"matched": (template.quiet, "dash", "square"), "breakdown": (template.accent, "solid", "circle")}
    for index, measure in enumerate(measures, start=1):
        suffix = "" if index == 1 else str(index)
        for series, (color, dash, symbol) in styles.items():
            part = frame[(frame["measure"] == measure) & (frame["series"] == series) & frame["mean"].notna()]
            number = ".1%" if measure in percent else ",.1f"
            figure.add_trace(
                go.Scatter(
                    x=part["offset"],
                    y=part["mean"],
                    xaxis=f"x{suffix}",
                    yaxis=f"y{suffix}",
                    mode="lines+markers",
                    name=series_labels[series],
                    showlegend=index == 1,
                    line={"color": color, "width": 2, "dash": dash},
                    marker={"symbol": symbol, "size": 6, "color": color},
                    error_y={
                        "type": "data",
                        "symmetric": False,
                        "array": (part["conf_high"] - part["mean"]).fillna(0),
                        "arrayminus": (part["mean"] - part["conf_low"]).fillna(0),
                        "thickness": 1.3,
                        "width": 0,
                        "color": color,
                    },
                    customdata=part["n_conversations"],
                    hovertemplate=f"%{{x:+d}}: %{{y:{number}}} (%{{customdata:,.0f}} conversations)<extra></extra>",
                )
            )
        top = figure.layout[f"yaxis{suffix}"].domain[1] if figure.layout[f"yaxis{suffix}"].domain else 1.0
        figure.add_annotation(
            x=0, xref="paper", xanchor="left", y=top, yref="paper", yanchor="bottom", text=escape(labels[measure]), showarrow=False,
            font={"size": template.small},
        )  # fmt: skip
        figure.layout[f"yaxis{suffix}"].update(
            rangemode="tozero", nticks=4, tickformat=".0%" if measure in percent else None
        )
        last = index == len(measures)
        figure.layout[f"xaxis{suffix}"].update(
            tickvals=offsets,
            ticktext=[("0" if one == 0 else f"{one:+d}".replace("-", "−")) for one in offsets]
            if last
            else [""] * len(offsets),
            range=[offsets[0] - 0.4, offsets[-1] + 0.4],
            showgrid=False,
            tickangle=0,
            title_text=wrap(x_title, 42) if last else "",
        )
    # The name of the first panel stands where the legend would.
    figure.update_layout(legend={"y": 1.0 + 1.8 / (9 * len(measures))})
    return figure
