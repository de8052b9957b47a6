"""Shares of breakdowns: by group, and by turn."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from dashboard.figures.template import Template, blank_figure, escape, rows_height, shorten, wrap
from dashboard.figures.values import value_column

if TYPE_CHECKING:
    import pandas as pd
    import plotly.graph_objects as go


def draw_grouped_shares(
    frame: pd.DataFrame, *, template: Template, titles: Mapping[str, str], all_label: str, unit: str
) -> go.Figure:
    """Draw shares with their intervals, the levels of each group under its name.

    Parameters
    ----------
    frame
        One row per group and level: group, level, share, conf_low, conf_high, n_conversations; in drawing order.
    titles
        Heading of each group; empty for none.
    all_label
        Label of the level ``all``.
    unit
        Title of the axis.
    """
    import plotly.graph_objects as go

    places: list[int] = []
    texts: list[str] = []
    at: list[int] = []
    for group, part in frame.groupby("group", sort=False):
        if titles.get(str(group)):
            places.append(len(places))
            texts.append(f"<b>{escape(titles[str(group)])}</b>")
        for level in part["level"]:
            at.append(len(places))
            places.append(len(places))
            texts.append(all_label if level == "all" and group == "all" else escape(shorten(str(level), 30)))
    figure = blank_figure(template, height=rows_height(len(places), template, per_row=1.75, around=6.5))
    x: list[float | None] = []
    y: list[float | None] = []
    for place, low, high in zip(at, frame["conf_low"], frame["conf_high"], strict=True):
        if low == low:
            x, y = [*x, low, high, None], [*y, place, place, None]
    figure.add_trace(
        go.Scatter(
            x=x, y=y, mode="lines", line={"color": template.accent, "width": 3}, opacity=0.55, hoverinfo="skip", showlegend=False
        )
    )  # fmt: skip
    names = [texts[place] for place in at]
    figure.add_trace(
        go.Scatter(
            x=frame["share"],
            y=at,
            mode="markers",
            cliponaxis=False,
            marker={"color": template.accent, "size": 8, "line": {"color": template.ground, "width": 1}},
            customdata=list(zip(names, frame["conf_low"], frame["conf_high"], frame["n_conversations"], strict=True)),
            hovertemplate=(
                "%{customdata[0]}: %{x:.0%}<br>95 % interval %{customdata[1]:.0%} to %{customdata[2]:.0%}<br>"
                "%{customdata[3]:,.0f} conversations<extra></extra>"
            ),
            showlegend=False,
        )
    )
    top = max(0.05, float(frame[["share", "conf_high"]].max().max()))
    figure.update_xaxes(title_text=wrap(unit, 34), tickformat=".0%", range=[0, min(1.04, top * 1.08)], nticks=7)
    figure.update_yaxes(tickvals=places, ticktext=texts, range=[len(places) - 0.4, -0.7], showgrid=False)
    value_column(figure, at, [f"{100 * share:.0f} %" for share in frame["share"]], template)
    return figure


def draw_turn_shares(frame: pd.DataFrame, *, template: Template, unit: str) -> go.Figure:
    """Draw a share per turn with its band, and below each turn how many conversations stand behind it.

    Parameters
    ----------
    frame
        One row per turn: turn, share, conf_low, conf_high, n_conversations.
    unit
        Title of the vertical axis.
    """
    import plotly.graph_objects as go

    figure = blank_figure(template, height=24 * template.font_size)
    figure.add_traces(
        [
            *band(frame, "turn", template.accent),
            go.Scatter(
                x=frame["turn"],
                y=frame["share"],
                mode="lines+markers",
                line={"color": template.accent, "width": 2},
                marker={"size": 7, "line": {"color": template.ground, "width": 1}},
                customdata=list(zip(frame["conf_low"], frame["conf_high"], frame["n_conversations"], strict=True)),
                hovertemplate=(
                    "Turn %{x}: %{y:.1%}<br>95 % interval %{customdata[0]:.1%} to %{customdata[1]:.1%}<br>"
                    "%{customdata[2]:,.0f} conversations rated<extra></extra>"
                ),
                showlegend=False,
            ),
        ]
    )
    first, last = int(frame["turn"].min()), int(frame["turn"].max())
    turn_axis(figure, first, last, title="Turn (below: conversations rated on it)")
    counts = dict(zip(frame["turn"], frame["n_conversations"], strict=True))
    ticks = shown_turns(first, last)
    figure.update_xaxes(ticktext=[f"{turn}<br>{counts.get(turn, 0):,.0f}" for turn in ticks])
    top = max(0.02, float(frame[["share", "conf_high"]].max().max()))
    figure.update_yaxes(title_text=wrap(unit, 38), tickformat=".0%", range=[0, top * 1.08], nticks=6)
    return figure


def band(
    frame: pd.DataFrame, x: str, color: str, *, opacity: float = 0.22, step: bool = False, **axes: str
) -> list[go.Scatter]:
    """Return the traces of a band between conf_low and conf_high, broken where there is no interval."""
    import plotly.graph_objects as go

    known = frame[frame["conf_low"].notna()]
    if known.empty:
        return []
    shape = {"shape": "hv" if step else "linear", "width": 0, "color": color}
    common = {"mode": "lines", "line": shape, "hoverinfo": "skip", "showlegend": False, **axes}
    red, green, blue = (int(color[place : place + 2], 16) for place in (1, 3, 5))
    fill = f"rgba({red},{green},{blue},{opacity})"
    return [
        go.Scatter(x=known[x], y=known["conf_low"], **common),
        go.Scatter(x=known[x], y=known["conf_high"], fill="tonexty", fillcolor=fill, **common),
    ]


def shown_turns(first: int, last: int, *, at_most: int = 10) -> list[int]:
    """Return the turns to print on an axis: all where there are few, else every second, fifth, tenth, …"""
    for step in (1, 2, 5, 10, 20, 50, 100, 200, 500, 1000):
        ticks = [
            turn
            for turn in range(first, last + 1)
            if turn == first or (turn % step == 0 if step > 2 else (turn - first) % step == 0)
        ]
        if len(ticks) <= at_most:
            # The first turn and the first round one would touch.
            return [turn for turn in ticks if turn == first or turn - first >= step / 2]
    return [first, last]


def turn_axis(figure: go.Figure, first: int, last: int, *, title: str, panel: int = 1) -> None:
    """Set a horizontal axis to whole turns."""
    ticks = shown_turns(first, last)
    figure.layout[f"xaxis{panel if panel > 1 else ''}"].update(
        title_text=wrap(title, 40),
        tickvals=ticks,
        ticktext=[str(turn) for turn in ticks],
        range=[first - 0.4, last + 0.4],
        tickangle=0,
        showgrid=False,
    )
