"""How the analyses of one model are shown: they share its formula, and the slow ones can be interrupted."""

from __future__ import annotations

import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from functools import partial
from typing import TYPE_CHECKING, Any

import streamlit as st

from dashboard.analyses import registry
from dashboard.analyses.findings import Analysis, Findings, Parameters, Selection, run_analysis
from dashboard.stats.progress import listening
from dashboard.ui import address, cache, panels
from dashboard.ui.model_builder import AR1, FORMULA, METHOD, REFERENCE, remove_saved, saved_models
from dashboard.ui.show import guarded, say, screen_template, show_figure
from dashboard.ui.tables import show_markdown_table, show_reading_table
from dashboard.ui.text import plain
from dashboard.vocabulary import format_number

if TYPE_CHECKING:
    import pandas as pd

SHARED = {"formula": FORMULA, "method": METHOD, "reference": REFERENCE, "ar1": AR1}
_KEPT = 64
_SHOWING_SECONDS = 0.08


def chosen_parameters(analysis: Analysis, formula: str) -> Parameters:
    """Return an analysis' parameters: the page's model, and what is its own."""
    values: dict[str, Any] = {}
    for name, item in analysis.parameter_fields().items():
        key = SHARED.get(name) or address.parameter_key(analysis, name)
        values[name] = st.session_state.get(key, item.default)
    values["formula"] = formula
    if "others" in values:
        values["others"] = "; ".join(one for one in saved_models() if one != formula) or None
    return analysis.parameters(**values)


def show_model(name: str, selection: Selection, formula: str) -> None:
    """Draw one analysis of the model: question, finding, warnings, figures, tables, the quiet row."""
    analysis = registry()[name]
    before, body = BODIES[name]
    with st.container(key=f"analysis-{name}", gap="small"):
        st.header(analysis.question, anchor=name)
        if before is not None:
            before(formula)
        chosen = chosen_parameters(analysis, formula)
        with guarded(analysis.question) as failed:
            findings = _found(analysis, selection, chosen)
            say(findings)
        if failed:
            return
        with guarded(analysis.question):
            body(analysis, findings)
            panels.show_quiet_row(analysis, findings, selection, chosen)


# ------------------------------------------------------------------------------------------- slow answers
class _Stopped(Exception):
    """Nobody waits for this answer any more."""


class _Job:
    """One answer being worked on: how far it is, and how many wait for it."""

    def __init__(self) -> None:
        self.told = ""
        self.waiting = 1
        self.future: Future[Findings] = Future()

    def start(self, pool: ThreadPoolExecutor, work: Callable[[], Findings]) -> None:
        """Begin to work."""
        self.future = pool.submit(self._run, work)

    def _run(self, work: Callable[[], Findings]) -> Findings:
        with listening(self._hear):
            return work()

    def _hear(self, what: str, done: int, total: int) -> None:
        if self.waiting <= 0:
            raise _Stopped
        self.told = (
            f"{what[:1].upper()}{what[1:]}: {done:,} of {total:,}" if total else f"{what[:1].upper()}{what[1:]} …"
        )

    @property
    def is_stopped(self) -> bool:
        """Whether it ended because nobody waited."""
        return self.future.done() and isinstance(self.future.exception(), _Stopped)


class _Answers:
    """Answers being worked on or kept, by what was asked; shared by sessions."""

    def __init__(self) -> None:
        self._pool = ThreadPoolExecutor(2, thread_name_prefix="model")
        self._jobs: OrderedDict[Any, _Job] = OrderedDict()
        self._lock = threading.Lock()

    @contextmanager
    def ask(self, key: Any, work: Callable[[], Findings]) -> Iterator[_Job]:
        """Wait for an answer inside the block; who leaves it before the end waits no more."""
        with self._lock:
            job = self._jobs.get(key)
            if job is None or job.is_stopped:
                self._jobs[key] = job = _Job()
                job.start(self._pool, work)
            else:
                job.waiting += 1
            self._jobs.move_to_end(key)
            while len(self._jobs) > _KEPT:
                self._jobs.popitem(last=False)
        try:
            yield job
        finally:
            with self._lock:
                job.waiting -= 1


@st.cache_resource(show_spinner=False)
def _answers() -> _Answers:
    return _Answers()


def _found(analysis: Analysis, selection: Selection, chosen: Parameters) -> Findings:
    """Return the findings; while they are worked on, say how far; a new question, or Stop, ends the waiting and the work."""
    data = cache.database()
    key = (cache.data_key(data), data.public, analysis.name, selection, chosen)
    with _answers().ask(key, partial(run_analysis, data, analysis, selection, chosen)) as job:
        place, began = st.empty(), time.monotonic()
        while not job.future.done():
            waited = time.monotonic() - began
            if waited > 0.3:
                # Each call lets a new choice of the reader stop this wait.
                place.caption(f":material/hourglass_empty: {job.told or 'Working on this question …'} {waited:.0f} s")
            time.sleep(0.005 if waited < 0.3 else 0.1)
        place.empty()
        return job.future.result()


