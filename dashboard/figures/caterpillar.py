"""People in order of their mean, each with an interval: a caterpillar."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from dashboard.figures.axes import scale_axis
from dashboard.figures.template import Template, blank_figure, escape, wrap

if TYPE_CHECKING:
    import pandas as pd
    import plotly.graph_objects as go

DRAWN = 300


def choose_drawn(n_people: int, *, most: int = DRAWN) -> list[int]:
    """Return which of ``n_people`` in order are drawn: all, or evenly spaced ones with the first and the last."""
    if n_people <= most:
        return list(range(n_people))
    return sorted({round(index * (n_people - 1) / (most - 1)) for index in range(most)})


def draw_caterpillar(
    frame: pd.DataFrame,
    *,
    template: Template,
    unit: str,
    limits: tuple[float, float],
    ends: tuple[str | None, str | None],
    chosen: str | None = None,
) -> go.Figure:
    """Draw each person's shrunken mean with its interval, and the raw mean as a ring.

    Parameters
    ----------
    frame
        One row per person, in drawing order: participant, mean, shrunken_mean, conf_low, conf_high, n_turns,
        n_conversations. Where ``shrunken_mean`` is unknown throughout, raw means are drawn alone. Of more than 300
        people evenly spaced ones are drawn.
    template
        The medium's template.
    unit
        Title of the value axis.
    limits, ends
        Ends of the rating scale, and what they are called.
    chosen
        The person to draw dark.

    Returns
    -------
    plotly.graph_objects.Figure
        The trace "people" carries each person's id first in its customdata.
    """
    frame = frame.reset_index(drop=True)
    places = choose_drawn(len(frame))
    if chosen is not None:
        places = sorted({*places, *frame.index[frame["participant"] == chosen]})
    shown = frame.loc[places]
    figure = blank_figure(template, height=25 * template.font_size)
    has_shrunken = bool(shown["shrunken_mean"].notna().any())
    if has_shrunken:
        _intervals(figure, shown, places, template)
        _everyone(figure, frame, template)
        _raw_means(figure, shown, places, template)
    _people(figure, shown, places, template, has_shrunken=has_shrunken)
    if chosen is not None and (frame["participant"] == chosen).any():
        _mark_chosen(figure, frame[frame["participant"] == chosen].iloc[0], template)
    room = _room(len(frame))
    drawn = f" ({len(shown):,} drawn)" if len(shown) < len(frame) else ""
    figure.update_xaxes(
        title_text=wrap(f"{len(frame):,} participants{drawn}, lowest mean first", template.line_length),
        range=[-room, len(frame) - 1 + room],
        showticklabels=False,
        showgrid=False,
    )
    scale_axis(figure, "y", limits, ends, title=unit, room=0.15)
    return figure


def _intervals(figure: go.Figure, shown: pd.DataFrame, places: list[int], template: Template) -> None:
    import plotly.graph_objects as go

    x: list[float | None] = []
    y: list[float | None] = []
    for place, low, high in zip(places, shown["conf_low"], shown["conf_high"], strict=True):
        if low == low:
            x += [place, place, None]
            y += [low, high, None]
    width = 1.4 if len(places) <= 60 else 1.0 if len(places) <= 200 else 0.6
    figure.add_trace(
        go.Scatter(
            x=x,
            y=y,
            mode="lines",
            line={"color": template.quiet, "width": width},
            opacity=0.6,
            hoverinfo="skip",
            name="95 % interval",
        )
    )


def _everyone(figure: go.Figure, frame: pd.DataFrame, template: Template) -> None:
    """Draw everyone's mean as a line that the legend names: in the figure its words would lie over people."""
    import plotly.graph_objects as go

    mean = float(frame["everyone"].iloc[0])
    room = _room(len(frame))
    figure.add_trace(
        go.Scatter(
            x=[-room, len(frame) - 1 + room],
            y=[mean, mean],
            mode="lines",
            line={"color": template.ink, "width": 1, "dash": "dot"},
            hoverinfo="skip",
            name=f"everyone {mean:.2f}",
        )
    )


def _room(n_people: int) -> float:
    """Return how much of the axis stays free on either side."""
    return max(1.0, 0.02 * n_people)


def _raw_means(figure: go.Figure, shown: pd.DataFrame, places: list[int], template: Template) -> None:
    import plotly.graph_objects as go

    figure.add_trace(
        go.Scatter(
            x=places,
            y=shown["mean"],
            mode="markers",
            marker={
                "symbol": "circle-open",
                "size": _size(len(places)) * 0.9,
                "color": template.quiet,
                "line": {"width": 1},
            },
            hoverinfo="skip",
            name="raw mean",
        )
    )


def _size(n_people: int) -> float:
    return 7.0 if n_people <= 60 else 4.5 if n_people <= 200 else 3.0


def _people(
    figure: go.Figure, shown: pd.DataFrame, places: list[int], template: Template, *, has_shrunken: bool
) -> None:
    import plotly.graph_objects as go

    columns = ["participant", "n_turns", "n_conversations", "mean", "conf_low", "conf_high"]
    data: list[list[Any]] = shown[columns].astype(object).to_numpy().tolist()
    for row in data:
        row[0] = escape(row[0])
    hover = "Participant %{customdata[0]}<br>"
    if has_shrunken:
        hover += "shrunken mean %{y:.2f} (%{customdata[4]:.2f} to %{customdata[5]:.2f})<br>"
    hover += (
        "raw mean %{customdata[3]:.2f}<br>n = %{customdata[1]:,} turns, %{customdata[2]:,} conversations<extra></extra>"
    )
    figure.add_trace(
        go.Scatter(
            x=places,
            y=shown["shrunken_mean"] if has_shrunken else shown["mean"],
            mode="markers",
            marker={"size": _size(len(places)), "color": template.accent},
            customdata=data,
            ids=shown["participant"],
            hovertemplate=hover,
            name="shrunken mean" if has_shrunken else "raw mean",
            meta="people",
        )
    )


def _mark_chosen(figure: go.Figure, row: pd.Series, template: Template) -> None:
    import plotly.graph_objects as go

    value = row["shrunken_mean"] if row["shrunken_mean"] == row["shrunken_mean"] else row["mean"]
    place = int(row.name)
    if row["conf_low"] == row["conf_low"]:
        figure.add_trace(
            go.Scatter(
                x=[place, place],
                y=[row["conf_low"], row["conf_high"]],
                mode="lines",
                line={"color": template.ink, "width": 2.5},
                hoverinfo="skip",
                showlegend=False,
            )
        )
    figure.add_trace(
        go.Scatter(
            x=[place],
            y=[value],
            mode="markers",
            marker={"size": 9, "color": template.ink},
            hoverinfo="skip",
            showlegend=False,
        )
    )
    top = row["conf_high"] if row["conf_high"] == row["conf_high"] else value
    figure.add_annotation(
        x=place,
        y=top,
        yanchor="bottom",
        text=escape(row["participant"]),
        showarrow=False,
        font={"size": template.small, "color": template.ink},
        bgcolor=template.ground,
        borderpad=1,
    )
