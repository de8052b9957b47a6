"""Means by third of a conversation, one line per group, with the level that each group wanted."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dashboard.figures.template import MARKERS, Template, blank_figure, escape, rows_height, wrap

if TYPE_CHECKING:
    import pandas as pd
    import plotly.graph_objects as go

NAMES = ("First third", "Middle third", "Last third")


def draw_thirds(
    frame: pd.DataFrame, *, template: Template, labels: dict[float, str], colors: list[str], unit: str
) -> go.Figure:
    """Draw means with intervals by third, and a dashed line at what each group wanted.

    Parameters
    ----------
    frame
        One row per group and third: desired_empathy (the group), third (1–3), rating_pomp, conf_low, conf_high (of
        rating_pomp), desired_pomp, n_conversations.
    labels
        Label of each group, in order; each has a colour and a marker of its own.
    colors
        Colours of the groups.
    unit
        Title of the vertical axis.
    """
    import plotly.graph_objects as go

    figure = blank_figure(template, height=rows_height(0, template, around=27))
    for index, (level, label) in enumerate(labels.items()):
        part = frame[frame["desired_empathy"] == level]
        color, symbol = template.visible(colors[index % len(colors)]), MARKERS[index % len(MARKERS)]
        if part.empty:
            continue
        wanted = float(part["desired_pomp"].iloc[0])
        x = part["third"] + 0.06 * (index - (len(labels) - 1) / 2)
        figure.add_trace(
            go.Scatter(
                x=[0.62, 3.38],
                y=[wanted, wanted],
                mode="lines",
                line={"color": color, "width": 2, "dash": "dash"},
                hoverinfo="skip",
                showlegend=False,
            )
        )
        figure.add_annotation(
            x=0.62, y=wanted, text=f"wanted: {escape(label)}", showarrow=False, xanchor="left",
            yanchor="bottom" if wanted < 100 else "top", font={"size": template.small, "color": template.quiet},
        )  # fmt: skip
        figure.add_trace(
            go.Scatter(
                x=x,
                y=part["rating_pomp"],
                mode="lines+markers",
                name=f"Ratings where {escape(label)} was wanted",
                line={"color": color, "width": 2},
                marker={"symbol": symbol, "size": 8, "color": color, "line": {"color": template.ink, "width": 0.8}},
                error_y={
                    "type": "data",
                    "symmetric": False,
                    "array": part["conf_high"] - part["rating_pomp"],
                    "arrayminus": part["rating_pomp"] - part["conf_low"],
                    "color": color,
                    "thickness": 1.5,
                    "width": 0,
                },
                customdata=part["n_conversations"],
                hovertemplate="%{fullData.name}: %{y:.1f} (n = %{customdata:,.0f})<extra></extra>",
            )
        )
    figure.update_xaxes(tickvals=[1, 2, 3], ticktext=list(NAMES), range=[0.6, 3.4], showgrid=False)
    figure.update_yaxes(title_text=wrap(escape(unit), 36), range=[-2, 102])
    figure.update_layout(legend_y=1.01)
    return figure
