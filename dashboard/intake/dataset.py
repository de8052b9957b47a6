"""The parquet tables: their columns, the folder they are written to, the hash that names their content."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from dashboard import __version__
from dashboard.intake.arrays import table_of
from dashboard.intake.content_hash import ContentHash, data_sha256
from dashboard.intake.folders import guard_output_folder, replacing_folder

__all__ = [
    "DIMENSIONS",
    "FORMAT",
    "SCHEMAS",
    "SENSE7_SCALES",
    "ContentHash",
    "Dataset",
    "Scale",
    "counts_of",
    "data_sha256",
    "guard_output_folder",
    "replacing_folder",
    "scales_table",
    "software",
    "write_dataset",
    "write_manifest",
    "write_table",
]

FORMAT = 1

# Further text columns may follow those of conversations and messages; covariates follow `participant`.
SCHEMAS: dict[str, pa.Schema] = {
    "conversations": pa.schema(
        {
            "conversation": pa.string(),
            "participant": pa.string(),
            "task": pa.string(),
            "model": pa.string(),
            "position": pa.int32(),
        }
    ),
    "messages": pa.schema(
        {
            "conversation": pa.string(),
            "message": pa.int32(),
            "message_id": pa.string(),
            "turn": pa.int32(),
            "role": pa.string(),
            "seconds": pa.float64(),
            "text": pa.string(),
            "retry": pa.string(),
            "comment": pa.string(),
            "source_row": pa.int32(),
        }
    ),
    "ratings": pa.schema(
        {
            "conversation": pa.string(),
            "message": pa.int32(),
            "turn": pa.int32(),
            "outcome": pa.string(),
            "value": pa.float64(),
            "answer": pa.string(),
        }
    ),
    "survey": pa.schema(
        {
            "conversation": pa.string(),
            "phase": pa.string(),
            "item": pa.string(),
            "value": pa.float64(),
            "answer": pa.string(),
        }
    ),
    "participants": pa.schema({"participant": pa.string()}),
    "scales": pa.schema(
        {
            "measure": pa.string(),
            "label": pa.string(),
            "kind": pa.string(),
            "score": pa.string(),
            "position": pa.int32(),
            "minimum": pa.float64(),
            "maximum": pa.float64(),
            "step": pa.float64(),
            "minimum_label": pa.string(),
            "maximum_label": pa.string(),
            "wording": pa.string(),
            "rated_role": pa.string(),
        }
    ),
}


@dataclass(frozen=True)
class Scale:
    """A measure and its scale: one row of the table `scales`, whose columns the attributes are."""

    measure: str
    label: str
    kind: str
    score: str | None
    minimum: float
    maximum: float
    step: float | None = 1.0
    minimum_label: str | None = None
    maximum_label: str | None = None
    wording: str | None = None
    rated_role: str | None = None


# Beginning of the column name → (label, what the agent is rated on the ability to do).
DIMENSIONS: dict[str, tuple[str, str]] = {
    "affective": ("Affective understanding", "recognise and understand my emotions"),
    "cognitive": ("Cognitive understanding", "understand my perspective, goals and intentions"),
    "response": ("Response appropriateness", "respond and adapt to my experiences"),
    "prosocial": ("Prosocial expression", "express concern and a desire to help"),
    "interest": ("Interest", "show curiosity and attention"),
    "contextual": ("Contextual understanding", "understand my personal context, history and preferences"),
    "relational": ("Relational continuity", "recall and weave in details of past interactions"),
}


def _wording(ability: str) -> str:
    return f"The agent demonstrates the ability to {ability}."


def _agreement(measure: str, label: str, score: str, wording: str | None = None) -> Scale:
    ends = ("Strongly disagree", "Strongly agree")
    return Scale(measure, label, "post", score, 1.0, 5.0, 1.0, *ends, wording)


def _sense7_scales() -> tuple[Scale, ...]:
    quality = (1.0, 5.0, 1.0, "Very poor", "Very good")
    overall = Scale("overall", "Overall perceived empathy", "rating", "overall", *quality, rated_role="assistant")
    dimensions = [
        Scale(name, label, "rating", "dimension", *quality, _wording(ability), "assistant")
        for name, (label, ability) in DIMENSIONS.items()
    ]
    mean = Scale(
        "turn_mean",
        "Mean of the dimensions",
        "rating",
        "turn_mean",
        *(1.0, 5.0, None, "Very poor", "Very good"),
        rated_role="assistant",
    )
    before = [
        Scale(
            "importance",
            "Importance",
            "pre",
            "importance",
            *(1.0, 5.0, 1.0, "Not at all important", "Extremely important"),
        ),
        Scale(
            "desired_empathy",
            "Desired empathy",
            "pre",
            "desired_empathy",
            *(1.0, 3.0, 1.0, "Minimal empathy", "High empathy"),
        ),
    ]
    satisfaction = [
        _agreement("successful", "Successful", "satisfaction"),
        _agreement("engaged", "Engaged", "satisfaction"),
        _agreement("positive_interaction", "Positive interaction", "satisfaction"),
        _agreement("use_again", "Would use again", "satisfaction"),
    ]
    experienced = [
        _agreement(f"post_{name}", f"{label} (after)", "experienced_empathy", _wording(ability))
        for name, (label, ability) in DIMENSIONS.items()
    ]
    return (overall, *dimensions, mean, *before, *satisfaction, *experienced)


SENSE7_SCALES: tuple[Scale, ...] = _sense7_scales()


def scales_table(scales: Iterable[Scale]) -> pa.Table:
    """Return the table `scales`, with positions from 1 in the order given."""
    rows = [{**asdict(scale), "position": place} for place, scale in enumerate(scales, 1)]
    schema = SCHEMAS["scales"]
    return table_of({name: [row[name] for row in rows] for name in schema.names}, schema)


@dataclass(frozen=True)
class Dataset:
    """The tables of data/README.md. `sheets` maps the name of every further sheet to its table."""

    conversations: pa.Table
    messages: pa.Table
    ratings: pa.Table
    survey: pa.Table
    participants: pa.Table
    scales: pa.Table
    sheets: Mapping[str, pa.Table] = field(default_factory=dict)

    def tables(self) -> dict[str, pa.Table]:
        """Return the six tables by name, in the order of `SCHEMAS`."""
        return {name: getattr(self, name) for name in SCHEMAS}


def software() -> dict[str, str]:
    """Return the versions of this package and of pyarrow, for the manifest."""
    return {"sense7-dashboard": __version__, "pyarrow": pa.__version__}


def counts_of(dataset: Dataset) -> dict[str, int | None]:
    """Return the manifest's counts.

    `participants` is null where the source knows none. `rated_turns` counts the turns whose overall
    rating is a number or, in data without an overall rating, those with any rating that is one.
    """
    ratings, scales = dataset.ratings, dataset.scales
    overall = {
        measure
        for measure, score in zip(scales["measure"].to_pylist(), scales["score"].to_pylist(), strict=True)
        if score == "overall"
    }
    columns = (ratings[name].to_pylist() for name in ("conversation", "turn", "outcome", "answer"))
    rated = {
        (conversation, turn)
        for conversation, turn, outcome, answer in zip(*columns, strict=True)
        if answer == "rated" and (outcome in overall or not overall)
    }
    people = set(dataset.conversations["participant"].to_pylist()) - {None}
    return {
        "conversations": dataset.conversations.num_rows,
        "participants": len(people) or None,
        "messages": dataset.messages.num_rows,
        "assistant_turns": dataset.messages.num_rows - dataset.messages["turn"].null_count,
        "rated_turns": len(rated),
    }


def write_table(table: pa.Table, path: Path) -> None:
    """Write one parquet file, the same bytes for the same table."""
    pq.write_table(table, path, compression="zstd", store_schema=False)


def write_dataset(dataset: Dataset, manifest: Mapping[str, Any], out: Path, *, source: Path | None = None) -> str:
    """Write the tables and the manifest to a folder, whole or not at all.

    Parameters
    ----------
    dataset
        The tables. Columns, types and order are those of `SCHEMAS`.
    manifest
        Content of manifest.json; `format`, `software`, `data_sha256` and the files of `sheets` are
        filled in here.
    out
        Folder to create, or to replace if it holds our manifest.json.
    source
        What was read; it must not lie inside `out`.

    Returns
    -------
    str
        The hash over the tables.

    Raises
    ------
    Refused
        If `out` may not be replaced or cannot be written.
    """
    for name, table in dataset.tables().items():
        leading = pa.schema(list(table.schema)[: len(SCHEMAS[name])])
        if not leading.equals(SCHEMAS[name]):
            raise TypeError(f"table {name} must begin with {SCHEMAS[name]}, it has {table.schema}")
    with replacing_folder(out, source=source) as part:
        for name, table in dataset.tables().items():
            write_table(table, part / f"{name}.parquet")
        sheets = {name: dict(entry) for name, entry in manifest.get("sheets", {}).items()}
        for number, (name, table) in enumerate(dataset.sheets.items(), 1):
            (part / "sheets").mkdir(exist_ok=True)
            file = f"sheets/{number:02d}_{_file_stem(name)}.parquet"
            write_table(table, part / file)
            sheets[name] = {"rows": table.num_rows, **sheets.get(name, {}), "file": file}
        content = {**manifest, "format": FORMAT, "sheets": sheets, "software": software()}
        content["data_sha256"] = data_sha256(part)
        write_manifest(content, part)
    return str(content["data_sha256"])


def write_manifest(content: Mapping[str, Any], folder: Path) -> None:
    """Write manifest.json with the same bytes for the same content."""
    text = json.dumps(content, ensure_ascii=False, indent=1, sort_keys=True, allow_nan=False)
    (folder / "manifest.json").write_text(text + "\n", encoding="utf-8", newline="\n")


def _file_stem(name: str) -> str:
    safe = "".join(letter if letter.isascii() and letter.isalnum() else "_" for letter in name.lower())
    return safe[:40].strip("_") or "sheet"
