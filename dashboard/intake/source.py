"""Opens whatever the user points at: a workbook, a folder of tables, or a single table."""

from __future__ import annotations

import hashlib
import json
import re
from dataclasses import dataclass, field
from pathlib import Path

from dashboard.intake.cells import name_key
from dashboard.intake.delimited import read_delimited, read_jsonl
from dashboard.intake.sheet import Grid
from dashboard.vocabulary import Refused

TEXT_ENDINGS = (".csv", ".tsv", ".txt")
JSON_ENDINGS = (".jsonl", ".ndjson", ".json")
_WORKBOOK_ENDINGS = (".xlsx", ".xlsm", ".xltx", ".xltm")
_TABLE_ENDINGS = (*TEXT_ENDINGS, *JSON_ENDINGS, ".parquet", ".pq")
_TEXTS_LIMIT = 150_000_000
_SYNTHETIC = re.compile(r"\bSYNTHETIC\b")


@dataclass
class Source:
    """What was read.

    Attributes
    ----------
    name
        File or folder name, without the way to it.
    sha256
        Hash of the file; of names and hashes of the files for a folder.
    origin
        ``workbook``, ``folder`` or ``file``.
    grids
        The sheets.
    synthetic
        Whether a file beside the tables says SYNTHETIC of them.
    notes
        What was seen on the way.
    """

    name: str
    sha256: str
    origin: str
    grids: list[Grid]
    synthetic: bool = False
    notes: list[str] = field(default_factory=list)

    @property
    def files(self) -> str:
        """Return what the parts of this source are called."""
        return "sheets" if self.origin == "workbook" else "files"


def file_sha256(path: Path) -> str:
    """Return the SHA-256 of a file."""
    digest = hashlib.sha256()
    with path.open("rb") as file:
        while piece := file.read(1 << 20):
            digest.update(piece)
    return digest.hexdigest()


def read_source(path: Path, *, names: frozenset[str], tables: frozenset[str] = frozenset()) -> Source:
    """Read a workbook, a folder of csv, jsonl or parquet files, or one such file.

    The kind of a file is told by its first bytes, and by its ending only where those say nothing.

    Parameters
    ----------
    path
        File or folder.
    names
        Keys of the column names that are expected, by which the delimiter of a csv file is told.
    tables
        Keys of the files that are needed from a folder; others ending in .txt or .json are no tables.

    Raises
    ------
    Refused
        If there is nothing there, or it cannot be read.
    """
    if not path.exists():
        raise Refused(f"There is no file or folder {path}.")
    try:
        if path.is_dir():
            return _not_too_long(_read_folder(path, names, tables))
        if not path.is_file():
            raise Refused(f"{path} is neither a file nor a folder.")
        return _not_too_long(_read_file(path, names))
    except PermissionError as error:
        raise Refused(f"{error.filename or path} may not be read: permission denied.") from error
    except OSError as error:
        raise Refused(f"{path} cannot be read: {error.strerror or error}.") from error


def _read_file(path: Path, names: frozenset[str]) -> Source:
    kind = _kind_of(path)
    if kind != "workbook":
        return Source(path.name, file_sha256(path), "file", [_read_table(path, kind, names)])
    from dashboard.intake.workbook import read_workbook

    return Source(path.name, file_sha256(path), "workbook", read_workbook(path))


def _not_too_long(source: Source) -> Source:
    """Refuse texts that are short in the file because it stores a repeated one once."""
    length = sum(len(cell) for grid in source.grids for cell in grid.cells() if isinstance(cell, str))
    if length > _TEXTS_LIMIT:
        raise Refused(
            f"{source.name} holds texts of {length / 1e6:,.0f} million characters; the limit is "
            f"{_TEXTS_LIMIT / 1e6:.0f} million."
        )
    return source


def _kind_of(path: Path) -> str:
    with path.open("rb") as file:
        head = file.read(8)
    ending = path.suffix.lower()
    if head[:4] == b"PAR1" or head[:4] == b"PARE" or ending in {".parquet", ".pq"}:
        return "parquet"
    if head[:2] == b"PK" or head[:4] == b"\xd0\xcf\x11\xe0" or ending in (*_WORKBOOK_ENDINGS, ".xls", ".ods", ".xlsb"):
        return "workbook"
    if ending in JSON_ENDINGS:
        return "json"
    if ending in TEXT_ENDINGS:
        return "text"
    raise Refused(
        f"{path.name} must be a workbook (.xlsx), a csv, tsv, jsonl or parquet file, or a folder of such; "
        f"its ending {ending or '(none)'} is none of these."
    )


def _read_table(path: Path, kind: str, names: frozenset[str]) -> Grid:
    if not path.stat().st_size:
        raise Refused(f"{path.name} is empty (0 bytes).")
    if kind == "parquet":
        from dashboard.intake.parquet import read_parquet

        return read_parquet(path)
    return read_jsonl(path) if kind == "json" else read_delimited(path, names=names)


def _is_table(path: Path, tables: frozenset[str]) -> bool:
    ending = path.suffix.lower()
    if not path.is_file() or ending not in _TABLE_ENDINGS:
        return False
    return ending not in {".txt", ".json"} or name_key(path.stem) in tables


def _read_folder(folder: Path, names: frozenset[str], wanted: frozenset[str]) -> Source:
    if (folder / "conversations.parquet").exists() and (folder / "scales.parquet").exists():
        raise Refused(f"{folder} holds tables that were imported already; use it with --data {folder}.")
    found = sorted(path for path in folder.iterdir() if not path.name.startswith((".", "~$")))
    tables = [path for path in found if _is_table(path, wanted)]
    if not tables:
        books = [path.name for path in found if path.suffix.lower() in _WORKBOOK_ENDINGS]
        hint = f" It holds the workbook {books[0]}: import that file." if books else ""
        raise Refused(f"The folder {folder} holds no csv, tsv, jsonl or parquet file.{hint}")
    _refuse_twins(folder, tables)
    digest = hashlib.sha256()
    grids = []
    for path in tables:
        digest.update(f"{path.name}\0{file_sha256(path)}\n".encode())
        kind = _kind_of(path)
        if kind == "workbook":
            raise Refused(f"{path.name} is a workbook in spite of its ending. Import it by itself.")
        grids.append(_read_table(path, kind, names))
    ignored = [path.name for path in found if path not in tables]
    notes = [f"Not read, being no table: {', '.join(ignored)}."] if ignored else []
    synthetic = any(_says_synthetic(path) for path in found if path not in tables and path.is_file())
    return Source(folder.resolve().name, digest.hexdigest(), "folder", grids, synthetic, notes)


def _refuse_twins(folder: Path, tables: list[Path]) -> None:
    seen: dict[str, Path] = {}
    for path in tables:
        twin = seen.setdefault(name_key(path.stem), path)
        if twin != path:
            raise Refused(
                f"The folder {folder} must hold each table once; {twin.name} and {path.name} are the same one."
            )


def _says_synthetic(path: Path) -> bool:
    if path.stat().st_size > 1_000_000:
        return False
    text = path.read_bytes().decode("utf-8", "replace")
    if path.name.lower() == "manifest.json":
        try:
            content = json.loads(text)
        except ValueError:
            content = None
        if isinstance(content, dict) and content.get("synthetic") is True:
            return True
    return path.suffix.lower() in {".json", ".md", ".txt", ""} and bool(_SYNTHETIC.search(text))


def says_synthetic(text: str) -> bool:
    """Say whether a text calls the data SYNTHETIC, in capitals."""
    return bool(_SYNTHETIC.search(text))
