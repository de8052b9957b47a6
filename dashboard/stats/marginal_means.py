"""Estimated marginal means of a factor and their pairwise contrasts, from a linear mixed model."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import combinations, product
from typing import Literal

import numpy as np
import pandas as pd

from dashboard.stats.formula import FormulaError
from dashboard.stats.formula_design import Design
from dashboard.stats.linear_mixed import LinearMixedFit
from dashboard.stats.linear_mixed_satterthwaite import t_table
from dashboard.vocabulary import Refused

Array = np.ndarray
Weights = Literal["equal", "proportional"]


def marginal_matrix(
    design: Design,
    factors: Sequence[str],
    *,
    weights: Weights = "equal",
    at: Mapping[str, float] | None = None,
) -> tuple[list[tuple[str, ...]], Array]:
    """Return the level combinations and the matrix L (levels, p) whose product with the coefficients are the means.

    Numeric variables stand at `at`, else at their row means; other factors are averaged with equal weights, or in
    proportion to the frequencies of their combinations.
    """
    for factor in factors:
        if factor not in design.levels:
            known = ", ".join(design.levels) or "none"
            raise FormulaError(f"“{factor}” is no factor of the model “{design.formula}”; its factors are: {known}.")
    cells = list(product(*(design.levels[factor] for factor in factors)))
    L = np.ones((len(cells), len(design.recipes)))
    for j, recipe in enumerate(design.recipes):
        for variable in recipe.numeric:
            L[:, j] *= design.at_means(variable, at)
        others = []
        for variable, level in recipe.levels:
            key = str(variable)
            if key in factors:
                L[:, j] *= [cell[list(factors).index(key)] == level for cell in cells]
            else:
                others.append((key, level))
        L[:, j] *= _average(design, others, weights)
    return cells, L


def _average(design: Design, indicators: list[tuple[str, str]], weights: Weights) -> float:
    """Average a product of level indicators over the other factors' combinations."""
    if weights == "equal" or not indicators:
        return float(np.prod([1 / len(design.levels[key]) for key, _ in indicators]))
    hit = np.ones(len(design.codes[indicators[0][0]]), dtype=bool)
    for key, level in indicators:
        hit &= design.codes[key] == design.levels[key].index(level)
    return float(np.average(hit, weights=design.weights))


def marginal_means(
    fit: LinearMixedFit,
    factor: str | Sequence[str],
    *,
    weights: Weights = "equal",
    at: Mapping[str, float] | None = None,
    conf_level: float = 0.95,
) -> pd.DataFrame:
    """Estimate the outcome's mean at each level of a factor (or combination of several), all else being equal.

    Parameters
    ----------
    factor
        One factor of the model, or several for their combinations.
    weights
        How other factors are averaged: ``equal``, or ``proportional`` to their combinations' frequencies.
    at
        Values of numeric columns; row means otherwise.

    Returns
    -------
    DataFrame
        The factor columns, then ``estimate, std_error, df, statistic, p_value, conf_low, conf_high``.

    Notes
    -----
    Searle, Speed & Milliken (1980). Checked against emmeans 1.8.4-1 with Satterthwaite df.
    """
    _require(fit)
    factors = [factor] if isinstance(factor, str) else list(factor)
    cells, L = marginal_matrix(fit.design, factors, weights=weights, at=at)
    table = t_table(fit.coefficients, fit.covariance, fit.satterthwaite, L, conf_level=conf_level)
    for i, name in enumerate(factors):
        table.insert(i, name, [cell[i] for cell in cells])
    return table


def contrasts(
    fit: LinearMixedFit,
    factor: str | Sequence[str],
    *,
    weights: Weights = "equal",
    at: Mapping[str, float] | None = None,
    adjust: Literal["holm", "none"] = "holm",
    conf_level: float = 0.95,
) -> pd.DataFrame:
    """Compare all pairs of marginal means.

    Returns
    -------
    DataFrame
        ``contrast, estimate, std_error, df, statistic, p_value, p_adjusted, conf_low, conf_high``; intervals are not
        adjusted.
    """
    _require(fit)
    factors = [factor] if isinstance(factor, str) else list(factor)
    cells, L = marginal_matrix(fit.design, factors, weights=weights, at=at)
    pairs = list(combinations(range(len(cells)), 2))
    difference = np.array([L[a] - L[b] for a, b in pairs]).reshape(len(pairs), L.shape[1])
    table = t_table(fit.coefficients, fit.covariance, fit.satterthwaite, difference, conf_level=conf_level)
    table.insert(0, "contrast", [f"{', '.join(cells[a])} - {', '.join(cells[b])}" for a, b in pairs])
    adjusted = holm(table["p_value"].to_numpy()) if adjust == "holm" else table["p_value"].to_numpy()
    table.insert(table.columns.get_loc("p_value") + 1, "p_adjusted", adjusted)
    return table


def holm(p_values: Array) -> Array:
    """Adjust p values for their number by Holm's (1979) step-down rule; NaN stays NaN and is not counted."""
    p = np.asarray(p_values, dtype=float)
    known = np.flatnonzero(~np.isnan(p))
    out = np.full(p.shape, np.nan)
    order = known[np.argsort(p[known], kind="stable")]
    factors = len(order) - np.arange(len(order))
    out[order] = np.minimum(np.maximum.accumulate(p[order] * factors), 1.0)
    return out


def _require(fit: LinearMixedFit) -> None:
    if not fit.converged:
        raise Refused(f"The model has no numbers to compare: {' '.join(fit.notes)}")
