"""Tests of whole terms and comparisons of models: joint F tests, likelihood-ratio tests of fixed and random parts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pandas as pd
from scipy.stats import chi2

from dashboard.stats.formula import Formula
from dashboard.stats.formula_design import Design
from dashboard.stats.formula_syntax import Bar
from dashboard.stats.linear_mixed import LinearMixedFit, refit_random
from dashboard.stats.linear_mixed_bootstrap import bootstrap_test
from dashboard.stats.linear_mixed_satterthwaite import f_test
from dashboard.stats.progress import tell
from dashboard.vocabulary import Refused

Array = np.ndarray


# ---------------------------------------------------------------------------------------------- joint tests
def joint_tests(fit: LinearMixedFit) -> pd.DataFrame:
    """Test every fixed term jointly: F with Satterthwaite's denominator df.

    Type III, as lmerTest's `anova()`: the effect of a factor is averaged with equal weights over the levels of
    factors that it interacts with, and holds at 0 of numeric variables that it interacts with (center them to test
    it at their mean).

    Returns
    -------
    DataFrame
        ``term, statistic, df, df_denominator, p_value``; one row per term but the intercept.
    """
    _require(fit)
    rows = []
    for term, L in hypotheses(fit).items():
        rows.append((term, *f_test(fit.coefficients, fit.satterthwaite, L)))
    return pd.DataFrame(rows, columns=["term", "statistic", "df", "df_denominator", "p_value"])


def hypotheses(fit: LinearMixedFit) -> dict[str, Array]:
    """Return for every term but the intercept the matrix L (df, p) of its hypothesis L β = 0.

    The rows are lmerTest's: the denominator df of an F test depends, slightly, on how they are chosen.
    """
    design = fit.design
    positions = {term: list(at) for term, at in design.terms.items() if term != "(Intercept)" and at}
    coding = type_three_coding(design)
    if coding is None:
        coding = np.eye(len(fit.columns))
    elif len(positions) == 1:
        coding = _sequential(fit)
    out = {}
    for term, at in positions.items():
        own = coding[np.ix_(at, at)]
        L = coding[at] if len(positions) == 1 else np.linalg.solve(own, coding[at])
        out[term] = np.where(np.abs(L) < 1e-10, 0.0, L)
    return out


def _sequential(fit: LinearMixedFit) -> Array:
    """Return the unit upper-triangular factor of X'X, whose rows are type I hypotheses (Doolittle)."""
    scaling = fit.moments.scaling
    to_user = np.diag(scaling.x_scales)
    if scaling.intercept:
        to_user[0, 1:] = scaling.x_means[1:]
    upper = np.linalg.cholesky(fit.moments.fixed_gram()).T @ to_user
    return upper / np.diag(upper)[:, None]


def type_three_coding(design: Design) -> Array | None:
    """Return C (p, p): coefficients under sum-to-zero coding = C @ coefficients under treatment coding.

    None where columns were dropped, so that the two codings do not span the same space; treatment coefficients are
    then tested as they are.
    """
    if design.dropped_columns:
        return None
    p = len(design.recipes)
    rng = np.random.default_rng(0)
    n = 20 * p + 100
    codes = {name: rng.integers(len(levels), size=n) for name, levels in design.levels.items()}
    numbers = {str(v): rng.normal(size=n) for recipe in design.recipes for v in recipe.numeric}
    treatment, sum_to_zero = np.ones((n, p)), np.ones((n, p))
    for j, recipe in enumerate(design.recipes):
        for variable in recipe.numeric:
            treatment[:, j] *= numbers[str(variable)]
            sum_to_zero[:, j] *= numbers[str(variable)]
        for variable, level in recipe.levels:
            key = str(variable)
            indicator = codes[key] == design.levels[key].index(level)
            treatment[:, j] *= indicator
            full = _has_full_coding(design, recipe.term, key)
            sum_to_zero[:, j] *= indicator if full else indicator - 1.0 * (codes[key] == 0)
    coding, *_ = np.linalg.lstsq(sum_to_zero, treatment, rcond=None)
    exact = np.allclose(sum_to_zero @ coding, treatment, atol=1e-8)
    return np.where(np.abs(coding) < 1e-10, 0.0, coding) if exact else None


