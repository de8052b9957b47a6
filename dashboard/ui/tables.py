"""Tables on the screen: formatted cell by cell, sorted by the numbers behind."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, cast

import streamlit as st

from dashboard.export import printed_table
from dashboard.ui.text import plain
from dashboard.vocabulary import column, column_formats, format_number

if TYPE_CHECKING:
    import pandas as pd

# Formatting cell by cell is for reading; beyond this many cells a table is scanned, searched and saved.
FORMATTED_CELLS = 20_000
LAZY_ROWS = 5_000
READING_ROWS = 40
_TO = re.compile(r"\bto\b")
# A page at 800 pixels, somewhat more than there is inside a folded part, since stops and blanks are counted as letters; a
# letter on average; a cell's padding.
NARROW_PIXELS, LETTER_PIXELS, CELL_PIXELS = 490, 7, 21
_FORMATS = {"count": "localized", "rating": "%.2f", "number": "%.4g", "p": "%.3f", "percent": "percent"}


def show_table(frame: pd.DataFrame, *, key: str, alt: str) -> None:
    """Draw a table, sortable; large ones are loaded as they are scrolled."""
    shown = _storable(frame)
    small = shown.size <= FORMATTED_CELLS
    st.dataframe(
        _formatted(shown) if small else shown,
        column_config=_columns(shown, formatted=small),
        hide_index=True,
        width="stretch",
        height="auto" if len(shown) <= 10 else 388,
        lazy=True if len(shown) > LAZY_ROWS and not small else None,
        alt=alt,
        key=key,
    )


def show_reading_table(frame: pd.DataFrame, *, alt: str) -> None:
    """Draw a short table to be read from top to bottom: whole sentences, nothing cut, no scrolling sideways."""
    if len(frame) > READING_ROWS:
        show_table(frame, key=f"reading.{alt}", alt=alt)
        return
    show_markdown_table(printed_table(frame).map(plain).rename(columns=plain), alt=alt)


def show_markdown_table(readable: pd.DataFrame, *, alt: str) -> None:
    """Draw a table whose cells and headings are Markdown already, with bars escaped.

    As one text where its words fit a narrow page: ``st.table`` reads each cell as a Markdown of its own and loads a
    library for columnar data first, which takes a browser several times as long, but it scrolls sideways.
    """
    names = [_one_line(name) for name in readable.columns]
    cells = [[_one_line(cell) for cell in row] for row in readable.to_numpy().tolist()]
    columns = list(zip(names, *cells, strict=True))
    if sum(max(map(_word_pixels, column)) + CELL_PIXELS for column in columns) > NARROW_PIXELS:
        st.table(readable, border="horizontal", hide_index=True, alt=alt)
        return
    rules = ["---:" if index and _numeric(column[1:]) else "---" for index, column in enumerate(columns)]
    st.markdown("\n".join(f"| {' | '.join(line)} |" for line in [names, rules, *cells]))


def _word_pixels(cell: str) -> float:
    """Return about how wide the longest word of a cell is that no line break can split."""
    shown = re.sub(r"\]\([^)]*\)|:\w+\[|[\\*\[\]\u2060]", "", cell)
    return LETTER_PIXELS * max(map(len, shown.split(" ")))


def _numeric(cells: Sequence[str]) -> bool:
    """Return whether a column holds numbers and intervals only; what is coloured throughout says why there is none."""
    told = [cell for cell in cells if cell and not cell.startswith(":")]
    return bool(told) and all(re.search(r"\d", cell) and not re.search(r"[^\W\d_]", _TO.sub("", cell)) for cell in told)


def _one_line(cell: object) -> str:
    """Return the text on one line; blanks that keep words together still do."""
    return re.sub(r"[^\S\u00a0]+", " ", str(cell)).strip(" ")


def _formatted(frame: pd.DataFrame) -> Any:
    """Return the frame with each cell's printed form; sorting still goes by the numbers."""
    formats = column_formats([str(name) for name in frame.columns])
    kinds = {name: formats[str(name)] for name in frame.columns if frame[name].dtype.kind in "iuf"}
    printers = {name: partial(format_number, kind=kind) for name, kind in kinds.items()}
    return frame.style.format(cast("Any", printers), na_rep="–")


def _columns(frame: pd.DataFrame, *, formatted: bool) -> dict[str, Any]:
    configs = {}
    for name in frame.columns:
        entry = column(str(name))
        is_number = frame[name].dtype.kind in "iuf"
        form = None if formatted or not is_number else _FORMATS.get(entry.format)
        make = st.column_config.NumberColumn if is_number else st.column_config.TextColumn
        options: dict[str, Any] = {"format": form} if is_number and form else {}
        configs[str(name)] = make(entry.label, help=entry.help or None, **options)
    return configs


def _storable(frame: pd.DataFrame) -> pd.DataFrame:
    """Return the frame with columns that mix numbers and text as text: an Arrow column has one type."""
    mixed = [
        name
        for name in frame.columns
        if frame[name].dtype == object and not all(isinstance(cell, str) for cell in frame[name].dropna())
    ]
    if not mixed:
        return frame
    texts: dict[str, Any] = {name: [_cell_text(cell) for cell in frame[name]] for name in mixed}
    return frame.assign(**texts)


def _cell_text(cell: Any) -> str | None:
    if cell is None or cell != cell:
        return None
    return cell if isinstance(cell, str) else format_number(cell) if isinstance(cell, int | float) else str(cell)
