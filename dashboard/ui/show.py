"""How a page and an analysis look: drawn here once, used by every page.

A page is a file of ``dashboard/ui/pages`` named after its title in ``dashboard.analyses.PAGES`` in lower snake case;
it appears in the navigation when it exists. It needs two calls::

    selection = open_page("Variability", "Two to four lines: what it answers, for whom.", glossary=("ICC", "BLUP"))
    for analysis in on_page("Variability"):
        show_findings(analysis, selection)

``open_page`` draws the title, what the page answers, the anchor menu and the glossary, and stops the page with advice
when the filters leave nothing. ``show_findings`` draws question, headline, warnings, controls, figures and the quiet
row; its controls and its part of the address come from the analysis' Parameters. ``show_later`` keeps the place of an
analysis that takes long, so that the quick ones are there first. A page that draws something of its own
puts it in ``with guarded("What it is"):``, so that a refusal reads as advice and no traceback reaches the reader, and
draws Plotly figures with ``show_figure``. Text from data goes through ``dashboard.ui.text.plain`` wherever Markdown is
rendered.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from functools import partial
from typing import TYPE_CHECKING

import streamlit as st

from dashboard.analyses import on_page
from dashboard.analyses.findings import Analysis, Drawing, Findings, Selection
from dashboard.ui import address, cache, controls, panels
from dashboard.ui.tables import show_reading_table
from dashboard.ui.text import plain
from dashboard.ui.warm import let_draw
from dashboard.ui.watch import watching
from dashboard.vocabulary import GLOSSARY, NotInThisData, Refused

if TYPE_CHECKING:
    from dashboard.figures.template import Template

logger = logging.getLogger("dashboard")
# What plotly.js is told of every chart on a page.
CHART_OPTIONS = {"displaylogo": False, "displayModeBar": False, "responsive": True, "scrollZoom": False}


def open_page(
    title: str,
    answers: str,
    *,
    glossary: Sequence[str] = (),
    more: Sequence[tuple[str, str]] = (),
    stops: bool = True,
) -> Selection:
    """Draw the head of a page and return the selection that its analyses are about.

    Parameters
    ----------
    title
        The page's title, one of ``PAGES``.
    answers
        Two to four lines: what the page answers and for whom. Markdown; no text from data.
    glossary
        Words of ``GLOSSARY`` that the page uses.
    more
        Further anchors of the menu after the analyses: ``(anchor, label)``.
    stops
        Whether the page ends here when the filters leave nothing; a page that asks nothing of them goes on.
    """
    selection = address.selection()
    st.title(title, anchor=False)
    st.markdown(answers)
    if cache.counts(selection).conversations == 0:
        st.info("No conversation is left by these filters. Take one away, or reset them all.")
        st.button("Reset filters", key="reset.empty", type="primary", on_click=address.reset_filters)
        if stops:
            st.stop()
    _menu(title, glossary, more)
    return selection


def _menu(title: str, glossary: Sequence[str], more: Sequence[tuple[str, str]]) -> None:
    anchors = [*((one.name, one.question) for one in on_page(title)), *more]
    with st.container(horizontal=True, gap="medium", key="menu"):
        if len(anchors) > 1:
            with st.popover("On this page", type="tertiary", icon=":material/list:"):
                st.markdown("\n".join(f"- [{label}](#{anchor})" for anchor, label in anchors))
        if glossary:
            with st.popover("Words used here", type="tertiary", icon=":material/menu_book:"):
                st.markdown("\n\n".join(f"**{word}** — {GLOSSARY[word]}" for word in glossary))


def show_later(
    analysis: Analysis,
    selection: Selection,
    body: Callable[[Findings], None],
    *,
    waiting: Callable[[], None],
    is_known: bool,
) -> Callable[[], None]:
    """Keep the place of an analysis that takes long; return the function that draws it once the rest is there.

    On the first visit ``waiting`` draws what is known before, at about the height of the whole, so that nothing jumps;
    later the last answer stands there until the new one comes. What ``is_known`` is drawn at once.
    """
    seen = f"seen.{analysis.name}"
    before, place = st.empty(), st.container()
    if is_known:
        with place:
            show_findings(analysis, selection, body)
        st.session_state[seen] = True
        return lambda: None
    if not st.session_state.get(seen):
        with before.container(key=f"waiting-{analysis.name}", gap="small"):
            st.header(analysis.question, anchor=False)
            waiting()

    def finish() -> None:
        if not st.session_state.get(seen):
            # Asked first and cleared then: what waits stands until the answer is there.
            with suppress(Exception):
                cache.analyse(analysis.name, selection, address.parameters(analysis))
            before.empty()
        with place:
            show_findings(analysis, selection, body)
        st.session_state[seen] = True

    return finish


@st.fragment
def show_findings(analysis: Analysis, selection: Selection, body: Callable[[Findings], None] | None = None) -> None:
    """Draw an analysis: its question, what it found, warnings, controls, figures and the quiet row.

    A change of one of its controls redraws this analysis alone.

    Parameters
    ----------
    analysis, selection
        What to ask, and of which conversations.
    body
        Draws the findings in place of their figures; by default the figures or, where there are none, the main table.
    """
    with st.container(key=f"analysis-{analysis.name}", gap="small"):
        st.header(analysis.question, anchor=analysis.name)
        chosen = address.parameters(analysis)
        with guarded(analysis.question) as failed:
            with st.spinner(_working(analysis), show_time=True), watching():
                findings = cache.analyse(analysis.name, selection, chosen)
            say(findings)
        if address.changed(analysis) or not any(isinstance(one, NotInThisData) for one in failed):
            controls.show_parameters(analysis)
        if not failed:
            with guarded(analysis.question):
                (body or partial(_show, analysis))(findings)
                panels.show_quiet_row(analysis, findings, selection, chosen)
                if findings.figures:
                    let_draw()
        address.write_address()


def _working(analysis: Analysis) -> str:
    """Say what is being worked on, and how much of the page that is."""
    names = [one.name for one in on_page(analysis.page)]
    place = f"{names.index(analysis.name) + 1} of {len(names)} " if analysis.name in names and len(names) > 1 else ""
    return f"Working on question {place}…" if place else "Working on this question …"


def say(findings: Findings) -> None:
    """Write the headline and, below it, what weakens the answer."""
    st.markdown(plain(findings.headline))
    # In a part of their own: a browser draws anew what stands below parts that come and go.
    with st.container(gap="small"):
        for warning in findings.warnings:
            st.caption(f":material/warning: {plain(warning)}")


def _show(analysis: Analysis, findings: Findings) -> None:
    """Draw the figures or, where there are none, the main table."""
    template = screen_template()
    if not findings.figures:
        show_reading_table(findings.table, alt=analysis.tables[findings.name])
    for name, drawing in findings.figures.items():
        if len(findings.figures) > 1 and analysis.figures.get(name):
            st.caption(plain(analysis.figures[name]))
        show_figure(drawing, template, key=name, alt=findings.headline if name == findings.name else drawing.alt)


def show_figure(drawing: Drawing, template: Template, *, key: str, alt: str | None = None) -> None:
    """Draw one figure in the screen's template, with its words for those who do not see it."""
    st.plotly_chart(
        drawing.figure(template),
        theme=None,
        width="stretch",
        key=f"figure.{key}",
        alt=alt or drawing.alt,
        config=CHART_OPTIONS,
    )


def screen_template() -> Template:
    """Return the figures' template for the reader's theme."""
    from dashboard.figures.template import Template

    return Template(dark=st.context.theme.type == "dark", synthetic=cache.database().synthetic)


@contextmanager
def guarded(what: str) -> Iterator[list[Exception]]:
    """Turn a refusal into advice and any other failure into a plain sentence; the log gets the details.

    Yields a list that holds the exception when something failed.
    """
    failed: list[Exception] = []
    try:
        yield failed
    except Refused as refusal:
        failed.append(refusal)
        st.info(plain(refusal))
    except Exception as fault:
        failed.append(fault)
        logger.exception("failed: %s", what)
        st.error(
            f"{plain(what)} This could not be shown because of a fault of the dashboard, not of your data. The details "
            "are in the log, in the terminal where `sense7 run` was started."
        )
