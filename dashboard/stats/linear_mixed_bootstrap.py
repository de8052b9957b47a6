"""Parametric bootstrap of a linear mixed model: simulate outcomes from the fit, refit, and look at the spread."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pandas as pd

from dashboard.stats.linear_mixed import LinearMixedFit, user_scale
from dashboard.stats.linear_mixed_estimation import Estimate, estimate
from dashboard.stats.linear_mixed_moments import (
    FactorRows,
    Level,
    Moments,
    factor_rows,
    group_sums,
    plan,
    standardised_columns,
)
from dashboard.stats.threads import one_thread
from dashboard.vocabulary import Refused

Array = np.ndarray
Progress = Callable[[int, int], None]


class Simulator:
    """Draws outcomes of a fit's rows, as sufficient statistics on the standardised scale."""

    def __init__(self, fit: LinearMixedFit) -> None:
        if not (fit.converged and fit.has_rows and fit.ar1 is None):
            raise Refused("The parametric bootstrap needs a converged fit, its rows, and no autocorrelation.")
        if not fit.moments.dense:
            raise Refused("The parametric bootstrap is not offered with crossed factors of many levels.")
        self.fit = fit
        self.columns = standardised_columns(fit.design)[0][:, :-1]
        self.rows = factor_rows(fit.design)
        assert fit.estimate.solution is not None
        moments, solution = fit.moments, fit.estimate.solution
        self.mean = self.columns @ solution.coefficients[moments.q :]
        self.sigma = fit.sigma / moments.scaling.y_scale
        self.roots = self._roots()

    def _roots(self) -> dict[str, Array]:
        out, at = {}, 0
        for factor in self.fit.estimate.deviance_function.factors:
            size = len(factor.template)
            out[factor.label] = factor.cholesky(self.fit.estimate.theta[at : at + size]) * self.sigma
            at += size
        return out

    def draw(self, rng: np.random.Generator) -> Array:
        """Return one standardised outcome, (n,)."""
        y = self.mean + self.sigma * rng.standard_normal(len(self.mean))
        for rows in self.rows:
            effects = self.roots[rows.factor.label] @ rng.standard_normal((rows.factor.k, rows.factor.n_groups))
            for z, effect in zip(rows.z, effects, strict=True):
                y += effect[rows.codes] if z is None else z * effect[rows.codes]
        return y


def with_outcome(moments: Moments, rows: list[FactorRows], columns: Array, y: Array) -> Moments:
    """Return the statistics of the same rows with another standardised outcome (n,)."""
    inner, outer, crossed = plan(rows)
    pieces = [np.bincount(c.codes, y if z is None else z * y, c.factor.n_groups) for c in crossed for z in c.z]
    right = np.concatenate([*pieces, columns.T @ y, [y @ y]])
    DD = moments.DD.copy()
    DD[-1], DD[:, -1] = right, right

    def level(old: Level, codes: Array, z: tuple[Array | None, ...]) -> Level:
        parts = []
        for one, part in zip(z, old.ZD, strict=True):
            changed: Array = np.array(part)
            changed[:, -1] = group_sums(codes, old.factor.n_groups, y[:, None], one)[:, 0]
            parts.append(changed)
        return Level(old.factor, old.ZZ, tuple(parts))

    new_inner = None
    if inner is not None and moments.inner is not None and moments.inner_order is not None:
        rank = np.empty_like(moments.inner_order)
        rank[moments.inner_order] = np.arange(len(rank))
        new_inner = level(moments.inner, rank[inner.codes], inner.z)
    return replace(moments, inner=new_inner, outer=level(moments.outer, outer.codes, outer.z), DD=DD, cache={})


