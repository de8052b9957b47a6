"""Every answer is on the disk the moment it is there: a stopped run goes on where it stopped."""

from __future__ import annotations

import dataclasses
import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import IO, Any

from dashboard.judge.client import FAILED, Reply
from dashboard.vocabulary import Refused

Key = tuple[int, str]


class Journal:
    """A file of one JSON line per question, kept beside the output until everything is answered.

    Parameters
    ----------
    path
        The file.
    basis
        What the answers depend on: the endpoint's model, the prompt, the data. Another basis is another run.

    Raises
    ------
    Refused
        When the file is of another run, or cannot be written.
    """

    def __init__(self, path: Path, basis: Mapping[str, Any]) -> None:
        self.path = path
        self.done: dict[Key, Reply] = {}
        try:
            if path.is_file() and path.stat().st_size:
                self._read(dict(basis))
            self._file: IO[str] = path.open("a", encoding="utf-8")
            if self._file.tell() == 0:
                self._append(dict(basis))
        except OSError as error:
            raise Refused(f"The file {path} must be writable; it is not ({error.strerror}).") from None

    def _read(self, basis: dict[str, Any]) -> None:
        raw = self.path.read_bytes()
        whole, _, torn = raw.rpartition(b"\n")
        if torn:
            # The last line was cut off when the run was killed; what follows must not be glued to it.
            os.truncate(self.path, len(whole) + 1 if whole else 0)
        lines = [json.loads(line) for line in whole.decode("utf-8").splitlines() if line]
        if lines and lines[0] != json.loads(json.dumps(basis)):
            differs = ", ".join(sorted(key for key in basis if lines[0].get(key) != basis[key])) or "its form"
            raise Refused(
                f"{self.path} holds the answers of a run with another {differs}. Finish that one, delete the file, or "
                "choose another folder with --out."
            )
        for one in lines[1:]:
            reply = Reply(**one["reply"])
            if reply.status != FAILED:
                self.done[one["iteration"], one["conversation"]] = reply

    def add(self, key: Key, reply: Reply) -> None:
        """Keep an answer."""
        self._append({"iteration": key[0], "conversation": key[1], "reply": dataclasses.asdict(reply)})
        self.done[key] = reply

    def _append(self, content: dict[str, Any]) -> None:
        self._file.write(json.dumps(content, ensure_ascii=True) + "\n")
        self._file.flush()
        os.fsync(self._file.fileno())

    def close(self, *, finished: bool) -> None:
        """Close the file; a finished run needs it no longer."""
        self._file.close()
        if finished:
            self.path.unlink(missing_ok=True)