def _has_full_coding(design: Design, term: str, factor: str) -> bool:
    reference = design.levels[factor][0]
    return any(
        str(variable) == factor and level == reference
        for recipe in design.recipes
        if recipe.term == term
        for variable, level in recipe.levels
    )


# --------------------------------------------------------------------------------------------- comparisons
def compare(fits: Sequence[LinearMixedFit]) -> pd.DataFrame:
    """Compare nested models by likelihood-ratio tests on maximum-likelihood refits.

    Parameters
    ----------
    fits
        Two or more, of the same outcome and rows; ordered by their number of parameters here. Each is tested against
        the one before it; use `variance_tests` for models that differ in variances only, where this p is too large.

    Returns
    -------
    DataFrame
        ``model, n_parameters, log_likelihood, deviance, aic, bic, statistic, df, p_value``.

    Raises
    ------
    Refused
        Different rows or outcomes, or fixed parts that are not nested.
    """
    for fit in fits:
        _require(fit)
    ordered = sorted((fit.maximum_likelihood for fit in fits), key=lambda f: f.n_parameters)
    rows = []
    for i, fit in enumerate(ordered):
        statistic, df, p = np.nan, 0, np.nan
        if i:
            _check_nested(ordered[i - 1], fit)
            df = fit.n_parameters - ordered[i - 1].n_parameters
            statistic = max(ordered[i - 1].deviance - fit.deviance, 0.0)
            p = float(chi2.sf(statistic, df)) if df else np.nan
        rows.append(
            (fit.formula, fit.n_parameters, fit.log_likelihood, fit.deviance, fit.aic, fit.bic, statistic, df, p)
        )
    names = ["model", "n_parameters", "log_likelihood", "deviance", "aic", "bic", "statistic", "df", "p_value"]
    return pd.DataFrame(rows, columns=names)


def _check_nested(smaller: LinearMixedFit, larger: LinearMixedFit) -> None:
    if smaller.design.formula.outcome != larger.design.formula.outcome:
        raise Refused(
            f"Models can be compared on one outcome only; these have “{smaller.design.formula.outcome}” and "
            f"“{larger.design.formula.outcome}”."
        )
    same = smaller.n_observations == larger.n_observations
    if same and smaller.has_rows and larger.has_rows:
        same = np.array_equal(smaller.design.y, larger.design.y)
    if not same:
        raise Refused(
            f"Models can be compared on the same rows only; “{smaller.formula}” has {smaller.n_observations:,} and "
            f"“{larger.formula}” {larger.n_observations:,}, or others. Drop the rows that one of them cannot use first."
        )
    extra = [name for name in smaller.columns if name not in larger.columns]
    if extra and not _spans(larger, smaller):
        raise Refused(f"“{smaller.formula}” is not nested in “{larger.formula}”: the latter lacks {', '.join(extra)}.")


def _spans(larger: LinearMixedFit, smaller: LinearMixedFit) -> bool:
    if not (larger.has_rows and smaller.has_rows):
        return False
    X = smaller.design.X
    fitted = larger.design.X @ np.linalg.lstsq(larger.design.X, X, rcond=None)[0]
    return bool(np.allclose(fitted, X, atol=1e-8 * np.abs(X).max()))


# ------------------------------------------------------------------------------------------------ variances
def mixture_p(statistic: float, n_added: int) -> float:
    """Return the p value of a variance test: ½χ²₀ + ½χ²₁ for one component, ½χ²₁ + ½χ²₂ for a slope with covariance.

    NaN for more parameters at once: no simple mixture holds, use the parametric bootstrap. Stram & Lee (1994).
    """
    if n_added == 1:
        return float(0.5 * chi2.sf(statistic, 1)) if statistic > 0 else 1.0
    if n_added == 2:
        return float(0.5 * chi2.sf(statistic, 1) + 0.5 * chi2.sf(statistic, 2))
    return np.nan


