"""Finds the sheets and columns that a mapping names."""

from __future__ import annotations

from collections.abc import Collection

from dashboard.intake.cells import as_text, is_blank, name_key, stripped
from dashboard.intake.findings import Findings, listed
from dashboard.intake.header import find_columns, with_header
from dashboard.intake.mapping import (
    CONVERSATION_FIELDS,
    TURN_FIELDS,
    MappedMeasure,
    MappedShape,
    expected_columns,
    without_ending,
)
from dashboard.intake.repeated import id_or_text, one_row_each, split_repeated
from dashboard.intake.shape import Measure, Shape
from dashboard.intake.sheet import Sheet
from dashboard.intake.source import Source
from dashboard.vocabulary import Refused


def mapped_shape(source: Source, mapping: MappedShape, findings: Findings) -> Shape:
    """Find the sheets and columns that a mapping names in a source.

    Raises
    ------
    Refused
        If one of them is missing, or two answer to one name.
    """
    turns = _named_sheet(source, mapping.turns, mapping)
    conversations = _named_sheet(source, mapping.conversations, mapping) if mapping.conversations else None
    if conversations is None:
        turns, conversations = _split(turns, mapping, findings)
    else:
        conversations = _chosen(conversations, mapping, findings)
        turns, conversations = _moved(turns, conversations, mapping, findings)
    turn_fields = _fields(turns, mapping, TURN_FIELDS, required=("conversation", "role"))
    conversation_fields = _fields(conversations, mapping, CONVERSATION_FIELDS, required=("conversation",))
    _refuse_absent(turns, conversations, mapping, {**turn_fields, **conversation_fields})
    if mapping.roles is None:
        _refuse_unknown_rated_role(turns, turn_fields["role"], mapping.rated_role)
    people = _named_sheet(source, mapping.participants, mapping) if mapping.participants else None
    taken = {name_key(without_ending(name)) for name in (mapping.turns, mapping.conversations) if name}
    others = [with_header(grid, ()) for grid in source.grids if name_key(grid.name) not in taken]
    findings.notes += [note for sheet in (turns, conversations) for note in sheet.notes if note not in findings.notes]
    return Shape(
        conversations=conversations,
        turns=turns,
        conversation_fields=conversation_fields,
        turn_fields=turn_fields,
        roles=mapping.roles,
        rated_role=mapping.rated_role,
        ratings=_measures(turns, [one for one in mapping.measures if one.scale.kind == "rating"]),
        survey=_measures(conversations, [one for one in mapping.measures if one.scale.kind != "rating"]),
        participant_required="participant" in conversation_fields,
        participant_sheets=[_people(people, mapping)] if people else [],
        others=others,
    )


def _named_sheet(source: Source, name: str | None, mapping: MappedShape) -> Sheet:
    wanted = name_key(without_ending(name or ""))
    found = [grid for grid in source.grids if name_key(grid.name) == wanted]
    if source.origin == "file" and name == mapping.turns:
        found = source.grids
    if len(found) != 1:
        names = listed(repr(grid.name) for grid in source.grids)
        raise Refused(f"{source.name} must hold {name!r}, once, as the mapping says; there are: {names}.")
    return with_header(found[0], expected_columns(mapping))


def _place(sheet: Sheet, name: str, columns: list[str]) -> int | None:
    return find_columns(sheet, {name: {name_key(column) for column in columns}}).get(name)


def _fields(sheet: Sheet, mapping: MappedShape, names: Collection[str], *, required: Collection[str]) -> dict[str, int]:
    found = {}
    for name in names:
        columns = mapping.columns.get(name)
        place = None if columns is None else _place(sheet, name, columns)
        if place is not None:
            found[name] = place
        elif name in required:
            raise _no_column(sheet, " or ".join(columns or [name]))
    return found


def _no_column(sheet: Sheet, column: str) -> Refused:
    return Refused(
        f"{sheet.name} must have the column {column}, as the mapping says; there are: {listed(sheet.columns, 60)}."
    )


def _refuse_absent(turns: Sheet, conversations: Sheet, mapping: MappedShape, found: dict[str, int]) -> None:
    for name, columns in mapping.columns.items():
        if name not in found:
            raise _no_column(conversations if name in CONVERSATION_FIELDS else turns, " or ".join(columns))


