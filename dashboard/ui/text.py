"""Text from data in places that render Markdown: widget labels, headings, captions, help texts."""

from __future__ import annotations

import re

_PUNCTUATION = re.compile(r"([!-/:-@\[-`{-~])")
# Streamlit replaces these in text after Markdown was read, so that a backslash does not help: emoji and icon names,
# arrows and dashes, addresses. An invisible word joiner keeps them from being recognised.
_JOINER = "\u2060"
# A number and its percent sign stay on one line.
_PERCENT = re.compile(r"(?<=\d) (?=%)")
_SPELLED = (
    re.compile(r"(:)(?=[\w+/-])"),
    re.compile(r"(<|-|>|=|~)(?=[-<>=])"),
    re.compile(r"(://)"),
    re.compile(r"(www)(?=\.)", re.IGNORECASE),
    re.compile(r"(@)"),
)


def plain(text: object) -> str:
    """Return text so that a place which renders Markdown shows it literally, on one line.

    Every punctuation mark is escaped; an invisible word joiner goes where Streamlit would make emoji, icons, arrows
    or links of plain text. Use it wherever text from data (names, labels, ids, generated sentences) meets a label,
    heading, caption, help text or ``st.markdown``; where ``st.text`` will do, prefer that.
    """
    joined = _PERCENT.sub("\u00a0", " ".join(str(text).split()))
    for pattern in _SPELLED:
        joined = pattern.sub(rf"\1{_JOINER}", joined)
    return _PUNCTUATION.sub(r"\\\1", joined)


def printable(value: object) -> str:
    """Return a choice for people: ``within_person`` becomes ``Within person``; text that is no identifier stays."""
    text = "None" if value is None else f"{value:g}" if isinstance(value, float) else str(value)
    if not re.fullmatch(r"[a-z][a-z0-9_]*", text):
        return text
    return text.replace("_", " ").capitalize()
