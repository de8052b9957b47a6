"""Imports a source: reads it, checks it, writes the tables, and says what came of it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from dashboard.intake.build import build_dataset
from dashboard.intake.cells import MISSING, NOT_APPLICABLE, RATED
from dashboard.intake.dataset import Dataset, counts_of, guard_output_folder, write_dataset
from dashboard.intake.findings import Findings
from dashboard.intake.mapped import mapped_shape
from dashboard.intake.mapping import Mapping, expected_columns, expected_tables, read_mapping
from dashboard.intake.released import Overrides, released_shape
from dashboard.intake.shape import Shape
from dashboard.intake.source import Source, read_source, says_synthetic

RELEASE_LICENCE = "CDLA-Permissive-2.0"
RELEASE_CITATION = (
    "Suh, Le, Shayegani, Ramos, Amores, Ong, Czerwinski, Hernandez: SENSE-7. arXiv:2509.16437 (2025); "
    "IEEE Transactions on Affective Computing (2026)."
)
Progress = Callable[[str], None]


@dataclass(frozen=True)
class ImportReport:
    """What an import read, wrote and has to say; `data_sha256` names the content of the tables."""

    out: str
    source_sha256: str
    origin: str
    conversations: int
    participants: int | None
    messages: int
    assistant_turns: int
    rated_turns: int
    sheets: dict[str, int]
    answers: dict[str, dict[str, int]]
    unreadable: list[dict[str, Any]] = field(default_factory=list)
    set_aside: list[dict[str, Any]] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    source: str = ""
    data_sha256: str = ""
    synthetic: bool = False
    release: bool = False
    licence: str | None = None

    def to_json(self) -> dict[str, Any]:
        """Return the report as what JSON can hold."""
        return asdict(self)

    def to_text(self) -> str:
        """Return the report for people."""
        people = "no participant ids" if self.participants is None else f"{self.participants} participants"
        marks = [mark for mark, holds in (("SYNTHETIC", self.synthetic), ("release", self.release)) if holds]
        lines = [
            f"Imported {self.source} ({', '.join(dict.fromkeys([self.origin, *marks]))}, sha256 {self.source_sha256}).",
            f"{self.conversations} conversations, {people}, {self.messages} messages, {self.assistant_turns} turns, "
            f"{self.rated_turns} of them rated.",
            "Read: " + ", ".join(f"{name} ({rows} rows)" for name, rows in self.sheets.items()) + ".",
        ]
        if self.licence:
            lines.append(f"Licence of the data: {self.licence}.")
        lines += [
            f"{name}: {n['rated']} rated, {n['not_applicable']} not applicable, {n['missing']} missing"
            for name, n in self.answers.items()
        ]
        lines += [
            f"Unreadable, now missing: {one['sheet']}, row {one['row']}, {one['column']}: {one['value']!r}"
            for one in self.unreadable
        ]
        lines += [f"Set aside: {one['sheet']}, row {one['row']}: {one['what']}" for one in self.set_aside]
        lines += [f"Note: {note}" for note in self.notes]
        lines.append(f"Written to {self.out}.")
        return "\n".join(lines)


def import_source(
    source: Path,
    out: Path,
    *,
    mapping: Path | None = None,
    lenient: bool = False,
    release: bool = False,
    progress: Progress | None = None,
) -> ImportReport:
    """Import a workbook, a folder of tables or a single table into a folder of checked parquet tables.

    Parameters
    ----------
    source
        An .xlsx workbook, a folder of csv, jsonl or parquet files, or one such file.
    out
        Folder to create, or to replace if import or sample wrote it. It changes as a whole or not at all.
    mapping
        TOML file that says which columns mean what, or what the names in the released shape mean.
    lenient
        Unreadable rating, survey and time cells become missing; messages without a conversation are set aside.
    release
        The user states that this is the official release.
    progress
        Called with a sentence at each step.

    Raises
    ------
    Refused
        With every case that does not hold, where it is, and what would accept it.
    """
    say = progress or (lambda _: None)
    source = Path(source)
    guard_output_folder(Path(out), source=source)
    mapped = read_mapping(mapping) if mapping is not None else None
    say(f"Reading {source.name} …")
    findings = Findings(lenient=lenient)
    wanted = mapped.shape if mapped else Overrides()
    read = read_source(source, names=expected_columns(wanted), tables=expected_tables(wanted))
    findings.notes += read.notes
    say(f"Checking {sum(len(grid.rows) for grid in read.grids)} rows …")
    if isinstance(wanted, Overrides):
        shape = released_shape(read, wanted, findings)
    else:
        shape = mapped_shape(read, wanted, findings)
    dataset = build_dataset(shape, findings, read.name)
    synthetic = read.synthetic or _synthetic(shape) or bool(mapped and mapped.synthetic)
    if release and synthetic:
        findings.note("The data says SYNTHETIC of itself, and was stated to be the official release.")
    say(f"Writing {out} …")
    manifest = _manifest(read, shape, dataset, findings, mapped, synthetic=synthetic, release=release)
    data_sha256 = write_dataset(dataset, manifest, Path(out), source=source)
    return ImportReport(
        out=str(out),
        source_sha256=read.sha256,
        origin=manifest["origin"],
        **manifest["counts"],
        sheets={name: entry["rows"] for name, entry in manifest["sheets"].items()},
        answers=manifest["answers"],
        unreadable=findings.unreadable,
        set_aside=findings.set_aside,
        notes=findings.notes,
        source=read.name,
        data_sha256=data_sha256,
        synthetic=synthetic,
        release=release,
        licence=manifest["licence"],
    )


def _synthetic(shape: Shape) -> bool:
    """Say whether a further sheet, or what stands above a header, says SYNTHETIC."""
    for sheet in shape.others:
        cells = [sheet.name, *sheet.columns, *(cell for row in sheet.rows for cell in row), *sheet.title]
        named = sheet.name.strip().casefold() == "synthetic"
        if named or any(isinstance(cell, str) and says_synthetic(cell) for cell in cells):
            return True
    titles = [*shape.turns.title, *shape.conversations.title]
    return any(says_synthetic(title) for title in titles)


def _manifest(
    read: Source,
    shape: Shape,
    dataset: Dataset,
    findings: Findings,
    mapped: Mapping | None,
    *,
    synthetic: bool,
    release: bool,
) -> dict[str, Any]:
    origin = "release" if release else read.origin
    if mapped and not isinstance(mapped.shape, Overrides):
        origin = "mapping"
    title = (mapped.title if mapped else None) or ("SENSE-7, the release" if release else read.name)
    read_sheets = (shape.conversations, shape.turns, *shape.others)
    sheets = {sheet.name: {"rows": sheet.rows_read, "file": None} for sheet in read_sheets}
    return {
        "origin": origin,
        "synthetic": synthetic,
        "release": release,
        "title": f"{title} (SYNTHETIC)" if synthetic and not says_synthetic(title) else title,
        "source": read.name,
        "source_sha256": read.sha256,
        "counts": counts_of(dataset),
        "sheets": sheets,
        "answers": answers_of(dataset),
        "unreadable": findings.unreadable,
        "set_aside": findings.set_aside,
        "notes": findings.notes,
        "licence": (mapped.licence if mapped else None) or (RELEASE_LICENCE if release else None),
        "citation": (mapped.citation if mapped else None) or (RELEASE_CITATION if release else None),
        "mapping": mapped.content if mapped else None,
    }


def answers_of(dataset: Dataset) -> dict[str, dict[str, int]]:
    """Return how many turns each dimension was rated, stated not applicable and left blank on."""
    scales, ratings = dataset.scales, dataset.ratings
    scored = zip(scales["measure"].to_pylist(), scales["score"].to_pylist(), strict=True)
    found = Counter(zip(ratings["outcome"].to_pylist(), ratings["answer"].to_pylist(), strict=True))
    return {
        name: {answer: found[name, answer] for answer in (RATED, NOT_APPLICABLE, MISSING)}
        for name, score in scored
        if score == "dimension"
    }
