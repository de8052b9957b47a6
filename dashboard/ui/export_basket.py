"""The basket of a session: what was added to the export, in which order and under which names."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass

import streamlit as st

from dashboard.analyses.findings import Analysis, Findings, Parameters, Selection
from dashboard.export.basket import Entry
from dashboard.ui import address, cache
from dashboard.ui.text import plain
from dashboard.vocabulary import plural

MOST = 100
PAGE = "Export"
_BASKET = "export_basket"
_COUNTER = "export_counter"
_SAID = "export_said"


@dataclass(frozen=True)
class Collected:
    """An entry with a number that stays its own, and the data that it was seen in."""

    number: int
    entry: Entry
    data: str


def collected() -> list[Collected]:
    """Return what is in the basket, in its order."""
    return list(st.session_state.get(_BASKET, []))


def add(entries: list[Entry]) -> None:
    """Put entries at the end of the basket; what is in it already stays where it is."""
    basket = collected()
    known = [dataclasses.replace(one.entry, title="") for one in basket]
    fresh = [one for one in entries if one not in known]
    taken = fresh[: MOST - len(basket)]
    key = cache.data_key(cache.database())
    for one in taken:
        st.session_state[_COUNTER] = st.session_state.get(_COUNTER, 0) + 1
        basket.append(Collected(st.session_state[_COUNTER], one, key))
    st.session_state[_BASKET] = basket
    st.session_state[_SAID] = _told(len(taken), len(fresh), len(entries))


def _told(n_taken: int, n_fresh: int, n_asked: int) -> str:
    if n_taken < n_fresh:
        return f"{n_taken} added; the export holds at most {MOST}. Save it and empty it first."
    if not n_fresh:
        return "In the export already, with these filters and settings."
    return f"{n_taken} added." + (f" {n_asked - n_fresh} were there already." if n_asked > n_fresh else "")


def move(number: int, by: int) -> None:
    """Move an entry up (-1) or down (1)."""
    basket = collected()
    here = next(place for place, one in enumerate(basket) if one.number == number)
    there = min(max(here + by, 0), len(basket) - 1)
    basket.insert(there, basket.pop(here))
    st.session_state[_BASKET] = basket


def remove(number: int) -> None:
    """Take an entry out."""
    st.session_state[_BASKET] = [one for one in collected() if one.number != number]


def empty() -> None:
    """Take every entry out."""
    st.session_state[_BASKET] = []


def rename(number: int, title: str) -> None:
    """Give an entry a name; an empty one gives it its own again."""
    st.session_state[_BASKET] = [
        dataclasses.replace(one, entry=dataclasses.replace(one.entry, title=title.strip()))
        if one.number == number
        else one
        for one in collected()
    ]


def offer_to_basket(analysis: Analysis, findings: Findings, selection: Selection, chosen: Parameters) -> None:
    """Draw the panel that adds figures and tables of an analysis, as they are shown now."""
    asked = Selection() if analysis.whole_data else selection
    offered = {
        **{("figure", name): f"Figure: {analysis.figures.get(name) or name}" for name in findings.figures},
        **{("table", name): f"Table: {analysis.tables.get(name) or name}" for name in findings.tables},
    }
    picked = st.pills(
        "What to add",
        list(offered),
        selection_mode="multi",
        default=[one for one in offered if one[0] == "figure" or one[1] == analysis.name],
        format_func=lambda one: plain(offered[one]),
        key=f"add.{analysis.name}",
        help="As it stands here: with these filters and settings, whatever is filtered later.",
    )
    entries = [Entry(analysis.name, kind, part, asked, chosen) for kind, part in picked or ()]
    with st.container(horizontal=True, vertical_alignment="center"):
        st.button(
            "Add",
            key=f"add_now.{analysis.name}",
            type="primary",
            icon=":material/add:",
            on_click=add,
            args=(entries,),
            disabled=not entries,
        )
        said = st.session_state.pop(_SAID, "")
        st.caption(f"{said} {plural(len(collected()), 'entry', 'entries')} in the export.".strip())
        pages = dict(address.existing_pages())
        st.page_link(
            str(pages[PAGE]),
            label="Open the export",
            icon=":material/arrow_forward:",
            query_params=address.query_pairs(PAGE),
        )
