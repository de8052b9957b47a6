"""A run of the judge: every conversation in every iteration is asked once, and every question is accounted for."""

from __future__ import annotations

import csv
import io
import queue
import re
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dashboard.files import write_whole
from dashboard.intake.predictions import BLANK, COLUMNS
from dashboard.intake.predictions import FAILED as FAILED_ROW
from dashboard.judge.client import ANSWERED, FAILED, UNREADABLE, Asker, Endpoint, Fatal, Reply, Stopped
from dashboard.judge.journal import Journal, Key
from dashboard.judge.prompt import Prompt
from dashboard.vocabulary import Refused, plural

if TYPE_CHECKING:
    import pandas as pd

# Columns beyond the official form: what became of the question, in our own words.
EXTRA_COLUMNS = ("Status", "Detail", "Attempts", "Tokens In", "Tokens Out", "Prompt SHA-256")
_RUNS_IN_A_SPREADSHEET = ("=", "+", "-", "@", "\t", "\r")
_HOPELESS = 10
Progress = Callable[[int, int], None]
Say = Callable[[str], None]


@dataclass(frozen=True)
class Plan:
    """How a run asks: with which prompt, how often, by how many workers, and where the answers go."""

    prompt: Prompt
    iterations: int
    concurrency: int
    folder: Path


@dataclass(frozen=True)
class Outcome:
    """What a run came to; ``stopped`` when it was interrupted, and then no file was written."""

    files: tuple[Path, ...]
    journal: Path
    counts: Mapping[str, int]
    n_questions: int
    tokens_in: int
    tokens_out: int
    seconds: float
    stopped: bool


def judge_conversations(
    conversations: pd.DataFrame,
    endpoint: Endpoint,
    plan: Plan,
    *,
    basis: Mapping[str, Any],
    progress: Progress,
    say: Say,
) -> Outcome:
    """Ask about every conversation in every iteration, and write one official file per iteration.

    An interruption (Ctrl-C) starts no further question, waits for those under way and returns; a second one leaves at
    once. What was answered stays in the journal, and the same call goes on from there. Failed questions are asked
    again by the next call.

    Raises
    ------
    Refused
        When a file is in the way, the endpoint refuses the key, the model or the address, or nothing can be reached.
    """
    started = time.monotonic()
    paths = [plan.folder / f"{file_stem(endpoint.model, plan.prompt)}-iter{n + 1}.csv" for n in range(plan.iterations)]
    journal_path = plan.folder / f"{file_stem(endpoint.model, plan.prompt)}.journal.jsonl"
    _guard(paths, journal_path)
    journal = Journal(journal_path, dict(basis))
    texts = dict(zip(conversations["conversation"], _questions(conversations, plan.prompt), strict=True))
    keys: list[Key] = [(n + 1, one) for n in range(plan.iterations) for one in texts]
    stopped = False
    try:
        stopped = _ask_all(endpoint, plan, keys, texts, journal, progress, say)
        if not stopped:
            for number, path in enumerate(paths, 1):
                write_predictions(path, conversations, journal.done, number, endpoint.model, plan.prompt)
    finally:
        clean = not stopped and all(key in journal.done and journal.done[key].status != FAILED for key in keys)
        journal.close(finished=clean)
    replies = [journal.done[key] for key in keys if key in journal.done]
    return Outcome(
        files=() if stopped else tuple(paths),
        journal=journal_path,
        counts={status: sum(one.status == status for one in replies) for status in (ANSWERED, UNREADABLE, FAILED)},
        n_questions=len(keys),
        tokens_in=sum(one.tokens_in for one in replies),
        tokens_out=sum(one.tokens_out for one in replies),
        seconds=time.monotonic() - started,
        stopped=stopped,
    )


def file_stem(model: str, prompt: Prompt) -> str:
    """Return ``{judge}-{prompt}``, of which files are named."""
    return f"{re.sub(r'[^A-Za-z0-9_.]+', '_', model).strip('_.') or 'judge'}-{prompt.name}"


