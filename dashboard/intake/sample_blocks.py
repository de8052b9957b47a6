"""One block of the synthetic sample: 109 participants and their 672 conversations, simulated from the planted effects.

A block has random streams of its own, so the same block comes out whatever is simulated before, after or beside it.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from dashboard.intake.sample_effects import DIMENSION_NAMES, Effects, probit
from dashboard.intake.sample_text import ERROR_TEXT, LITERALS, MARK, sentences

Integers = NDArray[np.integer]
Floats = NDArray[np.floating]
Flags = NDArray[np.bool_]

MISSING = 0
NOT_APPLICABLE = 9
OUTCOMES = ("overall", *DIMENSION_NAMES, "turn_mean")
GENDERS = ("Man", "Non-binary", "Woman", None)
USER, ASSISTANT, ERROR = 0, 1, 2
USER_SENTENCES, ASSISTANT_SENTENCES = 3, 5
# A turn mean is a sum over a count of 1–5 ratings: one small number for each such pair, 0 for none.
_MEAN_OFFSETS = np.concatenate([[0], 1 + np.cumsum([0] + [4 * n + 1 for n in range(1, len(DIMENSION_NAMES))])])
_MOST_AFTER = 31


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


def generator(seed: int, block: int, stream: int) -> np.random.Generator:
    """Return a random stream of a block that no other block, stream or seed shares."""
    return np.random.Generator(np.random.PCG64(np.random.SeedSequence(seed, spawn_key=(block, stream))))


def mean_values() -> Floats:
    """Return the turn mean that each code of the last row of `Turns.scores` stands for; NaN for none."""
    values = [np.nan]
    for count in range(1, len(DIMENSION_NAMES) + 1):
        values += [total / count for total in range(count, 5 * count + 1)]
    return np.array(values)


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
    people = _people(rng, effects)
    conversations = _conversations(rng, effects, people)
    latent, overall, length = _ratings_over_turns(rng, effects, people, conversations)
    turns = _turns(rng, effects, people, conversations, latent, overall, length)
    survey = _survey(rng, effects, people, conversations, turns)
    messages = _messages(generator(seed, block, 2), effects, people, conversations, turns)
    turns = replace(turns, message=messages.message[messages.role == ASSISTANT])
    return Block(people, conversations, turns, messages, survey)


def _people(rng: np.random.Generator, e: Effects) -> People:
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


def _conversations(rng: np.random.Generator, e: Effects, people: People) -> Conversations:
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
        onset=np.ceil(np.log1p(-rng.random(n)) / np.log1p(-hazard)).clip(1, _MOST_AFTER).astype(np.int64),
    )


def _dip(e: Effects) -> Floats:
    """Return what a breakdown takes from the latent rating, by turns since its onset (index 0 = onset)."""
    after = np.arange(_MOST_AFTER)
    later = e.dip_lasting + (e.dip_after - e.dip_lasting) * e.dip_decay ** (after - 1.0)
    return np.where(after == 0, e.dip, later)


def _ratings_over_turns(
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


def _on_the_scale(e: Effects, latent: Floats, style: Integers) -> Integers:
    """Return the whole rating that a person of a style gives to a latent one."""
    stretch = np.array([item.stretch for item in e.styles])[style]
    lowest = np.array([item.lowest for item in e.styles])[style]
    highest = np.array([item.highest for item in e.styles])[style]
    return np.clip(np.rint(3 + stretch * (latent - 3)), lowest, highest).astype(np.int8)


def _turns(
    rng: np.random.Generator,
    e: Effects,
    people: People,
    c: Conversations,
    latent_grid: Floats,
    overall_grid: Integers,
    length: Integers,
) -> Turns:
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
    return np.where(count > 0, _MEAN_OFFSETS[count] + total - count, 0).astype(np.int8)


def _survey(rng: np.random.Generator, e: Effects, people: People, c: Conversations, turns: Turns) -> NDArray[np.int8]:
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


def _messages(rng: np.random.Generator, e: Effects, people: People, c: Conversations, turns: Turns) -> Messages:
    conversation, turn, n = turns.conversation, turns.turn, len(turns.turn)
    onset = turn == c.onset[conversation]
    chance = rng.random((2, n))
    retry = (turn > 1) & (chance[0] < np.where(onset, e.retries_at_breakdown, e.retries))
    failed = chance[1] < np.where(onset, e.errors_at_breakdown, e.errors)
    open_end = (turn == turns.length[conversation]) & (rng.random(e.conversations) < e.open_ends)[conversation]
    ends = np.cumsum(1 + ~retry + failed + open_end)
    first = ends - (1 + ~retry + failed + open_end)
    reply = first + ~retry + failed

    rows = int(ends[-1])
    owner = np.repeat(np.arange(n), np.diff(ends, prepend=0))
    role = np.full(rows, USER, np.int8)
    role[reply] = ASSISTANT
    role[(first + ~retry)[failed]] = ERROR
    row_turn = np.zeros(rows, np.int64)
    row_turn[reply] = turn
    row_retry = np.zeros(rows, np.bool_)
    row_retry[reply] = retry
    row_conversation = conversation[owner]
    starts = np.searchsorted(row_conversation, np.arange(e.conversations))
    asked = np.cumsum(role == USER)
    pick, length = _texts(rng, e, c, turns, owner, role, row_conversation, starts)
    literal = _literals(role, starts)
    for row, number in literal.items():
        length[row] = len(MARK) + len(LITERALS[number][1])
    comment = np.zeros(rows, np.int64)
    low = (turns.scores[0] == 1) | (turns.scores[0] == 2)
    said = rng.random(n) < np.where(low, e.comments_at_low, e.comments)
    comment[reply] = np.where(said, rng.integers(1, 9, n), 0)
    return Messages(
        conversation=row_conversation,
        message=np.arange(rows) - starts[row_conversation] + 1,
        exchange=asked - asked[starts][row_conversation] + 1,
        turn=row_turn,
        role=role,
        retry=row_retry,
        seconds=_seconds(rng, e, people, c, owner, role, row_conversation, starts, onset, length),
        pick=pick,
        literal=literal,
        comment=comment,
    )


def _texts(
    rng: np.random.Generator,
    e: Effects,
    c: Conversations,
    turns: Turns,
    owner: Integers,
    role: Integers,
    conversation: Integers,
    starts: Integers,
) -> tuple[tuple[Integers, Integers, Integers, Integers], Floats]:
    """Return which sentences each message has, and its length in characters."""
    rows = len(owner)
    onset = (turns.turn == c.onset[turns.conversation])[owner]
    # A participant's message answers the turn before it: the mood of the conversation's last reply.
    quality = turns.latent[owner]
    before = np.concatenate([[0], owner[:-1]])
    is_user = role == USER
    quality = np.where(is_user, turns.latent[before], quality)
    quality[starts] = e.mean
    score = quality - e.mean + e.text_noise * rng.standard_normal(rows, dtype=np.float32)
    limit = 0.45 * np.sqrt(1 + e.text_noise**2)
    mood = np.where(score < -limit, 0, np.where(score > limit, 2, 1))
    mood[starts] = 1
    draws = rng.integers(0, 256, (3, rows), dtype=np.uint8)
    count = np.where(is_user, draws[0] % USER_SENTENCES, draws[0] % ASSISTANT_SENTENCES)
    count[onset & (role == ASSISTANT)] = 0
    sentence, start = draws[1] % 8, draws[2] % 16
    task = c.task[conversation]
    lengths = [
        found.mood_length[mood, sentence] + found.task_length[task, np.minimum(count, most - 1), start]
        for found, most in (
            (sentences("user", USER_SENTENCES), USER_SENTENCES),
            (sentences("assistant", ASSISTANT_SENTENCES), ASSISTANT_SENTENCES),
        )
    ]
    length = np.where(is_user, *lengths) + len(MARK) + 1
    length[role == ERROR] = len(ERROR_TEXT)
    return (mood, sentence, count, start), length


def _literals(role: Integers, starts: Integers) -> dict[int, int]:
    """Return rows that carry one of `LITERALS` instead of sentences: always the same conversations."""
    placed = {}
    for number, (speaker, _) in enumerate(LITERALS):
        row = int(starts[17 + 61 * number])
        if speaker == "assistant":
            row += int(np.argmax(role[row:] == ASSISTANT))
        placed[row] = number
    return placed


def _seconds(
    rng: np.random.Generator,
    e: Effects,
    people: People,
    c: Conversations,
    owner: Integers,
    role: Integers,
    conversation: Integers,
    starts: Integers,
    onset: Flags,
    length: Floats,
) -> Floats:
    """Return seconds since the conversation's first message, to one decimal."""
    rows = len(owner)
    before = np.concatenate([length[:1], length[:-1]])
    wander = np.exp(0.35 * rng.standard_normal(rows, dtype=np.float32))
    typing = 3 + e.reading_seconds * before + e.typing_seconds * length
    typing = typing * people.pace[c.participant[conversation]]
    typing *= np.where(np.concatenate([[False], onset[owner[:-1]]]), e.hesitation_after_breakdown, 1.0)
    speed = np.array([model.seconds for model in e.models])[c.model[conversation]]
    replying = speed * (1.5 + e.replying_seconds * length)
    gap = np.where(role == USER, typing, np.where(role == ERROR, 10.0, replying)) * wander
    gap[starts] = 0
    total = np.cumsum(gap)
    return np.rint((total - total[starts][conversation]) * 10) / 10
