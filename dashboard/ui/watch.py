"""Long computations show how far they are, and give way when the reader asks for something else."""

from __future__ import annotations

import contextvars
import time
from collections.abc import Iterator
from contextlib import contextmanager

import streamlit as st

from dashboard.stats.progress import listening

# A message to the browser is also where Streamlit looks whether the reader has moved on.
_SECONDS = 0.25


@contextmanager
def watching() -> Iterator[None]:
    """Show in this place what is being computed inside the block, and end it when the reader changes a filter or presses Stop."""
    place = st.empty()
    # What is drawn from inside a cached function would be kept with its answer: drawn in the context of before, it is not.
    outside = contextvars.copy_context()
    last = time.monotonic()

    def show(what: str, done: int, total: int) -> None:
        nonlocal last
        if time.monotonic() - last < _SECONDS:
            return
        last = time.monotonic()
        outside.run(place.caption, f"{what[:1].upper()}{what[1:]}" + (f": {done:,} of {total:,}" if total else " …"))

    with listening(show):
        yield
    place.empty()
