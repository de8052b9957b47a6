"""Predictions of two simulated LLM judges for the synthetic sample, in the official file form, faults planted."""

from __future__ import annotations

import csv
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from dashboard.intake.sample_arrays import Floats, Integers
from dashboard.intake.sample_blocks import generator
from dashboard.intake.sample_effects import Effects, Judge

COLUMNS = (
    "CoT",
    "TaskId",
    "PID",
    "IS_EMPATHY",
    "Chat",
    "OnlyChat",
    "Prompt",
    "Output",
    "Processing Time",
    "Model",
    "ground-truth",
)
BLANK = "EMPTY"
FAILED = "PROCESSING_FAILED"
_REASONS = (
    "The tone is distant throughout.",
    "Some needs are noticed late.",
    "Polite, with little personal interest.",
    "Feelings are named and taken up.",
    "Warm, attentive and consistent.",
)
_UNREADABLE = (
    "<S0>Hard to say.</S0><S2>unclear</S2>",
    "<S0>The reply broke off here",
    "Level four, I would say.",
    "<S0>Between levels.</S0><S2></S2>",
)


@dataclass(frozen=True)
class Judged:
    """What a judge sees of a conversation. `truth` is NaN where the conversation has no ratings."""

    conversations: list[str]
    participants: list[str]
    truth: Floats


def write_predictions(effects: Effects, judged: Judged, folder: Path, *, seed: int) -> list[str]:
    """Write the prediction files of every judge and iteration; return their names."""
    folder.mkdir()
    names = []
    for number, judge in enumerate(effects.judges):
        levels = _levels(effects, judge, judged.truth, seed=seed, stream=11 + number)
        for iteration, predicted in enumerate(levels, 1):
            name = f"{judge.name}-{effects.judge_prompt}-iter{iteration}.csv"
            rng = generator(seed, 0, 100 * (1 + number) + iteration)
            _write(folder / name, _rows(rng, judge, judged, predicted))
            names.append(name)
    return names


def _levels(effects: Effects, judge: Judge, truth: Floats, *, seed: int, stream: int) -> Integers:
    """Return levels (iterations × conversations): a common reading of each conversation, and noise of each call."""
    rng = generator(seed, 0, stream)
    known = np.where(np.isnan(truth), np.nanmean(truth), truth)
    z = (known - known.mean()) / known.std()
    common = rng.standard_normal(len(truth))
    own = rng.standard_normal((effects.judge_iterations, len(truth)))
    noise = np.sqrt(1 - judge.iteration_share) * common + np.sqrt(judge.iteration_share) * own
    latent = judge.correlation * z + np.sqrt(1 - judge.correlation**2) * noise
    return np.clip(np.rint(judge.mean + judge.std_dev * latent), 1, 5).astype(np.int64)


def _rows(rng: np.random.Generator, judge: Judge, judged: Judged, predicted: Integers) -> list[list[str]]:
    counts = (judge.call_errors, judge.unreadable, judge.failed, judge.tens)
    chosen = rng.choice(len(predicted), sum(counts), replace=False)
    fault = dict(
        zip(chosen.tolist(), np.repeat(("error", "unreadable", "failed", "ten"), counts).tolist(), strict=True)
    )
    seconds = np.rint(rng.gamma(4.0, 0.4, len(predicted)) * 100) / 100
    rows = []
    for place, level in enumerate(predicted.tolist()):
        reason, prediction, output = _answer(fault.get(place), level, place)
        truth = judged.truth[place]
        rows.append(
            [
                reason,
                judged.conversations[place],
                judged.participants[place],
                prediction,
                *(BLANK, BLANK, BLANK),
                output,
                repr(float(seconds[place])),
                judge.name,
                BLANK if np.isnan(truth) else repr(float(truth)),
            ]
        )
    return rows


def _answer(fault: str | None, level: int, place: int) -> tuple[str, str, str]:
    """Return reasoning, recorded prediction and output of one call, as the official scripts record them."""
    if fault == "error":
        return BLANK, "3", "ERROR: simulated time-out of the judge"
    if fault == "unreadable":
        return BLANK, "3", _UNREADABLE[place % len(_UNREADABLE)]
    if fault == "failed":
        return FAILED, FAILED, FAILED
    reason = _REASONS[level - 1]
    if fault == "ten":
        return reason, "1", f"<S0>{reason}</S0><S2>10</S2>"
    return reason, str(level), f"<S0>{reason}</S0><S2>{level}</S2>"


def _write(path: Path, rows: list[list[str]]) -> None:
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(COLUMNS)
        writer.writerows(rows)
