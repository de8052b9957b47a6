"""A matrix of numbers on coloured tiles; tiles are shapes, so that a PDF holds no bitmap."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import TYPE_CHECKING

from dashboard.figures.template import Template, blank_figure, diverging, escape, ink_on, rows_height, shorten

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
    note: str | None = None,
    signed: bool = False,
    mark: str | None = None,
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
    note
        Column of short texts printed below the number; lines are separated by a newline.
    signed
        Whether values have a sign, which is printed, and whose colours diverge from grey at the middle of the scale.
    mark
        Column of booleans: tiles to outline in ink.
    """
    import plotly.graph_objects as go

    rows, columns = list(dict.fromkeys(frame[row])), list(dict.fromkeys(frame[across]))
    names = {column: escape(shorten(str(column), 26)) for column in columns}
    notes = [str(text) for text in frame[note]] if note else [""] * len(frame)
    marks = [bool(one) for one in frame[mark]] if mark else [False] * len(frame)
    n_lines = 1 + max((text.count("\n") + 1 for text in notes if text), default=0)
    # Upright names in two lines would read as two columns.
    upright = template.paper and len(columns) > 4
    ticks = list(names.values()) if upright else [_wrap(one) for one in names.values()]
    around = 9 + max(0.0, 0.45 * (max(map(len, ticks), default=0) - 13)) if upright else 9
    figure = blank_figure(template, height=rows_height(len(rows), template, per_row=1.2 + 1.2 * n_lines, around=around))
    shapes, texts, inks = [], [], []
    for one, other, number, below, marked in zip(frame[row], frame[across], frame[value], notes, marks, strict=True):
        x, y = columns.index(other), rows.index(one)
        known = not math.isnan(number)
        color = _color(number, minimum, maximum, template, signed=signed) if known else None
        shapes.append(
            {
                "type": "rect",
                "x0": x - 0.48,
                "x1": x + 0.48,
                "y0": y - 0.46,
                "y1": y + 0.46,
                "layer": "below",
                "line": {
                    "width": 2 if marked else 0 if known else 1,
                    "color": template.ink if marked else template.grid,
                },
                "fillcolor": color or "rgba(0,0,0,0)",
            }
        )
        lines = [_number(number, percent=percent, signed=signed), *escape(below).splitlines()]
        texts.append("<br>".join(line for line in lines if line))
        inks.append(ink_on(color) if color else template.quiet)
    figure.update_layout(shapes=shapes)
    form = ".1%" if percent else "+.1f" if signed else ".2f"
    figure.add_trace(
        go.Scatter(
            x=[columns.index(item) for item in frame[across]],
            y=[rows.index(item) for item in frame[row]],
            mode="text",
            text=texts,
            textfont={"size": template.small, "color": inks},
            customdata=[
                (
                    escape(row_labels.get(one, str(one))),
                    names[other],
                    f"{number:{form}}" if number == number else "–",
                    n,
                )
                for one, other, number, n in zip(frame[row], frame[across], frame[value], frame[count], strict=True)
            ],
            hovertemplate=(
                f"%{{customdata[0]}}, %{{customdata[1]}}<br>{unit}: %{{customdata[2]}} "
                "(n = %{customdata[3]:,.0f})<extra></extra>"
            ),
            showlegend=False,
        )
    )
    figure.update_xaxes(
        tickvals=list(range(len(columns))),
        ticktext=ticks,
        range=[-0.5, len(columns) - 0.5],
        side="top",
        showgrid=False,
        # Names stand upright where they would touch.
        autotickangles=[0, -90],
    )
    if template.synthetic:
        # An empty title keeps the names of the columns clear of the mark in the corner.
        figure.update_xaxes(title_text="\u00a0", title_standoff=0)
    if len(columns) > 1:
        _title_below(figure, across_title, template)
    figure.update_yaxes(
        tickvals=list(range(len(rows))),
        # Many columns need the room that long names would take.
        ticktext=[escape(shorten(row_labels.get(one, str(one)), 30 if len(columns) < 9 else 20)) for one in rows],
        range=[len(rows) - 0.5, -0.5],
        showgrid=False,
    )
    return figure


def _title_below(figure: go.Figure, text: str, template: Template) -> None:
    """Write the title of the columns below the tiles: above them stand their names, and the mark of synthetic data."""
    figure.add_annotation(
        text=escape(text),
        xref="paper",
        yref="paper",
        x=0.5,
        y=0,
        yanchor="top",
        yshift=-0.3 * template.font_size,
        showarrow=False,
        font={"size": template.small},
    )
    figure.update_layout(margin_b=2.2 * template.font_size)


def _tile(number: float, minimum: float, maximum: float, template: Template) -> str:
    """Return a blue whose depth grows with the number; it reads in greyscale too."""
    light, deep = ((22, 38, 58), (77, 179, 230)) if template.dark else ((238, 244, 250), (0, 90, 145))
    share = min(1.0, max(0.0, (number - minimum) / (maximum - minimum))) if maximum > minimum else 0.0
    return "#" + "".join(f"{round(a + (b - a) * share):02x}" for a, b in zip(light, deep, strict=True))


def _color(number: float, minimum: float, maximum: float, template: Template, *, signed: bool) -> str:
    """Return a tile's colour: from light to deep, or diverging from grey at the middle."""
    if not signed:
        return _tile(number, minimum, maximum, template)
    share = min(1.0, max(0.0, (number - minimum) / (maximum - minimum))) if maximum > minimum else 0.5
    return diverging(21)[round(20 * share)]


def _number(number: float, *, percent: bool, signed: bool) -> str:
    if math.isnan(number):
        return ""
    if percent:
        return f"{100 * number:.0f}"
    return f"{number:+.0f}".replace("-", "−") if signed else f"{number:.2f}"


def _wrap(text: str, width: int = 13) -> str:
    """Break a label into lines at blanks."""
    lines = [""]
    for word in text.split(" "):
        if lines[-1] and len(lines[-1]) + 1 + len(word) > width:
            lines.append(word)
        else:
            lines[-1] = f"{lines[-1]} {word}".strip()
    return "<br>".join(lines)
