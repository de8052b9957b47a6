"""A folder of every figure and table, a caption each, and a manifest that says where they come from."""

from __future__ import annotations

import dataclasses
import hashlib
import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from dashboard.analyses import registry
from dashboard.analyses.findings import (
    FILTERS,
    Analysis,
    Findings,
    Parameters,
    Selection,
    check_selection,
    parse_parameters,
    run_analysis,
)
from dashboard.database import Database
from dashboard.export.browser import find_browser
from dashboard.export.figures import BROWSER_FORMATS, FIGURE_FORMATS, Print, figure_bytes
from dashboard.export.provenance import command_line, describe_item, describe_source, given_parameters
from dashboard.export.tables import TABLE_FORMATS, table_bytes
from dashboard.intake.folders import replacing_folder
from dashboard.paths import MANIFEST
from dashboard.vocabulary import NotInThisData, Refused, TooLittleData, unknown_name

ALL_FORMATS = tuple(dict.fromkeys((*FIGURE_FORMATS, *TABLE_FORMATS)))
MANIFEST_FORMAT = "sense7 export 1"
_SUFFIXES = {"latex": "tex"}
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
            made = _Item(database, analysis, findings, selection, chosen, order)
            for step, described in enumerate(made.write_all(folder), start=start + 1):
                items.append(described)
                progress(min(step, done), total, described["name"])
        if not items:
            reasons = " ".join(f"{one['name']}: {one['reason']}" for one in skipped)
            raise Refused(f"There is nothing to export in these formats. {reasons}".strip())
        manifest = _manifest(database, order, items, skipped)
        _write(folder / "captions.md", _captions(items, synthetic=database.synthetic))
        _write(folder / "methods.md", _methods(asked, items, manifest))
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


@dataclass(frozen=True)
class _Item:
    """One analysis' answer, about to be written."""

    database: Database
    analysis: Analysis
    findings: Findings
    selection: Selection
    chosen: Parameters
    order: Order

    def write_all(self, folder: Path) -> Iterator[dict[str, Any]]:
        for kind, name in _wanted(self.analysis, self.order):
            if kind == "figure" and name in self.findings.figures:
                yield self._write_one(folder, kind, name, [f for f in self.order.formats if f in FIGURE_FORMATS])
            elif kind == "table" and name in self.findings.tables:
                yield self._write_one(folder, kind, name, [f for f in self.order.formats if f in TABLE_FORMATS])

    def _write_one(self, folder: Path, kind: str, name: str, formats: Sequence[str]) -> dict[str, Any]:
        place = folder / f"{kind}s"
        place.mkdir(exist_ok=True)
        files = {}
        for format in formats:
            content = self._figure(name, format) if kind == "figure" else self._table(name, format)
            path = place / f"{name}.{_SUFFIXES.get(format, format)}"
            path.write_bytes(content)
            files[f"{kind}s/{path.name}"] = hashlib.sha256(content).hexdigest()
        described = self._describe(kind, name, formats[0])
        _write(place / f"{name}.caption.txt", described["caption"] + "\n")
        shared = describe_source(self.database)
        own = {key: value for key, value in described.items() if key not in shared}
        return own | {"kind": kind, "analysis": self.analysis.name, "page": self.analysis.page, "files": files}

    def _figure(self, name: str, format: str) -> bytes:
        provenance = self._describe("figure", name, format)
        return figure_bytes(self.findings.figures[name], format, self.order.how, provenance=provenance)

    def _table(self, name: str, format: str) -> bytes:
        caption = self._describe("table", name, format)["caption"]
        return table_bytes(self.findings.tables[name], format, caption=caption)

    def _describe(self, kind: str, name: str, format: str) -> dict[str, Any]:
        how = self.order.how
        options: dict[str, object] = {"format": format}
        if kind == "figure":
            options |= {"width": how.width, "style": how.style}
        command = command_line(kind, name, given_parameters(self.selection, self.chosen), **options)
        described = describe_item(
            self.database,
            self.analysis,
            self.findings,
            name=name,
            selection=self.selection,
            chosen=self.chosen,
            command=command,
        )
        return described | ({"title": self.analysis.tables[name]} if kind == "table" else {})


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


def _captions(items: Iterable[dict[str, Any]], *, synthetic: bool) -> str:
    lines = ["# Captions", "", "Drafts: the finding, its interval and n as computed. Edit before use."]
    if synthetic:
        lines += ["", "SYNTHETIC data: no number here is a result of the study."]
    for one in items:
        lines += [
            "",
            f"## {one['kind'].capitalize()} {one['name']}",
            "",
            one["caption"],
            "",
            f"Made by `{one['command']}`",
        ]
    return "\n".join(lines) + "\n"


def _methods(
    asked: Iterable[tuple[Analysis, Selection, Parameters]], items: Iterable[dict[str, Any]], manifest: dict[str, Any]
) -> str:
    """Return one paragraph of methods per page."""
    exported = {one["analysis"] for one in items}
    pages: dict[str, list[str]] = {}
    for analysis, _, _ in asked:
        if analysis.name in exported and analysis.method:
            pages.setdefault(analysis.page, []).append(" ".join(analysis.method.split()))
    versions = ", ".join(f"{name} {version}" for name, version in manifest["versions"].items())
    lines = [
        "# Methods",
        "",
        f"Computed with {manifest['software']} ({versions}); data {manifest['data_sha256'][:12]}.",
    ]
    for page, methods in pages.items():
        lines += ["", f"## {page}", "", " ".join(methods)]
    return "\n".join(lines) + "\n"


def _write(path: Path, text: str) -> None:
    path.write_bytes(text.encode("utf-8"))
