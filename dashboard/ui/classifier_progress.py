"""The baselines are made once for the data; meanwhile a bar says how far they are."""

from __future__ import annotations

import streamlit as st

from dashboard.analyses.classifier_baselines import NAME, predictions_of
from dashboard.ui import cache
from dashboard.vocabulary import Refused

__all__ = ["NAME", "make_baselines"]


def make_baselines() -> None:
    """Make the baselines' predictions, with a bar while it lasts; what the data lacks is told by the analysis."""
    place = st.empty()

    def show(done: int, total: int) -> None:
        place.progress(done / total, text=f"Predicting people not seen: {done} of {total} parts")

    try:
        predictions_of(cache.database(), progress=show)
    except Refused:
        return
    finally:
        place.empty()
