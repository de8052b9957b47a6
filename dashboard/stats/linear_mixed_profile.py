"""Profile-likelihood intervals for the standard deviations, correlations and coefficients of a linear mixed model."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial

import numpy as np
import pandas as pd
from scipy.optimize import brentq, minimize
from scipy.stats import chi2

from dashboard.stats.linear_mixed import LinearMixedFit
from dashboard.stats.linear_mixed_deviance import Deviance, NotPositiveDefinite, Solution
from dashboard.stats.linear_mixed_moments import Factor
from dashboard.stats.linear_mixed_optimise import minimise
from dashboard.stats.progress import tell
from dashboard.stats.threads import one_thread
from dashboard.vocabulary import Refused

Array = np.ndarray
COLUMNS = ["group", "term", "statistic", "estimate", "conf_low", "conf_high"]


@dataclass(frozen=True)
class _Target:
    """A parameter as a function of (theta, log σ), with its natural bounds."""

    group: str
    term: str
    statistic: str
    value: Callable[[Array], float]
    lower: float
    upper: float


def profile_intervals(fit: LinearMixedFit, *, conf_level: float = 0.95, fixed: bool = True) -> pd.DataFrame:
    """Compute profile intervals by the maximum-likelihood criterion, as lme4's `profile` does.

    Parameters
    ----------
    fixed
        Whether the coefficients get intervals too.

    Returns
    -------
    DataFrame
        ``group, term, statistic`` (std_dev, correlation or coefficient)``, estimate`` (maximum likelihood)``,
        conf_low, conf_high``. A lower limit of a standard deviation is 0 where zero is not refuted.

    Notes
    -----
    Checked against `confint(profile(fit))` of lme4 1.1-31.
    """
    if not fit.converged:
        raise Refused(f"The model has no numbers to profile: {' '.join(fit.notes)}")
    best = fit.maximum_likelihood
    cutoff = float(chi2.ppf(conf_level, 1))
    work = [partial(_variance_interval, best, target, cutoff) for target in _targets(best)]
    if fixed:
        work += [partial(_coefficient_interval, best, j, cutoff) for j in range(len(best.columns))]
    rows = []
    with one_thread():
        for done, one in enumerate(work):
            tell("profile intervals", done, len(work))
            rows.append(one())
    return pd.DataFrame(rows, columns=COLUMNS)


# ------------------------------------------------------------------------------------- variance parameters
def _targets(fit: LinearMixedFit) -> Iterator[_Target]:
    y_scale = fit.moments.scaling.y_scale
    at = 0
    for factor in fit.estimate.deviance_function.factors:
        span = slice(at, at + len(factor.template))
        for i, effect in enumerate(factor.effects):
            sd = partial(_std_dev, span=span, factor=factor, scale=y_scale, i=i)
            yield _Target(factor.label, effect, "std_dev", sd, 0.0, np.inf)
            for j in range(i):
                if (i, j) in factor.template:
                    correlation = partial(_correlation, span=span, factor=factor, i=i, j=j)
                    yield _Target(factor.label, f"{factor.effects[j]}, {effect}", "correlation", correlation, -1.0, 1.0)
        at = span.stop
    yield _Target("residual", "", "std_dev", lambda x: float(np.exp(x[-1]) * y_scale), 0.0, np.inf)


def _std_dev(x: Array, *, span: slice, factor: Factor, scale: float, i: int) -> float:
    L = factor.to_raw @ factor.cholesky(x[span])
    return float(np.linalg.norm(L[i]) * np.exp(x[-1]) * scale)


def _correlation(x: Array, *, span: slice, factor: Factor, i: int, j: int) -> float:
    L = factor.to_raw @ factor.cholesky(x[span])
    return float(L[i] @ L[j] / (np.linalg.norm(L[i]) * np.linalg.norm(L[j])))


def _unprofiled(function: Deviance, x: Array) -> tuple[float, Array]:
    """Return the ML deviance at (theta, log σ) and its gradient, on the standardised outcome."""
    precision = np.exp(-2 * x[-1])
    try:
        solution = function.solve(x[:-1])
    except NotPositiveDefinite:
        return np.inf, np.full(len(x), np.nan)
    n = function.nu
    value = solution.log_det + n * (np.log(2 * np.pi) + 2 * x[-1]) + solution.rss * precision
    gradient = function.gradient(solution, precision=precision)
    return float(value), np.append(gradient, 2 * n - 2 * solution.rss * precision)


def _variance_interval(
    fit: LinearMixedFit, target: _Target, cutoff: float
) -> tuple[str, str, str, float, float, float]:
    function, found = fit.estimate.deviance_function, fit.estimate
    assert found.solution is not None
    best = np.append(found.theta, 0.5 * np.log(found.solution.rss / function.nu))
    lowest = _unprofiled(function, best)[0]
    centre = target.value(best)
    if not np.isfinite(centre):
        return target.group, target.term, target.statistic, centre, np.nan, np.nan
    inside = np.append(np.where(found.free, found.theta, 0.02), best[-1])
    limits = []
    for sign in (-1, 1):
        path = _Constrained(function, target, best if found.free.all() else inside, lowest)
        limits.append(_limit(path, centre, sign, cutoff, target))
    return target.group, target.term, target.statistic, centre, limits[0], limits[1]


class _Constrained:
    """Rise of the deviance when the target is held at a value, starting from the last point found."""

    def __init__(self, function: Deviance, target: _Target, start: Array, lowest: float) -> None:
        self.function, self.target, self.x, self.lowest = function, target, start, lowest

    def __call__(self, value: float) -> float:
        target = self.target
        constraint = {"type": "eq", "fun": lambda x: target.value(x) - value}
        with np.errstate(all="ignore"):
            result = minimize(
                lambda x: _scaled(self.function, x, self.lowest),
                self.x,
                jac=True,
                method="SLSQP",
                constraints=[constraint],
                options={"ftol": 1e-11, "maxiter": 200},
            )
        if np.isfinite(result.fun) and abs(target.value(result.x) - value) < 1e-6 * max(1.0, abs(value)):
            self.x = result.x
            return float(max(result.fun, 0.0))
        return np.inf


def _scaled(function: Deviance, x: Array, lowest: float) -> tuple[float, Array]:
    value, gradient = _unprofiled(function, x)
    if not np.isfinite(value):
        return 1e10, np.zeros(len(x))
    return value - lowest, gradient


def _limit(path: Callable[[float], float], centre: float, sign: int, cutoff: float, target: _Target) -> float:
    """Walk from the estimate until the deviance has risen by the cutoff; the natural bound if it never does."""
    bound = target.lower if sign < 0 else target.upper
    step = 0.05 * max(abs(centre), 0.05)
    inner, outer = centre, centre
    for _ in range(60):
        outer = inner + sign * step
        if (bound - outer) * sign <= 0:
            return _between_bound(path, inner, bound, sign, cutoff)
        if path(outer) > cutoff:
            return float(brentq(lambda v: path(v) - cutoff, *sorted((inner, outer)), xtol=1e-7 * max(abs(outer), 1e-3)))
        inner, step = outer, step * 1.6
    return np.nan


def _between_bound(path: Callable[[float], float], inner: float, bound: float, sign: int, cutoff: float) -> float:
    """Look between the last point and a natural bound (0 or ±1), which is returned if it is not refuted."""
    close = bound - sign * 1e-4 * max(abs(bound - inner), 1e-6)
    if (close - inner) * sign <= 0 or path(close) <= cutoff:
        return bound
    return float(brentq(lambda v: path(v) - cutoff, *sorted((inner, close)), xtol=1e-7))


# ------------------------------------------------------------------------------------------- coefficients
def _coefficient_interval(fit: LinearMixedFit, j: int, cutoff: float) -> tuple[str, str, str, float, float, float]:
    function, found = fit.estimate.deviance_function, fit.estimate
    scaling = function.moments.scaling
    direction = scaling.transform()[j]
    offset = scaling.y_mean if scaling.intercept and j == 0 else 0.0
    se = float(np.sqrt(fit.covariance[j, j]))
    limits = []
    for sign in (-1, 1):
        start = np.where(found.free, found.theta, 0.02)

        def rise(distance: float, sign: int = sign) -> float:
            nonlocal start
            value = fit.coefficients[j] + sign * distance * se - offset
            optimum = minimise(lambda t: _held(function, t, direction, value), start, tolerance=1e-9)
            start = optimum.x
            return optimum.value - found.deviance - cutoff

        high = 2.0 * np.sqrt(cutoff / 3.84)
        while rise(high) < 0:
            high *= 1.4
        distance = float(brentq(rise, 0.5, high, xtol=1e-7))
        limits.append(fit.coefficients[j] + sign * distance * se)
    return "fixed", fit.columns[j], "coefficient", float(fit.coefficients[j]), limits[0], limits[1]


def _held(function: Deviance, theta: Array, direction: Array, value: float) -> tuple[float, Array]:
    """Return the profiled ML deviance and its gradient with direction' γ held at a value."""
    try:
        solution = function.solve(theta)
    except NotPositiveDefinite:
        return np.inf, np.full(len(theta), np.nan)
    q = function.moments.q
    padded = np.concatenate([np.zeros(q), direction])
    half = np.linalg.solve(solution.cholesky, padded)
    column = np.linalg.solve(solution.cholesky.T, half)
    variance = float(half @ half)
    excess = float(padded @ solution.coefficients) - value
    coefficients = solution.coefficients - column * excess / variance
    rss = solution.rss + excess**2 / variance
    held = Solution(
        solution.theta,
        solution.log_det,
        solution.log_det_fixed,
        solution.cholesky,
        coefficients,
        rss,
        solution.R,
        solution.state,
    )
    residual = np.append(-coefficients, 1.0)
    return function.value(held), function.gradient(held, residual=residual)
