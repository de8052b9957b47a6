"""How reliably several dimensions show the state of a turn: a mixed model over all answered ratings.

y ~ dimension + (1 | participant) + (1 | participant:dimension) + (1 | conversation) + (1 | turn). Everything is nested within
the participant, so that the restricted likelihood is a sum over participants of small matrices; turns enter through sums by
how many dimensions they carry.
"""

from __future__ import annotations

import math
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


@dataclass(frozen=True)
class _Turns:
    """What is left when turns and conversations are swept out, at ratios of their variances."""

    gram: np.ndarray  # (P, k, k): D'V⁻¹D
    linear: np.ndarray  # (P, k): D'V⁻¹y
    outcome: float  # y'V⁻¹y
    log_det: float
    inverse: np.ndarray  # (k, ): 1/(1 + turn·size)
    h: np.ndarray  # (C, k)
    own: np.ndarray  # (C, )
    y: np.ndarray  # (C, )
    pull: np.ndarray  # (C, )


def _sweep(turn: float, conversation: float, sums: _Sums) -> _Turns:
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
    own = h.sum(axis=1)
    y = sums.chat_totals @ inverse
    pull = conversation / (1 + conversation * own)
    log_det += float(np.log1p(conversation * own).sum())
    gram -= np.add.reduceat(pull[:, None, None] * (h[:, :, None] * h[:, None, :]), sums.starts, axis=0)
    linear -= np.add.reduceat((pull * y)[:, None] * h, sums.starts, axis=0)
    outcome -= float(pull @ y**2)
    return _Turns(gram, linear, outcome, log_det, inverse, h, own, y, pull)


def _evaluate(ratios: np.ndarray, sums: _Sums, swept: _Turns | None = None) -> tuple[float, float]:
    """Return the profiled REML deviance and the residual variance at ratios of variances in the order of ``TERMS``."""
    turn, conversation, dimension, person = ratios
    swept = swept or _sweep(turn, conversation, sums)
    gram, linear = swept.gram, swept.linear
    k = sums.own.shape[0]
    # The person: coefficients of the dimensions' columns with covariance dimension·I + person·11'.
    root = math.sqrt(dimension) * np.eye(k) + (math.sqrt(dimension + k * person) - math.sqrt(dimension)) / k
    inner = np.eye(k) + root @ gram @ root
    log_det = swept.log_det + float(np.linalg.slogdet(inner)[1].sum())
    half = root @ np.concatenate([gram, linear[:, :, None]], axis=2)
    solved = np.linalg.solve(inner, half)
    reduced = np.einsum("pki,pkj->ij", half, solved)
    fixed = gram.sum(axis=0) - reduced[:, :k][:k]
    right = linear.sum(axis=0) - reduced[:k, k]
    rest = swept.outcome - float(reduced[k, k])
    sign, fixed_log_det = np.linalg.slogdet(fixed)
    rss = rest - float(right @ np.linalg.solve(fixed, right)) if sign > 0 else -1.0
    if not rss > 0:
        return math.inf, math.nan
    nu = sums.n - k
    return log_det + float(fixed_log_det) + nu * (1 + math.log(2 * math.pi * rss / nu)), rss / nu


