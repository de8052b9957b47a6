"""Finding the maximum of a cumulative-logit mixed model's likelihood, its observed information, and its guards.

The search works in thresholds written as the first one and the logarithms of the gaps, so that they stay ordered,
and in standard deviations that may pass through zero: the likelihood is even in each of them, so a variance that
belongs at zero is an ordinary stationary point, reached exactly.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from dashboard.stats.ordinal_mixed_blocks import Block, Floats, build_blocks
from dashboard.stats.ordinal_mixed_gradient import CumulativeLogitLikelihood
from dashboard.stats.ordinal_mixed_quadrature import Parameters

DECREMENT_REACHED = 1e-11
"""Squared distance to the optimum, in standard errors, at which the search stops."""
DECREMENT_CONVERGED = 1e-7
LARGEST_STEP = 2.0
SMALL_SD = 0.2
"""Standard deviations below this are compared with exactly zero."""
LARGEST_SD = 25.0
DIFFERENCE_STEP = 5e-3
"""Of a conditional standard error; the error of the central difference is about its square over n."""


@dataclass(frozen=True)
class Problem:
    """Sorted rows, standardised columns, and which of the two intercepts the model has."""

    level: NDArray[np.intp]
    design: Floats
    participant: NDArray[np.intp]
    conversation: NDArray[np.intp]
    n_levels: int
    nested: bool
    n_quadrature: int

    @property
    def n_parameters(self) -> int:
        """Thresholds, fixed effects and two standard deviations (the second one unused where not nested)."""
        return self.n_levels - 1 + self.design.shape[1] + 2

    def may_vary(self) -> NDArray[np.bool_]:
        """Return which parameters the model has."""
        free = np.ones(self.n_parameters, dtype=bool)
        free[-1] = self.nested
        return free

    def likelihood(self, n_points: int) -> CumulativeLogitLikelihood:
        """Return the likelihood with n_points at each level of the model."""
        n_inner = n_points if self.nested else 1
        return CumulativeLogitLikelihood(self._blocks(n_points * n_inner), n_outer=n_points, n_inner=n_inner)

    def _blocks(self, n_nodes: int) -> list[Block]:
        return build_blocks(
            self.level,
            self.design,
            participant=self.participant,
            conversation=self.conversation,
            n_levels=self.n_levels,
            n_nodes=n_nodes,
        )


@dataclass(frozen=True)
class Optimum:
    """Where the search ended. Scores and information are over the parameters in ``free``."""

    position: Floats
    free: NDArray[np.bool_]
    log_likelihood: float
    scores: Floats
    information: Floats
    decrement: float
    n_thresholds: int

    @property
    def is_maximum(self) -> bool:
        """Whether the gradient vanishes and the information is positive definite."""
        return bool(np.isfinite(self.decrement) and self.decrement < DECREMENT_CONVERGED)

    @property
    def parameters(self) -> Parameters:
        """The parameters as the likelihood takes them."""
        return unpack(self.position, self.n_thresholds)

    def jacobian(self) -> Floats:
        """Return the derivative of thresholds, fixed effects and deviations in the searched position."""
        return threshold_jacobian(self.position, self.n_thresholds)


@dataclass(frozen=True)
class Search:
    """The best optimum, the other start's log-likelihood minus its own (NaN if not tried), and what finer
    quadrature adds to its log-likelihood.
    """

    optimum: Optimum
    second_start_difference: float
    quadrature_change: float


def unpack(position: Floats, n_thresholds: int) -> Parameters:
    """Return parameters from (first threshold, log gaps, fixed effects, two standard deviations)."""
    with np.errstate(over="ignore"):
        gaps = np.exp(position[1:n_thresholds])
    thresholds = position[0] + np.r_[0.0, np.cumsum(gaps)]
    return Parameters(thresholds, position[n_thresholds:-2], float(position[-2]), float(position[-1]))


def pack(parameters: Parameters) -> Floats:
    """Invert `unpack`."""
    thresholds = parameters.thresholds
    deviations = [parameters.sd_participant, parameters.sd_conversation]
    return np.r_[thresholds[0], np.log(np.diff(thresholds)), parameters.fixed, deviations]


def threshold_jacobian(position: Floats, n_thresholds: int) -> Floats:
    """Return ∂(thresholds, fixed, deviations)/∂position, square."""
    jacobian = np.eye(len(position))
    jacobian[:n_thresholds, 0] = 1.0
    for k in range(1, n_thresholds):
        jacobian[k:n_thresholds, k] = np.exp(position[k])
    return jacobian


class Surface:
    """The log-likelihood as a function of the free part of the position."""

    def __init__(self, likelihood: CumulativeLogitLikelihood, position: Floats, *, free: NDArray[np.bool_]) -> None:
        self.likelihood, self.free = likelihood, free
        self.position = np.where(free, position, 0.0)
        self.n_thresholds = len(position) - 2 - likelihood.blocks[0].design.shape[1]

    def full(self, x: Floats) -> Floats:
        """Return the whole position for the free values x."""
        position = self.position.copy()
        position[self.free] = x
        return position

    def scores(self, x: Floats) -> tuple[float, Floats]:
        """Return the log-likelihood and each participant's gradient; −inf where out of range."""
        position = self.full(x)
        found = self.likelihood.evaluate(unpack(position, self.n_thresholds)) if np.all(x < 300) else None
        if found is None or not np.all(np.isfinite(found[0])):
            return -np.inf, np.zeros((1, len(x)))
        value, gradient = found
        jacobian = threshold_jacobian(position, self.n_thresholds)
        return float(value.sum()), (gradient @ jacobian)[:, self.free]

    def metric(self, x: Floats) -> Floats:
        """Return an approximate, positive definite information at x."""
        position = self.full(x)
        n = len(position) - 2
        jacobian = threshold_jacobian(position, self.n_thresholds)[:n, :n]
        metric = np.diag(np.zeros(len(position)))
        metric[:n, :n] = jacobian.T @ self.likelihood.information(unpack(position, self.n_thresholds)) @ jacobian
        metric = metric[np.ix_(self.free, self.free)]
        _, scores = self.scores(x)
        deviations = np.flatnonzero(self.free) >= n
        metric[deviations, deviations] = np.maximum((scores[:, deviations] ** 2).sum(axis=0), 1.0)
        return metric + np.diag(1e-9 * np.diag(metric) + 1e-12)