def _measures(sheet: Sheet, measures: list[MappedMeasure]) -> list[Measure]:
    found = []
    for one in measures:
        place = _place(sheet, one.scale.measure, [one.column])
        if place is None:
            raise _no_column(sheet, one.column)
        found.append(Measure(one.scale, place, sheet.columns[place], one.column, one.reader))
    return found


def _conversation_columns(sheet: Sheet, mapping: MappedShape) -> list[int]:
    """Return the places in the turns of columns that belong to the conversation, the id first."""
    key = _place(sheet, "conversation", mapping.columns["conversation"])
    if key is None:
        raise _no_column(sheet, " or ".join(mapping.columns["conversation"]))
    fields = [mapping.columns[name] for name in ("participant", "task", "model") if name in mapping.columns]
    items = [[one.column] for one in mapping.measures if one.scale.kind != "rating"]
    places = [_place(sheet, columns[0], columns) for columns in (*fields, *items)]
    return [key, *dict.fromkeys(place for place in places if place is not None and place != key)]


def _split(turns: Sheet, mapping: MappedShape, findings: Findings) -> tuple[Sheet, Sheet]:
    if mapping.where:
        raise Refused("[source.where] chooses rows of the conversations; name their sheet or file there, too.")
    places = _conversation_columns(turns, mapping)
    conversations, messages = split_repeated(turns, places[0], places, findings)
    return messages, conversations


def _moved(turns: Sheet, conversations: Sheet, mapping: MappedShape, findings: Findings) -> tuple[Sheet, Sheet]:
    """Bring what only the turns say about a conversation (its task, say) over to the conversations."""
    there = {name_key(column) for column in conversations.columns}
    places = _conversation_columns(turns, mapping)
    moved = [place for place in places[1:] if name_key(turns.columns[place]) not in there]
    key = _place(conversations, "conversation", mapping.columns["conversation"])
    if not moved or key is None:
        return turns, conversations
    found, messages = split_repeated(turns, places[0], [places[0], *moved], findings)
    by_id = {id_or_text(row[0]): row[1:] for row in found.rows}
    blank = [None] * len(moved)
    rows = [[*row, *by_id.get(id_or_text(row[key]), blank)] for row in conversations.rows]
    columns = [*conversations.columns, *(turns.columns[place] for place in moved)]
    return messages, Sheet(
        conversations.name,
        columns,
        conversations.numbers,
        rows,
        notes=conversations.notes,
        rows_read=conversations.rows_read,
    )


def _chosen(sheet: Sheet, mapping: MappedShape, findings: Findings) -> Sheet:
    """Keep the rows that `where` chooses."""
    keep = list(range(len(sheet.rows)))
    for column, value in mapping.where.items():
        place = _place(sheet, column, [column])
        if place is None:
            raise _no_column(sheet, column)
        keep = [at for at in keep if stripped(as_text(sheet.rows[at][place]) or "") == value.strip()]
        if not keep:
            seen = dict.fromkeys(as_text(row[place]) or "" for row in sheet.rows)
            raise Refused(f"{sheet.name}: no row has {value!r} as its {column}; there are: {listed(map(repr, seen))}.")
    if len(keep) == len(sheet.rows):
        return sheet
    chosen = " and ".join(f"{column} is {value}" for column, value in mapping.where.items())
    findings.note(f"{sheet.name}: {len(keep)} of {len(sheet.rows)} rows, those where {chosen}.")
    return Sheet(
        sheet.name,
        sheet.columns,
        [sheet.numbers[at] for at in keep],
        [sheet.rows[at] for at in keep],
        notes=sheet.notes,
        rows_read=sheet.rows_read,
    )


def _refuse_unknown_rated_role(turns: Sheet, place: int, rated_role: str) -> None:
    roles = dict.fromkeys(stripped(as_text(cell) or "").lower() for cell in turns.column(place) if not is_blank(cell))
    if rated_role not in roles:
        raise Refused(
            f"{turns.name}: no row has the rated role {rated_role!r}; there are: {listed(map(repr, roles))}. "
            "Set rated_role in [source], or name the roles in [roles]."
        )


def _people(sheet: Sheet, mapping: MappedShape) -> tuple[Sheet, int]:
    columns = mapping.columns.get("participant")
    if columns is None:
        raise Refused("[columns] must say which column is the participant, since [source] names participants.")
    place = _place(sheet, "participant", columns)
    if place is None:
        raise _no_column(sheet, " or ".join(columns))
    if not one_row_each(sheet, place):
        raise Refused(f"{sheet.name} must have one row per participant ({sheet.columns[place]}).")
    return sheet, place
