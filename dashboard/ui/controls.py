"""The sidebar's filters with their counts, the chips of what is filtered, and the controls of an analysis."""

from __future__ import annotations

import dataclasses
from typing import Any

import streamlit as st

from dashboard.analyses import on_page
from dashboard.analyses.findings import Analysis, Counts, Selection
from dashboard.ui import address, cache
from dashboard.ui.text import plain, printable
from dashboard.vocabulary import plural

LISTED = 50
LABELS = {
    "task": "Task",
    "model": "Assistant model",
    "participant": "Participant",
    "desired_empathy": "Desired empathy",
    "min_rated_turns": "Rated turns, at least",
    "exclude_flagged": "Leave out straight-liners",
}
_SEARCH = "participant_search"


def show_filters(page: str) -> None:
    """Draw the filters of the sidebar, for the levels that this data has."""
    levels = cache.levels()
    if any("outcome" in one.parameter_fields() for one in on_page(page)):
        _outcome()
    if "task" in levels:
        st.multiselect("Task", levels["task"], key="task", placeholder="All tasks", persist_state="session")
    if "model" in levels:
        st.multiselect("Assistant model", levels["model"], key="model", placeholder="All", persist_state="session")
    if "desired_empathy" in levels:
        _desired_empathy(levels["desired_empathy"])
    if "participant" in levels:
        _participants(levels["participant"])
    _quality()


def _outcome() -> None:
    labels = dict(cache.outcomes())
    if not labels:
        return
    st.selectbox(
        "Outcome",
        list(labels),
        key="outcome",
        format_func=lambda name: labels.get(name, name),
        help="What was rated. Every analysis of one outcome follows this choice.",
        persist_state="session",
    )


def _desired_empathy(levels: list[str]) -> None:
    st.pills(
        "Desired empathy",
        levels,
        selection_mode="multi",
        key="desired_empathy",
        format_func=lambda level: plain(level_label("desired_empathy", level, ends_only=True)),
        help="What the participant wanted before the task.",
        persist_state="session",
    )


def _participants(everyone: list[str]) -> None:
    chosen = list(st.session_state.get("participant", []))
    if len(everyone) <= LISTED:
        listed, placeholder = everyone, "All participants"
    else:
        sought = st.text_input(
            "Participants",
            key=_SEARCH,
            type="search",
            placeholder=f"Type to find one of {len(everyone):,}",
            live=True,
            persist_state="session",
        )
        found = find_participants(sought or "", everyone)
        listed = found[:LISTED]
        placeholder = f"{len(found):,} found" if len(found) <= LISTED else f"First {LISTED} of {len(found):,} listed"
    st.multiselect(
        "Participants" if len(everyone) <= LISTED else "Chosen participants",
        list(dict.fromkeys([*chosen, *listed])),
        key="participant",
        placeholder=placeholder if listed else "None of that name",
        label_visibility="visible" if len(everyone) <= LISTED else "collapsed",
        select_all=False,
        persist_state="session",
    )


def find_participants(sought: str, everyone: list[str]) -> list[str]:
    """Return the ids that hold what was typed, those that begin with it first."""
    typed = sought.strip().casefold()
    holding = [name for name in everyone if typed in name.casefold()]
    return sorted(holding, key=lambda name: not name.casefold().startswith(typed))


def _quality() -> None:
    """Draw the filters that look at ratings, where there are ratings to look at."""
    scales = cache.scales()
    if "overall" in set(scales["measure"]):
        st.number_input(
            LABELS["min_rated_turns"],
            min_value=0,
            value=None,
            step=1,
            key="min_rated_turns",
            placeholder="Any number",
            help="Keep conversations with at least this many rated turns.",
            persist_state="session",
        )
    if (scales["score"] == "dimension").sum() >= 3:
        st.toggle(
            LABELS["exclude_flagged"],
            key="exclude_flagged",
            help="Leave out participants who gave all dimensions of a turn the same rating on at least 90 % of five or "
            "more turns.",
            persist_state="session",
        )


