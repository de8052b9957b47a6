"""The likelihood of a cumulative-logit model with random intercepts, by nested adaptive Gauss–Hermite quadrature.

P(level ≤ k) = logistic(threshold_k − x·beta − sd_participant·u − sd_conversation·b), u and b standard normal.
The participant's nodes are centred at the joint mode and scaled by the curvature of the profile over the
conversations' effects; at each of them, every conversation has its own nodes, centred and scaled at its own mode.
One node each is the Laplace approximation. A model with the participant only is the same with
sd_conversation = 0 and one conversation per participant.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from dashboard.stats.ordinal_mixed_blocks import Block, Floats

MODE_TOLERANCE = 1e-6
"""Newton steps on modes stop below this; convergence is quadratic, so the error left is about its square."""
MAX_MODE_STEPS = 400
SMALL_MODE_STEP = 1e-2
"""Newton steps below this are inside the region of quadratic convergence and are never replaced."""
HALF_LOG_2_PI = 0.5 * np.log(2 * np.pi)
LARGEST_PREDICTOR = 500.0
"""exp() of more than 709 overflows; no finite estimate is near."""


@dataclass(frozen=True)
class Parameters:
    """Thresholds (levels − 1), fixed effects (p), and the standard deviations of the two intercepts."""

    thresholds: Floats
    fixed: Floats
    sd_participant: float
    sd_conversation: float


@dataclass(frozen=True)
class Nodes:
    """Gauss–Hermite nodes times √2, and log weight + node²/2 (so that sums over exp(f(node)) integrate exp f)."""

    at: Floats
    log_weight: Floats

    @classmethod
    def of(cls, n: int) -> Nodes:
        """Return n nodes for integrals over the real line of exp(f), f near −x²/2."""
        x, w = np.polynomial.hermite.hermgauss(n)
        return cls(np.sqrt(2) * x, np.log(w) + x**2 + 0.5 * np.log(2.0))


@dataclass
class Modes:
    """Where the last evaluation found the modes: the next one's starting values."""

    participant: Floats
    conversation: Floats
    conversation_at_nodes: Floats

    @classmethod
    def at_zero(cls, block: Block, n_nodes: int) -> Modes:
        """Return zeros of the right shapes."""
        return cls(
            np.zeros((block.n_participants, 1)),
            np.zeros((block.n_conversations, 1)),
            np.zeros((block.n_conversations, n_nodes)),
        )


@dataclass(frozen=True)
class Curves:
    """Derivatives of each conversation's log-likelihood in its offset v, and what they are sums of."""

    weight: Floats
    """(terms, m): F·(1 − F)."""
    weight_slope: Floats
    """(terms, m): F·(1 − F)·(1 − 2F)."""
    first: Floats
    """(conversations, m)."""
    second: Floats
    third: Floats


def offsets_without_effects(block: Block, parameters: Parameters) -> Floats:
    """Return d = threshold − x·beta of each term, (terms, 1)."""
    eta = block.design @ parameters.fixed
    return (parameters.thresholds[block.threshold_of_term] - eta[block.row_of_term])[:, None]


def _probabilities(block: Block, d: Floats, v: Floats) -> Floats:
    z = np.take(v, block.conversation_of_term, axis=0)
    np.subtract(z, d, out=z)
    # A trial mode may be far out: 1/(1 + inf) is the right answer there.
    with np.errstate(over="ignore"):
        np.exp(z, out=z)
    z += 1.0
    return np.reciprocal(z, out=z)


def _first_two(block: Block, d: Floats, v: Floats) -> tuple[Floats, Floats]:
    p = _probabilities(block, d, v)
    first = block.sum_conversation @ p - block.n_lower
    p *= 1.0 - p
    return first, -(block.sum_conversation @ p)


def curves(block: Block, d: Floats, v: Floats) -> Curves:
    """Return the derivatives at offsets v (conversations, m)."""
    p = _probabilities(block, d, v)
    weight = p * (1.0 - p)
    slope = weight * (1.0 - 2.0 * p)
    add = block.sum_conversation
    return Curves(weight, slope, add @ p - block.n_lower, -(add @ weight), add @ slope)


