"""Single conversations behind a curve: choosing one opens it in the reader."""

from __future__ import annotations

from typing import Any

import streamlit as st

from dashboard.analyses.findings import Drawing, Findings
from dashboard.ui.reader_state import open_in_reader
from dashboard.ui.show import CHART_OPTIONS, screen_template
from dashboard.ui.text import printable

_ROUND = "trajectories.round"


def show_trajectories(findings: Findings) -> None:
    """Draw ratings by turn; a click on a point of a single conversation, or its name in the list, opens it there."""
    # A key of its own after each choice: whoever comes back finds nothing chosen.
    turned = st.session_state.setdefault(_ROUND, 0)
    for name, drawing in findings.figures.items():
        event = st.plotly_chart(
            drawing.figure(screen_template()),
            theme=None,
            width="stretch",
            key=f"figure.{name}.{turned}",
            alt=findings.headline,
            on_select="rerun",
            selection_mode="points",
            config=CHART_OPTIONS,
        )
        names = _names(drawing)
        chosen: tuple[str, int | None] | None = clicked_conversation(event)
        if names:
            listed = st.selectbox(
                "Open a conversation of the grey lines",
                names,
                index=None,
                format_func=printable,
                key=f"trajectories.open.{turned}",
                placeholder="Click on a grey point, or choose here",
                width=360,
            )
            if listed is not None:
                chosen = (listed, None)
        if chosen is not None:
            st.session_state[_ROUND] = turned + 1
            open_in_reader(*chosen)


def _names(drawing: Drawing) -> list[str]:
    return list(dict.fromkeys(drawing.arguments["lines"]["conversation"]))


def clicked_conversation(event: Any) -> tuple[str, int] | None:
    """Return conversation and turn of the last point of a selection that belongs to a single conversation, if any."""
    points = (event or {}).get("selection", {}).get("points", [])
    for point in reversed(points):
        data = point.get("customdata")
        values = [data[key] for key in sorted(data)] if isinstance(data, dict) else data
        # Points of the mean carry numbers only.
        if isinstance(values, list | tuple) and len(values) > 2 and isinstance(values[0], str):
            return values[0], int(values[2])
    return None
