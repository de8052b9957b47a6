"""Kaplan–Meier in whole turns with errors clustered by participant, cumulative incidence, and the log-rank test."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from dashboard.stats.clustered import MINIMUM_CLUSTERS, clustered_share

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True)
class LogRank:
    """A log-rank test: χ², its degrees of freedom and p; NaN where no test is possible."""

    statistic: float
    df: int
    p_value: float


def kaplan_meier(time: np.ndarray, event: np.ndarray, unit: np.ndarray, *, conf_level: float = 0.95) -> pd.DataFrame:
    """Estimate survival at every whole time from 1 to the last observed one.

    Parameters
    ----------
    time
        Whole time of event or censoring, from 1, shape (n,). Censoring at a time comes after the events of that time.
    event
        Whether it is an event, shape (n,).
    unit
        Code of the independent unit, shape (n,).
    conf_level
        Level of the interval.

    Returns
    -------
    pandas.DataFrame
        turn, n_at_risk, n_units (of those at risk), n_events, n_censored, survival, std_error, conf_low, conf_high. No
        interval with fewer than 5 units, nor where survival is 0 or 1.

    Notes
    -----
    The error is the infinitesimal jackknife over units (Efron 1981; the robust variance of R's ``survfit(cluster=)``), the
    interval log–log. Checked against survival 3.5-3: 672 conversations, and ``aml`` with one unit per person, where the error
    is Greenwood's within its textbook form.
    """
    import pandas as pd

    time, event = np.asarray(time, dtype=int), np.asarray(event, dtype=bool)
    codes = np.unique(unit, return_inverse=True)[1]
    n_groups = int(codes.max()) + 1 if len(codes) else 0
    order = np.argsort(time, kind="stable")
    time, event, codes = time[order], event[order], codes[order]
    longest = int(time[-1]) if len(time) else 0
    ends = np.searchsorted(time, np.arange(longest + 1), side="right")
    at_risk = np.bincount(codes, minlength=n_groups).astype(float)
    influence, survival, std_error = np.zeros(n_groups), 1.0, 0.0
    rows = []
    for turn in range(1, longest + 1):
        here = slice(ends[turn - 1], ends[turn])
        failed = np.bincount(codes[here][event[here]], minlength=n_groups)
        n, d = at_risk.sum(), float(failed.sum())
        if n > d:
            influence += (failed - at_risk * (d / n)) / (n - d)
        survival *= (n - d) / n
        std_error = survival * math.sqrt(float(influence @ influence)) if survival > 0 else math.nan
        low, high = _log_log(survival, std_error, n_groups, conf_level)
        n_here = ends[turn] - ends[turn - 1]
        rows.append((turn, int(n), int((at_risk > 0).sum()), int(d), int(n_here - d), survival, std_error, low, high))
        at_risk = at_risk - np.bincount(codes[here], minlength=n_groups)
    names = ["turn", "n_at_risk", "n_units", "n_events", "n_censored", "survival", "std_error", "conf_low", "conf_high"]
    return pd.DataFrame(rows, columns=names)


def _log_log(survival: float, std_error: float, n_groups: int, conf_level: float) -> tuple[float, float]:
    from scipy.special import ndtri

    if n_groups < MINIMUM_CLUSTERS or not 0 < survival < 1:
        return math.nan, math.nan
    reach = float(ndtri(0.5 + conf_level / 2)) * std_error / abs(survival * math.log(survival))
    return survival ** math.exp(reach), survival ** math.exp(-reach)


def cumulative_incidence(time: np.ndarray, event: np.ndarray, unit: np.ndarray) -> pd.DataFrame:
    """Estimate the share with an event by each whole time, the end without one competing with it.

    Every observation either has the event or ends without it, so that the Aalen–Johansen estimate is the plain share.

    Parameters
    ----------
    time, event, unit
        As for :func:`kaplan_meier`.

    Returns
    -------
    pandas.DataFrame
        turn, cumulative_incidence, conf_low, conf_high (Wilson on the effective sample size), n_conversations.

    Notes
    -----
    Checked against the Aalen–Johansen estimate of R's survival 3.5-3.
    """
    import pandas as pd

    time, event = np.asarray(time, dtype=int), np.asarray(event, dtype=bool)
    codes = np.unique(unit, return_inverse=True)[1]
    counts = np.bincount(codes)
    rows = []
    for turn in range(1, int(time.max()) + 1 if len(time) else 1):
        share = clustered_share(np.bincount(codes, weights=event & (time <= turn)), counts)
        rows.append((turn, share.estimate, share.conf_low, share.conf_high, len(time)))
    columns = ["turn", "cumulative_incidence", "conf_low", "conf_high", "n_conversations"]
    return pd.DataFrame(rows, columns=columns)


def log_rank(time: np.ndarray, event: np.ndarray, group: np.ndarray) -> LogRank:
    """Test whether groups differ in survival, every observation taken as independent.

    Parameters
    ----------
    time, event
        As for :func:`kaplan_meier`.
    group
        Code of the group from 0, shape (n,).

    Notes
    -----
    Hypergeometric variance, as R's ``survdiff`` (rho = 0). Checked against it on ``aml``, and against Freireich's trial as in
    Cox and Oakes (1984): 16.79.
    """
    time, event = np.asarray(time, dtype=int), np.asarray(event, dtype=bool)
    codes = np.unique(group, return_inverse=True)[1]
    k = int(codes.max()) + 1 if len(codes) else 0
    if k < 2 or not event.any():
        return LogRank(math.nan, max(k - 1, 0), math.nan)
    longest = int(time.max())
    cells = time * k + codes
    leaving = np.bincount(cells, minlength=(longest + 1) * k).reshape(-1, k)
    failed = np.bincount(cells[event], minlength=(longest + 1) * k).reshape(-1, k)
    at_risk = leaving[::-1].cumsum(axis=0)[::-1].astype(float)
    used = failed.sum(axis=1) > 0
    at_risk, failed = at_risk[used], failed[used]
    n, d = at_risk.sum(axis=1), failed.sum(axis=1)
    share = at_risk / n[:, None]
    difference = (failed - d[:, None] * share).sum(axis=0)
    spread = np.where(n > 1, d * (n - d) / np.maximum(n - 1, 1), 0.0)
    variance = np.diag((spread[:, None] * share).sum(axis=0)) - (spread[:, None] * share).T @ share
    statistic = float(difference[1:] @ np.linalg.pinv(variance[1:, 1:]) @ difference[1:])
    return LogRank(statistic, k - 1, chi2_tail(statistic, k - 1))


def chi2_tail(statistic: float, df: int) -> float:
    """Return the upper tail of χ²."""
    from scipy.special import chdtrc

    return float(chdtrc(df, statistic)) if df > 0 and statistic == statistic else math.nan
