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
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any
from xml.parsers import expat

from dashboard.intake.sheet import Broken, Cell, Dated, Grid, serial_of, whole_characters
from dashboard.intake.zipguard import DAMAGE, open_workbook_zip
from dashboard.vocabulary import Refused

CELLS_LIMIT = 1_500_000
_ELEMENTS_LIMIT = 6_000_000
_ESCAPE = re.compile(r"_x([0-9A-Fa-f]{4})_")
# Built-in number formats that show a date or a time (ECMA-376 part 1, 18.8.30).
_DATE_FORMATS = {*range(14, 23), *range(27, 37), *range(45, 48), *range(50, 59)}
_NOT_FORMAT = re.compile(r'"[^"]*"|\\.|_.|\*.|\[(?![hms]+\])[^\]]*\]', re.IGNORECASE)
_REFERENCE = re.compile(r"([A-Z]{1,3})([0-9]{1,7})")


class _Stop(Exception):
    pass


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

    def feed(part: str, start: _Start, **more: Any) -> None:
        if not has(part):
            raise KeyError(part)
        with archive.open(parts[part.lower()]) as file:
            _parse(file, start, **more)

    book = _first_target(feed, "_rels/.rels", "officedocument") if has("_rels/.rels") else "xl/workbook.xml"
    listed, base_1904 = _listed_sheets(feed, book)
    folder, file = posixpath.split(book)
    targets = _targets(feed, f"{folder}/_rels/{file}.rels", folder)
    shared = _shared_strings(feed, targets, has)
    dates = _date_styles(feed, targets, has)
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


_Start = Callable[[str, dict[str, str]], None]


def _parse(file: IO[bytes], start: _Start, **handlers: Any) -> None:
    parser = expat.ParserCreate()
    parser.buffer_text = True

    def refuse_doctype(*_: object) -> None:
        raise ValueError("its XML declares a document type, which workbooks do not")

    parser.StartDoctypeDeclHandler = refuse_doctype
    parser.StartElementHandler = start
    if handlers.get("end"):
        parser.EndElementHandler = handlers["end"]
    if handlers.get("text"):
        parser.CharacterDataHandler = handlers["text"]
    if handlers.get("reader") is not None:
        handlers["reader"].parser = parser
    try:
        while piece := file.read(1 << 18):
            parser.Parse(piece, False)
        parser.Parse(b"", True)
    except _Stop:
        return


def _local(name: str) -> str:
    return name.rpartition(":")[2]


def _first_target(feed: Callable[..., None], part: str, kind: str) -> str:
    found = [path for type_, path in _targets(feed, part, "").values() if type_.lower().endswith(kind)]
    return found[0] if found else "xl/workbook.xml"


def _targets(feed: Callable[..., None], part: str, folder: str) -> dict[str, tuple[str, str]]:
    """Return relation id → (type, path in the archive)."""
    found: dict[str, tuple[str, str]] = {}

    def start(name: str, attributes: dict[str, str]) -> None:
        if _local(name) == "Relationship" and attributes.get("TargetMode") != "External":
            target = attributes["Target"].replace("\\", "/")
            path = target if target.startswith("/") else posixpath.join(folder, target)
            found[attributes["Id"]] = (attributes["Type"], posixpath.normpath(path).lstrip("/"))

    feed(part, start)
    return found


def _listed_sheets(feed: Callable[..., None], book: str) -> tuple[list[tuple[str, str]], bool]:
    """Return (name, relation id) of each sheet, and whether dates count from 1904."""
    listed: list[tuple[str, str]] = []
    base_1904 = False

    def start(name: str, attributes: dict[str, str]) -> None:
        nonlocal base_1904
        if _local(name) == "sheet":
            relation = next(value for key, value in attributes.items() if key.endswith(":id"))
            listed.append((_unescaped(attributes["name"]), relation))
        elif _local(name) == "workbookPr":
            base_1904 = attributes.get("date1904", "0").lower() in {"1", "true"}

    feed(book, start)
    return listed, base_1904