# ------------------------------------------------------------------------------------------------ bodies
def _figure(findings: Findings, name: str, *, alt: str | None = None) -> None:
    if name in findings.figures:
        show_figure(findings.figures[name], screen_template(), key=name, alt=alt)


def _model(analysis: Analysis, findings: Findings) -> None:
    # The table is sent before the figure that stands above it, and a little later, so that the browser has shown the table
    # when it begins to draw: drawing takes longer than fitting.
    above = st.container()
    summary = findings.tables[f"{analysis.name}.summary"].set_index("measure")["value"]
    own = findings.tables.get(f"{analysis.name}.intervals")
    _terms(findings.table, phi=summary.get("ar1_phi"))
    time.sleep(_SHOWING_SECONDS)
    with above:
        _figure(findings, analysis.name, alt=findings.headline)
    if own is not None:
        _deviations(own, str(findings.notes[-1]))
    st.caption("How the variance that these terms leave divides")
    _figure(findings, f"{analysis.name}.variances")
    _fit_line(findings.tables[f"{analysis.name}.summary"])
    told = findings.tables[f"{analysis.name}.report"]
    texts = {part: list(rows["text"]) for part, rows in told.groupby("part", sort=False)}
    st.caption("In APA style")
    st.code(texts["apa"][0], language=None, wrap_lines=True)
    with st.container(border=True, key="caveats"):
        st.markdown("**Read with care**")
        st.markdown("\n".join(f"- {plain(text)}" for text in texts["caveat"]))
    with st.expander("Reproduce this model in R or Python", icon=":material/code:"):
        r, python = st.tabs(["R, lme4", "Python"])
        r.code(texts["r"][0], language="r", wrap_lines=True)
        python.code(texts["python"][0], language="python", wrap_lines=True)
    with st.expander("How the fit was checked", icon=":material/fact_check:"):
        st.markdown("\n".join(f"- {plain(note)}" for note in findings.notes))
        show_reading_table(findings.tables[f"{analysis.name}.variances"], alt="Variances by group")
        joint = findings.tables[f"{analysis.name}.joint"]
        if len(joint):
            show_reading_table(joint, alt="Joint test of each term")


def _terms(table: pd.DataFrame, *, phi: float | None) -> None:
    """Draw the terms with their reference levels, and how residuals go on from turn to turn, as a table to be read."""
    import pandas as pd

    rows = [
        {"Term": plain(row["label"]), "b": ":gray[reference]"}
        | dict.fromkeys(("SE", "df", "t", "p", "95 % interval"), "")
        if row["is_reference"]
        else {
            "Term": plain(row["label"]),
            "b": _number(row["estimate"]),
            "SE": _number(row["std_error"]),
            "df": plain(format_number(row["df"], "count")),
            "t": plain(f"{row['statistic']:.2f}".replace("-", "−")),
            "p": _p(row["p_value"]),
            "95 % interval": f"{_number(row['conf_low'])} to {_number(row['conf_high'])}",
        }
        for _, row in table.iterrows()
    ]
    if phi is not None:
        rows.append({"Term": "φ, from a turn's residual to the next (AR(1))", "b": _number(phi)})
    show_markdown_table(pd.DataFrame(rows).fillna(""), alt="Fixed terms of the model")


def _deviations(intervals: pd.DataFrame, note: str) -> None:
    """Draw the intervals of what is no term: standard deviations and correlations."""
    import pandas as pd

    names = {"std_dev": "SD", "correlation": "correlation"}
    rows = [
        {
            "Group": plain(row["group"]),
            "": plain(f"{names[row['measure']]} {row['term']}".strip()),
            "Estimate": _number(row["estimate"]),
            "95 % interval": f"{_number(row['conf_low'])} to {_number(row['conf_high'])}",
        }
        for _, row in intervals[intervals["measure"] != "coefficient"].iterrows()
    ]
    st.caption(plain(note))
    show_markdown_table(pd.DataFrame(rows), alt="Intervals of standard deviations")


def _p(value: float) -> str:
    return plain(format_number(value, "p")).replace(" ", "\u00a0")


def _number(value: float) -> str:
    return plain(f"{value:.3f}".replace("-", "−"))


def _fit_line(summary: pd.DataFrame) -> None:
    values = dict(zip(summary["measure"], summary["value"], strict=True))
    parts = [
        f"R² marginal {values['r2_marginal']:.2f}, conditional {values['r2_conditional']:.2f}",
        f"AIC {values['aic']:,.1f}",
        f"BIC {values['bic']:,.1f}",
        "log-likelihood " + f"{values['log_likelihood']:,.2f}".replace("-", "−"),
        f"n = {values['n_observations']:,.0f} ({values['n_dropped']:,.0f} rows left out)",
    ]
    groups = [
        f"{n:,.0f} {name[9:-1]}s" for name, n in values.items() if name.startswith("n_groups[") and ":" not in name
    ]
    st.caption(plain(" · ".join([*parts, *groups])))


