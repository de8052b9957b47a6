"""What the server loads before its first reader: libraries, the data, the first page's answers."""

from __future__ import annotations

import logging
import os
import threading
import time
from contextlib import suppress

import streamlit as st

from dashboard.analyses import PAGES, claims, on_page, registry
from dashboard.analyses.findings import Parameters, Selection
from dashboard.ui import cache
from dashboard.ui.memory import is_held
from dashboard.vocabulary import Refused

logger = logging.getLogger("dashboard")
_READ, _CAME_EARLY = threading.Event(), threading.Event()
# About what a browser takes to load the charts' library and draw a first chart beside an idle server.
DRAWING_SECONDS = 2.0


def give_way() -> None:
    """Say that somebody reads: the page asks for what it needs itself, and two askers would slow each other."""
    _READ.set()


def let_draw() -> None:
    """Let the browser draw the figure it has just been sent, before the server works on.

    Only where much is left to be worked on, on a machine of at most two processors: there browser and server slow each
    other so much that the first figure would take half as long again. That is a reader who came before the warm-up was
    through, and the first figure of a visit to data too large to be held in memory.
    """
    if (os.cpu_count() or 1) > 2:
        return
    is_early = _CAME_EARLY.is_set()
    _CAME_EARLY.clear()
    is_first = not st.session_state.get("drawn")
    st.session_state["drawn"] = True
    if is_early or (is_first and not is_held(cache.database())):
        time.sleep(DRAWING_SECONDS)


def warm_up() -> None:
    """Ask what the first page asks of unfiltered data, so that its answers are there, until somebody reads.

    Data too large to be held in memory is opened only: its reader may have come for another page. Nothing is raised;
    what fails here fails on the page, which says why.
    """
    _READ.clear()
    _CAME_EARLY.clear()
    try:
        import plotly.graph_objects  # noqa: F401

        data = cache.database()
        if not is_held(data):
            return
        for name, parameters in _questions():
            if _READ.is_set():
                _CAME_EARLY.set()
                return
            with suppress(Refused):
                _draw(name, parameters)
    except Refused:
        return
    except Exception:
        logger.exception("failed: warming up")


def _questions() -> list[tuple[str, Parameters]]:
    """Return the first page's questions, then what its claims ask of others, then the claims, which find all answered.

    Claims whose answers are known need no others, and come before them.
    """
    first = [(one.name, one.parameters()) for one in on_page(PAGES[0]) if one.name != claims.NAME]
    asked = [(one.name, claim.parameters or one.parameters()) for one in registry().values() for claim in one.claims]
    claimed = (claims.NAME, registry()[claims.NAME].parameters())
    if cache.are_claims_known(Selection()):
        return [*first, claimed, *dict.fromkeys(asked)]
    return [*first, *dict.fromkeys(asked), claimed]


def _draw(name: str, parameters: Parameters) -> None:
    from dashboard.figures.template import Template

    findings = cache.analyse(name, Selection(), parameters)
    for drawing in findings.figures.values():
        drawing.figure(Template(synthetic=cache.database().synthetic))
