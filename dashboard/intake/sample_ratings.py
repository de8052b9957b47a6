"""Simulates the participants, conversations, turn ratings and survey of a block of the synthetic sample."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from dashboard.intake.sample_arrays import (
    MEAN_OFFSETS,
    MISSING,
    NOT_APPLICABLE,
    Conversations,
    Flags,
    Floats,
    Integers,
    People,
    Turns,
)
from dashboard.intake.sample_effects import Effects, probit

# An onset this late lies beyond the end of every conversation.
MOST_AFTER = 31


def simulate_people(rng: np.random.Generator, e: Effects) -> People:
    """Return the participants of a block: covariates, and what makes their ratings theirs."""
    n = e.participants
    z = rng.standard_normal((6, n))
    style = rng.permutation(np.repeat(np.arange(len(e.styles)), [style.count for style in e.styles]))

    def trait(centre: float, spread: float, correlation: float, noise: Floats) -> Floats:
        value = centre + spread * (correlation * z[0] + np.sqrt(1 - correlation**2) * noise)
        value = np.rint(np.clip(value, 1, 7) * 10) / 10
        return np.where(rng.random(n) < e.blank_covariates, np.nan, value)

    return People(
        age=np.minimum(18 + rng.gamma(2.0, 8.5, n).astype(np.int16), 79),
        gender=_draw(rng, (0.46, 0.05, 0.46, 0.03), n),
        trait_empathy=trait(4.6, 1.0, e.empathy_trait_correlation, z[1]),
        trait_openness=trait(4.2, 1.1, e.openness_trait_correlation, z[2]),
        style=style,
        level=np.sqrt(e.participant_variance) * z[0],
        slope=e.slope + e.slope_std_dev * z[3],
        desired=e.desired_participant_std_dev * z[4],
        applicable=e.applicable_participant_std_dev * z[5],
        pace=np.exp(0.25 * rng.standard_normal(n)),
    )


def _draw(rng: np.random.Generator, shares: tuple[float, ...], n: int) -> Integers:
    """Draw categories with given probabilities."""
    edges = np.cumsum(shares)[:-1]
    return np.searchsorted(edges, rng.random(n), side="right")


def simulate_conversations(rng: np.random.Generator, e: Effects, people: People) -> Conversations:
    """Return the conversations of a block: who, task, model, survey before the task, planned length and breakdown."""
    n = e.conversations
    weights = rng.dirichlet(np.full(e.participants, e.conversation_spread))
    counts = 1 + rng.multinomial(n - e.participants, weights)
    participant = np.repeat(np.arange(e.participants), counts)
    task = _draw(rng, tuple(item.popularity for item in e.tasks), n)
    model = _draw(rng, tuple(item.popularity for item in e.models), n)
    wish = np.array([item.desired for item in e.tasks])[task] + people.desired[participant] + rng.standard_normal(n)
    desired = 1 + np.searchsorted(e.desired_thresholds, wish)
    rest = np.sqrt(1 - e.importance_desired**2) * rng.standard_normal(n)
    importance = 1 + np.searchsorted(e.importance_thresholds, e.importance_desired * wish + rest)
    effect = (
        np.array([item.rating for item in e.tasks])[task]
        + np.array([item.rating for item in e.models])[model]
        + np.array(e.desired_rating)[desired - 1]
        + np.sqrt(e.conversation_variance) * rng.standard_normal(n)
    )
    hazard = np.array([item.hazard for item in e.models])[model]
    blank = rng.random((2, n)) < e.blank_survey_items
    return Conversations(
        participant=participant,
        task=task,
        model=model,
        importance=np.where(blank[0], MISSING, importance),
        desired=np.where(blank[1], MISSING, desired),
        effect=effect,
        planned=np.minimum(1 + rng.gamma(e.length_shape, e.length_scale, n).astype(np.int64), e.longest),
        onset=np.ceil(np.log1p(-rng.random(n)) / np.log1p(-hazard)).clip(1, MOST_AFTER).astype(np.int64),
    )


def _dip(e: Effects) -> Floats:
    """Return what a breakdown takes from the latent rating, by turns since its onset (index 0 = onset)."""
    after = np.arange(MOST_AFTER)
    later = e.dip_lasting + (e.dip_after - e.dip_lasting) * e.dip_decay ** (after - 1.0)
    return np.where(after == 0, e.dip, later)


def simulate_ratings_over_turns(
    rng: np.random.Generator, e: Effects, people: People, c: Conversations
) -> tuple[Floats, Integers, Integers]:
    """Return latent ratings and overall ratings (conversations × longest) and the length of each conversation."""
    n, turns = e.conversations, np.arange(1, e.longest + 1)
    noise = rng.standard_normal((e.longest, n))
    # first-order autoregression within conversations, stationary from the first turn
    for step in range(1, e.longest):
        noise[step] *= np.sqrt(1 - e.turn_autocorrelation**2)
        noise[step] += e.turn_autocorrelation * noise[step - 1]
    latent = np.sqrt(e.turn_variance) * noise.T
    latent += (e.mean + people.level[c.participant] + c.effect)[:, None]
    latent += people.slope[c.participant][:, None] * (turns - e.slope_centre)
    since = turns - c.onset[:, None]
    latent -= np.where(since >= 0, _dip(e)[np.maximum(since, 0)], 0.0)
    overall = _on_the_scale(e, latent, people.style[c.participant][:, None])
    ends = (overall <= 2) & (rng.random((n, e.longest)) < e.ends_after_low)
    length = np.minimum(c.planned, np.where(ends.any(axis=1), ends.argmax(axis=1) + 1, e.longest))
    return latent, overall, length


def _on_the_scale(e: Effects, latent: Floats, style: Integers) -> NDArray[np.int8]:
    """Return the whole rating that a person of a style gives to a latent one."""
    stretch = np.array([item.stretch for item in e.styles])[style]
    lowest = np.array([item.lowest for item in e.styles])[style]
    highest = np.array([item.highest for item in e.styles])[style]
    return np.clip(np.rint(3 + stretch * (latent - 3)), lowest, highest).astype(np.int8)


def simulate_turns(
    rng: np.random.Generator,
    e: Effects,
    people: People,
    c: Conversations,
    latent_grid: Floats,
    overall_grid: Integers,
    length: Integers,
) -> Turns:
    """Return the turns that were held, with codes of their ratings; `message` is left empty.

    Parameters
    ----------
    rng, e, people, c
        Random stream, effects, participants and conversations.
    latent_grid, overall_grid, length
        What `simulate_ratings_over_turns` returned.
    """
    held = np.arange(e.longest) < length[:, None]
    conversation, turn = np.nonzero(held)
    latent, overall = latent_grid[held], overall_grid[held]
    person = c.participant[conversation]
    dimensions = _dimensions(rng, e, people.style[person], latent, overall)
    dimensions[~_applies(rng, e, people, c, conversation, turn + 1)] = NOT_APPLICABLE
    scores = np.concatenate([overall[None], dimensions])
    n = len(turn)
    unrated = (rng.random(e.conversations) < e.unrated_conversations)[conversation]
    unrated |= rng.random(n) < e.unrated_turns
    scores[rng.random(scores.shape, dtype=np.float32) < e.blank_ratings] = MISSING
    scores[:, unrated] = MISSING
    scores = np.concatenate([scores, _mean_codes(scores[1:])[None]])
    return Turns(conversation, turn + 1, length, np.empty(0, np.int64), scores, latent)


def _dimensions(
    rng: np.random.Generator, e: Effects, style: Integers, latent: Floats, overall: Integers
) -> NDArray[np.int8]:
    n = len(latent)
    shift = np.array([item.shift for item in e.dimensions], np.float32)[:, None]
    deviation = np.array([item.deviation for item in e.dimensions], np.float32)[:, None]
    noise = rng.standard_normal((len(e.dimensions), n), dtype=np.float32)
    ratings = _on_the_scale(e, latent.astype(np.float32) + shift + deviation * noise, style)
    straight = rng.random(n) < np.array([item.straight for item in e.styles])[style]
    ratings[:, straight] = overall[straight]
    return ratings


def _applies(
    rng: np.random.Generator, e: Effects, people: People, c: Conversations, conversation: Integers, turn: Integers
) -> Flags:
    """Return which dimensions apply to which turns (dimensions × turns): a probit model."""
    shares = np.array([item.popularity for item in e.tasks])
    noise = rng.standard_normal((len(e.dimensions), len(turn)), dtype=np.float32)
    person = people.applicable[c.participant[conversation]].astype(np.float32)
    applies = np.empty(noise.shape, np.bool_)
    for row, dimension in enumerate(e.dimensions):
        by_task = np.array([getattr(task, dimension.name, 0.0) for task in e.tasks])
        by_task = by_task - shares @ by_task
        spread = np.sqrt(1 + e.applicable_participant_std_dev**2 + shares @ by_task**2)
        limit = (probit(dimension.applicable) * spread + by_task)[c.task[conversation]] + person
        if dimension.name == "relational":
            limit = limit + e.relational_turn * (turn - e.slope_centre - 1.5)
        applies[row] = noise[row] < limit
    return applies


def _mean_codes(dimensions: NDArray[np.int8]) -> NDArray[np.int8]:
    rated = (dimensions != MISSING) & (dimensions != NOT_APPLICABLE)
    count = rated.sum(axis=0)
    total = np.where(rated, dimensions, 0).sum(axis=0, dtype=np.int64)
    return np.where(count > 0, MEAN_OFFSETS[count] + total - count, 0).astype(np.int8)


def simulate_survey(
    rng: np.random.Generator, e: Effects, people: People, c: Conversations, turns: Turns
) -> NDArray[np.int8]:
    """Return the answers after the task in codes: conversations × (4 satisfaction, 7 experienced empathy)."""
    n, style = e.conversations, people.style[c.participant]
    quality = np.bincount(turns.conversation, turns.latent, n) / turns.length
    broken = c.onset <= turns.length
    experienced = e.experienced_mean + e.experienced_quality * (quality - e.mean) - e.dip_experienced * broken
    experienced += e.experienced_std_dev * rng.standard_normal(n)
    satisfied = e.satisfaction_mean + e.satisfaction_experienced * (experienced - e.experienced_mean)
    satisfied += e.satisfaction_std_dev * rng.standard_normal(n)
    items = np.repeat([satisfied, experienced], [4, len(e.dimensions)], axis=0)
    items[:4] += e.satisfaction_item_std_dev * rng.standard_normal((4, n))
    items[4:] += e.experienced_item_std_dev * rng.standard_normal((len(e.dimensions), n))
    items[-1] += e.experienced_shift_relational
    answers = _on_the_scale(e, items, style)
    straight = rng.random(n) < np.array([item.straight for item in e.styles])[style]
    answers[4:, straight] = answers[4, straight]
    answers[-1, rng.random(n) < e.relational_survey_not_applicable] = NOT_APPLICABLE
    answers[rng.random(answers.shape) < e.blank_survey_items] = MISSING
    answers[:, rng.random(n) < e.unrated_conversations] = MISSING
    return answers.T
