"""Linear mixed models: exact REML and maximum likelihood from sufficient statistics."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd
from scipy.linalg import cho_solve

from dashboard.stats.formula import Design, Formula, design, parse_formula
from dashboard.stats.linear_mixed_ar1 import Series, estimate_ar1, series_of
from dashboard.stats.linear_mixed_estimation import FEW_GROUPS, Estimate, boundary_notes, estimate
from dashboard.stats.linear_mixed_moments import Factor, Moments, moments_of_design
from dashboard.stats.linear_mixed_satterthwaite import Satterthwaite, t_table
from dashboard.stats.threads import one_thread

Array = np.ndarray
TERM_COLUMNS = ["term", "estimate", "std_error", "df", "statistic", "p_value", "conf_low", "conf_high"]
VARIANCE_COLUMNS = ["group", "term", "variance", "std_dev", "correlation"]


@dataclass(frozen=True)
class LinearMixedFit:
    """A fitted linear mixed model; a fit that failed has ``converged=False``, no numbers, and notes on what to do.

    Attributes
    ----------
    formula, method
        Canonical text; ``REML`` or ``ML``.
    converged, notes
        The verdict, and sentences: how it was verified, rows and columns left out, boundaries, few groups.
    log_likelihood, deviance
        Restricted ones under REML; deviance = −2 log_likelihood.
    columns, coefficients
        Names (p) and estimates (p,) of the fixed columns.
    covariance
        (p, p) of the coefficients.
    sigma
        Residual standard deviation.
    n_observations, n_dropped, dropped, n_groups
        Rows fitted; rows left out; how many by column; groups by factor.
    fit_seconds
        From formula and rows in memory to estimates and standard errors; degrees of freedom apart.
    design
        Names and levels; of a fit from moments it holds no rows.
    ar1
        φ, the correlation of residuals one turn apart; None without.
    intervals, interval_method
        Limits that replace those of the t tests: ``group, term, measure, estimate, conf_low, conf_high``; ``profile`` or
        ``bootstrap``. None and ``wald`` without.
    """

    formula: str
    method: str
    converged: bool
    notes: tuple[str, ...]
    log_likelihood: float
    deviance: float
    columns: tuple[str, ...]
    coefficients: Array
    covariance: Array
    sigma: float
    n_observations: int
    n_dropped: int
    dropped: dict[str, int]
    n_groups: dict[str, int]
    fit_seconds: float
    moments: Moments = field(repr=False)
    estimate: Estimate = field(repr=False)
    design: Design = field(repr=False)
    ar1: float | None = None
    series: Series | None = field(default=None, repr=False)
    intervals: pd.DataFrame | None = field(default=None, repr=False)
    interval_method: str = "wald"

    # ------------------------------------------------------------------------------------- fixed effects
    @cached_property
    def satterthwaite(self) -> Satterthwaite:
        """What degrees of freedom are computed from; made when first asked for."""
        return Satterthwaite.of(self.estimate)

    @cached_property
    def terms(self) -> pd.DataFrame:
        """Fixed effects with Satterthwaite df, t tests and 95 % intervals (`intervals`' if set); empty if the fit failed."""
        if not self.converged:
            return pd.DataFrame(columns=TERM_COLUMNS)
        table = t_table(self.coefficients, self.covariance, self.satterthwaite, np.eye(len(self.coefficients)))
        table.insert(0, "term", list(self.columns))
        if self.intervals is not None:
            own = self.intervals[self.intervals["measure"] == "coefficient"].set_index("term").loc[list(self.columns)]
            table["conf_low"], table["conf_high"] = own["conf_low"].to_numpy(), own["conf_high"].to_numpy()
        return table[TERM_COLUMNS]

    # ------------------------------------------------------------------------------------ random effects
    def random_covariance(self, factor: Factor) -> Array:
        """Return the covariance (k, k) of a factor's random effects on the user's scale."""
        at = 0
        for other in self.estimate.deviance_function.factors:
            size = len(other.template)
            if other.label == factor.label:
                L = factor.to_raw @ factor.cholesky(self.estimate.theta[at : at + size])
                return L @ L.T * self.sigma**2
            at += size
        raise KeyError(factor.label)

    @property
    def factors(self) -> tuple[Factor, ...]:
        """Random factors in the order of the formula."""
        order = list(self.n_groups)
        return tuple(sorted(self.moments.factors, key=lambda f: order.index(f.label)))

    @cached_property
    def variances(self) -> pd.DataFrame:
        """One row per random effect, residual last; `correlation` is with the group's first effect."""
        if not self.converged:
            return pd.DataFrame(columns=VARIANCE_COLUMNS)
        rows: list[tuple[Any, ...]] = []
        for factor in self.factors:
            covariance = self.random_covariance(factor)
            sds = np.sqrt(np.diag(covariance))
            for i, effect in enumerate(factor.effects):
                known = i > 0 and (i, 0) in factor.template and sds[0] > 0 and sds[i] > 0
                correlation = np.clip(covariance[i, 0] / (sds[0] * sds[i]), -1, 1) if known else np.nan
                rows.append((factor.label, effect, covariance[i, i], sds[i], correlation))
        rows.append(("residual", "", self.sigma**2, self.sigma, np.nan))
        return pd.DataFrame(rows, columns=VARIANCE_COLUMNS)

    @cached_property
    def group_variances(self) -> dict[str, float]:
        """Mean variance that each factor contributes to a row: tr(Σ Z'Z/n), the variance for an intercept (Johnson 2014)."""
        out = {}
        mean_products = self.moments.mean_products()
        for factor in self.factors:
            covariance = self.random_covariance(factor)
            raw = np.linalg.inv(factor.to_raw)
            standardised = raw @ covariance @ raw.T
            out[factor.label] = float(np.sum(standardised * mean_products[factor.label]))
        return out

    @cached_property
    def icc(self) -> dict[str, float]:
        """Share of each factor, and of the residual, in the variance that the fixed part leaves."""
        if not self.converged:
            return {}
        parts = {**self.group_variances, "residual": self.sigma**2}
        return {group: variance / sum(parts.values()) for group, variance in parts.items()}

    @cached_property
    def _fixed_variance(self) -> float:
        """Variance over rows of the fixed part of the prediction."""
        m = self.moments
        assert self.estimate.solution is not None
        beta = self.estimate.solution.coefficients[m.q :]
        gram = m.fixed_gram()
        total = float(beta @ gram @ beta)
        means = m.fixed_means()
        centred = total - m.n * float(beta @ means) ** 2
        return max(centred, 0.0) / (m.n - 1) * m.scaling.y_scale**2

    @property
    def has_rows(self) -> bool:
        """Whether the rows are at hand (a fit from moments has none)."""
        return len(self.design.y) == self.n_observations

    @property
    def r2_marginal(self) -> float:
        """Share of variance explained by the fixed effects (Nakagawa, Johnson & Schielzeth 2017)."""
        return self._r2()[0]

    @property
    def r2_conditional(self) -> float:
        """Share of variance explained by fixed and random effects."""
        return self._r2()[1]

    def _r2(self) -> tuple[float, float]:
        if not self.converged:
            return np.nan, np.nan
        random = sum(self.group_variances.values())
        total = self._fixed_variance + random + self.sigma**2
        return self._fixed_variance / total, (self._fixed_variance + random) / total

    # ---------------------------------------------------------------------------------- information criteria
    @cached_property
    def maximum_likelihood(self) -> LinearMixedFit:
        """The same model fitted by maximum likelihood (itself if it was)."""
        return self if self.method == "ML" else refit(self, reml=False)

    @property
    def n_parameters(self) -> int:
        """Fixed coefficients, variance parameters, residual variance (and the autocorrelation)."""
        return len(self.columns) + len(self.estimate.theta) + 1 + (self.ar1 is not None)

    @property
    def aic(self) -> float:
        """Akaike's criterion of the maximum-likelihood fit."""
        return self.maximum_likelihood.deviance + 2 * self.n_parameters

    @property
    def bic(self) -> float:
        """Schwarz's criterion of the maximum-likelihood fit, N = observations."""
        return self.maximum_likelihood.deviance + np.log(self.n_observations) * self.n_parameters

    def to_dict(self) -> dict[str, Any]:
        """Return everything that the command line prints about a fit, as plain values (NaN stays NaN)."""
        names = ["formula", "method", "log_likelihood", "deviance", "aic", "bic", "n_observations", "n_dropped", "n_groups", "terms", "variances", "r2_marginal", "r2_conditional", "icc", "converged", "notes", "fit_seconds"]  # fmt: skip
        out = {name: getattr(self, name) for name in names}
        out["notes"] = list(self.notes)
        out["terms"] = self.terms.to_dict("records")
        out["variances"] = self.variances.to_dict("records")
        return out


def fit_linear_mixed(
    frame: pd.DataFrame,
    formula: str | Formula,
    *,
    reml: bool = True,
    reference: Mapping[str, str] | None = None,
    ar1: bool | tuple[str, str] = False,
) -> LinearMixedFit:
    """Fit a linear mixed model.

    Parameters
    ----------
    frame
        One row per observation. Rows with a missing cell in a used column are left out, counted and named.
    formula
        lme4's syntax; see `parse_formula`.
    reml
        Restricted maximum likelihood, else maximum likelihood.
    reference
        Reference level by factor; the first by code point otherwise.
    ar1
        Let residuals correlate as φ^distance within conversations; True for the columns ``conversation`` and
        ``turn``, or the names of two others. φ is estimated, and taken as known by the tests.

    Returns
    -------
    LinearMixedFit
        With ``converged=False`` and no numbers if the fit failed its checks.

    Raises
    ------
    FormulaError
        The formula cannot be read, or does not suit the data.

    Notes
    -----
    Bates, Mächler, Bolker & Walker (2015), Journal of Statistical Software 67(1), for the criterion. Checked against
    lme4 1.1-31 (log-likelihoods within 1e-8), lmerTest 3.1-3, and statsmodels' MixedLM.
    """
    began = time.perf_counter()
    parsed = parse_formula(formula, [str(c) for c in frame.columns]) if isinstance(formula, str) else formula
    with one_thread():
        built = design(frame, parsed, reference)
        if ar1:
            conversation, turn = ar1 if isinstance(ar1, tuple) else ("conversation", "turn")
            series = series_of(frame, built, conversation, turn)
            return _assemble_ar1(built, series, reml=reml, began=began)
        moments = moments_of_design(built)
        return assemble(moments, estimate(moments, reml=reml), built, began=began)


def _assemble_ar1(built: Design, series: Series, *, reml: bool, began: float) -> LinearMixedFit:
    found, phi, plain = estimate_ar1(built, series, reml=reml)
    note = f"Residuals correlate by {phi:.3f} from one turn to the next (AR(1)); tests take this as known."
    fit = assemble(plain, found, built, began=began, ar1=phi, notes=(note,) if found.converged else ())
    return replace(fit, series=series)


def assemble(
    moments: Moments,
    found: Estimate,
    built: Design,
    *,
    began: float,
    ar1: float | None = None,
    notes: tuple[str, ...] = (),
) -> LinearMixedFit:
    """Put estimates on the user's scale and attach names and notes."""
    coefficients, covariance, sigma = user_scale(found)
    groups = {term.label: built.groups[term.label].n_groups for term in built.formula.random}
    return LinearMixedFit(
        formula=str(built.formula),
        method="REML" if found.deviance_function.reml else "ML",
        converged=found.converged,
        notes=(*found.checks, *built.notes, *_notes(found, groups), *notes),
        log_likelihood=-found.deviance / 2,
        deviance=found.deviance,
        columns=built.columns,
        coefficients=coefficients,
        covariance=covariance,
        sigma=sigma,
        n_observations=moments.n,
        n_dropped=built.n_dropped,
        dropped=built.dropped,
        n_groups=groups,
        fit_seconds=time.perf_counter() - began,
        moments=moments,
        estimate=found,
        design=built,
        ar1=ar1,
    )


def _notes(found: Estimate, groups: dict[str, int]) -> list[str]:
    if not found.converged:
        return []
    notes = boundary_notes(found.deviance_function, found.theta, found.free)
    for label, n in groups.items():
        if n < FEW_GROUPS:
            notes.append(
                f"“{label}” has {n} groups: too few for a trustworthy variance; consider it as a fixed factor."
            )
    return notes


def user_scale(found: Estimate) -> tuple[Array, Array, float]:
    """Return coefficients (p,), their covariance (p, p) and sigma on the user's scale; NaN if the fit failed."""
    m = found.deviance_function.moments
    if found.solution is None:
        return np.full(m.p, np.nan), np.full((m.p, m.p), np.nan), np.nan
    solution, scaling = found.solution, m.scaling
    variance = solution.rss / found.deviance_function.nu
    T = scaling.transform()
    covariance = T @ fixed_inverse(solution.cholesky, m.q) @ T.T * variance
    return scaling.coefficients(solution.coefficients[m.q :]), covariance, float(np.sqrt(variance) * scaling.y_scale)


def fixed_inverse(cholesky: Array, q: int) -> Array:
    """Return the fixed block (p, p) of the inverse of the penalised system, from its Cholesky factor."""
    L = cholesky[q:, q:]
    return cho_solve((L, True), np.eye(len(L)), check_finite=False) if len(L) else np.empty((0, 0))


def refit(fit: LinearMixedFit, *, reml: bool) -> LinearMixedFit:
    """Fit the same model to the same rows by the other criterion, starting from its optimum."""
    began = time.perf_counter()
    if fit.series is not None:
        return _assemble_ar1(fit.design, fit.series, reml=reml, began=began)
    start = np.where(fit.estimate.free, fit.estimate.theta, 0.05) if fit.converged else None
    found = estimate(fit.moments, reml=reml, start=start, second_start=not fit.converged)
    coefficients, covariance, sigma = user_scale(found)
    kept = [
        n for n in fit.notes if not n.startswith(("Converged", "The fit did not", "Simplify", "The variance by", "By "))
    ]
    return replace(
        fit,
        method="REML" if reml else "ML",
        converged=found.converged,
        notes=(
            *found.checks,
            *kept,
            *(boundary_notes(found.deviance_function, found.theta, found.free) if found.converged else []),
        ),
        log_likelihood=-found.deviance / 2,
        deviance=found.deviance,
        coefficients=coefficients,
        covariance=covariance,
        sigma=sigma,
        estimate=found,
        fit_seconds=time.perf_counter() - began,
    )


def refit_random(fit: LinearMixedFit, formula: Formula) -> LinearMixedFit:
    """Fit the same rows and fixed columns by REML with another random part (its groups among the fit's)."""
    began = time.perf_counter()
    built = replace(fit.design, formula=formula)
    moments = moments_of_design(built)
    return assemble(moments, estimate(moments, reml=True), built, began=began)
