"""Makes the tables of conversations, messages, ratings and survey answers from rows already in order."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

import pyarrow as pa

from dashboard.intake.arrays import table_of, text_array
from dashboard.intake.cells import (
    MISSING,
    RATED,
    UNREADABLE,
    ScaleReader,
    as_id,
    as_number,
    as_text,
    is_blank,
    stripped,
)
from dashboard.intake.dataset import SCHEMAS
from dashboard.intake.findings import Findings, listed, toml_text
from dashboard.intake.shape import Measure, Shape, snake_case, unique_names
from dashboard.intake.sheet import Broken, Cell, Dated, Sheet

Answer = tuple[str, float | None]


def conversations_table(shape: Shape, rows: Mapping[str, int], participants: Mapping[str, str | None]) -> pa.Table:
    """Return one row per conversation, in the order of the source."""
    sheet, fields = shape.conversations, shape.conversation_fields
    places = list(rows.values())
    columns: dict[str, Sequence[object]] = {
        "conversation": list(rows),
        "participant": [participants[conversation] for conversation in rows],
        "task": _names(sheet, fields.get("task"), places),
        "model": _names(sheet, fields.get("model"), places),
        "position": list(range(1, len(rows) + 1)),
    }
    table = table_of(columns, SCHEMAS["conversations"])
    return _with_further_columns(table, sheet, [*fields.values(), *_places(shape.survey)], places)


def _names(sheet: Sheet, place: int | None, rows: Iterable[int]) -> list[str | None]:
    if place is None:
        return [None for _ in rows]
    return [stripped(_text(sheet.rows[at][place]) or "") or None for at in rows]


def _text(cell: Cell) -> str | None:
    return None if isinstance(cell, Broken) else as_text(cell)


def _places(measures: list[Measure]) -> list[int]:
    return [measure.place for measure in measures]


def _with_further_columns(table: pa.Table, sheet: Sheet, used: list[int], rows: list[int]) -> pa.Table:
    """Append the columns that no field or measure took, as text, as they came."""
    places = [place for place in range(len(sheet.columns)) if place not in set(used)]
    heads = [snake_case(sheet.columns[place]) for place in places]
    for name, place in zip(unique_names(heads, table.column_names), places, strict=True):
        table = table.append_column(name, text_array([_text(sheet.rows[at][place]) for at in rows]))
    return table


def messages_table(
    shape: Shape, conversations: Mapping[str, list[int]], roles: list[str], findings: Findings
) -> pa.Table:
    """Return one row per message, conversations in the order of the source, messages in theirs."""
    sheet, fields = shape.turns, shape.turn_fields
    rows = [at for places in conversations.values() for at in places]

    def texts(name: str) -> list[str | None]:
        place = fields.get(name)
        return [None] * len(rows) if place is None else [_text(sheet.rows[at][place]) for at in rows]

    order = fields.get("order")
    columns: dict[str, Sequence[object]] = {
        "conversation": [one for one, places in conversations.items() for _ in places],
        "message": [number for places in conversations.values() for number in range(1, len(places) + 1)],
        "message_id": [None if order is None else _message_id(sheet.rows[at][order]) for at in rows],
        "turn": _turns(conversations, roles, shape.rated_role),
        "role": [roles[at] for at in rows],
        "seconds": _seconds(sheet, fields.get("seconds"), rows, findings),
        "text": texts("text"),
        "retry": texts("retry"),
        "comment": texts("comment"),
        "source_row": [sheet.numbers[at] for at in rows],
    }
    table = table_of(columns, SCHEMAS["messages"])
    return _with_further_columns(table, sheet, [*fields.values(), *_places(shape.ratings)], rows)


def _message_id(cell: Cell) -> str | None:
    try:
        return as_id(cell)
    except ValueError:
        return None  # refused where the order is read, or an order column of truth values


def _turns(conversations: Mapping[str, list[int]], roles: list[str], rated_role: str) -> list[int | None]:
    turns: list[int | None] = []
    for places in conversations.values():
        turn = 0
        for at in places:
            turn += roles[at] == rated_role
            turns.append(turn if roles[at] == rated_role else None)
    return turns


def _seconds(sheet: Sheet, place: int | None, rows: list[int], findings: Findings) -> list[float | None]:
    if place is None:
        return [None] * len(rows)
    column, seconds, negative, dated = sheet.columns[place], [], [], []
    for at in rows:
        cell = sheet.rows[at][place]
        value: float | None = None
        try:
            value = _duration(cell)
        except ValueError as error:
            findings.unreadable_cell(sheet.name, sheet.numbers[at], column, cell, str(error))
        if value is not None and value < 0:
            negative.append(sheet.numbers[at])
        if isinstance(cell, Dated):
            dated.append(sheet.numbers[at])
        seconds.append(value)
    if negative:
        findings.note(f"{sheet.name}, {column}: negative in {len(negative)} rows (row {listed(negative)}).")
    if dated:
        findings.note(f"{sheet.name}, {column}: shown as dates; the serial number was taken (row {listed(dated)}).")
    return seconds


def _duration(cell: Cell) -> float | None:
    if isinstance(cell, Dated) and 0 < cell < 1:
        raise ValueError("is a time of day, not a number of seconds")
    return as_number(cell)


def ratings_table(
    shape: Shape, conversations: Mapping[str, list[int]], roles: list[str], findings: Findings
) -> pa.Table:
    """Return one row per turn and outcome, rated or not, sorted by outcome; the mean of the dimensions is one."""
    turns: list[tuple[str, int, int, int]] = []  # conversation, message, turn, place of the row
    for conversation, places in conversations.items():
        turn = 0
        for message, at in enumerate(places, 1):
            if roles[at] == shape.rated_role:
                turn += 1
                turns.append((conversation, message, turn, at))
    rows = [at for _, _, _, at in turns]
    answers = {one.scale.measure: read_answers(shape.turns, one, rows, findings) for one in shape.ratings}
    dimensions = [one.scale.measure for one in shape.ratings if one.scale.score == "dimension"]
    if dimensions:
        answers["turn_mean"] = mean_answers([answers[name] for name in dimensions])
    _note_ignored(shape, conversations, roles, findings)
    outcomes = sorted(answers)
    columns: dict[str, Sequence[object]] = {
        "conversation": [turn[0] for turn in turns] * len(outcomes),
        "message": [turn[1] for turn in turns] * len(outcomes),
        "turn": [turn[2] for turn in turns] * len(outcomes),
        "outcome": [outcome for outcome in outcomes for _ in turns],
        "value": [value for outcome in outcomes for _, value in answers[outcome]],
        "answer": [answer for outcome in outcomes for answer, _ in answers[outcome]],
    }
    return table_of(columns, SCHEMAS["ratings"])


def read_answers(sheet: Sheet, measure: Measure, rows: list[int], findings: Findings) -> list[Answer]:
    """Read the cells of a measure in some rows; what cannot be read becomes a fault, or missing if lenient."""
    read, place = measure.reader.read, measure.place
    answers: list[Answer] = []
    dated: list[int] = []
    for at in rows:
        cell = sheet.rows[at][place]
        reading = read(cell)
        if reading.answer == UNREADABLE:
            findings.unreadable_cell(sheet.name, sheet.numbers[at], measure.column, cell, reading.why)
            if reading.label and not findings.lenient:
                _would_accept(measure, reading.label, findings)
            answers.append((MISSING, None))
            continue
        if reading.dated:
            dated.append(sheet.numbers[at])
        answers.append((reading.answer, reading.value))
    if dated:
        findings.note(
            f"{sheet.name}, {measure.column}: {len(dated)} answers are shown as dates; the serial number is the "
            f"answer (row {listed(dated)})."
        )
    return answers


def _would_accept(measure: Measure, label: str, findings: Findings) -> None:
    reader: ScaleReader = measure.reader
    level = measure.only_unknown_label
    meaning = f"{level:g}" if level is not None else '"not applicable"'
    line = f"{toml_text(label)} = {meaning}  # or a number from {reader.minimum:g} to {reader.maximum:g}"
    findings.would_accept(f"labels.{toml_key(measure.mapping_key)}", label, line)


def toml_key(key: str) -> str:
    """Return a name as TOML writes it as a key."""
    plain = key.isascii() and key.replace("_", "").replace("-", "").isalnum()
    return key if plain else toml_text(key)


def mean_answers(dimensions: list[list[Answer]]) -> list[Answer]:
    """Return, turn by turn, the mean of the dimensions that carry a number; missing where none does."""
    means: list[Answer] = []
    for answers in zip(*dimensions, strict=True):
        values = [value for _, value in answers if value is not None]
        means.append((RATED, sum(values) / len(values)) if values else (MISSING, None))
    return means


def _note_ignored(shape: Shape, conversations: Mapping[str, list[int]], roles: list[str], findings: Findings) -> None:
    """Note ratings on the rows of other roles: they are no ratings of a turn."""
    sheet = shape.turns
    ignored: dict[str, list[int]] = {}
    for places in conversations.values():
        for at in places:
            row = sheet.rows[at]
            if roles[at] and roles[at] != shape.rated_role and any(not is_blank(row[m.place]) for m in shape.ratings):
                ignored.setdefault(roles[at], []).append(sheet.numbers[at])
    for role, rows in ignored.items():
        findings.note(f"{sheet.name}: ratings on {len(rows)} rows of the role {role} are ignored (row {listed(rows)}).")


def survey_table(shape: Shape, conversations: Mapping[str, int], findings: Findings) -> pa.Table:
    """Return one row per conversation and item, by conversation, items in the order of display."""
    rows = list(conversations.values())
    answers = [read_answers(shape.conversations, measure, rows, findings) for measure in shape.survey]
    names = [measure.scale.measure for measure in shape.survey]
    columns: dict[str, Sequence[object]] = {
        "conversation": [conversation for conversation in conversations for _ in names],
        "phase": [measure.scale.kind for _ in conversations for measure in shape.survey],
        "item": names * len(rows),
        "value": [answers[item][at][1] for at in range(len(rows)) for item in range(len(names))],
        "answer": [answers[item][at][0] for at in range(len(rows)) for item in range(len(names))],
    }
    return table_of(columns, SCHEMAS["survey"])
