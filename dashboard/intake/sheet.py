"""What every reader returns: sheets of raw cells that know where they stood."""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

# None, str, float, int, bool, Dated or Broken.
Cell = Any


class Dated(float):
    """A number that its spreadsheet shows as a date or a time; the float is the serial number."""

    __slots__ = ("base_1904",)
    base_1904: bool

    def __new__(cls, serial: float, base_1904: bool = False) -> Dated:
        """Make the cell from its serial number and the calendar its workbook counts in."""
        cell = super().__new__(cls, serial)
        cell.base_1904 = base_1904
        return cell

    def __str__(self) -> str:
        """Return the ISO date the spreadsheet shows; the time alone for a serial below one."""
        days = float(self)
        if not 0 <= days < 2_958_466:  # 9999-12-31
            return repr(days)
        passed = dt.timedelta(milliseconds=round(days * 86_400_000))
        if self.base_1904:
            shown = dt.datetime(1904, 1, 1) + passed
        else:  # spreadsheets believe in 1900-02-29, the 60th day
            shown = dt.datetime(1899, 12, 31 if days < 60 else 30) + passed
        fine = "milliseconds" if shown.microsecond else "seconds"
        if days < 1 and not self.base_1904:
            return shown.time().isoformat(fine)
        return shown.isoformat(" ", fine) if shown.time() != dt.time() else shown.date().isoformat()


def serial_of(moment: dt.date) -> float:
    """Return the serial number that a spreadsheet counting from 1900 gives a date or a date with time."""
    when = moment if isinstance(moment, dt.datetime) else dt.datetime.combine(moment, dt.time())
    when = when.replace(tzinfo=None)
    first = dt.datetime(1899, 12, 31) if when < dt.datetime(1900, 3, 1) else dt.datetime(1899, 12, 30)
    return (when - first) / dt.timedelta(days=1)


def whole_characters(text: str) -> str:
    """Join the halves of characters that were written apart; a half without its other becomes U+FFFD."""
    if text.isascii() or not any("\ud800" <= letter <= "\udfff" for letter in text):
        return text
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")


@dataclass(frozen=True)
class Broken:
    """A cell without a usable value: an error such as ``#N/A``, or a formula whose result was not stored."""

    what: str
    text: str

    def __str__(self) -> str:
        """Return what a person sees."""
        return self.text


@dataclass
class Grid:
    """A sheet before its header is known: the filled cells of the filled rows.

    Attributes
    ----------
    name
        Name of the sheet, or of the file without its ending.
    rows
        Row number as the source counts, from 1 → column number from 0 → cell. Blank cells are absent.
    header
        Names that the format itself gives (jsonl, parquet); None where the header is among the rows.
    merged
        Merged areas: first row, last row, first column, last column.
    widths
        Row number → how many fields the row has, where the format has ragged rows.
    notes
        What the reader has to say about the sheet.
    """

    name: str
    rows: dict[int, dict[int, Cell]]
    header: list[str] | None = None
    merged: list[tuple[int, int, int, int]] = field(default_factory=list)
    widths: dict[int, int] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)

    def cells(self) -> Iterator[Cell]:
        """Yield every filled cell."""
        for row in self.rows.values():
            yield from row.values()


@dataclass
class Sheet:
    """A sheet whose header is known.

    Attributes
    ----------
    name
        Name of the sheet.
    columns
        Headings in the order of the columns; a filled column without a heading has an invented one.
    numbers
        Row number of each row, as the source counts.
    rows
        The cells of each row, one for each column, None where blank.
    title
        Texts of the rows above the header.
    notes
        What was seen on the way.
    rows_read
        How many rows the source has, where only some were taken.
    """

    name: str
    columns: list[str]
    numbers: list[int]
    rows: list[list[Cell]]
    title: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    rows_read: int | None = None

    def __post_init__(self) -> None:
        """Take the rows for those that were read, unless told that some were left out."""
        if self.rows_read is None:
            self.rows_read = len(self.rows)

    def column(self, place: int | None) -> list[Cell]:
        """Return the cells of a column, or blanks for a column that is not there."""
        if place is None:
            return [None] * len(self.rows)
        return [row[place] for row in self.rows]
