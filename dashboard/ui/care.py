"""The printed box of caveats that closes a page: what holds for all ratings, and which tests the page makes."""

import streamlit as st

ANCHOR = ("care", "Read with care")
_ALWAYS = (
    "Ratings and answers are ordinal and treated as interval; the ordinal check of the page Mixed models stands beside.",
    "People chose their tasks, and answered desired, experienced and satisfaction themselves: nothing here is causal.",
    "People contribute unequally many conversations and turns; intervals and tests take the participant as the unit.",
    "Ratings crowd at the upper end of their scale, and *not applicable* is not random: it goes with task and dimension.",
)


def show_care(tests: str) -> None:
    """Draw the box.

    Parameters
    ----------
    tests
        How many tests the page makes, which it is for, and how p is adjusted. Markdown; no text from data.
    """
    _, title = ANCHOR
    st.header(title, anchor=ANCHOR[0])
    with st.container(border=True, key="caveats"):
        st.markdown("\n".join(f"- {text}" for text in (*_ALWAYS, tests)))
