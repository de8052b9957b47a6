"""Arrow tables of the synthetic sample: codes of the simulation become the columns of data/README.md."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from dashboard.intake.dataset import SCHEMAS, SENSE7_SCALES
from dashboard.intake.sample_arrays import (
    ASSISTANT,
    ERROR,
    GENDERS,
    MISSING,
    NOT_APPLICABLE,
    USER,
    Block,
    Flags,
    Floats,
    Integers,
    mean_values,
)
from dashboard.intake.sample_effects import Effects
from dashboard.intake.sample_text import COMMENTS, ERROR_TEXT, LITERALS, MARK, ROLES, sentences

# The number that each code of a rating stands for.
WHOLE_VALUES: Floats = np.arange(NOT_APPLICABLE + 1, dtype=np.float64)
MEAN_VALUES: Floats = mean_values()
ANSWERS = ("rated", "not_applicable", "missing")
SURVEY_ITEMS = tuple((scale.kind, scale.measure) for scale in SENSE7_SCALES if scale.kind in ("pre", "post"))


class Names(NamedTuple):
    """Widths of the ids, which are of one width within a sample so that they sort."""

    participant: int
    conversation: int

    @classmethod
    def of(cls, effects: Effects, scale: int) -> Names:
        """Return the widths for a sample of `scale` blocks."""
        people, conversations = effects.participants * scale, effects.conversations * scale
        return cls(max(3, len(str(people))), max(4, len(str(conversations))))


def participant_ids(names: Names, first: int, count: int) -> pa.Array:
    """Return `S001` and so on; `first` counts from 0."""
    return _ids("S", names.participant, first, count)


def conversation_ids(names: Names, first: int, count: int) -> pa.Array:
    """Return `C0001` and so on; `first` counts from 0."""
    return _ids("C", names.conversation, first, count)


def _ids(prefix: str, width: int, first: int, count: int) -> pa.Array:
    numbers = np.arange(first + 1, first + count + 1)
    letters = np.empty((count, 1 + width), np.uint8)
    letters[:, 0] = ord(prefix)
    for place in range(width, 0, -1):
        numbers, digit = np.divmod(numbers, 10)
        letters[:, place] = digit + ord("0")
    ends = np.arange(count + 1, dtype=np.int32) * (1 + width)
    return pa.StringArray.from_buffers(count, pa.py_buffer(ends), pa.py_buffer(letters))


def _coded(codes: Integers, texts: Sequence[str | None] | pa.Array) -> pa.DictionaryArray:
    """Return a text column from codes; what is coded as None becomes null."""
    if isinstance(texts, pa.Array):
        return pa.DictionaryArray.from_arrays(pa.array(codes.astype(np.int32)), texts)
    absent = np.array([text is None for text in texts])[codes]
    indices = pa.array(codes.astype(np.int32), mask=absent if absent.any() else None)
    return pa.DictionaryArray.from_arrays(indices, pa.array([text or "" for text in texts], pa.string()))


def _nulls(rows: int) -> pa.DictionaryArray:
    return pa.DictionaryArray.from_arrays(pa.nulls(rows, pa.int32()), pa.array([], pa.string()))


def _rated(codes: NDArray[np.int8], values: Floats) -> tuple[pa.Array, pa.DictionaryArray]:
    """Return value and answer of coded ratings; `values[code]` is the number of a rated code."""
    not_applicable, missing = codes == NOT_APPLICABLE, codes == MISSING
    if len(values) > NOT_APPLICABLE + 1:  # turn means: every code but 0 is a number
        not_applicable = np.zeros_like(missing)
    answer = np.where(missing, 2, not_applicable.astype(np.int8))
    return pa.array(values[codes], mask=answer != 0), _coded(answer, ANSWERS)


def _table(name: str, columns: dict[str, pa.Array], *more: str) -> pa.Table:
    """Return a table with the columns of the schema (text may be dictionaries) and any that follow."""
    order = [*SCHEMAS[name].names, *more]
    return pa.table({column: columns[column] for column in order})


def participants_table(blocks: Sequence[Block], names: Names, first: int) -> pa.Table:
    """Return the participants of consecutive blocks, of which `first` is the number of the first."""
    people = [block.people for block in blocks]
    count = sum(len(part.age) for part in people)
    each = len(people[0].age)
    traits = {
        trait: np.concatenate([getattr(part, trait) for part in people])
        for trait in ("trait_empathy", "trait_openness")
    }
    columns = {
        "participant": participant_ids(names, first * each, count),
        "age": pa.array(np.concatenate([part.age for part in people]).astype(np.float64)),
        "gender": _coded(np.concatenate([part.gender for part in people]), GENDERS),
        **{trait: pa.array(values, mask=np.isnan(values)) for trait, values in traits.items()},
    }
    return _table("participants", columns, "age", "gender", "trait_empathy", "trait_openness")


def conversations_table(blocks: Sequence[Block], names: Names, first: int, effects: Effects) -> pa.Table:
    """Return the conversations of consecutive blocks."""
    parts = [block.conversations for block in blocks]
    start, count = first * effects.conversations, len(blocks) * effects.conversations
    owner = np.concatenate([part.participant + number * effects.participants for number, part in enumerate(parts)])
    columns = {
        "conversation": conversation_ids(names, start, count),
        "participant": _coded(
            owner, participant_ids(names, first * effects.participants, len(blocks) * effects.participants)
        ),
        "task": _coded(np.concatenate([part.task for part in parts]), [item.name for item in effects.tasks]),
        "model": _coded(np.concatenate([part.model for part in parts]), [item.name for item in effects.models]),
        "position": pa.array(np.arange(start + 1, start + count + 1, dtype=np.int32)),
    }
    return _table("conversations", columns)


def survey_table(blocks: Sequence[Block], names: Names, first: int, effects: Effects) -> pa.Table:
    """Return the survey of consecutive blocks: two items before and eleven after each conversation."""
    codes = np.concatenate(
        [
            np.column_stack([block.conversations.importance, block.conversations.desired, block.survey])
            for block in blocks
        ]
    ).astype(np.int8)
    count, items = codes.shape
    value, answer = _rated(codes.ravel(), WHOLE_VALUES)
    which = np.tile(np.arange(items), count)
    columns = {
        "conversation": _coded(
            np.repeat(np.arange(count), items), conversation_ids(names, first * effects.conversations, count)
        ),
        "phase": _coded(
            np.array([kind == "post" for kind, _ in SURVEY_ITEMS]).astype(np.int32)[which], ("pre", "post")
        ),
        "item": _coded(which, [item for _, item in SURVEY_ITEMS]),
        "value": value,
        "answer": answer,
    }
    return _table("survey", columns)


def messages_table(blocks: Sequence[Block], names: Names, first: int, effects: Effects, *, text: bool) -> pa.Table:
    """Return the messages of consecutive blocks; without `text`, texts and comments are null."""
    parts = [block.messages for block in blocks]
    rows = sum(len(part.role) for part in parts)
    joined = {
        name: np.concatenate([getattr(part, name) for part in parts])
        for name in ("message", "exchange", "turn", "role", "retry", "seconds", "comment")
    }
    owner = np.concatenate([part.conversation + number * effects.conversations for number, part in enumerate(parts)])
    ids = conversation_ids(names, first * effects.conversations, len(blocks) * effects.conversations)
    numbers = [None, *map(str, range(1, int(joined["exchange"].max()) + 1))]
    columns = {
        "conversation": _coded(owner, ids),
        "message": pa.array(joined["message"].astype(np.int32)),
        "message_id": _coded(joined["exchange"], numbers),
        "turn": pa.array(joined["turn"].astype(np.int32), mask=joined["turn"] == 0),
        "role": _coded(joined["role"], ROLES),
        "seconds": pa.array(joined["seconds"]),
        "text": _texts(blocks) if text else pa.nulls(rows, pa.string()),
        "retry": _coded(joined["retry"].astype(np.int32), ("0", "1")),
        "comment": _coded(joined["comment"], [None, *COMMENTS]) if text else _nulls(rows),
        "source_row": pa.nulls(rows, pa.int32()),
    }
    return _table("messages", columns)


def _texts(blocks: Sequence[Block]) -> pa.Array:
    return pa.concat_arrays([pa.array(_block_texts(block), pa.string()) for block in blocks])


def _block_texts(block: Block) -> list[str]:
    speakers = {USER: sentences("user"), ASSISTANT: sentences("assistant")}
    found = block.messages
    task = block.conversations.task[found.conversation]
    rows = zip(found.role.tolist(), task.tolist(), *(part.tolist() for part in found.pick), strict=True)
    texts = []
    for role, about, mood, sentence, count, start in rows:
        if role == ERROR:
            texts.append(ERROR_TEXT)
        else:
            said = speakers[role]
            texts.append(f"{MARK}{said.mood[mood][sentence]} {said.task[about][count][start]}")
    for row, number in found.literal.items():
        texts[row] = MARK + LITERALS[number][1]
    return texts


def ratings_table(
    outcome: str, codes: NDArray[np.int8], message: Integers, lengths: Integers, ids: pa.Array
) -> pa.Table:
    """Return the ratings of one outcome over consecutive conversations.

    Parameters
    ----------
    outcome
        Name of the outcome; the codes of `turn_mean` are those of `mean_values`.
    codes, message
        Code of the rating and position of the message, one for each turn.
    lengths, ids
        Turns and id of each conversation.
    """
    values = MEAN_VALUES if outcome == "turn_mean" else WHOLE_VALUES
    value, answer = _rated(codes, values)
    owner = np.repeat(np.arange(len(lengths), dtype=np.int32), lengths)
    before = np.cumsum(lengths, dtype=np.int64) - lengths
    turn = np.arange(1, len(codes) + 1, dtype=np.int32) - np.repeat(before.astype(np.int32), lengths)
    columns = {
        "conversation": _coded(owner, ids),
        "message": pa.array(message.astype(np.int32)),
        "turn": pa.array(turn),
        "outcome": _coded(np.zeros(len(codes), np.int32), (outcome,)),
        "value": value,
        "answer": answer,
    }
    return _table("ratings", columns)


def ground_truth(block: Block) -> Floats:
    """Return the mean turn mean of each conversation of a block; NaN where no turn has one."""
    values = MEAN_VALUES[block.turns.scores[-1]]
    rated: Flags = ~np.isnan(values)
    owner, count = block.turns.conversation[rated], len(block.turns.length)
    n = np.bincount(owner, minlength=count)
    total = np.bincount(owner, values[rated], count)
    return np.where(n > 0, total / np.maximum(n, 1), np.nan)
