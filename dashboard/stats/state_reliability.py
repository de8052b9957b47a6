"""How reliably several dimensions show the state of a turn: a mixed model over all answered ratings.

y ~ dimension + (1 | participant) + (1 | participant:dimension) + (1 | conversation) + (1 | turn). Everything is nested within
the participant, so that the restricted likelihood is a sum over participants of small matrices; turns enter through sums by
how many dimensions they carry.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from dashboard.stats.progress import tell
from dashboard.stats.threads import one_thread

_STARTS = (np.array([1.0, 0.5, 0.05, 0.5]), np.array([3.0, 0.1, 0.01, 1.5]))
# More people than twice as many are searched from where so many evenly spaced ones have their optimum.
_FEW = 150
TERMS = ("turn", "conversation", "participant:dimension", "participant")


@dataclass(frozen=True)
class StateReliability:
    """Variances and the reliability of a turn's mean over k dimensions.

    Attributes
    ----------
    variances
        Of ``TERMS`` and of the residual; NaN where the fit failed.
    problem
        Why there are no numbers; empty when there are.
    """

    variances: dict[str, float]
    deviance: float
    n_observations: int
    n_turns: int
    n_participants: int
    problem: str = ""

    def reliability(self, k: float) -> float:
        """V_turn/(V_turn + V_residual/k): of the mean of k dimensions, within conversations."""
        turn, residual = self.variances["turn"], self.variances["residual"]
        return turn / (turn + residual / k) if turn + residual > 0 else math.nan


@dataclass(frozen=True)
class _Sums:
    """Sums by number of rated dimensions on the turn (axis of length k: 1 … k)."""

    n: int
    n_by_size: np.ndarray
    products: np.ndarray  # (P, k sizes, k, k): Σ m m'
    totals: np.ndarray  # (P, k): D'y
    crossed: np.ndarray  # (P, k sizes, k): Σ m s
    own: np.ndarray  # (k, ): Σ s²
    outcome: float
    chat_counts: np.ndarray  # (C, k sizes, k): Σ m
    chat_totals: np.ndarray  # (C, k sizes): Σ s
    starts: np.ndarray


def fit_state_reliability(values: np.ndarray, participant: np.ndarray, conversation: np.ndarray) -> StateReliability:
    """Fit the model by REML.

    Parameters
    ----------
    values
        Ratings, shape (n turns, k dimensions), NaN where a dimension is not rated.
    participant, conversation
        Codes of each turn, shape (n,); a conversation lies within one participant.

    Notes
    -----
    Checked against ``lme4::lmer``. A variance at the boundary is exactly 0.
    """
    kept = np.isfinite(values).any(axis=1)
    values, participant, conversation = values[kept], participant[kept], conversation[kept]
    size = (int(np.isfinite(values).sum()), len(values), len(np.unique(participant)))
    problem = _problem(values, size)
    unknown = dict.fromkeys((*TERMS, "residual"), math.nan)
    if problem:
        return StateReliability(unknown, math.nan, *size, problem=problem)
    with one_thread():
        ratios, deviance, residual = _fit(values, participant, conversation)
    if not np.isfinite(deviance) or ratios.max() > 1e4:
        problem = "The residual variance is all but 0 beside the others: the dimensions are rated alike."
        return StateReliability(unknown, math.nan, *size, problem=problem)
    variances = {name: float(ratio) * residual for name, ratio in zip(TERMS, ratios, strict=True)}
    return StateReliability(variances | {"residual": residual}, deviance, *size)


def _fit(values: np.ndarray, participant: np.ndarray, conversation: np.ndarray) -> tuple[np.ndarray, float, float]:
    """Return ratios, deviance and residual variance; many people are searched from where a few have their optimum."""
    sums = _sum(values, participant, conversation)
    people = np.unique(participant)
    if len(people) <= 2 * _FEW:
        ratios = _minimise(sums)
        return ratios, *_evaluate(ratios, sums)
    kept = np.isin(participant, people[np.linspace(0, len(people) - 1, _FEW).round().astype(int)])
    part = _sum(values[kept], participant[kept], conversation[kept])
    if part.own.shape != sums.own.shape:
        ratios = _minimise(sums)
        return ratios, *_evaluate(ratios, sums)
    near = _minimise(part)
    ratios = _minimise(sums, near=near, steep=_bend(part, near))
    return ratios, *_evaluate(ratios, sums)


def _problem(values: np.ndarray, size: tuple[int, int, int]) -> str:
    if size[2] < 2:
        return "It takes at least two participants."
    if size[0] <= size[1]:
        return "No turn has two rated dimensions, so the turn cannot be told from the rating."
    if np.nanmax(values) == np.nanmin(values):
        return "All ratings are equal, so there is no variance to divide."
    return ""


def _sum(values: np.ndarray, participant: np.ndarray, conversation: np.ndarray) -> _Sums:
    used = np.isfinite(values).any(axis=0)
    values = values[:, used]
    k = values.shape[1]
    chats, chat = np.unique(conversation, return_inverse=True)
    owner = np.zeros(len(chats), dtype=np.int64)
    owner[chat] = np.unique(participant, return_inverse=True)[1]
    order = np.argsort(owner, kind="stable")
    rank = np.empty_like(order)
    rank[order] = np.arange(len(order))
    chat, owner = rank[chat], owner[order]
    person = owner[chat]
    known = np.isfinite(values)
    rated = known.astype(float)
    filled = np.where(known, values - np.nanmean(values), 0.0)
    size, total = known.sum(axis=1), filled.sum(axis=1)
    n_people, n_chats = int(owner[-1]) + 1, len(owner)
    by_person, by_chat = person * k + size - 1, chat * k + size - 1
    products = np.empty((n_people * k, k, k))
    for i in range(k):
        for j in range(i + 1):
            both = np.bincount(by_person, rated[:, i] * rated[:, j], n_people * k)
            products[:, i, j] = products[:, j, i] = both
    column = range(k)
    counts = np.bincount(owner, minlength=n_people)
    return _Sums(
        n=int(known.sum()),
        n_by_size=np.bincount(size - 1, minlength=k).astype(float),
        products=products.reshape(n_people, k, k, k),
        totals=np.column_stack([np.bincount(person, filled[:, i], n_people) for i in column]),
        crossed=np.stack([np.bincount(by_person, rated[:, i] * total, n_people * k) for i in column], 1).reshape(
            n_people, k, k
        ),
        own=np.bincount(size - 1, total**2, k),
        outcome=float(np.sum(filled**2)),
        chat_counts=np.stack([np.bincount(by_chat, rated[:, i], n_chats * k) for i in column], 1).reshape(
            n_chats, k, k
        ),
        chat_totals=np.bincount(by_chat, total, n_chats * k).reshape(n_chats, k),
        starts=np.cumsum(counts) - counts,
    )


def _evaluate(ratios: np.ndarray, sums: _Sums) -> tuple[float, float]:
    """Return the profiled REML deviance and the residual variance at ratios of variances in the order of ``TERMS``."""
    turn, conversation, dimension, person = ratios
    k = sums.own.shape[0]
    sizes = np.arange(1, k + 1)
    inverse = 1 / (1 + turn * sizes)
    weight = turn * inverse
    diagonal = np.einsum("psii->pi", sums.products)
    gram = -np.einsum("s,psij->pij", weight, sums.products)
    gram[:, range(k), range(k)] += diagonal
    linear = sums.totals - np.einsum("s,psi->pi", weight, sums.crossed)
    outcome = sums.outcome - float(weight @ sums.own)
    log_det = float(sums.n_by_size @ np.log(1 + turn * sizes))
    # Conversations: their column times the dimensions' columns, itself, and the outcome.
    h = np.einsum("s,csi->ci", inverse, sums.chat_counts)
    own = np.einsum("s,csi->c", inverse, sums.chat_counts)
    y = sums.chat_totals @ inverse
    pull = conversation / (1 + conversation * own)
    log_det += float(np.log1p(conversation * own).sum())
    gram -= np.add.reduceat(pull[:, None, None] * (h[:, :, None] * h[:, None, :]), sums.starts, axis=0)
    linear -= np.add.reduceat((pull * y)[:, None] * h, sums.starts, axis=0)
    outcome -= float(pull @ y**2)
    # The person: coefficients of the dimensions' columns with covariance dimension·I + person·11'.
    root = math.sqrt(dimension) * np.eye(k) + (math.sqrt(dimension + k * person) - math.sqrt(dimension)) / k
    inner = np.eye(k) + root @ gram @ root
    log_det += float(np.linalg.slogdet(inner)[1].sum())
    half = root @ np.concatenate([gram, linear[:, :, None]], axis=2)
    solved = np.linalg.solve(inner, half)
    reduced = np.einsum("pki,pkj->ij", half, solved)
    fixed = gram.sum(axis=0) - reduced[:, :k][:k]
    right = linear.sum(axis=0) - reduced[:k, k]
    rest = outcome - float(reduced[k, k])
    sign, fixed_log_det = np.linalg.slogdet(fixed)
    rss = rest - float(right @ np.linalg.solve(fixed, right)) if sign > 0 else -1.0
    if not rss > 0:
        return math.inf, math.nan
    nu = sums.n - k
    return log_det + float(fixed_log_det) + nu * (1 + math.log(2 * math.pi * rss / nu)), rss / nu


def _minimise(sums: _Sums, *, near: np.ndarray | None = None, steep: np.ndarray | None = None) -> np.ndarray:
    """Return the ratios of smallest deviance; exactly 0 at the boundary.

    Parameters
    ----------
    near
        Where to start; by default from two places.
    steep
        About how strongly the deviance bends in each ratio: the search takes steps of like effect in all.
    """
    from scipy.optimize import minimize

    scale = np.ones(len(TERMS)) if steep is None else np.sqrt(steep)
    slope = _slope(sums)

    def search(start: np.ndarray, tolerance: float) -> Any:
        return minimize(
            lambda z: _evaluate(np.maximum(z / scale, 0.0), sums)[0],
            start * scale,
            jac=lambda z: slope(z / scale) / scale,
            method="L-BFGS-B",
            bounds=[(0.0, 1e5 * one) for one in scale],
            options={"ftol": tolerance},
        )

    if near is None:
        near = min((search(start, 1e-8) for start in _STARTS), key=lambda one: float(one.fun)).x / scale
    best = search(near, 1e-13).x / scale
    return np.where(best < 1e-6, 0.0, best)


def _slope(sums: _Sums) -> Callable[[np.ndarray], np.ndarray]:
    """Return the derivatives of the deviance, by differences."""

    def value(x: np.ndarray) -> float:
        return _evaluate(np.maximum(x, 0.0), sums)[0]

    def slope(x: np.ndarray) -> np.ndarray:
        tell("state reliability")
        out = np.empty(len(x))
        for index in range(len(x)):
            h = 1e-4 * max(x[index], 1e-2)
            up, down = x.copy(), x.copy()
            up[index] += h
            down[index] = max(x[index] - h, 0.0)
            out[index] = (value(up) - value(down)) / (up[index] - down[index])
        return out

    return slope


def _bend(sums: _Sums, x: np.ndarray) -> np.ndarray:
    """Return how strongly the deviance bends in each ratio alone, at least a little."""
    slope = _slope(sums)
    bends = np.empty(len(x))
    for index in range(len(x)):
        h = 0.02 * max(x[index], 0.01)
        up = x.copy()
        up[index] += h
        bends[index] = (slope(up)[index] - slope(x)[index]) / h
    return np.maximum(bends, 1e-3 * max(1.0, float(bends.max())))
