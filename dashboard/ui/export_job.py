"""Writing a basket takes a while: a thread of its own does it, says what it does, and can be stopped."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable
from typing import Any

from dashboard.vocabulary import Refused

logger = logging.getLogger("dashboard")
# Exports at work in one process; others wait their turn. Figures are drawn one at a time anyway.
_places = threading.Semaphore(2)

Progress = Callable[[int, int, str], None]


class Stopped(Exception):
    """The reader stopped the work."""


class Job:
    """One export: its progress while it runs, then its zip or the reason why there is none.

    Attributes
    ----------
    key
        What it was asked for, by which an answer is told from that to an older question.
    done, total, what
        How many steps are done, how many there are, and what is being made.
    result
        The zip, once it is there.
    refusal
        Why there is none, in words; empty otherwise.
    """

    def __init__(self, key: Any, work: Callable[[Progress], bytes]) -> None:
        self.key = key
        self.done, self.total, self.what = 0, 1, ""
        self.result: bytes | None = None
        self.refusal = ""
        self._work = work
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, name="export", daemon=True)
        self._thread.start()

    @property
    def running(self) -> bool:
        """Whether there is anything to wait for."""
        return self._thread.is_alive() and not self._stop.is_set()

    def stop(self) -> None:
        """End the work at its next step; its result is not wanted any more."""
        self._stop.set()

    def wait(self, timeout: float) -> None:
        """Wait until the work is over, or for so many seconds."""
        self._thread.join(timeout)

    def _tell(self, done: int, total: int, what: str) -> None:
        if self._stop.is_set():
            raise Stopped
        self.done, self.total, self.what = done, total, what

    def _run(self) -> None:
        self.what = "Waiting for other exports"
        while not _places.acquire(timeout=0.2):
            if self._stop.is_set():
                return
        try:
            self.result = self._work(self._tell)
        except Stopped:
            return
        except Refused as refusal:
            self.refusal = str(refusal)
        except Exception:
            logger.exception("failed: export")
            self.refusal = "This could not be written because of a fault of the dashboard; the details are in its log."
        finally:
            _places.release()
