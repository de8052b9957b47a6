"""Arrays that hold a block of the synthetic sample between simulation and tables, and the codes in them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dashboard.intake.sample_effects import DIMENSION_NAMES

Integers = NDArray[np.integer]
Floats = NDArray[np.floating]
Flags = NDArray[np.bool_]

MISSING = 0
NOT_APPLICABLE = 9
OUTCOMES = ("overall", *DIMENSION_NAMES, "turn_mean")
GENDERS = ("Man", "Non-binary", "Woman", None)
USER, ASSISTANT, ERROR = 0, 1, 2
# A turn mean is a sum over a count of 1–5 ratings: one small number for each such pair, 0 for none.
MEAN_OFFSETS = np.concatenate([[0], 1 + np.cumsum([0] + [4 * n + 1 for n in range(1, len(DIMENSION_NAMES))])])


@dataclass(frozen=True)
class People:
    """The participants of a block: what is in the data, then what is only in the simulation."""

    age: Integers
    gender: Integers
    trait_empathy: Floats
    trait_openness: Floats
    style: Integers
    level: Floats
    slope: Floats
    desired: Floats
    applicable: Floats
    pace: Floats


@dataclass(frozen=True)
class Conversations:
    """The conversations of a block, grouped by participant, in the order in which they were held.

    `planned` is the length in turns before early endings; `onset` the turn of the planted breakdown, or
    a turn after the end.
    """

    participant: Integers
    task: Integers
    model: Integers
    importance: Integers
    desired: Integers
    effect: Floats
    planned: Integers
    onset: Integers


@dataclass(frozen=True)
class Turns:
    """The assistant turns of a block: conversation (position in the block, from 0), turn from 1, and ratings.

    `scores` has one row per outcome of `OUTCOMES`, in codes: a rating, `MISSING`, `NOT_APPLICABLE`; the last
    row holds the codes of `mean_values`. `latent` is the rating before rounding and style.
    """

    conversation: Integers
    turn: Integers
    length: Integers
    message: Integers
    scores: NDArray[np.int8]
    latent: Floats


@dataclass(frozen=True)
class Messages:
    """The messages of a block. `pick` (mood, mood sentence, count − 1, start) says which sentences each one has."""

    conversation: Integers
    message: Integers
    exchange: Integers
    turn: Integers
    role: Integers
    retry: Flags
    seconds: Floats
    pick: tuple[Integers, Integers, Integers, Integers]
    literal: dict[int, int]
    comment: Integers


@dataclass(frozen=True)
class Block:
    """One block. `survey` is conversations × (4 satisfaction, 7 experienced) in the codes of `Turns.scores`."""

    people: People
    conversations: Conversations
    turns: Turns
    messages: Messages
    survey: NDArray[np.int8]


def mean_values() -> Floats:
    """Return the turn mean that each code of the last row of `Turns.scores` stands for; NaN for none."""
    values = [np.nan]
    for count in range(1, len(DIMENSION_NAMES) + 1):
        values += [total / count for total in range(count, 5 * count + 1)]
    return np.array(values)
