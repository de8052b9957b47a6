"""Means and shares whose intervals take the participant, not the turn, as the independent unit."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    import pandas as pd

MINIMUM_CLUSTERS = 5


@dataclass(frozen=True)
class Estimate:
    """An estimate with its interval; ``conf_low`` and ``conf_high`` are NaN where none can be given.

    Attributes
    ----------
    estimate, std_error, df, conf_low, conf_high
        In the unit of the data; shares from 0 to 1.
    n_observations, n_groups
        Observations, and clusters that contribute one.
    """

    estimate: float
    std_error: float
    df: float
    conf_low: float
    conf_high: float
    n_observations: int
    n_groups: int


def clustered_mean(totals: np.ndarray, counts: np.ndarray, *, conf_level: float = 0.95) -> Estimate:
    """Estimate a mean over observations with a cluster-robust interval.

    SE² = G/(G−1) · Σ_g (Σ_{i∈g} (y_i − ȳ))² / n², and t with G − 1 degrees of freedom.

    Parameters
    ----------
    totals
        Sum of the observations per cluster, shape (G,).
    counts
        Number of observations per cluster, shape (G,); clusters with none are left out.
    conf_level
        Level of the interval.

    Returns
    -------
    Estimate
        All NaN without observations; no interval with fewer than 5 clusters.

    Notes
    -----
    This is the CR1-type sandwich variance of an intercept-only regression. Checked against statsmodels'
    ``OLS.fit(cov_type="cluster")`` with the correction G/(G−1) and against fractions worked out by hand.
    """
    totals, counts = _contributing(totals, counts)
    n, n_groups = int(counts.sum()), len(counts)
    if n == 0:
        return Estimate(math.nan, math.nan, math.nan, math.nan, math.nan, 0, 0)
    mean = float(totals.sum() / n)
    if n_groups < 2:
        return Estimate(mean, math.nan, math.nan, math.nan, math.nan, n, n_groups)
    std_error = _std_error(totals, counts, mean)
    df = n_groups - 1
    if n_groups < MINIMUM_CLUSTERS:
        return Estimate(mean, std_error, df, math.nan, math.nan, n, n_groups)
    from scipy.special import stdtrit

    reach = float(stdtrit(df, 0.5 + conf_level / 2)) * std_error
    return Estimate(mean, std_error, df, mean - reach, mean + reach, n, n_groups)


def clustered_share(successes: np.ndarray, counts: np.ndarray, *, conf_level: float = 0.95) -> Estimate:
    """Estimate a share with Wilson's interval on the effective sample size.

    The design effect is the cluster-robust SE² over p(1 − p)/n; Wilson's interval takes n/deff for n. Where the share
    is 0 or 1 the design effect is undefined and n is the number of clusters.

    Parameters
    ----------
    successes, counts
        Successes and observations per cluster, shape (G,).
    conf_level
        Level of the interval.

    Returns
    -------
    Estimate
        All NaN without observations; no interval with fewer than 5 clusters.

    References
    ----------
    Wilson (1927), JASA 22. Korn and Graubard (1998), Survey Methodology 24, for the effective sample size.
    """
    successes, counts = _contributing(successes, counts)
    n, n_groups = int(counts.sum()), len(counts)
    if n == 0:
        return Estimate(math.nan, math.nan, math.nan, math.nan, math.nan, 0, 0)
    share = float(successes.sum() / n)
    std_error = _std_error(successes, counts, share) if n_groups > 1 else math.nan
    if n_groups < MINIMUM_CLUSTERS:
        return Estimate(share, std_error, n_groups - 1, math.nan, math.nan, n, n_groups)
    # Every cluster having exactly this share leaves no variance to estimate either: then, too, clusters are counted.
    undefined = share in (0.0, 1.0) or std_error == 0.0
    effective = float(n_groups) if undefined else share * (1 - share) / std_error**2
    low, high = wilson_interval(share, effective, conf_level=conf_level)
    return Estimate(share, std_error, n_groups - 1, low, high, n, n_groups)


def p_against_zero(mean: Estimate) -> float:
    """Return the two-sided p value of a clustered mean against 0, from t; NaN where the mean has no interval."""
    if math.isnan(mean.conf_low) or mean.std_error == 0:
        return math.nan
    from scipy.special import stdtr

    return float(2 * stdtr(mean.df, -abs(mean.estimate / mean.std_error)))


def wilson_interval(share: float, n: float, *, conf_level: float = 0.95) -> tuple[float, float]:
    """Return Wilson's score interval for a share on ``n`` (possibly fractional) observations."""
    from scipy.special import ndtri

    z2 = float(ndtri(0.5 + conf_level / 2)) ** 2
    centre = (share + z2 / (2 * n)) / (1 + z2 / n)
    reach = math.sqrt(z2 * (share * (1 - share) / n + z2 / (4 * n * n))) / (1 + z2 / n)
    return max(0.0, centre - reach), min(1.0, centre + reach)


def clustered_means(frame: pd.DataFrame, by: Sequence[str], *, total: str = "total", count: str = "n") -> pd.DataFrame:
    """Estimate one mean per level from per-cluster sums.

    Parameters
    ----------
    frame
        One row per level and cluster, with the columns ``by``, ``total`` and ``count``.
    by
        Columns that identify a level; nulls are a level of their own. Rows keep the order of first appearance.

    Returns
    -------
    pandas.DataFrame
        ``by``, mean, std_error, df, conf_low, conf_high, n_observations, n_groups.
    """
    return _estimate_by(frame, by, total, count, clustered_mean).rename(columns={"estimate": "mean"})


def clustered_shares(frame: pd.DataFrame, by: Sequence[str], *, successes: str, count: str = "n") -> pd.DataFrame:
    """Estimate one share per level from per-cluster counts; like :func:`clustered_means`, with ``share``."""
    return _estimate_by(frame, by, successes, count, clustered_share).rename(columns={"estimate": "share"})


def _estimate_by(
    frame: pd.DataFrame,
    by: Sequence[str],
    total: str,
    count: str,
    estimator: Callable[[np.ndarray, np.ndarray], Estimate],
) -> pd.DataFrame:
    import dataclasses

    import pandas as pd

    rows = []
    for key, part in frame.groupby(list(by), sort=False, dropna=False):
        result = estimator(part[total].to_numpy(dtype=float), part[count].to_numpy(dtype=float))
        rows.append(dict(zip(by, key, strict=True)) | dataclasses.asdict(result))
    columns = [*by, *(item.name for item in dataclasses.fields(Estimate))]
    return pd.DataFrame(rows, columns=columns)


def _contributing(totals: np.ndarray, counts: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    totals, counts = np.asarray(totals, dtype=float), np.asarray(counts, dtype=float)
    used = counts > 0
    return totals[used], counts[used]


def _std_error(totals: np.ndarray, counts: np.ndarray, mean: float) -> float:
    n_groups = len(counts)
    deviations = totals - counts * mean
    # Sums of whole numbers differ from n · mean by rounding only: that is a measured zero.
    deviations[np.abs(deviations) < 1e-9 * np.maximum(1.0, np.abs(totals))] = 0.0
    return math.sqrt(n_groups / (n_groups - 1) * float(np.sum(deviations**2))) / float(counts.sum())
