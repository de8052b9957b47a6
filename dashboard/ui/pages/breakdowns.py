"""When perceived empathy collapses, what happens around it, whether it recovers, and what it costs."""

import streamlit as st

from dashboard.analyses import on_page
from dashboard.analyses.breakdown_rows import DEFINITIONS, DIMENSION, DROP, LOW, BreakdownParameters
from dashboard.analyses.findings import Parameters
from dashboard.ui.show import open_page, show_findings
from dashboard.ui.trajectory_lines import show_trajectories

BODIES = {"rating_trajectories": show_trajectories}
selection = open_page(
    "Breakdowns",
    "When the empathy that people perceive collapses within a conversation, what happens around that turn, whether it comes "
    "back, and what a breakdown costs at the end. For whoever wants to know how fragile perceived empathy is. The definition "
    "of a breakdown holds for the whole page; every figure says it. People chose tasks and length themselves: nothing here is causal.",
    glossary=(
        "breakdown",
        "Kaplan–Meier",
        "cumulative incidence",
        "hazard",
        "risk set",
        "order reference",
        "participant as unit",
    ),
)


def show_definition() -> None:
    """Draw the controls of the definition, which all analyses of the page share."""
    fields: type[Parameters] = BreakdownParameters
    about = {name: item.metadata for name, item in fields.__dataclass_fields__.items()}
    defaults = BreakdownParameters()
    for name in ("definition", "threshold", "drop"):
        # Set anew, not left: a control of the same name on another page has its own state, and this one would start empty.
        st.session_state[name] = st.session_state.get(name, getattr(defaults, name))
    with st.container(horizontal=True, vertical_alignment="bottom", gap="medium", key="breakdown-definition"):
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


show_definition()
for analysis in on_page("Breakdowns"):
    show_findings(analysis, selection, BODIES.get(analysis.name))
