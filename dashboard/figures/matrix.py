"""A matrix of numbers on coloured tiles; tiles are shapes, so that a PDF holds no bitmap."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import TYPE_CHECKING

from dashboard.figures.template import Template, blank_figure, escape, ink_on, rows_height, shorten

if TYPE_CHECKING:
    import pandas as pd
    import plotly.graph_objects as go


def draw_matrix(
    frame: pd.DataFrame,
    *,
    template: Template,
    row: str,
    across: str,
    value: str,
    count: str,
    row_labels: Mapping[str, str],
    across_title: str,
    unit: str,
    percent: bool = True,
    minimum: float = 0.0,
    maximum: float = 1.0,
) -> go.Figure:
    """Draw one tile per row and column with its number printed.

    Parameters
    ----------
    frame
        One row per tile: ``row``, ``across``, ``value``, ``count``; tiles without a value stay hollow.
    template
        The medium's template.
    row_labels
        Label of each row; rows and columns stand in order of first appearance.
    across_title
        Title of the column axis.
    unit
        What the number is, for the hover text.
    percent
        Whether values are shares.
    minimum, maximum
        Values at the light and at the dark end of the scale of tiles.
    """
    import plotly.graph_objects as go

    rows, columns = list(dict.fromkeys(frame[row])), list(dict.fromkeys(frame[across]))
    names = {column: escape(shorten(str(column), 26)) for column in columns}
    figure = blank_figure(template, height=rows_height(len(rows), template, per_row=2.4, around=9))
    shapes, texts, inks = [], [], []
    for one, other, number in zip(frame[row], frame[across], frame[value], strict=True):
        x, y = columns.index(other), rows.index(one)
        known = not math.isnan(number)
        color = _tile(number, minimum, maximum, template) if known else None
        shapes.append(
            {
                "type": "rect",
                "x0": x - 0.48,
                "x1": x + 0.48,
                "y0": y - 0.46,
                "y1": y + 0.46,
                "layer": "below",
                "line": {"width": 0 if known else 1, "color": template.grid},
                "fillcolor": color or "rgba(0,0,0,0)",
            }
        )
        texts.append("" if not known else f"{100 * number:.0f}" if percent else f"{number:.2f}")
        inks.append(ink_on(color) if color else template.quiet)
    figure.update_layout(shapes=shapes)
    form = ".1%" if percent else ".2f"
    figure.add_trace(
        go.Scatter(
            x=[columns.index(item) for item in frame[across]],
            y=[rows.index(item) for item in frame[row]],
            mode="text",
            text=texts,
            textfont={"size": template.small, "color": inks},
            customdata=[
                (escape(row_labels.get(one, str(one))), names[other], number, n)
                for one, other, number, n in zip(frame[row], frame[across], frame[value], frame[count], strict=True)
            ],
            hovertemplate=(
                f"%{{customdata[0]}}, %{{customdata[1]}}<br>{unit}: %{{customdata[2]:{form}}} "
                "(n = %{customdata[3]:,.0f})<extra></extra>"
            ),
            showlegend=False,
        )
    )
    figure.update_xaxes(
        tickvals=list(range(len(columns))),
        ticktext=[_wrap(names[column]) for column in columns],
        range=[-0.5, len(columns) - 0.5],
        side="top",
        title_text=across_title if len(columns) > 1 else None,
        showgrid=False,
        tickangle=0 if len(columns) <= 8 else None,
    )
    figure.update_yaxes(
        tickvals=list(range(len(rows))),
        ticktext=[escape(shorten(row_labels.get(one, str(one)), 30)) for one in rows],
        range=[len(rows) - 0.5, -0.5],
        showgrid=False,
    )
    return figure


def _tile(number: float, minimum: float, maximum: float, template: Template) -> str:
    """Return a blue whose depth grows with the number; it reads in greyscale too."""
    light, deep = ((22, 38, 58), (77, 179, 230)) if template.dark else ((238, 244, 250), (0, 90, 145))
    share = min(1.0, max(0.0, (number - minimum) / (maximum - minimum))) if maximum > minimum else 0.0
    return "#" + "".join(f"{round(a + (b - a) * share):02x}" for a, b in zip(light, deep, strict=True))


def _wrap(text: str, width: int = 13) -> str:
    """Break a label into lines at blanks."""
    lines = [""]
    for word in text.split(" "):
        if lines[-1] and len(lines[-1]) + 1 + len(word) > width:
            lines.append(word)
        else:
            lines[-1] = f"{lines[-1]} {word}".strip()
    return "<br>".join(lines)
