"""Diagnostics of linear mixed models: normal quantiles, and the influence of single participants."""

from __future__ import annotations

import numpy as np
import pandas as pd
from scipy.stats import norm

from dashboard.stats.linear_mixed import LinearMixedFit
from dashboard.stats.linear_mixed_moments import Moments, factor_rows, plan, standardised_columns
from dashboard.stats.linear_mixed_predict import fitted_values, random_effects
from dashboard.vocabulary import Refused

Array = np.ndarray
MAX_CELLS = 60_000_000


def normal_quantiles(values: Array) -> pd.DataFrame:
    """Return ``theoretical, observed``: sorted values against normal quantiles at (i − ½)/n, missing values left out."""
    observed = np.sort(np.asarray(values, dtype=float))
    observed = observed[~np.isnan(observed)]
    theoretical = norm.ppf((np.arange(1, len(observed) + 1) - 0.5) / max(len(observed), 1))
    return pd.DataFrame({"theoretical": theoretical, "observed": observed})


def residual_quantiles(fit: LinearMixedFit) -> pd.DataFrame:
    """Return normal quantiles of the scaled conditional residuals."""
    return normal_quantiles(fitted_values(fit)["residual_scaled"].to_numpy())


def effect_quantiles(fit: LinearMixedFit) -> pd.DataFrame:
    """Return normal quantiles of the BLUPs: ``group, term, theoretical, observed``."""
    tables = []
    for (group, term), rows in random_effects(fit).groupby(["group", "term"], sort=False):
        table = normal_quantiles(rows["estimate"].to_numpy())
        table.insert(0, "term", term)
        table.insert(0, "group", group)
        tables.append(table)
    return pd.concat(tables, ignore_index=True)


def influence(fit: LinearMixedFit) -> pd.DataFrame:
    """Estimate the fixed effects without each group of the outermost factor in turn, e.g. each participant.

    Returns
    -------
    DataFrame
        ``group, level, term, estimate`` (without the group)``, change`` (with − without)``, change_scaled`` (over the
        standard error)``, cooks_distance`` (of the group, over all terms). NaN where the rest cannot estimate a term.

    Raises
    ------
    Refused
        No rows at hand, or a crossed factor with so many levels that groups cannot be taken out one by one.

    Notes
    -----
    The group's sufficient statistics are subtracted; the variance ratios stay those of the whole data, so that no
    model is refitted (Demidenko & Stukel 2005). Checked against deleting the rows at the same ratios.
    """
    if not (fit.converged and fit.has_rows):
        raise Refused("Influence needs a converged fit and its rows.")
    if fit.ar1 is not None:
        raise Refused("Influence is computed without autocorrelated residuals only; leave AR(1) out.")
    function = fit.estimate.deviance_function
    moments, solution = function.moments, fit.estimate.solution
    assert solution is not None
    label, P, m = moments.outer.factor.label, moments.outer.factor.n_groups, moments.m
    if not moments.dense or P * m * m > MAX_CELLS:
        raise Refused(f"Influence is computed for up to {MAX_CELLS:,} sums; {P:,} groups × {m}² columns are more.")
    own = _contributions(fit, moments)
    lambdas, size = solution.state["lambdas"], m - 1
    whole = function.scale_crossed(function.scale_crossed(solution.R, lambdas, rows=True), lambdas, rows=False)
    scaled = np.stack([
        function.scale_crossed(function.scale_crossed(one, lambdas, rows=True), lambdas, rows=False) for one in own
    ])  # fmt: skip
    rest = whole - scaled
    rest[:, np.arange(moments.q), np.arange(moments.q)] += 1
    coefficients = _solve_each(rest[:, :size, :size], rest[:, :size, -1])[:, moments.q :]
    return _influence_table(fit, label, moments.scaling.coefficients(coefficients))


def _solve_each(A: Array, b: Array) -> Array:
    """Solve P systems; NaN where a system is singular."""
    values = np.linalg.eigvalsh(A)
    bad = values[:, 0] < 1e-10 * values[:, -1]
    A = A.copy()
    A[bad] = np.eye(A.shape[1])
    out = np.linalg.solve(A, b[:, :, None])[:, :, 0]
    out[bad] = np.nan
    return out


def _contributions(fit: LinearMixedFit, moments: Moments) -> Array:
    """Return D_p' V_p⁻¹ D_p of each outer group, (P, m, m)."""
    assert fit.estimate.solution is not None
    state = fit.estimate.solution.state
    D, codes, P = *_rows(fit), moments.outer.factor.n_groups
    m, V, T = moments.m, state["outer_W"], state["outer_T"]
    out = np.empty((P, m, m))
    for i in range(m):
        for j in range(i + 1):
            total = np.bincount(codes, D[:, i] * D[:, j], P)
            if moments.inner is not None and moments.first_inner is not None:
                W = state["inner_W"]
                S: list[Array] = [np.asarray(part) for part in moments.inner.ZD]
                k1 = W.shape[0]
                inner = sum(W[a, b] * S[a][:, i] * S[b][:, j] for a in range(k1) for b in range(k1))
                total = total - np.add.reduceat(inner, moments.first_inner[:-1])
            k2 = V.shape[0]
            total = total - sum(V[a, b] * T[a][:, i] * T[b][:, j] for a in range(k2) for b in range(k2))
            out[:, i, j] = out[:, j, i] = total
    return out


def _rows(fit: LinearMixedFit) -> tuple[Array, Array]:
    """Return D (n, m) and the outer groups' codes (n,)."""
    columns, _, _ = standardised_columns(fit.design)
    _, outer, crossed = plan(factor_rows(fit.design))
    pieces = []
    for rows in crossed:
        for z in rows.z:
            indicator = rows.codes[:, None] == np.arange(rows.factor.n_groups)
            pieces.append(indicator * (1.0 if z is None else z[:, None]))
    return np.hstack([*pieces, columns]), outer.codes


def _influence_table(fit: LinearMixedFit, label: str, without: Array) -> pd.DataFrame:
    P, p = without.shape
    change = fit.coefficients - without
    solved = np.linalg.solve(fit.covariance, change.T).T
    cooks = np.einsum("gp,gp->g", change, solved) / p
    table = pd.DataFrame(
        {
            "group": label,
            "level": np.repeat(np.array(fit.design.groups[label].labels, dtype=object), p),
            "term": np.tile(np.array(fit.columns, dtype=object), P),
            "estimate": without.ravel(),
            "change": change.ravel(),
            "change_scaled": (change / np.sqrt(np.diag(fit.covariance))).ravel(),
            "cooks_distance": np.repeat(cooks, p),
        }
    )
    return table.sort_values("level", kind="stable", ignore_index=True)
