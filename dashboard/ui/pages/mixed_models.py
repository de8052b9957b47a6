"""What goes with a rating, with persons and conversations kept apart: any mixed model, checked and reproducible."""

import streamlit as st

from dashboard.analyses import on_page
from dashboard.analyses.findings import Selection
from dashboard.ui import address
from dashboard.ui.model_builder import show_builder
from dashboard.ui.model_show import show_model
from dashboard.ui.show import open_page

selection = open_page(
    "Mixed models",
    "What goes with a rating when each person's and each conversation's own level is taken out: choose a question, or build "
    "a model, or write its formula as for lme4. For whoever wants estimates that account for who rated and how often, with "
    "the checks that a reviewer asks for. Tasks were chosen, not assigned: nothing here is an effect.",
    glossary=("turn", "ground truth", "REML", "ICC", "BLUP", "participant as unit"),
)


@st.fragment
def show_models(selection: Selection) -> None:
    """Draw the builder and all that is told of its model: a new formula redraws nothing else."""
    formula = show_builder(selection)
    if formula is not None:
        for analysis in on_page("Mixed models"):
            show_model(analysis.name, selection, formula)
    address.write_address()


show_models(selection)
