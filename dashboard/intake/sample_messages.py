"""Simulates the messages of a block of the synthetic sample: rows, sentences, times.

Texts are not built here: which sentences a message has is drawn, and its length follows, so that the times are the
same whether texts are written or not.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from dashboard.intake.sample_arrays import (
    ASSISTANT,
    ERROR,
    USER,
    Conversations,
    Flags,
    Floats,
    Integers,
    Messages,
    People,
    Turns,
)
from dashboard.intake.sample_effects import Effects
from dashboard.intake.sample_text import (
    ASSISTANT_SENTENCES,
    COMMENTS,
    ERROR_TEXT,
    LITERALS,
    MARK,
    USER_SENTENCES,
    sentences,
)

_MOOD_SENTENCES, _TASK_SENTENCES = 8, 16


@dataclass(frozen=True)
class _Rows:
    """The messages as rows: `owner` is the turn that a row belongs to, `at_onset` whether a breakdown was planted on it.

    `reply` is the row of each turn, `starts` the first row of each conversation.
    """

    owner: Integers
    conversation: Integers
    role: Integers
    retry: Flags
    at_onset: Flags
    reply: Integers
    starts: Integers


def simulate_messages(rng: np.random.Generator, e: Effects, people: People, c: Conversations, turns: Turns) -> Messages:
    """Return the messages around the turns of a block, in order."""
    rows = _rows(rng, e, c, turns)
    pick = _sentences(rng, e, turns, rows)
    literal = _literals(rows)
    length = _lengths(c, rows, pick, literal)
    comment = _comments(rng, e, turns, rows)
    asked = np.cumsum(rows.role == USER)
    turn = np.zeros(len(rows.role), np.int64)
    turn[rows.reply] = turns.turn
    return Messages(
        conversation=rows.conversation,
        message=np.arange(len(turn)) - rows.starts[rows.conversation] + 1,
        exchange=asked - asked[rows.starts][rows.conversation] + 1,
        turn=turn,
        role=rows.role,
        retry=rows.retry,
        seconds=_seconds(rng, e, people, c, rows, length),
        pick=pick,
        literal=literal,
        comment=comment,
    )


def _rows(rng: np.random.Generator, e: Effects, c: Conversations, turns: Turns) -> _Rows:
    """Lay out rows: a question (unless the turn is a retry), an error at times, the reply, a last unanswered message."""
    n = len(turns.turn)
    onset = turns.turn == c.onset[turns.conversation]
    chance = rng.random((2, n))
    retry = (turns.turn > 1) & (chance[0] < np.where(onset, e.retries_at_breakdown, e.retries))
    failed = chance[1] < np.where(onset, e.errors_at_breakdown, e.errors)
    last = turns.turn == turns.length[turns.conversation]
    open_end = last & (rng.random(e.conversations) < e.open_ends)[turns.conversation]
    each = 1 + ~retry + failed + open_end
    first = np.cumsum(each) - each
    reply = first + ~retry + failed
    owner = np.repeat(np.arange(n), each)
    role = np.full(len(owner), USER, np.int8)
    role[reply] = ASSISTANT
    role[(first + ~retry)[failed]] = ERROR
    retried = np.zeros(len(owner), np.bool_)
    retried[reply] = retry
    conversation = turns.conversation[owner]
    return _Rows(
        owner=owner,
        conversation=conversation,
        role=role,
        retry=retried,
        at_onset=onset[owner],
        reply=reply,
        starts=np.searchsorted(conversation, np.arange(e.conversations)),
    )


def _sentences(
    rng: np.random.Generator, e: Effects, turns: Turns, rows: _Rows
) -> tuple[Integers, Integers, Integers, Integers]:
    """Return mood, mood sentence, number of further sentences − 1 and the first of them, for each message."""
    n = len(rows.owner)
    is_user = rows.role == USER
    # A participant's message answers the reply before it.
    before = np.concatenate([rows.owner[:1], rows.owner[:-1]])
    quality = turns.latent[np.where(is_user, before, rows.owner)]
    score = quality - e.mean + e.text_noise * rng.standard_normal(n, dtype=np.float32)
    limit = 0.45 * np.sqrt(1 + e.text_noise**2)
    mood = np.where(score < -limit, 0, np.where(score > limit, 2, 1))
    mood[rows.starts] = 1
    draws = rng.integers(0, 256, (3, n), dtype=np.uint8)
    more = np.where(is_user, draws[0] % USER_SENTENCES, draws[0] % ASSISTANT_SENTENCES)
    more[rows.at_onset & (rows.role == ASSISTANT)] = 0
    return mood, draws[1] % _MOOD_SENTENCES, more, draws[2] % _TASK_SENTENCES


def _literals(rows: _Rows) -> dict[int, int]:
    """Return rows that carry one of `LITERALS` instead of sentences: always in the same conversations."""
    placed = {}
    for number, (speaker, _) in enumerate(LITERALS):
        row = int(rows.starts[17 + 61 * number])
        if speaker == "assistant":
            row += int(np.argmax(rows.role[row:] == ASSISTANT))
        placed[row] = number
    return placed


def _lengths(
    c: Conversations, rows: _Rows, pick: tuple[Integers, Integers, Integers, Integers], literal: dict[int, int]
) -> Floats:
    """Return the length of each message in characters."""
    mood, sentence, more, start = pick
    task = c.task[rows.conversation]
    user, assistant = (
        said.mood_length[mood, sentence] + said.task_length[task, np.minimum(more, said.most - 1), start]
        for said in (sentences("user"), sentences("assistant"))
    )
    length = np.where(rows.role == USER, user, assistant) + len(MARK) + 1
    length[rows.role == ERROR] = len(ERROR_TEXT)
    for row, number in literal.items():
        length[row] = len(MARK) + len(LITERALS[number][1])
    return length


def _comments(rng: np.random.Generator, e: Effects, turns: Turns, rows: _Rows) -> Integers:
    """Return the number of each row's comment, from 1; 0 for none."""
    n = len(turns.turn)
    low = (turns.scores[0] == 1) | (turns.scores[0] == 2)
    said = rng.random(n) < np.where(low, e.comments_at_low, e.comments)
    comment = np.zeros(len(rows.owner), np.int64)
    comment[rows.reply] = np.where(said, rng.integers(1, len(COMMENTS) + 1, n), 0)
    return comment


def _seconds(
    rng: np.random.Generator, e: Effects, people: People, c: Conversations, rows: _Rows, length: Floats
) -> Floats:
    """Return seconds since the conversation's first message, to one decimal."""
    n = len(rows.owner)
    read = np.concatenate([length[:1], length[:-1]])
    upset = np.concatenate([[False], rows.at_onset[:-1]])
    typing = (3 + e.reading_seconds * read + e.typing_seconds * length) * people.pace[c.participant[rows.conversation]]
    typing *= np.where(upset, e.hesitation_after_breakdown, 1.0)
    speed = np.array([model.seconds for model in e.models])[c.model[rows.conversation]]
    replying = speed * (1.5 + e.replying_seconds * length)
    wander = np.exp(0.35 * rng.standard_normal(n, dtype=np.float32))
    gap = np.where(rows.role == USER, typing, np.where(rows.role == ERROR, 10.0, replying)) * wander
    gap[rows.starts] = 0
    total = np.cumsum(gap)
    return np.rint((total - total[rows.starts][rows.conversation]) * 10) / 10
