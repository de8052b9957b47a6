"""The controls of what counts as a breakdown: one choice, shared by the pages Breakdowns and Conversations."""

from __future__ import annotations

import streamlit as st

from dashboard.analyses.breakdown_rows import DEFINITIONS, DIMENSION, DROP, LOW, BreakdownParameters
from dashboard.analyses.findings import Parameters


def show_definition(*, folded: bool = False) -> None:
    """Draw the definition's controls in a row, or folded away under a button."""
    fields: type[Parameters] = BreakdownParameters
    about = {name: item.metadata for name, item in fields.__dataclass_fields__.items()}
    defaults = BreakdownParameters()
    for name in ("definition", "threshold", "drop"):
        # Set anew, not left: a control of the same name on another page has its own state, and this one would start empty.
        st.session_state[name] = st.session_state.get(name, getattr(defaults, name))
    place = (
        st.popover("What counts as a breakdown", type="tertiary", icon=":material/trending_down:")
        if folded
        else st.container(horizontal=True, vertical_alignment="bottom", gap="medium", key="breakdown-definition")
    )
    with place:
        chosen = st.segmented_control(
            about["definition"]["label"],
            DEFINITIONS,
            key="definition",
            required=True,
            help=about["definition"]["help"],
            persist_state="session",
        )
        for name, needed in (("threshold", chosen in (LOW, DIMENSION)), ("drop", chosen == DROP)):
            if needed:
                st.number_input(
                    about[name]["label"],
                    min_value=float(about[name]["minimum"]),
                    max_value=None if about[name]["maximum"] is None else float(about[name]["maximum"]),
                    step=25.0 if name == "threshold" else 0.5,
                    format="%g",
                    key=name,
                    help=about[name]["help"],
                    width=180,
                    persist_state="session",
                )
