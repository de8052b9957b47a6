"""Tables that repeat a conversation's columns on every message, and ids that repeat."""

from __future__ import annotations

from dashboard.intake.cells import as_id, as_text, is_blank, shown
from dashboard.intake.findings import Findings
from dashboard.intake.sheet import Cell, Sheet


def split_repeated(sheet: Sheet, key: int, places: list[int], findings: Findings) -> tuple[Sheet, Sheet]:
    """Part a table of messages that repeats its conversations' columns into conversations and messages.

    Parameters
    ----------
    sheet
        The table.
    key
        Place of the conversation's id.
    places
        Places of the columns that belong to the conversation, the id's among them.
    findings
        Takes the cases in which the rows of a conversation disagree.

    Returns
    -------
    Sheet, Sheet
        One row per conversation, numbered by its first row; and the rest, with the id.
    """
    rows: dict[str, tuple[int, list[Cell]]] = {}
    for number, row in zip(sheet.numbers, sheet.rows, strict=True):
        if is_blank(row[key]):
            continue  # refused with the messages
        first, values = rows.setdefault(id_or_text(row[key]), (number, [row[place] for place in places]))
        _must_agree(
            sheet, [place for place in places if place != key], places, (first, values), (number, row), findings
        )
    kept = [place for place in range(len(sheet.columns)) if place == key or place not in places]
    conversations = Sheet(
        sheet.name,
        [sheet.columns[place] for place in places],
        [number for number, _ in rows.values()],
        [values for _, values in rows.values()],
    )
    messages = Sheet(
        sheet.name,
        [sheet.columns[place] for place in kept],
        sheet.numbers,
        [[row[place] for place in kept] for row in sheet.rows],
        title=sheet.title,
        notes=sheet.notes,
    )
    return conversations, messages


def id_or_text(cell: Cell) -> str:
    """Return an id, or what else the cell says where it is none."""
    try:
        return as_id(cell) or ""
    except ValueError:
        return as_text(cell) or ""


def _must_agree(
    sheet: Sheet,
    compared: list[int],
    places: list[int],
    first: tuple[int, list[Cell]],
    other: tuple[int, list[Cell]],
    findings: Findings,
) -> None:
    """Compare a conversation's values on one row with those so far; a blank says nothing."""
    for place in compared:
        at = places.index(place)
        cell, known = other[1][place], first[1][at]
        if cell is known or is_blank(cell) or as_text(cell) == as_text(known):
            continue
        if is_blank(known):
            first[1][at] = cell
        elif id_or_text(cell) != id_or_text(known):
            why = f"must be the same on every row of a conversation; row {first[0]} says {shown(known)!r}"
            findings.refuse(sheet.name, other[0], sheet.columns[place], cell, why)


def one_row_each(sheet: Sheet, place: int) -> bool:
    """Say whether no id has two different rows."""
    seen: dict[str, list[Cell]] = {}
    return all(is_blank(row[place]) or seen.setdefault(id_or_text(row[place]), row) == row for row in sheet.rows)
