"""Where an exported file comes from: data, selection, parameters, versions, and the command line that makes it again."""

from __future__ import annotations

import dataclasses
import importlib.metadata
import json
import platform
import shlex
from collections.abc import Iterable
from typing import Any

from dashboard import __version__
from dashboard.analyses.findings import FILTERS, Analysis, Findings, Parameters, Selection
from dashboard.database import Database

_PACKAGES = ("duckdb", "numpy", "pandas", "scipy", "statsmodels", "plotly", "kaleido")


def given_parameters(selection: Selection, chosen: Parameters) -> list[tuple[str, str]]:
    """Return the ``-p`` pairs that give this selection and these parameters; what is left at its default is left out."""
    given: list[tuple[str, Any]] = [(key, level) for key in FILTERS for level in getattr(selection, key)]
    if selection.min_rated_turns is not None:
        given.append(("min_rated_turns", selection.min_rated_turns))
    if selection.exclude_flagged:
        given.append(("exclude_flagged", True))
    for item in dataclasses.fields(chosen):
        value = getattr(chosen, item.name)
        if isinstance(value, tuple):
            given += [(item.name, one) for one in value]
        elif value != item.default and value is not None:
            given.append((item.name, value))
    return [(key, _as_given(value)) for key, value in given]


def _as_given(value: Any) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    return f"{value:g}" if isinstance(value, float) else str(value)


def command_line(command: str, name: str, given: Iterable[tuple[str, str]], **options: object) -> str:
    """Return ``sense7 COMMAND NAME -p key=value --option value``, ready to paste into a shell."""
    words = ["sense7", command, name]
    for key, value in given:
        words += ["-p", f"{key}={value}"]
    for key, option in options.items():
        words += [f"--{key}", f"{option:g}" if isinstance(option, float) else str(option)]
    return shlex.join(words)


def describe_source(database: Database) -> dict[str, Any]:
    """Return which data it is and which versions computed with it; holds no path, name or date of a machine."""
    return {
        "software": f"sense7-dashboard {__version__}",
        "data_sha256": str(database.manifest.get("data_sha256", "")),
        "data_title": str(database.manifest.get("title") or ""),
        "synthetic": database.synthetic,
        "versions": _versions(),
    }


def describe_item(
    database: Database,
    analysis: Analysis,
    findings: Findings,
    *,
    name: str,
    selection: Selection,
    chosen: Parameters,
    command: str,
    kind: str = "figure",
) -> dict[str, Any]:
    """Return the provenance of one figure or table: the source, what was asked, and how to make it again."""
    what = (analysis.figures if kind == "figure" else analysis.tables).get(name) or name
    return {
        "name": name,
        "title": what,
        "question": analysis.question,
        "caption": draft_caption(database, findings, what),
        "selection": {key: value for key, value in _listed(selection).items() if value not in ([], None)},
        "parameters": _listed(chosen),
        "command": command,
        **describe_source(database),
    }


def draft_caption(database: Database, findings: Findings, what: str) -> str:
    """Return the draft of a caption: what it shows, the finding with interval and n, what weakens it, the data's version."""
    parts = [f"{what.rstrip('.')}.", findings.headline, *findings.warnings]
    if database.synthetic:
        parts.append("SYNTHETIC data: no number in it is a result of the study.")
    parts.append(f"Data version {str(database.manifest.get('data_sha256', ''))[:12]}, sense7-dashboard {__version__}.")
    return " ".join(parts)


def as_json(provenance: dict[str, Any]) -> str:
    """Return provenance as one line of JSON in a fixed order of keys."""
    return json.dumps(provenance, ensure_ascii=False, sort_keys=True, default=str)


def _listed(given: Selection | Parameters) -> dict[str, Any]:
    """Return fields as JSON has them: no tuples."""
    fields = dataclasses.asdict(given)
    return {key: list(value) if isinstance(value, tuple) else value for key, value in fields.items()}


def _versions() -> dict[str, str]:
    versions = {"python": platform.python_version()}
    for package in _PACKAGES:
        try:
            versions[package] = importlib.metadata.version(package)
        except importlib.metadata.PackageNotFoundError:
            continue
    return versions
