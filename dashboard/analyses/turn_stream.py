"""Turns read from the ratings file in its own order: sums per conversation without sorting, hashing or naming.

The file keeps the turns of a conversation together (data/README.md), so one pass over runs of equal ids replaces a
grouping of millions of names. What comes out does not depend on it: a conversation that comes in several runs, or out of
the order of the conversations' table, is looked up by its id and its sums are added.
"""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

Array = np.ndarray
T = TypeVar("T")
BATCH_ROWS = 1_048_576
COLUMNS = ("conversation", "turn", "outcome", "value", "answer")


@dataclass(frozen=True)
class Run:
    """Consecutive rows of one outcome.

    Attributes
    ----------
    ids
        The conversation of each run of rows with the same one, (r,).
    starts
        First row of each run, (r,).
    turn, value
        Of each row, (n,); value is NaN where there is no number.
    stated
        Whether the rater said *not applicable*, (n,); None where it was not asked for.
    """

    ids: pa.Array
    starts: Array
    turn: Array
    value: Array
    stated: Array | None

    @property
    def lengths(self) -> Array:
        """Rows of each run, (r,)."""
        return np.diff(self.starts, append=len(self.turn))


@dataclass(frozen=True)
class Sums:
    """Sums over the rated turns of each conversation, (C,), and how many turns it has, rated or not."""

    n_turns: Array
    n: Array
    sum_turn: Array
    sum_turn2: Array
    sum_y: Array
    sum_y_turn: Array
    sum_y2: Array


class Places:
    """Where conversations stand in a table of ids: next to the last one found, or looked up."""

    def __init__(self, ids: pa.Array) -> None:
        self._ids = ids
        self._next = 0

    def find(self, sought: pa.Array) -> Array:
        """Return the position of each id, (r,); −1 where the table does not have it."""
        # A batch may end within a conversation.
        for first in (self._next, self._next - 1):
            if first >= 0 and self._ids.slice(first, len(sought)).equals(sought):
                self._next = first + len(sought)
                return np.arange(first, self._next)
        # Some are left out of what is sought: they are looked up nearby first, as a table of all names is slow to make.
        near = max(self._next - 1, 0)
        found = self._look_up(sought, near, 4 * len(sought) + 1000)
        if found.min(initial=0) < 0:
            found = self._look_up(sought, 0, len(self._ids))
        self._next = int(found[-1]) + 1 if len(found) else self._next
        return found

    def _look_up(self, sought: pa.Array, first: int, length: int) -> Array:
        found = pc.index_in(sought, value_set=self._ids.slice(first, length))
        at = pc.fill_null(found, -1 - first).to_numpy(zero_copy_only=False)
        return at.astype(np.int64) + first


def sum_turns(file: Path, outcome: str, ids: pa.Array) -> Sums:
    """Return the sums of one outcome's turns over conversations.

    Parameters
    ----------
    file
        The parquet file of ratings.
    outcome
        Whose numbers.
    ids
        The conversations, in any order; turns of others are left out.
    """
    n = len(ids)
    total = Sums(*(np.zeros(n, dtype) for dtype in (np.int32, np.int32, np.int64, np.int64, float, float, float)))
    places = Places(ids)
    for names, sums in ahead(_tasks(file, outcome, stated=False), _sums_of_run):
        at = places.find(names)
        if at.min(initial=0) < 0:
            known = at >= 0
            at, sums = at[known], [part[known] for part in sums]
        for whole, part in zip(vars(total).values(), sums, strict=True):
            _add(whole, at, part)
    return total


def _add(whole: Array, at: Array, part: Array) -> None:
    """Add parts at positions, which are almost always one stretch."""
    if len(at) and at[-1] - at[0] == len(at) - 1 and np.all(np.diff(at) == 1):
        whole[at[0] : at[-1] + 1] += part
    else:
        np.add.at(whole, at, part)


def _sums_of_run(run: Run) -> tuple[pa.Array, list[Array]]:
    starts, turn, y = run.starts, run.turn, run.value
    rated = ~np.isnan(y)
    if rated.all():
        n, t = run.lengths, turn.astype(np.int64)
    else:
        y, t = np.where(rated, y, 0.0), np.where(rated, turn, 0).astype(np.int64)
        n = np.add.reduceat(rated.astype(np.int64), starts)
    of = np.add.reduceat
    sums = [of(t, starts), of(t * t, starts), of(y, starts), of(y * t, starts), of(y * y, starts)]
    return run.ids, [run.lengths, n, *sums]


# ------------------------------------------------------------------------------------------------- reading
def stream_turns(file: Path, outcome: str, *, stated: bool = False) -> Iterator[Run]:
    """Yield the turns of one outcome in the order of the file, about a million at a time."""
    yield from ahead(_tasks(file, outcome, stated=stated), lambda run: run)


