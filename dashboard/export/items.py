"""One figure or table of an analysis as a file: its bytes, where they come from, and the command that makes them again."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from dashboard.analyses.findings import Analysis, Findings, Parameters, Selection
from dashboard.database import Database
from dashboard.export.figures import FIGURE_FORMATS, Print, figure_bytes
from dashboard.export.provenance import command_line, describe_item, describe_source, given_parameters
from dashboard.export.tables import TABLE_FORMATS, table_bytes

POSSIBLE_FORMATS = {"figure": FIGURE_FORMATS, "table": TABLE_FORMATS}
_SUFFIXES = {"latex": "tex"}
# These have no place for a mark that programs would not read as data.
_UNMARKED = {"figure": ("csv", "parquet"), "table": ("csv", "parquet", "json", "md")}


@dataclass(frozen=True)
class Answer:
    """What an analysis found, and what it was asked.

    Attributes
    ----------
    database, analysis, findings
        The data, the question and the answer.
    selection, chosen
        What was asked: the conversations and the analysis' parameters.
    how
        Width, style and resolution of figures.
    """

    database: Database
    analysis: Analysis
    findings: Findings
    selection: Selection
    chosen: Parameters
    how: Print

    def has(self, kind: str, name: str) -> bool:
        """Return whether there is such a figure or table: some depend on parameters and data."""
        return name in (self.findings.figures if kind == "figure" else self.findings.tables)

    def command(self, kind: str, name: str, format: str) -> str:
        """Return the command line that makes a file again."""
        options: dict[str, object] = {"format": format}
        if kind == "figure":
            options |= {"width": self.how.width, "style": self.how.style}
            options |= {"dpi": self.how.dpi} if format == "png" else {}
        return command_line(kind, name, given_parameters(self.selection, self.chosen), **options)

    def describe(self, kind: str, name: str, format: str) -> dict[str, Any]:
        """Return the provenance of a file; see :func:`dashboard.export.provenance.describe_item`."""
        return describe_item(
            self.database,
            self.analysis,
            self.findings,
            name=name,
            selection=self.selection,
            chosen=self.chosen,
            command=self.command(kind, name, format),
            kind=kind,
        )

    def listed(self, kind: str, name: str, format: str, files: dict[str, str]) -> dict[str, Any]:
        """Return what a manifest says of a figure or table: its provenance but the source, and its files with their hashes."""
        shared = describe_source(self.database)
        own = {key: value for key, value in self.describe(kind, name, format).items() if key not in shared}
        return own | {"kind": kind, "analysis": self.analysis.name, "page": self.analysis.page, "files": files}

    def content(self, kind: str, name: str, format: str) -> bytes:
        """Return the bytes of a file in one of ``POSSIBLE_FORMATS[kind]``."""
        described = self.describe(kind, name, format)
        if kind == "figure":
            return figure_bytes(self.findings.figures[name], format, self.how, provenance=described)
        return table_bytes(self.findings.tables[name], format, caption=described["caption"])


def file_name(stem: str, kind: str, format: str, *, synthetic: bool) -> str:
    """Return a file's name: synthetic data says so in the names of files that cannot bear the mark inside."""
    mark = "_SYNTHETIC" if synthetic and format in _UNMARKED[kind] else ""
    return f"{stem}{mark}.{_SUFFIXES.get(format, format)}"
