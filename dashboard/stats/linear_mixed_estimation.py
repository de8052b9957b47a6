"""From sufficient statistics to estimates: two starts, exact boundaries, and a verdict in plain words."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from dashboard.stats.linear_mixed_curvature import Curvature, is_nested_intercepts, newton
from dashboard.stats.linear_mixed_deviance import Deviance, NotPositiveDefinite, Solution
from dashboard.stats.linear_mixed_moments import Factor, Level, Moments
from dashboard.stats.linear_mixed_optimise import (
    SMALL_THETA,
    Optimum,
    boundary,
    central_hessian,
    minimise,
    polish,
    restricted,
)
from dashboard.stats.threads import one_thread

Array = np.ndarray
GRADIENT_TOLERANCE = 1e-6
MAX_THETA = 1e5
FEW_GROUPS = 5
THIN_ABOVE = 200_000


@dataclass(frozen=True)
class Estimate:
    """Where a fit ended.

    Attributes
    ----------
    theta, free
        Relative Cholesky entries (d,) on standardised slopes, and which are off the boundary.
    deviance
        −2 log-likelihood, restricted under REML.
    solution
        None if the fit failed.
    checks
        Sentences: how it was verified, or what failed and what to do.
    curvature
        Exact derivatives at the optimum, where they were computed on the way.
    """

    deviance_function: Deviance
    theta: Array
    free: Array
    deviance: float
    solution: Solution | None
    converged: bool
    checks: tuple[str, ...]
    curvature: Curvature | None = None


def start_values(factors: tuple[Factor, ...], size: float) -> Array:
    """Return a diagonal start: every relative standard deviation at `size`, no correlation."""
    return np.concatenate([[size if row == col else 0.0 for row, col in f.template] for f in factors])


def diagonals(factors: tuple[Factor, ...]) -> tuple[list[int], list[list[int]]]:
    """Return the coordinates that can vanish, and those that vanish with them: a whole block first, then its last."""
    single: list[int] = []
    tied: list[list[int]] = []
    at = 0
    for factor in factors:
        positions = {entry: at + i for i, entry in enumerate(factor.template)}
        blocks = _blocks(factor)
        for first, last in blocks:
            inside = [i for (row, _), i in positions.items() if first <= row <= last]
            if last > first:
                single.append(positions[first, first])
                tied.append(inside)
            for row in range(last, first if last > first else first - 1, -1):
                single.append(positions[row, row])
                tied.append([positions[row, row]])
        at += len(factor.template)
    return single, tied


def _blocks(factor: Factor) -> list[tuple[int, int]]:
    """Return first and last effect of each correlated block."""
    blocks, first = [], 0
    while first < factor.k:
        last = max(row for row, column in factor.template if column == first)
        blocks.append((first, last))
        first = last + 1
    return blocks


def estimate(moments: Moments, *, reml: bool, start: Array | None = None, second_start: bool = True) -> Estimate:
    """Fit by minimising the profiled deviance.

    Parameters
    ----------
    start
        theta to begin with, e.g. that of a neighbouring fit; found from two starts otherwise.
    second_start
        Whether a second start must reach the same optimum.
    """
    with one_thread():
        return _estimate(Deviance(moments, reml=reml), start, second_start=second_start)


def _estimate(function: Deviance, start: Array | None, *, second_start: bool) -> Estimate:
    moments = function.moments
    if function.nu <= 0:
        return _failed(function, f"There are {moments.n} rows for {moments.p} fixed columns. Use fewer terms.")
    try:
        if _is_large(moments):
            optimum, agreed, exact = _optimise_large(function, start, second_start=second_start)
            if exact is not None:
                return _verdict(function, optimum, np.ones(2, dtype=bool), agreed=agreed, exact=exact)
        else:
            optimum, agreed = _optimise(function, start, second_start=second_start)
    except (ArithmeticError, NotPositiveDefinite, np.linalg.LinAlgError):
        return _failed(
            function, "The deviance cannot be computed: the outcome may be fitted perfectly. Use fewer terms."
        )
    optimum, free = boundary(function.evaluate, optimum, *diagonals(function.factors))
    costly = moments.n > THIN_ABOVE or not moments.dense
    optimum = polish(function.evaluate, _canonical(optimum.x, function), free, costly=costly)
    return _verdict(function, optimum, free, agreed=agreed)


def _canonical(theta: Array, function: Deviance) -> Array:
    """Return the equivalent theta whose relative standard deviations are not negative."""
    out, at = theta.copy(), 0
    for factor in function.factors:
        positions = {entry: at + i for i, entry in enumerate(factor.template)}
        for (row, column), i in positions.items():
            if row == column and out[i] < 0:
                for (_, other), j in positions.items():
                    if other == column:
                        out[j] = -out[j]
        at += len(factor.template)
    return out


def _optimise(function: Deviance, start: Array | None, *, second_start: bool) -> tuple[Optimum, bool | None]:
    """Return the best optimum and whether the second start agreed (None if there was none)."""
    first = minimise(function.evaluate, start_values(function.factors, 0.6) if start is None else start)
    if not second_start:
        return first, None
    found = [first, minimise(function.evaluate, start_values(function.factors, 0.15), tolerance=1e-6)]
    if _reached(found) < 2:
        # a start can end on a ridge where a variance is zero but should not be; more starts decide
        found += [minimise(function.evaluate, start_values(function.factors, size)) for size in (1.5, 0.3)]
    best = min(found, key=lambda optimum: optimum.value)
    if best is found[1]:
        best = minimise(function.evaluate, best.x)
    return best, _reached(found) > 1


def _optimise_large(
    function: Deviance, start: Array | None, *, second_start: bool
) -> tuple[Optimum, bool | None, Curvature | None]:
    """Begin where a part of the groups has its optimum; by exact second derivatives where the model has them."""
    agreed, hessian = None, None
    if start is None:
        thin = Deviance(thinned(function.moments), reml=function.reml)
        begun, agreed = _optimise(thin, None, second_start=second_start)
        start, hessian = begun.x, begun.hessian * (function.moments.n / thin.moments.n)
    if is_nested_intercepts(function.moments) and np.abs(start).min() > SMALL_THETA:
        found = newton(function, np.abs(start))
        if found is not None:
            return found[0], agreed, found[1]
    return minimise(function.evaluate, start, tolerance=1e-4 if agreed else 1e-9, hessian=hessian), agreed, None


def _reached(found: list[Optimum]) -> int:
    """Count the runs that reached the lowest deviance found."""
    lowest = min(optimum.value for optimum in found)
    return sum(optimum.value < lowest + 1e-3 for optimum in found)


def _is_large(moments: Moments) -> bool:
    groups = moments.inner.factor.n_groups if moments.inner is not None else moments.outer.factor.n_groups
    return groups > THIN_ABOVE and moments.dense and all(f.k == 1 for f in moments.factors)


def _failed(function: Deviance, *why: str) -> Estimate:
    d = function.n_parameters
    return Estimate(function, np.full(d, np.nan), np.ones(d, dtype=bool), np.nan, None, False, why)


def _verdict(
    function: Deviance, optimum: Optimum, free: Array, *, agreed: bool | None, exact: Curvature | None = None
) -> Estimate:
    """Check gradient, curvature, size and second start; a fit that fails shows no numbers."""
    problems = []
    scale = np.maximum(1.0, np.abs(optimum.x[free]))
    steepest = float(np.abs(optimum.gradient * scale).max(initial=0.0))
    allowed = GRADIENT_TOLERANCE * max(1.0, abs(optimum.value) * 1e-3)
    if not np.isfinite(optimum.value) or not np.isfinite(optimum.gradient).all():
        problems.append("the deviance is not finite")
    elif steepest > allowed and optimum.expected_decrease > 1e-7:
        problems.append(f"the gradient at the optimum is {steepest:.2g} instead of 0")
    elif len(optimum.hessian) and np.linalg.eigvalsh(optimum.hessian)[0] <= 0:
        problems.append("the deviance is not curved upwards in every direction at the optimum")
    if np.abs(optimum.x).max(initial=0.0) > MAX_THETA:
        problems.append("the residual variance is all but 0 beside a random effect's")
    if agreed is False:
        problems.append("no two of four starting points led to the same optimum")
    if problems:
        advice = "Simplify the random part (no slope, fewer factors) or the fixed part, and look for outcomes without spread."
        return _failed(function, f"The fit did not converge: {'; '.join(problems)}.", advice)
    checks = ["gradient 0", "curvature positive", *(["second start agrees"] if agreed else [])]
    sentence = f"Converged ({', '.join(checks)})."
    solution = function.solve(optimum.x) if exact is None else function.solution(optimum.x, exact.R, exact.log_det)
    return Estimate(function, optimum.x, free, optimum.value, solution, True, (sentence,), exact)


def boundary_notes(function: Deviance, theta: Array, free: Array) -> list[str]:
    """Say which variances are exactly zero, or which correlation is ±1."""
    notes, at = [], 0
    for factor in function.factors:
        size = len(factor.template)
        block, block_free = theta[at : at + size], free[at : at + size]
        if not block_free.any():
            notes.append(
                f"The variance by {factor.label} is estimated as exactly 0 (at the boundary); degrees of freedom are those of "
                "the model without it."
            )
        elif not block_free.all():
            L = factor.to_raw @ factor.cholesky(block)
            flat = [e for e, row in zip(factor.effects, L, strict=True) if not np.any(row)]
            what = f"the variance of {', '.join(flat)} is exactly 0" if flat else "a correlation is exactly ±1"
            notes.append(
                f"By {factor.label}, {what} (singular fit, at the boundary); degrees of freedom hold it there."
            )
        at += size
    return notes


def thinned(moments: Moments, keep: int = 10_000) -> Moments:
    """Return statistics of an evenly spaced part of the outer groups, for starting values only.

    What varies within the finest groups is taken as the same everywhere, as the rows themselves are not kept.
    """
    P = moments.outer.factor.n_groups
    chosen = np.unique(np.linspace(0, P - 1, min(keep, P)).astype(np.int64))
    finest = moments.inner or moments.outer
    between = _between(finest.ZD[0], finest.ZZ[0, 0])
    inner, first = None, None
    part = _take(moments.outer, chosen)
    last = part
    if moments.inner is not None and moments.first_inner is not None and moments.inner_outer is not None:
        counts = np.diff(moments.first_inner)[chosen]
        first = np.concatenate([[0], np.cumsum(counts)])
        offsets = np.repeat(moments.first_inner[chosen] - first[:-1], counts)
        cells = np.arange(first[-1]) + offsets
        inner = last = _take(moments.inner, cells)
        inner_outer = moments.inner_outer[:, :, cells]
    else:
        inner_outer = None
    n = float(last.ZZ[0, 0].sum())
    share = n / moments.n
    DD = (moments.DD - between) * share + _between(last.ZD[0], last.ZZ[0, 0])
    # the dense crossed block stays exact: it counts rows
    return replace(
        moments, n=round(n), inner=inner, outer=part, inner_outer=inner_outer, first_inner=first, DD=DD, cache={}
    )


def _between(S: Array, counts: Array, chunk: int = 32_768) -> Array:
    """Return Σ SS'/n over groups, by stretches that stay in the processor's cache."""
    out = np.zeros((S.shape[1], S.shape[1]))
    for start in range(0, len(S), chunk):
        part = S[start : start + chunk]
        out += (part / counts[start : start + chunk, None]).T @ part
    return out


def _take(level: Level, chosen: Array) -> Level:
    factor = replace(level.factor, n_groups=len(chosen))
    return Level(factor, level.ZZ[:, :, chosen], tuple(part[chosen] for part in level.ZD))


__all__ = ["Estimate", "boundary_notes", "central_hessian", "estimate", "restricted", "start_values", "thinned"]
