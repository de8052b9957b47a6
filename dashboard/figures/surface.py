"""A response surface: turnable on the screen, lines of equal height on paper."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from dashboard.figures.template import DASHES, Template, blank_figure, escape, rows_height, wrap

if TYPE_CHECKING:
    import numpy as np
    import pandas as pd
    import plotly.graph_objects as go

# Ticks: positions from −1 to 1 and their texts.
Ticks = tuple[Sequence[float], Sequence[str]]


def draw_response_surface(
    grid: np.ndarray,
    heights: np.ndarray,
    points: pd.DataFrame,
    *,
    template: Template,
    ticks: tuple[Ticks, Ticks],
    titles: tuple[str, str, str],
) -> go.Figure:
    """Draw a surface over desired and experienced, both from −1 to 1, with the line of congruence.

    Parameters
    ----------
    grid
        Positions along both axes, shape (m,).
    heights
        Outcome at ``[experienced, desired]``, shape (m, m).
    points
        x, y, z of the conversations.
    template
        The medium's template: on paper lines of equal height, which stay lines in a PDF; on the screen a surface that
        turns.
    ticks
        Ticks of desired and of experienced.
    titles
        Of desired, experienced and outcome.
    """
    draw = _contour if template.paper else _surface
    return draw(
        grid, heights, _distinct(points, ["x", "y"] if template.paper else ["x", "y", "z"]), template, ticks, titles
    )


def _distinct(points: pd.DataFrame, columns: list[str], most: int = 3000) -> pd.DataFrame:
    """Return each place once, evenly thinned where there are more than a figure can carry."""
    once = points.drop_duplicates(columns).sort_values(columns, kind="stable")
    return once.iloc[:: max(1, -(-len(once) // most))]


def _contour(
    grid: np.ndarray,
    heights: np.ndarray,
    points: pd.DataFrame,
    template: Template,
    ticks: tuple[Ticks, Ticks],
    titles: tuple[str, str, str],
) -> go.Figure:
    import plotly.graph_objects as go

    figure = blank_figure(template, height=29 * template.font_size)
    figure.add_trace(
        go.Scatter(
            x=points["x"],
            y=points["y"],
            mode="markers",
            name="Conversations",
            marker={"color": template.quiet, "size": 3, "opacity": 0.5},
            cliponaxis=False,
        )
    )
    figure.add_trace(
        go.Contour(
            x=grid,
            y=grid,
            z=heights,
            contours={
                "coloring": "none",
                "showlabels": True,
                "labelfont": {"size": template.small, "color": template.ink},
            },
            line={"color": template.accent, "width": 1.5},
            ncontours=12,
            showscale=False,
            name=f"Equal {titles[2][0].lower()}{titles[2][1:]}",
            showlegend=True,
        )
    )
    figure.add_trace(
        go.Scatter(
            x=[-1, 1],
            y=[-1, 1],
            mode="lines",
            name="Congruence",
            line={"color": template.ink, "width": 1.5, "dash": "dash"},
        )
    )
    for update, (places, texts), title in zip(
        (figure.update_xaxes, figure.update_yaxes), ticks, titles[:2], strict=True
    ):
        update(
            tickvals=list(places), ticktext=list(texts), title_text=wrap(title, 40), range=[-1.04, 1.04], showgrid=False
        )
    return figure


def _surface(
    grid: np.ndarray,
    heights: np.ndarray,
    points: pd.DataFrame,
    template: Template,
    ticks: tuple[Ticks, Ticks],
    titles: tuple[str, str, str],
) -> go.Figure:
    import numpy as np
    import plotly.graph_objects as go

    figure = blank_figure(template, height=34 * template.font_size)
    label = f"{titles[0]}: %{{x:.2f}}<br>{titles[1]}: %{{y:.2f}}<br>{titles[2]}: %{{z:.2f}}<extra></extra>"
    light, deep = ("#16263a", "#4db3e6") if template.dark else ("#eef4fa", "#005a91")
    figure.add_trace(
        go.Surface(
            x=grid,
            y=grid,
            z=heights,
            colorscale=[[0, light], [1, deep]],
            showscale=False,
            opacity=0.92,
            contours_z={"show": True, "color": template.ground, "width": 1},
            hovertemplate=label,
            name="Surface",
        )
    )
    figure.add_trace(
        go.Scatter3d(
            x=points["x"],
            y=points["y"],
            z=points["z"],
            mode="markers",
            name="Conversations",
            marker={"size": 2, "color": template.quiet, "opacity": 0.6},
            hoverinfo="skip",
        )
    )
    figure.add_trace(
        go.Scatter3d(
            x=grid,
            y=grid,
            z=np.diag(heights),
            mode="lines",
            name="Desired = experienced (congruence)",
            line={"color": template.ink, "width": 5, "dash": "dash"},
            hoverinfo="skip",
        )
    )
    figure.update_layout(scene=_scene(template, ticks, titles), legend_y=1.0)
    return figure


def _scene(template: Template, ticks: tuple[Ticks, Ticks], titles: tuple[str, str, str]) -> dict[str, Any]:
    def axis(title: str, at: Ticks | None) -> dict[str, Any]:
        shown = {"tickvals": list(at[0]), "ticktext": [text.replace("<br>", " ") for text in at[1]]} if at else {}
        return shown | {
            "title": {"text": title, "font": {"size": template.small}},
            "tickfont": {"size": template.small},
            "gridcolor": template.grid,
            "backgroundcolor": "rgba(0,0,0,0)",
            "color": template.ink,
        }

    return {
        "xaxis": axis(titles[0], ticks[0]),
        "yaxis": axis(titles[1], ticks[1]),
        "zaxis": axis(titles[2], None),
        "camera": {"eye": {"x": -1.0, "y": -2.0, "z": 0.7}},
        "dragmode": "turntable",
        "aspectmode": "cube",
    }


def draw_level_curves(
    frame: pd.DataFrame,
    *,
    template: Template,
    level_labels: dict[float, str],
    colors: list[str],
    ticks: Ticks,
    titles: tuple[str, str],
    limits: tuple[float, float],
) -> go.Figure:
    """Draw one curve with its interval per level.

    Parameters
    ----------
    frame
        level, y, estimate, conf_low, conf_high; each level over the range seen there.
    level_labels
        Label of each level, in order; each has a colour and a dash of its own.
    colors
        Colours of the levels.
    ticks
        Ticks of the horizontal axis.
    titles
        Of the horizontal and the vertical axis.
    limits
        Ends of the outcome's scale.
    """
    import plotly.graph_objects as go

    figure = blank_figure(template, height=rows_height(0, template, around=25))
    for index, (level, label) in enumerate(level_labels.items()):
        part = frame[frame["level"] == level]
        color = template.visible(colors[index % len(colors)])
        figure.add_trace(
            go.Scatter(
                x=[*part["y"], *part["y"][::-1]],
                y=[*part["conf_high"], *part["conf_low"][::-1]],
                fill="toself",
                fillcolor=color,
                line={"width": 0},
                opacity=0.2,
                hoverinfo="skip",
                showlegend=False,
            )
        )
        figure.add_trace(
            go.Scatter(
                x=part["y"],
                y=part["estimate"],
                mode="lines",
                name=escape(label),
                line={"color": color, "width": 2.5, "dash": DASHES[index % len(DASHES)]},
                hovertemplate=f"{escape(label)}: %{{y:.2f}}<extra></extra>",
            )
        )
    figure.update_xaxes(
        tickvals=list(ticks[0]),
        ticktext=list(ticks[1]),
        title_text=wrap(escape(titles[0]), template.line_length),
        range=[-1.04, 1.04],
    )
    figure.update_yaxes(title_text=wrap(escape(titles[1]), 30), range=list(limits))
    figure.update_layout(legend_y=1.01)
    return figure
