"""On breakdown turns, which dimensions are low, against how often they are anyway; and which fell first."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from dashboard.stats.bootstrap import percentile_interval, resample_sums
from dashboard.stats.clustered import clustered_mean, clustered_share

if TYPE_CHECKING:
    import pandas as pd


def low_shares(dimension: np.ndarray, is_low: np.ndarray, broken: np.ndarray, unit: np.ndarray) -> pd.DataFrame:
    """Return, per dimension, the share of breakdown turns on which it is low, and its base rate.

    Parameters
    ----------
    dimension
        Code of the dimension from 0, one row per turn and dimension that carries a number, shape (m,).
    is_low, broken
        Whether the dimension is low there, and whether the turn is a breakdown, shape (m,).
    unit
        Code of the participant, shape (m,).

    Returns
    -------
    pandas.DataFrame
        dimension (code), n_turns (breakdown turns on which it is rated), n_low, share, conf_low, conf_high (Wilson on the
        effective sample size), n_turns_all, base_rate (over all turns, breakdowns included), base_low, base_high, difference
        (share − base_rate), difference_low, difference_high (bootstrap of participants).
    """
    import pandas as pd

    codes = np.unique(unit, return_inverse=True)[1]
    present = np.unique(dimension)
    parts = []
    for one in present:
        here = dimension == one
        flags = [here & broken, here & broken & is_low, here, here & is_low]
        parts.append(np.column_stack([np.bincount(codes[flag], minlength=codes.max() + 1) for flag in flags]))
    # One draw of participants serves all dimensions.
    draws = resample_sums(np.hstack(parts)) if parts else np.empty((0, 0))
    rows = []
    for place, (one, sums) in enumerate(zip(present, parts, strict=True)):
        share, base = clustered_share(sums[:, 1], sums[:, 0]), clustered_share(sums[:, 3], sums[:, 2])
        drawn = draws[:, 4 * place : 4 * place + 4]
        with np.errstate(invalid="ignore", divide="ignore"):
            spread = drawn[:, 1] / drawn[:, 0] - drawn[:, 3] / drawn[:, 2]
        low, high = percentile_interval(spread, n_groups=int((sums[:, 0] > 0).sum()))
        rows.append(
            {
                "dimension": int(one),
                "n_turns": share.n_observations,
                "n_low": int(sums[:, 1].sum()),
                "share": share.estimate,
                "conf_low": share.conf_low,
                "conf_high": share.conf_high,
                "n_turns_all": base.n_observations,
                "base_rate": base.estimate,
                "base_low": base.conf_low,
                "base_high": base.conf_high,
                "difference": share.estimate - base.estimate,
                "difference_low": low,
                "difference_high": high,
            }
        )
    return pd.DataFrame(rows)


def first_to_fall(
    dimension: np.ndarray,
    conversation: np.ndarray,
    turn: np.ndarray,
    is_low: np.ndarray,
    time: np.ndarray,
    unit: np.ndarray,
    *,
    n_dimensions: int,
) -> pd.DataFrame:
    """Return which dimension was low first, up to and including the turn of the first breakdown.

    Parameters
    ----------
    dimension, conversation, turn, is_low
        One row per turn and dimension that carries a number, shape (m,).
    time
        Turn of the first breakdown per conversation, 0 for none, shape (n,).
    unit
        Code of the participant per conversation, shape (n,).
    n_dimensions
        How many dimensions there are.

    Returns
    -------
    pandas.DataFrame
        dimension (code), n_first (conversations in which it is among the first), n_first_alone, share_first (those that fall
        together share the conversation equally), conf_low, conf_high, n_conversations (with a low dimension by then).
    """
    import pandas as pd

    early = is_low & (turn <= time[conversation])
    first = np.full((len(time), n_dimensions), np.iinfo(np.int64).max)
    np.minimum.at(first, (conversation[early], dimension[early]), turn[early])
    earliest = first.min(axis=1)
    known = earliest < np.iinfo(np.int64).max
    among = (first == earliest[:, None])[known]
    weight = among / np.maximum(among.sum(axis=1, keepdims=True), 1)
    codes = np.unique(unit[known], return_inverse=True)[1]
    counts = np.bincount(codes, minlength=1)
    rows = []
    for one in range(n_dimensions):
        share = clustered_mean(np.bincount(codes, weights=weight[:, one], minlength=1), counts)
        rows.append(
            {
                "dimension": one,
                "n_first": int(among[:, one].sum()),
                "n_first_alone": int((among[:, one] & (among.sum(axis=1) == 1)).sum()),
                "share_first": share.estimate,
                "conf_low": max(0.0, share.conf_low) if share.conf_low == share.conf_low else share.conf_low,
                "conf_high": min(1.0, share.conf_high) if share.conf_high == share.conf_high else share.conf_high,
                "n_conversations": int(known.sum()),
            }
        )
    return pd.DataFrame(rows)