def level_label(key: str, level: str, *, ends_only: bool = False) -> str:
    """Return a level as the participants saw it: its number, with the wording of the scale's ends."""
    if key != "desired_empathy":
        return level
    scale = cache.scales()
    row = scale[scale["score"] == "desired_empathy"]
    if row.empty:
        return level
    for end in ("minimum", "maximum"):
        if float(level) == float(row[end].iloc[0]) and isinstance(row[f"{end}_label"].iloc[0], str):
            wording = row[f"{end}_label"].iloc[0]
            return f"{level} {wording.removesuffix(' empathy')}" if ends_only else f"{level} {wording}"
    return level


def describe_remaining(left: Counts, everything: Counts) -> str:
    """Return how much a selection leaves: ``21 of 109 participants · 84 of 672 conversations · …``."""
    parts = []
    for number, total, noun in (
        (left.participants, everything.participants, "participant"),
        (left.conversations, everything.conversations, "conversation"),
        (left.turns, everything.turns, "turn"),
    ):
        if number is not None and total is not None:
            parts.append(plural(number, noun) if number == total else f"{number:,} of {plural(total, noun)}")
    return " · ".join(parts)


def show_chips(selection: Selection) -> None:
    """Draw one chip per filter in force, each with a cross that takes it away.

    Their row is there without any too: a row that comes and goes would have the browser draw the page below anew.
    """
    with st.container(horizontal=True, gap="small", key="chips"):
        for key in ("task", "model", "desired_empathy", "participant"):
            for level in st.session_state.get(key, []):
                _chip(f"{LABELS[key]}: {level_label(key, level)}", key, level)
        if selection.min_rated_turns is not None:
            _chip(f"{LABELS['min_rated_turns']} {selection.min_rated_turns}", "min_rated_turns", None)
        if selection.exclude_flagged:
            _chip("Without straight-liners", "exclude_flagged", None)


def _chip(label: str, key: str, level: str | None) -> None:
    st.button(
        plain(label),
        key=f"chip.{key}.{level}",
        icon=":material/close:",
        icon_position="right",
        on_click=address.remove_filter,
        args=(key, level),
    )


def show_parameters(analysis: Analysis) -> None:
    """Draw the controls of an analysis: those that change the answer above the figure, the rest under More."""
    fields = analysis.parameter_fields()
    own = {name: item for name, item in fields.items() if name != "outcome" and not item.metadata.get("shared")}
    first = [item for item in own.values() if not item.metadata.get("more")]
    rest = [item for item in own.values() if item.metadata.get("more")]
    if not own:
        return
    with st.container(horizontal=True, vertical_alignment="bottom", gap="medium"):
        for item in first[:4]:
            _control(analysis, item)
        if rest or first[4:]:
            with st.popover("More", type="tertiary"):
                for item in [*first[4:], *rest]:
                    _control(analysis, item)


def _control(analysis: Analysis, item: dataclasses.Field[Any]) -> None:
    """Draw the control that the parameter's type and limits ask for."""
    key = address.parameter_key(analysis, item.name)
    st.session_state.setdefault(key, item.default)
    label, about = item.metadata["label"], item.metadata["help"] or None
    choices, kind = item.metadata["choices"], str(item.type)
    called = item.metadata["labels"]
    common: dict[str, Any] = {"key": key, "help": about, "persist_state": "session"}

    def name_of(choice: object) -> str:
        return str(called.get(choice) or printable(choice))

    if choices and len(choices) <= 5:
        st.segmented_control(label, choices, required=True, format_func=name_of, **common)
    elif choices:
        st.selectbox(label, choices, format_func=name_of, width=240, **common)
    elif "bool" in kind:
        st.toggle(label, **common)
    elif "int" in kind or "float" in kind:
        _number(label, item, int if "int" in kind else float, common)
    else:
        st.text_input(label, width=240, **common)


def _number(label: str, item: dataclasses.Field[Any], number: type[int] | type[float], common: dict[str, Any]) -> None:
    low, high = item.metadata["minimum"], item.metadata["maximum"]
    options: dict[str, Any] = {
        "min_value": number(0 if low is None else low),
        "max_value": None if high is None else number(high),
        "step": 1 if number is int else None,
    }
    if item.default is None:
        options |= {"value": None, "placeholder": "Any"}
    st.number_input(label, width=180, **options, **common)
