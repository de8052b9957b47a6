"""The registry of analyses: one module per question, discovered, so that it grows with the code."""

from __future__ import annotations

import importlib
import pkgutil
from functools import lru_cache

from dashboard.analyses.findings import Analysis
from dashboard.vocabulary import unknown_name

PAGES = (
    "Overview",
    "Variability",
    "Expectations",
    "Mixed models",
    "Breakdowns",
    "Conversations",
    "Classifier",
    "Export",
)


@lru_cache
def registry() -> dict[str, Analysis]:
    """Return every analysis by its name, in the order of pages and of positions on them."""
    names = [item.name for item in pkgutil.iter_modules(__path__)]
    found = []
    for name in names:
        module = importlib.import_module(f"{__name__}.{name}")
        if hasattr(module, "ANALYSIS"):
            found.append(module.ANALYSIS)
    found.sort(key=lambda one: (PAGES.index(one.page), one.position, one.name))
    return {one.name: one for one in found}


def analysis(name: str) -> Analysis:
    """Return an analysis by name.

    Raises
    ------
    Refused
        When there is none of that name.
    """
    if name not in registry():
        raise unknown_name("analysis", name, registry())
    return registry()[name]


def on_page(page: str) -> list[Analysis]:
    """Return the analyses of a page in reading order."""
    return [one for one in registry().values() if one.page == page]
