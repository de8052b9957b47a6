"""Minimising a smooth deviance: quasi-Newton with exact gradients, exact boundaries, and checks at the optimum."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

Array = np.ndarray
Objective = Callable[[Array], tuple[float, Array]]

MAX_ITERATIONS = 200
SMALL_THETA = 0.05
FARTHEST = 1e6


@dataclass(frozen=True)
class Optimum:
    """Where a minimisation ended.

    Attributes
    ----------
    x, value, gradient
        The point, the deviance and its gradient there.
    hessian
        (d, d), by central differences of the gradient; only in the free coordinates after `polish`.
    expected_decrease
        What one more Newton step would still gain.
    """

    x: Array
    value: float
    gradient: Array
    hessian: Array
    expected_decrease: float


def minimise(objective: Objective, start: Array, *, tolerance: float = 1e-9, hessian: Array | None = None) -> Optimum:
    """Minimise by BFGS with backtracking, from a given Hessian or a finite-difference one at the start.

    Stops when the decrease that the quadratic model expects is below `tolerance` (or below the objective's own
    rounding). `objective` may return an infinite value.
    """
    x = np.array(start, dtype=float)
    value, gradient = objective(x)
    if not np.isfinite(value):
        raise ArithmeticError("the objective is not finite at the start")
    hessian = _make_positive(_forward_hessian(objective, x, gradient) if hessian is None else hessian)
    expected = np.inf
    for _ in range(MAX_ITERATIONS):
        step = -np.linalg.solve(hessian, gradient)
        expected = float(-0.5 * gradient @ step)
        if expected < max(tolerance, 4e-16 * abs(value)):
            break
        found = _search(objective, x, value, gradient, _cap(step, x))
        if found is None:
            break
        new_x, new_value, new_gradient = found
        hessian = _update(hessian, new_x - x, new_gradient - gradient)
        x, value, gradient = new_x, new_value, new_gradient
        if np.abs(x).max() > FARTHEST:
            break
    return Optimum(x, value, gradient, hessian, expected)


def _cap(step: Array, x: Array) -> Array:
    longest = 1.0 + float(np.abs(x).max(initial=0.0))
    size = float(np.abs(step).max(initial=0.0))
    return step if size <= longest else step * (longest / size)


def _search(
    objective: Objective, x: Array, value: float, gradient: Array, step: Array
) -> tuple[Array, float, Array] | None:
    """Halve the step until the objective decreases enough; None if it never does."""
    slope = float(gradient @ step)
    noise = 1e-14 * abs(value)
    fraction = 1.0
    for _ in range(40):
        candidate = x + fraction * step
        new_value, new_gradient = objective(candidate)
        if np.isfinite(new_value) and new_value <= value + 1e-4 * fraction * slope + noise:
            return candidate, new_value, new_gradient
        fraction *= 0.5 if not np.isfinite(new_value) else _shrink(value, slope, fraction, new_value)
    return None


def _shrink(value: float, slope: float, fraction: float, new_value: float) -> float:
    curvature = 2 * (new_value - value - slope * fraction) / fraction**2
    best = -slope / curvature if curvature > 0 else 0.5 * fraction
    return float(np.clip(best / fraction, 0.1, 0.5))


def _update(hessian: Array, step: Array, change: Array) -> Array:
    curvature = float(step @ change)
    Hs = hessian @ step
    old = float(step @ Hs)
    if not old > 0:
        return hessian
    if curvature < 0.1 * old:
        # Powell's damping keeps the approximation positive definite
        blend = 0.9 * old / (old - curvature)
        change = blend * change + (1 - blend) * Hs
        curvature = float(step @ change)
    return hessian + np.outer(change, change) / curvature - np.outer(Hs, Hs) / old


def _make_positive(hessian: Array) -> Array:
    values, vectors = np.linalg.eigh(hessian)
    floor = max(1e-6 * float(np.abs(values).max(initial=0.0)), 1e-8)
    return (vectors * np.maximum(np.abs(values), floor)) @ vectors.T


def _forward_hessian(objective: Objective, x: Array, gradient: Array, step: float = 1e-4) -> Array:
    out = np.empty((len(x), len(x)))
    for i in range(len(x)):
        moved = x.copy()
        moved[i] += step
        out[i] = (objective(moved)[1] - gradient) / step
    return np.nan_to_num(0.5 * (out + out.T), nan=1.0)


def central_hessian(objective: Objective, x: Array, *, step: float = 1e-4) -> Array:
    """Return the Hessian (d, d) at x by central differences of exact gradients."""
    out = np.empty((len(x), len(x)))
    for i in range(len(x)):
        up, down = x.copy(), x.copy()
        h = step * max(1.0, abs(x[i]))
        up[i] += h
        down[i] -= h
        out[i] = (objective(up)[1] - objective(down)[1]) / (2 * h)
    return 0.5 * (out + out.T)


def restricted(objective: Objective, free: Array, x: Array) -> Objective:
    """Return the objective as a function of the free coordinates, the others staying as in x."""

    def inner(part: Array) -> tuple[float, Array]:
        full = x.copy()
        full[free] = part
        value, gradient = objective(full)
        return value, gradient[free]

    return inner


def polish(objective: Objective, x: Array, free: Array, *, costly: bool = False) -> Optimum:
    """Take Newton steps with an accurate Hessian in the free coordinates until nothing is gained.

    Differences are central, or forward where an evaluation is `costly`. The returned `hessian` is that of the free coordinates at the final point (to the last step's accuracy).
    """
    inner = restricted(objective, free, x)
    part = x[free]
    value, gradient = inner(part)
    hessian = _forward_hessian(inner, part, gradient) if costly else central_hessian(inner, part)
    expected = 0.0
    for _ in range(3):
        if not len(part):
            break
        step = -np.linalg.lstsq(hessian, gradient, rcond=1e-12)[0]
        expected = float(abs(0.5 * gradient @ step))
        if expected < max(1e-13, 1e-16 * abs(value)):
            break
        new_value, new_gradient = inner(part + step)
        if not np.isfinite(new_value) or np.linalg.norm(new_gradient) > np.linalg.norm(gradient):
            break
        part, value, gradient = part + step, new_value, new_gradient
    full = x.copy()
    full[free] = part
    return Optimum(full, value, gradient, hessian, expected)


def boundary(
    objective: Objective, optimum: Optimum, diagonal: Sequence[int], tied: Sequence[Sequence[int]]
) -> tuple[Optimum, Array]:
    """Move near-zero standard deviations exactly onto zero where the deviance is smallest there.

    The deviance is an even function of each `diagonal` coordinate, so zero is always stationary; it is the minimum
    where the deviance rises away from it. `tied[i]` are the coordinates that vanish together with diagonal[i].

    Returns
    -------
    The optimum, and which coordinates (d,) stayed free.
    """
    free = np.ones(len(optimum.x), dtype=bool)
    for index, group in zip(diagonal, tied, strict=True):
        if not free[index] or np.abs(optimum.x[list(group)]).max() > SMALL_THETA:
            continue
        trial = free.copy()
        trial[list(group)] = False
        x = np.where(trial, optimum.x, 0.0)
        inner = restricted(objective, trial, x)
        found = minimise(inner, x[trial]) if trial.any() else None
        if found is not None:
            x = x.copy()
            x[trial] = found.x
        value = objective(x)[0]
        if _rises(objective, x, group, value):
            optimum = Optimum(x, value, objective(x)[1], optimum.hessian, 0.0)
            free = trial
        elif np.abs(optimum.x[list(group)]).max() < 1e-3:
            optimum = _leave_saddle(objective, optimum, index, free)
    return optimum, free


def _leave_saddle(objective: Objective, optimum: Optimum, index: int, free: Array) -> Optimum:
    """Start again off zero, which is stationary by symmetry but where the deviance falls away."""
    x = optimum.x.copy()
    x[index] = 0.1
    again = minimise(restricted(objective, free, x), x[free])
    if again.value >= optimum.value:
        return optimum
    x[free] = again.x
    return Optimum(x, again.value, objective(x)[1], optimum.hessian, again.expected_decrease)


def _rises(objective: Objective, x: Array, group: Sequence[int], value: float) -> bool:
    """Tell whether the deviance rises from zero in the given coordinates, by their gradient close to it."""
    signs = [np.ones(len(group)), *(np.eye(len(group)) if len(group) > 1 else [])]
    for direction in signs:
        moved = x.copy()
        moved[list(group)] = 1e-3 * direction
        moved_value, gradient = objective(moved)
        if float(gradient[list(group)] @ direction) < 0 or moved_value < value - 1e-9 * max(1.0, abs(value)):
            return False
    return True
