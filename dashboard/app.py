"""The dashboard's entry: navigation only. ``sense7 run`` serves it through ``server.py``."""

import streamlit as st

from dashboard.ui.address import existing_pages
from dashboard.ui.frame import ICON, page_column, show_frame
from dashboard.ui.show import guarded
from dashboard.ui.warm import reading

st.set_page_config(page_title="SENSE-7 dashboard", page_icon=str(ICON), layout="wide", initial_sidebar_state=270)
pages = [st.Page(file, title=title, default=index == 0) for index, (title, file) in enumerate(existing_pages())]
page = st.navigation(pages, position="hidden")
with reading(), page_column():
    if show_frame(page, pages):
        with guarded("This page."):
            page.run()
