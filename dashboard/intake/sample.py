"""The synthetic sample: data with known effects in the tables that `import` writes, at any size.

Blocks of 109 participants are simulated one after the other and written in groups, so that memory does not grow
with the sample. Ratings are sorted by outcome: their codes, one byte each, wait in files beside the tables.
"""

from __future__ import annotations

import hashlib
import json
import shutil
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import IO, Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from dashboard.intake.dataset import (
    FORMAT,
    SENSE7_SCALES,
    data_sha256,
    replacing_folder,
    scales_table,
    software,
    write_manifest,
    write_table,
)
from dashboard.intake.sample_arrays import MISSING, NOT_APPLICABLE, OUTCOMES, Block, Integers
from dashboard.intake.sample_blocks import simulate_block
from dashboard.intake.sample_document import effects_document
from dashboard.intake.sample_effects import DIMENSION_NAMES, EFFECTS, OBSERVED, Effects
from dashboard.intake.sample_judges import Judged, write_predictions
from dashboard.intake.sample_tables import (
    Names,
    conversation_ids,
    conversations_table,
    ground_truth,
    messages_table,
    participant_ids,
    participants_table,
    ratings_table,
    survey_table,
)
from dashboard.vocabulary import Refused

Progress = Callable[[int, int], None]

TITLE = "SYNTHETIC sample: simulated ratings and invented texts with known effects, no result of any study"
LICENCE = "GPL-3.0-or-later, as this project"
NOTE = (
    "SYNTHETIC: every rating is simulated and every text invented; EFFECTS.md states what was planted. "
    "No number in it is a result of the study."
)
# Blocks of one row group: about 470,000 turns.
_BLOCKS_TOGETHER = 100
# Tables made ahead of the one being written.
_TABLES_WAITING = 2
# Up to this scale data_sha256 is taken over the tables; beyond it that would take longer than the simulation.
_HASHED_SCALE = 20
# Measured: 135,000 without text, 300,000 with; and what waits.
_BYTES_PER_BLOCK, _BYTES_OF_TEXT = 200_000, 200_000


@dataclass
class _Tally:
    """What is counted while blocks go by."""

    turns: list[int] = field(default_factory=list)
    lengths: list[Integers] = field(default_factory=list)
    messages: int = 0
    answers: Integers = field(default_factory=lambda: np.zeros((len(OUTCOMES) - 1, 3), np.int64))

    def add(self, block: Block) -> None:
        scores = block.turns.scores[:-1]
        missing = (scores == MISSING).sum(axis=1)
        not_applicable = (scores == NOT_APPLICABLE).sum(axis=1)
        self.answers += np.column_stack([scores.shape[1] - missing - not_applicable, not_applicable, missing])
        self.turns.append(scores.shape[1])
        self.lengths.append(block.turns.length.astype(np.uint8))
        self.messages += len(block.messages.role)


def write_sample(
    out: Path,
    *,
    seed: int = 7,
    scale: int = 1,
    text: bool = True,
    progress: Progress | None = None,
) -> dict[str, Any]:
    """Write a folder of synthetic data, whole or not at all.

    The same arguments give the same bytes. Peak memory hardly depends on `scale`: 0.4 GB for 47 million turns
    (scale 10,000), which take 1.3 GB of disk. Beyond scale 20 `data_sha256` is the hash of the parameters, from
    which the tables follow; hashing the tables would take longer than making them. Predictions of the simulated
    judges cover the first 672 conversations at any scale.

    Parameters
    ----------
    out
        Folder to create, or to replace if it holds our manifest.json.
    seed
        Seed of every random number, from 0.
    scale
        How many blocks of 109 participants and 672 conversations.
    text
        Whether messages and comments have text. All else is the same without.
    progress
        Called with what is done and what there is to do.

    Returns
    -------
    dict
        The content of manifest.json.

    Raises
    ------
    Refused
        If a number is out of range, the disk is too small, or `out` is not ours to replace.
    """
    _check(seed, scale, out, text=text)
    report = progress or (lambda done, total: None)
    names = Names.of(EFFECTS, scale)
    with replacing_folder(out) as part:
        tally = _write_blocks(part, names, seed=seed, scale=scale, text=text, report=report)
        _write_ratings(part, names, tally, scale=scale, report=report)
        shutil.rmtree(part / "waiting")
        write_table(scales_table(SENSE7_SCALES), part / "scales.parquet")
        (part / "EFFECTS.md").write_text(effects_document(EFFECTS, OBSERVED), encoding="utf-8", newline="\n")
        manifest = _manifest(tally, seed=seed, scale=scale, text=text)
        manifest["data_sha256"] = data_sha256(part) if scale <= _HASHED_SCALE else manifest["source_sha256"]
        write_manifest(manifest, part)
    return manifest


def _check(seed: int, scale: int, out: Path, *, text: bool) -> None:
    if seed < 0:
        raise Refused(f"The seed must be a whole number from 0; came {seed}.")
    if scale < 1:
        raise Refused(f"The scale must be a whole number from 1; came {scale}.")
    home = next((folder for folder in (out.absolute(), *out.absolute().parents) if folder.is_dir()), None)
    needed = scale * (_BYTES_PER_BLOCK + _BYTES_OF_TEXT * text)
    free = shutil.disk_usage(home).free if home else 0
    if home and needed > free:
        raise Refused(
            f"A sample of scale {scale} takes about {needed / 1e9:.1f} GB; "
            f"the disk that holds {out} has {free / 1e9:.1f} GB free. Choose a smaller --scale."
        )


