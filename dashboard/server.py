"""What ``sense7 run`` serves: the app, with the first page's answers on their way before its first reader."""

import threading
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import streamlit as st


@asynccontextmanager
async def warmed(_app: st.App) -> AsyncIterator[None]:
    """Warm up beside the server, which answers from the first moment on."""
    from dashboard.ui.warm import warm_up

    threading.Thread(target=warm_up, name="warm-up", daemon=True).start()
    yield


app = st.App("app.py", lifespan=warmed)
