"""The hash that names the content of tables, whatever the files look like."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq


class ContentHash:
    """Hash of table content that knows neither batches, row groups nor file versions.

    Each column is hashed as three streams: which cells are filled, the lengths of texts, the values.
    """

    def __init__(self) -> None:
        self._columns: dict[tuple[str, int, str, str], tuple[Any, Any, Any]] = {}
        self._rows: dict[str, int] = {}

    def update(self, table: str, rows: pa.Table | pa.RecordBatch) -> None:
        """Add rows of a table; a table's batches come in their order, tables in any order."""
        self._rows[table] = self._rows.get(table, 0) + rows.num_rows
        for place, column in enumerate(rows.schema):
            key = (table, place, column.name, "text" if _is_text(column.type) else "number")
            if key not in self._columns:
                self._columns[key] = (hashlib.sha256(), hashlib.sha256(), hashlib.sha256())
            array = rows.column(place)
            for chunk in array.chunks if isinstance(array, pa.ChunkedArray) else [array]:
                for digest, stream in zip(self._columns[key], _streams(chunk), strict=True):
                    digest.update(stream)

    def hexdigest(self) -> str:
        """Return the hash over everything added, as 64 hexadecimal digits."""
        rows = sorted(self._rows.items())
        columns = [[*key, *(part.hexdigest() for part in parts)] for key, parts in self._columns.items()]
        return hashlib.sha256(json.dumps([rows, sorted(columns)]).encode()).hexdigest()


def _is_text(kind: pa.DataType) -> bool:
    kind = kind.value_type if pa.types.is_dictionary(kind) else kind
    return pa.types.is_string(kind) or pa.types.is_large_string(kind)


def _streams(array: pa.Array) -> tuple[bytes, bytes, bytes]:
    """Return the three streams of a column; lengths and values of nulls are 0.

    They are read from arrow's buffers: arrow's functions would load more than an import otherwise needs.
    """
    if pa.types.is_dictionary(array.type):
        array = array.dictionary_decode()
    filled = _filled(array)
    if _is_text(array.type):
        ends, data = _text_buffers(array)
        lengths = np.diff(ends).astype("<i8")
        if lengths[~filled].any():  # a null that hides a text
            whole = array.drop_null()
            ends, data = _text_buffers(whole)
            lengths[~filled] = 0
        return filled.tobytes(), lengths.tobytes(), data
    numbers = np.where(filled, _numbers(array), 0.0) + 0.0  # one zero, not two
    return filled.tobytes(), b"", numbers.astype("<f8").tobytes()


def _filled(array: pa.Array) -> np.ndarray:
    bits = array.buffers()[0]
    if bits is None or not array.null_count:
        return np.ones(len(array), dtype=bool)
    flags = np.unpackbits(np.frombuffer(bits, dtype=np.uint8), bitorder="little")
    return flags[array.offset : array.offset + len(array)].astype(bool)


def _numbers(array: pa.Array) -> np.ndarray:
    if not (pa.types.is_integer(array.type) or pa.types.is_floating(array.type)):
        array = array.cast(pa.float64())
    buffer = array.buffers()[1]
    if buffer is None or not len(array):
        return np.zeros(len(array))
    numbers = np.frombuffer(buffer, dtype=array.type.to_pandas_dtype())
    return numbers[array.offset : array.offset + len(array)].astype(np.float64)


def _text_buffers(array: pa.Array) -> tuple[np.ndarray, bytes]:
    """Return where each text ends, counted from the beginning of the first one, and all texts."""
    _, offsets, data = array.buffers()
    if offsets is None or not len(array):
        return np.zeros(len(array) + 1, dtype=np.int64), b""
    kind = np.int64 if pa.types.is_large_string(array.type) else np.int32
    ends = np.frombuffer(offsets, dtype=kind)[array.offset : array.offset + len(array) + 1].astype(np.int64)
    return ends - ends[0], b"" if data is None else memoryview(data)[ends[0] : ends[-1]].tobytes()


def data_sha256(folder: Path) -> str:
    """Return the hash over the content of every parquet file in the folder, sheets included.

    The same rows give the same hash whatever the version of the parquet writer.
    """
    content = ContentHash()
    for path in sorted(folder.rglob("*.parquet")):
        name = path.relative_to(folder).with_suffix("").as_posix()
        with pq.ParquetFile(path) as file:
            content.update(name, pa.Table.from_batches([], file.schema_arrow))
            for batch in file.iter_batches():
                content.update(name, batch)
    return content.hexdigest()
