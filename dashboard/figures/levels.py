"""Stacked bars of rating levels: one row per outcome or group, one segment per level, its share printed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from dashboard.figures.template import Template, blank_figure, diverging, escape, ink_on, rows_height, shorten

if TYPE_CHECKING:
    import pandas as pd
    import plotly.graph_objects as go


def draw_level_shares(
    frame: pd.DataFrame,
    *,
    template: Template,
    row: str,
    labels: Mapping[str, str],
    ends: tuple[str | None, str | None],
    unit: str = "Share of rated turns",
) -> go.Figure:
    """Draw the share of each level as stacked horizontal bars.

    Parameters
    ----------
    frame
        One row per bar and level: ``row``, level (number), share (0–1), n. All bars share one scale.
    template
        The medium's template.
    row
        The column that names a bar; bars stand in order of first appearance, from the top.
    labels
        Label of each bar.
    ends
        What the lowest and the highest level were called.
    unit
        Title of the axis.

    Returns
    -------
    plotly.graph_objects.Figure
    """
    import plotly.graph_objects as go

    bars = list(dict.fromkeys(frame[row]))
    levels = sorted(frame["level"].unique())
    colors = diverging(len(levels))
    # In a column of a paper each level has a line of the legend.
    stacked = 1.5 * max(0, len(levels) - 2) if template.paper else 0.0
    figure = blank_figure(template, height=rows_height(len(bars), template, per_row=2.3, around=8 + stacked))
    names = [escape(shorten(labels.get(bar, bar), 30)) for bar in bars]
    for level, color in zip(levels, colors, strict=True):
        part = frame[frame["level"] == level].set_index(row).reindex(bars)
        shares = part["share"].fillna(0.0)
        figure.add_trace(
            go.Bar(
                y=list(range(len(bars))),
                x=shares,
                name=level_name(level, levels, ends),
                orientation="h",
                marker={"color": color, "line": {"color": template.ground, "width": 1}},
                text=[f"{100 * share:.0f}" if share >= 0.05 else "" for share in shares],
                textposition="inside",
                insidetextanchor="middle",
                textangle=0,
                constraintext="none",
                textfont={"color": ink_on(color), "size": template.small},
                customdata=list(zip(names, part["n"].fillna(0), strict=True)),
                hovertemplate=(
                    f"%{{customdata[0]}}<br>{level_name(level, levels, ends)}: %{{x:.1%}} "
                    "(%{customdata[1]:,.0f})<extra></extra>"
                ),
            )
        )
    figure.update_layout(barmode="stack", bargap=0.25)
    figure.update_xaxes(range=[0, 1], tickformat=".0%", title_text=unit, showgrid=False)
    figure.update_yaxes(tickvals=list(range(len(bars))), ticktext=names, range=[len(bars) - 0.5, -0.5], showgrid=False)
    return figure


def level_name(level: float, levels: Sequence[float], ends: tuple[str | None, str | None]) -> str:
    """Return ``1 Very poor`` at the ends of the scale, and the number alone between."""
    word = ends[0] if level == levels[0] else ends[1] if level == levels[-1] else None
    return f"{level:g} {escape(word)}" if word else f"{level:g}"
