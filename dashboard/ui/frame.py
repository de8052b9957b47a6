"""What stands around every page: navigation, filters, chips, what a link asked in vain, and where the data is from."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import streamlit as st
from streamlit.navigation.page import Page

from dashboard.analyses.findings import Selection
from dashboard.ui import address, cache, controls
from dashboard.ui.show import guarded
from dashboard.ui.text import plain

ICON = Path(__file__).resolve().parent / "icon.svg"
COLUMN_PIXELS = 940


@contextmanager
def page_column() -> Iterator[None]:
    """Keep lines readable on wide screens: one column, as wide as a figure needs, in the middle."""
    with st.container(horizontal_alignment="center"), st.container(width=COLUMN_PIXELS, key="page"):
        yield


def show_frame(page: Page, pages: Sequence[Page]) -> bool:
    """Draw everything but the page; return whether the page can be drawn."""
    with guarded("The data.") as failed:
        cache.database()
        address.read_address(page.title)
        with st.sidebar:
            _navigation(pages)
            _filters(page.title)
        address.write_address()
        selection = address.selection()
        _provenance(selection)
        _unfollowed()
        controls.show_chips(selection)
    return not failed


def _navigation(pages: Sequence[Page]) -> None:
    """Link the pages with the filters in the address, so that the browser's history holds no unfiltered step."""
    for one in pages:
        st.page_link(one, query_params=address.query_pairs(one.title), width="stretch")


def _filters(page: str) -> None:
    with st.container(key="filters", gap="small"):
        with st.container(horizontal=True, horizontal_alignment="distribute", vertical_alignment="center"):
            st.caption("Conversations to look at")
            # Always there, so that nothing moves and the browser has what draws buttons before the first filter.
            reset = st.empty()
        place = st.empty()
        controls.show_filters(page)
        left, everything = cache.counts(address.selection()), cache.counts(Selection())
        place.markdown(f":small[{controls.describe_remaining(left, everything)}]")
        reset.button(
            "Reset",
            key="filters.reset",
            type="tertiary",
            help="Take all filters away",
            disabled=address.selection().is_everything,
            on_click=address.reset_filters,
        )


def _provenance(selection: Selection) -> None:
    """Say which data this is; synthetic data says so plainly."""
    data = cache.database()
    manifest = data.manifest
    parts = [plain(manifest.get("title") or data.folder.name)]
    if manifest.get("release"):
        parts.append(f"{manifest['counts']['conversations']:,} of 695 conversations")
    parts.append(f"data {plain(cache.data_key(data)[:12])}")
    left = cache.counts(selection)
    if not selection.is_everything:
        parts.append("filtered: " + controls.describe_remaining(left, left))
    if data.public:
        parts.append("texts hidden")
    mark = ":orange-badge[:material/science: SYNTHETIC] " if data.synthetic else ""
    st.markdown(f"{mark}:gray[:small[{' · '.join(parts)}]]")


def _unfollowed() -> None:
    """Name every part of the link that could not be followed."""
    sentences = address.notes()
    if not sentences:
        return
    with st.container(key="unfollowed"):
        st.warning("\n\n".join(plain(sentence) for sentence in sentences), icon=":material/link_off:")
        st.button("Understood", key="unfollowed.seen", type="tertiary", on_click=address.forget_notes)
