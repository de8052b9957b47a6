"""The address of a view: every filter and parameter is in the URL, under the names of the command line.

The widgets' state leads and the URL follows; the URL leads when a session starts and when the reader goes back or
forward. Streamlit's ``bind="query-params"`` is not used: it writes option labels where the command line has names, it
replaces the history's entry so that the back button leaves the page, and it drops unknown values without a word.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import streamlit as st
from streamlit.runtime.scriptrunner import get_script_run_ctx

from dashboard.analyses import PAGES, on_page, registry
from dashboard.analyses.findings import FILTERS, Analysis, Parameters, Selection, parse_parameters
from dashboard.ui import cache
from dashboard.vocabulary import Refused

Pairs = list[tuple[str, str]]
DEFAULTS: dict[str, Any] = {
    **{name: [] for name in FILTERS},
    "min_rated_turns": None,
    "exclude_flagged": False,
    "outcome": None,
}
PAGES_FOLDER = Path(__file__).resolve().parent / "pages"
_READ = "address_was_read"
_NOTES = "address_notes"
_PAGE = "address_page"


def existing_pages() -> list[tuple[str, Path]]:
    """Return title and file of every page that is built, in the order of ``PAGES``."""
    files = {title: PAGES_FOLDER / f"{title.lower().replace(' ', '_')}.py" for title in PAGES}
    return [(title, file) for title, file in files.items() if file.is_file()]


def page_link(page: str, anchor: str) -> str:
    """Return the relative address of a question on another page, with the filters in force."""
    query = urlencode(query_pairs(page))
    return f"{page.lower().replace(' ', '_')}{'?' + query if query else ''}#{anchor}"


def read_address(page: str) -> None:
    """Bring the widgets' state to what the URL says where the URL leads; note each value that it cannot follow."""
    st.session_state[_PAGE] = page
    went_back = bool(getattr(get_script_run_ctx(), "is_history_navigation", False))
    if st.session_state.get(_READ) and not went_back:
        for key, value in defaults().items():
            st.session_state.setdefault(key, _fresh(value))
        return
    st.session_state[_READ] = True
    notes: list[str] = []
    state = {key: _fresh(value) for key, value in (_page_defaults(page) | defaults()).items()}
    for key in st.query_params:
        _follow(key, st.query_params.get_all(key), state, notes)
    for key, value in state.items():
        st.session_state[key] = value
    st.session_state[_NOTES] = notes


def current_page() -> str:
    """Return the title of the page that is shown."""
    return str(st.session_state.get(_PAGE, ""))


def notes() -> list[str]:
    """Return a sentence for each part of the link that could not be followed."""
    return list(st.session_state.get(_NOTES, []))


def forget_notes() -> None:
    """Forget them: the reader has seen them."""
    st.session_state[_NOTES] = []


def selection() -> Selection:
    """Return the selection that the filters make."""
    state = st.session_state
    return Selection(
        task=tuple(state.get("task", ())),
        model=tuple(state.get("model", ())),
        participant=tuple(state.get("participant", ())),
        desired_empathy=tuple(float(level) for level in state.get("desired_empathy", ())),
        min_rated_turns=state.get("min_rated_turns"),
        exclude_flagged=bool(state.get("exclude_flagged", False)),
    )


def parameters(analysis: Analysis) -> Parameters:
    """Return an analysis' parameters as its controls stand; the outcome is one for all analyses."""
    values = {key: st.session_state.get(key, value) for key, value in parameter_defaults(analysis).items()}
    given = {key: tuple(value) if isinstance(value, list) else value for key, value in values.items()}
    if "outcome" in given and given["outcome"] == defaults()["outcome"]:
        given["outcome"] = None
    return analysis.parameters(**{key.rsplit(".", 1)[-1]: value for key, value in given.items()})


def defaults() -> dict[str, Any]:
    """Return what the filters and the outcome are unless told; the outcome is the data's overall rating, or its first."""
    outcomes = list(cache.outcomes())
    return DEFAULTS | {"outcome": "overall" if "overall" in outcomes else next(iter(outcomes), None)}


def _page_defaults(page: str) -> dict[str, Any]:
    return {key: value for one in on_page(page) for key, value in parameter_defaults(one).items()}


def parameter_key(analysis: Analysis, name: str) -> str:
    """Return the name of a parameter in the URL and in the session: shared ones have one for all analyses."""
    shared = name == "outcome" or analysis.parameter_fields()[name].metadata.get("shared")
    return name if shared else f"{analysis.name}.{name}"


