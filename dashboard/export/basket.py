"""A basket: figures and tables collected one by one, each as it was asked for, in an order and under names; one zip."""

from __future__ import annotations

import dataclasses
import hashlib
import json
import re
import unicodedata
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from dashboard.analyses import analysis
from dashboard.analyses.findings import Findings, Parameters, Selection, run_analysis
from dashboard.database import Database
from dashboard.export.archive import zip_bytes
from dashboard.export.browser import find_browser
from dashboard.export.documents import captions_text, methods_text
from dashboard.export.figures import BROWSER_FORMATS, Print
from dashboard.export.folder import MANIFEST_FORMAT
from dashboard.export.items import POSSIBLE_FORMATS, Answer, file_name
from dashboard.export.provenance import describe_source
from dashboard.paths import MANIFEST
from dashboard.vocabulary import Refused

LONGEST_STEM = 60


@dataclass(frozen=True)
class Entry:
    """A figure or a table in the basket, with what was asked when it was seen.

    Attributes
    ----------
    analysis
        The analysis' name.
    kind
        ``figure`` or ``table``.
    part
        The figure's or table's name.
    selection, chosen
        Which conversations, and the analysis' parameters.
    title
        What its user calls it; empty for its own name.
    """

    analysis: str
    kind: str
    part: str
    selection: Selection = field(default_factory=Selection)
    chosen: Parameters = field(default_factory=Parameters)
    title: str = ""

    @property
    def asked(self) -> tuple[str, Selection, Parameters]:
        """What one run of an analysis answers."""
        return self.analysis, self.selection, self.chosen


@dataclass(frozen=True)
class Settings:
    """How a basket is written: formats of figures and of tables, and how figures are printed."""

    figures: tuple[str, ...] = ("pdf",)
    tables: tuple[str, ...] = ("csv",)
    how: Print = field(default_factory=Print)

    def formats(self, kind: str) -> tuple[str, ...]:
        """Return the formats of figures or of tables, in the order in which they are offered."""
        chosen = self.figures if kind == "figure" else self.tables
        return tuple(one for one in POSSIBLE_FORMATS[kind] if one in chosen)


def needs_browser(entries: Sequence[Entry], settings: Settings) -> bool:
    """Return whether a browser must draw anything of a basket."""
    return any(one.kind == "figure" for one in entries) and bool(set(settings.figures) & set(BROWSER_FORMATS))


def safe_stem(text: str) -> str:
    """Return text as part of a file name: letters and digits of any script, with hyphens between words; may be empty."""
    words = re.findall(r"\w+", unicodedata.normalize("NFKC", text))
    return "-".join(words)[:LONGEST_STEM].strip("-_")


def numbered(entries: Sequence[Entry]) -> list[tuple[str, str]]:
    """Return each entry's label and file stem: ``("Figure 2", "figure-2-gap")``; figures and tables count apart."""
    counted = {"figure": 0, "table": 0}
    found = []
    for one in entries:
        counted[one.kind] += 1
        number = counted[one.kind]
        stem = safe_stem(one.title) or safe_stem(one.part.replace(".", " "))
        found.append((f"{one.kind.capitalize()} {number}", f"{one.kind}-{number}-{stem}"))
    return found


