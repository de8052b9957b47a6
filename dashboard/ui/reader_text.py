"""What participants and assistants wrote, shown literally: never read as Markdown or HTML, never fetched."""

from __future__ import annotations

import html

import streamlit as st


def show_literal(text: str, hits: list[tuple[int, int]] | None = None) -> None:
    """Draw text as it is, with hits of a search marked.

    Parameters
    ----------
    text
        Any text.
    hits
        Where hits begin and end, in order, without overlap.
    """
    if not hits:
        st.text(text)
        return
    # The one place that makes HTML of text: every piece is escaped, and nothing but marks is put between.
    pieces, at = [], 0
    for start, end in hits:
        pieces += [html.escape(text[at:start]), "<mark>", html.escape(text[start:end]), "</mark>"]
        at = end
    pieces.append(html.escape(text[at:]))
    st.html(f'<div dir="auto" style="white-space: pre-wrap; overflow-wrap: anywhere">{"".join(pieces)}</div>')


def clock(seconds: float | None) -> str:
    """Return seconds since the first input as ``1:05`` or ``1:02:05``; empty where unknown."""
    if seconds is None or seconds != seconds:
        return ""
    whole = int(seconds)
    hours, minutes = divmod(abs(whole) // 60, 60)
    rest = f"{minutes:02d}:{abs(whole) % 60:02d}" if hours else f"{minutes}:{abs(whole) % 60:02d}"
    return f"{'−' if whole < 0 else ''}{f'{hours}:' if hours else ''}{rest}"
