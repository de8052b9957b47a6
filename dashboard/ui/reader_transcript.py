"""The reader: one conversation with its ratings, its answers, and the way to the next one."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

import streamlit as st

from dashboard.analyses import analysis
from dashboard.analyses.findings import Findings, Selection
from dashboard.analyses.message_search import SearchParameters
from dashboard.transcripts import read_conversations
from dashboard.ui import address, cache
from dashboard.ui.reader_levels import show_levels
from dashboard.ui.reader_messages import Reading, show_chosen, show_messages
from dashboard.ui.reader_state import PAGE_TURNS, choose, page_of_turn
from dashboard.ui.show import CHART_OPTIONS, screen_template
from dashboard.ui.text import plain
from dashboard.vocabulary import NotInThisData, Refused

if TYPE_CHECKING:
    import pandas as pd

CHAT, RAW = "Chat", "Raw"


def show_transcript(findings: Findings, selection: Selection) -> None:
    """Draw the conversation that was found."""
    card = findings.tables["transcript.card"].iloc[0]
    messages = findings.table
    name, n_turns = str(card["conversation"]), int(card["turns"])
    turn = st.session_state.get("turn")
    turn = turn if turn is not None and turn <= n_turns else None
    _steps(name, turn, _listed(selection), _breakdowns(messages))
    sought = cast("SearchParameters", address.parameters(analysis("message_search")))
    reading = Reading(_scaled(findings.tables["transcript.ratings"]), turn, sought, cache.database().public)
    course, answers = st.columns([5, 2], gap="medium")
    with course:
        _course(findings, name)
        if turn is not None:
            show_chosen(messages, turn, reading)
    with answers:
        _answers(findings.tables["transcript.answers"])
    page = page_of_turn(turn)
    first = page * PAGE_TURNS + 1
    with st.container(horizontal=True, vertical_alignment="center", gap="medium"):
        view = st.segmented_control(
            "View", [CHAT, RAW], key="reader.view", default=CHAT, required=True, label_visibility="collapsed"
        )
        _pages(name, page, n_turns)
    if view == RAW:
        _raw(name, first)
        return
    shown = (
        messages if n_turns <= PAGE_TURNS else messages[messages["near_turn"].between(first, first + PAGE_TURNS - 1)]
    )
    with st.container(key="transcript-messages", gap="medium"):
        show_messages(shown, reading)


def _listed(selection: Selection) -> list[str]:
    """Return the ids of the list above, in its order."""
    one = analysis("conversations")
    try:
        return cache.analyse(one.name, selection, address.parameters(one)).table["conversation"].tolist()
    except Refused:
        return []


def _breakdowns(messages: pd.DataFrame) -> list[int]:
    return [int(turn) for turn in messages.loc[messages["is_breakdown"], "turn"]]


def _steps(name: str, turn: int | None, listed: list[str], broken: list[int]) -> None:
    """Draw the buttons to the neighbours, with their keys."""
    at = listed.index(name) if name in listed else None
    earlier = listed[at - 1] if at else None
    later = (listed[0] if listed else None) if at is None else next(iter(listed[at + 1 : at + 2]), None)
    before = [one for one in broken if turn is None or one < turn] if turn is not None else []
    after = [one for one in broken if turn is None or one > turn]
    with st.container(horizontal=True, vertical_alignment="center", gap="small", key="reader-steps"):
        _step("Previous conversation", "K", earlier, None)
        _step("Next conversation", "J", later, None)
        _step("Previous breakdown", "P", name if before else None, before[-1] if before else None)
        _step("Next breakdown", "N", name if after else None, after[0] if after else None)
        place = "not in the list above" if at is None else f"{at + 1:,} of {len(listed):,}"
        st.caption(place, width="content")


def _step(label: str, key: str, conversation: str | None, turn: int | None) -> None:
    st.button(
        label,
        key=f"step.{key}",
        shortcut=key,
        disabled=conversation is None,
        on_click=choose,
        args=(conversation, turn),
    )


def _course(findings: Findings, name: str) -> None:
    drawing = findings.figures.get("transcript")
    if drawing is None:
        if cache.outcomes():
            st.caption("No turn of this conversation is rated.")
        else:
            st.info(str(NotInThisData("turn ratings. What was said can be read all the same.")))
        return
    key = "figure.transcript"

    def follow() -> None:
        points = st.session_state[key].selection.points
        if points and points[0].get("customdata"):
            choose(name, int(_first(points[0]["customdata"])))

    st.plotly_chart(
        drawing.figure(screen_template()),
        theme=None,
        width="stretch",
        key=key,
        on_select=follow,
        selection_mode="points",
        alt=drawing.alt,
        config=CHART_OPTIONS,
    )


def _first(cell: Any) -> Any:
    return cell[0] if isinstance(cell, list | tuple) else cell


def _answers(answers: pd.DataFrame) -> None:
    for phase, title in (("pre", "Before"), ("post", "After")):
        part = answers[answers["phase"] == phase]
        if part.empty:
            continue
        st.caption(title)
        show_levels(part.assign(label=part["label"].str.removesuffix(" (after)")))


def _pages(name: str, page: int, n_turns: int) -> None:
    """Draw the steps between pages of turns, where there is more than one."""
    last = page_of_turn(max(1, n_turns))
    if not last:
        return
    for label, target in (("Earlier turns", page - 1), ("Later turns", page + 1)):
        st.button(
            label,
            key=f"page.{label}",
            disabled=not 0 <= target <= last,
            on_click=choose,
            args=(name, target * PAGE_TURNS + 1),
        )
    st.caption(f"Turns {page * PAGE_TURNS + 1}–{min(n_turns, (page + 1) * PAGE_TURNS)} of {n_turns:,}", width="content")


def _scaled(ratings: pd.DataFrame) -> pd.DataFrame:
    """Add label and scale of each outcome; the derived mean of the dimensions is not what the rater gave."""
    scales = cache.scales()
    given = scales.loc[scales["score"] != "turn_mean", ["measure", "label", "minimum", "maximum"]]
    return ratings.merge(given, left_on="outcome", right_on="measure", how="inner")


def _raw(name: str, first: int) -> None:
    """Draw the page's messages as they are exported."""
    import json

    record = read_conversations(cache.database(), {"conversation": name})[0]
    last, at, kept = first + PAGE_TURNS - 1, 1, []
    for said in record["messages"]:
        if first <= at <= last:
            kept.append(said)
        at = at if said["turn"] is None else said["turn"] + 1
    st.code(json.dumps(record | {"messages": kept}, ensure_ascii=False, indent=1), language=None, wrap_lines=True)
    st.caption(f"Conversation {plain(name)} as it is exported.")
