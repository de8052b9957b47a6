"""Turns a source whose shape is known into the checked tables, collecting every fault on the way."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from dashboard.intake.cells import RATED, UNREADABLE, as_text, is_blank, key_of, may_mean, stripped
from dashboard.intake.dataset import Dataset, scales_table
from dashboard.intake.findings import Findings, listed, toml_text
from dashboard.intake.ids import IdReader, note_similar, repeated_rows
from dashboard.intake.order import ordered
from dashboard.intake.people import participants_table, sheet_table
from dashboard.intake.shape import Measure, Shape
from dashboard.intake.sheet import Broken, Cell, Sheet
from dashboard.intake.tables import conversations_table, messages_table, ratings_table, survey_table


@dataclass
class Conversations:
    """The conversations of a source.

    Attributes
    ----------
    rows
        Conversation → place of its row.
    participants
        Conversation → participant.
    messages
        Conversation → places of its messages' rows, in order.
    """

    rows: dict[str, int] = field(default_factory=dict)
    participants: dict[str, str | None] = field(default_factory=dict)
    messages: dict[str, list[int]] = field(default_factory=dict)


def build_dataset(shape: Shape, findings: Findings, source: str) -> Dataset:
    """Read every cell, check it, and make the tables.

    Parameters
    ----------
    shape
        Which columns mean what.
    findings
        Takes faults and notes.
    source
        Name of the source, for the refusal.

    Raises
    ------
    Refused
        With every fault of the source.
    """
    people = _participant_reader(shape)
    conversations = _read_conversations(shape, people, findings)
    used = sorted(at for rows in conversations.messages.values() for at in rows)
    _refuse_broken(shape.turns, used, shape.turn_fields, shape.ratings, findings)
    there = list(conversations.rows.values())
    _refuse_broken(shape.conversations, there, shape.conversation_fields, shape.survey, findings)
    roles = _read_roles(shape, used, findings)
    ordered(shape.turns, shape.turn_fields.get("order"), conversations.messages, findings)
    _accept_only_unknown_label(shape.turns, shape.ratings, findings)
    _accept_only_unknown_label(shape.conversations, shape.survey, findings)
    messages = messages_table(shape, conversations.messages, roles, findings)
    ratings = ratings_table(shape, conversations.messages, roles, findings)
    survey = survey_table(shape, conversations.rows, findings)
    participants = [one for one in dict.fromkeys(conversations.participants.values()) if one is not None]
    measures = frozenset(scale.measure for scale in shape.scales())
    dataset = Dataset(
        conversations=conversations_table(shape, conversations.rows, conversations.participants),
        messages=messages,
        ratings=ratings,
        survey=survey,
        participants=participants_table(shape.participant_sheets, participants, people, findings, measures=measures),
        scales=scales_table(shape.scales()),
        sheets={sheet.name: sheet_table(sheet, findings) for sheet in shape.others},
    )
    _note_names(dataset, findings)
    findings.raise_faults(source)
    return dataset


_READ_WITH_CARE = ("conversation", "participant", "order", "role", "seconds")


def _refuse_broken(
    sheet: Sheet, rows: list[int], fields: Mapping[str, int], measures: list[Measure], findings: Findings
) -> None:
    """Refuse errors and formulas without a result in the columns whose cells are otherwise taken as text."""
    elsewhere = {measure.place for measure in measures} | {fields.get(name, -1) for name in _READ_WITH_CARE}
    for place in set(range(len(sheet.columns))) - elsewhere:
        for at in rows:
            cell = sheet.rows[at][place]
            if isinstance(cell, Broken):
                why = "is an error, not a value" if cell.what == "error" else "must be computed and stored"
                findings.refuse(sheet.name, sheet.numbers[at], sheet.columns[place], cell, why)


def _participant_reader(shape: Shape) -> IdReader:
    columns = [sheet.column(place) for sheet, place in shape.participant_sheets]
    return IdReader([shape.conversations.column(shape.conversation_fields.get("participant")), *columns])


def _read_conversations(shape: Shape, people: IdReader, findings: Findings) -> Conversations:
    sheet, place = shape.conversations, shape.conversation_fields["conversation"]
    who = shape.conversation_fields.get("participant")
    reader = IdReader([sheet.column(place), shape.turns.column(shape.turn_fields["conversation"])])
    repeated = repeated_rows(sheet, [place], findings)
    found = Conversations()
    for at in range(len(sheet.rows)):
        if at in repeated:
            continue
        participant = _read_participant(shape, at, who, people, findings)
        conversation = reader.read_required(sheet, at, place, findings)
        if conversation is None:
            continue
        first = found.rows.setdefault(conversation, at)
        if first != at:
            why = f"must be there once; row {sheet.numbers[first]} has it, too"
            findings.refuse(sheet.name, sheet.numbers[at], sheet.columns[place], sheet.rows[at][place], why)
            continue
        found.participants[conversation] = participant
        found.messages[conversation] = []
    if not sheet.rows:
        findings.refuse(sheet.name, None, "", "", "must have a row below its header")
    _assign_messages(shape, reader, found, findings)
    return found


def _read_participant(shape: Shape, at: int, who: int | None, people: IdReader, findings: Findings) -> str | None:
    if who is None:
        return None
    if not shape.participant_required and is_blank(shape.conversations.rows[at][who]):
        return None
    return people.read_required(shape.conversations, at, who, findings)


def _assign_messages(shape: Shape, reader: IdReader, found: Conversations, findings: Findings) -> None:
    sheet, place = shape.turns, shape.turn_fields["conversation"]
    where = f"{shape.conversations.columns[shape.conversation_fields['conversation']]} of {shape.conversations.name}"
    telling = [shape.turn_fields[name] for name in ("order", "seconds") if name in shape.turn_fields]
    repeated = repeated_rows(sheet, telling, findings)
    for at in range(len(sheet.rows)):
        if at in repeated:
            continue
        conversation = reader.read_required(sheet, at, place, findings)
        if conversation is None:
            continue
        if conversation in found.messages:
            found.messages[conversation].append(at)
        else:
            findings.orphan(sheet.name, sheet.numbers[at], sheet.columns[place], sheet.rows[at][place], where)
    silent = [conversation for conversation, rows in found.messages.items() if not rows]
    if silent:
        findings.note(f"{len(silent)} conversations have no message ({listed(silent)}).")


def _read_roles(shape: Shape, rows: list[int], findings: Findings) -> list[str]:
    """Return the role of each row of the turns, an empty text where it is refused or belongs to no conversation."""
    sheet, place = shape.turns, shape.turn_fields["role"]
    known = listed(sorted(set((shape.roles or {}).values())))
    seen: dict[tuple[type, Cell], str] = {}
    roles = [""] * len(sheet.rows)
    for at in rows:
        cell = sheet.rows[at][place]
        role = seen.get((type(cell), cell))
        if role is None:
            role = seen[type(cell), cell] = _role(cell, shape)
        if not role:
            why = f"must be one of {known}" if known else "must be a role"
            findings.refuse(sheet.name, sheet.numbers[at], sheet.columns[place], cell, why)
            if isinstance(cell, str) and not is_blank(cell):
                findings.would_accept("roles", key_of(cell), f'{toml_text(stripped(cell))} = "{shape.rated_role}"')
        roles[at] = role
    return roles


def _role(cell: Cell, shape: Shape) -> str:
    if is_blank(cell) or isinstance(cell, Broken):
        return ""
    text = stripped(as_text(cell) or "").lower()
    return text if shape.roles is None else shape.roles.get(key_of(text), "")


def _accept_only_unknown_label(sheet: Sheet, measures: list[Measure], findings: Findings) -> None:
    """Take the one unknown label of a measure whose middle label is not documented."""
    for measure in measures:
        level = measure.only_unknown_label
        if level is None:
            continue
        labels: dict[str, str] = {}
        for cell in sheet.column(measure.place):
            reading = measure.reader.read(cell)
            if reading.answer == UNREADABLE and reading.label and may_mean(reading.label, level):
                labels.setdefault(key_of(reading.label), reading.label)
        if len(labels) == 1:
            label = next(iter(labels.values()))
            measure.reader.learn(label, level)
            findings.note(
                f"{sheet.name}, {measure.column}: {label!r} is the only label not documented; taken as {level:g}."
            )


def _note_names(dataset: Dataset, findings: Findings) -> None:
    for what, column in (("Participants", "participant"), ("Tasks", "task"), ("Models", "model")):
        note_similar(what, dataset.conversations[column].to_pylist(), findings)
    answers = zip(dataset.ratings["conversation"].to_pylist(), dataset.ratings["answer"].to_pylist(), strict=True)
    rated = {conversation for conversation, answer in answers if answer == RATED}
    unrated = [one for one in dataset.conversations["conversation"].to_pylist() if one not in rated]
    if unrated and dataset.ratings.num_rows:
        findings.note(f"{len(unrated)} conversations have no rating ({listed(unrated)}).")
