"""How a file is written: whole or not at all."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

from dashboard.vocabulary import Refused


def write_whole(path: Path, content: bytes) -> None:
    """Write a file so that it is there whole or not at all.

    Raises
    ------
    Refused
        When the folder does not exist or cannot be written to.
    """
    temporary = ""
    try:
        handle, temporary = tempfile.mkstemp(prefix=f".{path.name}.", dir=path.parent)
        with os.fdopen(handle, "wb") as file:
            file.write(content)
        umask = os.umask(0)
        os.umask(umask)
        Path(temporary).chmod(0o666 & ~umask)
        Path(temporary).replace(path)
    except OSError as error:
        raise Refused(f"The file {path} must be writable; it is not ({error.strerror}).") from None
    finally:
        if temporary:
            Path(temporary).unlink(missing_ok=True)
