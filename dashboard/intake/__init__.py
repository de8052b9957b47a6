"""Workbook, csv, jsonl and parquet become checked parquet tables, with a report; and the synthetic sample."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from dashboard.intake.check import CheckReport, check_dataset
    from dashboard.intake.fetch import fetch_release
    from dashboard.intake.imports import ImportReport, import_source

__all__ = ["CheckReport", "ImportReport", "check_dataset", "fetch_release", "import_source"]

_HOME = {
    "CheckReport": "check",
    "check_dataset": "check",
    "fetch_release": "fetch",
    "ImportReport": "imports",
    "import_source": "imports",
}


def __getattr__(name: str) -> Any:
    """Import what is asked for, and no more: each command needs one of these."""
    if name not in _HOME:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_HOME[name]}"), name)
