"""The quiet row below an analysis: Data, How this is computed, Download, Copy link, Add to export.

Nothing is made before it is asked.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING
from urllib.parse import urlencode, urlsplit

import streamlit as st

from dashboard.analyses.findings import Analysis, Findings, Parameters, Selection
from dashboard.export import table_bytes
from dashboard.ui import address, cache
from dashboard.ui.export_basket import offer_to_basket
from dashboard.ui.export_settings import STYLES, missing_browser
from dashboard.ui.tables import show_table
from dashboard.ui.text import plain

if TYPE_CHECKING:
    import pandas as pd

    from dashboard.export.figures import Print

DATA, METHOD, DOWNLOAD, LINK, ADD = "Data", "How this is computed", "Download", "Copy link", "Add to export"
_FIGURE_TYPES = {
    "pdf": "application/pdf",
    "svg": "image/svg+xml",
    "png": "image/png",
    "html": "text/html",
    "json": "application/json",
    "csv": "text/csv",
    "parquet": "application/vnd.apache.parquet",
}
_ICONS = {DATA: "table_view", METHOD: "function", DOWNLOAD: "download", LINK: "link", ADD: "add_shopping_cart"}


def show_quiet_row(analysis: Analysis, findings: Findings, selection: Selection, chosen: Parameters) -> None:
    """Draw the row and the panel that is open."""
    opened = st.pills(
        f"More about: {analysis.question}",
        [DATA, METHOD, DOWNLOAD, LINK, ADD],
        format_func=lambda name: f":material/{_ICONS[name]}: {name}",
        key=f"panel.{analysis.name}",
        label_visibility="collapsed",
    )
    if opened is None:
        return
    with st.container(border=True, key=f"opened-{analysis.name}"):
        if opened == DATA:
            _data(analysis, findings)
        elif opened == METHOD:
            _method(analysis, findings, selection, chosen)
        elif opened == DOWNLOAD:
            _download(analysis, findings, selection, chosen)
        elif opened == LINK:
            _link(analysis)
        else:
            offer_to_basket(analysis, findings, selection, chosen)


def _data(analysis: Analysis, findings: Findings) -> None:
    names = list(findings.tables)
    name = names[0]
    if len(names) > 1:
        name = st.selectbox(
            "Table",
            names,
            format_func=lambda one: analysis.tables.get(one, one),
            key=f"table.{analysis.name}",
            label_visibility="collapsed",
        )
    frame = findings.tables[name]
    show_table(frame, key=f"data.{name}", alt=analysis.tables.get(name, name))
    with st.container(horizontal=True, vertical_alignment="center"):
        _save_table(frame, name)
        st.caption(f"{len(frame):,} rows. Unrounded when saved.")


def _save_table(frame: pd.DataFrame, name: str) -> None:
    for format, mime in (("csv", "text/csv"), ("parquet", "application/vnd.apache.parquet")):
        st.download_button(
            format.upper() if format == "csv" else format.capitalize(),
            partial(_table_file, frame, format),
            f"{file_stem(name)}.{format}",
            mime,
            key=f"{format}.{name}",
            on_click="ignore",
            icon=":material/download:",
        )


def _table_file(frame: pd.DataFrame, format: str) -> bytes:
    """Return a table, unrounded; a CSV begins with the mark by which spreadsheets know UTF-8."""
    content = table_bytes(frame, format)
    return _for_spreadsheets(content) if format == "csv" else content


def _for_spreadsheets(content: bytes) -> bytes:
    return b"\xef\xbb\xbf" + content


def file_stem(name: str) -> str:
    """Return the file name of a table or figure; synthetic data says so there too."""
    return f"{name}_SYNTHETIC" if cache.database().synthetic else name


def _method(analysis: Analysis, findings: Findings, selection: Selection, chosen: Parameters) -> None:
    from dashboard.queries import print_query

    st.markdown(analysis.method or "Counted as it stands.")
    for note in findings.notes:
        st.markdown(f"- {plain(note)}")
    if analysis.references:
        st.caption("References")
        st.markdown("\n".join(f"- {plain(reference)}" for reference in analysis.references))
    st.caption("The same table on the command line")
    st.code(command_line(analysis, selection, chosen), language="bash", wrap_lines=True)
    for name, values in findings.queries.items():
        st.caption(f"SQL of {name}, for the DuckDB shell")
        st.code(print_query(cache.database(), name, **values), language="sql", height=280)
    st.caption(f"Code: dashboard/analyses/{analysis.name}.py")


def command_line(analysis: Analysis, selection: Selection, chosen: Parameters) -> str:
    """Return the command that makes the same table."""
    from dashboard.export import provenance

    return provenance.command_line("table", analysis.name, provenance.given_parameters(selection, chosen))


def _download(analysis: Analysis, findings: Findings, selection: Selection, chosen: Parameters) -> None:
    if not findings.figures:
        st.caption("There is no figure here; the table is under Data.")
        return
    missing = missing_browser()
    how = _choose_print(analysis)
    for name in findings.figures:
        make = partial(_figure_file, analysis, findings, selection, chosen, name, how)
        with st.container(horizontal=True, vertical_alignment="center"):
            st.markdown(plain(analysis.figures.get(name, name)), width="content")
            for format, mime in _FIGURE_TYPES.items():
                st.download_button(
                    "Parquet" if format == "parquet" else format.upper(),
                    partial(make, format),
                    f"{file_stem(name)}.{format}",
                    mime,
                    key=f"figure_{format}.{name}",
                    on_click="ignore",
                    icon=":material/download:",
                    disabled=bool(missing) and format in ("pdf", "svg", "png"),
                )
    if missing:
        st.caption(plain(missing))
    _caption(analysis, findings)


def _caption(analysis: Analysis, findings: Findings) -> None:
    """Draw the draft of the figure's caption, to copy."""
    from dashboard.export.provenance import draft_caption

    name = next(iter(findings.figures))
    st.caption("Draft of the caption")
    st.code(
        draft_caption(cache.database(), findings, analysis.figures.get(name) or name), language=None, wrap_lines=True
    )


def _choose_print(analysis: Analysis) -> Print:
    """Let the reader choose column width and style of the figures to be saved."""
    from dashboard.export.figures import VENUES, Print

    with st.container(horizontal=True):
        width = st.segmented_control(
            "Width", ["single", "double"], default="single", required=True, key=f"width.{analysis.name}"
        )
        style = st.segmented_control(
            "Style",
            list(VENUES),
            format_func=lambda one: STYLES[one],
            default="ieee",
            required=True,
            key=f"style.{analysis.name}",
        )
    return Print(width=width or "single", style=style or "ieee")


def _figure_file(
    analysis: Analysis,
    findings: Findings,
    selection: Selection,
    chosen: Parameters,
    name: str,
    how: Print,
    format: str,
) -> bytes:
    """Return a figure as the command line writes it; made when asked for."""
    from dashboard.export.items import Answer

    content = Answer(cache.database(), analysis, findings, selection, chosen, how).content("figure", name, format)
    return _for_spreadsheets(content) if format == "csv" else content


def _link(analysis: Analysis) -> None:
    st.code(link_to(analysis), language=None, wrap_lines=True)
    st.caption("It opens this page with these filters and settings, at this question.")


def link_to(analysis: Analysis) -> str:
    """Return the address of this view, with its filters and parameters, at this analysis."""
    here = urlsplit(st.context.url or "")
    query = urlencode(address.query_pairs())
    base = f"{here.scheme}://{here.netloc}" if here.netloc else ""
    return f"{base}{here.path or '/'}{'?' + query if query else ''}#{analysis.name}"