class _Writers:
    """One parquet file for each name, opened with the schema of the first table that comes.

    A thread of its own writes one table while the next is made; tables come out in the order in which they came.
    """

    def __init__(self, folder: Path, stack: ExitStack) -> None:
        self._folder, self._stack = folder, stack
        self._writers: dict[str, pq.ParquetWriter] = {}
        self._pool = ThreadPoolExecutor(1, thread_name_prefix="sample-writer")
        self._pending: list[Future[None]] = []
        stack.callback(self._pool.shutdown, cancel_futures=True)

    def write(self, name: str, table: pa.Table) -> None:
        """Append one row group."""
        if name not in self._writers:
            unique = {"conversations": "conversation", "participants": "participant", "messages": "text"}.get(name)
            self._writers[name] = self._stack.enter_context(
                pq.ParquetWriter(
                    self._folder / f"{name}.parquet",
                    table.schema,
                    compression="zstd",
                    use_dictionary=[column for column in table.column_names if column != unique],
                    store_schema=False,
                )
            )
            # the thread stops before the files are closed
            self._stack.callback(self._pool.shutdown, cancel_futures=True)
        if len(self._pending) >= _TABLES_WAITING:
            self._pending.pop(0).result()
        writer = self._writers[name]
        self._pending.append(self._pool.submit(writer.write_table, table, row_group_size=max(1, table.num_rows)))

    def finish(self) -> None:
        """Wait until everything is written, and raise what went wrong."""
        while self._pending:
            self._pending.pop(0).result()


def _write_blocks(part: Path, names: Names, *, seed: int, scale: int, text: bool, report: Progress) -> _Tally:
    """Write every table but ratings, leave the codes of ratings in `waiting`, and count."""
    tally = _Tally()
    (part / "waiting").mkdir()
    with ExitStack() as stack:
        writers = _Writers(part, stack)
        files = [stack.enter_context(_waiting(part, name).open("wb")) for name in (*OUTCOMES, "message")]
        for first, count in _groups(scale):
            blocks = []
            for number in range(first, first + count):
                block = simulate_block(EFFECTS, seed, number)
                tally.add(block)
                _leave_codes(files, block)
                blocks.append(block)
                report(number + 1, 2 * scale)
            if first == 0:
                write_predictions(EFFECTS, _judged(blocks[0], names), part / "predictions", seed=seed)
            writers.write("participants", participants_table(blocks, names, first))
            writers.write("conversations", conversations_table(blocks, names, first, EFFECTS))
            writers.write("survey", survey_table(blocks, names, first, EFFECTS))
            writers.write("messages", messages_table(blocks, names, first, EFFECTS, text=text))
        writers.finish()
    return tally


def _groups(scale: int) -> Iterator[tuple[int, int]]:
    for first in range(0, scale, _BLOCKS_TOGETHER):
        yield first, min(_BLOCKS_TOGETHER, scale - first)


def _waiting(part: Path, name: str) -> Path:
    return part / "waiting" / f"{name}.bytes"


def _leave_codes(files: Sequence[IO[bytes]], block: Block) -> None:
    for file, codes in zip(files, block.turns.scores, strict=False):
        file.write(codes.tobytes())
    files[-1].write(block.turns.message.astype(np.uint8).tobytes())


def _judged(block: Block, names: Names) -> Judged:
    people = participant_ids(names, 0, EFFECTS.participants).to_pylist()
    return Judged(
        conversations=conversation_ids(names, 0, EFFECTS.conversations).to_pylist(),
        participants=[people[owner] for owner in block.conversations.participant],
        truth=ground_truth(block),
    )


def _write_ratings(part: Path, names: Names, tally: _Tally, *, scale: int, report: Progress) -> None:
    """Write ratings outcome by outcome from the codes that wait."""
    done = 0
    with ExitStack() as stack:
        writers = _Writers(part, stack)
        for outcome in sorted(OUTCOMES):
            codes_file = stack.enter_context(_waiting(part, outcome).open("rb"))
            message_file = stack.enter_context(_waiting(part, "message").open("rb"))
            for first, count in _groups(scale):
                rows = sum(tally.turns[first : first + count])
                lengths = np.concatenate(tally.lengths[first : first + count])
                ids = conversation_ids(names, first * EFFECTS.conversations, len(lengths))
                codes = np.frombuffer(codes_file.read(rows), np.int8)
                message = np.frombuffer(message_file.read(rows), np.uint8)
                writers.write("ratings", ratings_table(outcome, codes, message, lengths, ids))
                done += count
                report(scale + done // len(OUTCOMES), 2 * scale)
        writers.finish()


def _manifest(tally: _Tally, *, seed: int, scale: int, text: bool) -> dict[str, Any]:
    parameters = {"seed": seed, "scale": scale, "text": text}
    answers = {
        name: dict(zip(("rated", "not_applicable", "missing"), row.tolist(), strict=True))
        for name, row in zip(DIMENSION_NAMES, tally.answers[1:], strict=True)
    }
    return {
        "format": FORMAT,
        "origin": "synthetic",
        "synthetic": True,
        "release": False,
        "title": TITLE,
        "source": None,
        "source_sha256": _parameters_sha256(EFFECTS, parameters),
        "software": software(),
        "counts": {
            "conversations": EFFECTS.conversations * scale,
            "participants": EFFECTS.participants * scale,
            "messages": tally.messages,
            "assistant_turns": sum(tally.turns),
            "rated_turns": int(tally.answers[0, 0]),
        },
        "sheets": {},
        "answers": answers,
        "unreadable": [],
        "set_aside": [],
        "notes": [NOTE],
        "licence": LICENCE,
        "citation": None,
        "mapping": None,
        "sample": parameters,
    }


def _parameters_sha256(effects: Effects, parameters: dict[str, Any]) -> str:
    content = json.dumps([asdict(effects), parameters], sort_keys=True)
    return hashlib.sha256(content.encode()).hexdigest()
