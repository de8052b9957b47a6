"""What a linear mixed model predicts: random effects (BLUPs), shrunken means, fitted values and residuals."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pandas as pd
from scipy.stats import norm

from dashboard.stats.linear_mixed import LinearMixedFit
from dashboard.stats.linear_mixed_deviance import Solution
from dashboard.stats.linear_mixed_moments import Factor, Moments, Products, factor_rows
from dashboard.vocabulary import Refused

Array = np.ndarray


@dataclass(frozen=True)
class Prediction:
    """Random effects of one factor on standardised slopes, in units of the standardised outcome.

    Attributes
    ----------
    effects
        (k, G) predictions.
    error
        (k, k, G) relative prediction error variance of effect − true effect (times σ²).
    cross
        (k, G, p) relative covariance of the fixed coefficients' errors with those of the effects (times σ²).
    conditional
        (k, k, G) the same variance if the fixed part were known.
    """

    factor: Factor
    effects: Array
    error: Array
    cross: Array
    conditional: Array
    order: Array | None


def predictions(fit: LinearMixedFit) -> dict[str, Prediction]:
    """Predict the random effects of every factor (Henderson 1975); keyed by the factor's label."""
    _require(fit)
    assert fit.estimate.solution is not None
    function, solution = fit.estimate.deviance_function, fit.estimate.solution
    moments = function.moments
    if "outer_W" not in solution.state:
        solution = function.solve(fit.estimate.theta)
    h, C = _fixed_errors(fit, solution)
    state, out = solution.state, {}
    outer = _chain(moments.outer.factor, state["outer_W"], state["outer_T"], h, C, None, moments)
    out[moments.outer.factor.label] = outer
    if moments.inner is not None and moments.first_inner is not None and moments.inner_outer is not None:
        parent = np.repeat(np.arange(moments.outer.factor.n_groups), np.diff(moments.first_inner))
        inner = _inner(moments, state, h, C, outer, parent)
        out[moments.inner.factor.label] = inner
    for crossed in moments.crossed:
        columns = [crossed.columns(i) for i in range(crossed.factor.k)]
        effects = np.stack([-h[c] for c in columns])
        error = np.stack([np.stack([np.diag(C[a, b]) for b in columns]) for a in columns])
        cross = np.stack([C[c, moments.q :] for c in columns])
        out[crossed.factor.label] = Prediction(crossed.factor, effects, error, cross, error, None)
    return out


def _fixed_errors(fit: LinearMixedFit, solution: Solution) -> tuple[Array, Array]:
    """Return [−coefficients, 1] and the relative error covariance of crossed and fixed effects, crossed unscaled."""
    function = fit.estimate.deviance_function
    q, lambdas = function.moments.q, solution.state["lambdas"]
    inverse = np.linalg.inv(solution.cholesky)
    N_inverse = inverse.T @ inverse
    padded = np.append(-solution.coefficients, 1.0)[:, None]
    h = function.scale_crossed(padded, lambdas, rows=True, transpose=True)[:, 0]
    if not q:
        return h, N_inverse
    half = function.scale_crossed(N_inverse, lambdas, rows=False, transpose=True)
    return h, function.scale_crossed(half, lambdas, rows=True, transpose=True)


def _dense(T: Products) -> Array:
    return T if isinstance(T, np.ndarray) else T.toarray()


def _chain(
    factor: Factor, W: Array, T: list[Products], h: Array, C: Array, between: Array | None, moments: Moments
) -> Prediction:
    """Predict a chain factor: W (k, k, G), rows T beside D; `between` adds to the inner variance."""
    k = factor.k
    rows = np.stack([_dense(t) for t in T])
    score = rows @ h
    WT = np.stack([sum(W[i, j][:, None] * rows[j][:, :-1] for j in range(k)) for i in range(k)])
    effects = np.einsum("ijg,jg->ig", W, score)
    WTC = WT @ C
    error = W + np.einsum("igm,jgm->ijg", WTC, WT)
    if between is not None:
        error = error + np.einsum("ijg,jkg,klg->ilg", W, between, W)
    return Prediction(factor, effects, error, -WTC[:, :, moments.q :], W, None)


def _inner(moments: Moments, state: dict, h: Array, C: Array, outer: Prediction, parent: Array) -> Prediction:
    """Predict the inner factor, whose error includes that of the outer group around it."""
    assert moments.inner is not None and moments.inner_outer is not None
    B, V = moments.inner_outer, state["outer_W"]
    k1, k2 = B.shape[:2]
    T = [_dense(t) for t in state["outer_T"]]
    VT = [sum(V[i, j][:, None] * T[j] for j in range(k2)) for i in range(k2)]
    rows = [_dense(moments.inner.ZD[a]) - sum(B[a, i][:, None] * VT[i][parent] for i in range(k2)) for a in range(k1)]
    between = np.einsum("aig,ijg,bjg->abg", B, V[:, :, parent], B)
    found = _chain(moments.inner.factor, state["inner_W"], list(rows), h, C, between, moments)
    return Prediction(found.factor, found.effects, found.error, found.cross, state["inner_W"], moments.inner_order)


# ----------------------------------------------------------------------------------------------- tables
def _labels(fit: LinearMixedFit, prediction: Prediction) -> list[str]:
    labels = fit.design.groups[prediction.factor.label].labels
    return list(labels) if prediction.order is None else [labels[i] for i in prediction.order]


