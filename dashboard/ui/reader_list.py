"""The list of conversations, and their export."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any, cast

import streamlit as st

from dashboard.analyses import analysis
from dashboard.analyses.findings import Findings, Selection
from dashboard.transcripts import MOST_CONVERSATIONS, conversations_jsonl, convokit_corpus, read_conversations
from dashboard.ui import address, cache, panels
from dashboard.ui.reader_state import choose, redraw_if_chosen
from dashboard.vocabulary import column, plural

if TYPE_CHECKING:
    import pandas as pd

TABLE = "reader.list"
MOST_ROWS, PAGE_ROWS = 5_000, 1_000
_FIRST, _LISTED = "reader.list_from", "reader.listed"
_COUNTED = ("turns", "n_rated", "lowest_turn", "drop_turn", "breakdowns", "desired_empathy")


def show_list(findings: Findings, selection: Selection) -> None:
    """Draw the list; a click opens a conversation below."""
    asked = (selection, address.parameters(analysis("conversations")))
    if st.session_state.get(_LISTED) != asked:
        # Another list begins at its first row.
        st.session_state[_LISTED], st.session_state[_FIRST] = asked, 0
    everything = findings.table
    everyone = everything["conversation"].tolist()
    frame = _window(everything)
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
        _save(everyone, selection)
        _pages(len(everything))
    redraw_if_chosen()


def _window(frame: pd.DataFrame) -> pd.DataFrame:
    """Return the part of a long list that is shown: rows that can be chosen are all sent to the browser."""
    if len(frame) <= MOST_ROWS:
        return frame
    first = min(st.session_state.get(_FIRST, 0), (len(frame) - 1) // PAGE_ROWS * PAGE_ROWS)
    return frame.iloc[first : first + PAGE_ROWS]


def _pages(n_rows: int) -> None:
    """Draw the steps through a list that is too long to be sent whole."""
    if n_rows <= MOST_ROWS:
        return
    first = min(st.session_state.get(_FIRST, 0), (n_rows - 1) // PAGE_ROWS * PAGE_ROWS)
    for label, target in (("Earlier rows", first - PAGE_ROWS), ("Later rows", first + PAGE_ROWS)):
        st.button(label, key=f"list.{label}", disabled=not 0 <= target < n_rows, on_click=_show_from, args=(target,))
    last = min(n_rows, first + PAGE_ROWS)
    st.caption(f"Rows {first + 1:,}–{last:,} of {n_rows:,} in the order above; a heading sorts these.", width="content")


def _show_from(first: int) -> None:
    st.session_state[_FIRST] = first


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
