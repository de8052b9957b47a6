"""Does the answer change when ratings are taken as ordered levels rather than as numbers?"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from dashboard.analyses.findings import Analysis, Drawing, Findings, Selection, parameter
from dashboard.analyses.model_fit import fit_ordinal, scale_levels
from dashboard.analyses.model_frame import NOT_APPLICABLE, ModelData
from dashboard.analyses.model_moments import MAX_ROWS, is_large
from dashboard.analyses.model_parameters import ModelParameters, failed, fitted_model, read_reference
from dashboard.analyses.model_words import described_rows, interval, joined, outcome_label, signed, term_labels
from dashboard.database import Database
from dashboard.figures.models import draw_agreement
from dashboard.stats.formula_syntax import Bar
from dashboard.vocabulary import NotInThisData, Refused, TooLittleData, plural

if TYPE_CHECKING:
    import pandas as pd

    from dashboard.stats.linear_mixed import LinearMixedFit
    from dashboard.stats.ordinal_mixed import OrdinalMixedFit

NAME = "ordinal_check"
GROUPS = ("participant", "conversation")


@dataclass(frozen=True)
class OrdinalParameters(ModelParameters):
    """How closely the likelihood is approximated."""

    quadrature: int = parameter(
        7,
        label="Quadrature points",
        minimum=1,
        maximum=15,
        help="Per random intercept; 1 is Laplace's approximation.",
        more=True,
    )


def analyse(database: Database, selection: Selection, parameters: OrdinalParameters) -> Findings:
    """Fit the cumulative-logit model with the linear model's random intercepts, and compare term by term."""
    if (
        is_large(database)
        and int(database.manifest["counts"]["assistant_turns"]) > MAX_ROWS
        and selection.is_everything
    ):
        raise Refused(f"The ordinal model needs every turn in memory; up to {MAX_ROWS:,} fit. Filter conversations.")
    data, linear = fitted_model(database, selection, parameters)
    if not linear.has_rows:
        from dashboard.analyses.model_frame import formula_data

        data = formula_data(database, selection, data.formula, data.names)
    _refuse_continuous(database, data)
    checked, said = same_intercepts(data)
    ordinal = _ordinal(database, checked, parameters)
    table = agreement(linear, ordinal)
    return Findings(
        name=NAME,
        headline=_headline(data, table),
        tables={
            NAME: table,
            f"{NAME}.terms": ordinal.terms,
            f"{NAME}.thresholds": ordinal.thresholds,
            f"{NAME}.variances": ordinal.variances,
        },
        figures={
            NAME: Drawing(
                draw=draw_agreement,
                arguments={"frame": table},
                alt="Each term's estimate over its standard error in the linear and in the ordinal model.",
            )
        },
        warnings=said,
        notes=(f"Ordinal model: {checked.text}; {ordinal.method}.", *ordinal.notes),
        counts=data.counts,
        queries=data.queries,
    )


def _refuse_continuous(database: Database, data: ModelData) -> None:
    levels = scale_levels(database, data)
    if levels is None and not data.response.endswith(NOT_APPLICABLE):
        raise NotInThisData(
            f"levels of {outcome_label(data)}: it is a mean or a computed value, so there is no ordinal model of it. Look at "
            "overall or a dimension."
        )


def same_intercepts(data: ModelData) -> tuple[ModelData, tuple[str, ...]]:
    """Return the model with the random intercepts of participant and conversation alone, and what was left out.

    Raises
    ------
    Refused
        When the linear model has neither.
    """
    kept: list[Bar] = []
    left_out = []
    for bar in data.formula.bars:
        if not set(bar.groups) <= set(GROUPS):
            left_out.append(f"the intercept by {':'.join(bar.groups)}")
            continue
        if bar.slopes:
            left_out.append(f"the slope of {joined([str(slope) for slope in bar.slopes])} by {':'.join(bar.groups)}")
        plain = Bar(True, (), bar.groups, bar.separator, True)
        if plain not in kept:
            kept.append(plain)
    if not kept:
        raise Refused(
            "The ordinal check takes random intercepts of participant, or of participant and conversation; this model has "
            "neither. Add (1 | participant) or (1 | participant/conversation)."
        )
    formula = replace(data.formula, bars=tuple(kept))
    said: list[str] = []
    if left_out:
        said.append(
            f"The ordinal model has random intercepts only: {joined(left_out)} of the linear model is left out of it."
        )
    if len(formula.random) == 1 and formula.random[0].label == "participant" and data.rows == "turn":
        said.append(
            "With the participant's intercept alone, an ordinal model's own standard errors are about half of what they should "
            "be here; those shown are clustered by participant."
        )
    return replace(data, formula=formula), tuple(said)


