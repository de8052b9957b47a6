"""The data behind a figure: the tidy frames that it is drawn from, as one table."""

from __future__ import annotations

import io
import json
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from dashboard.export.tables import table_text
from dashboard.vocabulary import Refused

if TYPE_CHECKING:
    import pandas as pd

    from dashboard.analyses.findings import Drawing

DATA_FORMATS = ("csv", "parquet")


def figure_frame(drawing: Drawing) -> pd.DataFrame:
    """Return what a figure is drawn from, unrounded.

    Returns
    -------
    pandas.DataFrame
        The figure's tidy frame. Where it is drawn from several, they stand below each other, and a first column ``part``
        says which; a column that is text in one and numbers in another is text.

    Raises
    ------
    Refused
        When the figure is not drawn from any frame.
    """
    import pandas as pd

    every = list(_frames(drawing.arguments))
    if not every:
        raise Refused("This figure has no data of its own to save; its tables have what it shows.")
    parts = [(name, frame) for name, frame in every if len(frame)] or every[:1]
    if len(parts) == 1:
        return parts[0][1].reset_index(drop=True)
    stacked = pd.concat([frame.assign(part=name) for name, frame in parts], ignore_index=True)
    for name in stacked.columns:
        kinds = {frame[name].dtype.kind in "ifub" for _, frame in parts if name in frame}
        if len(kinds) > 1:
            stacked[name] = [None if pd.isna(value) else str(value) for value in stacked[name]]
    return stacked[["part", *(name for name in stacked.columns if name != "part")]]


def _frames(arguments: Mapping[str, Any]) -> Iterator[tuple[str, pd.DataFrame]]:
    import pandas as pd

    for name, value in arguments.items():
        if isinstance(value, pd.DataFrame):
            yield name, value
        elif isinstance(value, Mapping):
            yield from ((f"{name}: {key}", one) for key, one in value.items() if isinstance(one, pd.DataFrame))


def figure_data_bytes(drawing: Drawing, format: str, *, provenance: dict[str, Any]) -> bytes:
    """Return the figure's data as ``csv``, or as ``parquet`` with its provenance in the file's metadata."""
    frame = figure_frame(drawing)
    if format == "csv":
        return table_text(frame, "csv").encode("utf-8")
    import pyarrow as pa
    import pyarrow.parquet as pq

    table = pa.Table.from_pandas(frame, preserve_index=False)
    told = {
        **(table.schema.metadata or {}),
        b"provenance": json.dumps(provenance, sort_keys=True, default=str).encode(),
    }
    written = io.BytesIO()
    pq.write_table(table.replace_schema_metadata(told), written)
    return written.getvalue()
