"""Ids that are the same in every sheet, and rows that are there twice."""

from __future__ import annotations

from collections.abc import Iterable

from dashboard.intake.cells import as_id, is_blank, key_of, stripped
from dashboard.intake.findings import Findings, listed
from dashboard.intake.sheet import Cell, Dated, Sheet


class IdReader:
    """Reads the ids of one kind, wherever they stand, in one way.

    The text "1.0" is the id 1, unless some id of the kind has a decimal part of its own, such as "1.5".

    Parameters
    ----------
    columns
        All cells that hold such ids.
    """

    def __init__(self, columns: Iterable[list[Cell]]) -> None:
        self._decimals = any(_has_decimals(cell) for column in columns for cell in column)
        self._seen: dict[tuple[type, Cell], str | ValueError | None] = {}

    def read(self, cell: Cell) -> str | None:
        """Return the id, None for a blank.

        Raises
        ------
        ValueError
            If the cell can be no id; the message says why.
        """
        if isinstance(cell, str) and cell.isalnum() and cell.isascii():
            return cell
        key = (type(cell), cell)
        if key not in self._seen:
            try:
                self._seen[key] = as_id(cell, decimals_are_ids=self._decimals)
            except ValueError as error:
                self._seen[key] = error
        found = self._seen[key]
        if isinstance(found, ValueError):
            raise found
        return found

    def read_required(self, sheet: Sheet, at: int, place: int, findings: Findings) -> str | None:
        """Return the id in a row of a sheet; a blank, and what can be no id, becomes a fault and None."""
        cell = sheet.rows[at][place]
        try:
            found = self.read(cell)
        except ValueError as error:
            findings.refuse(sheet.name, sheet.numbers[at], sheet.columns[place], cell, str(error))
            return None
        if found is None:
            findings.refuse(sheet.name, sheet.numbers[at], sheet.columns[place], "", "must not be blank")
        return found


def _has_decimals(cell: Cell) -> bool:
    if isinstance(cell, float) and not isinstance(cell, Dated):
        return cell == cell and not cell.is_integer()
    if isinstance(cell, str) and "." in cell:
        whole, _, decimals = stripped(cell).partition(".")
        return whole.isdecimal() and decimals.isdecimal() and bool(decimals.strip("0"))
    return False


def repeated_rows(sheet: Sheet, identifying: Iterable[int], findings: Findings) -> set[int]:
    """Return the rows that repeat an earlier row in every cell.

    Two equal rows may well be two messages ("ok", "ok"): only rows that identify themselves by a filled
    cell in one of the `identifying` columns count as repeated.

    Parameters
    ----------
    sheet
        The sheet.
    identifying
        Places of the columns that tell one row from the next.
    findings
        Takes the note that rows were dropped.

    Returns
    -------
    set of int
        Places in `sheet.rows`.
    """
    places = list(identifying)
    seen: set[tuple[object, ...]] = set()
    repeated: set[int] = set()
    for at, row in enumerate(sheet.rows):
        key = tuple(row)
        if key in seen and any(not is_blank(row[place]) for place in places):
            repeated.add(at)
        seen.add(key)
    if repeated:
        rows = listed(sheet.numbers[at] for at in sorted(repeated))
        were = "duplicate row was" if len(repeated) == 1 else "duplicate rows were"
        findings.note(f"{sheet.name}: {len(repeated)} exact {were} dropped (row {rows}).")
    return repeated


def note_similar(what: str, names: Iterable[str | None], findings: Findings) -> None:
    """Note names that differ only in case, width or blanks: they count as different, which may be a slip."""
    groups: dict[str, list[str]] = {}
    for name in dict.fromkeys(names):
        if name is not None:
            groups.setdefault(key_of(name), []).append(name)
    for group in groups.values():
        if len(group) > 1:
            alike = " and ".join(repr(name) for name in group)
            findings.note(f"{what}: {alike} differ only in case or blanks; they are kept apart.")
