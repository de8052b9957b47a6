"""Reads an .xlsx workbook into grids of raw cells, with what a spreadsheet library hides.

The sheets' XML is read once, streamed, and only filled cells are kept, so that a stray cell in the last
row costs nothing. Read this way, error cells, formulas without a stored result, and the serial numbers
behind dates are all seen; a reader that returns values only cannot tell them from blanks.
"""

from __future__ import annotations

import datetime as dt
import posixpath
import re
import zipfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from xml.parsers import expat

from dashboard.intake.sheet import Broken, Cell, Dated, Grid, serial_of
from dashboard.intake.workbook_parts import (
    CELLS_LIMIT,
    Start,
    column_number,
    date_styles,
    first_target,
    listed_sheets,
    local_name,
    parse_part,
    shared_strings,
    targets_of,
    too_many,
    unescaped,
)
from dashboard.intake.zipguard import DAMAGE, open_workbook_zip
from dashboard.vocabulary import Refused

_ELEMENTS_LIMIT = 6_000_000
_ROWS_LIMIT = 1_048_576  # of the format
_REFERENCE = re.compile(r"([A-Z]{1,3})([0-9]{1,7})")


def read_workbook(path: Path) -> list[Grid]:
    """Read every worksheet of an .xlsx file, hidden ones too, in the workbook's order.

    Parameters
    ----------
    path
        The file.

    Returns
    -------
    list of Grid
        Chart and dialog sheets hold no cells and are left out.

    Raises
    ------
    Refused
        If the file is damaged, empty, encrypted, of another format, or absurdly large.
    """
    with open_workbook_zip(path) as archive:
        try:
            return _read_sheets(archive, path.name)
        except (expat.ExpatError, StopIteration, *DAMAGE) as error:
            if isinstance(error, Refused):
                raise
            raise Refused(f"{path.name} is damaged: {_why(error)}.") from error


def _why(error: Exception) -> str:
    if isinstance(error, expat.ExpatError):
        return f"its XML cannot be read ({error})"
    if isinstance(error, KeyError):
        return f"a part of it is missing ({error.args[0]})"
    return str(error) or type(error).__name__


def _read_sheets(archive: zipfile.ZipFile, name: str) -> list[Grid]:
    parts = {part.lstrip("/").replace("\\", "/").lower(): part for part in archive.namelist()}

    def has(part: str) -> bool:
        return part.lower() in parts

    def feed(part: str, start: Start, **more: Any) -> None:
        if not has(part):
            raise KeyError(part)
        with archive.open(parts[part.lower()]) as file:
            parse_part(file, start, **more)

    book = first_target(feed, "_rels/.rels", "officedocument") if has("_rels/.rels") else "xl/workbook.xml"
    listed, base_1904 = listed_sheets(feed, book)
    folder, file = posixpath.split(book)
    targets = targets_of(feed, f"{folder}/_rels/{file}.rels", folder)
    shared = shared_strings(feed, targets, has)
    dates = date_styles(feed, targets, has)
    grids, room = [], CELLS_LIMIT
    for title, relation in listed:
        kind, part = targets[relation]
        if not kind.endswith("/worksheet"):
            continue
        reader = _SheetReader(Grid(title, {}), shared=shared, dates=dates, base_1904=base_1904, room=room)
        feed(part, reader.start, end=reader.end, reader=reader)
        room = reader.room
        grids.append(reader.grid)
    if not grids:
        raise Refused(f"{name} holds no worksheet.")
    return grids


