"""Which conversation and which turn the reader shows; the choice stands in the address."""

from __future__ import annotations

import streamlit as st

from dashboard.analyses.transcript import ANALYSIS
from dashboard.ui import address, panels

PAGE_TURNS = 20
_REDRAW = "reader.redraw"


def choose(conversation: str, turn: int | None = None) -> None:
    """Show a conversation, at one of its turns."""
    st.session_state["conversation"] = conversation
    st.session_state["turn"] = turn
    st.session_state[_REDRAW] = True


def redraw_if_chosen() -> None:
    """Redraw the page when a choice was made in one question that another one shows."""
    if st.session_state.pop(_REDRAW, False):
        st.rerun()


def forget_redraw() -> None:
    """The whole page is being drawn: nothing is left to redraw."""
    st.session_state.pop(_REDRAW, None)


def open_in_reader(conversation: str, turn: int | None = None) -> None:
    """Leave this page for the conversation, at one of its turns."""
    choose(conversation, turn)
    st.switch_page(dict(address.existing_pages())["Conversations"])


def link_to_turn(turn: int) -> str:
    """Return the address of the conversation that is shown, at its chosen turn."""
    return f"{panels.link_to(ANALYSIS).rsplit('#', 1)[0]}#turn-{turn}"


def page_of_turn(turn: int | None) -> int:
    """Return which page of turns, from 0, holds a turn; the first unless one is chosen."""
    return 0 if turn is None else (turn - 1) // PAGE_TURNS
