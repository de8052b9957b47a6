"""Choosing a person by a click on a figure: their profile follows, and the address says who."""

from __future__ import annotations

import dataclasses
from typing import Any

import streamlit as st

from dashboard.analyses.findings import Drawing, Findings
from dashboard.analyses.participant_profile import NAME as PROFILE
from dashboard.ui.show import screen_template

PERSON = f"{PROFILE}.person"
_FIGURE = "figure.participant_ratings"
_CLICKED = "people.clicked"


def show_people(findings: Findings) -> None:
    """Draw the figure of all participants; a click on one chooses them for the profile below."""
    for name, drawing in findings.figures.items():
        chosen = st.session_state.get(PERSON)
        shown = _with_chosen(drawing, chosen)
        # The id is kept in the key: a figure that changes forgets its selection, and so asks no second time.
        key = f"{_FIGURE}.{name}.{chosen}"
        st.plotly_chart(
            shown.figure(screen_template()),
            theme=None,
            width="stretch",
            key=key,
            alt=findings.headline,
            on_select=lambda key=key: _choose(key),
            selection_mode="points",
            config={"displaylogo": False, "displayModeBar": False, "responsive": True, "scrollZoom": False},
        )
    st.caption("Click on a participant: how they rate follows below.")
    if st.session_state.pop(_CLICKED, False):
        # The profile stands outside this fragment.
        st.rerun()


def _with_chosen(drawing: Drawing, chosen: str | None) -> Drawing:
    return dataclasses.replace(drawing, arguments={**drawing.arguments, "chosen": chosen})


def _choose(key: str) -> None:
    """Take the person of the point that was clicked into the session, from where address and profile read them."""
    person = clicked_person(st.session_state.get(key))
    if person is not None and person != st.session_state.get(PERSON):
        st.session_state[PERSON] = person
        st.session_state[_CLICKED] = True


def clicked_person(event: Any) -> str | None:
    """Return the id behind the last point of a selection event, or None where it holds none."""
    points = (event or {}).get("selection", {}).get("points", [])
    for point in reversed(points):
        data = point.get("customdata")
        if data:
            first = data[0] if isinstance(data, list | tuple) else data.get("0") if isinstance(data, dict) else data
            return str(first).replace("&lt;", "<").replace("&gt;", ">").replace("&amp;", "&")
    return None