def _line_search(
    value_at: Callable[[Floats], tuple[float, Floats]], x: Floats, value: float, *, step: Floats, slope: float
) -> tuple[Floats, float, Floats] | None:
    """Halve the step until the value rises enough; noise of the last digits counts as no fall."""
    noise = 1e-13 * max(1.0, abs(value))
    for _ in range(40):
        trial = x + step
        new_value, scores = value_at(trial)
        if new_value >= value + 1e-4 * slope - noise:
            return trial, new_value, scores
        step, slope = 0.5 * step, 0.5 * slope
    return None


def _updated(inverse: Floats, moved: Floats, change: Floats) -> Floats:
    """Return the BFGS update of an inverse metric; unchanged where the surface is not concave along the move."""
    product = moved @ change
    if product <= 1e-10 * np.linalg.norm(moved) * np.linalg.norm(change):
        return inverse
    tilt = np.eye(len(moved)) - np.outer(moved, change) / product
    return tilt @ inverse @ tilt.T + np.outer(moved, moved) / product


def _inverted(metric: Floats) -> Floats:
    return np.asarray(np.linalg.pinv(metric, hermitian=True), dtype=float)


def climb(surface: Surface, start: Floats, *, max_steps: int = 300) -> Floats:
    """Return the free values of a local maximum by BFGS from the profile information as first metric."""
    x = start
    value, scores = surface.scores(x)
    inverse = _inverted(surface.metric(x))
    gradient = scores.sum(axis=0)
    refreshed = True
    for _ in range(max_steps):
        direction = inverse @ gradient
        slope = float(gradient @ direction)
        if slope < DECREMENT_REACHED:
            break
        scale = min(1.0, LARGEST_STEP / np.abs(direction).max())
        found = _line_search(surface.scores, x, value, step=scale * direction, slope=scale * slope)
        if found is None:
            if refreshed:
                break
            inverse, refreshed = _inverted(surface.metric(x)), True
            continue
        new_x, value, scores = found
        new_gradient = scores.sum(axis=0)
        inverse = _updated(inverse, new_x - x, gradient - new_gradient)
        x, gradient, refreshed = new_x, new_gradient, False
    return x


