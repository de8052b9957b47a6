"""What the server loads while the first reader's browser is still starting: libraries, the data, the first page's answers."""

from __future__ import annotations

import logging
from contextlib import suppress

from dashboard.analyses import PAGES, claims, on_page
from dashboard.analyses.findings import Selection
from dashboard.ui import cache
from dashboard.ui.memory import is_held
from dashboard.vocabulary import Refused

logger = logging.getLogger("dashboard")


def warm_up() -> None:
    """Ask what the first page asks of unfiltered data, so that its answers are there or on their way.

    Data too large to be held in memory is opened only: its reader may have come for another page. Nothing is raised;
    what fails here fails on the page, which says why.
    """
    try:
        import plotly.graph_objects  # noqa: F401

        data = cache.database()
        if not is_held(data):
            return
        # The claims ask every analysis: last, as on the page.
        first = sorted(on_page(PAGES[0]), key=lambda one: one.name == claims.NAME)
        for one in first:
            with suppress(Refused):
                _draw(one.name)
    except Refused:
        return
    except Exception:
        logger.exception("failed: warming up")


def _draw(name: str) -> None:
    from dashboard.analyses import analysis
    from dashboard.figures.template import Template

    findings = cache.analyse(name, Selection(), analysis(name).parameters())
    for drawing in findings.figures.values():
        drawing.figure(Template(synthetic=cache.database().synthetic))
