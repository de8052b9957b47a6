"""What empathy people want before a task, what they get, where the gap is, and whether it matters."""

import streamlit as st

from dashboard.analyses import on_page
from dashboard.ui.show import open_page, show_findings

CARE = (
    "Answers are ordinal and treated as interval; the ordinal check of the page Mixed models stands beside.",
    "People chose their tasks, and answered desired, experienced and satisfaction themselves: nothing here is causal.",
    "People contribute unequally many conversations; intervals and tests take the participant as the unit.",
    "Ratings crowd at the upper end of their scale, and *not applicable* is not random: it goes with task and dimension.",
    "The signed-rank tests of the gap, one per task and adjusted by Holm, are what this page is for. Contrasts of tasks and pairs "
    "of task and dimension are adjusted by Holm within their table; slopes, likelihood ratios and changes over thirds are not "
    "adjusted. Nothing was registered beforehand, so all of it is exploratory.",
)

selection = open_page(
    "Expectations",
    "What empathy people want before a task, what they get, where the two differ, and whether meeting the expectation goes "
    "with being satisfied. For whoever designs assistants for particular tasks, or wants to check that expected and "
    "experienced empathy differ.",
    glossary=(
        "desired empathy",
        "experienced empathy",
        "gap",
        "POMP",
        "participant as unit",
        "response surface",
        "Holm",
    ),
)
with st.container(border=True, key="caveats"):
    st.markdown("**Read with care**\n\n" + "\n".join(f"- {text}" for text in CARE))
for analysis in on_page("Expectations"):
    show_findings(analysis, selection)