def _means(analysis: Analysis, findings: Findings) -> None:
    import pandas as pd

    _figure(findings, analysis.name, alt=findings.headline)
    st.caption("All pairwise differences, p adjusted after Holm")
    pairs = findings.tables[f"{analysis.name}.contrasts"]
    rows = [
        {
            "Difference": plain(row["contrast"].replace(" - ", " − ")),
            "Estimate": _number(row["estimate"]),
            "95 % interval": f"{_number(row['conf_low'])} to {_number(row['conf_high'])}",
            "df": plain(format_number(row["df"], "count")),
            "p, adjusted": _p(row["p_adjusted"]),
        }
        for _, row in pairs.iterrows()
    ]
    show_markdown_table(pd.DataFrame(rows), alt="Pairwise differences of marginal means")


def _comparison(analysis: Analysis, findings: Findings) -> None:
    import pandas as pd

    _figure(findings, analysis.name, alt=findings.headline)
    rows = [
        {
            "Model": f"{number} :gray[:small[{plain(row['formula'])}]]",
            "Parameters": f"{row['n_parameters']:,}",
            "AIC": f"{row['aic']:,.1f}",
            "BIC": f"{row['bic']:,.1f}",
            "R² marg.": f"{row['r2_marginal']:.3f}",
            "R² cond.": f"{row['r2_conditional']:.3f}",
        }
        for number, (_, row) in enumerate(findings.table.iterrows(), start=1)
    ]
    show_markdown_table(pd.DataFrame(rows), alt="Criteria of each model")
    tests = findings.tables[f"{analysis.name}.tests"]
    if len(tests):
        st.caption("Likelihood-ratio tests against model 1")
        show_markdown_table(_tests(tests), alt="Likelihood-ratio tests against the first model")
    with st.expander("Terms side by side"):
        show_markdown_table(_side_by_side(findings), alt="Terms of all models side by side")


def _tests(tests: pd.DataFrame) -> pd.DataFrame:
    import pandas as pd

    rows = [
        {
            "Model": str(number),
            "χ²": plain(format_number(row["statistic"], "rating")),
            "df": plain(format_number(row["df"], "count")),
            "p": _p(row["p_value"]),
            "Method": plain(row["method"]),
        }
        for number, (_, row) in enumerate(tests.iterrows(), start=2)
    ]
    return pd.DataFrame(rows)


def _side_by_side(findings: Findings) -> pd.DataFrame:
    """Return one row per term, one column per model: estimate and SE."""
    import pandas as pd

    terms = findings.tables[f"{findings.name}.terms"]
    models = list(findings.table["formula"])
    rows = []
    for term in dict.fromkeys(terms["term"]):
        row = {"Term": plain(term)}
        for number, model in enumerate(models, start=1):
            found = terms[(terms["term"] == term) & (terms["formula"] == model)]
            row[f"Model {number}"] = (
                f"{_number(found['estimate'].iloc[0])} ({_number(found['std_error'].iloc[0])})" if len(found) else ""
            )
        rows.append(row)
    return pd.DataFrame(rows)


def _saved(formula: str) -> None:
    """Draw the saved models, each with a cross that forgets it."""
    saved = [one for one in saved_models() if one != formula]
    if not saved:
        st.caption(
            "Save models above to compare them here; until then, the model stands beside itself without each of its terms."
        )
        return
    with st.container(horizontal=True, gap="small", key="saved"):
        for index, one in enumerate(saved):
            st.button(
                plain(one),
                key=f"saved.{index}",
                icon=":material/close:",
                icon_position="right",
                on_click=remove_saved,
                args=(one,),
            )


def _diagnostics(analysis: Analysis, findings: Findings) -> None:
    for name in findings.figures:
        st.caption(plain(analysis.figures[name]))
        _figure(findings, name, alt=findings.headline if name == analysis.name else None)
    show_reading_table(findings.table, alt="What was checked")


def _ordinal(analysis: Analysis, findings: Findings) -> None:
    _figure(findings, analysis.name, alt=findings.headline)
    import pandas as pd

    rows = [
        {
            "Term": plain(row["label"]),
            "Linear": _with_interval(row, "linear"),
            "Ordinal, log-odds": _with_interval(row, "ordinal"),
            "": "agree" if row["agrees"] else "**disagree**",
        }
        for _, row in findings.table.iterrows()
    ]
    if rows:
        show_markdown_table(pd.DataFrame(rows), alt="Linear and ordinal model, term by term")


def _with_interval(row: pd.Series, which: str) -> str:
    low, high = _number(row[f"conf_low_{which}"]), _number(row[f"conf_high_{which}"])
    return f"{_number(row[f'estimate_{which}'])} :gray[:small[{low} to {high}]]"


BODIES: dict[str, tuple[Callable[[str], None] | None, Callable[[Analysis, Findings], None]]] = {
    "mixed_model": (None, _model),
    "marginal_means": (None, _means),
    "model_comparison": (_saved, _comparison),
    "model_diagnostics": (None, _diagnostics),
    "ordinal_check": (None, _ordinal),
}
