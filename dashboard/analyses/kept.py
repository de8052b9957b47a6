"""What questions of one page share, or one question asked again with another order: the last few answers are kept."""

from __future__ import annotations

import threading
from collections.abc import Callable, Hashable
from typing import Any, Generic, TypeVar

from dashboard.database import Database

Answer = TypeVar("Answer")


class Kept(Generic[Answer]):
    """The last few answers of one kind; shared by threads, so that nobody may change them.

    Parameters
    ----------
    most
        How many are kept.
    """

    def __init__(self, most: int) -> None:
        self._most = most
        self._answers: dict[Any, tuple[Any, Answer]] = {}
        self._lock = threading.Lock()

    def get(self, database: Database, asked: Hashable) -> Answer | None:
        """Return the answer known for this data, or None."""
        with self._lock:
            known = self._answers.get((id(database.connection), asked))
        return None if known is None else known[1]

    def find(self, database: Database, asked: Hashable, make: Callable[[], Answer]) -> Answer:
        """Return the answer known for this data; what is not known is made, and kept unless that fails."""
        known = self.get(database, asked)
        if known is not None:
            return known
        made = make()
        with self._lock:
            # The connection is kept with what came from it, so that its number cannot become another's.
            self._answers[id(database.connection), asked] = (database.connection, made)
            while len(self._answers) > self._most:
                del self._answers[next(iter(self._answers))]
        return made
