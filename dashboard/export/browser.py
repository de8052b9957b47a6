"""The one headless browser of a process: it turns Plotly figures into vectors and pictures, one at a time."""

from __future__ import annotations

import asyncio
import atexit
import contextlib
import importlib.util
import logging
import os
import signal
import sys
import threading
import time
from collections.abc import Coroutine
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dashboard.vocabulary import Refused

if TYPE_CHECKING:
    import plotly.graph_objects as go

# Starting and drawing together; whatever hangs ends in an error within a minute.
TIMEOUT_SECONDS = 55.0
_INSTALL = (
    "Install Chromium (Debian and Ubuntu: apt-get install chromium fonts-noto-core; elsewhere Chrome or Edge do), or set "
    "BROWSER_PATH to it. HTML and JSON of figures, and every format of tables, need none."
)
# Plotly draws ids from Math.random: with a fixed start (mulberry32) the same figure gets the same ones.
_SEED = """
        <script>
            (function () {
                let state;
                window.startRandom = function () { state = 7; };
                window.startRandom();
                Math.random = function () {
                    state = (state + 0x6d2b79f5) | 0;
                    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
                    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
                    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4294967296;
                };
            })();
        </script>
"""
# The page is loaded once for all figures, so each figure makes the start anew.
_START_EACH = """
        <script>
            (function () {
                const draw = kaleido_scopes.plotly;
                kaleido_scopes.plotly = function (...given) { window.startRandom(); return draw(...given); };
            })();
        </script>
    </head>"""
_lock = threading.Lock()
_running: list[_Browser] = []


def find_browser() -> Path:
    """Return the installed browser that draws vectors and pictures.

    Raises
    ------
    Refused
        When there is none, or the package that drives it is not installed; says what to install.
    """
    if importlib.util.find_spec("kaleido") is None or importlib.util.find_spec("PIL") is None:
        raise Refused(
            'PDF, SVG and PNG need the packages kaleido and pillow, which are not installed: pip install -e ".[export]". '
            + _INSTALL
        )
    told = os.environ.get("BROWSER_PATH")
    if told:
        if not os.access(told, os.X_OK) or not Path(told).is_file():
            raise Refused(f"BROWSER_PATH must name a program; came {told!r}, where there is none. {_INSTALL}")
        return Path(told)
    from choreographer.browsers.chromium import Chromium

    found = Chromium.find_browser(skip_local=False)
    if not found:
        raise Refused(f"PDF, SVG and PNG need a browser that draws them, and none was found. {_INSTALL}")
    return Path(found)


def draw_bytes(figure: go.Figure, format: str, *, scale: float = 1.0, timeout: float = TIMEOUT_SECONDS) -> bytes:
    """Draw a figure as ``pdf``, ``svg`` or ``png``. Safe to call from any thread; one figure is drawn at a time.

    Parameters
    ----------
    figure
        A figure with width and height in px at 96 to the inch.
    scale
        Device pixels per px, for ``png``.
    timeout
        Seconds for starting the browser, where it is not running, and drawing.

    Raises
    ------
    Refused
        When there is no browser, or it fails or hangs; it is then stopped, and the next call starts a new one.
    """
    path = find_browser()
    layout = figure.layout
    options = {"format": format, "width": layout.width, "height": layout.height, "scale": scale}
    if not _lock.acquire(timeout=timeout):
        raise Refused(f"The browser that draws figures has been busy for {timeout:.0f} seconds. Try again.")
    try:
        deadline = time.monotonic() + timeout
        browser = _running[0] if _running and _running[0].lives_at(path) else _start(path, deadline)
        return browser.draw(figure, options, deadline - time.monotonic())
    except BaseException as fault:
        _stop()
        if not isinstance(fault, Exception):
            raise
        what = f"gave no answer for {timeout:.0f} seconds" if isinstance(fault, TimeoutError) else f"failed ({fault})"
        raise Refused(
            f"The browser {path} {what} and was stopped. Try again; if that fails too, HTML and JSON need no browser."
        ) from fault
    finally:
        _lock.release()


def _start(path: Path, deadline: float) -> _Browser:
    _stop()
    browser = _Browser(path)
    _running.append(browser)
    browser.open(deadline - time.monotonic())
    # Registered once more after each start: it must run before the clean-up of temporary folders made meanwhile.
    atexit.unregister(_stop)
    atexit.register(_stop)
    return browser


def _stop() -> None:
    while _running:
        _running.pop().stop()


class _Browser:
    """A browser and the thread whose event loop talks to it."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._kaleido: Any = None
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name="figure browser", daemon=True)
        self._thread.start()

    def lives_at(self, path: Path) -> bool:
        return self._path == path and self._kaleido is not None and self._kaleido.subprocess.poll() is None

    def open(self, timeout: float) -> None:
        self._wait(self._open(), timeout)

    def draw(self, figure: go.Figure, options: dict[str, Any], timeout: float) -> bytes:
        # Serialised here: the browser's thread must not see a figure that its owner goes on changing.
        drawn: bytes = self._wait(self._kaleido.calc_fig(figure.to_dict(), opts=options), timeout)
        return drawn

    async def _open(self) -> None:
        from choreographer.browsers.chromium import Chromium
        from kaleido import Kaleido, PageGenerator

        class Page(PageGenerator):
            header = PageGenerator.header.replace("Kaleido-fier", "Figure") + _SEED
            footer = PageGenerator.footer.replace("</head>", _START_EACH)

        class OnePage(Kaleido):
            async def _return_kaleido_tab(self, tab: Any) -> None:
                # Kaleido loads its page, with all of Plotly, anew after each figure: that took most of the time.
                tab.js_logger.reset()
                await self.tabs_ready.put(tab)

        class Unhinted(Chromium):
            def get_cli(self) -> list[str]:
                # Hinted widths depend on the screen: text would be measured otherwise than it is printed.
                return [*super().get_cli(), "--font-render-hinting=none", "--disable-background-networking"]

        # A last message cut short by the browser's end is no news; what matters is raised.
        for name in ("choreographer", "kaleido"):
            logging.getLogger(name).setLevel(logging.CRITICAL)
        self._kaleido = OnePage(
            timeout=None, path=str(self._path), page_generator=Page(mathjax=False), browser_cls=Unhinted
        )
        await self._kaleido.open()

    def _wait(self, work: Coroutine[Any, Any, Any], timeout: float) -> Any:
        return asyncio.run_coroutine_threadsafe(work, self._loop).result(timeout=max(timeout, 0.1))

    def stop(self) -> None:
        """End the browser's processes and files, kindly if it answers."""
        with contextlib.suppress(Exception):
            if self._kaleido is not None and self._kaleido.subprocess.poll() is None:
                self._wait(self._kaleido.close(), 5)
        with contextlib.suppress(Exception):
            _kill(self._kaleido.subprocess)
        with contextlib.suppress(Exception):
            self._kaleido._browser_impl.clean()
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(timeout=5)
        if not self._thread.is_alive():
            self._loop.close()


def _kill(process: Any) -> None:
    """Kill the process that was started here and, where it leads a session of its own, that whole session."""
    if process.poll() is None:
        if sys.platform != "win32" and os.getpgid(process.pid) == process.pid:
            os.killpg(process.pid, signal.SIGKILL)
        else:
            process.kill()
        process.wait(timeout=5)
