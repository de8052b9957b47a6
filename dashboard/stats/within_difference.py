"""How an outcome differs between two states of a person's turns, each person their own comparison."""

from __future__ import annotations

import math

import numpy as np

from dashboard.stats.clustered import MINIMUM_CLUSTERS, Estimate


def within_difference(
    values: np.ndarray, state: np.ndarray, groups: np.ndarray, *, conf_level: float = 0.95
) -> Estimate:
    """Estimate the within-group difference of ``values`` between state 1 and state 0.

    Parameters
    ----------
    values
        Outcome, shape (n,), without missing.
    state
        0 or 1, shape (n,).
    groups
        Group codes, shape (n,), from 0.

    Returns
    -------
    Estimate
        The slope of an ordinary regression with an intercept for each group; its standard error sums
        residuals by group (× G/(G − 1)), t with G − 1 df, where G counts groups with both states. NaN without such a group.

    Notes
    -----
    Checked against statsmodels' OLS with group dummies and cluster covariance.
    """
    n_groups = int(groups.max()) + 1 if len(groups) else 0
    one = np.asarray(state) > 0
    sums = [
        np.bincount(groups[rows], weights, n_groups)
        for rows in (~one, one)
        for weights in (None, np.asarray(values, dtype=float)[rows])
    ]
    return difference_from_sums(*sums, conf_level=conf_level)


def difference_from_sums(
    n_zero: np.ndarray, total_zero: np.ndarray, n_one: np.ndarray, total_one: np.ndarray, *, conf_level: float = 0.95
) -> Estimate:
    """Estimate the same from numbers and sums per group and state, each of shape (G,): all that the slope needs."""
    both = (n_zero > 0) & (n_one > 0)
    n_groups, n = int(both.sum()), int((n_zero + n_one)[both].sum())
    if n_groups == 0:
        return Estimate(math.nan, math.nan, math.nan, math.nan, math.nan, n, 0)
    zero, one = np.asarray(n_zero, dtype=float)[both], np.asarray(n_one, dtype=float)[both]
    # Σ of squares of the centred state, and of its products with the outcome, by group.
    spread = zero * one / (zero + one)
    crossed = spread * (total_one[both] / one - total_zero[both] / zero)
    slope = float(crossed.sum() / spread.sum())
    if n_groups < 2:
        return Estimate(slope, math.nan, math.nan, math.nan, math.nan, n, n_groups)
    scores = crossed - slope * spread
    std_error = math.sqrt(n_groups / (n_groups - 1) * float(scores @ scores)) / float(spread.sum())
    df = n_groups - 1
    if n_groups < MINIMUM_CLUSTERS:
        return Estimate(slope, std_error, df, math.nan, math.nan, n, n_groups)
    from scipy.special import stdtrit

    reach = float(stdtrit(df, 0.5 + conf_level / 2)) * std_error
    return Estimate(slope, std_error, df, slope - reach, slope + reach, n, n_groups)
