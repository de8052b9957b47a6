"""Mappings (TOML): how other rated conversations, or other names in the released shape, become the same tables."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Collection
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from dashboard.intake.cells import ROLES, ScaleReader, key_of, name_key
from dashboard.intake.dataset import Scale
from dashboard.intake.findings import listed
from dashboard.intake.people import RESERVED
from dashboard.intake.released import MESSAGES, TASKS, Overrides, all_columns, known_names
from dashboard.vocabulary import Refused, unknown_name

_ABOUT = ("title", "licence", "citation", "synthetic")
_PARTS = ("source", "columns", "roles", "labels", "ratings", "pre", "post")
_SOURCE = ("turns", "conversations", "participants", "rated_role", "where")
TURN_FIELDS = ("conversation", "order", "role", "text", "seconds", "retry", "comment")
CONVERSATION_FIELDS = ("conversation", "participant", "task", "model")
_FIELDS = tuple(dict.fromkeys((*TURN_FIELDS, *CONVERSATION_FIELDS)))
_MEASURE = (
    "column",
    "label",
    "score",
    "minimum",
    "maximum",
    "step",
    "minimum_label",
    "maximum_label",
    "wording",
)
_SCORES = {
    "ratings": ("overall", "dimension"),
    "pre": ("importance", "desired_empathy"),
    "post": ("experienced_empathy", "satisfaction"),
}
_KINDS = {"ratings": "rating", "pre": "pre", "post": "post"}
# A measure may be called like the one score it counts towards, never like something else a formula knows.
_MEASURE_NAMES_TAKEN = RESERVED - {"overall", "importance", "desired_empathy", "satisfaction", "experienced_empathy"}


@dataclass(frozen=True)
class MappedMeasure:
    """A measure as a mapping describes it."""

    scale: Scale
    column: str
    reader: ScaleReader


@dataclass(frozen=True)
class MappedShape:
    """Which sheets and columns of a source mean what, as a mapping says.

    Attributes
    ----------
    turns, conversations, participants
        Names of the sheets or files; None where there is none.
    columns
        Our field → the names its column may have.
    roles
        Key of a role's name → role; None takes every name as it is.
    rated_role
        The role whose rows are turns.
    where
        Column → value: only these rows of the conversations count.
    measures
        Ratings, items before, items after, in the order of display.
    """

    turns: str
    conversations: str | None
    participants: str | None
    columns: dict[str, list[str]]
    roles: dict[str, str] | None
    rated_role: str
    where: dict[str, str]
    measures: list[MappedMeasure]


@dataclass(frozen=True)
class Mapping:
    """A mapping that was read: what it says about the data, and how it changes the reading."""

    shape: Overrides | MappedShape
    content: dict[str, Any]
    title: str | None = None
    licence: str | None = None
    citation: str | None = None
    synthetic: bool = False


def read_mapping(path: Path) -> Mapping:
    """Read a mapping; the format is described in data/mappings/README.md.

    Raises
    ------
    Refused
        If it is no TOML, has a key that is not known, or describes an impossible scale.
    """
    try:
        content = tomllib.loads(path.read_bytes().decode("utf-8-sig"))
    except OSError as error:
        raise Refused(f"The mapping {path} cannot be read: {error.strerror}.") from error
    except (UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise Refused(f"The mapping {path} is no TOML: {error}.") from error
    try:
        return _mapping(content)
    except Refused as error:
        raise Refused(f"The mapping {path.name}: {error}") from error


def _mapping(content: dict[str, Any]) -> Mapping:
    mapped = "source" in content
    parts = _PARTS if mapped else ("sheets", "columns", "roles", "labels")
    _known(content, (*_ABOUT, *parts), "key")
    for part in parts:
        if not isinstance(content.get(part, {}), dict):
            raise Refused(f"{part} must be a table, [{part}].")
    about = {key: content.get(key) for key in ("title", "licence", "citation")}
    for key, value in about.items():
        if value is not None and not isinstance(value, str):
            raise Refused(f"{key} must be a text.")
    shape: Overrides | MappedShape = _mapped(content) if mapped else _overrides(content)
    return Mapping(shape, content, **about, synthetic=content.get("synthetic") is True)


def _known(table: dict[str, Any], names: Collection[str], kind: str) -> None:
    for name in table:
        if name not in names:
            raise unknown_name(kind, name, names)


def expected_columns(shape: Overrides | MappedShape) -> frozenset[str]:
    """Return the keys of the columns that the source is expected to have."""
    if isinstance(shape, Overrides):
        return known_names(shape)
    columns = {name for names in shape.columns.values() for name in names}
    columns |= {measure.column for measure in shape.measures} | set(shape.where)
    return frozenset(map(name_key, columns))


def expected_tables(shape: Overrides | MappedShape) -> frozenset[str]:
    """Return the keys of the files that a folder is expected to hold."""
    if isinstance(shape, Overrides):
        names = [shape.sheets.get(name, name) for name in (TASKS, MESSAGES)]
    else:
        names = [name for name in (shape.turns, shape.conversations, shape.participants) if name]
    return frozenset(name_key(without_ending(name)) for name in names)


def _texts(table: dict[str, Any], where: str) -> dict[str, str]:
    for key, value in table.items():
        if not isinstance(value, str) or not value.strip():
            raise Refused(f"{where}.{key} must be a text.")
    return dict(table)


def _overrides(content: dict[str, Any]) -> Overrides:
    columns = _texts(content.get("columns", {}), "columns")
    sheets = _texts(content.get("sheets", {}), "sheets")
    _known(columns, all_columns(), "column of the released shape")
    _known(sheets, (TASKS, MESSAGES), "sheet of the released shape")
    labels = {_released_column(name, columns): _labels(name, table) for name, table in _label_tables(content)}
    roles = _texts(content.get("roles", {}), "roles")
    for name, role in roles.items():
        if role not in ROLES:
            raise Refused(f"roles: {name!r} must mean one of {', '.join(ROLES)}; came {role!r}.")
    return Overrides(columns, sheets, labels, roles)


def _released_column(name: str, columns: dict[str, str]) -> str:
    """Return the released name of a column that labels are given for, by either name and in any spelling."""
    for column in all_columns():
        if name_key(name) in {name_key(column), name_key(columns.get(column, column))}:
            return column
    post = [column for column in all_columns() if name_key(name).startswith(name_key(column))]
    if post and post[0].startswith("PostTaskEmpathy"):
        return post[0]
    raise unknown_name("column of the released shape", name, all_columns())


def _label_tables(content: dict[str, Any]) -> list[tuple[str, dict[str, Any]]]:
    tables = list(content.get("labels", {}).items())
    for name, table in tables:
        if not isinstance(table, dict):
            raise Refused(f"labels.{name} must be a table, [labels.{name}].")
    return tables


def _labels(column: str, table: dict[str, Any]) -> dict[str, float | str]:
    for label, meaning in table.items():
        number = isinstance(meaning, (int, float)) and not isinstance(meaning, bool)
        word = isinstance(meaning, str) and key_of(meaning) in {"notapplicable", "missing"}
        if not number and not word:
            raise Refused(f'labels.{column}: {label!r} must mean a number, "not applicable" or "missing".')
    return dict(table)


def _mapped(content: dict[str, Any]) -> MappedShape:
    source, columns = content["source"], content.get("columns", {})
    _known(source, _SOURCE, "key of [source]")
    _known(columns, _FIELDS, "key of [columns]")
    where = source.get("where", {})
    names = _texts({key: value for key, value in source.items() if key != "where"}, "source")
    if "turns" not in names:
        raise Refused("[source] must name the sheet or file of the messages: turns = …")
    for needed in ("conversation", "role"):
        if needed not in columns:
            raise Refused(f"[columns] must say which column is the {needed}.")
    roles = _texts(content.get("roles", {}), "roles")
    measures = _mapped_measures(content, rated_role := names.get("rated_role", "assistant").lower())
    return MappedShape(
        turns=names["turns"],
        conversations=names.get("conversations"),
        participants=names.get("participants"),
        columns={name: _one_or_more(name, value) for name, value in columns.items()},
        roles={key_of(name): role.lower() for name, role in roles.items()} or None,
        rated_role=rated_role,
        where=_texts(where, "source.where"),
        measures=measures,
    )


def _one_or_more(name: str, value: Any) -> list[str]:
    names = value if isinstance(value, list) else [value]
    if not names or not all(isinstance(one, str) and one.strip() for one in names):
        raise Refused(f"columns.{name} must be the name of a column, or a list of names of which a sheet has one.")
    return names


def _mapped_measures(content: dict[str, Any], rated_role: str) -> list[MappedMeasure]:
    labels = {name_key(name): _labels(name, table) for name, table in _label_tables(content)}
    entries = [(part, name, entry) for part in _KINDS for name, entry in content.get(part, {}).items()]
    columns = {name_key(str(entry.get("column"))) for _, _, entry in entries if isinstance(entry, dict)}
    for name, _ in _label_tables(content):
        if name_key(name) not in columns:
            raise Refused(f"labels.{name} names a column that no rating, pre or post item has.")
    measures = [_mapped_measure(part, name, entry, labels, rated_role) for part, name, entry in entries]
    _check_together([measure.scale for measure in measures])
    return measures


def _mapped_measure(
    part: str, name: str, entry: Any, labels: dict[str, dict[str, float | str]], rated_role: str
) -> MappedMeasure:
    where = f"{part}.{name}"
    if not isinstance(entry, dict):
        raise Refused(f"{where} must be a table, [{where}].")
    _known(entry, _MEASURE, f"key of [{where}]")
    if not re.fullmatch(r"[a-z][a-z0-9_]*", name) or name in _MEASURE_NAMES_TAKEN:
        raise Refused(f"{where}: a measure's name is lower snake case, and not one of {listed(sorted(RESERVED), 40)}.")
    if not isinstance(entry.get("column"), str):
        raise Refused(f"{where} must name its column.")
    words = labels.get(name_key(entry["column"]), {})
    minimum, maximum, step = _ends(where, entry, words)
    scale = Scale(
        measure=name,
        label=entry.get("label", name.replace("_", " ").capitalize()),
        kind=_KINDS[part],
        score=_score(part, name, entry),
        minimum=minimum,
        maximum=maximum,
        step=step,
        minimum_label=entry.get("minimum_label", _label_of(minimum, words)),
        maximum_label=entry.get("maximum_label", _label_of(maximum, words)),
        wording=entry.get("wording"),
        rated_role=rated_role if part == "ratings" else None,
    )
    reader = ScaleReader(minimum, maximum, step, words)
    reader.refuse_labels_off_scale(where)
    return MappedMeasure(scale, entry["column"], reader)


def _ends(where: str, entry: dict[str, Any], words: dict[str, float | str]) -> tuple[float, float, float | None]:
    numbers = [float(meaning) for meaning in words.values() if not isinstance(meaning, str)]
    ends = {"minimum": min(numbers, default=None), "maximum": max(numbers, default=None), "step": 1.0}
    for key in ends:
        value = entry.get(key, ends[key])
        if value is None or isinstance(value, (bool, str)):
            raise Refused(f"{where} must say its {key} as a number.")
        ends[key] = float(value)
    minimum, maximum, step = (float(ends[key] or 0.0) for key in ("minimum", "maximum", "step"))
    if not minimum < maximum or step < 0:
        raise Refused(f"{where}: minimum must be below maximum, and step (0 for a continuous scale) not negative.")
    if step and abs((maximum - minimum) / step - round((maximum - minimum) / step)) > 1e-9:
        raise Refused(f"{where}: the maximum must be a whole number of steps above the minimum.")
    return minimum, maximum, step or None


def _label_of(level: float, words: dict[str, float | str]) -> str | None:
    return next((label for label, meaning in words.items() if meaning == level), None)


def _score(part: str, name: str, entry: dict[str, Any]) -> str | None:
    score = entry.get("score", "overall" if part == "ratings" and name == "overall" else None)
    if score is not None and score not in _SCORES[part]:
        raise unknown_name(f"score of [{part}.{name}]", score, _SCORES[part])
    if (name == "overall") != (score == "overall"):
        raise Refused(f"{part}.{name}: the overall rating, and no other measure, is called overall.")
    return score


def _check_together(scales: list[Scale]) -> None:
    names = [scale.measure for scale in scales]
    for name in names:
        if names.count(name) > 1:
            raise Refused(f"The measure {name} is there twice; every measure needs a name of its own.")
    for score in ("importance", "desired_empathy"):
        if sum(scale.score == score for scale in scales) > 1:
            raise Refused(f"At most one measure can have the score {score}.")
    ends = {(scale.minimum, scale.maximum) for scale in scales if scale.score == "dimension"}
    if len(ends) > 1:
        raise Refused("All ratings with the score dimension must have one scale, since their mean is taken.")


def without_ending(name: str) -> str:
    """Return the name of a sheet or file without the ending of a table's file."""
    return re.sub(r"\.(csv|tsv|txt|jsonl|ndjson|json|parquet|pq)$", "", name, flags=re.IGNORECASE)
