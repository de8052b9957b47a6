"""The one place that opens DuckDB: parquet tables become ``raw.*``, then staging and marts become views and macros."""

from __future__ import annotations

import json
import os
import re
import weakref
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dashboard.paths import MANIFEST, QUERIES
from dashboard.vocabulary import Refused

if TYPE_CHECKING:
    import duckdb

TABLES = ("conversations", "messages", "ratings", "survey", "participants", "scales")
_WORDS = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
# What participants wrote; and columns that came with the source, which may hold text of theirs.
_MESSAGE_COLUMNS_WITHOUT_TEXT = (
    "conversation, message, message_id, turn, role, seconds, null::varchar as text, retry, "
    "null::varchar as comment, source_row"
)


@dataclass(frozen=True)
class Layer:
    """One SQL file of ``queries/staging`` or ``queries/marts``: a view, or a table macro when it takes parameters."""

    name: str
    parameters: tuple[str, ...]
    sql: str

    def create(self) -> str:
        """Return the statement that defines it."""
        if self.parameters:
            return f"create or replace macro {self.name}({', '.join(self.parameters)}) as table\n{self.sql};"
        return f"create or replace view {self.name} as\n{self.sql};"


@dataclass(frozen=True)
class Database:
    """A data folder opened for reading.

    Attributes
    ----------
    folder
        The folder with the parquet tables.
    manifest
        What ``manifest.json`` says.
    public
        Whether all participant text is hidden (``SENSE7_PUBLIC=1``).
    connection
        The DuckDB connection; use :meth:`cursor`, since one connection used by two threads mixes their rows.
    """

    folder: Path
    manifest: Mapping[str, Any]
    public: bool
    connection: duckdb.DuckDBPyConnection = field(repr=False)

    def cursor(self) -> duckdb.DuckDBPyConnection:
        """Return a cursor of its own for one call."""
        cursor = self.connection.cursor()
        _CURSORS.add(cursor)
        return cursor

    @property
    def synthetic(self) -> bool:
        """Whether the data says of itself that it is synthetic."""
        return bool(self.manifest.get("synthetic"))


# The cursors in use, so that Ctrl-C can end what they do.
_CURSORS: weakref.WeakSet[duckdb.DuckDBPyConnection] = weakref.WeakSet()


def interrupt_queries() -> None:
    """End every query under way at its next step.

    DuckDB leaves a query at Ctrl-C by itself only when its own work is in the main thread; where one of its workers has
    it, it waits for the query's end (DuckDB 2.0.1).
    """
    for cursor in list(_CURSORS):
        cursor.interrupt()


def is_public(environment: Mapping[str, str]) -> bool:
    """Return whether ``SENSE7_PUBLIC`` asks to hide all participant text."""
    return environment.get("SENSE7_PUBLIC", "").strip().lower() in {"1", "true", "yes", "on"}


def read_manifest(folder: Path) -> dict[str, Any]:
    """Read a data folder's manifest, or refuse with what to do.

    Raises
    ------
    Refused
        When the folder does not exist, holds no manifest of ours, or lacks a table.
    """
    path = folder / MANIFEST
    if not path.is_file():
        what = "which holds no manifest.json" if folder.is_dir() else "which does not exist"
        raise Refused(
            f"The data folder must be one that `sense7 import` or `sense7 sample` wrote; came {folder}, {what}. "
            "Run sense7 import first."
        )
    try:
        manifest = json.loads(path.read_text(encoding="utf-8"))
    except (UnicodeDecodeError, json.JSONDecodeError) as error:
        raise Refused(f"{path} must be JSON; it could not be read ({error}). Run sense7 import first.") from None
    if not isinstance(manifest, dict) or manifest.get("format") != 1:
        raise Refused(f"{path} must say format 1, as `sense7 import` writes it; it does not. Run sense7 import first.")
    absent = [name for name in TABLES if not (folder / f"{name}.parquet").is_file()]
    if absent:
        raise Refused(
            f"The data folder {folder} must hold {', '.join(f'{name}.parquet' for name in TABLES)}; "
            f"missing: {', '.join(absent)}. Run sense7 import first."
        )
    return manifest


