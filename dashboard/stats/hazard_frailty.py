"""The discrete hazard with a normal intercept per participant, by adaptive Gauss–Hermite quadrature."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np

from dashboard.stats.clustered import MINIMUM_CLUSTERS
from dashboard.stats.discrete_hazard import fit_hazard, person_periods

MOST_CELLS = 20_000
POINTS = 7
_NEWTON_STEPS = 30


@dataclass(frozen=True)
class FrailtyFit:
    """A fitted hazard with frailty; coefficients (k,), the intercepts' SD, and the log-likelihood."""

    coefficients: np.ndarray
    std_dev: float
    log_likelihood: float
    converged: bool


def fit_frailty(
    design: np.ndarray, events: np.ndarray, trials: np.ndarray, unit: np.ndarray, *, start: np.ndarray
) -> FrailtyFit:
    """Fit P(event) = 1 − exp(−exp(x'b + u)), u ~ N(0, s²) per participant, by maximum likelihood.

    Parameters
    ----------
    design, events, trials, unit
        As for :func:`dashboard.stats.discrete_hazard.fit_hazard`.
    start
        Coefficients to start from: those of the pooled fit.

    Notes
    -----
    Seven points per participant around the mode of its intercept. Checked against lme4 1.1-31's
    ``glmer(family = binomial("cloglog"), nAGQ = 7)``.
    """
    from scipy.optimize import minimize

    order = np.argsort(np.unique(unit, return_inverse=True)[1], kind="stable")
    codes = np.unique(unit, return_inverse=True)[1][order]
    first = np.flatnonzero(np.r_[True, codes[1:] != codes[:-1]])
    rows = (design[order], events[order].astype(float), trials[order].astype(float), codes, first)

    def loss(theta: np.ndarray) -> float:
        return -_log_likelihood(theta[:-1], float(np.exp(theta[-1])), rows)

    found = minimize(loss, np.r_[start, np.log(0.5)], method="BFGS", options={"gtol": 1e-3})
    # A finite-difference gradient settles a little short of BFGS' own tolerance; what counts is that it is flat.
    flat = bool(np.max(np.abs(found.jac)) < 0.05)
    return FrailtyFit(found.x[:-1], float(np.exp(found.x[-1])), -float(found.fun), flat)


def _log_likelihood(b: np.ndarray, sd: float, rows: tuple[np.ndarray, ...]) -> float:
    design, events, trials, codes, first = rows
    fixed = design @ b
    z = np.zeros(len(first))
    for _ in range(_NEWTON_STEPS):
        gradient, curvature = _derivatives(fixed + sd * z[codes], events, trials)
        slope = sd * np.add.reduceat(gradient, first) - z
        bend = 1.0 + sd**2 * np.add.reduceat(np.maximum(curvature, 0.0), first)
        step = np.clip(slope / bend, -2, 2)
        z = z + step
        if np.max(np.abs(step)) < 1e-9:
            break
    _, curvature = _derivatives(fixed + sd * z[codes], events, trials)
    scale = 1 / np.sqrt(np.maximum(1.0 + sd**2 * np.add.reduceat(curvature, first), 1e-6))
    points, weights = np.polynomial.hermite_e.hermegauss(POINTS)
    total = np.empty((POINTS, len(first)))
    for place, (point, weight) in enumerate(zip(points, weights, strict=True)):
        at = z + scale * point
        inside = np.add.reduceat(_bernoulli(fixed + sd * at[codes], events, trials), first)
        total[place] = inside - 0.5 * at**2 + 0.5 * point**2 + np.log(weight)
    top = total.max(axis=0)
    summed = top + np.log(np.exp(total - top).sum(axis=0))
    return float(np.sum(summed + np.log(scale) - 0.5 * np.log(2 * np.pi)))


def _bernoulli(eta: np.ndarray, events: np.ndarray, trials: np.ndarray) -> np.ndarray:
    rate = np.exp(np.clip(eta, -30, 5))
    return events * np.log(-np.expm1(-rate)) - (trials - events) * rate


def _derivatives(eta: np.ndarray, events: np.ndarray, trials: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the log-likelihood's first derivative by eta, and minus its second."""
    rate = np.exp(np.clip(eta, -30, 5))
    odds = rate / np.expm1(rate)
    gradient = events * odds - (trials - events) * rate
    # d/dη [r/(e^r − 1)] = r/(e^r − 1) · (1 − r e^r/(e^r − 1))
    bend = events * odds * (rate / -np.expm1(-rate) - 1) + (trials - events) * rate
    return gradient, bend


@dataclass(frozen=True)
class HazardTrend:
    """The coefficient of log(turn) in the hazard: pooled with its clustered interval, and with a frailty; NaN with a reason.

    ``std_dev`` is that of the participants' intercepts.
    """

    pooled: float
    pooled_low: float
    pooled_high: float
    frailty: float
    std_dev: float
    reason: str


def hazard_trend(time: np.ndarray, event: np.ndarray, unit: np.ndarray) -> HazardTrend:
    """Estimate how the hazard changes with log(turn), for everyone pooled and with an intercept per participant.

    Parameters
    ----------
    time, event, unit
        As for :func:`dashboard.stats.survival.kaplan_meier`.
    """
    unknown = HazardTrend(*(math.nan,) * 5, reason="")
    time, event = np.asarray(time, dtype=int), np.asarray(event, dtype=bool)
    if len(np.unique(unit)) < MINIMUM_CLUSTERS or len(np.unique(time[event])) < 2:
        return replace(unknown, reason="Too few participants or turns with a breakdown for a trend of the hazard.")
    cells = person_periods(time, event, np.asarray(unit), np.zeros(len(time), dtype=int))
    design = np.column_stack([np.ones(len(cells)), np.log(cells[:, 2])])
    arrays = (design, cells[:, 3], cells[:, 4], cells[:, 0])
    pooled = fit_hazard(*arrays)
    b, reach = float(pooled.coefficients[1]), 1.959963984540054 * math.sqrt(float(pooled.covariance[1, 1]))
    known = replace(unknown, pooled=b, pooled_low=b - reach, pooled_high=b + reach)
    if len(np.unique(unit)) == len(time):
        return replace(known, reason="Nobody has two conversations, so that no intercept per participant can be told.")
    if len(cells) > MOST_CELLS:
        return replace(known, reason="The hazard with an intercept per participant is not fitted to so much data.")
    found = fit_frailty(*arrays, start=pooled.coefficients)
    if not found.converged or not pooled.converged:
        return replace(known, reason="The hazard with an intercept per participant did not settle.")
    return replace(known, frailty=float(found.coefficients[1]), std_dev=found.std_dev)
