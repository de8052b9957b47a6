"""Downloads the released workbook and imports it as the release."""

from __future__ import annotations

import http.client
import tempfile
import time
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Callable
from pathlib import Path
from typing import Any

from dashboard import __version__
from dashboard.intake.folders import guard_output_folder
from dashboard.intake.imports import RELEASE_LICENCE, ImportReport, import_source
from dashboard.intake.source import file_sha256
from dashboard.vocabulary import Refused

RELEASE_URL = "https://raw.githubusercontent.com/microsoft/sense-7/main/sense-7_dataset.xlsx"
SIZE_LIMIT = 100_000_000
_CHUNK = 1 << 16


def fetch_release(
    url: str | None,
    out: Path,
    *,
    progress: Callable[[str], None] | None = None,
    size_limit: int = SIZE_LIMIT,
    timeout_seconds: float = 30.0,
    deadline_seconds: float = 600.0,
) -> ImportReport:
    """Download the released workbook and import it, stated to be the official release.

    Parameters
    ----------
    url
        Where it is; None for the authors' repository.
    out
        Folder to create, or to replace if import or sample wrote it.
    progress
        Called with a sentence at each step, the hash and the licence among them.
    size_limit
        Bytes; a larger download is refused.
    timeout_seconds
        How long the server may say nothing.
    deadline_seconds
        How long the whole download may take.

    Raises
    ------
    Refused
        If the address is none, the server does not answer well, or what it sends is not the workbook.
    """
    say = progress or (lambda _: None)
    url = url or RELEASE_URL
    parts = _checked(url)
    guard_output_folder(Path(out))
    plain = urllib.parse.urlunsplit((parts.scheme, parts.hostname or "", parts.path, "", ""))
    with tempfile.TemporaryDirectory(prefix="sense7-") as folder:
        name = Path(urllib.parse.unquote(parts.path)).name or "download.xlsx"
        path = Path(folder) / (name if name.lower().endswith(".xlsx") else f"{name}.xlsx")
        say(f"Downloading {plain} …")
        _download(url, path, size_limit=size_limit, timeout=timeout_seconds, deadline=deadline_seconds)
        say(f"{path.stat().st_size:,} bytes, sha256 {file_sha256(path)}. Licence of the data: {RELEASE_LICENCE}.")
        return import_source(path, out, release=True, progress=progress)


def _checked(url: str) -> urllib.parse.SplitResult:
    try:
        parts = urllib.parse.urlsplit(url)
        port_is_number = parts.port is None or parts.port >= 0
    except ValueError as error:
        raise Refused(f"The address must be http:// or https://; came {url!r} ({error}).") from error
    if parts.scheme not in {"http", "https"} or not parts.hostname or not port_is_number:
        raise Refused(f"The address must be http:// or https://; came {url!r}.")
    return parts


def _download(url: str, path: Path, *, size_limit: int, timeout: float, deadline: float) -> None:
    headers = {"User-Agent": f"sense7-dashboard/{__version__}", "Accept-Encoding": "identity"}
    request = urllib.request.Request(url, headers=headers)
    end = time.monotonic() + deadline
    try:
        with urllib.request.urlopen(request, timeout=timeout) as answer:
            stated = answer.headers.get("Content-Length")
            if stated and stated.isdigit() and int(stated) > size_limit:
                raise _too_large(url, size_limit)
            size = _copy(answer, path, url, size_limit=size_limit, end=end)
    except urllib.error.HTTPError as error:
        error.close()
        raise Refused(f"{url} was not sent: the server answers {error.code} {error.reason}.") from error
    except (http.client.HTTPException, urllib.error.URLError, TimeoutError, OSError) as error:
        reason = getattr(error, "reason", None) or error
        raise Refused(f"{url} cannot be downloaded: {reason or type(error).__name__}.") from error
    if stated and stated.isdigit() and size != int(stated):
        raise Refused(f"{url} was cut short: {size:,} of {int(stated):,} bytes came. Try again.")


def _copy(answer: Any, path: Path, url: str, *, size_limit: int, end: float) -> int:
    size = 0
    with path.open("wb") as file:
        while piece := answer.read1(_CHUNK):
            size += len(piece)
            if size > size_limit:
                raise _too_large(url, size_limit)
            if time.monotonic() > end:
                raise TimeoutError("it takes too long")
            file.write(piece)
    return size


def _too_large(url: str, limit: int) -> Refused:
    return Refused(f"{url} is larger than {limit / 1e6:g} MB; the released workbook is not. Nothing was written.")