def _ordinal(database: Database, data: ModelData, parameters: OrdinalParameters) -> OrdinalMixedFit:
    try:
        fit = fit_ordinal(
            database, data, n_quadrature=parameters.quadrature, reference=read_reference(parameters.reference)
        )
    except Refused as refusal:
        if parameters.formula:
            raise
        raise TooLittleData(f"{refusal} These filters leave too little; take one away, or reset them all.") from None
    if not fit.converged:
        raise failed(fit.notes)
    return fit


def agreement(linear: LinearMixedFit, ordinal: OrdinalMixedFit) -> pd.DataFrame:
    """Return one row per term of both models: estimates, intervals, whether sign and verdict agree.

    ``agrees`` is True where the signs are equal and both intervals exclude 0, or neither does.
    """
    labels = term_labels(linear)
    keys = ["term", "estimate", "std_error", "statistic", "conf_low", "conf_high"]
    one = linear.terms[linear.terms["term"] != "(Intercept)"][keys]
    both = one.merge(ordinal.terms[keys], on="term", suffixes=("_linear", "_ordinal"))
    for name in ("linear", "ordinal"):
        both[f"excludes_0_{name}"] = (both[f"conf_low_{name}"] > 0) | (both[f"conf_high_{name}"] < 0)
    same_sign = (both["estimate_linear"] > 0) == (both["estimate_ordinal"] > 0)
    both["same_sign"] = same_sign
    same_verdict = both["excludes_0_linear"] == both["excludes_0_ordinal"]
    # Opposite signs of two estimates that cannot be told from 0 are no disagreement.
    both["agrees"] = same_verdict & (same_sign | ~both["excludes_0_linear"])
    both.insert(1, "label", [labels[term] for term in both["term"]])
    return both


def _headline(data: ModelData, table: pd.DataFrame) -> str:
    n = len(table)
    rows = described_rows(data)
    if not n:
        return f"The model of {outcome_label(data)} has no terms to compare; {rows}."
    differing = table[~table["agrees"]]
    if differing.empty:
        told = "on the one term" if n == 1 else f"on all {n} terms"
        return (
            f"Taken as ordered levels, {outcome_label(data)} gives the same answer {told}: the same intervals exclude 0, on "
            f"the same side; {rows}."
        )
    named = "; ".join(
        f"{row.label}: linear {signed(row.estimate_linear)} ({interval(row.conf_low_linear, row.conf_high_linear)}), ordinal "
        f"{signed(row.estimate_ordinal)} log-odds ({interval(row.conf_low_ordinal, row.conf_high_ordinal)})"
        for row in differing.head(3).itertuples()
    )
    more = f"; and {len(differing) - 3} more in the table" if len(differing) > 3 else ""
    return f"Linear and ordinal model disagree on {len(differing)} of {plural(n, 'term')}: {named}{more}; {rows}."


ANALYSIS = Analysis(
    name=NAME,
    page="Mixed models",
    position=5,
    question="Does it hold when ratings are ordered levels?",
    analyse=analyse,
    parameters=OrdinalParameters,
    tables={
        NAME: "Each term in the linear and in the ordinal model, and whether they agree",
        f"{NAME}.terms": "Terms of the ordinal model, in log-odds of a higher rating",
        f"{NAME}.thresholds": "Thresholds between levels",
        f"{NAME}.variances": "Variances of the ordinal model",
    },
    figures={NAME: "Estimate over standard error in both models"},
    method=(
        "A cumulative-logit mixed model with the same fixed terms and the same random intercepts (participant, or participant "
        "and conversation by nested adaptive quadrature with 7 × 7 points unless told). Two models agree on a term where both "
        "intervals exclude 0 on the same side, or neither does. Coefficients are not on one scale (points against log-odds), "
        "so the figure shows estimate over standard error. For *not applicable* the model is a mixed logit."
    ),
    references=(
        "Liddell, T. M., & Kruschke, J. K. (2018). Analyzing ordinal data with metric models: What could possibly go wrong? "
        "Journal of Experimental Social Psychology, 79.",
    ),
)
