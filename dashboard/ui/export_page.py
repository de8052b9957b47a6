"""What the page Export draws: the basket's list, the making of its zip, and the texts to copy."""

from __future__ import annotations

import io
import zipfile
from collections.abc import Sequence
from functools import partial

import streamlit as st

from dashboard.analyses import registry
from dashboard.analyses.findings import Findings, Parameters, Selection
from dashboard.export.basket import Entry, Settings, basket_zip, needs_browser, numbered
from dashboard.export.provenance import given_parameters
from dashboard.ui import cache, export_basket
from dashboard.ui.export_basket import Collected, collected
from dashboard.ui.export_job import Job, Progress
from dashboard.ui.export_settings import choose_settings, missing_browser
from dashboard.ui.text import plain
from dashboard.vocabulary import plural

_JOB = "export_job"


def show_export() -> None:
    """Draw the basket, how it is to be written, and its zip."""
    basket = collected()
    if not basket:
        _nothing_yet()
        return
    _list(basket)
    st.header("How to write it", anchor="settings")
    settings = choose_settings()
    _make([one.entry for one in basket], settings)


def _nothing_yet() -> None:
    st.info(
        "Nothing is in the export yet. Below every analysis on the other pages, **Add to export** puts its figures and "
        "tables here, each with the filters and settings that it was seen with.",
        icon=":material/add_shopping_cart:",
    )
    st.markdown("Everything at once, without collecting:")
    st.code("sense7 export out --formats pdf,csv,docx", language="bash")


def _list(basket: Sequence[Collected]) -> None:
    st.header("Figures and tables", anchor="basket")
    _if_data_changed(basket)
    labels = numbered([one.entry for one in basket])
    for place, (one, (label, _)) in enumerate(zip(basket, labels, strict=True)):
        with st.container(border=True, key=f"entry-{one.number}", gap="small"):
            _head(one, label, first=place == 0, last=place == len(basket) - 1)
            st.caption(_what(one.entry))
    with st.container(horizontal=True, vertical_alignment="center"):
        st.button("Empty the export", key="export.empty", type="tertiary", on_click=export_basket.empty)
        st.caption("It is kept until this browser tab is closed or reloaded.")


def _head(one: Collected, label: str, *, first: bool, last: bool) -> None:
    """Draw an entry's label, name, and the buttons that move it and take it out."""
    key = f"export.title.{one.number}"
    with st.container(horizontal=True, vertical_alignment="center", gap="small"):
        st.markdown(f"**{label}**", width=80)
        st.session_state.setdefault(key, one.entry.title)
        st.text_input(
            f"Name of {label}",
            key=key,
            max_chars=80,
            placeholder=one.entry.part,
            label_visibility="collapsed",
            on_change=_rename,
            args=(one.number, key),
        )
        for name, icon, call, disabled in (
            ("up", "arrow_upward", partial(export_basket.move, one.number, -1), first),
            ("down", "arrow_downward", partial(export_basket.move, one.number, 1), last),
            ("remove", "delete", partial(export_basket.remove, one.number), False),
        ):
            words = "Take out" if name == "remove" else f"Move {name}"
            st.button(
                f":material/{icon}:",
                key=f"export.{name}.{one.number}",
                help=f"{words}: {label}",
                on_click=call,
                disabled=disabled,
            )


def _rename(number: int, key: str) -> None:
    export_basket.rename(number, str(st.session_state.get(key) or ""))


def _what(entry: Entry) -> str:
    """Return what an entry shows, of which question, and with which filters and settings."""
    analysis = registry()[entry.analysis]
    shows = (analysis.figures if entry.kind == "figure" else analysis.tables).get(entry.part, entry.part)
    given = given_parameters(entry.selection, entry.chosen)
    with_ = ", ".join(f"{key} = {value}" for key, value in given) or "all conversations, settings as they come"
    return plain(f"{shows.rstrip('.')} · {analysis.page}: {analysis.question} · {with_}")


def _if_data_changed(basket: Sequence[Collected]) -> None:
    now = cache.data_key(cache.database())
    n_old = sum(one.data != now for one in basket)
    if n_old:
        st.warning(
            f"The data was replaced since {plural(n_old, 'entry was', 'entries were')} added. The export is made from the "
            "present data."
        )


def _make(entries: list[Entry], settings: Settings) -> None:
    """Draw the button that makes the zip, its progress, or the zip itself."""
    data = cache.database()
    key = (tuple(entries), settings, cache.data_key(data), data.public)
    job: Job | None = st.session_state.get(_JOB)
    if job is not None and job.key != key:
        job.stop()
        job = st.session_state[_JOB] = None
    if job is not None and job.running:
        st.fragment(_progress, run_every=0.5)(job)
        return
    if job is not None and job.result is not None:
        _ready(job.result, synthetic=data.synthetic)
        return
    if job is not None and job.refusal:
        st.info(plain(job.refusal))
    lacking = needs_browser(entries, settings) and bool(missing_browser())
    st.button(
        f"Make the zip of {plural(len(entries), 'entry', 'entries')}",
        key="export.make",
        type="primary",
        icon=":material/folder_zip:",
        on_click=_start,
        args=(key, entries, settings),
        disabled=lacking,
    )


def _start(key: object, entries: list[Entry], settings: Settings) -> None:
    data = cache.database()

    def run(name: str, selection: Selection, chosen: Parameters) -> Findings:
        return cache.analyse(name, selection, chosen)

    def work(progress: Progress) -> bytes:
        return basket_zip(data, entries, settings, run=run, progress=progress)

    st.session_state[_JOB] = Job(key, work)


def _progress(job: Job) -> None:
    """Say what is being made; redraw the page when it is over."""
    if not job.running:
        st.rerun()
    with st.container(key="export_progress"):
        st.progress(min(1.0, job.done / max(job.total, 1)), text=plain(f"{job.done} of {job.total}: {job.what}"))
        st.button("Stop", key="export.stop", icon=":material/stop:", on_click=_stop, args=(job,))


def _stop(job: Job) -> None:
    job.stop()
    st.session_state[_JOB] = None


def _ready(content: bytes, *, synthetic: bool) -> None:
    """Draw the button that saves the zip, and its captions and methods to copy."""
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        n_files = len(archive.namelist())
        texts = {name: archive.read(name).decode("utf-8") for name in ("captions.md", "methods.md")}
    with st.container(horizontal=True, vertical_alignment="center"):
        st.download_button(
            "Save the zip",
            content,
            f"sense7_export{'_SYNTHETIC' if synthetic else ''}.zip",
            "application/zip",
            key="export.save",
            type="primary",
            icon=":material/download:",
            on_click="ignore",
        )
        st.caption(f"{plural(n_files, 'file')}, {max(1, round(len(content) / 1024)):,} kB.")
    for label, name in (("Captions", "captions.md"), ("Methods", "methods.md")):
        with st.expander(f"{label}, to copy"):
            st.code(texts[name], language=None, wrap_lines=True)
