"""Reads csv, tsv and jsonl text in the encodings that people save it in."""

from __future__ import annotations

import csv
import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from dashboard.intake.cells import name_key
from dashboard.intake.sheet import Cell, Grid, whole_characters
from dashboard.vocabulary import Refused

TEXT_LIMIT = 100_000_000
CELLS_LIMIT = 1_500_000
_LINE_LIMIT = 8_000_000
_DELIMITERS = (",", ";", "\t")
_MARKS = (
    (b"\xef\xbb\xbf", "utf-8-sig"),
    (b"\xff\xfe\x00\x00", "utf-32"),
    (b"\x00\x00\xfe\xff", "utf-32"),
    (b"\xff\xfe", "utf-16"),
    (b"\xfe\xff", "utf-16"),
)
_MULTIBYTE = re.compile(rb"[\xc2-\xdf][\x80-\xbf]|[\xe0-\xef][\x80-\xbf]{2}|[\xf0-\xf4][\x80-\xbf]{3}")


def read_text(path: Path, notes: list[str]) -> str:
    """Return the text of a file in UTF-8, UTF-16 or UTF-32 (byte-order mark or not), or Windows-1252.

    Raises
    ------
    Refused
        If the file is empty, larger than 100 MB, binary, or damaged UTF-8.
    """
    size = path.stat().st_size
    if size > TEXT_LIMIT:
        raise Refused(f"{path.name} has {size / 1e6:,.0f} MB; the limit for a text file is {TEXT_LIMIT / 1e6:.0f} MB.")
    raw = path.read_bytes()
    if not raw.strip(b"\x00\r\n\t \xef\xbb\xbf\xff\xfe"):
        raise Refused(f"{path.name} is empty.")
    encoding = _encoding(raw)
    if encoding is None:
        encoding = "cp1252"
        if _is_damaged_utf8(raw):
            line = _first_bad_line(raw)
            raise Refused(f"{path.name} must be UTF-8, UTF-16 or Windows-1252 text; line {line} has damaged UTF-8.")
        notes.append(f"{path.name} is not UTF-8; it was read as Windows-1252.")
    try:
        text = raw.decode(encoding)
    except UnicodeDecodeError as error:
        raise Refused(f"{path.name} is no text in UTF-8, UTF-16 or Windows-1252 ({error.reason}).") from error
    if "\x00" in text:
        raise Refused(f"{path.name} is no text file: it holds binary zeros.")
    return text


def _encoding(raw: bytes) -> str | None:
    for mark, encoding in _MARKS:
        if raw.startswith(mark):
            return encoding
    head = raw[:4096]
    even, odd = head[0::2].count(0), head[1::2].count(0)
    if max(even, odd) > len(head) / 8:
        return "utf-16-be" if even > odd else "utf-16-le"
    try:
        raw.decode("utf-8")
    except UnicodeDecodeError:
        return None
    return "utf-8"


def _is_damaged_utf8(raw: bytes) -> bool:
    """Say whether most of the bytes above 127 form UTF-8 characters, which Windows-1252 text almost never does."""
    high = len(raw.translate(None, bytes(range(128))))
    return sum(len(found) for found in _MULTIBYTE.findall(raw)) > high / 2


def _first_bad_line(raw: bytes) -> int:
    try:
        raw.decode("utf-8")
    except UnicodeDecodeError as error:
        return raw.count(b"\n", 0, error.start) + 1
    return 0


def read_delimited(path: Path, *, names: frozenset[str] = frozenset()) -> Grid:
    """Read a csv or tsv file: separated by comma, semicolon or tab, whichever shows the most known names.

    Rows are counted as a spreadsheet counts them: a record is a row however many lines it has.

    Parameters
    ----------
    path
        The file.
    names
        Keys (`name_key`) of the column names that are expected.

    Raises
    ------
    Refused
        If the file is empty, too large, no text, or its quotes do not match.
    """
    notes: list[str] = []
    text = read_text(path, notes)
    delimiter, first = _delimiter(text, names)
    rows: dict[int, dict[int, Cell]] = {}
    widths: dict[int, int] = {}
    room = CELLS_LIMIT
    for number, record in _records(path, text, delimiter):
        if number < first:
            continue
        cells: dict[int, Cell] = {place: cell for place, cell in enumerate(record) if cell}
        room -= len(cells)
        if room < 0:
            raise Refused(f"{path.name} holds more than {CELLS_LIMIT:,} filled cells.")
        if cells:
            rows[number] = cells
            widths[number] = len(record)
    return Grid(path.stem, rows, widths=widths, notes=notes)


