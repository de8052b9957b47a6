"""Values in words beside the rows of a figure."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from dashboard.figures.template import Template

if TYPE_CHECKING:
    import plotly.graph_objects as go


def value_column(
    figure: go.Figure, places: Sequence[float], texts: Sequence[str], template: Template, *, quiet: Sequence[bool] = ()
) -> None:
    """Print each row's value in a column right of the axis: above its dot, lines and neighbours would cross it.

    Parameters
    ----------
    places
        Where the rows are on the vertical axis.
    texts
        One text per row; ``<br>`` breaks it.
    quiet
        Which of them are secondary.
    """
    import plotly.graph_objects as go

    notes = [
        go.layout.Annotation(
            x=1,
            xref="paper",
            xanchor="left",
            xshift=0.9 * template.font_size,
            y=place,
            yanchor="middle",
            text=text,
            align="left",
            showarrow=False,
            font={"size": template.small, "color": template.quiet if quiet and quiet[index] else template.ink},
        )
        for index, (place, text) in enumerate(zip(places, texts, strict=True))
    ]
    figure.layout.annotations = (*figure.layout.annotations, *notes)
    widest = max((len(line) for text in texts for line in text.split("<br>")), default=0)
    # The axis' last label reaches beyond its end by about as much as the margin holds without a column.
    figure.layout.margin.r = max(figure.layout.margin.r or 0, 1.2 * template.font_size + 0.62 * template.small * widest)
