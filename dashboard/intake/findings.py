"""Collects what is wrong with a source and what is worth saying about it, so that one refusal lists every case."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from dashboard.intake.cells import shown
from dashboard.intake.sheet import Cell
from dashboard.vocabulary import Refused

_CASES_PRINTED = 2000


@dataclass(frozen=True)
class Fault:
    """One case that an import refuses.

    Attributes
    ----------
    sheet, row, column
        Where; the row as the source counts. `column` is empty where the whole row is meant.
    value
        What stands there, as text.
    why
        What must hold, as the end of the sentence that begins with the value.
    """

    sheet: str
    row: int | None
    column: str
    value: str
    why: str

    def __str__(self) -> str:
        """Return the line that a refusal prints."""
        where = [f"{self.sheet}", f"row {self.row}" if self.row is not None else "", self.column]
        value = self.value if len(self.value) <= 120 else f"{self.value[:117]}…"
        quoted = json.dumps(value, ensure_ascii=False)
        return f"{', '.join(part for part in where if part)}: {quoted} {self.why}"


@dataclass
class Findings:
    """What an import has seen so far.

    Attributes
    ----------
    lenient
        Whether unreadable cells become missing and messages without a conversation are set aside.
    faults
        Cases that refuse the import.
    unreadable, set_aside
        Cases that `lenient` let pass.
    notes
        Sentences for the report.
    accepting
        TOML table → lines of a mapping that would accept what is refused.
    """

    lenient: bool = False
    faults: list[Fault] = field(default_factory=list)
    unreadable: list[dict[str, Any]] = field(default_factory=list)
    set_aside: list[dict[str, Any]] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    accepting: dict[str, dict[str, str]] = field(default_factory=dict)
    _forgivable: int = 0

    def refuse(self, sheet: str, row: int | None, column: str, cell: Cell, why: str) -> None:
        """Add a case that is refused, leniently too."""
        self.faults.append(Fault(sheet, row, column, shown(cell), why))

    def unreadable_cell(self, sheet: str, row: int, column: str, cell: Cell, why: str) -> None:
        """Add a rating, survey or time cell that cannot be read: missing if lenient, else refused."""
        if self.lenient:
            self.unreadable.append({"sheet": sheet, "row": row, "column": column, "value": shown(cell)})
        else:
            self._forgivable += 1
            self.refuse(sheet, row, column, cell, why)

    def orphan(self, sheet: str, row: int, column: str, cell: Cell, elsewhere: str) -> None:
        """Add a message whose conversation does not exist: set aside if lenient, else refused."""
        why = f"is not in {elsewhere}"
        if self.lenient:
            self.set_aside.append({"sheet": sheet, "row": row, "what": f"{column} {shown(cell)} {why}"})
        else:
            self._forgivable += 1
            self.refuse(sheet, row, column, cell, why)

    def note(self, text: str) -> None:
        """Add a sentence for the report, once."""
        if text not in self.notes:
            self.notes.append(text)

    def would_accept(self, table: str, key: str, line: str) -> None:
        """Add a line of a mapping that would accept what is refused."""
        self.accepting.setdefault(table, {})[key] = line

    def raise_faults(self, source: str) -> None:
        """Refuse the source if there is a fault; else bring what was let pass into the order of the rows.

        Raises
        ------
        Refused
            With every case, and the lines of a mapping that would accept unknown labels and roles.
        """
        for cases in (self.unreadable, self.set_aside):
            cases.sort(key=lambda case: (case["sheet"], case["row"]))
        if not self.faults:
            return
        faults = sorted(self.faults, key=lambda fault: (fault.sheet, fault.row or 0))
        how_many = "1 case" if len(faults) == 1 else f"{len(faults)} cases"
        lines = [f"{source} is refused, nothing was written; {how_many}:"]
        lines += [f"  {fault}" for fault in faults[:_CASES_PRINTED]]
        if len(faults) > _CASES_PRINTED:
            lines.append(f"  … and {len(faults) - _CASES_PRINTED} more.")
        if self.accepting:
            lines.append("A mapping with these lines (--mapping FILE) would accept the names; set what they mean:")
            lines += [f"  {line}" for line in self._toml()]
        if self._forgivable == len(faults):
            lines.append(
                "With --lenient unreadable rating, survey and time cells become missing, and messages without a "
                "conversation are set aside; each is reported."
            )
        raise Refused("\n".join(lines))

    def _toml(self) -> Iterable[str]:
        for table, entries in self.accepting.items():
            yield f"[{table}]"
            yield from entries.values()


def toml_text(text: str) -> str:
    """Return a text as TOML writes it between quotes."""
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")


def listed(items: Iterable[object], limit: int = 20) -> str:
    """Return items as a comma-separated list that says how many it leaves out."""
    texts = [str(item) for item in items]
    return ", ".join(texts[:limit]) + (f" and {len(texts) - limit} more" if len(texts) > limit else "")