def _safe_newton_step(x: Floats, step: Floats, bounds: tuple[Floats, Floats], *, halve: bool) -> Floats:
    """Return x + step, or the middle of the bracket where that leaves it; the bracket is tightened in place.

    ``halve`` takes the middle wherever the step is not small, which ends cycles within the bracket.
    """
    low, high = bounds
    np.copyto(low, x, where=step > 0)
    np.copyto(high, x, where=step < 0)
    moved = x + step
    leaves = (moved <= low) | (moved >= high) | halve
    return np.where(leaves & (np.abs(step) > SMALL_MODE_STEP), 0.5 * (low + high), moved)


def conversation_modes(block: Block, d: Floats, offset: Floats, *, sd: float, start: Floats) -> Floats:
    """Return argmax over b of the conversation's log-likelihood at offset + sd·b, minus b²/2; (conversations, m).

    The target is strictly concave and its maximiser lies within ±sd·(number of terms), so Newton steps that
    leave the bracket are replaced by bisection and the search cannot fail.
    """
    if sd == 0:
        return np.zeros_like(offset)
    limit = np.broadcast_to(np.abs(sd) * block.n_terms, offset.shape)
    bounds = (-limit, limit.copy())
    b = np.clip(start, -limit, limit)
    for count in range(1, MAX_MODE_STEPS + 1):
        first, second = _first_two(block, d, offset + sd * b)
        step = (sd * first - b) / (1.0 - sd * sd * second)
        b = _safe_newton_step(b, step, bounds, halve=count % 8 == 0)
        if np.abs(step).max() < MODE_TOLERANCE:
            break
    return b


def joint_modes(block: Block, d: Floats, parameters: Parameters, *, start: Modes) -> tuple[Floats, Floats]:
    """Return the joint modes u (participants, 1) and b (conversations, 1)."""
    su, sb = parameters.sd_participant, parameters.sd_conversation
    of_conversation = block.participant_of_conversation
    limit = np.abs(su) * (block.sum_participant @ block.n_terms)
    bounds = (-limit, limit.copy())
    u, b = np.clip(start.participant, -limit, limit), start.conversation
    for count in range(1, MAX_MODE_STEPS + 1):
        offset = su * u[of_conversation]
        b = conversation_modes(block, d, offset, sd=sb, start=b)
        first, second = _first_two(block, d, offset + sb * b)
        curvature = 1.0 - su * su * (block.sum_participant @ (second / (1.0 - sb * sb * second)))
        step = (su * (block.sum_participant @ first) - u) / curvature
        u = _safe_newton_step(u, step, bounds, halve=count % 8 == 0)
        if np.abs(step).max() < MODE_TOLERANCE:
            break
    return u, conversation_modes(block, d, su * u[of_conversation], sd=sb, start=b)


def _log_sum_exp(values: Floats) -> tuple[Floats, Floats]:
    """Return log Σ exp over the last axis, and the softmax weights."""
    peak = values.max(axis=-1, keepdims=True)
    weights = np.exp(values - peak)
    total = weights.sum(axis=-1, keepdims=True)
    return (peak + np.log(total))[..., 0], weights / total


def _interval_terms(block: Block, thresholds: Floats) -> tuple[Floats, Floats]:
    """Return Σ log(1 − exp(−gap)) per participant, and its derivative in each threshold."""
    inner = block.level_counts[:, 1:-1]
    gaps = np.diff(thresholds)
    pull = inner / np.expm1(gaps)
    slopes = np.zeros((len(inner), len(thresholds)))
    slopes[:, 1:] += pull
    slopes[:, :-1] -= pull
    return inner @ np.log(-np.expm1(-gaps)), slopes


def _log_likelihood_at(block: Block, d: Floats, v: Floats) -> tuple[Floats, Floats]:
    """Return each conversation's log-likelihood at offsets v (conversations, m) and F of each term (terms, m)."""
    growth = np.take(v, block.conversation_of_term, axis=0)
    np.subtract(d, growth, out=growth)
    np.exp(growth, out=growth)
    whole = growth + 1.0
    np.divide(growth, whole, out=growth)
    np.log(whole, out=whole)
    linear = block.sum_conversation @ (block.is_lower[:, None] * d)
    return linear - block.n_lower * v - block.sum_conversation @ whole, growth


