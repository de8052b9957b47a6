"""Time of ordinal mixed fits at study size, beside R's ordinal::clmm in the same run where R is installed.

Run: python tests/bench/bench_ordinal_mixed.py [--large]
Prints a Markdown table. Seconds are processor time of one thread (user + system), so that other work on the
machine does not count; clmm's come from system.time() inside R, without R's start or reading.
"""

from __future__ import annotations

import os

os.environ.setdefault("OMP_NUM_THREADS", "1")

import argparse
import platform
import shutil
import subprocess
import tempfile
import time
from pathlib import Path

import numpy as np
import pandas as pd

from dashboard.stats.ordinal_mixed import OrdinalMixedFit, fit_cumulative_logit

R_SCRIPT = """
suppressMessages(library(ordinal)); d <- read.csv(commandArgs(TRUE)[1])
d$y <- factor(d$rating, ordered = TRUE); for (v in c("task", "model", "participant", "conversation")) d[[v]] <- factor(d[[v]])
say <- function(name, expr) { t <- sum(system.time(m <- expr)[1:2]); cat(name, t, format(as.numeric(logLik(m)), digits = 12), sep = ","); cat("\\n") }
say("participant, Laplace", clmm(y ~ turn + task + model + (1 | participant), d))
say("participant, 7 points", clmm(y ~ turn + task + model + (1 | participant), d, nAGQ = 7))
say("nested, Laplace", clmm(y ~ turn + task + model + (1 | participant) + (1 | conversation), d))
"""
CASES = {
    "participant, Laplace": (False, 1),
    "participant, 7 points": (False, 7),
    "nested, Laplace": (True, 1),
    "nested, 7 × 7 points": (True, 7),
}


def simulate(n_participants: int, n_conversations: int, n_turns: int, *, seed: int) -> pd.DataFrame:
    """Return ratings of the study's shape: 8 tasks, 4 models, conversations of uneven length."""
    rng = np.random.default_rng(seed)
    person = np.sort(
        np.r_[np.arange(n_participants), rng.integers(0, n_participants, n_conversations - n_participants)]
    )
    lengths = 1 + rng.multinomial(n_turns - n_conversations, np.full(n_conversations, 1 / n_conversations))
    talk = np.repeat(np.arange(n_conversations), lengths)
    turn = np.arange(n_turns) - np.repeat(np.r_[0, np.cumsum(lengths)[:-1]], lengths) + 1
    task, model = rng.integers(0, 8, n_conversations), rng.integers(0, 4, n_conversations)
    effect = (1.45 * rng.normal(size=n_participants))[person] + 1.2 * rng.normal(size=n_conversations)
    effect += rng.normal(size=8)[task] * 0.3 + np.array([0.0, 0.7, 1.1, -0.4])[model]
    latent = effect[talk] - 0.11 * turn + rng.logistic(size=n_turns)
    return pd.DataFrame(
        {
            "rating": 1 + np.searchsorted([-5.4, -3.4, -0.9, 2.0], latent),
            "turn": turn,
            "task": [f"task {i}" for i in task[talk]],
            "model": [f"model {i}" for i in model[talk]],
            "participant": person[talk],
            "conversation": talk,
        }
    )


def fit(frame: pd.DataFrame, *, nested: bool, n_quadrature: int) -> OrdinalMixedFit:
    """Fit turn + task + model with the intercepts asked for."""
    X = pd.get_dummies(frame[["task", "model"]], drop_first=True, dtype=float)
    X.insert(0, "turn", frame.turn.astype(float))
    return fit_cumulative_logit(
        frame.rating,
        X,
        participant=frame.participant,
        conversation=frame.conversation if nested else None,
        term_names=list(X),
        n_quadrature=n_quadrature,
        clock=time.process_time,
    )


def time_clmm(frame: pd.DataFrame) -> dict[str, tuple[float, float]]:
    """Return seconds and log-likelihood of each case that clmm offers; empty without R."""
    if shutil.which("Rscript") is None:
        return {}
    with tempfile.TemporaryDirectory() as folder:
        data, script = Path(folder) / "ratings.csv", Path(folder) / "clmm.R"
        frame.to_csv(data, index=False)
        script.write_text(R_SCRIPT)
        done = subprocess.run(["Rscript", str(script), str(data)], capture_output=True, text=True, check=False)
    if done.returncode:
        print(f"clmm left out: {done.stderr.strip().splitlines()[-1]}")
        return {}
    rows = [line.rsplit(",", 2) for line in done.stdout.splitlines()]
    return {name: (float(seconds), float(value)) for name, seconds, value in rows}


def report(frame: pd.DataFrame, clmm: dict[str, tuple[float, float]], *, repeats: int) -> None:
    """Print one line per case; ours is the median of several fits."""
    n_conversations, n_participants = frame.conversation.nunique(), frame.participant.nunique()
    print(f"\n{len(frame):,} ratings, {n_conversations:,} conversations, {n_participants:,} participants, 11 columns\n")
    print("| model | seconds | log-likelihood | clmm seconds | clmm log-likelihood | ratio |")
    print("|---|---|---|---|---|---|")
    for name, (nested, points) in CASES.items():
        fits = [fit(frame, nested=nested, n_quadrature=points) for _ in range(repeats)]
        seconds, value = float(np.median([f.fit_seconds for f in fits])), fits[0].log_likelihood
        rival = clmm.get(name, clmm.get("nested, Laplace") if nested else None)
        same = name in clmm
        theirs = "| – | – | – |" if rival is None else f"| {rival[0]:.1f}{'' if same else ' (Laplace)'} "
        if rival is not None:
            theirs += (
                f"| {rival[1]:.6f} | {rival[0] / seconds:.0f} × |" if same else f"| – | {rival[0] / seconds:.0f} × |"
            )
        print(f"| {name} | {seconds:.3f} | {value:.6f} {theirs}")


def main() -> None:
    """Parse, time, print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--large", action="store_true", help="also ten times the study's size, ours only")
    options = parser.parse_args()
    print(f"Python {platform.python_version()}, numpy {np.__version__}, {platform.machine()}, one thread")
    study = simulate(109, 672, 4556, seed=1)
    report(study, time_clmm(study), repeats=5)
    if options.large:
        report(simulate(1090, 6720, 45560, seed=2), {}, repeats=1)


if __name__ == "__main__":
    main()
