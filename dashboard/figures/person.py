"""One person: their use of the scale against everyone's, and their conversations in order."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dashboard.figures.axes import scale_axis
from dashboard.figures.template import Template, blank_figure, escape

if TYPE_CHECKING:
    import pandas as pd
    import plotly.graph_objects as go


def draw_person_levels(
    frame: pd.DataFrame, *, template: Template, person: str, ends: tuple[str | None, str | None], unit: str
) -> go.Figure:
    """Draw the share of each level in a person's ratings as bars, and in everyone's as outlines.

    Parameters
    ----------
    frame
        One row per level: level, share, share_everyone, n.
    """
    import plotly.graph_objects as go

    figure = blank_figure(template, height=20 * template.font_size)
    levels = list(frame["level"])
    figure.add_trace(
        go.Bar(
            x=levels,
            y=frame["share"],
            width=0.6 * (levels[1] - levels[0] if len(levels) > 1 else 1),
            marker={"color": template.accent},
            customdata=frame["n"],
            hovertemplate="%{x:g}: %{y:.0%} of ratings (%{customdata:,})<extra></extra>",
            name=escape(person),
        )
    )
    figure.add_trace(
        go.Bar(
            x=levels,
            y=frame["share_everyone"],
            width=0.84 * (levels[1] - levels[0] if len(levels) > 1 else 1),
            marker={"color": "rgba(0,0,0,0)", "line": {"color": template.ink, "width": 1.3}},
            hovertemplate="everyone, %{x:g}: %{y:.0%}<extra></extra>",
            name="everyone",
        )
    )
    figure.add_trace(
        go.Scatter(
            x=levels,
            # Above both bars: on the outline of the other a number could not be read.
            y=frame[["share", "share_everyone"]].max(axis=1),
            mode="text",
            text=[f"{100 * share:.0f} %" for share in frame["share"]],
            textposition="top center",
            textfont={"size": template.small},
            cliponaxis=False,
            hoverinfo="skip",
            showlegend=False,
        )
    )
    step = levels[1] - levels[0] if len(levels) > 1 else 1.0
    figure.update_layout(barmode="overlay")
    figure.update_yaxes(title_text="Share of ratings", tickformat=".0%", rangemode="tozero")
    scale_axis(figure, "x", (levels[0], levels[-1]), ends, title=unit, room=0.6 * step)
    figure.update_xaxes(showgrid=False)
    return figure


def draw_person_conversations(
    frame: pd.DataFrame,
    *,
    template: Template,
    limits: tuple[float, float],
    ends: tuple[str | None, str | None],
    unit: str,
    everyone: float,
) -> go.Figure:
    """Draw a person's ratings turn by turn, one conversation after the other, with each conversation's mean.

    Parameters
    ----------
    frame
        One row per rated turn, in order: place (0, 1, … over all turns), conversation, number, turn, value, mean, task.
    everyone
        Everyone's mean, drawn as a dotted line.
    """
    import plotly.graph_objects as go

    figure = blank_figure(template, height=22 * template.font_size)
    ends_of_axis = [float(frame["place"].min()) - 1, float(frame["place"].max()) + 1]
    figure.add_trace(
        go.Scatter(
            x=ends_of_axis,
            y=[everyone, everyone],
            mode="lines",
            line={"color": template.ink, "width": 1, "dash": "dot"},
            hoverinfo="skip",
            name=f"everyone {everyone:.2f}",
        )
    )
    for index, (_, part) in enumerate(frame.groupby("number", sort=True)):
        low, high = float(part["place"].min()) - 0.4, float(part["place"].max()) + 0.4
        if index % 2:
            figure.add_shape(
                type="rect",
                x0=low,
                x1=high,
                y0=0,
                y1=1,
                yref="paper",
                line_width=0,
                fillcolor=template.grid,
                layer="below",
            )
        mean = float(part["mean"].iloc[0])
        figure.add_trace(
            go.Scatter(
                x=[low, high],
                y=[mean, mean],
                mode="lines",
                line={"color": template.ink, "width": 2.5},
                name="mean of a conversation",
                showlegend=index == 0,
                hoverinfo="skip",
            )
        )
    tasks = [escape(task) if isinstance(task, str) else "–" for task in frame["task"]]
    figure.add_trace(
        go.Scatter(
            x=frame["place"],
            y=frame["value"],
            mode="markers",
            marker={"color": template.accent, "size": 5},
            customdata=list(zip([escape(one) for one in frame["conversation"]], tasks, frame["turn"], strict=True)),
            hovertemplate="%{customdata[0]}<br>%{customdata[1]}<br>turn %{customdata[2]}: %{y:g}<extra></extra>",
            name="a rated turn",
        )
    )
    figure.update_xaxes(
        title_text="Rated turns in order, by conversation", range=ends_of_axis, showticklabels=False, showgrid=False
    )
    scale_axis(figure, "y", limits, ends, title=unit, room=0.2)
    return figure