def _lines(path: Path, text: str) -> Iterator[str]:
    for line in text.splitlines(keepends=True) if "\n" not in text else _split(text):
        if len(line) > _LINE_LIMIT:
            raise Refused(f"{path.name} has a line longer than {_LINE_LIMIT / 1e6:.0f} MB.")
        yield line


def _split(text: str) -> Iterator[str]:
    # str.splitlines would also break at form feeds and U+2028, which belong to the texts
    start = 0
    while start < len(text):
        end = text.find("\n", start) + 1 or len(text)
        yield text[start:end]
        start = end


def _records(path: Path, text: str, delimiter: str) -> Iterator[tuple[int, list[str]]]:
    csv.field_size_limit(_LINE_LIMIT)
    reader = csv.reader(_lines(path, text), delimiter=delimiter, strict=True)
    number = 0
    try:
        for number, record in enumerate(reader, 1):
            yield number, record
    except csv.Error as error:
        raise Refused(
            f"{path.name} is no well-formed {'tsv' if delimiter == chr(9) else 'csv'}: after row {number}, "
            f"line {reader.line_num}: {error}. Quotes inside a quoted cell must be doubled."
        ) from error


def _delimiter(text: str, names: frozenset[str]) -> tuple[str, int]:
    """Return the delimiter and the first row to read (2 below a line such as ``sep=;``)."""
    head = text[:400_000]
    stated = re.match(r"sep=(.)\r?\n", head)
    if stated:
        return stated[1], 2
    scores = []
    for delimiter in _DELIMITERS:
        known = width = 0
        reader = csv.reader(_split(head), delimiter=delimiter)
        try:
            for _, record in zip(range(50), reader, strict=False):
                known = max(known, sum(name_key(cell) in names for cell in record))
                width = max(width, len(record)) if width == 0 else width
        except csv.Error:
            pass
        scores.append((known, width))
    return _DELIMITERS[scores.index(max(scores))], 1


def read_jsonl(path: Path) -> Grid:
    """Read one JSON object a line, or one JSON array of objects; nested values stay as JSON text.

    Rows are numbered as the lines are, the objects of an array from 1. NaN, which is how some programs
    write an empty number, is blank.

    Raises
    ------
    Refused
        If a line is no JSON object or repeats a name.
    """
    notes: list[str] = []
    text = read_text(path, notes)
    places: dict[str, int] = {}
    rows: dict[int, dict[int, Cell]] = {}
    room = CELLS_LIMIT
    for number, record in _objects(path, text):
        cells = {places.setdefault(name, len(places)): _json_cell(value) for name, value in record.items()}
        filled = {place: cell for place, cell in cells.items() if cell is not None}
        room -= len(filled)
        if room < 0:
            raise Refused(f"{path.name} holds more than {CELLS_LIMIT:,} filled cells.")
        if filled:
            rows[number] = filled
    return Grid(path.stem, rows, header=list(places), notes=notes)


def _objects(path: Path, text: str) -> Iterator[tuple[int, dict[str, Any]]]:
    if text.lstrip().startswith("["):
        found = _parsed(path, text, "the file")
        entries = list(enumerate(found, 1))
    else:
        lines = enumerate(_split(text), 1)
        entries = [(number, line) for number, line in lines if line.strip()]
    for number, entry in entries:
        record = _parsed(path, entry, f"line {number}") if isinstance(entry, str) else entry
        if not isinstance(record, dict):
            raise Refused(f"{path.name} must hold one JSON object a line; line {number} holds something else.")
        yield number, record


def _parsed(path: Path, text: str, where: str) -> Any:
    def unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        record = dict(pairs)
        if len(record) != len(pairs):
            names = [name for name, _ in pairs]
            twice = next(name for name in names if names.count(name) > 1)
            raise Refused(f"{path.name}, {where}: the name {twice!r} is there twice.")
        return record

    try:
        return json.loads(text, object_pairs_hook=unique)
    except RecursionError as error:
        raise Refused(f"{path.name}, {where}: nested too deeply.") from error
    except ValueError as error:
        raise Refused(f"{path.name}, {where}: no JSON ({error}).") from error


def _json_cell(value: Any) -> Cell:
    if value is None or value == "" or (isinstance(value, float) and value != value):
        return None
    if isinstance(value, str):
        return whole_characters(value)
    if isinstance(value, (dict, list)):
        return json.dumps(value, ensure_ascii=False)
    return value
