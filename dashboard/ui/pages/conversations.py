"""Read what was said, turn by turn, beside how it was rated."""

from functools import partial

import streamlit as st

from dashboard.analyses import analysis
from dashboard.ui.breakdown_definition import show_definition
from dashboard.ui.reader_list import show_list
from dashboard.ui.reader_search import show_search
from dashboard.ui.reader_state import forget_redraw
from dashboard.ui.reader_transcript import show_transcript
from dashboard.ui.show import open_page, show_findings

forget_redraw()
selection = open_page(
    "Conversations",
    "What was said, turn by turn, beside how it was rated: find a conversation by its ratings or by its words, read it, and "
    "link to the very turn. For whoever wants to see what stands behind a number. Keys: J and K for the next and the previous "
    "conversation, N and P for the next and the previous breakdown.",
    glossary=("turn", "rated turn", "not applicable", "missing", "desired empathy", "experienced empathy"),
)
show_definition(folded=True)
show_findings(analysis("conversations"), selection, partial(show_list, selection=selection))
search = st.container()
show_findings(analysis("transcript"), selection, partial(show_transcript, selection=selection))
# Counting hits in millions of messages takes seconds: what is read does not wait for it.
with search:
    show_search(selection)