def random_effects(fit: LinearMixedFit, *, conf_level: float = 0.95) -> pd.DataFrame:
    """Return the BLUPs of all random effects with the standard errors of prediction.

    Returns
    -------
    DataFrame
        ``group, level, term, estimate, std_error, std_error_conditional, conf_low, conf_high``, levels sorted by code
        point. `std_error` is that of effect − true effect; the conditional one takes the fixed part as known (lme4's).

    Notes
    -----
    Intervals are normal, at the estimated variances. Checked against Henderson's equations solved in R.
    """
    tables = []
    z = norm.ppf(0.5 + conf_level / 2)
    scale = fit.moments.scaling.y_scale
    for factor in fit.factors:
        found = predictions(fit)[factor.label]
        raw = factor.to_raw
        effects = raw @ found.effects * scale
        error = np.einsum("ai,ijg,aj->ag", raw, found.error, raw) * fit.sigma**2
        conditional = np.einsum("ai,ijg,aj->ag", raw, found.conditional, raw) * fit.sigma**2
        for i, effect in enumerate(factor.effects):
            se = np.sqrt(np.maximum(error[i], 0.0))
            table = pd.DataFrame({"group": factor.label, "level": _labels(fit, found), "term": effect})
            table["estimate"], table["std_error"] = effects[i], se
            table["std_error_conditional"] = np.sqrt(np.maximum(conditional[i], 0.0))
            table["conf_low"], table["conf_high"] = effects[i] - z * se, effects[i] + z * se
            tables.append(table.sort_values("level", kind="stable"))
    return pd.concat(tables, ignore_index=True)


def shrunken_means(fit: LinearMixedFit, group: str, *, conf_level: float = 0.95) -> pd.DataFrame:
    """Return each group's predicted mean: fixed part at the row means plus the group's effects there.

    Returns
    -------
    DataFrame
        ``level, estimate, std_error, conf_low, conf_high``, sorted by code point; for `overall ~ 1 + (1 |
        participant/conversation)` the participants' shrunken means μ + u.

    Notes
    -----
    The standard error is that of prediction of μ + u (Henderson), not of u alone; intervals are normal.
    """
    _require(fit)
    if group not in fit.n_groups:
        raise Refused(f"“{group}” is no random factor of “{fit.formula}”; there are: {', '.join(fit.n_groups)}.")
    assert fit.estimate.solution is not None
    found, moments = predictions(fit)[group], fit.moments
    _, C = _fixed_errors(fit, fit.estimate.solution)
    x = moments.fixed_means()
    z = np.array(
        [1.0 if e == "(Intercept)" else _mean_slope(fit, found.factor, i) for i, e in enumerate(found.factor.effects)]
    )
    fixed = x @ fit.estimate.solution.coefficients[moments.q :] * moments.scaling.y_scale + moments.scaling.y_mean
    mean = fixed + z @ found.effects * moments.scaling.y_scale
    q = moments.q
    variance = (
        x @ C[q:, q:] @ x + np.einsum("i,ijg,j->g", z, found.error, z) + 2 * np.einsum("i,igp,p->g", z, found.cross, x)
    )
    se = np.sqrt(np.maximum(variance, 0.0)) * fit.sigma
    margin = norm.ppf(0.5 + conf_level / 2) * se
    table = pd.DataFrame({"level": _labels(fit, found), "estimate": mean, "std_error": se})
    table["conf_low"], table["conf_high"] = mean - margin, mean + margin
    return table.sort_values("level", kind="stable", ignore_index=True)


def _mean_slope(fit: LinearMixedFit, factor: Factor, i: int) -> float:
    """Return the standardised slope column at its row mean: 0 where it was centred."""
    centred = any(row == i and column < i for row, column in factor.template)
    return 0.0 if centred else float(fit.design.slopes[factor.effects[i]].mean() / (1 / factor.to_raw[i, i]))


# ------------------------------------------------------------------------------------------------- rows
def fitted_values(fit: LinearMixedFit) -> pd.DataFrame:
    """Return fitted values and residuals of every row.

    Returns
    -------
    DataFrame
        ``row`` (position in the frame), ``observed, fixed`` (fixed part), ``fitted`` (with random effects),
        ``residual`` (conditional: observed − fitted), ``residual_scaled`` (over the residual SD).

    Raises
    ------
    Refused
        The fit was made from sums, which have no rows.
    """
    _require(fit)
    if not fit.has_rows:
        raise Refused("Residuals need the rows; a fit from sums per conversation has none.")
    design, scale = fit.design, fit.moments.scaling.y_scale
    fixed = design.X @ fit.coefficients
    fitted = fixed.copy()
    found = predictions(fit)
    for rows in factor_rows(design):
        prediction = found[rows.factor.label]
        effects = prediction.effects
        if prediction.order is not None:
            effects = np.empty_like(effects)
            effects[:, prediction.order] = prediction.effects
        for z, effect in zip(rows.z, effects, strict=True):
            values = effect[rows.codes] * scale
            fitted += values if z is None else z * values
    residual = design.y - fitted
    return pd.DataFrame(
        {
            "row": design.rows,
            "observed": design.y,
            "fixed": fixed,
            "fitted": fitted,
            "residual": residual,
            "residual_scaled": residual / fit.sigma,
        }
    )


def _require(fit: LinearMixedFit) -> None:
    if not fit.converged:
        raise Refused(f"The model has no numbers to predict from: {' '.join(fit.notes)}")
