"""When does a dimension not apply, and does the overall rating differ then?"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from dashboard.analyses.findings import (
    Analysis,
    Counts,
    Drawing,
    Findings,
    Parameters,
    Selection,
    count_selection,
    describe_counts,
    parameter,
    refuse_empty,
)
from dashboard.database import Database
from dashboard.figures.intervals import draw_intervals
from dashboard.queries import run_query
from dashboard.stats.within_difference import difference_from_sums
from dashboard.vocabulary import (
    NotInThisData,
    Refused,
    TooLittleData,
    format_interval,
    format_number,
    format_percent,
    unknown_name,
)

if TYPE_CHECKING:
    import pandas as pd

NAME = "applicability_model"
# The mixed logit takes this many participants at most, evenly spaced.
MODEL_PEOPLE = 500


@dataclass(frozen=True)
class ApplicabilityModelParameters(Parameters):
    """Which dimension is modelled."""

    dimension: str | None = parameter(
        None, label="Dimension", help="The dimension to model; by default the one that applies least often."
    )


def analyse(database: Database, selection: Selection, parameters: ApplicabilityModelParameters) -> Findings:
    """Model not being applicable, and compare the overall rating with and without each dimension."""
    outcomes = run_query(database, "outcomes")
    labels = dict(zip(outcomes["outcome"], outcomes["label"], strict=True))
    dimensions = outcomes.loc[outcomes["score"] == "dimension", "outcome"].tolist()
    if not dimensions:
        raise NotInThisData("dimensions of the turn rating.")
    if parameters.dimension is not None and parameters.dimension not in dimensions:
        raise unknown_name("dimension", parameters.dimension, dimensions)
    counts = count_selection(database, selection)
    refuse_empty(counts)
    chosen = selection.query_parameters()
    sums = run_query(database, "applicability_sums", **chosen)
    if sums.empty:
        raise TooLittleData("No turn of this selection answers any dimension. Take a filter away, or reset them all.")
    dimension = parameters.dimension or least_applicable(sums)
    one = run_query(database, "dimension_answers", **chosen, dimension=dimension)
    if one.empty:
        raise TooLittleData(
            f"No turn of this selection answers {labels[dimension]}. Take a filter away, or reset them all."
        )
    terms, variances, notes = _model(one)
    differences = difference_rows(sums, dimensions)
    people = int(one["cluster"].nunique()) if counts.participants is not None else None
    seen = Counts(people, int(one["conversation"].nunique()), len(one))
    headline = _headline(one, terms, differences, labels, dimension)
    return Findings(
        name=NAME,
        headline=f"{headline}; {describe_counts(seen)}.",
        tables={NAME: terms, f"{NAME}.variances": variances, f"{NAME}.overall": differences},
        figures=_figures(terms, differences, labels, dimension),
        warnings=tuple(notes) if terms["estimate"].isna().all() else (),
        notes=() if terms["estimate"].isna().all() else tuple(notes),
        counts=counts,
        queries={"dimension_answers": chosen | {"dimension": dimension}, "applicability_sums": chosen},
    )


def _model(one: pd.DataFrame) -> tuple[pd.DataFrame, pd.DataFrame, list[str]]:
    """Fit a mixed logit of not applicable on task and turn; a frame of empty numbers and the reason where it fails."""
    import numpy as np
    import pandas as pd

    from dashboard.stats.ordinal_mixed import TERM_COLUMNS, VARIANCE_COLUMNS, fit_cumulative_logit

    notes = []
    units = one["cluster"].unique()
    if len(units) > MODEL_PEOPLE:
        kept = units[np.linspace(0, len(units) - 1, MODEL_PEOPLE).round().astype(int)]
        one = one[one["cluster"].isin(kept)]
        notes.append(f"The model was fitted to {MODEL_PEOPLE} evenly spaced participants of {len(units):,}.")
    turn = (one["turn"].to_numpy(dtype=float) - 1)[:, None]
    names, columns = ["turn"], [turn]
    if one["task"].nunique() > 1:
        known = one["task"].fillna("–")
        dummies = pd.get_dummies(known, drop_first=True, dtype=float)
        names += [f"task[{name}]" for name in dummies.columns]
        columns.append(dummies.to_numpy())
        notes.append(f"Tasks are compared with {sorted(known.unique())[0]}.")
    empty = pd.DataFrame([("turn", *[math.nan] * 7)], columns=list(TERM_COLUMNS))
    nothing = pd.DataFrame([], columns=list(VARIANCE_COLUMNS))
    repeated = one["conversation"].nunique() > one["cluster"].nunique()
    try:
        fit = fit_cumulative_logit(
            one["not_applicable"].to_numpy(),
            np.hstack(columns),
            participant=one["cluster"].to_numpy(),
            conversation=one["conversation"].to_numpy() if repeated else None,
            term_names=names,
            try_second_start=False,
        )
    except Refused as reason:
        return empty, nothing, [*notes, f"No model: {reason}"]
    if not fit.converged:
        return empty, nothing, [*notes, "No model could be fitted.", *fit.notes]
    terms = fit.terms.assign(odds_ratio=np.exp(fit.terms["estimate"].to_numpy(dtype=float)))
    return terms.reset_index(drop=True), fit.variances.reset_index(drop=True), [*notes, *fit.notes]


def least_applicable(sums: pd.DataFrame) -> str:
    """Return the dimension that most answered turns say does not apply; the first by name of equals."""
    counted = sums.assign(refused=sums["n_turns"] * sums["not_applicable"]).groupby("dimension")
    return str((counted["refused"].sum() / counted["n_turns"].sum()).idxmax())


def difference_rows(sums: pd.DataFrame, dimensions: list[str]) -> pd.DataFrame:
    """Return, per dimension, the within-person difference of the overall rating: not applicable less rated.

    Parameters
    ----------
    sums
        The report ``applicability_sums``.
    dimensions
        In display order; those without an overall rating beside them are left out.
    """
    import numpy as np
    import pandas as pd

    n_units = int(sums["cluster_number"].max()) + 1
    rows: list[dict[str, Any]] = []
    for dimension in dimensions:
        part = sums[(sums["dimension"] == dimension) & (sums["n_overall"] > 0)]
        if part.empty:
            continue
        n, total = np.zeros((2, n_units)), np.zeros((2, n_units))
        place = (part["not_applicable"].to_numpy(), part["cluster_number"].to_numpy())
        n[place], total[place] = part["n_overall"], part["total_overall"]
        found = difference_from_sums(n[0], total[0], n[1], total[1])
        means = [float(total[state].sum() / n[state].sum()) if n[state].any() else math.nan for state in (0, 1)]
        rows.append(
            {
                "dimension": dimension,
                "mean_rated": means[0],
                "mean_not_applicable": means[1],
                "estimate": found.estimate,
                "std_error": found.std_error,
                "conf_low": found.conf_low,
                "conf_high": found.conf_high,
                "n_observations": found.n_observations,
                "n_groups": found.n_groups,
            }
        )
    columns = "dimension mean_rated mean_not_applicable estimate std_error conf_low conf_high n_observations n_groups"
    return pd.DataFrame(rows, columns=columns.split())


def _headline(
    one: pd.DataFrame, terms: pd.DataFrame, differences: pd.DataFrame, labels: dict[str, str], dimension: str
) -> str:
    share = format_percent(float(one["not_applicable"].mean()))
    lead = f"{labels[dimension]} was said not to apply on {share} of answered turns"
    own = differences[(differences["dimension"] == dimension) & differences["estimate"].notna()]
    if not own.empty:
        row = own.iloc[0]
        interval = format_interval(row["conf_low"], row["conf_high"], "rating")
        by = format_number(abs(row["estimate"]), "rating")
        way = "higher" if row["estimate"] > 0 else "lower"
        clear = row["conf_low"] > 0 or row["conf_high"] < 0
        text = f"the overall rating is {by} {way} there than on the same person's other turns"
        if not clear:
            text = f"whether the overall rating differs there within a person is unclear ({way} by {by})"
        ends = interval.replace("-", "−")
        lead += f"; {text}" + (f" (95 % interval {ends.replace('–', ' to ')})" if ends else "")
    return lead


def _figures(
    terms: pd.DataFrame, differences: pd.DataFrame, labels: dict[str, str], dimension: str
) -> dict[str, Drawing]:
    figures = {}
    known = terms[terms["estimate"].notna() & (terms["estimate"].abs() < 15)]
    if not known.empty:
        figures[NAME] = Drawing(
            draw=draw_intervals,
            arguments={
                "frame": known.assign(n_observations=0),
                "row": "term",
                "estimate": "estimate",
                "labels": {
                    name: name.removeprefix("task[").removesuffix("]") if "[" in name else "Each later turn"
                    for name in known["term"]
                },
                "unit": "Log odds of not applying",
                "axis_range": None,
                "zero": True,
            },
            alt=f"Log odds that {labels[dimension]} does not apply, by task and turn, from a mixed logit.",
        )
    shown = differences[differences["estimate"].notna()]
    if not shown.empty:
        figures[f"{NAME}.overall"] = Drawing(
            draw=draw_intervals,
            arguments={
                "frame": shown,
                "row": "dimension",
                "estimate": "estimate",
                "labels": labels,
                "unit": "Overall rating: not applicable less rated",
                "axis_range": None,
                "zero": True,
            },
            alt="Within-person difference of the overall rating between turns on which a dimension did not apply and those on "
            "which it was rated, per dimension.",
        )
    return figures


ANALYSIS = Analysis(
    name=NAME,
    page="Variability",
    position=9,
    question="When does a dimension not apply?",
    analyse=analyse,
    parameters=ApplicabilityModelParameters,
    tables={
        NAME: "Terms of the mixed logit of not being applicable",
        f"{NAME}.variances": "Its variances between participants and conversations",
        f"{NAME}.overall": "The overall rating where a dimension did not apply against where it was rated",
    },
    figures={
        NAME: "What goes with not being applicable",
        f"{NAME}.overall": "The overall rating where a dimension did not apply",
    },
    method=(
        "Answered turns of one dimension; blanks drop out. *Not applicable* (1) against rated (0) in a mixed logit on task and turn "
        "(0 for the first), with intercepts of participant and conversation by adaptive quadrature; estimates are log odds, "
        "`odds_ratio` beside. The second figure compares the overall rating within each person between turns on which the "
        "dimension did not apply and those on which it was rated; its intervals are cluster-robust with the participant as the "
        "unit. Tasks are self-chosen: nothing here is causal."
    ),
    references=(
        "Hedeker, D., & Gibbons, R. D. (1994). A random-effects ordinal regression model for multilevel analysis. Biometrics, 50.",
    ),
)
