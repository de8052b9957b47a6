"""One conversation's rating from turn to turn: level by colour and height, breakdowns and what does not apply marked."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dashboard.figures.breakdowns import shown_turns
from dashboard.figures.template import Template, blank_figure, diverging, end_words, escape, wrap

if TYPE_CHECKING:
    import pandas as pd
    import plotly.graph_objects as go

HEIGHT = 18.0


def level_color(value: float, limits: tuple[float, float]) -> str:
    """Return the colour of a rating on its scale; on whole levels it is the level's own."""
    low, high = limits
    share = (value - low) / (high - low) if high > low else 0.5
    return diverging(101)[round(100 * min(1.0, max(0.0, share)))]


def draw_rating_course(
    frame: pd.DataFrame,
    *,
    template: Template,
    label: str,
    limits: tuple[float, float],
    ends: tuple[str | None, str | None],
    turn: int | None = None,
) -> go.Figure:
    """Draw a conversation's ratings over its turns; each mark carries its turn in ``customdata``.

    Parameters
    ----------
    frame
        One row per turn: turn, value (NaN unless rated), answer (rated, not_applicable, missing), is_breakdown.
    template
        The medium's template.
    label
        What was rated.
    limits, ends
        Ends of its scale, and what they were called.
    turn
        The turn to mark.

    Returns
    -------
    plotly.graph_objects.Figure
        A missing rating is a gap; one that does not apply is a hollow mark below the scale.
    """
    figure = blank_figure(template, height=HEIGHT * template.font_size)
    low, high = limits
    below = low - 0.22 * (high - low)
    rated = frame[frame["answer"] == "rated"]
    aside = frame[frame["answer"] == "not_applicable"]
    if turn is not None and (frame["turn"] == turn).any():
        figure.add_vline(x=turn, line={"color": template.ink, "width": 2, "dash": "dot"})
    _line(figure, frame, template)
    _marks(figure, rated[~rated["is_breakdown"]], limits, template, symbol="circle", name="Rated")
    _marks(figure, rated[rated["is_breakdown"]], limits, template, symbol="triangle-down", name="Breakdown")
    _hollow(figure, aside, below, template)
    ticks = [low + step for step in range(int(high - low) + 1)] if high - low <= 10 else [low, (low + high) / 2, high]
    names = [_tick(value, limits, ends) for value in ticks]
    if len(aside):
        ticks, names = [below, *ticks], ["n/a", *names]
    figure.update_yaxes(title_text=wrap(escape(label), 26), tickvals=ticks, ticktext=names)
    figure.update_yaxes(range=[below - 0.1 * (high - low), high + 0.14 * (high - low)])
    last = int(frame["turn"].max())
    turns = shown_turns(1, last, at_most=12)
    figure.update_xaxes(range=[0.4, last + 0.6], title_text="Turn", tickformat=",d", showgrid=False)
    figure.update_xaxes(tickvals=turns, tickangle=0)
    figure.update_layout(showlegend=True, clickmode="event+select", hovermode="closest")
    return figure


def _tick(value: float, limits: tuple[float, float], ends: tuple[str | None, str | None]) -> str:
    word = ends[limits.index(value)] if value in limits else None
    return f"{value:g} {end_words(word)}" if word else f"{value:g}"


def _line(figure: go.Figure, frame: pd.DataFrame, template: Template) -> None:
    figure.add_scatter(
        x=frame["turn"],
        y=frame["value"],
        mode="lines",
        line={"color": template.quiet, "width": 1.5},
        connectgaps=False,
        hoverinfo="skip",
        showlegend=False,
    )


def _marks(
    figure: go.Figure, rows: pd.DataFrame, limits: tuple[float, float], template: Template, *, symbol: str, name: str
) -> None:
    if rows.empty:
        return
    is_breakdown = symbol != "circle"
    figure.add_scatter(
        x=rows["turn"],
        y=rows["value"],
        mode="markers",
        name=name,
        customdata=[[int(turn)] for turn in rows["turn"]],
        marker={
            "symbol": symbol,
            "size": 15 if is_breakdown else 11,
            "color": [level_color(value, limits) for value in rows["value"]],
            "line": {"color": template.ink, "width": 2 if is_breakdown else 0.5},
        },
        # A chosen mark is shown by the line through its turn; others do not fade.
        selected={"marker": {"opacity": 1}},
        unselected={"marker": {"opacity": 1}},
        hovertemplate=f"Turn %{{x}}: %{{y:.3~g}}{', breakdown' if is_breakdown else ''}<extra></extra>",
    )


def _hollow(figure: go.Figure, rows: pd.DataFrame, below: float, template: Template) -> None:
    if rows.empty:
        return
    figure.add_scatter(
        x=rows["turn"],
        y=[below] * len(rows),
        mode="markers",
        name="Not applicable",
        customdata=[[int(turn)] for turn in rows["turn"]],
        marker={"symbol": "circle-open", "size": 11, "color": template.quiet, "line": {"width": 2}},
        selected={"marker": {"opacity": 1}},
        unselected={"marker": {"opacity": 1}},
        hovertemplate="Turn %{x}: not applicable<extra></extra>",
    )
