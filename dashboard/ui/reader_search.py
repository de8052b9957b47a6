"""The search in messages: the first hits as soon as they are known, the count of all when it is there."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any, cast

import streamlit as st

from dashboard.analyses import analysis
from dashboard.analyses.findings import Selection
from dashboard.analyses.message_search import ANY, Listener, SearchParameters, find_hits, roles_of, search
from dashboard.database import Database
from dashboard.ui import address, cache, panels
from dashboard.ui.memory import is_held
from dashboard.ui.reader_state import choose, redraw_if_chosen
from dashboard.ui.reader_text import show_literal
from dashboard.ui.show import guarded
from dashboard.ui.text import plain, printable
from dashboard.vocabulary import plural

if TYPE_CHECKING:
    import pandas as pd
    from streamlit.delta_generator import DeltaGenerator

HITS = 10
_FEW_ROLES = 5


@st.fragment
def show_search(selection: Selection) -> None:
    """Draw the search as every question is drawn, but its first hits before all are counted.

    The places of the finding and of the hits are kept, so that nothing moves while they are filled.
    """
    one = analysis("message_search")
    with st.container(key=f"analysis-{one.name}", gap="small"):
        # A hit that is chosen while all are counted is shown at once.
        redraw_if_chosen()
        st.header(one.question, anchor=one.name)
        said, asked, listed = st.empty(), st.container(), st.container(gap="small")
        with guarded(one.question) as failed:
            sought = cast("SearchParameters", address.parameters(one))
            if not cache.database().public:
                with asked:
                    _controls()
            search(cache.database(), selection, sought, _listener(sought, said, listed))
            findings = cache.analyse(one.name, selection, sought)
            said.markdown(plain(findings.headline))
        if failed:
            said.empty()
        else:
            panels.show_quiet_row(one, findings, selection, sought)
        address.write_address()


def _controls() -> None:
    """Draw what is sought and where; the roles are those of the data."""
    one = analysis("message_search")
    about = {name: item.metadata for name, item in one.parameter_fields().items()}
    keys = {name: address.parameter_key(one, name) for name in about}
    for name, default in address.parameter_defaults(one).items():
        st.session_state.setdefault(name, default)
    with st.container(horizontal=True, vertical_alignment="bottom", gap="medium"):
        st.text_input(
            about["text"]["label"], key=keys["text"], help=about["text"]["help"], width=240, persist_state="session"
        )
        st.toggle(about["match_case"]["label"], key=keys["match_case"], persist_state="session")
        st.toggle(
            about["whole_word"]["label"],
            key=keys["whole_word"],
            help=about["whole_word"]["help"],
            persist_state="session",
        )
        _roles(keys["role"], about["role"]["label"])


def _roles(key: str, label: str) -> None:
    roles = _roles_of_data(cache.database(), cache.data_key(cache.database()))
    # What a link asks for in vain stays to be seen, beside what there is.
    choices = list(dict.fromkeys([ANY, *roles, st.session_state[key]]))
    if len(choices) <= _FEW_ROLES:
        st.segmented_control(label, choices, key=key, required=True, format_func=_role_name, persist_state="session")
    else:
        st.selectbox(label, choices, key=key, format_func=_role_name, width=240, persist_state="session")


@st.cache_resource(max_entries=4, show_spinner=False)
def _roles_of_data(_data: Database, key: str) -> list[str]:
    return roles_of(_data)


def _role_name(role: str) -> str:
    return plain(printable(role))


def _listener(sought: SearchParameters, said: DeltaGenerator, listed: DeltaGenerator) -> Listener:
    """Return what draws the hits when they are there and, in large data, how far the search is."""
    n_messages = int(cache.database().manifest["counts"]["messages"])

    def show(what: str, share: float) -> None:
        if not is_held(cache.database()):
            said.progress(share, text=f"{what} {plain(f'“{sought.text[:80]}”')} in {n_messages:,} messages")

    return Listener(
        searching=partial(show, "Looking for the first"),
        found=lambda hits: _show_hits(hits, sought, listed),
        counting=partial(show, "Counting every"),
    )


def _show_hits(hits: pd.DataFrame, sought: SearchParameters, place: DeltaGenerator) -> None:
    """Draw the hits of a search, each with a button that opens its turn."""
    shown = st.session_state.get("search.shown", HITS)
    with place:
        for row in hits.head(shown).to_dict("records"):
            _hit(row, sought)
        if len(hits) > shown:
            st.button(f"{min(HITS, len(hits) - shown)} more", key="search.more", on_click=_show_more)


def _hit(row: dict[str, Any], sought: SearchParameters) -> None:
    turn = None if row["near_turn"] != row["near_turn"] else int(row["near_turn"])
    with st.container(horizontal=True, vertical_alignment="top", gap="small"):
        st.button(
            plain(f"{row['conversation']} · turn {turn}" if turn else row["conversation"]),
            key=f"hit.{row['conversation']}.{row['message']}",
            type="tertiary",
            help=f"{plain(row['role'])}, {plural(int(row['n_hits']), 'hit')}: read it there",
            on_click=choose,
            args=(row["conversation"], turn),
        )
        with st.container(width=640):
            show_literal(row["text"], find_hits(row["text"], sought))


def _show_more() -> None:
    st.session_state["search.shown"] = st.session_state.get("search.shown", HITS) + HITS