@dataclass(frozen=True)
class Expansion:
    """The quadrature of one block, with everything its derivatives need. C conversations, G participants."""

    log_likelihood: Floats
    """(G,)"""
    d: Floats
    u_mode: Floats
    """(G, 1), and (C, 1) below: joint modes."""
    b_mode: Floats
    at_mode: Curves
    D_mode: Floats
    """(C, 1) curvature in b at the joint mode; S: (G, 1) that in u of the profile over b."""
    S: Floats
    u: Floats
    """(G, Q) the participant's nodes."""
    b_middle: Floats
    """(C, Q) the conversation's mode at each of them, with curvature D; b: (C, Q, R) its nodes."""
    at_middle: Curves | None
    D: Floats
    b: Floats
    first: Floats
    """(C, Q, R) derivative of the conversation's log-likelihood in its offset, at the nodes."""
    probability: Floats
    """(terms, Q·R) F of each term at the nodes."""
    outer_weight: Floats
    """(G, Q) and (C, Q, R): each node's share of the integral."""
    inner_weight: Floats
    threshold_slopes: Floats


def expand(block: Block, parameters: Parameters, *, outer: Nodes, inner: Nodes, modes: Modes) -> Expansion | None:
    """Place the nodes and sum over them; None where a predictor is beyond what exp() can hold."""
    su, sb = parameters.sd_participant, parameters.sd_conversation
    person = block.participant_of_conversation
    d = offsets_without_effects(block, parameters)
    if not np.all(np.abs(d) < LARGEST_PREDICTOR / 2) or not np.all(np.diff(parameters.thresholds) > 1e-12):
        return None
    u_mode, b_mode = joint_modes(block, d, parameters, start=modes)
    at_mode = curves(block, d, su * u_mode[person] + sb * b_mode)
    D_mode = 1.0 - sb * sb * at_mode.second
    S = 1.0 - su * su * (block.sum_participant @ (at_mode.second / D_mode))
    u = u_mode + outer.at / np.sqrt(S)
    offset = su * u[person]
    b_middle = conversation_modes(block, d, offset, sd=sb, start=modes.conversation_at_nodes)
    at_middle = curves(block, d, offset + sb * b_middle) if sb != 0 else None
    D = 1.0 - sb * sb * at_middle.second if at_middle is not None else np.ones_like(offset)
    b = b_middle[:, :, None] + inner.at / np.sqrt(D)[:, :, None]
    v = offset[:, :, None] + sb * b
    if not np.abs(v).max() < LARGEST_PREDICTOR / 2:
        return None
    modes.participant, modes.conversation, modes.conversation_at_nodes = u_mode, b_mode, b_middle
    fit, probability = _log_likelihood_at(block, d, v.reshape(len(v), -1))
    log_inner = fit.reshape(v.shape) + inner.log_weight - 0.5 * b**2 - 0.5 * np.log(D)[:, :, None]
    log_conversation, inner_weight = _log_sum_exp(log_inner - HALF_LOG_2_PI)
    log_outer = block.sum_participant @ log_conversation + outer.log_weight - 0.5 * u**2 - 0.5 * np.log(S)
    log_participant, outer_weight = _log_sum_exp(log_outer - HALF_LOG_2_PI)
    interval_fit, threshold_slopes = _interval_terms(block, parameters.thresholds)
    return Expansion(
        log_likelihood=log_participant + interval_fit,
        d=d,
        u_mode=u_mode,
        b_mode=b_mode,
        at_mode=at_mode,
        D_mode=D_mode,
        S=S,
        u=u,
        b_middle=b_middle,
        at_middle=at_middle,
        D=D,
        b=b,
        first=(block.sum_conversation @ probability - block.n_lower).reshape(v.shape),
        probability=probability,
        outer_weight=outer_weight,
        inner_weight=inner_weight,
        threshold_slopes=threshold_slopes,
    )
