"""What the server loads before its first reader: libraries, the data, the first page's answers."""

from __future__ import annotations

import logging
import os
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress

import streamlit as st

from dashboard.analyses import PAGES, claims, on_page, registry
from dashboard.analyses.findings import Parameters, Selection
from dashboard.ui import cache
from dashboard.ui.memory import count_messages, is_held
from dashboard.vocabulary import Refused

logger = logging.getLogger("dashboard")
# About what a browser takes to load the charts' library and draw a first chart beside an idle server; and, once it has
# the library, another one.
DRAWING_SECONDS, REDRAWING_SECONDS = 2.0, 0.5
# A longer wait where what comes next takes many seconds anyway.
DRAWING_LARGE_SECONDS = 3.0
# As long as somebody may still be coming, or be about to ask the next thing, the server stays idle.
QUIET_SECONDS = 5.0
# What larger data is asked takes too long for asking before anybody wants it.
WARMED_ROWS = 2_000_000
# After so long a work nothing more is begun with data that is not held in memory: a reader shall find an idle server.
WARMING_SECONDS = 5.0


class _Readers:
    """Who is being answered; the warm-up waits for them, since two askers slow each other."""

    def __init__(self) -> None:
        self._reading = 0
        self._left = -QUIET_SECONDS
        self._changed = threading.Condition()
        self.is_warming = self.came_early = False

    def come(self) -> None:
        with self._changed:
            self._reading += 1
            # Only the first of them: what is asked next finds the browser ready.
            self.came_early |= self.is_warming
            self.is_warming = False

    def leave(self) -> None:
        with self._changed:
            self._reading -= 1
            self._left = time.monotonic()
            self._changed.notify_all()

    def expect(self) -> None:
        """Be as quiet as if somebody had just been answered: the first reader is about to come."""
        with self._changed:
            self._left = time.monotonic()

    def wait(self) -> None:
        """Return when nobody is being answered, and for some time nobody has been."""
        with self._changed:
            while self._reading or (rest := self._left + QUIET_SECONDS - time.monotonic()) > 0:
                self._changed.wait(None if self._reading else rest)


_readers = _Readers()


@contextmanager
def reading() -> Iterator[None]:
    """Say that somebody is being answered: the page asks for what it needs itself."""
    st.session_state["drawn_now"] = False
    _readers.come()
    try:
        yield
    finally:
        _readers.leave()


def let_draw() -> None:
    """Let the browser draw the figure it has just been sent, before the server works on.

    Only where much is left to be worked on, on a machine of at most two processors: there browser and server slow each
    other so much that the first figure would take half as long again. That is a reader who came with the server's start,
    and the first figure of a page on data too large to be held in memory.
    """
    if (os.cpu_count() or 1) > 2:
        return
    is_early, _readers.came_early = _readers.came_early, False
    is_first, is_first_here = (not st.session_state.get(name) for name in ("drawn", "drawn_now"))
    st.session_state["drawn"] = st.session_state["drawn_now"] = True
    is_large = is_first_here and not is_held(cache.database())
    if is_large:
        time.sleep(DRAWING_LARGE_SECONDS if is_first else REDRAWING_SECONDS)
    elif is_early:
        time.sleep(DRAWING_SECONDS)


def warm_up() -> None:
    """Ask of unfiltered data what the first page asks, then what other pages ask first, so that it is known.

    It waits while somebody reads. Data too large to be held in memory is asked each page's first question for some
    seconds, data larger than ``WARMED_ROWS`` is opened only. Nothing is raised; what fails here fails on the page, which says why.
    """
    try:
        import plotly.graph_objects  # noqa: F401

        data = cache.database()
        if is_held(data):
            _readers.is_warming = True
            _ask(_first_page())
            _readers.expect()
            _readers.wait()
            _readers.is_warming = False
            _ask([*_asked_by_claims(), *_first_questions()])
        elif count_messages(data) <= WARMED_ROWS:
            _ask(_first_questions(), most=WARMING_SECONDS)
    except Refused:
        return
    except Exception:
        logger.exception("failed: warming up")
    finally:
        _readers.is_warming = False


def _ask(questions: list[tuple[str, Parameters]], *, most: float = float("inf")) -> None:
    """Ask one after another while nobody reads; begin none after ``most`` seconds of asking."""
    spent = 0.0
    for name, parameters in dict.fromkeys(questions):
        _readers.wait()
        if spent > most:
            return
        begun = time.monotonic()
        with suppress(Refused):
            _draw(name, parameters)
        spent += time.monotonic() - begun


def _first_page() -> list[tuple[str, Parameters]]:
    """Return the first page's questions, the claims last, with what they ask of others unless their answers are known."""
    own = [(one.name, one.parameters()) for one in on_page(PAGES[0]) if one.name != claims.NAME]
    asked = [] if cache.are_claims_known(Selection()) else _asked_by_claims()
    return [*own, *asked, (claims.NAME, registry()[claims.NAME].parameters())]


def _asked_by_claims() -> list[tuple[str, Parameters]]:
    return [(one.name, claim.parameters or one.parameters()) for one in registry().values() for claim in one.claims]


def _first_questions() -> list[tuple[str, Parameters]]:
    """Return each page's first question, but for the claims, which ask all."""
    pages = ([one for one in on_page(page) if one.name != claims.NAME] for page in PAGES)
    return [(page[0].name, page[0].parameters()) for page in pages if page]


def _draw(name: str, parameters: Parameters) -> None:
    from dashboard.figures.template import Template

    findings = cache.analyse(name, Selection(), parameters)
    for drawing in findings.figures.values():
        drawing.figure(Template(synthetic=cache.database().synthetic))
