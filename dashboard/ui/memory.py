"""Small data is held in memory while the dashboard runs: a filter then redraws in milliseconds, not in tenths.

Tables and marts that views would read and join anew for every query become DuckDB tables; large data (see
``HELD_ROWS``) stays in its files. In both, a query that is asked again with the same values is answered from memory.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from dashboard.database import TABLES, Database, layers
from dashboard.paths import QUERIES

if TYPE_CHECKING:
    import duckdb
    import pandas as pd

HELD_ROWS = 300_000
_ANSWERS = 200
_ANSWER_ROWS, _ALL_ROWS = 20_000, 400_000


def is_held(database: Database) -> bool:
    """Return whether the data is small enough to be held in memory."""
    return count_messages(database) <= HELD_ROWS


def count_messages(database: Database) -> int:
    """Return how many messages the data's manifest counts."""
    return int(database.manifest.get("counts", {}).get("messages") or 0)


def hold_in_memory(database: Database) -> Database:
    """Return the database, held in memory where it is small, remembering its answers; they are the same."""
    if is_held(database):
        _hold(database.connection)
    return RememberingDatabase(database.folder, database.manifest, database.public, database.connection)


def _hold(connection: duckdb.DuckDBPyConnection) -> None:
    marts = [one.name for one in layers() if not one.parameters and (QUERIES / "marts" / f"{one.name}.sql").is_file()]
    for schema, name in [*(("raw", table) for table in TABLES), *(("main", mart) for mart in marts)]:
        connection.execute(f"create table {schema}.held as select * from {schema}.{name}")
        connection.execute(f"drop view {schema}.{name}")
        connection.execute(f"alter table {schema}.held rename to {name}")


@dataclass(frozen=True)
class RememberingDatabase(Database):
    """A database that answers a query asked before from memory."""

    answers: _Answers = field(default_factory=lambda: _Answers(), repr=False, compare=False)

    def cursor(self) -> Any:
        """Return a cursor of its own for one call; ``execute(…).df()`` is remembered."""
        return _Cursor(super().cursor(), self.answers)


class _Answers:
    """The latest answers, by statement and values; shared by threads."""

    def __init__(self) -> None:
        self._frames: OrderedDict[str, pd.DataFrame] = OrderedDict()
        self._lock = threading.Lock()

    def get(self, key: str) -> pd.DataFrame | None:
        with self._lock:
            if key in self._frames:
                self._frames.move_to_end(key)
                return self._frames[key].copy()
        return None

    def put(self, key: str, frame: pd.DataFrame) -> None:
        if len(frame) > _ANSWER_ROWS:
            return
        with self._lock:
            self._frames[key] = frame.copy()
            while len(self._frames) > _ANSWERS or sum(map(len, self._frames.values())) > _ALL_ROWS:
                self._frames.popitem(last=False)


class _Cursor:
    """A cursor that runs its statement when the answer is fetched, unless the answer is known as a frame."""

    def __init__(self, cursor: Any, answers: _Answers) -> None:
        self._cursor = cursor
        self._answers = answers
        self._asked: tuple[str, Any] | None = None

    def execute(self, sql: str, values: Any = None) -> _Cursor:
        self._asked = (sql, values)
        return self

    def df(self) -> pd.DataFrame:
        key = repr(self._asked)
        known = self._answers.get(key)
        if known is None:
            known = self._run().df()
            self._answers.put(key, known)
        return known

    def _run(self) -> Any:
        sql, values = self._asked or ("", None)
        return self._cursor.execute(sql, values)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._run() if self._asked else self._cursor, name)
