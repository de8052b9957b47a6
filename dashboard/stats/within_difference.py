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
    counts = np.bincount(groups).astype(float)
    ones = np.bincount(groups, state)
    both = (ones > 0) & (ones < counts)
    n_groups = int(both.sum())
    kept = both[groups] if len(groups) else np.zeros(0, dtype=bool)
    n = int(kept.sum())
    if n_groups == 0:
        return Estimate(math.nan, math.nan, math.nan, math.nan, math.nan, n, 0)
    codes = np.unique(groups[kept], return_inverse=True)[1]
    size = np.bincount(codes)
    x = state[kept] - (np.bincount(codes, state[kept]) / size)[codes]
    y = values[kept] - (np.bincount(codes, values[kept]) / size)[codes]
    spread = float(x @ x)
    slope = float(x @ y) / spread
    if n_groups < 2:
        return Estimate(slope, math.nan, math.nan, math.nan, math.nan, n, n_groups)
    scores = np.bincount(codes, x * (y - slope * x))
    std_error = math.sqrt(n_groups / (n_groups - 1) * float(scores @ scores)) / spread
    df = n_groups - 1
    if n_groups < MINIMUM_CLUSTERS:
        return Estimate(slope, std_error, df, math.nan, math.nan, n, n_groups)
    from scipy.special import stdtrit

    reach = float(stdtrit(df, 0.5 + conf_level / 2)) * std_error
    return Estimate(slope, std_error, df, slope - reach, slope + reach, n, n_groups)
