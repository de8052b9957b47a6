"""The released shape: which sheets and columns of SENSE-7's workbook mean what, however they are spelled."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field

from dashboard.intake.cells import (
    AGREEMENT,
    DESIRED,
    IMPORTANCE,
    QUALITY,
    ROLES,
    ScaleReader,
    key_of,
    name_key,
)
from dashboard.intake.dataset import DIMENSIONS, SENSE7_SCALES, Scale
from dashboard.intake.findings import Findings, listed
from dashboard.intake.header import find_columns, with_header
from dashboard.intake.repeated import one_row_each, split_repeated
from dashboard.intake.shape import Measure, Shape
from dashboard.intake.sheet import Grid, Sheet
from dashboard.intake.source import Source
from dashboard.vocabulary import Refused

_SCALES: dict[str, Scale] = {scale.measure: scale for scale in SENSE7_SCALES}

# Our field → the release's column. The required ones come first.
CONVERSATION_COLUMNS = {
    "participant": "PID",
    "conversation": "TaskId",
    "model": "Model",
    "task": "PreTaskChoice",
}
SURVEY_COLUMNS = {
    "importance": "PreTaskImportance",
    "desired_empathy": "PreTaskDesiredEmpathy",
    "successful": "PostTaskExperience_Successful",
    "engaged": "PostTaskExperience_Engaged",
    "positive_interaction": "PostTaskExperience_PositiveInteraction",
    "use_again": "PostTaskExperience_UseAgain",
}
POST_COLUMNS = {f"post_{name}": f"PostTaskEmpathy_{name.capitalize()}" for name in DIMENSIONS}
TURN_COLUMNS = {
    "conversation": "TaskId",
    "role": "Role",
    "order": "MessageId",
    "seconds": "TimeOffsetSeconds",
    "text": "Content",
    "retry": "Retry",
    "comment": "Comment",
}
RATING_COLUMNS = {"overall": "EmpathyOverall"} | {name: name.capitalize() for name in DIMENSIONS}

TASKS, MESSAGES = "Tasks", "Messages"
REQUIRED_IN_TASKS = ("PID", "TaskId")
REQUIRED_IN_MESSAGES = ("TaskId", "Role")  # and one rating column
_LABELS: dict[str, Mapping[str, float]] = {"importance": IMPORTANCE, "desired_empathy": DESIRED}


@dataclass(frozen=True)
class Overrides:
    """What a mapping changes about the released shape.

    Attributes
    ----------
    columns
        The release's column name → the name in this source.
    sheets
        ``Tasks`` or ``Messages`` → the name in this source.
    labels
        The release's column name → label → number or ``not applicable``.
    roles
        Name in this source → role.
    """

    columns: Mapping[str, str] = field(default_factory=dict)
    sheets: Mapping[str, str] = field(default_factory=dict)
    labels: Mapping[str, Mapping[str, float | str]] = field(default_factory=dict)
    roles: Mapping[str, str] = field(default_factory=dict)


def all_columns() -> list[str]:
    """Return the names of every column that is known, Tasks first."""
    tasks = [*CONVERSATION_COLUMNS.values(), *SURVEY_COLUMNS.values(), *POST_COLUMNS.values()]
    return list(dict.fromkeys([*tasks, *TURN_COLUMNS.values(), *RATING_COLUMNS.values()]))


def known_names(overrides: Overrides) -> frozenset[str]:
    """Return the keys of all column names, in the spelling of this source."""
    return frozenset(name_key(overrides.columns.get(column, column)) for column in all_columns())


def released_shape(source: Source, overrides: Overrides, findings: Findings) -> Shape:
    """Find the sheets and columns of the released shape in a source.

    Raises
    ------
    Refused
        If a sheet or a required column is missing, or two answer to one name.
    """
    if source.origin == "file":
        tasks, messages, others = _split_file(source.grids[0], overrides, findings)
    else:
        tasks, messages, others = _two_sheets(source, overrides)
    for sheet in (tasks, messages):
        findings.notes += sheet.notes
        if sheet.title:
            findings.note(f"{sheet.name}: above the header stands {listed(map(repr, sheet.title))}.")
    return _shape(tasks, messages, others, overrides, findings)


def _two_sheets(source: Source, overrides: Overrides) -> tuple[Sheet, Sheet, list[Sheet]]:
    tasks, messages = _grids(source, overrides)
    others = [
        with_header(grid, {name_key(overrides.columns.get("PID", "PID"))})
        for grid in source.grids
        if grid is not tasks and grid is not messages
    ]
    task_names = _keys([*CONVERSATION_COLUMNS.values(), *SURVEY_COLUMNS.values()], overrides)
    turn_names = _keys([*TURN_COLUMNS.values(), *RATING_COLUMNS.values()], overrides)
    ids = _keys(["PID", "TaskId"], overrides)
    tasks_sheet = with_header(tasks, task_names, spread=ids, only_table=True)
    messages_sheet = with_header(messages, turn_names, spread=ids, only_table=True)
    _refuse_missing([(tasks_sheet, REQUIRED_IN_TASKS), (messages_sheet, REQUIRED_IN_MESSAGES)], overrides)
    return tasks_sheet, messages_sheet, others


def _keys(columns: Collection[str], overrides: Overrides) -> set[str]:
    return {name_key(overrides.columns.get(column, column)) for column in columns}


def _grids(source: Source, overrides: Overrides) -> tuple[Grid, Grid]:
    tasks, messages = (_grid(source, name, overrides) for name in (TASKS, MESSAGES))
    if tasks is not None and messages is not None:
        return tasks, messages
    missing = [name for name, grid in ((TASKS, tasks), (MESSAGES, messages)) if grid is None]
    names = listed(repr(grid.name) for grid in source.grids) or "none"
    lines = "".join(f'\n  {name} = "its name here"' for name in missing)
    raise Refused(
        f"{source.name} must hold the {source.files} {TASKS} and {MESSAGES}; missing: "
        f"{' and '.join(overrides.sheets.get(name, name) for name in missing)}. There are: {names}. If it has another "
        f"name, say so in a mapping:\n  [sheets]{lines}"
    )


def _grid(source: Source, name: str, overrides: Overrides) -> Grid | None:
    wanted = overrides.sheets.get(name, name)
    found = [grid for grid in source.grids if name_key(grid.name) == name_key(wanted)]
    if len(found) > 1:
        names = " and ".join(repr(grid.name) for grid in found)
        raise Refused(f"{source.name} must hold exactly one {name}; the {source.files} {names} both answer to it.")
    return found[0] if found else None


def _shape(
    tasks: Sheet,
    messages: Sheet,
    others: list[Sheet],
    overrides: Overrides,
    findings: Findings,
) -> Shape:
    conversation_fields = _find(tasks, CONVERSATION_COLUMNS, overrides)
    turn_fields = _find(messages, TURN_COLUMNS, overrides)
    ratings = _find(messages, RATING_COLUMNS, overrides)
    survey = _find(tasks, SURVEY_COLUMNS, overrides) | _find_post(tasks, overrides)
    task_columns = CONVERSATION_COLUMNS | SURVEY_COLUMNS | POST_COLUMNS
    _note_absent(tasks, task_columns, conversation_fields | survey, findings)
    _note_absent(messages, TURN_COLUMNS | RATING_COLUMNS, turn_fields | ratings, findings)
    return Shape(
        conversations=tasks,
        turns=messages,
        conversation_fields=conversation_fields,
        turn_fields=turn_fields,
        roles={key_of(role): role for role in ROLES} | {key_of(name): role for name, role in overrides.roles.items()},
        rated_role="assistant",
        ratings=_measures(messages, ratings, RATING_COLUMNS, overrides),
        survey=_measures(tasks, survey, SURVEY_COLUMNS | POST_COLUMNS, overrides),
        participant_sheets=_participant_sheets(others, overrides, findings),
        others=others,
    )


def _find(sheet: Sheet, columns: Mapping[str, str], overrides: Overrides) -> dict[str, int]:
    wanted = {name: {name_key(overrides.columns.get(column, column))} for name, column in columns.items()}
    found = find_columns(sheet, {columns[name]: keys for name, keys in wanted.items()})
    return {name: found[column] for name, column in columns.items() if column in found}


def _refuse_missing(wanted: list[tuple[Sheet, tuple[str, ...]]], overrides: Overrides) -> None:
    """Refuse sheets without a required column, or messages without any rating column, all at once."""
    sentences: list[str] = []
    lines: list[str] = []
    for sheet, required in wanted:
        keys = set(map(name_key, sheet.columns))
        missing = [column for column in required if not _keys([column], overrides) & keys]
        must = [f"the column {overrides.columns.get(column, column)}" for column in missing]
        lines += [f'  {column} = "its name here"' for column in missing]
        if required is not REQUIRED_IN_TASKS and not _keys(RATING_COLUMNS.values(), overrides) & keys:
            must.append(f"at least one rating column ({', '.join(RATING_COLUMNS.values())})")
        if must:
            there = listed(sheet.columns, 60) or "none"
            sentences.append(f"Sheet {sheet.name} must have {' and '.join(must)}; there are: {there}.")
    if sentences:
        if lines:
            sentences += ["If one has another name, say so in a mapping:", "  [columns]", *dict.fromkeys(lines)]
        raise Refused("\n".join(sentences))


def _find_post(sheet: Sheet, overrides: Overrides) -> dict[str, int]:
    """Find the post-task items by the beginning of what follows ``PostTaskEmpathy_``."""
    wanted, exact = {}, {}
    for column in POST_COLUMNS.values():
        if column in overrides.columns:
            exact[column] = {name_key(overrides.columns[column])}
        else:
            wanted[column] = {name_key(column)}
    found = find_columns(sheet, wanted, by_beginning=True) | find_columns(sheet, exact)
    return {name: found[column] for name, column in POST_COLUMNS.items() if column in found}


def _measures(
    sheet: Sheet, found: Mapping[str, int], columns: Mapping[str, str], overrides: Overrides
) -> list[Measure]:
    measures = []
    for name, place in found.items():
        scale = _SCALES[name]
        labels = _LABELS.get(name, QUALITY if scale.kind == "rating" else AGREEMENT)
        reader = ScaleReader(
            scale.minimum, scale.maximum, scale.step, {**labels, **overrides.labels.get(columns[name], {})}
        )
        reader.refuse_labels_off_scale(f"labels.{columns[name]}")
        only = 2.0 if name == "desired_empathy" else None
        measures.append(Measure(scale, place, sheet.columns[place], columns[name], reader, only))
    return sorted(measures, key=lambda measure: SENSE7_SCALES.index(measure.scale))


def _note_absent(sheet: Sheet, columns: Mapping[str, str], found: Mapping[str, int], findings: Findings) -> None:
    absent = [column for name, column in columns.items() if name not in found]
    if absent:
        findings.note(f"{sheet.name} has no column {listed(absent, 40)}.")
    unknown = [
        column
        for place, column in enumerate(sheet.columns)
        if place not in found.values() and name_key(column).startswith(("posttaskempathy", "posttaskexperience"))
    ]
    if unknown:
        findings.note(f"{sheet.name}: {listed(unknown)} answers to no known item; kept as text.")


def _participant_sheets(others: list[Sheet], overrides: Overrides, findings: Findings) -> list[tuple[Sheet, int]]:
    """Return the sheets that have a participant's id and one row for each."""
    key = name_key(overrides.columns.get("PID", "PID"))
    result = []
    for sheet in others:
        place = find_columns(sheet, {"PID": {key}}).get("PID")
        if place is None:
            continue
        if one_row_each(sheet, place):
            result.append((sheet, place))
        else:
            findings.note(f"{sheet.name} has several rows for one participant; kept as it is, no covariates.")
    return result


def _split_file(grid: Grid, overrides: Overrides, findings: Findings) -> tuple[Sheet, Sheet, list[Sheet]]:
    """Part a single table of messages, with the columns of Tasks repeated, into the two sheets."""
    sheet = with_header(grid, known_names(overrides), spread=_keys(["PID", "TaskId"], overrides), only_table=True)
    _refuse_missing([(sheet, (*REQUIRED_IN_TASKS, *REQUIRED_IN_MESSAGES[1:]))], overrides)
    found = _find(sheet, CONVERSATION_COLUMNS | SURVEY_COLUMNS, overrides) | _find_post(sheet, overrides)
    return *split_repeated(sheet, found["conversation"], list(found.values()), findings), []
