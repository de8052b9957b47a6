"""The model's form and its formula, each editing the other; the formula leads and stands in the address."""

from __future__ import annotations

import streamlit as st

from dashboard.analyses import registry
from dashboard.analyses.findings import Selection
from dashboard.analyses.model_frame import TURNS, ModelNames, default_formula, model_names, read_formula, row_kind
from dashboard.analyses.model_moments import is_large
from dashboard.analyses.model_parameters import read_reference
from dashboard.analyses.model_questions import (
    NO_INTERCEPT,
    RANDOM_PARTS,
    Parts,
    compose,
    fitting_parts,
    fixed_options,
    interaction_options,
    random_options,
    ready_questions,
    take_apart,
    without_lost_terms,
)
from dashboard.stats.formula import Formula
from dashboard.ui import cache
from dashboard.ui.show import guarded
from dashboard.ui.text import plain
from dashboard.vocabulary import Refused

FORMULA, REFERENCE, METHOD, AR1, OTHERS = (
    "mixed_model.formula",
    "mixed_model.reference",
    "mixed_model.method",
    "mixed_model.ar1",
    "model_comparison.others",
)
INTERVALS, DRAWS, SEED = "mixed_model.intervals", "mixed_model.draws", "mixed_model.seed"
_TEXT, _OUTCOME, _FIXED, _CROSSED, _RANDOM = (
    "builder.text",
    "builder.outcome",
    "builder.fixed",
    "builder.interactions",
    "builder.random",
)
_BUILT = "builder.built"


def show_builder(selection: Selection) -> str | None:
    """Draw the ready questions, the form and the formula; return the formula, or None where there is none to fit.

    Parameters
    ----------
    selection
        The conversations, for the model that is fitted where none is asked for.
    """
    names = _names()
    text = st.session_state.get(FORMULA)
    with guarded("The model.") as failed:
        text = text or _default(selection, names)
    if failed or text is None:
        return None
    _questions(names)
    formula = _readable(text, names)
    _seed(text, formula)
    if formula is not None:
        _form(names, take_apart(formula))
    _formula_field()
    if formula is None:
        with guarded("The formula."):
            read_formula(text, names)
        return None
    _settings(formula, names)
    return str(formula)


def _names() -> ModelNames:
    data = cache.database()
    return _names_of(data, cache.data_key(data))


@st.cache_resource(max_entries=4, show_spinner=False)
def _names_of(_data: object, key: str) -> ModelNames:
    return model_names(_data)  # type: ignore[arg-type]


def _default(selection: Selection, names: ModelNames) -> str:
    data = cache.database()
    if is_large(data):
        random = "(1 | participant/conversation)" if "participant" in names.groups else "(1 | conversation)"
        return f"{next(iter(names.outcomes))} ~ turn + model + {random}"
    return default_formula(data, selection, names)


def _readable(text: str, names: ModelNames) -> Formula | None:
    try:
        return read_formula(text, names)
    except Refused:
        return None


def _seed(text: str, formula: Formula | None) -> None:
    """Bring the fields to what the formula says, unless they made it."""
    if st.session_state.get(_BUILT) == text and _TEXT in st.session_state:
        return
    st.session_state[_BUILT] = text
    st.session_state[_TEXT] = text
    if formula is None:
        return
    parts = take_apart(formula)
    st.session_state[_TEXT] = str(formula)
    st.session_state[_OUTCOME] = parts.outcome
    st.session_state[_FIXED] = list(parts.terms)
    st.session_state[_CROSSED] = list(parts.interactions)
    st.session_state[_RANDOM] = list(parts.random)


def choose(formula: str) -> None:
    """Take a formula as the model of the page."""
    st.session_state[FORMULA] = formula
    st.session_state.pop(_BUILT, None)


def _questions(names: ModelNames) -> None:
    with st.container(horizontal=True, gap="small", key="questions"):
        for index, (question, formula) in enumerate(ready_questions(names, cache.database().manifest).items()):
            st.button(question, key=f"question.{index}", on_click=choose, args=(formula,), help=formula)


def _form(names: ModelNames, parts: Parts) -> None:
    for key, value in (
        (_OUTCOME, parts.outcome),
        (_FIXED, parts.terms),
        (_CROSSED, parts.interactions),
        (_RANDOM, parts.random),
    ):
        st.session_state.setdefault(key, value if isinstance(value, str) else list(value))
    responses = list(dict.fromkeys([*names.responses, parts.outcome]))
    left, right = st.columns(2)
    with left:
        st.selectbox(
            "Outcome", responses, key=_OUTCOME, format_func=lambda one: plain(names.label(one)), on_change=_take_outcome
        )
        st.multiselect(
            "What may go with it",
            fixed_options(names, parts),
            key=_FIXED,
            format_func=lambda one: _term(names, one),
            placeholder="Nothing: an average alone",
            on_change=_take_form,
        )
    with right:
        st.multiselect(
            "Groups whose levels vary (random part)",
            random_options(names, parts),
            key=_RANDOM,
            format_func=lambda one: RANDOM_PARTS.get(one, one),
            placeholder="Choose at least one",
            on_change=_take_form,
        )
        options = interaction_options(parts)
        st.multiselect(
            "Interactions",
            options,
            key=_CROSSED,
            format_func=lambda one: " × ".join(_term(names, piece) for piece in one.split(":")),
            placeholder="None" if options else "Choose two terms first",
            disabled=not options,
            on_change=_take_form,
        )