def basket_zip(
    database: Database,
    entries: Sequence[Entry],
    settings: Settings,
    *,
    run: Callable[[str, Selection, Parameters], Findings] | None = None,
    progress: Callable[[int, int, str], None] = lambda done, total, what: None,
) -> bytes:
    """Return a zip of the basket with captions.md, methods.md and manifest.json; the same basket gives the same bytes.

    Parameters
    ----------
    database
        The data.
    entries
        What to write, in this order.
    settings
        Formats and print.
    run
        Returns what an analysis finds; where answers are remembered elsewhere, they come from there.
    progress
        Called before each step with how many are done, how many there are, and what comes; what it raises stops the work.

    Raises
    ------
    Refused
        For an empty basket, a kind without a format, an analysis that refuses, a figure or table that is not there with
        its filters and parameters, and where a browser is needed and absent.
    """
    _check(entries, settings)
    ask = run or (lambda name, selection, chosen: run_analysis(database, analysis(name), selection, chosen))
    total = len(dict.fromkeys(one.asked for one in entries)) + sum(len(settings.formats(one.kind)) for one in entries)
    done = 0
    answers: dict[Any, Answer] = {}
    items: list[dict[str, Any]] = []
    files: list[tuple[str, bytes]] = []
    for one, (label, stem) in zip(entries, numbered(entries), strict=True):
        if one.asked not in answers:
            progress(done, total, f"{analysis(one.analysis).question}")
            answers[one.asked] = _answer(database, one, label, settings, ask)
            done += 1
        hashes = {}
        for format in settings.formats(one.kind):
            name = f"{one.kind}s/{file_name(stem, one.kind, format, synthetic=database.synthetic)}"
            progress(done, total, name)
            content = _content(answers[one.asked], one, label, format)
            files.append((name, content))
            hashes[name] = hashlib.sha256(content).hexdigest()
            done += 1
        items.append(_listed(answers[one.asked], one, label, hashes, settings))
    manifest = _manifest(database, settings, items)
    progress(total, total, "done")
    return zip_bytes([*_documents(manifest, items, answers), *files])


def _check(entries: Sequence[Entry], settings: Settings) -> None:
    if not entries:
        raise Refused("The basket is empty. Add figures and tables with “Add to export” below an analysis.")
    for kind in dict.fromkeys(one.kind for one in entries):
        if not settings.formats(kind):
            raise Refused(f"Choose at least one format for {kind}s.")
    if needs_browser(entries, settings):
        find_browser()


def _answer(database: Database, one: Entry, label: str, settings: Settings, ask: Callable[..., Findings]) -> Answer:
    try:
        findings = ask(*one.asked)
    except Refused as reason:
        raise Refused(f"{label} cannot be made, take it out of the basket: {reason}") from reason
    return Answer(database, analysis(one.analysis), findings, one.selection, one.chosen, settings.how)


def _content(answer: Answer, one: Entry, label: str, format: str) -> bytes:
    if not answer.has(one.kind, one.part):
        raise Refused(
            f"{label} cannot be made, take it out of the basket: {one.part} is empty with its filters and parameters."
        )
    return answer.content(one.kind, one.part, format)


def _listed(answer: Answer, one: Entry, label: str, hashes: dict[str, str], settings: Settings) -> dict[str, Any]:
    formats = settings.formats(one.kind)
    listed = answer.listed(one.kind, one.part, formats[0], hashes)
    commands = [answer.command(one.kind, one.part, format) for format in formats]
    heading = f"{label}. {' '.join(one.title.split())}" if one.title.strip() else label
    return listed | {"label": heading, "commands": dict(zip(hashes, commands, strict=True))}


def _manifest(database: Database, settings: Settings, items: list[dict[str, Any]]) -> dict[str, Any]:
    return {
        "format": MANIFEST_FORMAT,
        **describe_source(database),
        "command": "each file has its own, under items: commands",
        "print": dataclasses.asdict(settings.how) | {"width_mm": settings.how.width_mm},
        "items": items,
        "skipped": [],
    }


def _documents(
    manifest: dict[str, Any], items: list[dict[str, Any]], answers: dict[Any, Answer]
) -> list[tuple[str, bytes]]:
    """Return manifest, captions and methods as files."""
    texts = {
        MANIFEST: json.dumps(manifest, ensure_ascii=False, indent=1, sort_keys=True, default=str) + "\n",
        "captions.md": captions_text(items, synthetic=manifest["synthetic"]),
        "methods.md": methods_text([one.analysis for one in answers.values()], manifest),
    }
    return [(name, text.encode("utf-8")) for name, text in texts.items()]
