"""Ratings and answers in the reader: level by colour and number, not applicable hollow, missing apart from both."""

from __future__ import annotations

from typing import TYPE_CHECKING

import streamlit as st

from dashboard.figures.rating_course import level_color
from dashboard.figures.template import ink_on
from dashboard.ui.text import plain
from dashboard.vocabulary import format_number

if TYPE_CHECKING:
    import pandas as pd


def level_badge(value: float, limits: tuple[float, float]) -> str:
    """Return a rating as Markdown: its number on the colour of its level."""
    color = level_color(value, limits)
    number = format_number(value, "number" if value == int(value) else "rating")
    return f':color[ **{number}** ]{{foreground="{ink_on(color)}" background="{color}"}}'


def show_levels(rows: pd.DataFrame) -> None:
    """Draw one line per rating or answer.

    Parameters
    ----------
    rows
        ``label, value, answer, minimum, maximum``, in display order.
    """
    lines, blank = [], []
    for row in rows.to_dict("records"):
        label = plain(row["label"])
        if row["answer"] == "rated":
            lines.append(f"{level_badge(row['value'], (row['minimum'], row['maximum']))} {label}")
        elif row["answer"] == "not_applicable":
            lines.append(f":gray[○ n/a {label}]")
        else:
            blank.append(label)
    if blank and len(blank) == len(rows):
        lines.append(":gray[Not rated]")
    elif blank:
        lines.append(f":gray[Left blank: {', '.join(blank)}]")
    st.markdown("  \n".join(f":small[{line}]" for line in lines))
