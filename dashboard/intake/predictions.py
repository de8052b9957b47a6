"""Reads a classifier's predictions in the official file form: one judge, one iteration, one row per conversation."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING

from dashboard.intake.cells import as_number, as_text, is_blank, name_key, stripped
from dashboard.intake.header import find_columns, with_header
from dashboard.intake.ids import IdReader
from dashboard.intake.sheet import Cell, Grid, Sheet
from dashboard.intake.source import read_source
from dashboard.vocabulary import Refused, plural

if TYPE_CHECKING:
    import pandas as pd

COLUMNS = (
    "CoT",
    "TaskId",
    "PID",
    "IS_EMPATHY",
    "Chat",
    "OnlyChat",
    "Prompt",
    "Output",
    "Processing Time",
    "Model",
    "ground-truth",
)
REQUIRED = ("TaskId", "IS_EMPATHY", "Output", "ground-truth")
SHEET = "results"
BLANK = "EMPTY"
FAILED = "PROCESSING_FAILED"
ERROR = "ERROR:"
FOLDER = "predictions"
ENDINGS = (".csv", ".tsv", ".xlsx")
_LEVEL_TAG = re.compile(r"<S2>(.*?)</S2>", re.DOTALL)
_LEVEL = re.compile(r"[1-5]")
_ITERATION = re.compile(r"[-_ ]?iter(?:ation)?[-_ ]?(\d+)$", re.IGNORECASE)


@dataclass(frozen=True)
class PredictionFile:
    """One file of predictions, read and not yet joined to any data.

    Attributes
    ----------
    name
        The file's name without the way to it.
    path
        The file.
    judge
        What the file's ``Model`` column says; None where it is absent or blank.
    series
        The file's name without ending and iteration: files of one series differ in the iteration alone.
    rows
        One row per row of the file, in its order: conversation, participant (ids as text, null where blank), predicted,
        truth (numbers, NaN where there is none), is_fallback, is_failed.
    notes
        What was seen on the way, a sentence each.
    """

    name: str
    path: Path
    judge: str | None
    series: str
    rows: pd.DataFrame = field(repr=False)
    notes: tuple[str, ...] = ()


def find_predictions(folder: Path) -> list[Path]:
    """Return the prediction files that lie with a data folder, in the order of their names."""
    place = folder / FOLDER
    if not place.is_dir():
        return []
    return sorted(path for path in place.iterdir() if path.suffix.lower() in ENDINGS and path.name[0] not in ".~")


def locate(folder: Path, given: str) -> Path:
    """Return the file that a user means: the path as given, else a file of that name that lies with the data.

    Raises
    ------
    Refused
        When there is none.
    """
    path = Path(given).expanduser()
    beside = folder / FOLDER / given
    if path.is_file():
        return path
    if Path(given).name == given and beside.is_file():
        return beside
    if path.is_dir():
        raise Refused(f"A prediction file must be a file; {given} is a folder.")
    listed = ", ".join(one.name for one in find_predictions(folder))
    raise Refused(f"There is no prediction file {given}." + (f" With the data there are: {listed}." if listed else ""))


def read_all(paths: Sequence[Path]) -> list[PredictionFile]:
    """Read several files, each once.

    Raises
    ------
    Refused
        When a file comes twice, or cannot be used.
    """
    seen: set[Path] = set()
    for path in paths:
        if path.resolve() in seen:
            raise Refused(f"Each prediction file may be given once; {path} came twice.")
        seen.add(path.resolve())
    return _distinct([read_predictions(path) for path in paths])


def _distinct(files: list[PredictionFile]) -> list[PredictionFile]:
    """Name files by their folder too where two have the same name."""
    from dataclasses import replace

    names = [one.name for one in files]
    return [
        one if names.count(one.name) == 1 else replace(one, name=str(Path(one.path.parent.name) / one.name))
        for one in files
    ]


def read_predictions(path: Path) -> PredictionFile:
    """Read one file of predictions: csv or tsv, or the sheet ``results`` of a workbook.

    ``EMPTY`` is a blank. A failed row is one that says ``PROCESSING_FAILED`` as prediction or output; a fallback is any
    other row whose output begins with ``ERROR:`` or holds no number 1–5 between ``<S2>`` and ``</S2>``: there the
    official scripts recorded 3. What cannot be read as a number drops out and is counted in a note.

    Raises
    ------
    Refused
        When the file cannot be read, lacks a column, holds no row, two judges, or no row with both numbers.
    """
    try:
        stat = path.stat()
    except OSError as error:
        raise Refused(f"The prediction file {path} cannot be read: {error.strerror}.") from None
    return _read(path, stat.st_mtime_ns, stat.st_size)


@lru_cache(maxsize=64)
def _read(path: Path, written: int, size: int) -> PredictionFile:
    """``written`` and ``size`` are part of the key alone: a file that changed is read again."""
    del written, size
    keys = frozenset(name_key(name) for name in COLUMNS)
    source = read_source(path, names=keys)
    sheet = with_header(_the_sheet(path.name, source.grids), keys)
    places = find_columns(sheet, {name: {name_key(name)} for name in COLUMNS})
    absent = [name for name in REQUIRED if name not in places]
    if absent:
        has = ", ".join(sheet.columns[:12]) or "nothing"
        raise Refused(
            f"{path.name} must have the columns {', '.join(REQUIRED)} of the official form; missing: "
            f"{', '.join(absent)}. It has: {has}."
        )
    if not sheet.rows:
        raise Refused(f"{path.name} must hold one row per conversation; it holds 0 rows.")
    judge = _judge(path.name, sheet.column(places.get("Model")))
    rows, notes = _rows(path.name, sheet, places)
    return PredictionFile(path.name, path, judge, series_of(path), rows, (*source.notes, *sheet.notes, *notes))


def series_of(path: Path) -> str:
    """Return a file's name without ending and iteration."""
    return _ITERATION.sub("", path.stem) or path.stem