def observed_information(surface: Surface, x: Floats) -> Floats:
    """Return minus the Hessian at x: central differences of the analytic gradient."""
    steps = DIFFERENCE_STEP / np.sqrt(np.diag(surface.metric(x)))
    hessian = np.empty((len(x), len(x)))
    for j, step in enumerate(steps):
        shift = np.zeros(len(x))
        shift[j] = step
        ahead, behind = surface.scores(x + shift)[1], surface.scores(x - shift)[1]
        hessian[j] = (ahead.sum(axis=0) - behind.sum(axis=0)) / (2 * step)
    return -0.5 * (hessian + hessian.T)


def _is_positive_definite(matrix: Floats) -> bool:
    if not np.all(np.isfinite(matrix)) or not np.all(np.diag(matrix) > 0):
        return False
    scale = np.sqrt(np.diag(matrix))
    return bool(np.linalg.eigvalsh(matrix / np.outer(scale, scale))[0] > 1e-10)


def polish(surface: Surface, x: Floats) -> Optimum:
    """Return the optimum near x after one Newton step with the observed information, and how near it is."""
    information = observed_information(surface, x)
    value, scores = surface.scores(x)
    decrement = np.nan
    if _is_positive_definite(information):
        step = np.linalg.solve(information, scores.sum(axis=0))
        new_value, new_scores = surface.scores(x + step)
        if new_value >= value - 1e-13 * max(1.0, abs(value)):
            x, value, scores = x + step, new_value, new_scores
        gradient = scores.sum(axis=0)
        decrement = float(gradient @ np.linalg.solve(information, gradient))
    return Optimum(surface.full(x), surface.free, value, scores, information, decrement, surface.n_thresholds)


def start_without_effects(problem: Problem) -> Floats:
    """Return the position of the plain cumulative logit (both variances zero)."""
    cumulative = np.cumsum(np.bincount(problem.level, minlength=problem.n_levels))[:-1] / len(problem.level)
    thresholds = np.log(cumulative / (1.0 - cumulative))
    position = pack(Parameters(thresholds, np.zeros(problem.design.shape[1]), 0.0, 0.0))
    free = np.arange(problem.n_parameters) < problem.n_parameters - 2
    surface = Surface(problem.likelihood(1), position, free=free)
    return surface.full(climb(surface, position[free], max_steps=50))


def with_deviations(position: Floats, n_thresholds: int, *, sd: tuple[float, float]) -> Floats:
    """Return a position with new standard deviations, its other effects stretched as conditioning does."""
    old = 1.0 + 0.35 * (position[-2] ** 2 + position[-1] ** 2)
    stretch = np.sqrt((1.0 + 0.35 * (sd[0] ** 2 + sd[1] ** 2)) / old)
    parameters = unpack(position, n_thresholds)
    return pack(Parameters(stretch * parameters.thresholds, stretch * parameters.fixed, *sd))


def settle_zero_deviations(surface: Surface, x: Floats) -> tuple[Surface, Floats]:
    """Put standard deviations that are as good as zero to exactly zero and climb again without them."""
    n = len(surface.position)
    for index in (n - 1, n - 2):
        position = surface.full(x)
        if not surface.free[index] or abs(position[index]) > SMALL_SD:
            continue
        free = surface.free.copy()
        free[index] = False
        reduced = Surface(surface.likelihood, position, free=free)
        reduced_x = climb(reduced, position[free])
        if reduced.scores(reduced_x)[0] >= surface.scores(x)[0] - 1e-9:
            surface, x = reduced, reduced_x
    return surface, x


def climb_from(problem: Problem, likelihood: CumulativeLogitLikelihood, start: Floats) -> tuple[Surface, Floats]:
    """Climb with all of the model's parameters, then settle zero variances."""
    surface = Surface(likelihood, start, free=problem.may_vary())
    x = climb(surface, start[surface.free])
    return settle_zero_deviations(surface, x)


