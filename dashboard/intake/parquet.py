"""Reads parquet files into grids of raw cells."""

from __future__ import annotations

import datetime as dt
import decimal
import json
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from dashboard.intake.sheet import Cell, Dated, Grid, serial_of
from dashboard.vocabulary import Refused

UNPACKED_LIMIT = 300_000_000
CELLS_LIMIT = 5_000_000
# A number that a spreadsheet showed as a date lies in its first months; other dates stay as they are.
_FIRST_MONTHS = {(1900, 1), (1900, 2)}


def read_parquet(path: Path) -> Grid:
    """Read a parquet file; rows are numbered from 1. NaN, which is how some programs write nothing, is blank.

    Raises
    ------
    Refused
        If the file is damaged, encrypted or absurdly large.
    """
    try:
        with pq.ParquetFile(path, memory_map=False) as file:
            _refuse_absurd(path, file.metadata)
            texts = [field.name for field in file.schema_arrow if _is_text(field.type)]
        table = pq.ParquetFile(path, read_dictionary=texts).read()
    except Refused:
        raise
    except (pa.ArrowException, OSError, ValueError, EOFError) as error:
        reason = str(error).splitlines()[0] if str(error) else type(error).__name__
        raise Refused(f"{path.name} is no readable parquet file: {reason}") from error
    rows: dict[int, dict[int, Cell]] = {}
    for place in range(table.num_columns):
        for number, cell in enumerate(_cells(table.column(place)), 1):
            if cell is not None:
                rows.setdefault(number, {})[place] = cell
    return Grid(path.stem, dict(sorted(rows.items())), header=list(table.column_names))


def _refuse_absurd(path: Path, metadata: pq.FileMetaData) -> None:
    cells = metadata.num_rows * metadata.num_columns
    if cells > CELLS_LIMIT:
        raise Refused(f"{path.name} states {cells:,} cells; the limit is {CELLS_LIMIT:,}.")
    size = sum(metadata.row_group(group).total_byte_size for group in range(metadata.num_row_groups))
    if size > UNPACKED_LIMIT:
        raise Refused(f"{path.name} unpacks to {size / 1e6:,.0f} MB; the limit is {UNPACKED_LIMIT / 1e6:.0f} MB.")


def _is_text(kind: pa.DataType) -> bool:
    return pa.types.is_string(kind) or pa.types.is_large_string(kind) or pa.types.is_binary(kind)


def _cells(column: pa.ChunkedArray) -> list[Cell]:
    """Return a column as raw cells; equal texts are one object, so that repeating them costs nothing."""
    cells: list[Cell] = []
    for chunk in column.chunks:
        if pa.types.is_dictionary(chunk.type):
            values = [_cell(value) for value in chunk.dictionary.to_pylist()]
            cells.extend(None if index is None else values[index] for index in chunk.indices.to_pylist())
        else:
            cells.extend(_cell(value) for value in chunk.to_pylist())
    return cells


def _cell(value: object) -> Cell:
    if value is None or value == "" or (isinstance(value, float) and value != value):
        return None
    if isinstance(value, (str, bool, int, float)):
        return value
    if isinstance(value, decimal.Decimal):
        return int(value) if value == value.to_integral_value() else float(value)
    if isinstance(value, dt.date):  # a datetime is one, too
        return Dated(serial_of(value)) if (value.year, value.month) in _FIRST_MONTHS else str(value)
    if isinstance(value, bytes):
        return value.decode("utf-8", "replace") or None
    if isinstance(value, (list, dict)):
        return json.dumps(value, ensure_ascii=False, default=str)
    return str(value)
