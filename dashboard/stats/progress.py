"""Long computations say how far they are to whoever listens, who may end them by raising.

Nobody listens unless asked: a computation that is called from a script or a test tells nobody.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar

Listener = Callable[[str, int, int], None]
_listener: ContextVar[Listener | None] = ContextVar("listener", default=None)


@contextmanager
def listening(listener: Listener) -> Iterator[None]:
    """Have ``listener(what, done, total)`` called by all that is computed inside the block.

    ``total`` is 0 where how much there is to do is not known. What the listener raises ends the computation.
    """
    before = _listener.set(listener)
    try:
        yield
    finally:
        _listener.reset(before)


def tell(what: str, done: int = 0, total: int = 0) -> None:
    """Say what is being computed and how far it is: often enough that stopping takes no more than about a second."""
    listener = _listener.get()
    if listener is not None:
        listener(what, done, total)
