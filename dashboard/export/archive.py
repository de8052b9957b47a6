"""Zip files that repeat byte for byte: one date, one order, one mode of every entry."""

from __future__ import annotations

import io
import zipfile
from collections.abc import Iterable

_DATE = (2000, 1, 1, 0, 0, 0)
_READABLE_FILE = 0o100644 << 16


def zip_bytes(files: Iterable[tuple[str, bytes]]) -> bytes:
    """Return a zip of files, given as ``(path inside, content)``, in the order given."""
    written = io.BytesIO()
    with zipfile.ZipFile(written, "w", zipfile.ZIP_DEFLATED) as archive:
        for path, content in files:
            entry = zipfile.ZipInfo(path, date_time=_DATE)
            entry.compress_type = zipfile.ZIP_DEFLATED
            # By default these depend on the machine.
            entry.create_system, entry.external_attr = 3, _READABLE_FILE
            archive.writestr(entry, content)
    return written.getvalue()
