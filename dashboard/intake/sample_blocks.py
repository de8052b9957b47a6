"""One block of the synthetic sample: 109 participants and their 672 conversations, simulated from the planted effects.

A block has random streams of its own, so the same block comes out whatever is simulated before, after or beside it.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from dashboard.intake.sample_arrays import ASSISTANT, Block
from dashboard.intake.sample_effects import Effects
from dashboard.intake.sample_messages import simulate_messages
from dashboard.intake.sample_ratings import (
    simulate_conversations,
    simulate_people,
    simulate_ratings_over_turns,
    simulate_survey,
    simulate_turns,
)


def generator(seed: int, block: int, stream: int) -> np.random.Generator:
    """Return a random stream of a block that no other block, stream or seed shares."""
    return np.random.Generator(np.random.PCG64(np.random.SeedSequence(seed, spawn_key=(block, stream))))


def simulate_block(effects: Effects, seed: int, block: int) -> Block:
    """Simulate a block of the sample.

    Parameters
    ----------
    effects
        What to plant.
    seed
        Seed of the whole sample, not negative.
    block
        Number of the block, from 0.
    """
    rng = generator(seed, block, 1)
    people = simulate_people(rng, effects)
    conversations = simulate_conversations(rng, effects, people)
    latent, overall, length = simulate_ratings_over_turns(rng, effects, people, conversations)
    turns = simulate_turns(rng, effects, people, conversations, latent, overall, length)
    survey = simulate_survey(rng, effects, people, conversations, turns)
    messages = simulate_messages(generator(seed, block, 2), effects, people, conversations, turns)
    turns = replace(turns, message=messages.message[messages.role == ASSISTANT])
    return Block(people, conversations, turns, messages, survey)
