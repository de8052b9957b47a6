"""A folder of every figure and table, a caption each, and a manifest that says where they come from."""

from __future__ import annotations

import dataclasses
import hashlib
import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from dashboard.analyses import registry
from dashboard.analyses.findings import (
    FILTERS,
    Analysis,
    Parameters,
    Selection,
    check_outcome,
    check_selection,
    parse_parameters,
    run_analysis,
)
from dashboard.database import Database
from dashboard.export.browser import find_browser
from dashboard.export.documents import captions_text, methods_text
from dashboard.export.figures import BROWSER_FORMATS, FIGURE_FORMATS, Print
from dashboard.export.items import POSSIBLE_FORMATS, Answer, file_name
from dashboard.export.provenance import command_line, describe_source
from dashboard.export.tables import TABLE_FORMATS
from dashboard.intake.folders import replacing_folder
from dashboard.paths import MANIFEST
from dashboard.vocabulary import NotInThisData, Refused, TooLittleData, unknown_name

ALL_FORMATS = tuple(dict.fromkeys((*FIGURE_FORMATS, *TABLE_FORMATS)))
MANIFEST_FORMAT = "sense7 export 1"
_EVERYWHERE = (*FILTERS, "min_rated_turns", "exclude_flagged", "outcome")
# What the export is called in the command lines that it prints: where it lies is not part of its bytes.
_ANY_FOLDER = "out"


@dataclass(frozen=True)
class Order:
    """What to export.

    Attributes
    ----------
    only
        Analyses, or single figures and tables; empty means all.
    formats
        Formats of figures and of tables; each thing comes in those that it has.
    how
        Width, style and resolution of figures.
    given
        Filters and parameters as ``key=value`` pairs; a parameter goes to the analyses that have it.
    """

    only: tuple[str, ...] = ()
    formats: tuple[str, ...] = ("pdf", "csv")
    how: Print = field(default_factory=Print)
    given: tuple[tuple[str, str], ...] = ()

    def wants(self, analysis: Analysis, name: str) -> bool:
        """Return whether a figure or table of an analysis is asked for."""
        return not self.only or analysis.name in self.only or name in self.only


def read_formats(text: str) -> tuple[str, ...]:
    """Return the formats of a list with commas.

    Raises
    ------
    Refused
        For a format that does not exist.
    """
    formats = tuple(dict.fromkeys(one.strip().lower() for one in text.split(",") if one.strip()))
    for format in formats or ("",):
        if format not in ALL_FORMATS:
            raise unknown_name("format", format, ALL_FORMATS)
    return formats


def export_folder(
    database: Database,
    out: Path,
    order: Order,
    *,
    progress: Callable[[int, int, str], None] = lambda done, total, what: None,
) -> dict[str, Any]:
    """Write figures, tables, captions, methods and manifest.json into a folder, whole or not at all.

    Parameters
    ----------
    database
        The data.
    out
        A new or empty folder, or one that an export wrote, which is replaced.
    order
        What to export, and how.
    progress
        Called with how many steps are done, how many there are, and what comes next; what it raises stops the export and
        leaves ``out`` as it was.

    Returns
    -------
    dict
        The manifest: source, order, ``items`` with their captions and files, ``skipped`` with reasons.

    Raises
    ------
    Refused
        For unknown names and levels, where a browser is needed and absent, where nothing could be exported, and for a
        folder that is not ours to replace.
    """
    asked = _asked(order)
    if set(order.formats) & set(BROWSER_FORMATS) and any(one.figures for one, _, _ in asked):
        find_browser()
    check_outcome(database, order.given)
    if asked:
        check_selection(database, asked[0][1])
    _guard_data(out, database)
    total = sum(1 + len(_wanted(one, order)) for one, _, _ in asked)
    done = 0
    items: list[dict[str, Any]] = []
    skipped: list[dict[str, str]] = []
    with replacing_folder(out, source=database.folder) as folder:
        for analysis, selection, chosen in asked:
            progress(done, total, analysis.name)
            start, done = done, done + 1 + len(_wanted(analysis, order))
            try:
                findings = run_analysis(database, analysis, selection, chosen)
            except (NotInThisData, TooLittleData) as reason:
                skipped.append({"name": analysis.name, "reason": str(reason)})
                continue
            answer = Answer(database, analysis, findings, selection, chosen, order.how)
            for step, described in enumerate(_write_all(folder, answer, order), start=start + 1):
                items.append(described)
                progress(min(step, done), total, described["name"])
        if not items:
            reasons = " ".join(f"{one['name']}: {one['reason']}" for one in skipped)
            raise Refused(f"There is nothing to export in these formats. {reasons}".strip())
        manifest = _manifest(database, order, items, skipped)
        exported = {one["analysis"] for one in items}
        _write(folder / "captions.md", captions_text(items, synthetic=database.synthetic))
        _write(folder / "methods.md", methods_text([one for one, _, _ in asked if one.name in exported], manifest))
        _write(
            folder / MANIFEST, json.dumps(manifest, ensure_ascii=False, indent=1, sort_keys=True, default=str) + "\n"
        )
        progress(total, total, "done")
    return manifest


