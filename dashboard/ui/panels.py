"""The quiet row below an analysis: Data, How this is computed, Download, Copy link. Nothing is made before it is asked."""

from __future__ import annotations

import dataclasses
import shlex
from functools import partial
from typing import TYPE_CHECKING, Any
from urllib.parse import urlencode, urlsplit

import streamlit as st

from dashboard.analyses.findings import FILTERS, Analysis, Drawing, Findings, Parameters, Selection
from dashboard.export import table_bytes
from dashboard.ui import address, cache
from dashboard.ui.tables import show_table
from dashboard.ui.text import plain

if TYPE_CHECKING:
    import pandas as pd

DATA, METHOD, DOWNLOAD, LINK = "Data", "How this is computed", "Download", "Copy link"
_ICONS = {DATA: "table_view", METHOD: "function", DOWNLOAD: "download", LINK: "link"}


def show_quiet_row(analysis: Analysis, findings: Findings, selection: Selection, chosen: Parameters) -> None:
    """Draw the row and the panel that is open."""
    opened = st.pills(
        f"More about: {analysis.question}",
        [DATA, METHOD, DOWNLOAD, LINK],
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
            _download(analysis, findings)
        else:
            _link(analysis)


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
    return b"\xef\xbb\xbf" + content if format == "csv" else content


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
    given: list[tuple[str, Any]] = [(key, level) for key in FILTERS for level in getattr(selection, key)]
    if selection.min_rated_turns is not None:
        given.append(("min_rated_turns", selection.min_rated_turns))
    if selection.exclude_flagged:
        given.append(("exclude_flagged", "true"))
    for item in dataclasses.fields(chosen):
        value = getattr(chosen, item.name)
        if isinstance(value, tuple):
            given += [(item.name, one) for one in value]
        elif value != item.default and value is not None:
            given.append((item.name, str(value).lower() if isinstance(value, bool) else value))
    words = [
        f"-p {shlex.quote(f'{key}={value:g}' if isinstance(value, float) else f'{key}={value}')}"
        for key, value in given
    ]
    return " ".join(["sense7 table", analysis.name, *words])


def _download(analysis: Analysis, findings: Findings) -> None:
    if not findings.figures:
        st.caption("There is no figure here; the table is under Data.")
    for name, drawing in findings.figures.items():
        with st.container(horizontal=True, vertical_alignment="center"):
            st.markdown(plain(analysis.figures.get(name, name)), width="content")
            for format, mime in (("html", "text/html"), ("json", "application/json")):
                st.download_button(
                    format.upper(),
                    partial(_figure_file, drawing, format),
                    f"{file_stem(name)}.{format}",
                    mime,
                    key=f"{format}.{name}",
                    on_click="ignore",
                    icon=":material/download:",
                )


def _figure_file(drawing: Drawing, format: str) -> str:
    """Return a figure as a page of its own that needs no network, or as Plotly's JSON."""
    from dashboard.figures.template import Template

    figure = drawing.figure(Template(synthetic=cache.database().synthetic, width=900))
    return str(figure.to_html(include_plotlyjs=True) if format == "html" else figure.to_json())


def _link(analysis: Analysis) -> None:
    st.code(link_to(analysis), language=None, wrap_lines=True)
    st.caption("It opens this page with these filters and settings, at this question.")


def link_to(analysis: Analysis) -> str:
    """Return the address of this view, with its filters and parameters, at this analysis."""
    here = urlsplit(st.context.url or "")
    query = urlencode(address.query_pairs())
    base = f"{here.scheme}://{here.netloc}" if here.netloc else ""
    return f"{base}{here.path or '/'}{'?' + query if query else ''}#{analysis.name}"
