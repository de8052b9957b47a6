"""How a basket is written: style, width, formats and resolution, chosen once for all of it."""

from __future__ import annotations

import streamlit as st

from dashboard.export.basket import Settings
from dashboard.ui.text import plain
from dashboard.vocabulary import Refused

STYLES = {"ieee": "IEEE", "acm": "ACM", "nature": "Nature", "apa": "APA", "plain": "Plain"}
_OWN = "own"
_NAMES = {"latex": "LaTeX", "docx": "Word", "md": "Markdown", "parquet": "Parquet"}


def missing_browser() -> str:
    """Return what to install before PDF, SVG and PNG can be made; empty where they can."""
    from dashboard.export.browser import find_browser

    try:
        find_browser()
    except Refused as reason:
        return str(reason)
    return ""


def choose_settings() -> Settings:
    """Draw the choices and return them."""
    from dashboard.export.figures import BROWSER_FORMATS, FIGURE_FORMATS
    from dashboard.export.tables import TABLE_FORMATS

    missing = missing_browser()
    with st.container(horizontal=True, vertical_alignment="bottom", gap="medium", key="export_formats"):
        figures = _formats("Figures as", FIGURE_FORMATS, "html" if missing else "pdf", "export.figures")
        tables = _formats("Tables as", TABLE_FORMATS, "csv", "export.tables")
    if missing and set(figures) & set(BROWSER_FORMATS):
        st.info(plain(missing))
    with st.container(horizontal=True, vertical_alignment="bottom", gap="medium", key="export_print"):
        style, width, dpi = _style(), _width(), _dpi("png" in figures)
    from dashboard.export.figures import Print

    return Settings(figures=figures, tables=tables, how=Print(width=width, style=style, dpi=dpi))


def _formats(label: str, possible: tuple[str, ...], default: str, key: str) -> tuple[str, ...]:
    st.session_state.setdefault(key, [default])
    chosen = st.pills(
        label,
        possible,
        selection_mode="multi",
        format_func=lambda one: _NAMES.get(one, one.upper()),
        key=key,
        persist_state="session",
    )
    return tuple(chosen or ())


def _style() -> str:
    st.session_state.setdefault("export.style", "ieee")
    return str(
        st.segmented_control(
            "Style",
            list(STYLES),
            format_func=lambda one: STYLES[one],
            required=True,
            key="export.style",
            persist_state="session",
        )
    )


def _width() -> str | float:
    st.session_state.setdefault("export.width", "single")
    width = st.segmented_control(
        "Width",
        ["single", "double", _OWN],
        format_func=lambda one: {"single": "One column", "double": "Two columns", _OWN: "Other"}[one],
        required=True,
        key="export.width",
        help="IEEE 88.9 or 182 mm, ACM 84.7 or 178 mm, the others 89 or 183 mm.",
        persist_state="session",
    )
    if width != _OWN:
        return str(width)
    st.session_state.setdefault("export.mm", 120.0)
    return float(
        st.number_input(
            "Width in mm",
            min_value=60.0,
            max_value=400.0,
            step=1.0,
            key="export.mm",
            width=140,
            persist_state="session",
        )
    )


def _dpi(shown: bool) -> float:
    st.session_state.setdefault("export.dpi", 300)
    if not shown:
        return float(st.session_state["export.dpi"])
    return float(
        st.number_input(
            "Dots per inch of PNG",
            min_value=36,
            max_value=1200,
            step=50,
            key="export.dpi",
            width=160,
            persist_state="session",
        )
    )
