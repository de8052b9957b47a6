"""What ``sense7 run`` serves: the app, with the first page's answers on their way before its first reader."""

import asyncio
import os
import socket
import stat
import threading
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from pathlib import Path

import streamlit as st

from dashboard.paths import STARTED

# Seconds after the command at which the server answers at the latest, if it could answer sooner: what is loaded before a
# browser comes need not be loaded beside it.
ANSWERS_BY = 1.3


@asynccontextmanager
async def warmed(_app: st.App) -> AsyncIterator[None]:
    """Warm up, with the head start that there is time for."""
    from dashboard.ui.warm import warm_up

    send_at_once()
    warming = threading.Thread(target=warm_up, name="warm-up", daemon=True)
    warming.start()
    await asyncio.to_thread(warming.join, head_start(os.environ.get(STARTED), time.time()))
    yield


def head_start(started: str | None, now: float) -> float:
    """Return how many seconds are left until the server shall answer; none where nobody said when it was started."""
    return max(0.0, min(ANSWERS_BY, float(started) + ANSWERS_BY - now)) if started else 0.0


def send_at_once() -> None:
    """Let the server send small pieces at once instead of waiting until the browser has confirmed the last one.

    asyncio does so for sockets that it makes itself; Streamlit 1.67 makes its own, and each of the hundred files that a
    page loads came 40 ms late (Nagle's algorithm and delayed acknowledgements). Connections inherit it from the socket
    that listens. Where there is no ``/dev/fd`` nothing is changed.
    """
    place = Path("/dev/fd")
    for name in [int(one.name) for one in place.iterdir()] if place.is_dir() else ():
        with suppress(OSError):
            # Only sockets are looked at, and as a copy that is closed again: a copy of a pipe's end left open would keep
            # the program at the other end waiting.
            if not stat.S_ISSOCK(os.fstat(name).st_mode):
                continue
            with socket.fromfd(name, socket.AF_INET, socket.SOCK_STREAM) as opened:
                if opened.getsockopt(socket.SOL_SOCKET, socket.SO_ACCEPTCONN):
                    opened.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)


app = st.App("app.py", lifespan=warmed)