def _tasks(file: Path, outcome: str, *, stated: bool) -> Iterator[Callable[[], list[Run]]]:
    """Yield one reading task per row group that holds the outcome."""
    with pq.ParquetFile(file) as opened:
        metadata = opened.metadata
    for group in range(metadata.num_row_groups):
        if _may_hold(metadata, group, outcome):
            yield partial(_read_group, file, metadata, group, outcome, stated=stated)


def _may_hold(metadata: Any, group: int, outcome: str) -> bool:
    """Tell by the row group's statistics whether it can hold the outcome."""
    described = metadata.row_group(group)
    columns = [described.column(place) for place in range(described.num_columns)]
    found = next(one.statistics for one in columns if one.path_in_schema == "outcome")
    return found is None or not found.has_min_max or found.min <= outcome <= found.max


def _read_group(file: Path, metadata: Any, group: int, outcome: str, *, stated: bool) -> list[Run]:
    # One file handle per task: a handle is not shared by threads.
    with pq.ParquetFile(file, metadata=metadata, read_dictionary=["conversation", "outcome", "answer"]) as opened:
        columns = [name for name in COLUMNS if stated or name != "answer"]
        batches = opened.iter_batches(BATCH_ROWS, row_groups=[group], columns=columns, use_threads=False)
        runs = (_run(batch, outcome, stated=stated) for batch in batches)
        return [run for run in runs if len(run.turn)]


def _run(batch: pa.RecordBatch, outcome: str, *, stated: bool) -> Run:
    if not _is_constant(batch["outcome"], outcome):
        batch = batch.filter(pc.equal(batch["outcome"].cast(pa.string()), outcome))
    conversation = batch["conversation"]
    codes = conversation.indices.to_numpy(zero_copy_only=False)
    starts = np.flatnonzero(np.diff(codes, prepend=-1))
    first = codes[starts]
    names = conversation.dictionary
    in_order = len(first) == len(names) and np.array_equal(first, np.arange(len(first)))
    return Run(
        ids=names if in_order else names.take(pa.array(first)),
        starts=starts,
        turn=batch["turn"].to_numpy(zero_copy_only=False),
        value=pc.fill_null(batch["value"], float("nan")).to_numpy(zero_copy_only=False),
        stated=_is(batch["answer"], "not_applicable") if stated else None,
    )


def _is_constant(column: pa.DictionaryArray, value: str) -> bool:
    names = column.dictionary.to_pylist()
    return names == [value] and column.null_count == 0


def _is(column: pa.DictionaryArray, value: str) -> Array:
    names = column.dictionary.to_pylist()
    code = names.index(value) if value in names else -2
    return np.asarray(column.indices.fill_null(-1).to_numpy(zero_copy_only=False) == code)


def ahead(tasks: Iterator[Callable[[], list[Run]]], work: Callable[[Run], T]) -> Iterator[T]:
    """Yield what `work` makes of the runs that tasks read, in order, a few tasks ahead on other threads."""
    n_threads = min(4, max(2, os.cpu_count() or 2))

    def whole(task: Callable[[], list[Run]]) -> list[T]:
        return [work(run) for run in task()]

    with ThreadPoolExecutor(n_threads, thread_name_prefix="turns") as pool:
        waiting: deque[Future[list[T]]] = deque()
        for task in tasks:
            waiting.append(pool.submit(whole, task))
            if len(waiting) > n_threads:
                yield from waiting.popleft().result()
        while waiting:
            yield from waiting.popleft().result()


# ------------------------------------------------------------------------------------------- conversations
def read_conversations(file: Path) -> pa.Table:
    """Return id, participant, task and model of every conversation, in the table's order; names as dictionaries."""
    named = ["participant", "task", "model"]
    with pq.ParquetFile(file, read_dictionary=named) as opened:
        return opened.read(columns=["conversation", *named]).unify_dictionaries()


def survey_answers(file: Path, item: str, ids: pa.Array) -> Array:
    """Return the number that each conversation answered an item with, (C,); NaN without."""
    out = np.full(len(ids), np.nan)
    places = Places(ids)
    dictionaries = ["conversation", "item", "answer"]
    with pq.ParquetFile(file, read_dictionary=dictionaries) as opened:
        for batch in opened.iter_batches(BATCH_ROWS, columns=[*dictionaries, "value"], use_threads=False):
            batch = batch.filter(pa.array(_is(batch["item"], item)))
            if len(batch):
                at = places.find(batch["conversation"].cast(pa.string()))
                value = pc.fill_null(batch["value"], float("nan")).to_numpy(zero_copy_only=False)
                known = (at >= 0) & _is(batch["answer"], "rated")
                out[at[known]] = value[known]
    return out
