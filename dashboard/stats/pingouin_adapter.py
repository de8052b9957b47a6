"""What pingouin does well, under this project's names: its column names differ by function and by version.

Intervals are computed here, since pingouin rounds them.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import pandas as pd


@dataclass(frozen=True)
class Association:
    """An association of a number with a covariate; NaN where undefined."""

    method: str
    estimate: float
    conf_low: float
    conf_high: float
    p_value: float
    n_observations: int


def spearman(x: np.ndarray, y: np.ndarray, *, conf_level: float = 0.95) -> Association:
    """Return Spearman's correlation with the interval of Bonett & Wright (2000), for independent observations.

    NaN for fewer than five complete pairs or a side without variation. Values are ranked after rounding to 9 decimals:
    unrounded means tie by their last bit only.
    """
    both = np.isfinite(x) & np.isfinite(y)
    x, y, n = np.round(x[both], 9), np.round(y[both], 9), int(both.sum())
    if n < 5 or np.ptp(x) == 0 or np.ptp(y) == 0:
        return Association("Spearman", math.nan, math.nan, math.nan, math.nan, n)
    import pingouin
    from scipy.special import ndtri

    row = pingouin.corr(x, y, method="spearman").iloc[0]
    r = float(row["r"])
    if abs(r) >= 1:
        return Association("Spearman", r, math.nan, math.nan, _p(row), n)
    reach = float(ndtri(0.5 + conf_level / 2)) * math.sqrt((1 + r * r / 2) / (n - 3))
    z = math.atanh(r)
    return Association("Spearman", r, math.tanh(z - reach), math.tanh(z + reach), _p(row), n)


def kruskal_wallis(values: np.ndarray, groups: np.ndarray) -> Association:
    """Return ε² = H/(n − 1) of values between groups of at least two, and Kruskal–Wallis' p; no interval."""
    frame = pd.DataFrame({"value": np.round(np.asarray(values, dtype=float), 9), "group": groups}).dropna()
    frame = frame[frame.groupby("group")["value"].transform("size") >= 2]
    n = len(frame)
    if frame["group"].nunique() < 2 or n < 5 or frame["value"].nunique() < 2:
        return Association("Kruskal–Wallis", math.nan, math.nan, math.nan, math.nan, n)
    import pingouin

    row = pingouin.kruskal(frame, dv="value", between="group").iloc[0]
    return Association("Kruskal–Wallis", float(row["H"]) / (n - 1), math.nan, math.nan, _p(row), n)


def holm(p_values: np.ndarray) -> np.ndarray:
    """Return Holm-adjusted p values; NaN stay NaN and do not count."""
    p_values = np.asarray(p_values, dtype=float)
    known = np.isfinite(p_values)
    out = np.full(len(p_values), math.nan)
    if known.any():
        import pingouin

        out[known] = pingouin.multicomp(p_values[known], method="holm")[1]
    return out


def _p(row: pd.Series) -> float:
    """Return the p value, whatever this version calls it."""
    for name in ("p_val", "p-val", "p_unc", "p-unc", "pval"):
        if name in row.index:
            return float(row[name])
    raise KeyError(f"pingouin's table must have a p value; its columns are {list(row.index)}")