def _guard_data(out: Path, database: Database) -> None:
    """Refuse a folder that holds data: the common rule for folders would let an export take its place."""
    try:
        found = json.loads((out / MANIFEST).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return
    if isinstance(found, dict) and found.get("format") != MANIFEST_FORMAT:
        raise Refused(f"The folder must be new, empty or an earlier export; {out} holds data. Choose another.")


def _asked(order: Order) -> list[tuple[Analysis, Selection, Parameters]]:
    """Return the analyses to run, each with the selection and the parameters that concern it."""
    known = [name for one in registry().values() for name in (one.name, *one.figures, *one.tables)]
    for name in order.only:
        if name not in known:
            raise unknown_name("analysis, figure or table called", name, dict.fromkeys(known))
    chosen = [one for one in registry().values() if _wanted(one, order)]
    for key, _ in order.given:
        if key not in _EVERYWHERE and not any(key in one.parameter_fields() for one in chosen):
            everything = {*_EVERYWHERE, *(field for one in chosen for field in one.parameter_fields())}
            raise unknown_name("parameter called", key, sorted(everything))
    asked = []
    for one in chosen:
        concerns = [(key, text) for key, text in order.given if key in _EVERYWHERE or key in one.parameter_fields()]
        asked.append((one, *parse_parameters(one, concerns)))
    return asked


def _wanted(analysis: Analysis, order: Order) -> list[tuple[str, str]]:
    """Return the kind and the name of what is wanted of an analysis and has one of the formats."""
    kinds = (("figure", analysis.figures, FIGURE_FORMATS), ("table", analysis.tables, TABLE_FORMATS))
    return [
        (kind, name)
        for kind, names, possible in kinds
        if set(possible) & set(order.formats)
        for name in names
        if order.wants(analysis, name)
    ]


def _write_all(folder: Path, answer: Answer, order: Order) -> Iterator[dict[str, Any]]:
    """Write what is wanted of one analysis; yield what the manifest says of each."""
    for kind, name in _wanted(answer.analysis, order):
        if answer.has(kind, name):
            yield _write_one(folder, answer, kind, name, [f for f in order.formats if f in POSSIBLE_FORMATS[kind]])


def _write_one(folder: Path, answer: Answer, kind: str, name: str, formats: Sequence[str]) -> dict[str, Any]:
    place = folder / f"{kind}s"
    place.mkdir(exist_ok=True)
    files = {}
    for format in formats:
        content = answer.content(kind, name, format)
        path = place / file_name(name, kind, format, synthetic=answer.database.synthetic)
        path.write_bytes(content)
        files[f"{kind}s/{path.name}"] = hashlib.sha256(content).hexdigest()
    listed = answer.listed(kind, name, formats[0], files)
    _write(place / f"{name}.caption.txt", listed["caption"] + "\n")
    return listed


def _manifest(
    database: Database, order: Order, items: list[dict[str, Any]], skipped: list[dict[str, str]]
) -> dict[str, Any]:
    options: dict[str, object] = {"formats": ",".join(order.formats), "width": order.how.width}
    options |= {"style": order.how.style, "dpi": order.how.dpi}
    again = command_line("export", _ANY_FOLDER, order.given, **options)
    again += "".join(f" --only {name}" for name in order.only)
    return {
        "format": MANIFEST_FORMAT,
        **describe_source(database),
        "command": again,
        "print": dataclasses.asdict(order.how) | {"width_mm": order.how.width_mm},
        "items": items,
        "skipped": skipped,
    }


def _write(path: Path, text: str) -> None:
    path.write_bytes(text.encode("utf-8"))