@lru_cache
def layers() -> tuple[Layer, ...]:
    """Return every staging view and mart, each after those that it reads."""
    found = {
        path.stem: _layer(path) for kind in ("staging", "marts") for path in sorted((QUERIES / kind).glob("*.sql"))
    }
    ordered: dict[str, Layer] = {}

    def place(name: str, below: tuple[str, ...] = ()) -> None:
        if name in below:
            raise ValueError(f"queries read each other in a circle: {' → '.join((*below, name))}")
        for other in layers_read(found[name].sql, found):
            place(other, (*below, name))
        ordered.setdefault(name, found[name])

    for name in found:
        place(name)
    return tuple(ordered.values())


def layers_read(sql: str, known: Mapping[str, Any]) -> list[str]:
    """Return the names of views and macros that a statement reads, in the order of their first mention."""
    code = "\n".join(line.split("--", 1)[0] for line in sql.splitlines())
    # A name before "as (" is a step of the statement itself, not a view.
    own = set(re.findall(r"([A-Za-z_][A-Za-z0-9_]*)\s+as\s+(?:not\s+materialized\s+|materialized\s+)?\(", code))
    after_from = re.findall(r"\b(?:from|join)\s+([A-Za-z_][A-Za-z0-9_]*)\b(?!\s*\.)", code)
    return [name for name in dict.fromkeys(after_from) if name in known and name not in own]


def raw_statements(folder: Path, *, public: bool) -> Iterator[str]:
    """Yield the statements that put the parquet tables under ``raw``; in public mode without participant text."""
    yield "create schema if not exists raw;"
    for name in TABLES:
        columns = _MESSAGE_COLUMNS_WITHOUT_TEXT if public and name == "messages" else "*"
        path = str((folder / f"{name}.parquet").resolve()).replace("'", "''")
        yield f"create or replace view raw.{name} as select {columns} from read_parquet('{path}');"


def connect(folder: Path, *, public: bool, threads: int | None = None, memory_limit: str = "4GB") -> Database:
    """Open a data folder.

    The connection reads from this folder only, and its settings are locked.

    Parameters
    ----------
    folder
        A folder that ``sense7 import`` or ``sense7 sample`` wrote.
    public
        Hide all participant text.
    threads
        DuckDB's worker threads; by default as many as there are processors.
    memory_limit
        DuckDB's memory limit.

    Raises
    ------
    Refused
        When the folder is not one of ours or a table cannot be read.
    """
    import duckdb

    folder = folder.resolve()
    manifest = read_manifest(folder)
    connection = duckdb.connect(
        ":memory:",
        config={
            "autoinstall_known_extensions": "false",
            "autoload_known_extensions": "false",
            "memory_limit": memory_limit,
            "threads": str(threads or os.cpu_count() or 2),
        },
    )
    # This step of the optimiser splits a grouping of many conversations into overlapping scans: 245 s instead of 11 s
    # for 47 million turns (DuckDB 2.0.1).
    connection.execute("set disabled_optimizers = 'partitioned_execution'")
    try:
        for statement in raw_statements(folder, public=public):
            connection.execute(statement)
        for layer in layers():
            connection.execute(layer.create())
    except duckdb.Error as error:
        connection.close()
        raise Refused(
            f"The tables in {folder} must be as data/README.md describes them; they could not be read: "
            f"{str(error).splitlines()[0]}. Run sense7 import again."
        ) from None
    _lock(connection, folder)
    return Database(folder=folder, manifest=manifest, public=public, connection=connection)


def _lock(connection: duckdb.DuckDBPyConnection, folder: Path) -> None:
    directory = str(folder).replace("'", "''")
    connection.execute(f"set allowed_directories = ['{directory}']")
    connection.execute("set enable_external_access = false")
    # How far a query is may be asked for; nothing else can be set any more.
    connection.execute("set allowed_configs = ['enable_progress_bar', 'enable_progress_bar_print']")
    connection.execute("set lock_configuration = true")


def _layer(path: Path) -> Layer:
    sql = path.read_text(encoding="utf-8").strip().rstrip(";")
    match = re.search(r"^-- parameters:(.*)$", sql, flags=re.MULTILINE)
    parameters = tuple(_WORDS.findall(match.group(1))) if match else ()
    return Layer(name=path.stem, parameters=() if parameters == ("none",) else parameters, sql=sql)
