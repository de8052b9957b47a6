"""The list of conversations, and their export."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any, cast

import streamlit as st

from dashboard.analyses.findings import Findings, Selection
from dashboard.transcripts import MOST_CONVERSATIONS, conversations_jsonl, convokit_corpus, read_conversations
from dashboard.ui import cache, panels
from dashboard.ui.reader_state import choose, redraw_if_chosen
from dashboard.ui.tables import LAZY_ROWS
from dashboard.vocabulary import column, plural

if TYPE_CHECKING:
    import pandas as pd

TABLE = "reader.list"
_COUNTED = ("turns", "n_rated", "lowest_turn", "drop_turn", "breakdowns", "desired_empathy")


def show_list(findings: Findings, selection: Selection) -> None:
    """Draw the list; a click opens a conversation below."""
    frame = findings.table
    ids = frame["conversation"].tolist()

    def follow() -> None:
        chosen = st.session_state[TABLE].selection
        rows = [*chosen.rows, *(cell[0] for cell in chosen.cells)]
        if rows:
            choose(ids[int(rows[0])])

    st.dataframe(
        frame,
        column_config=_columns(frame),
        hide_index=True,
        height="auto" if len(frame) <= 8 else 318,
        lazy=True if len(frame) > LAZY_ROWS else None,
        key=TABLE,
        on_select=follow,
        selection_mode=["single-row", "single-cell"],
        alt="Conversations with their ratings; choose one to read it",
    )
    with st.container(horizontal=True, vertical_alignment="bottom", gap="medium"):
        st.text_input(
            "Open by id",
            key="reader.id",
            placeholder=ids[0],
            width=220,
            on_change=_open_typed,
            help="Or click a cell of the list.",
        )
        _save(ids, selection)
    redraw_if_chosen()


def _open_typed() -> None:
    typed = st.session_state.get("reader.id", "").strip()
    if typed:
        choose(typed)
        st.session_state["reader.id"] = ""


def _columns(frame: pd.DataFrame) -> dict[str, Any]:
    configs: dict[str, Any] = {}
    for name in frame.columns:
        entry = column(str(name))
        if frame[name].dtype.kind in "iuf":
            form = "%d" if name in _COUNTED else "%.2f"
            configs[str(name)] = st.column_config.NumberColumn(entry.label, help=entry.help or None, format=form)
        else:
            configs[str(name)] = st.column_config.TextColumn(entry.label, help=entry.help or None)
    return configs


def _save(ids: list[str], selection: Selection) -> None:
    """Draw the downloads of the conversations in the list."""
    with st.popover(f"Save {plural(len(ids), 'conversation')}", icon=":material/download:"):
        if len(ids) > MOST_CONVERSATIONS:
            st.caption(f"At most {MOST_CONVERSATIONS:,} conversations can be saved at once. Filter them first.")
            return
        for label, name, mime, make in (
            ("JSON lines", panels.file_stem("conversations") + ".jsonl", "application/jsonl", _jsonl),
            ("ConvoKit corpus", panels.file_stem("convokit_corpus") + ".zip", "application/zip", _corpus),
        ):
            st.download_button(
                label,
                cast("Callable[[], bytes]", partial(make, ids, selection)),
                name,
                mime,
                key=f"save.{label}",
                on_click="ignore",
                icon=":material/download:",
            )
        hidden = " Texts and comments are hidden here and left out." if cache.database().public else ""
        st.caption(f"One conversation a line with role, content and ratings; or a folder that ConvoKit loads.{hidden}")


def _records(ids: list[str], selection: Selection) -> list[dict[str, Any]]:
    # The list counted rated turns of its own outcome already; the ids say which are left.
    chosen = selection.query_parameters() | {"min_rated_turns": None}
    return read_conversations(cache.database(), chosen, conversations=ids)


def _jsonl(ids: list[str], selection: Selection) -> bytes:
    return conversations_jsonl(_records(ids, selection))


def _corpus(ids: list[str], selection: Selection) -> bytes:
    data = cache.database()
    about = {key: data.manifest.get(key) for key in ("title", "synthetic", "data_sha256", "licence", "citation")}
    return convokit_corpus(_records(ids, selection), about=about, name=panels.file_stem("sense7"), public=data.public)