def _differentiate(ratios: np.ndarray, sums: _Sums) -> tuple[float, np.ndarray]:
    """Return the profiled REML deviance and its derivatives by the ratios.

    With A = (I + G·Ω)⁻¹ of each participant (G = D'V⁻¹D, Ω the covariance of their coefficients), u their predicted
    coefficients and b the fixed ones, the deviance changes with G by Ω·A + A'·F⁻¹·A + (b + u)(b + u)'/σ², with D'V⁻¹y
    by −2(b + u)/σ², with y'V⁻¹y by 1/σ², and with Ω by A·G − A·G·F⁻¹·G·A' − (A·e)(A·e)'/σ² where e = D'V⁻¹y − G·b.
    """
    turn, conversation, dimension, person = ratios
    swept = _sweep(turn, conversation, sums)
    deviance, residual = _evaluate(ratios, sums, swept)
    if not math.isfinite(deviance):
        return deviance, np.zeros(len(ratios))
    k = sums.own.shape[0]
    gram, linear, h, y, pull = swept.gram, swept.linear, swept.h, swept.y, swept.pull
    covariance = dimension * np.eye(k) + person
    shrink = np.linalg.inv(np.eye(k) + gram @ covariance)
    kept = shrink @ gram
    fixed = np.linalg.inv(kept.sum(axis=0))
    b = fixed @ np.einsum("pij,pj->i", shrink, linear)
    left = np.einsum("pij,pj->pi", shrink, linear - gram @ b)
    coefficients = b + left @ covariance
    by_gram = (
        covariance @ shrink
        + shrink.transpose(0, 2, 1) @ fixed @ shrink
        + coefficients[:, :, None] * coefficients[:, None, :] / residual
    )
    by_linear = -2 * coefficients / residual
    by_covariance = kept.sum(axis=0) - np.einsum("pij,pmj->im", kept @ fixed, kept) - left.T @ left / residual
    # How G, D'V⁻¹y and y'V⁻¹y of the conversations change.
    sizes, inverse = np.arange(1, k + 1), swept.inverse
    n_chats = np.diff(np.append(sums.starts, len(y)))
    of_gram, of_linear = np.repeat(by_gram, n_chats, axis=0), np.repeat(by_linear, n_chats, axis=0)
    turned = np.einsum("cij,cj->ci", of_gram, h)
    told = np.einsum("ci,ci->c", of_linear, h)
    weighed = np.einsum("ci,ci->c", turned, h) + y * told + y**2 / residual
    by_conversation = float(np.sum(swept.own / (1 + conversation * swept.own)))
    by_conversation -= float(np.sum(weighed / (1 + conversation * swept.own) ** 2))
    d_inverse = -sizes * inverse**2
    d_h = np.einsum("s,csi->ci", d_inverse, sums.chat_counts)
    d_own, d_y = d_h.sum(axis=1), sums.chat_totals @ d_inverse
    d_weighed = 2 * np.einsum("ci,ci->c", turned, d_h)
    d_weighed += d_y * told + y * np.einsum("ci,ci->c", of_linear, d_h) + 2 * y * d_y / residual
    by_turn = float(sums.n_by_size @ (sizes * inverse)) + float(pull @ d_own)
    by_turn -= float(pull @ d_weighed) - float(pull**2 @ (d_own * weighed))
    of_sizes = np.einsum("pij,psij->s", by_gram, sums.products) + np.einsum("pi,psi->s", by_linear, sums.crossed)
    by_turn -= float(inverse**2 @ (of_sizes + sums.own / residual))
    slope = [by_turn, by_conversation, float(np.trace(by_covariance)), float(by_covariance.sum())]
    return deviance, np.array(slope)


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

    def scaled(z: np.ndarray) -> tuple[float, np.ndarray]:
        tell("state reliability")
        deviance, slope = _differentiate(np.maximum(z / scale, 0.0), sums)
        return deviance, slope / scale

    def search(start: np.ndarray, tolerance: float) -> Any:
        return minimize(
            scaled,
            start * scale,
            jac=True,
            method="L-BFGS-B",
            bounds=[(0.0, 1e5 * one) for one in scale],
            options={"ftol": tolerance},
        )

    if near is None:
        near = min((search(start, 1e-8) for start in _STARTS), key=lambda one: float(one.fun)).x / scale
    best = search(near, 1e-13).x / scale
    return np.where(best < 1e-6, 0.0, best)


def _bend(sums: _Sums, x: np.ndarray) -> np.ndarray:
    """Return how strongly the deviance bends in each ratio alone, at least a little."""
    at = _differentiate(x, sums)[1]
    bends = np.empty(len(x))
    for index in range(len(x)):
        h = 0.02 * max(x[index], 0.01)
        up = x.copy()
        up[index] += h
        bends[index] = (_differentiate(up, sums)[1][index] - at[index]) / h
    return np.maximum(bends, 1e-3 * max(1.0, float(bends.max())))