@dataclass
class _SheetReader:
    """Collects the cells of one worksheet from its XML events."""

    grid: Grid
    shared: list[str]
    dates: set[str]
    base_1904: bool
    room: int

    def __post_init__(self) -> None:
        self.parser: Any = None
        self.prefix: str | None = None
        self.columns: dict[str, int] = {}
        self.row_number = 0
        self.place = -1
        self.elements = 0
        self.row: dict[int, Cell] = {}
        self.kind = "n"
        self.style: str | None = None
        self.pieces: list[str] = []
        self.formula = self.valued = self.phonetic = False
        self.empty_results: list[str] = []

    def start(self, name: str, attributes: dict[str, str]) -> None:
        if self.prefix is None:
            self.prefix = name[: -len(local_name(name))]
        if self.prefix:
            name = name.removeprefix(self.prefix)
        if name == "c":
            self.elements += 1
            reference = attributes.get("r")
            self.place = self.place + 1 if reference is None else self._column(reference)
            self.kind = attributes.get("t", "n")
            self.style = attributes.get("s")
            self.pieces = []
            self.formula = self.valued = False
        elif name == "v" or (name == "t" and not self.phonetic):
            self.valued = True
            self.parser.CharacterDataHandler = self.pieces.append
        elif name == "row":
            self.elements += 1
            self.row_number = int(attributes.get("r", self.row_number + 1))
            if not 0 < self.row_number <= _ROWS_LIMIT:
                raise ValueError(f"a row has the number {self.row_number}")
            self.place, self.row = -1, self.grid.rows.get(self.row_number, {})
        elif name == "f":
            self.formula = True
        elif name == "rPh":
            self.phonetic = True
        elif name == "mergeCell":
            self._merged(attributes.get("ref", ""))

    def end(self, name: str) -> None:
        if self.prefix:
            name = name.removeprefix(self.prefix)
        if name in {"v", "t"}:
            self.parser.CharacterDataHandler = None
        elif name == "c":
            if self.pieces or self.formula or self.kind == "e":
                cell = self._cell()
                if cell is not None:
                    self.row[self.place] = cell
                    self.room -= 1
        elif name == "row":
            if self.row:
                self.grid.rows[self.row_number] = self.row
            if self.room < 0:
                raise too_many(f"{CELLS_LIMIT:,} filled cells")
            if self.elements > _ELEMENTS_LIMIT:
                raise too_many(f"{_ELEMENTS_LIMIT:,} cells, most of them blank")
        elif name == "rPh":
            self.phonetic = False
        elif name == "sheetData":
            self._finish()

    def _column(self, reference: str) -> int:
        letters = reference.rstrip("0123456789")
        place = self.columns.get(letters)
        if place is None:
            place = self.columns[letters] = column_number(letters.upper())
        return place

    def _cell(self) -> Cell:
        text = "".join(self.pieces) if len(self.pieces) != 1 else self.pieces[0]
        kind = self.kind
        if kind == "e":
            return Broken("error", text or "#error")
        if self.formula and not text:
            if kind == "str" and self.valued:
                self.empty_results.append(f"{self.row_number}")
                return None
            return Broken("formula", "a formula without a stored value")
        if kind == "n":
            try:
                number = float(text)
            except ValueError:
                return text
            return Dated(number, self.base_1904) if self.style in self.dates else number
        if kind == "s":
            if (number_of_text := int(text)) < 0:
                raise ValueError("a cell refers to a text before the first")
            return self.shared[number_of_text] or None
        if kind == "b":
            return text.strip() in {"1", "true"}
        if kind == "d":
            return _iso_date(text)
        return unescaped(text) or None

    def _merged(self, reference: str) -> None:
        corners = _REFERENCE.findall(reference)
        if len(corners) == 2:
            (left, top), (right, bottom) = corners
            area = (int(top), int(bottom), column_number(left), column_number(right))
            self.grid.merged.append(area)

    def _finish(self) -> None:
        rows = self.grid.rows
        if list(rows) != sorted(rows):
            self.grid.rows = dict(sorted(rows.items()))
        if self.empty_results:
            listed = ", ".join(self.empty_results[:20])
            self.grid.notes.append(
                f"{self.grid.name}: {len(self.empty_results)} formulas whose stored result is an empty text "
                f"are blank (rows {listed}{' …' if len(self.empty_results) > 20 else ''})."
            )


def _iso_date(text: str) -> Cell:
    try:
        return Dated(serial_of(dt.datetime.fromisoformat(text)))
    except ValueError:
        return text