def parametric_bootstrap(
    fit: LinearMixedFit,
    *,
    n_draws: int = 1000,
    seed: int = 1,
    progress: Progress | None = None,
    should_stop: Callable[[], bool] | None = None,
) -> pd.DataFrame:
    """Simulate from the fit and refit.

    Parameters
    ----------
    progress
        Called with the number of draws done and wanted.
    should_stop
        Asked before every draw; the draws made so far are returned.

    Returns
    -------
    DataFrame
        One row per draw that converged: each coefficient under its name, each standard deviation as
        ``sd term|group`` and ``sd residual``.
    """
    simulator = Simulator(fit)
    rng = np.random.default_rng(seed)
    reml = fit.method == "REML"
    draws = []
    with one_thread():
        for i in range(n_draws):
            if should_stop is not None and should_stop():
                break
            moments = with_outcome(fit.moments, simulator.rows, simulator.columns, simulator.draw(rng))
            found = estimate(moments, reml=reml, start=_start(fit), second_start=False)
            if found.converged:
                draws.append(_summary(fit, found))
            if progress is not None:
                progress(i + 1, n_draws)
    return pd.DataFrame(draws)


def _start(fit: LinearMixedFit) -> Array:
    return np.where(fit.estimate.free, fit.estimate.theta, 0.05)


def _summary(fit: LinearMixedFit, found: Estimate) -> dict[str, float]:
    coefficients, covariance, sigma = user_scale(found)
    drawn = replace(fit, estimate=found, coefficients=coefficients, covariance=covariance, sigma=sigma)
    out = dict(zip(fit.columns, coefficients, strict=True))
    for row in drawn.variances.itertuples():
        out["sd residual" if row.group == "residual" else f"sd {row.term}|{row.group}"] = row.std_dev
    return out


def bootstrap_intervals(draws: pd.DataFrame, *, conf_level: float = 0.95) -> pd.DataFrame:
    """Return percentile intervals of bootstrap draws: ``term, conf_low, conf_high, n_draws``."""
    tail = (1 - conf_level) / 2
    limits = draws.quantile([tail, 1 - tail])
    return pd.DataFrame(
        {
            "term": list(draws.columns),
            "conf_low": limits.iloc[0].to_numpy(),
            "conf_high": limits.iloc[1].to_numpy(),
            "n_draws": len(draws),
        }
    )


def bootstrap_test(
    smaller: LinearMixedFit,
    larger: LinearMixedFit,
    *,
    n_draws: int = 1000,
    seed: int = 1,
    progress: Progress | None = None,
    should_stop: Callable[[], bool] | None = None,
) -> pd.DataFrame:
    """Test the larger model against the smaller by simulating the likelihood ratio under the smaller.

    Both models must have the same fixed part and rows; it serves for several variances at once.

    Returns
    -------
    DataFrame
        One row: ``statistic, p_value, n_draws``; p = (1 + draws at least as large)/(1 + draws).
    """
    if smaller.columns != larger.columns or not np.array_equal(smaller.design.y, larger.design.y):
        raise Refused("The bootstrap test compares models with the same rows and fixed part.")
    simulator, rng = Simulator(smaller), np.random.default_rng(seed)
    large_rows = Simulator(larger).rows
    reml = smaller.method == "REML"
    observed = smaller.deviance - larger.deviance
    drawn = []
    with one_thread():
        for i in range(n_draws):
            if should_stop is not None and should_stop():
                break
            y = simulator.draw(rng)
            fits = [
                estimate(
                    with_outcome(model.moments, rows, simulator.columns, y),
                    reml=reml,
                    start=_start(model),
                    second_start=False,
                )
                for model, rows in ((smaller, simulator.rows), (larger, large_rows))
            ]
            if all(found.converged for found in fits):
                drawn.append(fits[0].deviance - fits[1].deviance)
            if progress is not None:
                progress(i + 1, n_draws)
    p = (1 + np.sum(np.array(drawn) >= observed - 1e-8)) / (1 + len(drawn))
    return pd.DataFrame({"statistic": [max(observed, 0.0)], "p_value": [float(p)], "n_draws": [len(drawn)]})