def first_start(problem: Problem) -> Floats:
    """Return a start near the optimum: the plain model, then Laplace with both deviations at 1."""
    n_thresholds = problem.n_levels - 1
    plain = start_without_effects(problem)
    position = with_deviations(plain, n_thresholds, sd=(1.0, 1.0 if problem.nested else 0.0))
    if problem.n_quadrature == 1:
        return position
    surface = Surface(problem.likelihood(1), position, free=problem.may_vary())
    laplace = surface.full(climb(surface, position[surface.free]))
    # The slope in a deviation vanishes at zero: a start must stay clear of it.
    laplace[-2:] = np.where(problem.may_vary()[-2:], np.maximum(np.abs(laplace[-2:]), 0.3), 0.0)
    return laplace


def second_start(problem: Problem, optimum: Optimum) -> Floats:
    """Return a start far from the optimum in both deviations, with no fixed effects."""
    sds = [0.3 if abs(sd) > 1 else 2.0 for sd in optimum.position[-2:]]
    position = with_deviations(optimum.position, optimum.n_thresholds, sd=(sds[0], sds[1] if problem.nested else 0.0))
    position[optimum.n_thresholds : -2] = 0.0
    return position


def positive_deviations(optimum: Optimum) -> Optimum:
    """Return the same optimum with both standard deviations at or above zero (the likelihood is even in them)."""
    sign = np.ones(len(optimum.position))
    sign[-2:] = np.where(optimum.position[-2:] < 0, -1.0, 1.0)
    free = sign[optimum.free]
    return replace(
        optimum,
        position=sign * optimum.position,
        scores=optimum.scores * free,
        information=optimum.information * np.outer(free, free),
    )


def quadrature_change(problem: Problem, optimum: Optimum) -> float:
    """Return the log-likelihood at the optimum with about twice as many points, minus the one reported."""
    n_points = max(7, 2 * problem.n_quadrature + 1)
    return problem.likelihood(n_points).log_likelihood(optimum.parameters) - optimum.log_likelihood


def maximise(problem: Problem, *, try_second_start: bool) -> Search:
    """Return the best optimum found, and what a second start and more quadrature points say about it."""
    likelihood = problem.likelihood(problem.n_quadrature)
    surface, x = climb_from(problem, likelihood, first_start(problem))
    optimum = polish(surface, x)
    difference = np.nan
    if try_second_start and np.abs(optimum.position[-2:]).max() < LARGEST_SD:
        other_surface, other_x = climb_from(problem, likelihood, second_start(problem, optimum))
        difference = other_surface.scores(other_x)[0] - optimum.log_likelihood
        if difference > 1e-6:
            optimum, difference = polish(other_surface, other_x), -difference
    change = quadrature_change(problem, optimum) if optimum.is_maximum else np.nan
    return Search(positive_deviations(optimum), difference, change)


def separating_columns(problem: Problem) -> NDArray[np.intp]:
    """Return the columns along which the fixed part separates the levels; empty where none does.

    A direction of thresholds and fixed effects that lowers no row's probability, whatever the random effects, and
    raises one has no finite maximum. It is sought by linear programming (Albert & Anderson 1984, for cumulative
    logits).
    """
    from scipy.optimize import linprog

    block = build_blocks(
        problem.level,
        problem.design,
        participant=np.zeros_like(problem.participant),
        conversation=np.zeros_like(problem.conversation),
        n_levels=problem.n_levels,
        n_nodes=1,
    )[0]
    n_terms, n_thresholds = len(block.row_of_term), problem.n_levels - 1
    rows = np.zeros((n_terms, n_thresholds + problem.design.shape[1]))
    rows[np.arange(n_terms), block.threshold_of_term] = 1.0
    rows[:, n_thresholds:] = -block.design[block.row_of_term]
    rows *= (2.0 * block.is_lower - 1.0)[:, None]
    rows = np.unique(np.round(rows, 12), axis=0)
    found = linprog(-rows.sum(axis=0), A_ub=-rows, b_ub=np.zeros(len(rows)), bounds=(-1, 1), method="highs")
    if found.status != 0 or -found.fun < 1e-6:
        return np.zeros(0, dtype=np.intp)
    return np.flatnonzero(np.abs(found.x[n_thresholds:]) > 1e-7)
