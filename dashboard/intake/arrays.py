"""Makes arrow arrays from lists of Python values straight from buffers.

``pyarrow.array`` looks for pandas first, and importing pandas takes longer than the whole import of the release.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import pyarrow as pa


def text_array(values: Sequence[str | None]) -> pa.Array:
    """Return texts as an arrow array; None is null."""
    encoded = [b"" if value is None else value.encode() for value in values]
    ends = np.cumsum([0, *map(len, encoded)], dtype=np.int64)
    if ends[-1] > np.iinfo(np.int32).max:
        raise OverflowError("a column of texts has more than 2 GB")
    buffers = [_filled(values), pa.py_buffer(ends.astype(np.int32)), pa.py_buffer(b"".join(encoded))]
    return pa.Array.from_buffers(pa.string(), len(values), buffers)


def number_array(values: Sequence[float | None], kind: pa.DataType) -> pa.Array:
    """Return numbers as an arrow array of the type; None is null."""
    plain = np.array([0 if value is None else value for value in values], dtype=kind.to_pandas_dtype())
    return pa.Array.from_buffers(kind, len(values), [_filled(values), pa.py_buffer(plain)])


def _filled(values: Sequence[object]) -> pa.Buffer:
    """Return the validity bitmap."""
    flags = np.fromiter((value is not None for value in values), dtype=bool, count=len(values))
    return pa.py_buffer(np.packbits(flags, bitorder="little"))


def table_of(columns: Mapping[str, Sequence[object]], schema: pa.Schema) -> pa.Table:
    """Return a table of text and number columns.

    Parameters
    ----------
    columns
        Name → values, None for null; all of one length.
    schema
        Names and types in their order.
    """
    arrays = [
        text_array(columns[field.name])  # type: ignore[arg-type]
        if pa.types.is_string(field.type)
        else number_array(columns[field.name], field.type)  # type: ignore[arg-type]
        for field in schema
    ]
    return pa.Table.from_arrays(arrays, schema=schema)