def parameter_defaults(analysis: Analysis) -> dict[str, Any]:
    """Return an analysis' parameters by their name in the URL, with their defaults."""
    fields = analysis.parameter_fields()
    return {
        parameter_key(analysis, name): list(item.default) if isinstance(item.default, tuple) else item.default
        for name, item in fields.items()
    }


def changed(analysis: Analysis) -> bool:
    """Whether a parameter of the analysis' own is not at its default: then its controls must stay to be set back."""
    own = parameter_defaults(analysis).items()
    return any(st.session_state.get(key, value) != value for key, value in own if key != "outcome")


def query_pairs(page: str | None = None) -> Pairs:
    """Return what the URL of a page must say, in a fixed order; what stands at its default is left out."""
    page = page or current_page()
    state = st.session_state
    pairs: Pairs = []
    for name in FILTERS:
        pairs += [(name, str(level)) for level in state.get(name, ())]
    known = _page_defaults(page) | defaults()
    for key, default in known.items():
        value = state.get(key, default)
        if isinstance(default, list):
            # A path is a file of this session alone; only what lies with the data can be linked to.
            pairs += [(key, one) for one in value if key not in FILTERS and Path(one).name == one]
        elif value != default and value is not None:
            pairs.append((key, _written(value)))
    return pairs


def write_address() -> None:
    """Make the URL say what is shown; one more entry in the browser's history if that changes it."""
    wanted: dict[str, list[str]] = {}
    for key, value in query_pairs():
        wanted.setdefault(key, []).append(value)
    if {key: st.query_params.get_all(key) for key in st.query_params} != wanted:
        st.query_params.from_dict(wanted)


def reset_filters() -> None:
    """Take every filter away."""
    for key, value in DEFAULTS.items():
        if key != "outcome":
            st.session_state[key] = _fresh(value)


def remove_filter(key: str, level: str | None = None) -> None:
    """Take one level of a filter away, or the whole filter."""
    kept = [one for one in st.session_state.get(key, []) if one != level] if level is not None else None
    st.session_state[key] = _fresh(DEFAULTS[key]) if kept is None else kept


def _fresh(value: Any) -> Any:
    return list(value) if isinstance(value, list) else value


def _written(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    return f"{value:g}" if isinstance(value, float) else str(value)


def _follow(key: str, values: Sequence[str], state: dict[str, Any], notes: list[str]) -> None:
    """Put what a URL says of one key into the state, or note why it cannot be followed."""
    try:
        if key in FILTERS:
            state[key] = _known_levels(key, values, notes)
        elif key in DEFAULTS:
            state[key] = _single(key, values)
        else:
            analysis, name = _owner(key)
            _, given = parse_parameters(analysis, [(name, value) for value in values])
            found = getattr(given, name)
            state[key] = list(found) if isinstance(found, tuple) else found
    except Refused as refusal:
        notes.append(f"The link says {key}={', '.join(values)}. {refusal} It was left out.")


def _known_levels(key: str, values: Iterable[str], notes: list[str]) -> list[str]:
    existing = cache.levels().get(key, [])
    names = list(dict.fromkeys(_level_name(key, value) for value in values))
    unknown = [name for name in names if name not in existing]
    if unknown:
        shown = " and ".join(f"“{name}”" for name in unknown)
        notes.append(
            f"The link filters by {key.replace('_', ' ')} {shown}, which this data does not have. It was left out, so "
            "this page can show more than its sender saw."
        )
    return [name for name in names if name in existing]


def _level_name(key: str, value: str) -> str:
    if key != "desired_empathy":
        return value
    try:
        return f"{float(value):g}"
    except ValueError:
        return value


def _single(key: str, values: Sequence[str]) -> Any:
    if key == "outcome":
        existing = cache.outcomes()
        if len(values) != 1 or values[0] not in existing:
            raise Refused(f"The outcome must be one of {', '.join(existing) or 'those of the data, which has none'}.")
        return values[0]
    any_analysis = next(iter(registry().values()))
    found, _ = parse_parameters(any_analysis, [(key, value) for value in values])
    return getattr(found, key)


def _owner(key: str) -> tuple[Analysis, str]:
    name, _, field = key.rpartition(".")
    owner = registry().get(name)
    if not name:
        sharing = (one for one in registry().values() if key in one.parameter_fields())
        owner = next((one for one in sharing if parameter_key(one, key) == key), None)
    if owner is None or field not in owner.parameter_fields() or field == "outcome":
        raise Refused("There is no filter or parameter of that name.")
    return owner, field
