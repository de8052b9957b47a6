"""Puts the messages of a conversation into their order."""

from __future__ import annotations

import re

from dashboard.intake.cells import as_number, as_text, stripped
from dashboard.intake.findings import Findings, listed
from dashboard.intake.sheet import Broken, Cell, Sheet

_NUMBERED = re.compile(r"(.*?)([0-9]+)\Z", re.DOTALL)


def ordered(sheet: Sheet, place: int | None, conversations: dict[str, list[int]], findings: Findings) -> None:
    """Sort each conversation's rows by its order column and, within one value, as they stand.

    Numbers order as numbers, as text too; names such as ``m9``, ``m10`` with a common beginning order by
    the number they end in. A blank keeps its row after the row above it. Where the values give no order,
    the rows stay as they stand, and a note says so.

    Parameters
    ----------
    sheet
        The sheet of messages.
    place
        Place of the order column; None leaves the rows as they stand.
    conversations
        Conversation → places of its rows, ascending; sorted in place.
    findings
        Takes faults and notes.
    """
    if place is None:
        return
    column = sheet.columns[place]
    moved: list[str] = []
    unordered: list[str] = []
    blanks: list[int] = []
    for conversation, rows in conversations.items():
        cells = [sheet.rows[at][place] for at in rows]
        if _refuse_broken(sheet, place, rows, findings):
            continue
        blanks += [sheet.numbers[at] for at, cell in zip(rows, cells, strict=True) if _is_blank(cell)]
        keys = order_keys(cells)
        if keys is None:
            unordered.append(conversation)
            continue
        by_key = [at for _, at in sorted(zip(keys, rows, strict=True))]
        if by_key != rows:
            moved.append(conversation)
            rows[:] = by_key
    _note(sheet, column, moved, unordered, blanks, findings)


def order_keys(cells: list[Cell]) -> list[float] | None:
    """Return what the rows of one conversation sort by, or None where the cells give no order."""
    numbers = _as_numbers(cells)
    if numbers is None:
        numbers = _as_numbered_names(cells)
    if numbers is None:
        return None
    keys: list[float] = []
    for number in numbers:
        keys.append(number if number is not None else keys[-1] if keys else float("-inf"))
    return keys


def _is_blank(cell: Cell) -> bool:
    return cell is None or (isinstance(cell, str) and not stripped(cell))


def _as_numbers(cells: list[Cell]) -> list[float | None] | None:
    try:
        return [cell if type(cell) is float else as_number(cell) for cell in cells]
    except ValueError:
        return None


def _as_numbered_names(cells: list[Cell]) -> list[float | None] | None:
    found: list[float | None] = []
    beginnings = set()
    for cell in cells:
        if _is_blank(cell):
            found.append(None)
            continue
        match = _NUMBERED.match(stripped(as_text(cell) or ""))
        if match is None:
            return None
        beginnings.add(match[1])
        found.append(float(match[2]))
    return found if len(beginnings) <= 1 else None


def _refuse_broken(sheet: Sheet, place: int, rows: list[int], findings: Findings) -> bool:
    broken = [at for at in rows if isinstance(sheet.rows[at][place], (Broken, bool))]
    for at in broken:
        cell = sheet.rows[at][place]
        findings.refuse(sheet.name, sheet.numbers[at], sheet.columns[place], cell, "gives no place in the order")
    return bool(broken)


def _note(
    sheet: Sheet, column: str, moved: list[str], unordered: list[str], blanks: list[int], findings: Findings
) -> None:
    if moved:
        some = "1 conversation was" if len(moved) == 1 else f"{len(moved)} conversations were"
        findings.note(f"{sheet.name}: the rows of {some} not in the order of {column}; {column} decides.")
    if unordered:
        findings.note(
            f"{sheet.name}: {column} gives no order in {len(unordered)} conversations ({listed(unordered)}); "
            "the rows are in order as they stand."
        )
    if blanks:
        findings.note(
            f"{sheet.name}: {column} is blank in {len(blanks)} rows (row {listed(blanks)}); each stays after the row "
            "above it in its conversation."
        )