def _term(names: ModelNames, text: str) -> str:
    if text == NO_INTERCEPT:
        return "no intercept"
    return plain(names.label(text)) if text in names.everything else plain(text)


def _formula_field() -> None:
    with st.container(horizontal=True, vertical_alignment="bottom", gap="small", key="formula"):
        st.text_input(
            "Formula",
            key=_TEXT,
            max_chars=2_000,
            on_change=_take_text,
            help="lme4's syntax: + : * - 1, log() sqrt() I(x^2) center() within() between() factor(). Rows are turns for a turn "
            "rating and conversations for a score of a conversation.",
        )
        st.button("Save to compare", key="builder.save", icon=":material/bookmark_add:", on_click=_save)


def _take_text() -> None:
    choose(str(st.session_state[_TEXT]).strip())


def _take_form() -> None:
    state = st.session_state
    parts = Parts(state[_OUTCOME], tuple(state[_FIXED]), tuple(state[_CROSSED]), tuple(state[_RANDOM]))
    choose(compose(without_lost_terms(parts)))


def _take_outcome() -> None:
    state = st.session_state
    parts = Parts(state[_OUTCOME], tuple(state[_FIXED]), tuple(state[_CROSSED]), tuple(state[_RANDOM]))
    choose(compose(fitting_parts(_names(), state[_OUTCOME], parts)))


# ------------------------------------------------------------------------------------------------ settings
def _settings(formula: Formula, names: ModelNames) -> None:
    """Draw the reference level of each factor with few levels, and how the model is estimated."""
    st.session_state.setdefault(METHOD, "REML")
    if row_kind(formula, names) != TURNS:
        st.session_state[AR1] = False
    known = cache.levels()
    factors = [name for name in ("task", "model") if name in formula.predictors and name in known]
    _forget_other_references(formula)
    with st.popover("More: reference levels, estimation, intervals", type="tertiary", icon=":material/tune:"):
        for name in factors:
            levels = sorted(known[name])
            chosen = _reference().get(name, levels[0])
            key = f"builder.reference.{name}"
            st.session_state[key] = chosen if chosen in levels else levels[0]
            label = "Assistant model" if name == "model" else "Task"
            st.selectbox(f"{label}: compared with", levels, key=key, on_change=_take_reference, args=(name, levels[0]))
        st.segmented_control(
            "Estimation",
            ["REML", "ML"],
            key=METHOD,
            required=True,
            persist_state="session",
            help="Restricted maximum likelihood for variances and intervals; plain for likelihoods of different fixed parts.",
        )
        _series_and_intervals(can_be_series=row_kind(formula, names) == TURNS)


def _series_and_intervals(*, can_be_series: bool) -> None:
    """Draw what the analysis declares of autocorrelation and intervals; the bootstrap's settings where it is chosen."""
    fields = registry()["mixed_model"].parameter_fields()
    for key in (AR1, INTERVALS, DRAWS, SEED):
        st.session_state.setdefault(key, fields[key.rsplit(".", 1)[-1]].default)
    series, intervals = (fields[key.rsplit(".", 1)[-1]].metadata for key in (AR1, INTERVALS))
    st.checkbox(series["label"], key=AR1, help=series["help"], disabled=not can_be_series, persist_state="session")
    st.segmented_control(
        "95 % intervals",
        intervals["choices"],
        key=INTERVALS,
        format_func=intervals["labels"].__getitem__,
        required=True,
        persist_state="session",
        help=intervals["help"],
    )
    if st.session_state[INTERVALS] == "bootstrap":
        for key in (DRAWS, SEED):
            told = fields[key.rsplit(".", 1)[-1]].metadata
            limits = {"min_value": told["minimum"], "max_value": told["maximum"]}
            st.number_input(told["label"], key=key, help=told["help"], step=1, persist_state="session", **limits)


def _reference() -> dict[str, str]:
    try:
        return read_reference(st.session_state.get(REFERENCE))
    except Refused:
        return {}


def _forget_other_references(formula: Formula) -> None:
    """A reference level of a factor that the model no longer has would be refused."""
    kept = {name: level for name, level in _reference().items() if name in formula.predictors}
    st.session_state[REFERENCE] = _written(kept)


def _take_reference(name: str, standard: str) -> None:
    chosen = _reference()
    level = st.session_state[f"builder.reference.{name}"]
    chosen.pop(name, None)
    if level != standard:
        chosen[name] = level
    st.session_state[REFERENCE] = _written(chosen)


def _written(reference: dict[str, str]) -> str | None:
    return "; ".join(f"{name}={level}" for name, level in reference.items()) or None


# ------------------------------------------------------------------------------------------------ saved models
def saved_models() -> list[str]:
    """Return the formulas saved for comparison."""
    return [part.strip() for part in (st.session_state.get(OTHERS) or "").split(";") if part.strip()]


def _save() -> None:
    text = str(st.session_state.get(_TEXT) or "").strip()
    if text:
        st.session_state[OTHERS] = "; ".join(dict.fromkeys([*saved_models(), text]))


def remove_saved(formula: str) -> None:
    """Forget a saved model."""
    st.session_state[OTHERS] = "; ".join(one for one in saved_models() if one != formula) or None
