"""Which prediction files the page Classifier is about: those that lie with the data, and those that the reader adds."""

from __future__ import annotations

import atexit
import hashlib
import shutil
import tempfile
from pathlib import Path
from typing import Any

import streamlit as st

from dashboard.intake.predictions import find_predictions, read_predictions
from dashboard.ui import cache
from dashboard.ui.text import plain
from dashboard.vocabulary import Refused

KEY = "predictions"
_ADDED = "predictions_added"
_REFUSED = "predictions_refused"
_UPLOAD = "predictions_upload"
_PATH = "predictions_path"
# Files kept for all sessions together; the oldest go first.
_KEPT = 200


def choose_files() -> None:
    """Draw the choice of prediction files and the ways to add some."""
    data = cache.database()
    options = [path.name for path in find_predictions(data.folder)] + _added()
    _forget_unknown(options)
    with st.container(horizontal=True, vertical_alignment="bottom", gap="medium", key="prediction_files"):
        st.multiselect(
            "Prediction files",
            options,
            key=KEY,
            format_func=lambda one: Path(one).name,
            placeholder="All that lie with the data" if len(options) > len(_added()) else "None yet: add files",
            help="Every analysis of this page is about these files. One file holds one judge's predictions of one "
            "iteration.",
            persist_state="session",
        )
        with st.popover("Add files", icon=":material/upload_file:"):
            _uploader(public=data.public)
    for sentence in st.session_state.pop(_REFUSED, []):
        st.warning(plain(sentence))
    if any(Path(one).name != one for one in st.session_state[KEY]):
        st.caption("Added files are this session's alone: a link to this page leaves them out.")


def _added() -> list[str]:
    return [one for one in st.session_state.get(_ADDED, []) if Path(one).is_file()]


def _forget_unknown(options: list[str]) -> None:
    """Keep of the state only files that are on offer: a link must not make the server read any other."""
    chosen = list(st.session_state.get(KEY, []))
    unknown = [one for one in chosen if one not in options]
    st.session_state[KEY] = [one for one in chosen if one in options]
    if unknown:
        names = ", ".join(Path(one).name for one in unknown)
        st.warning(
            plain(f"The prediction file {names} is not here. It was left out; add it to see what its sender saw.")
        )


def _uploader(*, public: bool) -> None:
    st.caption(
        "The official form: `TaskId`, `IS_EMPATHY`, `Output`, `ground-truth` and further columns; csv, or the sheet "
        "`results` of a workbook. `sense7 judge` writes such files."
    )
    st.file_uploader(
        "Prediction files",
        type=["csv", "tsv", "xlsx"],
        accept_multiple_files=True,
        key=_UPLOAD,
        on_change=_take_uploads,
        label_visibility="collapsed",
    )
    # On a public host a path would let anyone read the server's files.
    if not public:
        st.text_input("Or the path of a file on this machine", key=_PATH, on_change=_take_path)


def _take_uploads() -> None:
    for one in st.session_state.get(_UPLOAD) or []:
        _take(one.name, one.getvalue())


def _take_path() -> None:
    given = str(st.session_state.get(_PATH) or "").strip()
    if not given:
        return
    path = Path(given).expanduser()
    try:
        content = path.read_bytes()
    except OSError as error:
        _refuse(f"The file {given} could not be read: {error.strerror}.")
        return
    _take(path.name, content)
    st.session_state[_PATH] = ""


def _take(name: str, content: bytes) -> None:
    """Keep a file under its content's hash, and choose it if it can be read."""
    path = _store() / hashlib.sha256(content).hexdigest()[:16] / Path(name).name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content)
    try:
        read_predictions(path)
    except Refused as refusal:
        path.unlink()
        _refuse(str(refusal))
        return
    _drop_oldest()
    for key in (_ADDED, KEY):
        held: list[Any] = list(st.session_state.get(key, []))
        if str(path) not in held:
            st.session_state[key] = [*held, str(path)]


def _refuse(sentence: str) -> None:
    st.session_state[_REFUSED] = [*st.session_state.get(_REFUSED, []), sentence]


@st.cache_resource(show_spinner=False)
def _store() -> Path:
    """Return the folder of added files, one for all sessions; it goes when the server stops."""
    folder = Path(tempfile.mkdtemp(prefix="sense7-predictions-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    return folder


def _drop_oldest() -> None:
    files = sorted((path for path in _store().rglob("*") if path.is_file()), key=lambda path: path.stat().st_mtime)
    for path in files[:-_KEPT]:
        path.unlink()
