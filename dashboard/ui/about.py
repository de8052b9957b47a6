"""What the overview says about the data beside its analyses: import notes, how to cite, licence."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import streamlit as st

from dashboard.ui import cache
from dashboard.ui.citation import DATA, FOLLOW_UP, PAPER, SOFTWARE
from dashboard.ui.text import plain

ANCHORS = (("import_notes", "What import noted"), ("cite", "How to cite"), ("licence", "Licence"))
_SHOWN = 200
_ENTRIES = (
    ("paper", "The paper that introduced SENSE-7: Suh et al., arXiv 2509.16437", PAPER),
    ("data", "Its data: Suh et al., SENSE-7 dataset", DATA),
    ("follow_up", "The follow-up study of the same conversations: Shayegani et al., arXiv 2511.03143", FOLLOW_UP),
    ("software", "This software, for the figures and numbers", SOFTWARE),
)


@st.fragment
def show_about() -> None:
    """Draw import notes, citations and licences; what is folded is drawn when it is opened."""
    manifest = cache.database().manifest
    st.header("What import noted", anchor="import_notes")
    _import_notes(manifest)
    st.header("How to cite", anchor="cite")
    _citations(manifest)
    st.header("Licence", anchor="licence")
    _licences(manifest)


def _import_notes(manifest: Mapping[str, Any]) -> None:
    notes = [str(note) for note in manifest.get("notes") or ()]
    if not notes:
        st.markdown("Nothing needed a note: every row was taken as it stood.")
    for note in notes[:_SHOWN]:
        st.text(note)
    if len(notes) > _SHOWN:
        st.caption(f"and {len(notes) - _SHOWN:,} more, in manifest.json")
    for key, title in (("unreadable", "Cells that could not be read"), ("set_aside", "Rows set aside")):
        rows = list(manifest.get(key) or ())
        if rows:
            st.caption(f"{title}: {len(rows):,}")
            st.dataframe([{name: str(cell) for name, cell in row.items()} for row in rows], hide_index=True)
    origin = [
        ("Source", manifest.get("source")),
        ("sha256 of the source", manifest.get("source_sha256")),
        ("sha256 of the tables", manifest.get("data_sha256")),
        ("Written by", ", ".join(f"{name} {version}" for name, version in manifest.get("software", {}).items())),
    ]
    with st.expander("Where the tables come from", key="about.origin", on_change="rerun") as drawer:
        for name, value in origin if drawer.open else ():
            if value:
                st.text(f"{name}: {value}")


def _citations(manifest: Mapping[str, Any]) -> None:
    if manifest.get("citation"):
        st.caption("This data")
        st.code(str(manifest["citation"]), language=None, wrap_lines=True)
    for key, title, entry in _ENTRIES:
        with st.expander(title, key=f"about.{key}", on_change="rerun") as drawer:
            if drawer.open:
                st.code(entry, language="bibtex")


def _licences(manifest: Mapping[str, Any]) -> None:
    if manifest.get("licence"):
        st.markdown(f"This data: {plain(manifest['licence'])}.")
    st.markdown(
        "SENSE-7, data and code of its authors: CDLA-Permissive 2.0. This software: GNU General Public License, "
        "version 3 or later; it comes without any warranty."
    )
