"""The hazard of a first event turn by turn: complementary log–log regression with errors clustered by participant."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from dashboard.stats.clustered import MINIMUM_CLUSTERS
from dashboard.stats.survival import chi2_tail

if TYPE_CHECKING:
    import pandas as pd

POOLED_FROM = 8
_MAX_STEPS = 50


@dataclass(frozen=True)
class HazardFit:
    """A fitted hazard.

    Attributes
    ----------
    coefficients, covariance
        Estimates (k,) and their cluster-robust covariance (k, k).
    model_covariance
        Inverse of the expected information (k, k): what holds if every turn were independent.
    log_likelihood
        Of the Bernoulli trials.
    n_observations, n_groups
        Conversation-turns at risk, and clusters.
    converged
        Whether the fit settled.
    """

    coefficients: np.ndarray
    covariance: np.ndarray
    model_covariance: np.ndarray
    log_likelihood: float
    n_observations: int
    n_groups: int
    converged: bool

    def wald(self, places: np.ndarray) -> tuple[float, int, float]:
        """Return χ², degrees of freedom and p of the joint test that some coefficients are 0."""
        b, v = self.coefficients[places], self.covariance[np.ix_(places, places)]
        statistic = float(b @ np.linalg.solve(v, b))
        return statistic, len(places), chi2_tail(statistic, len(places))


def fit_hazard(design: np.ndarray, events: np.ndarray, trials: np.ndarray, unit: np.ndarray) -> HazardFit:
    """Fit P(event) = 1 − exp(−exp(x'b)) to grouped trials by maximum likelihood.

    Parameters
    ----------
    design
        One row per cell of trials that share cluster and covariates, shape (m, k).
    events, trials
        Counts per cell, shape (m,).
    unit
        Code of the cluster, shape (m,).

    Notes
    -----
    Iteratively reweighted least squares with the expected information; the covariance is the sandwich of cluster sums of the
    scores, times G/(G−1)·(n−1)/(n−k) with n trials. Checked against R's ``glm`` and ``sandwich::vcovCL(type = "HC1")``.
    """
    codes = np.unique(unit, return_inverse=True)[1]
    n_groups, n, k = int(codes.max()) + 1, int(trials.sum()), design.shape[1]
    b, settled = np.zeros(k), False
    share = (events.sum() + 0.5) / (n + 1.0)
    eta = np.full(len(events), math.log(-math.log1p(-share)))
    for _ in range(_MAX_STEPS):
        mu, slope, weight = _link(eta)
        information = design.T @ (design * (trials * weight)[:, None])
        target = design.T @ (trials * weight * (eta + (events / trials - mu) / slope))
        new = np.linalg.solve(information, target)
        settled = bool(np.max(np.abs(new - b)) < 1e-10 * (1 + np.max(np.abs(b))))
        b, eta = new, design @ new
        if settled:
            break
    mu, slope, weight = _link(eta)
    bread = np.linalg.inv(design.T @ (design * (trials * weight)[:, None]))
    scores = design * ((events - trials * mu) * slope / (mu * (1 - mu)))[:, None]
    sums = np.zeros((n_groups, k))
    np.add.at(sums, codes, scores)
    correction = n_groups / (n_groups - 1) * (n - 1) / (n - k) if n_groups > 1 and n > k else math.nan
    likelihood = float(events @ np.log(mu) + (trials - events) @ np.log1p(-mu))
    return HazardFit(b, bread @ (sums.T @ sums) @ bread * correction, bread, likelihood, n, n_groups, settled)


def _link(eta: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return the mean, its slope and the weight of a trial."""
    rate = np.exp(np.clip(eta, -30, 3.5))
    mu = np.clip(-np.expm1(-rate), 1e-15, 1 - 1e-15)
    slope = np.maximum(rate * np.exp(-rate), 1e-300)
    return mu, slope, slope**2 / (mu * (1 - mu))


@dataclass(frozen=True)
class GroupHazard:
    """Whether groups differ in hazard, the turn held fixed.

    Attributes
    ----------
    statistic, df, p_value
        Joint Wald test of the groups; NaN where it cannot be made.
    ratios
        One row per group: level (code), estimate (log hazard against the first), std_error, hazard_ratio, conf_low,
        conf_high (of the ratio), n_observations, n_events.
    pooled_from
        The turn from which turns share one coefficient.
    reason
        Why there is no test, or which groups it leaves out; empty otherwise.
    """

    statistic: float
    df: int
    p_value: float
    ratios: pd.DataFrame
    pooled_from: int
    reason: str


def compare_hazards(time: np.ndarray, event: np.ndarray, unit: np.ndarray, level: np.ndarray) -> GroupHazard:
    """Compare the hazard of groups, with one coefficient per turn; turns from the 8th are pooled.

    Turns without any event, or with nothing else, join the turn before; groups without any event are left out of the
    test, since their hazard ratio is 0.

    Parameters
    ----------
    time, event, unit
        As for :func:`dashboard.stats.survival.kaplan_meier`.
    level
        Code of the group from 0, shape (n,); negative for unknown, which is left out.
    """
    time, event = np.asarray(time, dtype=int), np.asarray(event, dtype=bool)
    with_event = np.unique(level[event & (level >= 0)])
    n_levels = len(np.unique(level[level >= 0]))
    kept = np.isin(level, with_event)
    n_units = len(np.unique(unit[kept]))
    if len(with_event) < 2:
        return _untested("Fewer than two groups have a breakdown: there is nothing to compare.")
    if n_units < MINIMUM_CLUSTERS:
        return _untested("Fewer than five participants: no test.")
    time, event, unit = time[kept], event[kept], unit[kept]
    codes = np.searchsorted(with_event, level[kept])
    cells = person_periods(time, event, unit, codes)
    steps = turn_bins(cells[:, 2], cells[:, 3], cells[:, 4])
    design = np.column_stack([_dummies(steps, first=False), _dummies(cells[:, 1], first=True)])
    fit = fit_hazard(design, cells[:, 3], cells[:, 4], cells[:, 0])
    places = np.arange(design.shape[1] - len(with_event) + 1, design.shape[1])
    if not fit.converged or fit.n_groups <= len(places):
        return _untested("The hazard model did not settle, or has more groups than participants: no test.")
    left_out = n_levels - len(with_event)
    reason = "" if not left_out else f"{left_out} of {n_levels} groups have no breakdown and are left out of the test."
    statistic, df, p_value = fit.wald(places)
    ratios = _ratios(fit, places, with_event, cells)
    pooled = int(cells[steps == steps.max(), 2].min())
    return GroupHazard(statistic, df, p_value, ratios, pooled, reason)


def person_periods(time: np.ndarray, event: np.ndarray, unit: np.ndarray, level: np.ndarray) -> np.ndarray:
    """Return turns at risk as cells: one row per unit, level and turn with unit, level, turn, events, trials."""
    pairs, codes = np.unique(np.column_stack([unit, level]), axis=0, return_inverse=True)
    codes = codes.reshape(-1)
    order = np.argsort(time, kind="stable")
    time, event, codes = time[order], event[order], codes[order]
    parts = []
    for turn in range(1, int(time[-1]) + 1):
        begin = np.searchsorted(time, turn)
        trials = np.bincount(codes[begin:], minlength=len(pairs))
        events = np.bincount(codes[begin:][event[begin:] & (time[begin:] == turn)], minlength=len(pairs))
        seen = trials > 0
        full = np.full(int(seen.sum()), turn)
        parts.append(np.column_stack([pairs[seen], full, events[seen], trials[seen]]))
    return np.concatenate(parts)


def turn_bins(turn: np.ndarray, events: np.ndarray, trials: np.ndarray) -> np.ndarray:
    """Return the code of each row's turn coefficient: pooled from the 8th, and where a turn has no event or nothing else."""
    bins, code, total, failed = {}, 0, 0, 0
    last = int(turn.max())
    per_turn = [(int(events[turn == one].sum()), int(trials[turn == one].sum())) for one in range(1, last + 1)]
    for one, (d, n) in enumerate(per_turn, start=1):
        bins[one] = code
        total, failed = total + n, failed + d
        more = sum(rest for rest, _ in per_turn[one:])
        spread = any(m > e for e, m in per_turn[one:])
        if one < POOLED_FROM and 0 < failed < total and more and spread:
            code, total, failed = code + 1, 0, 0
    return np.array([bins[int(one)] for one in turn])


def _dummies(codes: np.ndarray, *, first: bool) -> np.ndarray:
    """Return indicator columns per code; without the first one where another term holds the intercept."""
    columns = np.arange(int(first), int(codes.max()) + 1)
    return (codes[:, None] == columns[None, :]).astype(float)


def _ratios(fit: HazardFit, places: np.ndarray, levels: np.ndarray, cells: np.ndarray) -> pd.DataFrame:
    import pandas as pd
    from scipy.special import ndtri

    z = float(ndtri(0.975))
    b = np.r_[0.0, fit.coefficients[places]]
    se = np.r_[np.nan, np.sqrt(np.diag(fit.covariance)[places])]
    return pd.DataFrame(
        {
            "level": levels,
            "estimate": b,
            "std_error": se,
            "hazard_ratio": np.exp(b),
            "conf_low": np.exp(b - z * se),
            "conf_high": np.exp(b + z * se),
            "n_observations": np.bincount(cells[:, 1], weights=cells[:, 4]).astype(int),
            "n_events": np.bincount(cells[:, 1], weights=cells[:, 3]).astype(int),
        }
    )


def _untested(reason: str) -> GroupHazard:
    import pandas as pd

    columns = ["level", "estimate", "std_error", "hazard_ratio", "conf_low", "conf_high", "n_observations", "n_events"]
    return GroupHazard(math.nan, 0, math.nan, pd.DataFrame(columns=columns), POOLED_FROM, reason)
