"""Output folders that appear whole or not at all."""

from __future__ import annotations

import contextlib
import ctypes
import errno
import json
import os
import secrets
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path

from dashboard.vocabulary import Refused

try:  # Windows has no fcntl; there the leftovers of a killed run stay until someone deletes them.
    import fcntl
except ImportError:  # pragma: no cover
    fcntl = None  # type: ignore[assignment]

_RENAME_EXCHANGE = 2
_LOCK = ".lock"


def holds_our_manifest(folder: Path) -> bool:
    """Say whether the folder holds a manifest.json that import or sample wrote."""
    try:
        found = json.loads((folder / "manifest.json").read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return False
    return isinstance(found, dict) and "format" in found and "data_sha256" in found


def guard_output_folder(out: Path, *, source: Path | None = None) -> Path:
    """Return the resolved output folder, or refuse one that is not ours to replace.

    Parameters
    ----------
    out
        Folder to be created, or replaced if it holds our manifest.json.
    source
        What is being read; it must not lie inside a folder that is about to be replaced.

    Raises
    ------
    Refused
        If `out` is a file, a non-empty folder without our manifest, or a folder that holds the source.
    """
    folder = Path(os.path.abspath(out)).resolve()  # noqa: PTH100 - resolve() alone keeps a relative path on Windows
    _finish_broken_swap(folder)
    if folder.exists() and not folder.is_dir():
        raise Refused(f"The output must be a folder; {out} is a file.")
    if folder.exists() and any(folder.iterdir()) and not holds_our_manifest(folder):
        raise Refused(
            f"The output folder {out} is not empty and holds no manifest.json of ours, so it is left alone. "
            "Choose an empty or a new folder."
        )
    if source is not None and folder.exists() and source.resolve().is_relative_to(folder):
        raise Refused(
            f"The source {source} lies inside the output folder {out}, which would be replaced. "
            "Move the source elsewhere, or choose another folder."
        )
    return folder


@contextlib.contextmanager
def replacing_folder(out: Path, *, source: Path | None = None) -> Iterator[Path]:
    """Yield a new empty folder beside `out` that takes its place when the block ends well.

    A block that raises, is interrupted or killed leaves `out` as it was. What a killed run left behind
    is removed by the next run. The swap is one system call where the platform has one (Linux); elsewhere
    it is two renames, and a run that finds the first without the second puts the old folder back.

    Parameters
    ----------
    out
        Folder to create or replace; see `guard_output_folder`.
    source
        What is being read, which must not lie inside `out`.

    Yields
    ------
    Path
        The folder to write into.

    Raises
    ------
    Refused
        If `out` may not be replaced, or the disk does not let us write.
    """
    folder = guard_output_folder(out, source=source)
    made = [parent for parent in folder.parents if not parent.exists()]
    try:
        folder.parent.mkdir(parents=True, exist_ok=True)
        _remove_leftovers(folder)
        part = folder.with_name(f".{folder.name}.part-{secrets.token_hex(6)}")
        part.mkdir()
    except OSError as error:
        raise Refused(f"The output folder {out} cannot be written: {error.strerror}.") from error
    lock = _lock(part)
    done = False
    try:
        yield part
        _unlock(part, lock)
        lock = None
        _flush(part)
        _swap(part, folder)
        done = True
    except OSError as error:
        if error.errno in (errno.ENOSPC, errno.EACCES, errno.EPERM, errno.EROFS, errno.EDQUOT):
            raise Refused(f"The output folder {out} cannot be written: {error.strerror}.") from error
        raise
    finally:
        _unlock(part, lock)
        shutil.rmtree(part, ignore_errors=True)
        if not done:
            for parent in made:
                with contextlib.suppress(OSError):
                    parent.rmdir()


def _lock(part: Path) -> int | None:
    """Hold a lock for as long as this process lives, so that others can tell a leftover from work."""
    if fcntl is None:  # pragma: no cover
        return None
    handle = os.open(part / _LOCK, os.O_CREAT | os.O_RDWR, 0o600)
    with contextlib.suppress(OSError):
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    return handle


def _unlock(part: Path, handle: int | None) -> None:
    if handle is not None:
        with contextlib.suppress(OSError):
            (part / _LOCK).unlink()
        os.close(handle)


def _remove_leftovers(folder: Path) -> None:
    """Delete what killed runs left beside the folder; a run that still holds its lock is left alone."""
    for part in folder.parent.glob(f".{_escaped(folder.name)}.part-*"):
        if not part.is_symlink() and part.is_dir() and _abandoned(part):
            shutil.rmtree(part, ignore_errors=True)


def _abandoned(part: Path) -> bool:
    if fcntl is None:  # pragma: no cover
        return False
    try:
        handle = os.open(part / _LOCK, os.O_RDWR)
    except FileNotFoundError:
        return True  # its owner was killed after the last file or during the clean-up
    except OSError:
        return False
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return False
    finally:
        os.close(handle)
    return True


def _escaped(name: str) -> str:
    return "".join(f"[{letter}]" if letter in "*?[" else letter for letter in name)


def _flush(part: Path) -> None:
    """Bring the files to the disk before the rename that makes them count."""
    if os.name == "nt":  # pragma: no cover
        return
    for path in [*sorted(part.rglob("*")), part]:
        handle = os.open(path, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)


def _swap(part: Path, folder: Path) -> None:
    """Put `part` where `folder` is. What was in `folder` ends up in `part`, for the caller to delete."""
    if not folder.exists():
        part.rename(folder)
        return
    if _exchange(part, folder):
        return
    old = folder.with_name(f".{folder.name}.old")
    shutil.rmtree(old, ignore_errors=True)
    folder.rename(old)
    try:
        part.rename(folder)
    except BaseException:
        old.rename(folder)
        raise
    shutil.rmtree(old, ignore_errors=True)


def _exchange(one: Path, other: Path) -> bool:
    """Exchange two folders in one step; say whether the system could."""
    if not sys.platform.startswith("linux"):  # pragma: no cover
        return False
    try:
        rename = ctypes.CDLL(None, use_errno=True).renameat2
    except (OSError, AttributeError):  # pragma: no cover
        return False
    here = -100  # AT_FDCWD; the paths are absolute
    return rename(here, os.fsencode(one), here, os.fsencode(other), _RENAME_EXCHANGE) == 0


def _finish_broken_swap(folder: Path) -> None:
    """Put the old folder back after a kill between the two renames of `_swap`."""
    old = folder.with_name(f".{folder.name}.old")
    if not folder.exists() and old.is_dir() and holds_our_manifest(old):
        old.rename(folder)
