"""Gradient and information of the nested adaptive quadrature of a cumulative-logit mixed model.

The derivatives are those of the quadrature sum itself, moving nodes included: modes and curvatures are
differentiated implicitly and the chain is accumulated backwards, so that the optimum found is the optimum of the
adaptive likelihood, and Laplace's is exact too. In the code the adjoint of x (the derivative of the
log-likelihood in x) is called ``x_bar``.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from dashboard.stats.ordinal_mixed_blocks import Block, Floats
from dashboard.stats.ordinal_mixed_quadrature import (
    Expansion,
    Modes,
    Nodes,
    Parameters,
    curves,
    expand,
    joint_modes,
    offsets_without_effects,
)


@dataclass(frozen=True)
class _Adjoints:
    """Derivatives of each participant's log-likelihood, gathered on the way back."""

    d: Floats
    """(terms,)"""
    sd_participant: Floats
    """(participants,)"""
    sd_conversation: Floats
    """(conversations,)"""
    u: Floats
    """(participants, Q)"""


def _spread(block: Block, values: Floats) -> Floats:
    return np.take(values, block.conversation_of_term, axis=0)


def _weigh(left: Floats, right: Floats) -> Floats:
    return np.einsum("jq,jq->j", left, right)


def _back_through_nodes(block: Block, parameters: Parameters, *, x: Expansion, inner: Nodes) -> _Adjoints:
    """From the sums over nodes to the participant's nodes u and the parameters, conversations' modes included."""
    su, sb = parameters.sd_participant, parameters.sd_conversation
    share = x.outer_weight[block.participant_of_conversation]
    weight = share[:, :, None] * x.inner_weight
    d_bar = block.is_lower - _weigh(x.probability, _spread(block, weight.reshape(len(weight), -1)))
    pull = weight * x.first
    v_bar = pull.sum(axis=2)
    sd_bar = np.zeros(block.n_conversations)
    if x.at_middle is not None:
        mid = x.at_middle
        b_bar = weight * (sb * x.first - x.b)
        D_bar = -0.5 * (share + (b_bar @ inner.at) / np.sqrt(x.D)) / x.D
        middle_bar = b_bar.sum(axis=2) - D_bar * sb**3 * mid.third
        first_bar, second_bar = middle_bar * sb / x.D, -D_bar * sb * sb
        through = first_bar * mid.second + second_bar * mid.third
        v_bar = v_bar + through
        explicit = middle_bar * mid.first / x.D - 2 * sb * D_bar * mid.second
        sd_bar = np.einsum("cqr,cqr->c", pull, x.b) + (explicit + through * x.b_middle).sum(axis=1)
        d_bar += _weigh(_spread(block, first_bar), mid.weight)
        d_bar -= _weigh(_spread(block, second_bar), mid.weight_slope)
    v_bar = block.sum_participant @ v_bar
    return _Adjoints(d_bar, (v_bar * x.u).sum(axis=1), sd_bar, su * v_bar - x.outer_weight * x.u)


def _back_through_joint_modes(
    block: Block, parameters: Parameters, *, x: Expansion, outer: Nodes, adjoints: _Adjoints
) -> tuple[Floats, Floats, Floats]:
    """From the participant's nodes through joint mode and curvature; return d, sd_participant, sd_conversation."""
    su, sb = parameters.sd_participant, parameters.sd_conversation
    person, add, mode = block.participant_of_conversation, block.sum_participant, x.at_mode
    S_bar = -0.5 * (1.0 + (adjoints.u @ outer.at)[:, None] / np.sqrt(x.S)) / x.S
    second_bar = -su * su * S_bar[person] / x.D_mode**2
    # The modes solve gradient = 0, so their adjoints are the solution of a system in the (negative) Hessian.
    right_u = adjoints.u.sum(axis=1, keepdims=True) + add @ (second_bar * mode.third) * su
    right_b = second_bar * mode.third * sb
    cross = -su * sb * mode.second
    solved_u = (right_u - add @ (cross * right_b / x.D_mode)) / x.S
    solved_b = (right_b - cross * solved_u[person]) / x.D_mode
    first_bar = su * solved_u[person] + sb * solved_b
    through = first_bar * mode.second + second_bar * mode.third
    d_bar = adjoints.d + _weigh(_spread(block, first_bar), mode.weight)
    d_bar -= _weigh(_spread(block, second_bar), mode.weight_slope)
    shares = add @ (mode.second / x.D_mode)
    su_bar = solved_u * (add @ mode.first) + x.u_mode * (add @ through) - 2 * su * S_bar * shares
    explicit = -2 * sb * su * su * S_bar[person] * (mode.second / x.D_mode) ** 2
    sb_bar = solved_b * mode.first + through * x.b_mode + explicit
    return d_bar, adjoints.sd_participant + su_bar[:, 0], adjoints.sd_conversation + sb_bar[:, 0]


