"""Parts of a whole as stacked bars: each part has a name, a colour and a printed share."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from dashboard.figures.template import Template, blank_figure, escape, ink_on, rows_height, shorten, wrap

if TYPE_CHECKING:
    import pandas as pd
    import plotly.graph_objects as go


def draw_parts(
    frame: pd.DataFrame,
    *,
    template: Template,
    row: str,
    parts: Mapping[str, tuple[str, str]],
    unit: str,
    count: str = "n_conversations",
) -> go.Figure:
    """Draw the shares of named parts as stacked horizontal bars.

    Parameters
    ----------
    frame
        One row per bar: ``row``, one column of shares (0–1) per part, ``count``.
    template
        The medium's template.
    parts
        Label and colour of each part by its column, in stacking order.
    unit
        Title of the axis.
    """
    import plotly.graph_objects as go

    figure = blank_figure(template, height=rows_height(len(frame), template, per_row=2.3, around=8))
    names = [escape(shorten(str(one), template.label_length)) for one in frame[row]]
    for column, (label, color) in parts.items():
        shares = frame[column].fillna(0.0)
        figure.add_trace(
            go.Bar(
                y=list(range(len(frame))),
                x=shares,
                name=escape(label),
                orientation="h",
                marker={"color": color, "line": {"color": template.ground, "width": 1}},
                text=[f"{100 * share:.0f}" if share >= 0.05 else "" for share in shares],
                textposition="inside",
                insidetextanchor="middle",
                textangle=0,
                constraintext="none",
                textfont={"color": ink_on(color), "size": template.small},
                customdata=list(zip(names, frame[count], strict=True)),
                hovertemplate=(
                    f"%{{customdata[0]}}<br>{escape(label)}: %{{x:.1%}} (n = %{{customdata[1]:,.0f}})<extra></extra>"
                ),
            )
        )
    figure.update_layout(barmode="stack", bargap=0.25, legend_y=1.02, legend_bgcolor="rgba(0,0,0,0)")
    figure.update_xaxes(
        range=[0, 1], tickformat=".0%", title_text=wrap(escape(unit), template.line_length), showgrid=False
    )
    figure.update_yaxes(
        tickvals=list(range(len(frame))), ticktext=names, range=[len(frame) - 0.5, -0.5], showgrid=False
    )
    return figure
