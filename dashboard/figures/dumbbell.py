"""Two values per row joined by a line: what was wanted and what was got."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from dashboard.figures.template import Template, blank_figure, escape, rows_height, shorten, wrap

if TYPE_CHECKING:
    import pandas as pd
    import plotly.graph_objects as go


def draw_dumbbell(
    frame: pd.DataFrame,
    *,
    template: Template,
    row: str,
    start: str,
    end: str,
    difference: str,
    names: tuple[str, str],
    unit: str,
    axis_range: tuple[float, float],
    count: str = "n_conversations",
) -> go.Figure:
    """Draw the way from one value to another per row, with the interval of the difference around its end.

    Parameters
    ----------
    frame
        One row per line: ``row``, ``start``, ``end``, ``difference`` with conf_low and conf_high (of the difference), and
        ``count``.
    template
        The medium's template.
    names
        What start and end are called.
    unit
        Title of the axis: it says how both came onto one scale.
    axis_range
        Limits of the axis; intervals are cut there.

    Returns
    -------
    plotly.graph_objects.Figure
        A hollow mark for the start, a filled one for the end, the difference and its interval printed on the right.
    """
    import plotly.graph_objects as go

    shown = frame[frame[difference].notna()]
    places = list(range(len(shown)))
    figure = blank_figure(template, height=rows_height(len(shown), template, per_row=2.2, around=9))
    starts, ends = shown[start].tolist(), shown[end].tolist()
    _lines(figure, places, starts, ends, color=template.quiet, width=2)
    # An unknown interval stays unknown: max() and min() would make it as wide as the axis.
    low = (shown[start] + shown["conf_low"]).clip(lower=axis_range[0]).tolist()
    high = (shown[start] + shown["conf_high"]).clip(upper=axis_range[1]).tolist()
    _lines(figure, places, low, high, color=template.accent, width=6, opacity=0.4, name="95 % interval of the gap")
    labels = [escape(shorten(str(one), template.label_length)) for one in shown[row]]
    hover = list(zip(labels, shown[difference], shown["conf_low"], shown["conf_high"], shown[count], strict=True))
    text = (
        "%{customdata[0]}<br>%{fullData.name}: %{x:.1f}<br>difference %{customdata[1]:+.1f}, 95 % interval "
        "%{customdata[2]:.1f} to %{customdata[3]:.1f}<br>n = %{customdata[4]:,.0f}<extra></extra>"
    )
    common: dict[str, Any] = {"y": places, "mode": "markers", "customdata": hover, "hovertemplate": text}
    hollow = {"symbol": "circle-open", "color": template.ink, "size": 9, "line": {"width": 2}}
    filled = {"symbol": "diamond", "color": template.accent, "size": 10, "line": {"color": template.ground, "width": 1}}
    figure.add_trace(go.Scatter(x=starts, name=names[0], marker=hollow, cliponaxis=False, **common))
    figure.add_trace(go.Scatter(x=ends, name=names[1], marker=filled, cliponaxis=False, **common))
    _print_differences(figure, shown, difference, template)
    figure.update_xaxes(title_text=wrap(escape(unit), template.line_length), range=list(axis_range))
    figure.update_yaxes(tickvals=places, ticktext=labels, range=[len(shown) - 0.4, -0.6], showgrid=False)
    # Room on the right for what is printed there.
    figure.update_layout(margin_r=10.8 * template.small, legend_y=1.02, legend_bgcolor="rgba(0,0,0,0)")
    return figure


def _lines(
    figure: Any,
    places: list[int],
    low: list[float],
    high: list[float],
    *,
    color: str,
    width: float,
    opacity: float = 1.0,
    name: str | None = None,
) -> None:
    """Draw one horizontal line per row as one trace; rows whose ends are unknown stay empty."""
    import plotly.graph_objects as go

    x: list[float | None] = []
    y: list[float | None] = []
    for place, one, other in zip(places, low, high, strict=True):
        if one == one and other == other:
            x += [one, other, None]
            y += [place, place, None]
    figure.add_trace(
        go.Scatter(
            x=x,
            y=y,
            mode="lines",
            line={"color": color, "width": width},
            opacity=opacity,
            name=name,
            showlegend=bool(name and x),
            hoverinfo="skip",
        )
    )


def _print_differences(figure: Any, shown: pd.DataFrame, difference: str, template: Template) -> None:
    for place, value, low, high in zip(
        range(len(shown)), shown[difference], shown["conf_low"], shown["conf_high"], strict=True
    ):
        interval = f" ({low:+.0f} to {high:+.0f})" if low == low else ""
        figure.add_annotation(
            xref="paper",
            x=1,
            xshift=8,
            xanchor="left",
            y=place,
            text=f"<b>{value:+.0f}</b>{interval}".replace("-", "−"),
            showarrow=False,
            font={"size": template.small},
        )