def _the_sheet(name: str, grids: list[Grid]) -> Grid:
    """Return the sheet ``results``, or the only one."""
    named = [grid for grid in grids if name_key(grid.name) == SHEET]
    if named:
        return named[0]
    filled = [grid for grid in grids if grid.rows]
    if len(filled) > 1:
        sheets = ", ".join(grid.name for grid in filled)
        raise Refused(f"{name} must hold its predictions in a sheet called {SHEET}; its sheets are: {sheets}.")
    return (filled or grids)[0]


def _judge(name: str, cells: Iterable[Cell]) -> str | None:
    counts: dict[str, int] = {}
    for cell in cells:
        text = _filled(cell)
        if text is not None and text != FAILED:
            counts[text] = counts.get(text, 0) + 1
    if len(counts) > 1:
        listed = ", ".join(f"{judge!r} ({plural(n, 'row')})" for judge, n in list(counts.items())[:6])
        raise Refused(
            f"{name} must hold the predictions of one judge; its column Model names {len(counts)}: {listed}. Write one "
            "file per judge."
        )
    return next(iter(counts), None)


def _filled(cell: Cell) -> str | None:
    """Return the text of a cell without surrounding blanks; None for a blank and for EMPTY."""
    if is_blank(cell):
        return None
    text = stripped(as_text(cell) or "")
    return None if text == BLANK else text


def _rows(name: str, sheet: Sheet, places: dict[str, int]) -> tuple[pd.DataFrame, list[str]]:
    import pandas as pd

    outputs = [_filled(cell) for cell in sheet.column(places["Output"])]
    predictions, truths = sheet.column(places["IS_EMPATHY"]), sheet.column(places["ground-truth"])
    failed = [FAILED in (_filled(cell), output) for cell, output in zip(predictions, outputs, strict=True)]
    predicted, unread_predictions = _numbers(predictions)
    truth, unread_truths = _numbers(truths)
    rows = pd.DataFrame(
        {
            "conversation": _ids(sheet.column(places["TaskId"])),
            "participant": _ids(sheet.column(places.get("PID"))),
            "predicted": predicted,
            "truth": truth,
            "is_fallback": [not gone and is_fallback(output) for gone, output in zip(failed, outputs, strict=True)],
            "is_failed": failed,
        }
    )
    notes = []
    for column, n in (("IS_EMPATHY", unread_predictions), ("ground-truth", unread_truths)):
        if n:
            notes.append(f"{name}: {plural(n, 'row')} with text that is no number in {column} dropped out.")
    if not usable(rows).any():
        raise Refused(f"{name} must hold rows with both a prediction and a ground truth; it holds none.")
    return rows, notes


def usable(rows: pd.DataFrame) -> pd.Series:
    """Return which rows count: both numbers are there, and the row did not fail."""
    return rows["predicted"].notna() & rows["truth"].notna() & ~rows["is_failed"]


def is_fallback(output: str | None) -> bool:
    """Say whether an output gave no level, so that the official scripts recorded 3 instead.

    Examples
    --------
    >>> [is_fallback(text) for text in ("<S2>10</S2>", "<S2>Level 4</S2>", "<S2>six</S2>", "ERROR: <S2>4</S2>", None)]
    [False, False, True, True, True]
    """
    if output is None or output.startswith(ERROR):
        return True
    found = _LEVEL_TAG.search(output)
    return found is None or _LEVEL.search(found[1]) is None


def _numbers(cells: list[Cell]) -> tuple[list[float], int]:
    """Return the numbers, NaN elsewhere, and how many filled cells are no number."""
    numbers, unread = [], 0
    for cell in cells:
        text = _filled(cell)
        number = None
        if text is not None and text != FAILED:
            try:
                number = as_number(cell)
            except ValueError:
                unread += 1
        numbers.append(float("nan") if number is None else number)
    return numbers, unread


def _ids(cells: list[Cell]) -> list[str | None]:
    known = [None if _filled(cell) in (None, FAILED) else cell for cell in cells]
    reader = IdReader([known])
    found: list[str | None] = []
    for cell in known:
        try:
            found.append(reader.read(cell))
        except ValueError:
            found.append(None)
    return found
