"""Which model describes the ratings best, and what does each part of it add?"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from dashboard.analyses.findings import Analysis, Drawing, Findings, Selection, count_selection, parameter, refuse_empty
from dashboard.analyses.model_frame import (
    ModelData,
    ModelNames,
    default_formula,
    formula_data,
    model_names,
    read_formula,
)
from dashboard.analyses.model_moments import MAX_ROWS, is_large
from dashboard.analyses.model_parameters import (
    ModelParameters,
    draws_parameter,
    failed,
    read_reference,
    seed_parameter,
)
from dashboard.analyses.model_words import described_rows, outcome_label, signed
from dashboard.database import Database
from dashboard.figures.models import draw_model_comparison
from dashboard.stats.formula import Formula, FormulaError
from dashboard.vocabulary import Refused, TooLittleData, format_p, plural

if TYPE_CHECKING:
    import pandas as pd

    from dashboard.stats.linear_mixed import LinearMixedFit

NAME = "model_comparison"
MAX_MODELS = 12


@dataclass(frozen=True)
class ComparisonParameters(ModelParameters):
    """Which models."""

    others: str | None = parameter(
        None,
        label="Compared with",
        help="Formulas separated by semicolons; unless told, the model without each of its terms.",
        more=True,
    )
    draws: int = draws_parameter(500, "Simulated data sets per test of several variances")
    seed: int = seed_parameter()


def analyse(database: Database, selection: Selection, parameters: ComparisonParameters) -> Findings:
    """Fit several models to the same rows; compare criteria, and nested ones by likelihood ratios."""
    formulas, data = compared_rows(database, selection, parameters)
    fits = _fits(data, formulas, parameters)
    table = criteria(fits)
    tests = pairwise_tests(fits, n_draws=parameters.draws, seed=parameters.seed)
    return Findings(
        name=NAME,
        headline=_headline(data, table, tests),
        tables={
            NAME: table,
            f"{NAME}.tests": tests,
            f"{NAME}.terms": side_by_side(fits),
            f"{NAME}.variances": _variance_table(fits[0], parameters),
        },
        figures={
            NAME: Drawing(
                draw=draw_model_comparison,
                arguments={"frame": table},
                alt="AIC of each model above the lowest: "
                + "; ".join(f"{row.formula} {row.aic_difference:.1f}" for row in table.itertuples())
                + ".",
            )
        },
        warnings=(),
        notes=fits[0].notes,
        counts=data.counts,
        queries=data.queries,
    )


def compared_rows(
    database: Database, selection: Selection, parameters: ComparisonParameters
) -> tuple[list[Formula], ModelData]:
    """Return the models, that of the page first, and the rows that all of them can use.

    Raises
    ------
    Refused
        For models of different outcomes, too many models, or more rows than fit in memory.
    """
    large = is_large(database)
    if large and int(database.manifest["counts"]["assistant_turns"]) > MAX_ROWS and selection.is_everything:
        raise Refused(f"Comparing models needs every turn in memory; up to {MAX_ROWS:,} fit. Filter conversations.")
    refuse_empty(count_selection(database, selection))
    names = model_names(database)
    first = read_formula(parameters.formula or default_formula(database, selection, names), names)
    others = [part.strip() for part in (parameters.others or "").split(";") if part.strip()]
    formulas = [first, *(_read_other(text, first, names) for text in others)] if others else [first, *_without(first)]
    formulas = list(dict.fromkeys(formulas))
    if len(formulas) > MAX_MODELS:
        raise Refused(f"Up to {MAX_MODELS} models can be compared; these are {len(formulas)}.")
    data = formula_data(database, selection, _union(formulas), names, in_series=parameters.ar1)
    rows = data.frame.dropna().reset_index(drop=True)
    return formulas, replace(data, formula=first, frame=rows)


def _read_other(text: str, first: Formula, names: ModelNames) -> Formula:
    formula = read_formula(text, names)
    if formula.outcome != first.outcome:
        raise FormulaError(
            f"Models can be compared on one outcome only; “{first}” has {first.outcome} and “{formula}” {formula.outcome}."
        )
    return formula


def _without(formula: Formula) -> list[Formula]:
    """Return the model without each term that no interaction needs, and that with the random part alone."""
    smaller = [
        replace(formula, terms=tuple(term for term in formula.terms if term != gone))
        for gone in formula.terms
        if not any(set(gone) < set(term) for term in formula.terms)
    ]
    return [*smaller, replace(formula, terms=())] if formula.intercept else smaller


def _union(formulas: Sequence[Formula]) -> Formula:
    """Return a formula that names every column of several."""
    terms = dict.fromkeys(term for formula in formulas for term in formula.terms)
    bars = dict.fromkeys(bar for formula in formulas for bar in formula.bars)
    return replace(formulas[0], terms=tuple(terms), bars=tuple(bars))


def _fits(data: ModelData, formulas: Sequence[Formula], parameters: ComparisonParameters) -> list[LinearMixedFit]:
    from dashboard.stats.linear_mixed import fit_linear_mixed

    reference = read_reference(parameters.reference)
    fits = []
    for formula in formulas:
        own = {name: level for name, level in reference.items() if name in formula.predictors}
        try:
            reml = parameters.method == "REML"
            fit = fit_linear_mixed(data.frame, formula, reml=reml, reference=own, ar1=parameters.ar1)
        except Refused as refusal:
            if parameters.formula or parameters.others:
                raise
            raise TooLittleData(
                f"{refusal} These filters leave too little; take one away, or reset them all."
            ) from None
        if not fit.converged:
            raise failed((f"“{formula}”:", *fit.notes))
        fits.append(fit)
    return fits


def criteria(fits: Sequence[LinearMixedFit]) -> pd.DataFrame:
    """Return one row per model: parameters, log-likelihood and criteria of the ML fit, explained variance."""
    import pandas as pd

    rows = [
        {
            "formula": fit.formula,
            "n_parameters": fit.n_parameters,
            "log_likelihood": fit.maximum_likelihood.log_likelihood,
            "aic": fit.aic,
            "bic": fit.bic,
            "r2_marginal": fit.r2_marginal,
            "r2_conditional": fit.r2_conditional,
            "n_observations": fit.n_observations,
        }
        for fit in fits
    ]
    table = pd.DataFrame(rows)
    table.insert(4, "aic_difference", table["aic"] - table["aic"].min())
    return table


def pairwise_tests(fits: Sequence[LinearMixedFit], *, n_draws: int = 500, seed: int = 1) -> pd.DataFrame:
    """Test the first model against each other one by likelihood ratio, where one is nested in the other.

    Columns: formula, compared_with, statistic, df, p_value, method. Models that differ in variances only are compared on
    REML fits with the boundary's mixture of chi-squared distributions, several at once by `n_draws` data sets simulated
    without them; others on ML fits.
    """
    import pandas as pd

    rows = [
        {"formula": fits[0].formula, "compared_with": other.formula} | _test(fits[0], other, n_draws=n_draws, seed=seed)
        for other in fits[1:]
    ]
    columns = ["formula", "compared_with", "statistic", "df", "p_value", "method"]
    return pd.DataFrame(rows, columns=columns)


def _test(one: LinearMixedFit, other: LinearMixedFit, *, n_draws: int, seed: int) -> dict[str, Any]:
    from dashboard.stats.linear_mixed import refit
    from dashboard.stats.linear_mixed_tests import compare, variance_ratio

    unknown = float("nan")
    small, large = sorted((one, other), key=lambda fit: fit.n_parameters)
    same_random = {str(bar) for bar in one.design.formula.bars} == {str(bar) for bar in other.design.formula.bars}
    if set(one.columns) == set(other.columns) and not same_random:
        if not _holds_random(large, small):
            return {
                "statistic": unknown,
                "df": unknown,
                "p_value": unknown,
                "method": "not nested: compare AIC and BIC",
            }
        pair = [fit if fit.method == "REML" else refit(fit, reml=True) for fit in (small, large)]
        statistic, added, p, method = variance_ratio(pair[0], pair[1], n_draws=n_draws, seed=seed)
        return {"statistic": statistic, "df": added, "p_value": p, "method": method}
    try:
        last = compare([small, large]).iloc[-1]
    except Refused:
        return {"statistic": unknown, "df": unknown, "p_value": unknown, "method": "not nested: compare AIC and BIC"}
    method = "ML likelihood ratio" + ("" if same_random else "; the random parts differ too, so p is a bound")
    return {"statistic": last["statistic"], "df": last["df"], "p_value": last["p_value"], "method": method}


def _holds_random(large: LinearMixedFit, small: LinearMixedFit) -> bool:
    inside = {(term.label, effect) for term in large.design.formula.random for effect in term.effects}
    return all((term.label, effect) in inside for term in small.design.formula.random for effect in term.effects)


def side_by_side(fits: Sequence[LinearMixedFit]) -> pd.DataFrame:
    """Return one row per term and model: estimate, SE, p, interval."""
    import pandas as pd

    tables = [fit.terms.assign(formula=fit.formula) for fit in fits]
    order = list(dict.fromkeys(term for table in tables for term in table["term"]))
    combined = pd.concat(tables, ignore_index=True)
    combined["place"] = combined["term"].map(order.index)
    sorted_rows = combined.sort_values("place", kind="stable")
    columns = ["term", "formula", "estimate", "std_error", "df", "statistic", "p_value", "conf_low", "conf_high"]
    return sorted_rows[columns].reset_index(drop=True)


def _variance_table(fit: LinearMixedFit, parameters: ComparisonParameters) -> pd.DataFrame:
    """Return the test of every random effect of the first model; one row that says why where there is none."""
    import pandas as pd

    from dashboard.stats.linear_mixed_tests import variance_tests

    columns = ["group", "term", "statistic", "df", "p_value", "method"]
    why = "no test: a model without any random effect is not fitted"
    try:
        table = variance_tests(fit, n_draws=parameters.draws, seed=parameters.seed)
    except Refused as refusal:
        table, why = pd.DataFrame(columns=columns), f"no test: {refusal}"
    if table.empty:
        only = fit.variances.iloc[0]
        unknown = float("nan")
        table.loc[0] = [only["group"], only["term"], unknown, unknown, unknown, why]
    return table


def _headline(data: ModelData, table: pd.DataFrame, tests: pd.DataFrame) -> str:
    rows = described_rows(data)
    if len(table) == 1:
        return f"There is one model of {outcome_label(data)} and nothing to compare it with; {rows}."
    best = table.loc[table["aic"].idxmin(), "formula"]
    second = float(table["aic_difference"].sort_values().iloc[1])
    ahead = (
        f"{signed(second, 1)} below the next"
        if second >= 2
        else f"but only {signed(second, 1)} below the next: they are alike"
    )
    known = tests[tests["p_value"].notna()]
    clause = ""
    if len(known):
        one = known.loc[known["statistic"].idxmin()]
        clause = (
            f"; the least clear difference is that to {one['compared_with']}: χ²({one['df']:.0f}) = "
            f"{signed(one['statistic'], 2)}, {format_p(one['p_value'])}"
        )
    return f"Of {plural(len(table), 'model')} of {outcome_label(data)}, {best} has the lowest AIC, {ahead}{clause}; {rows}."


ANALYSIS = Analysis(
    name=NAME,
    page="Mixed models",
    position=3,
    question="Which model describes the ratings best?",
    analyse=analyse,
    parameters=ComparisonParameters,
    tables={
        NAME: "Criteria of each model, fitted to the same rows",
        f"{NAME}.tests": "Likelihood-ratio tests against the first model",
        f"{NAME}.terms": "Terms of all models side by side",
        f"{NAME}.variances": "Test of each random effect of the first model",
    },
    figures={NAME: "AIC of each model above the lowest"},
    method=(
        "All models are fitted to the rows that every one of them can use. AIC and BIC come from fits by maximum likelihood, "
        "with N = rows. Nested models are compared by likelihood ratios on these fits; a variance is tested on REML fits, "
        "against ½χ²₀ + ½χ²₁ for one component, ½χ²₁ + ½χ²₂ for a slope with its covariance, and data simulated without them "
        "for several at once (parametric bootstrap: p = (1 + simulated ratios at least as large)/(1 + simulated ratios)). p "
        "values are not adjusted. "
        "Unless told which, the model is compared with itself without each of its terms. Differences of AIC below 2 say "
        "little (Burnham and Anderson's rule)."
    ),
    references=(
        "Stram, D. O., & Lee, J. W. (1994). Variance components testing in the longitudinal mixed effects model. Biometrics, 50.",
        "Burnham, K. P., & Anderson, D. R. (2002). Model selection and multimodel inference. Springer.",
    ),
)
