"""The messages of one page of a transcript, as a chat: what was said, when, and beside each turn how it was rated."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import streamlit as st

from dashboard.analyses.message_search import SearchParameters, find_hits
from dashboard.analyses.transcript import is_retry
from dashboard.ui.reader_levels import show_levels
from dashboard.ui.reader_state import choose, link_to_turn
from dashboard.ui.reader_text import clock, show_literal
from dashboard.ui.text import plain

if TYPE_CHECKING:
    import pandas as pd

AVATARS = {"user": ":material/person:", "assistant": ":material/smart_toy:", "error": ":material/error:"}
LONG, LONG_LINES = 1_200, 16
NAMES = {"user": "Participant", "assistant": "Assistant", "error": "Error", "system": "System", "tool": "Tool"}


@dataclass(frozen=True)
class Reading:
    """What the messages of a page are drawn with.

    Attributes
    ----------
    ratings
        Ratings of the conversation with their scale: turn, label, value, answer, minimum, maximum.
    turn
        The chosen turn.
    sought
        What is searched, whose hits are marked.
    public
        Whether texts are hidden.
    """

    ratings: pd.DataFrame
    turn: int | None
    sought: SearchParameters
    public: bool


def show_messages(messages: pd.DataFrame, reading: Reading) -> None:
    """Draw messages in their order."""
    for row in messages.to_dict("records"):
        if row["turn"] == row["turn"] and row["turn"] is not None:
            _turn(row, int(row["turn"]), reading)
        else:
            with _bubble(row["role"]):
                st.caption(_head(row))
                _said(row, reading)


def _bubble(role: str) -> Any:
    return st.chat_message(
        role if role in ("user", "assistant") else "other", avatar=AVATARS.get(role, ":material/chat_bubble:")
    )


def _turn(row: dict[str, Any], turn: int, reading: Reading) -> None:
    is_chosen = turn == reading.turn
    with (
        st.container(border=is_chosen, key=f"{'chosen-' if is_chosen else ''}turn-{turn}", gap="small"),
        _bubble(row["role"] if row["role"] != "user" else "assistant"),
    ):
        with st.container(horizontal=True, vertical_alignment="center", gap="small"):
            st.subheader(f"Turn {turn}", anchor=f"turn-{turn}", width="content")
            st.markdown(f":gray[:small[{_head(row)}]] {_marks(row, is_chosen=is_chosen)}", width="content")
            if not is_chosen:
                st.button(
                    "Choose",
                    key=f"choose.{turn}",
                    type="tertiary",
                    icon=":material/link:",
                    help=f"Mark turn {turn} and link to it",
                    on_click=choose,
                    args=(row["conversation"], turn),
                )
        _reply(row, turn, reading)


def show_chosen(messages: pd.DataFrame, turn: int, reading: Reading) -> None:
    """Draw the chosen turn by itself, with what led to it: it is seen where it was chosen, without a search down the page.

    Parameters
    ----------
    messages
        The messages of the conversation.
    turn, reading
        Which turn, and what messages are drawn with.
    """
    reply = messages[messages["turn"] == turn].to_dict("records")[0]
    led = messages[(messages["near_turn"] == turn) & (messages["message"] < reply["message"])]
    with st.container(border=True, key="chosen-turn", gap="small"):
        for row in led.to_dict("records"):
            with _bubble(row["role"]):
                st.caption(_head(row))
                with _window(row, reading):
                    _said(row, reading)
        with _bubble(reply["role"] if reply["role"] != "user" else "assistant"):
            st.markdown(f"**Turn {turn}** :gray[:small[{_head(reply)}]] {_marks(reply, is_chosen=True)}")
            with _window(reply, reading):
                _reply(reply, turn, reading)
        st.code(link_to_turn(turn), language=None, wrap_lines=True)
        st.markdown(f":small[[Go to turn {turn} in its place below](#turn-{turn})]")


def _window(row: dict[str, Any], reading: Reading) -> Any:
    """Return where a message of the chosen turn is drawn: a long one is scrolled, so that it does not push away the rest."""
    text = None if reading.public else row["text"]
    is_long = isinstance(text, str) and (len(text) > LONG or text.count("\n") > LONG_LINES)
    return st.container(height=320, border=False) if is_long else st.container()


def _reply(row: dict[str, Any], turn: int, reading: Reading) -> None:
    """Draw what was replied, and beside it how it was rated."""
    said, rated = st.columns([5, 3], gap="medium")
    with said:
        _said(row, reading)
    with rated:
        own = reading.ratings[reading.ratings["turn"] == turn]
        if len(own):
            show_levels(own)


def _head(row: dict[str, Any]) -> str:
    """Return who speaks, and when, as Markdown."""
    parts = [NAMES.get(row["role"]) or plain(str(row["role"]).capitalize()), clock(row["seconds"])]
    if row["turn"] != row["turn"] and is_retry(row["retry"]):
        parts.append(":orange-badge[:material/replay: Retry]")
    return " · ".join(part for part in parts if part)


def _marks(row: dict[str, Any], *, is_chosen: bool) -> str:
    marks = []
    if row["is_breakdown"]:
        marks.append(":red-badge[:material/trending_down: Breakdown]")
    if is_retry(row["retry"]):
        marks.append(":orange-badge[:material/replay: Retry]")
    if is_chosen:
        marks.append(":blue-badge[:material/location_on: Chosen]")
    return " ".join(marks)


def _said(row: dict[str, Any], reading: Reading) -> None:
    if reading.public:
        st.caption("The text is hidden here.")
        return
    text, comment = row["text"], row["comment"]
    if isinstance(text, str) and text.strip():
        show_literal(text, find_hits(text, reading.sought))
    else:
        st.caption("No text.")
    if isinstance(comment, str) and comment.strip():
        with st.container(border=True, gap="small"):
            st.caption(":material/comment: The rater's comment")
            show_literal(comment)
