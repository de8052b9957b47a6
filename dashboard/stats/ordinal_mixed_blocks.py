"""Rows of a cumulative-logit mixed model, laid out for the likelihood.

With the logistic distribution, the probability of level k factorises: F(a) − F(b) = F(a)·F(−b)·(1 − exp(b − a)),
where a and b are the thresholds around the level minus the linear predictor and a − b is free of it. So each
row becomes one or two plain logistic terms and a constant that depends on the thresholds alone; everything the
quadrature needs then comes from sums of logistic functions, which cannot cancel or underflow.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import scipy.sparse as sparse
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Integers = NDArray[np.intp]

MAX_TERM_NODES = 600_000
"""Terms × quadrature nodes held at once; about 5 MB an array, which stays in a processor's cache."""


@dataclass(frozen=True)
class Block:
    """Rows of whole participants, sorted by participant and conversation.

    A *term* j is one factor F(±(d − v)) of a row's probability: ``d = threshold − x·beta`` and v the sum of the
    row's random effects. ``is_lower`` is 1 where the factor is F(threshold − …) and 0 where it is its complement.
    """

    design: Floats
    """(rows, p), standardised columns."""
    row_of_term: Integers
    threshold_of_term: Integers
    conversation_of_term: Integers
    is_lower: Floats
    participant_of_conversation: Integers
    sum_conversation: sparse.csr_array
    """(conversations, terms): sums terms within conversations."""
    sum_row: sparse.csr_array
    """(rows, terms)."""
    sum_participant: sparse.csr_array
    """(participants, conversations)."""
    sum_participant_rows: sparse.csr_array
    """(participants, rows)."""
    level_counts: Floats
    """(participants, levels): rows at each level."""
    n_lower: Floats
    """(conversations, 1): terms with ``is_lower``."""
    n_terms: Floats
    """(conversations, 1)."""

    @property
    def n_participants(self) -> int:
        """Participants in the block."""
        return self.sum_participant.shape[0]

    @property
    def n_conversations(self) -> int:
        """Conversations in the block."""
        return self.sum_participant.shape[1]


def indicator(groups: Integers, n_groups: int) -> sparse.csr_array:
    """Return the (n_groups, n) matrix that sums values within sorted groups 0 … n_groups − 1."""
    starts = np.searchsorted(groups, np.arange(n_groups + 1))
    n = len(groups)
    return sparse.csr_array((np.ones(n), np.arange(n), starts), shape=(n_groups, n))


def build_block(
    level: Integers, design: Floats, *, participant: Integers, conversation: Integers, n_levels: int
) -> Block:
    """Lay out rows that are sorted by participant, then conversation, with codes from 0 without gaps."""
    n_rows = len(level)
    has_lower = level < n_levels - 1
    has_upper = level > 0
    rows = np.repeat(np.arange(n_rows), has_lower.astype(int) + has_upper.astype(int))
    first_of_row = np.r_[True, rows[1:] != rows[:-1]]
    is_lower = first_of_row & has_lower[rows]
    conversation_of_term = conversation[rows]
    n_conversations = int(conversation[-1]) + 1
    n_participants = int(participant[-1]) + 1
    first_row = np.searchsorted(conversation, np.arange(n_conversations))
    participant_of_conversation = participant[first_row]
    sum_conversation = indicator(conversation_of_term, n_conversations)
    counts = np.bincount(participant * n_levels + level, minlength=n_participants * n_levels)
    return Block(
        design=np.ascontiguousarray(design),
        row_of_term=rows,
        threshold_of_term=np.where(is_lower, level[rows], level[rows] - 1),
        conversation_of_term=conversation_of_term,
        is_lower=is_lower.astype(float),
        participant_of_conversation=participant_of_conversation,
        sum_conversation=sum_conversation,
        sum_row=indicator(rows, n_rows),
        sum_participant=indicator(participant_of_conversation, n_participants),
        sum_participant_rows=indicator(participant, n_participants),
        level_counts=counts.reshape(n_participants, n_levels).astype(float),
        n_lower=(sum_conversation @ is_lower.astype(float))[:, None],
        n_terms=(sum_conversation @ np.ones(len(rows)))[:, None],
    )


def build_blocks(
    level: Integers,
    design: Floats,
    *,
    participant: Integers,
    conversation: Integers,
    n_levels: int,
    n_nodes: int,
) -> list[Block]:
    """Cut sorted rows into blocks of whole participants that fit the cache.

    Parameters
    ----------
    level
        (n,) codes 0 … n_levels − 1.
    design
        (n, p) fixed columns without an intercept.
    participant, conversation
        (n,) sorted codes from 0 without gaps, conversations nested within participants.
    n_levels
        Number of observed levels.
    n_nodes
        Quadrature nodes per conversation.
    """
    ends = np.r_[np.flatnonzero(np.diff(participant)) + 1, len(level)]
    rows_per_block = max(1, MAX_TERM_NODES // (2 * n_nodes))
    # A participant belongs to the block in which its last row falls.
    block_of_participant = (ends - 1) // rows_per_block
    last_of_block = np.r_[np.flatnonzero(np.diff(block_of_participant)), len(ends) - 1]
    cuts = np.r_[0, ends[last_of_block]]
    return [
        build_block(
            level[start:stop],
            design[start:stop],
            participant=participant[start:stop] - participant[start],
            conversation=conversation[start:stop] - conversation[start],
            n_levels=n_levels,
        )
        for start, stop in pairwise(cuts)
    ]
