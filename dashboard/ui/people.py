"""A click on a figure chooses a person, whose profile follows; from there each of their conversations opens in the reader."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, Any

import streamlit as st

from dashboard.analyses.findings import Drawing, Findings
from dashboard.analyses.participant_profile import NAME as PROFILE
from dashboard.ui.reader_state import open_in_reader
from dashboard.ui.show import CHART_OPTIONS, screen_template, show_figure
from dashboard.ui.text import plain
from dashboard.vocabulary import format_number, plural

if TYPE_CHECKING:
    import pandas as pd

PERSON = f"{PROFILE}.person"
_FIGURE = "figure.participant_ratings"
_CLICKED = "people.clicked"
_ROUND = "people.round"
# More conversations than this are chosen from a list, not each by its own button.
_BUTTONS = 40


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
            config=CHART_OPTIONS,
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


def show_person(findings: Findings) -> None:
    """Draw one person's figures; a click on a turn, or a conversation's name below, opens it in the reader."""
    template = screen_template()
    # A key of its own after each choice: whoever comes back finds nothing chosen.
    turned = st.session_state.setdefault(_ROUND, 0)
    chosen: tuple[str, int | None] | None = None
    for name, drawing in findings.figures.items():
        if name != PROFILE:
            show_figure(drawing, template, key=name)
            continue
        event = st.plotly_chart(
            drawing.figure(template),
            theme=None,
            width="stretch",
            key=f"figure.{name}.{turned}",
            alt=findings.headline,
            on_select="rerun",
            selection_mode="points",
            config=CHART_OPTIONS,
        )
        chosen = clicked_turn(event)
    listed = _list_conversations(findings.tables[f"{PROFILE}.conversations"], turned)
    chosen = chosen or listed
    if chosen is not None:
        st.session_state[_ROUND] = turned + 1
        open_in_reader(*chosen)


def _list_conversations(table: pd.DataFrame, turned: int) -> tuple[str, None] | None:
    """List a person's conversations in order; return the one that is asked for."""
    if table.empty:
        return None
    lines = {str(row.conversation): _line(row) for row in table.itertuples()}
    with st.container(key="person-conversations", gap="small"):
        st.caption("Read a conversation: choose it here, or click on one of its turns above.")
        if len(lines) > _BUTTONS:
            key = f"person.open.{turned}"
            named = st.selectbox(
                "Their conversations", list(lines), index=None, format_func=lambda one: lines[one], key=key, width=480
            )
            return None if named is None else (named, None)
        with st.container(horizontal=True, gap="small"):
            for place, (conversation, line) in enumerate(lines.items()):
                key = f"person.open.{turned}.{place}"
                if st.button(plain(conversation), key=key, type="tertiary", help=plain(line)):
                    return conversation, None
    return None


def _line(row: Any) -> str:
    task = f"{row.task} · " if isinstance(row.task, str) else ""
    mean = format_number(float(row.mean), "rating")
    return f"{row.conversation} · {task}{plural(int(row.n_turns), 'rated turn')}, mean {mean}"


def clicked_turn(event: Any) -> tuple[str, int] | None:
    """Return conversation and turn behind the last point of a selection event, or None where it holds none."""
    points = (event or {}).get("selection", {}).get("points", [])
    for point in reversed(points):
        values = _custom(point)
        if len(values) > 2:
            return unescape(values[0]), int(values[2])
    return None


def _custom(point: Any) -> list[Any]:
    data = point.get("customdata")
    if isinstance(data, dict):
        return [data[key] for key in sorted(data)]
    return list(data) if isinstance(data, list | tuple) else [] if data is None else [data]


def unescape(text: Any) -> str:
    """Return text from data as it was before it was escaped for a figure."""
    return str(text).replace("&lt;", "<").replace("&gt;", ">").replace("&amp;", "&")


def clicked_person(event: Any) -> str | None:
    """Return the id behind the last point of a selection event, or None where it holds none."""
    points = (event or {}).get("selection", {}).get("points", [])
    for point in reversed(points):
        values = _custom(point)
        if values:
            return unescape(values[0])
    return None