def _guard(paths: list[Path], journal: Path) -> None:
    if not journal.parent.is_dir():
        raise Refused(f"The output folder {journal.parent} must exist; it does not.")
    existing = [path for path in paths if path.exists()]
    if existing and not journal.exists():
        raise Refused(f"The file {existing[0]} is there already. Move it away, or choose another folder with --out.")


def _questions(conversations: pd.DataFrame, prompt: Prompt) -> list[str | None]:
    """Return the filled prompt of each conversation; None where nothing was said."""
    return [
        prompt.fill(conversation=text, task=task if isinstance(task, str) else "not known")
        if isinstance(text, str)
        else None
        for text, task in zip(conversations["transcript"], conversations["task"], strict=True)
    ]


def _ask_all(
    endpoint: Endpoint,
    plan: Plan,
    keys: list[Key],
    texts: Mapping[str, str | None],
    journal: Journal,
    progress: Progress,
    say: Say,
) -> bool:
    """Ask what is not answered yet; return whether the run was stopped."""
    waiting: queue.SimpleQueue[Key] = queue.SimpleQueue()
    left = [key for key in keys if key not in journal.done]
    for key in left:
        if texts[key[1]] is None:
            journal.add(key, Reply(UNREADABLE, None, "", "", "the conversation has no text", 0.0, 0, 0, 0))
        else:
            waiting.put(key)
    n_left = sum(texts[key[1]] is not None for key in left)
    progress(len(keys) - n_left, len(keys))
    if not n_left:
        return False
    stop = threading.Event()
    results: queue.SimpleQueue[tuple[Key, Reply | Exception] | None] = queue.SimpleQueue()
    asker = Asker(endpoint, stop)
    n_workers = min(plan.concurrency, n_left)
    for _ in range(n_workers):
        threading.Thread(target=_work, args=(asker, waiting, results, texts, stop), daemon=True).start()
    return _collect(results, n_workers, journal, stop, lambda n: progress(len(keys) - n_left + n, len(keys)), say)


def _work(
    asker: Asker,
    waiting: queue.SimpleQueue[Key],
    results: queue.SimpleQueue[tuple[Key, Reply | Exception] | None],
    texts: Mapping[str, str | None],
    stop: threading.Event,
) -> None:
    """Ask one question after the other; the end of the work is told as None."""
    try:
        while not stop.is_set():
            try:
                key = waiting.get_nowait()
            except queue.Empty:
                return
            try:
                results.put((key, asker.ask(str(texts[key[1]]))))
            except Stopped:
                return
            except Exception as error:
                results.put((key, error))
    finally:
        results.put(None)


def _collect(
    results: queue.SimpleQueue[tuple[Key, Reply | Exception] | None],
    n_workers: int,
    journal: Journal,
    stop: threading.Event,
    told: Callable[[int], None],
    say: Say,
) -> bool:
    """Keep every result as it comes until the last worker has ended; return whether Ctrl-C ended the run."""
    interrupted, n_done, working = False, 0, n_workers
    fatal: Exception | None = None
    while working:
        try:
            result = _next(results)
            if result is None:
                working -= 1
                continue
            key, reply = result
            if isinstance(reply, Exception):
                fatal = fatal or reply
                stop.set()
                continue
            journal.add(key, reply)
            n_done += 1
            told(n_done)
            if n_done == _HOPELESS and all(one.status == FAILED for one in journal.done.values()):
                fatal = Fatal(f"the first {_HOPELESS} questions all failed: {reply.detail}")
                stop.set()
        except KeyboardInterrupt:
            if interrupted:
                raise
            interrupted = True
            stop.set()
            say(f"stopping when {plural(working, 'call')} under way have ended; Ctrl-C again leaves at once.")
    if fatal is not None and not interrupted:
        if not isinstance(fatal, Fatal):
            raise fatal
        raise Refused(f"The endpoint cannot be used: {fatal} What was answered is kept in {journal.path}.")
    return interrupted


