"""Autocorrelated residuals within conversations: AR(1) in the turn number, by exact whitening.

Residuals of one conversation at turns s < t correlate as φ^(t − s), so an unrated turn between two rated ones
widens the step. Each row minus φ^Δ times the row before it, over √(1 − φ^(2Δ)), has independent residuals; the model
is fitted to such rows of outcome, fixed and random columns, and φ is profiled over.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import pandas as pd
from scipy.optimize import minimize_scalar

from dashboard.stats.formula import Design, FormulaError, encode
from dashboard.stats.linear_mixed_estimation import Estimate, estimate
from dashboard.stats.linear_mixed_moments import (
    FactorRows,
    Moments,
    build_moments,
    factor_rows,
    standardised_columns,
)

Array = np.ndarray
LIMITS = (-0.98, 0.98)


@dataclass(frozen=True)
class Series:
    """Rows in series: `order` (n,) sorts them; `gaps` (n,) is the distance in turns to the row before, NaN at a start."""

    order: Array
    gaps: Array
    codes: Array

    def whiten(self, values: Array, phi: float) -> Array:
        """Return whitened rows of values (n,) or (n, k), in the order of the series."""
        sorted_values = values[self.order]
        inside = ~np.isnan(self.gaps)
        power = np.where(inside, np.sign(phi) ** np.nan_to_num(self.gaps) * abs(phi) ** np.nan_to_num(self.gaps), 0.0)
        previous = np.roll(sorted_values, 1, axis=0)
        scale = 1 / np.sqrt(1 - power**2)
        if sorted_values.ndim == 1:
            return (sorted_values - power * previous) * scale
        return np.asfortranarray((sorted_values - power[:, None] * previous) * scale[:, None])

    def log_determinant(self, phi: float) -> float:
        """Return log |R|, the deviance that whitening takes away."""
        gaps = self.gaps[~np.isnan(self.gaps)]
        return float(np.log1p(-(phi ** (2 * gaps) if phi >= 0 else (phi * phi) ** gaps)).sum())


def series_of(frame: pd.DataFrame, design: Design, conversation: str, turn: str) -> Series:
    """Find the series among the rows fitted.

    Raises
    ------
    FormulaError
        A column is missing, a turn number is missing or comes twice in a conversation, or none has a second row.
    """
    for name in (conversation, turn):
        if name not in frame.columns:
            raise FormulaError(f"AR(1) within conversations needs the column “{name}”, which this data does not have.")
    rows = frame.iloc[design.rows]
    codes, _ = encode(rows[conversation])
    turns = rows[turn].to_numpy(dtype=float, na_value=np.nan)
    if np.isnan(turns).any() or np.any(codes < 0):
        raise FormulaError(
            f"AR(1) needs “{conversation}” and “{turn}” on every row; {int(np.isnan(turns).sum()):,} rows lack them."
        )
    order = np.lexsort((turns, codes))
    gaps = np.diff(turns[order], prepend=np.nan)
    gaps[np.diff(codes[order], prepend=-1) != 0] = np.nan
    if np.any(gaps == 0):
        raise FormulaError(
            f"AR(1) needs each “{turn}” once within a “{conversation}”; {int(np.sum(gaps == 0)):,} rows repeat one."
        )
    if np.isnan(gaps).all():
        raise FormulaError(f"AR(1) needs a “{conversation}” with two rows or more; there is none.")
    return Series(order, gaps, codes)


def estimate_ar1(design: Design, series: Series, *, reml: bool) -> tuple[Estimate, float, Moments]:
    """Fit with autocorrelation; returns the estimate, φ, and the statistics of the rows as they are."""
    factors = factor_rows(design)
    _check_constant(factors, series)
    columns, gram, scaling = standardised_columns(design)
    plain = build_moments(factors, columns, gram, scaling)
    columns = columns.copy(order="F")
    last: Estimate | None = None

    def fitted(phi: float) -> Estimate:
        nonlocal last
        moments = _whitened(factors, columns, series, phi, plain)
        start = None if last is None else np.where(last.free, last.theta, 0.05)
        found = estimate(moments, reml=reml, start=start, second_start=start is None)
        last = found if found.converged else last
        return found

    whole = np.array_equal(series.gaps[~np.isnan(series.gaps)], np.round(series.gaps[~np.isnan(series.gaps)]))
    bounds = LIMITS if whole else (0.0, LIMITS[1])
    best = minimize_scalar(
        lambda phi: _finite(fitted(phi).deviance), bounds=bounds, method="bounded", options={"xatol": 1e-8}
    )
    return fitted(float(best.x)), float(best.x), plain


def _finite(value: float) -> float:
    return value if np.isfinite(value) else 1e12


def _check_constant(factors: list[FactorRows], series: Series) -> None:
    """Refuse grouping factors that change within a conversation: their whitened columns are no indicators."""
    first = np.zeros(series.codes.max() + 1, dtype=np.int64)
    for rows in factors:
        first[series.codes] = rows.codes
        if not np.array_equal(first[series.codes], rows.codes):
            raise FormulaError(
                f"With AR(1), “{rows.factor.label}” must be constant within a conversation; it changes in some."
            )


def _whitened(factors: list[FactorRows], columns: Array, series: Series, phi: float, plain: Moments) -> Moments:
    """Return the statistics of whitened rows; ones become a column of their own."""
    ones = series.whiten(np.ones(len(columns)), phi)
    turned = [
        FactorRows(
            rows.factor,
            rows.codes[series.order],
            tuple(ones if z is None else series.whiten(z, phi) for z in rows.z),
        )
        for rows in factors
    ]
    rows = series.whiten(columns, phi)
    log_jacobian = series.log_determinant(phi)
    moments = build_moments(turned, rows, rows.T @ rows, plain.scaling, log_jacobian)
    return replace(moments, log_jacobian=log_jacobian)
