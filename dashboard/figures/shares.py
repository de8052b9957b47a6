"""Stacked bars of variance shares, and curves of dependability."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from dashboard.figures.intervals import words_beside
from dashboard.figures.template import DASHES, Template, blank_figure, escape, ink_on, rows_height, shorten, wrap

if TYPE_CHECKING:
    import pandas as pd
    import plotly.graph_objects as go

# From the person outwards: dark, middle, light, so that greyscale keeps the order.
_PARTS = ("#00507a", "#56a0c8", "#dfe3e8")


def draw_components(
    frame: pd.DataFrame, *, template: Template, labels: Mapping[str, str], components: Sequence[str]
) -> go.Figure:
    """Draw how the variance of each outcome divides, as stacked bars with the share printed in each part.

    Below each bar the interval of the first component's share.

    Parameters
    ----------
    frame
        One row per outcome and component: outcome, component, share, conf_low, conf_high, n_observations.
    labels
        Label of each outcome; bars stand in order of first appearance.
    components
        The components, in the order of stacking.
    """
    import plotly.graph_objects as go

    outcomes = list(dict.fromkeys(frame["outcome"]))
    names = [escape(shorten(labels.get(one, one), 26)) for one in outcomes]
    figure = blank_figure(template, height=rows_height(len(outcomes), template, per_row=2.5, around=8))
    for component, color in zip(components, _PARTS, strict=False):
        part = frame[frame["component"] == component].set_index("outcome").reindex(outcomes)
        figure.add_trace(
            go.Bar(
                y=list(range(len(outcomes))),
                x=part["share"],
                width=0.66,
                orientation="h",
                name=component.capitalize(),
                marker={"color": color, "line": {"color": template.ground, "width": 1}},
                text=[f"{100 * share:.0f}" if share >= 0.04 else "" for share in part["share"]],
                textposition="inside",
                insidetextanchor="middle",
                textangle=0,
                constraintext="none",
                textfont={"color": ink_on(color), "size": template.small},
                customdata=list(zip(names, words_beside(part, "n_observations", ".1%"), strict=True)),
                hovertemplate=f"%{{customdata[0]}}, {component}: %{{x:.1%}}%{{customdata[1]}}<extra></extra>",
            )
        )
    _intervals(figure, frame[frame["component"] == components[0]], outcomes, template)
    figure.update_layout(barmode="stack", legend={"traceorder": "normal"})
    figure.update_xaxes(range=[0, 1], tickformat=".0%", title_text="Share of variance", showgrid=False)
    figure.update_yaxes(
        tickvals=list(range(len(outcomes))), ticktext=names, range=[len(outcomes) - 0.4, -0.6], showgrid=False
    )
    return figure


def _intervals(figure: go.Figure, part: pd.DataFrame, outcomes: Sequence[str], template: Template) -> None:
    import plotly.graph_objects as go

    x: list[float | None] = []
    y: list[float | None] = []
    for row in part.itertuples():
        if row.conf_low == row.conf_low:
            place = outcomes.index(row.outcome) + 0.42
            x += [row.conf_low, row.conf_high, None]
            y += [place, place, None]
    figure.add_trace(
        go.Scatter(
            x=x,
            y=y,
            mode="lines+markers",
            line={"color": template.ink, "width": 1.2},
            marker={"symbol": "line-ns", "size": 5, "line": {"width": 1.2, "color": template.ink}},
            name="95 % interval, participant",
            hoverinfo="skip",
        )
    )


def draw_dependability(
    frame: pd.DataFrame,
    *,
    template: Template,
    labels: Mapping[str, str],
    targets: Sequence[float],
    observed: float,
) -> go.Figure:
    """Draw how dependable a person's mean is against how many conversations it rests on, one line per outcome.

    Parameters
    ----------
    frame
        One row per outcome and number of conversations: outcome, n_conversations, dependability.
    labels
        Label of each outcome; the first is drawn strong.
    targets
        Levels to mark.
    observed
        The median number of rated conversations of a participant here.
    """
    import plotly.graph_objects as go

    figure = blank_figure(template, height=24 * template.font_size)
    outcomes = list(dict.fromkeys(frame["outcome"]))
    for index, outcome in reversed(list(enumerate(outcomes))):
        part = frame[frame["outcome"] == outcome]
        name = escape(labels.get(outcome, outcome))
        figure.add_trace(
            go.Scatter(
                x=part["n_conversations"],
                y=part["dependability"],
                mode="lines",
                line={
                    "color": template.accent if index == 0 else template.quiet,
                    "width": 2.5 if index == 0 else 1,
                    "dash": "solid" if index == 0 else DASHES[index % len(DASHES)],
                },
                name=name if index == 0 else "the other outcomes",
                showlegend=index <= 1,
                customdata=[name] * len(part),
                hovertemplate="%{customdata}<br>%{x} conversations: %{y:.2f}<extra></extra>",
            )
        )
    largest = float(frame["n_conversations"].max())
    for target in targets:
        figure.add_hline(y=target, line={"color": template.quiet, "width": 0.8, "dash": "dash"})
    if observed == observed:
        figure.add_vline(x=observed, line={"color": template.ink, "width": 0.8, "dash": "dot"})
        figure.add_annotation(
            x=observed,
            y=0.03,
            yref="paper",
            text=f"median here: {observed:g}",
            showarrow=False,
            xanchor="left",
            xshift=3,
            font={"size": template.small},
        )
    figure.update_layout(legend={"traceorder": "reversed"})
    figure.update_xaxes(
        title_text=wrap("Conversations rated by the person"), range=[0.5, largest + 0.5], showgrid=False
    )
    figure.update_yaxes(
        title_text="Dependability of the mean", range=[0, 1.02], tickvals=[0, 0.5, *targets, 1.0], showgrid=False
    )
    return figure