def variance_tests(fit: LinearMixedFit, *, n_draws: int | None = None, seed: int = 1) -> pd.DataFrame:
    """Test every random effect by leaving it out: REML likelihood ratios with boundary mixtures.

    A slope is left out with its covariances; an intercept only where its group has no other effect.

    Parameters
    ----------
    n_draws, seed
        Simulated data sets for several parameters at once, for which no mixture is known; no p value without.

    Returns
    -------
    DataFrame
        ``group, term, statistic, df, p_value, method``; df counts the parameters left out. The last random effect
        of a model has no test here, as a model without any is not fitted.
    """
    _require(fit)
    columns = ["group", "term", "statistic", "df", "p_value", "method"]
    if not fit.has_rows:
        raise Refused("Variance tests refit the rows; a fit from moments has none.")
    if fit.ar1 is not None:
        raise Refused("Variances are tested without autocorrelated residuals only; leave AR(1) out.")
    rows = []
    larger = fit if fit.method == "REML" else refit_random(fit, fit.design.formula)
    for group, effect, formula in _reductions(fit.design.formula):
        smaller = refit_random(fit, formula)
        rows.append((group, effect, *variance_ratio(smaller, larger, n_draws=n_draws, seed=seed)))
    return pd.DataFrame(rows, columns=columns)


def variance_ratio(
    smaller: LinearMixedFit, larger: LinearMixedFit, *, n_draws: int | None, seed: int
) -> tuple[float, int, float, str]:
    """Test random effects by the likelihood ratio of REML fits: statistic, parameters added, p value, method."""
    n_added = len(larger.estimate.theta) - len(smaller.estimate.theta)
    if not smaller.converged:
        return np.nan, n_added, np.nan, "no test: the model without it could not be fitted"
    statistic = max(smaller.deviance - larger.deviance, 0.0)
    names = {1: "½χ²₀ + ½χ²₁", 2: "½χ²₁ + ½χ²₂"}
    if n_added in names:
        return statistic, n_added, mixture_p(statistic, n_added), f"REML likelihood ratio, {names[n_added]}"
    if not n_draws:
        method = "REML likelihood ratio, no simple mixture: use the parametric bootstrap"
        return statistic, n_added, np.nan, method
    try:
        row = bootstrap_test(
            smaller,
            larger,
            n_draws=n_draws,
            seed=seed,
            progress=lambda done, total: tell("bootstrap test", done, total),
        ).iloc[0]
    except Refused as refusal:
        return statistic, n_added, np.nan, f"REML likelihood ratio without p: {refusal}"
    method = f"REML likelihood ratio, parametric bootstrap of {row['n_draws']:,.0f} data sets (seed {seed})"
    return statistic, n_added, float(row["p_value"]), method


def _reductions(formula: Formula) -> list[tuple[str, str, Formula]]:
    """Return group, effect and formula for every random effect that can be left out alone."""
    bars = [bar for whole in formula.bars for bar in _single(whole)]
    out = []
    for i, bar in enumerate(bars):
        others = [*bars[:i], *bars[i + 1 :]]
        label = ":".join(bar.groups)
        if len(bar.slopes) + bar.intercept == 1:
            effect = str(bar.slopes[0]) if bar.slopes else "(Intercept)"
            if others:
                out.append((label, effect, replace(formula, bars=tuple(others))))
            continue
        for slope in bar.slopes:
            kept = replace(bar, slopes=tuple(s for s in bar.slopes if s != slope))
            reduced = replace(formula, bars=(*bars[:i], kept, *bars[i + 1 :]))
            out.append((label, str(slope), reduced))
    return out


def _single(bar: Bar) -> list[Bar]:
    """Return one bar per random term."""
    return [Bar(t.intercept, t.slopes, t.group, ":" if len(t.group) > 1 else "", True) for t in bar.terms()]


def _require(fit: LinearMixedFit) -> None:
    if not fit.converged:
        raise Refused(f"The model has no numbers to test: {' '.join(fit.notes)}")