def _part_of(targets: dict[str, tuple[str, str]], kind: str) -> str | None:
    return next((path for type_, path in targets.values() if type_.endswith(kind)), None)


def _shared_strings(
    feed: Callable[..., None], targets: dict[str, tuple[str, str]], has: Callable[[str], bool]
) -> list[str]:
    part = _part_of(targets, "/sharedStrings")
    if part is None or not has(part):
        return []
    strings: list[str] = []
    pieces: list[str] = []
    phonetic = collecting = False

    def start(name: str, _: dict[str, str]) -> None:
        nonlocal phonetic, collecting
        name = _local(name)
        if name == "si":
            pieces.clear()
        elif name == "rPh":
            phonetic = True
        elif name == "t":
            collecting = not phonetic

    def text(data: str) -> None:
        if collecting:
            pieces.append(data)

    def end(name: str) -> None:
        nonlocal phonetic, collecting
        name = _local(name)
        if name == "si":
            strings.append(_unescaped("".join(pieces)))
            if len(strings) > CELLS_LIMIT:
                raise _too_many(f"{CELLS_LIMIT:,} texts")
        elif name == "rPh":
            phonetic = False
        elif name == "t":
            collecting = False

    feed(part, start, end=end, text=text)
    return strings


def _too_many(what: str) -> Refused:
    return Refused(
        f"The workbook holds more than {what}; the released data has under 100,000 cells, "
        "so this is probably not the file you mean."
    )


def _date_styles(
    feed: Callable[..., None], targets: dict[str, tuple[str, str]], has: Callable[[str], bool]
) -> set[str]:
    """Return the numbers of the cell styles that show a number as a date or a time."""
    part = _part_of(targets, "/styles")
    if part is None or not has(part):
        return set()
    custom: dict[int, bool] = {}
    dates: set[str] = set()
    inside, place = False, -1

    def start(name: str, attributes: dict[str, str]) -> None:
        nonlocal inside, place
        name = _local(name)
        if name == "numFmt":
            custom[int(attributes["numFmtId"])] = shows_date(attributes.get("formatCode", ""))
        elif name in {"cellStyleXfs", "cellXfs"}:
            inside = name == "cellXfs"
        elif name == "xf" and inside:
            place += 1
            number = int(attributes.get("numFmtId", "0"))
            if custom.get(number, number in _DATE_FORMATS):
                dates.add(str(place))
        elif name == "cellStyles":
            raise _Stop

    feed(part, start)
    return dates


def shows_date(code: str) -> bool:
    """Say whether a number format shows a date or a time.

    Literal text, escapes, colours and conditions are left out before looking for date letters.
    """
    bare = _NOT_FORMAT.sub("", code.split(";")[0])
    return bare.strip().lower() != "general" and bool(re.search("[dmyhs]", bare, re.IGNORECASE))


def _unescaped(text: str) -> str:
    """Undo ``_x000D_``: how the format writes what XML cannot hold."""
    if "_x" not in text:
        return text
    return whole_characters(_ESCAPE.sub(lambda found: chr(int(found[1], 16)), text))


def column_number(letters: str) -> int:
    """Return the number from 0 of a column such as ``AB``."""
    number = 0
    for letter in letters:
        number = number * 26 + ord(letter) - 64
    return number - 1


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
            self.prefix = name[: -len(_local(name))]
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
                raise _too_many(f"{CELLS_LIMIT:,} filled cells")
            if self.elements > _ELEMENTS_LIMIT:
                raise _too_many(f"{_ELEMENTS_LIMIT:,} cells, most of them blank")
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
            return self.shared[int(text)] or None
        if kind == "b":
            return text.strip() in {"1", "true"}
        if kind == "d":
            return _iso_date(text)
        return _unescaped(text) or None

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
