"""The claims' answers for unfiltered data, kept in a file: asking all analyses anew takes seconds at every start.

Two places are read. ``data/sample-claims.json`` comes with the program and answers for the embedded sample; a test asks
the analyses anew and compares. ``claims.json`` in a data folder is written by the dashboard when it has asked, and counts
for exactly these tables, these prediction files and this code; where the folder cannot be written, nothing is kept.

``python -m dashboard.analyses.kept_claims`` writes the sample's file, after a change of what an analysis finds.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Iterator
from contextlib import suppress
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING

from dashboard.database import TABLES, Database
from dashboard.files import write_whole
from dashboard.intake.predictions import find_predictions
from dashboard.paths import PACKAGE, QUERIES, SAMPLE, SAMPLE_CLAIMS
from dashboard.vocabulary import Refused

if TYPE_CHECKING:
    import pandas as pd

FILE = "claims.json"
_COLUMNS = ("claim", "reported", "this_data", "interval", "basis", "source", "analysis", "page")


def find_claims(database: Database) -> pd.DataFrame | None:
    """Return the claims' table kept for this data, or None."""
    if database.folder == SAMPLE:
        return _read(SAMPLE_CLAIMS, _key(_data(database)))
    return _read(database.folder / FILE, _key(_data(database), _tables(database), _code()))


def keep_claims(database: Database, table: pd.DataFrame) -> None:
    """Keep the claims' table in the data's folder, whole or not at all; a folder that cannot be written stays as it is."""
    if database.folder != SAMPLE:
        with suppress(Refused):
            _write(database.folder / FILE, _key(_data(database), _tables(database), _code()), table)


def keep_sample_claims(database: Database, table: pd.DataFrame, path: Path = SAMPLE_CLAIMS) -> None:
    """Write the file that comes with the program.

    Raises
    ------
    Refused
        When it cannot be written.
    """
    _write(path, _key(_data(database)), table)


def _read(path: Path, key: str) -> pd.DataFrame | None:
    import pandas as pd

    try:
        kept = json.loads(path.read_text(encoding="utf-8"))
        if kept["key"] != key:
            return None
        return pd.DataFrame([[str(row[name]) for name in _COLUMNS] for row in kept["claims"]], columns=list(_COLUMNS))
    except (OSError, ValueError, KeyError, TypeError):
        # What cannot be read is asked anew.
        return None


def _write(path: Path, key: str, table: pd.DataFrame) -> None:
    kept = {"key": key, "claims": table[list(_COLUMNS)].to_dict("records")}
    write_whole(path, (json.dumps(kept, indent=1, ensure_ascii=False) + "\n").encode("utf-8"))


def _key(*parts: Iterable[str]) -> str:
    return hashlib.sha256("\n".join(line for part in parts for line in part).encode()).hexdigest()


def _data(database: Database) -> Iterator[str]:
    yield str(database.manifest.get("data_sha256") or database.folder)
    for path in find_predictions(database.folder):
        yield f"{path.name} {hashlib.sha256(path.read_bytes()).hexdigest()}"


def _tables(database: Database) -> Iterator[str]:
    """Yield what changes with the tables' files: the manifest would not show a table exchanged by hand."""
    for name in TABLES:
        stat = (database.folder / f"{name}.parquet").stat()
        yield f"{name} {stat.st_size} {stat.st_mtime_ns}"


@lru_cache
def _code() -> tuple[str, ...]:
    """Return the code that answers depend on, so that a newer program asks anew."""
    files = [*PACKAGE.glob("*.py"), *(PACKAGE / "analyses").glob("*.py"), *(PACKAGE / "stats").glob("*.py")]
    return tuple(hashlib.sha256(path.read_bytes()).hexdigest() for path in sorted([*files, *QUERIES.rglob("*.sql")]))


def _main() -> None:
    from dashboard.analyses.claims import claims_table
    from dashboard.analyses.findings import Selection
    from dashboard.database import connect

    database = connect(SAMPLE, public=False)
    keep_sample_claims(database, claims_table(database, Selection()))


if __name__ == "__main__":
    _main()