def _next(results: queue.SimpleQueue[Any]) -> Any:
    """Wait for a result in short steps: a wait without end would not hear Ctrl-C everywhere."""
    while True:
        try:
            return results.get(timeout=0.25)
        except queue.Empty:
            continue


def write_predictions(
    path: Path,
    conversations: pd.DataFrame,
    replies: Mapping[Key, Reply],
    iteration: int,
    model: str,
    prompt: Prompt,
) -> None:
    """Write one iteration in the official form, whole or not at all.

    What failed or could not be read holds ``PROCESSING_FAILED``, so that either evaluation drops and counts it; the
    answer as it came, or the error, stands in the column Detail.
    """
    content = io.StringIO()
    writer = csv.writer(content, lineterminator="\n")
    writer.writerow([*COLUMNS, *EXTRA_COLUMNS])
    for row in conversations.itertuples(index=False):
        reply = replies[iteration, row.conversation]
        writer.writerow([_neutral(cell) for cell in _row(row, reply, model, prompt)])
    write_whole(path, content.getvalue().encode("utf-8"))


def _row(row: Any, reply: Reply, model: str, prompt: Prompt) -> list[str]:
    answered = reply.status == ANSWERED
    truth = row.ground_truth
    return [
        (reply.reasoning or BLANK) if answered else FAILED_ROW,
        row.conversation,
        row.participant if isinstance(row.participant, str) else BLANK,
        str(reply.level) if answered else FAILED_ROW,
        row.transcript if isinstance(row.transcript, str) else BLANK,
        BLANK,
        prompt.name,
        reply.output if answered else FAILED_ROW,
        f"{reply.seconds:.3f}",
        model,
        repr(float(truth)) if truth == truth and truth is not None else BLANK,
        reply.status,
        " | ".join(filter(None, (reply.detail, reply.output if not answered else ""))) or BLANK,
        str(reply.attempts),
        str(reply.tokens_in),
        str(reply.tokens_out),
        prompt.sha256,
    ]


def _neutral(cell: str) -> str:
    """Put an apostrophe before text that a spreadsheet would run as a formula, and drop what no text file holds."""
    cell = cell.replace("\x00", "")
    return "'" + cell if cell.startswith(_RUNS_IN_A_SPREADSHEET) else cell


def describe_outcome(outcome: Outcome, *, price_in: float | None, price_out: float | None) -> dict[str, Any]:
    """Return what a run came to, with its cost where prices per million tokens are given."""
    cost = None
    if price_in is not None or price_out is not None:
        cost = (outcome.tokens_in * (price_in or 0.0) + outcome.tokens_out * (price_out or 0.0)) / 1e6
    return {
        "files": [str(path) for path in outcome.files],
        "questions": outcome.n_questions,
        **dict(outcome.counts),
        "tokens_in": outcome.tokens_in,
        "tokens_out": outcome.tokens_out,
        "cost": cost,
        "seconds": outcome.seconds,
        "journal": str(outcome.journal) if outcome.journal.exists() else None,
    }


def outcome_text(found: Mapping[str, Any]) -> str:
    """Return it for people."""
    lines = [f"wrote {path}" for path in found["files"]]
    lines.append(
        f"{plural(found['questions'], 'question')}: {found['answered']:,} answered, {found['unreadable']:,} unreadable, "
        f"{found['failed']:,} failed; {found['tokens_in']:,} tokens in, {found['tokens_out']:,} out, "
        f"{found['seconds']:,.0f} s."
    )
    if found["cost"] is not None:
        lines.append(f"Cost at the prices given: {found['cost']:.4f}.")
    if found["journal"]:
        lines.append(f"Failed questions are asked again by the same command; answers are kept in {found['journal']}.")
    return "\n".join(lines)