def scores(block: Block, parameters: Parameters, *, x: Expansion, outer: Nodes, inner: Nodes) -> Floats:
    """Return the gradient of each participant's log-likelihood: (participants, thresholds + p + 2)."""
    adjoints = _back_through_nodes(block, parameters, x=x, inner=inner)
    d_bar, su_bar, sb_bar = _back_through_joint_modes(block, parameters, x=x, outer=outer, adjoints=adjoints)
    n_thresholds = len(parameters.thresholds)
    person = block.participant_of_conversation[block.conversation_of_term]
    cell = person * n_thresholds + block.threshold_of_term
    by_threshold = np.bincount(cell, weights=d_bar, minlength=block.n_participants * n_thresholds)
    by_row = block.sum_row @ d_bar
    return np.column_stack(
        [
            by_threshold.reshape(-1, n_thresholds) + x.threshold_slopes,
            -(block.sum_participant_rows @ (block.design * by_row[:, None])),
            su_bar,
            block.sum_participant @ sb_bar,
        ]
    )


def profile_information(block: Block, parameters: Parameters, *, modes: Modes) -> Floats:
    """Return the information of thresholds and fixed effects at the joint modes, (thresholds + p) squared.

    It is the Laplace approximation without the terms from moving curvatures: close enough to the observed
    information to serve as the optimiser's metric, and exact where both standard deviations are zero.
    """
    su, sb = parameters.sd_participant, parameters.sd_conversation
    d = offsets_without_effects(block, parameters)
    u, b = joint_modes(block, d, parameters, start=modes)
    at = curves(block, d, su * u[block.participant_of_conversation] + sb * b)
    D = 1.0 - sb * sb * at.second
    S = 1.0 - su * su * (block.sum_participant @ (at.second / D))
    jacobian = np.zeros((len(d), len(parameters.thresholds) + len(parameters.fixed)))
    jacobian[np.arange(len(d)), block.threshold_of_term] = 1.0
    jacobian[:, len(parameters.thresholds) :] = -block.design[block.row_of_term]
    weighted = at.weight * jacobian
    by_conversation = block.sum_conversation @ weighted
    by_participant = block.sum_participant @ (by_conversation / D)
    information = jacobian.T @ weighted
    information -= (by_conversation * (sb * sb / D)).T @ by_conversation
    information -= (by_participant * (su * su / S)).T @ by_participant
    gaps = np.diff(parameters.thresholds)
    for k, gap in enumerate(gaps):
        curvature = block.level_counts[:, k + 1].sum() / (4 * np.sinh(0.5 * gap) ** 2)
        information[k : k + 2, k : k + 2] += curvature * np.array([[1.0, -1.0], [-1.0, 1.0]])
    return information


class CumulativeLogitLikelihood:
    """The likelihood of all blocks; remembers the modes, so that the next evaluation starts at them.

    Parameters
    ----------
    blocks
        From `build_blocks`.
    n_outer, n_inner
        Quadrature points per participant and per conversation; 1 is Laplace. ``n_inner`` is 1 where the model
        has no conversation intercept.
    """

    def __init__(self, blocks: list[Block], *, n_outer: int, n_inner: int) -> None:
        self.blocks = blocks
        self.outer, self.inner = Nodes.of(n_outer), Nodes.of(n_inner)
        self.modes = [Modes.at_zero(block, n_outer) for block in blocks]

    def evaluate(self, parameters: Parameters) -> tuple[Floats, Floats] | None:
        """Return log-likelihoods (participants,) and scores (participants, parameters); None if out of range."""
        values, gradients = [], []
        for block, modes in zip(self.blocks, self.modes, strict=True):
            x = expand(block, parameters, outer=self.outer, inner=self.inner, modes=modes)
            if x is None:
                return None
            values.append(x.log_likelihood)
            gradients.append(scores(block, parameters, x=x, outer=self.outer, inner=self.inner))
        return np.concatenate(values), np.concatenate(gradients)

    def log_likelihood(self, parameters: Parameters) -> float:
        """Return the log-likelihood alone; NaN if out of range."""
        pairs = zip(self.blocks, self.modes, strict=True)
        parts = [expand(b, parameters, outer=self.outer, inner=self.inner, modes=m) for b, m in pairs]
        return sum(np.nan if x is None else float(x.log_likelihood.sum()) for x in parts)

    def information(self, parameters: Parameters) -> Floats:
        """Return `profile_information` summed over blocks."""
        pairs = zip(self.blocks, self.modes, strict=True)
        parts = [profile_information(block, parameters, modes=modes) for block, modes in pairs]
        return np.sum(parts, axis=0)
