"""Checks a folder of tables: the promises of data/README.md, and what an analyst should know of the answers."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dashboard.intake.checks import CHECKS, Check
from dashboard.vocabulary import Refused

if TYPE_CHECKING:
    from dashboard.database import Database

ERROR, WARNING, OK = "error", "warning", "ok"
_EXAMPLES = 5
_HASHED_ROWS_LIMIT = 10_000_000


@dataclass(frozen=True)
class CheckRow:
    """The outcome of one check.

    Attributes
    ----------
    severity
        ``error``: a promise of the tables is broken; ``warning``: worth knowing; ``ok``.
    check
        Name of the check.
    n
        How many cases were found.
    detail
        What the cases are.
    examples
        The first few cases.
    """

    severity: str
    check: str
    n: int
    detail: str
    examples: str = ""


@dataclass(frozen=True)
class CheckReport:
    """All checks of a folder, errors first."""

    folder: str
    checks: list[CheckRow]

    @property
    def has_errors(self) -> bool:
        """Whether a promise of the tables is broken."""
        return any(row.severity == ERROR for row in self.checks)

    def to_json(self) -> dict[str, Any]:
        """Return the report as what JSON can hold."""
        counts = {kind: sum(row.severity == kind for row in self.checks) for kind in (ERROR, WARNING, OK)}
        return {"folder": self.folder, **counts, "checks": [asdict(row) for row in self.checks]}

    def to_text(self) -> str:
        """Return the report for people."""
        lines = []
        for row in self.checks:
            examples = f": {row.examples}" if row.examples else ""
            lines.append(f"{row.severity:<7}  {row.check}: {row.detail}{examples}")
        counts = self.to_json()
        lines.append(f"{counts[ERROR]} errors, {counts[WARNING]} warnings, {counts[OK]} checks passed.")
        return "\n".join(lines)


def check_dataset(folder: Path) -> CheckReport:
    """Check the tables of a folder that import or sample wrote.

    Parameters
    ----------
    folder
        The folder.

    Returns
    -------
    CheckReport
        One row per check. Where tables are missing or lack columns, nothing else is checked.

    Raises
    ------
    Refused
        If the folder holds no manifest.json of ours.
    """
    from dashboard.database import connect, read_manifest

    folder = Path(folder)
    manifest = read_manifest(folder)
    rows = _structure(folder)
    if not any(row.severity == ERROR for row in rows):
        rows.append(_content(folder, manifest))
        database = connect(folder, public=False)
        try:
            rows += [_counts(database, manifest), *(_run(database, check) for check in CHECKS)]
        finally:
            database.connection.close()
        rows += _import_notes(manifest)
    order = (ERROR, WARNING, OK)
    return CheckReport(str(folder), sorted(rows, key=lambda row: order.index(row.severity)))


def _structure(folder: Path) -> list[CheckRow]:
    """Check that every table can be read and has its columns with their types."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    from dashboard.intake.dataset import SCHEMAS

    wrong = []
    for table, schema in SCHEMAS.items():
        try:
            found = pq.read_schema(folder / f"{table}.parquet")
        except (pa.ArrowException, OSError) as error:
            reason = str(error).splitlines()[0] if str(error) else type(error).__name__
            wrong.append(f"{table}.parquet cannot be read ({reason})")
            continue
        for column in schema:
            place = found.get_field_index(column.name)
            if place < 0:
                wrong.append(f"{table} has no column {column.name}")
            elif not _same_kind(found.field(place).type, column.type):
                wrong.append(f"{table}.{column.name} is {found.field(place).type}, not {column.type}")
    return [_row("columns", wrong, "tables that lack a column, or have one of another type", ERROR)]


def _same_kind(found: Any, wanted: Any) -> bool:
    import pyarrow.types as types

    if types.is_dictionary(found):
        found = found.value_type
    for kind in (types.is_integer, types.is_floating, lambda one: types.is_string(one) or types.is_large_string(one)):
        if kind(wanted):
            return bool(kind(found))
    return False


def _row(name: str, cases: list[str], detail: str, severity: str) -> CheckRow:
    examples = "; ".join(cases[:_EXAMPLES]) + (" …" if len(cases) > _EXAMPLES else "")
    return CheckRow(severity if cases else OK, name, len(cases), f"{len(cases) or 'no'} {detail}", examples)


def _content(folder: Path, manifest: dict[str, Any]) -> CheckRow:
    """Compare the tables with the hash that was written with them."""
    import pyarrow.parquet as pq

    from dashboard.intake.dataset import data_sha256

    rows = pq.read_metadata(folder / "ratings.parquet").num_rows
    if rows > _HASHED_ROWS_LIMIT:
        return CheckRow(OK, "content", 0, f"the hash over {rows:,} ratings was not computed again")
    try:
        found = data_sha256(folder)
    except OSError as error:
        return CheckRow(ERROR, "content", 1, "a table cannot be read", str(error))
    stated = str(manifest.get("data_sha256"))
    if found == stated:
        return CheckRow(OK, "content", 0, "the tables are those that were written")
    return CheckRow(ERROR, "content", 1, "the tables were changed after they were written", f"{found} is not {stated}")


def _counts(database: Database, manifest: dict[str, Any]) -> CheckRow:
    counted = database.cursor().execute(
        "select (select count(*) from raw.conversations), (select count(*) from raw.messages), "
        "(select count(turn) from raw.messages), "
        "(select nullif(count(distinct participant), 0) from raw.conversations)"
    )
    names = ("conversations", "messages", "assistant_turns", "participants")
    found = dict(zip(names, counted.fetchone() or (), strict=True))
    stated = manifest.get("counts", {})
    wrong = [f"{name}: {found[name]}, stated {stated.get(name)}" for name in names if found[name] != stated.get(name)]
    return _row("counts", wrong, "counts that are not those of the manifest", ERROR)


def _run(database: Database, check: Check) -> CheckRow:
    import duckdb

    try:
        cursor = database.cursor().execute(f"select count(*), list(example)[:{_EXAMPLES + 1}] from (\n{check.sql}\n)")
        count, examples = cursor.fetchone() or (0, [])
    except duckdb.Error as error:
        raise Refused(f"The check {check.name} could not be made: {str(error).splitlines()[0]}.") from error
    shown = [str(one) for one in examples or []]
    text = "; ".join(shown[:_EXAMPLES]) + (" …" if count > _EXAMPLES else "")
    return CheckRow(check.severity if count else OK, check.name, count, f"{count or 'no'} {check.detail}", text)


def _import_notes(manifest: dict[str, Any]) -> list[CheckRow]:
    """Recall what a lenient import let pass."""
    rows = []
    for key, detail in (("unreadable", "unreadable cells taken as missing"), ("set_aside", "messages set aside")):
        cases = manifest.get(key) or []
        texts = [", ".join(f"{name} {value}" for name, value in case.items()) for case in cases]
        rows.append(_row(key, texts, f"{detail} on import", WARNING))
    return rows
