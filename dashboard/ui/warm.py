"""What the server loads before its first reader: libraries, the data, the first page's answers."""

from __future__ import annotations

import logging
import threading
from contextlib import suppress

from dashboard.analyses import PAGES, claims, on_page, registry
from dashboard.analyses.findings import Parameters, Selection
from dashboard.ui import cache
from dashboard.ui.memory import is_held
from dashboard.vocabulary import Refused

logger = logging.getLogger("dashboard")
_READ = threading.Event()


def give_way() -> None:
    """Say that somebody reads: the page asks for what it needs itself, and two askers would slow each other."""
    _READ.set()


def warm_up() -> None:
    """Ask what the first page asks of unfiltered data, so that its answers are there, until somebody reads.

    Data too large to be held in memory is opened only: its reader may have come for another page. Nothing is raised;
    what fails here fails on the page, which says why.
    """
    _READ.clear()
    try:
        import plotly.graph_objects  # noqa: F401

        data = cache.database()
        if not is_held(data):
            return
        for name, parameters in _questions():
            if _READ.is_set():
                return
            with suppress(Refused):
                _draw(name, parameters)
    except Refused:
        return
    except Exception:
        logger.exception("failed: warming up")


def _questions() -> list[tuple[str, Parameters]]:
    """Return the first page's questions, then what its claims ask of others, then the claims, which find all answered."""
    first = [(one.name, one.parameters()) for one in on_page(PAGES[0]) if one.name != claims.NAME]
    asked = [(one.name, claim.parameters or one.parameters()) for one in registry().values() for claim in one.claims]
    return [*first, *dict.fromkeys(asked), (claims.NAME, registry()[claims.NAME].parameters())]


def _draw(name: str, parameters: Parameters) -> None:
    from dashboard.figures.template import Template

    findings = cache.analyse(name, Selection(), parameters)
    for drawing in findings.figures.values():
        drawing.figure(Template(synthetic=cache.database().synthetic))
