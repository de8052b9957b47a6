"""Nested REML beside statsmodels and, where R has it, lme4: seconds and ratios, all from one run.

    OMP_NUM_THREADS=1 python tests/bench/bench_linear_mixed.py [--sizes 1 10 100] [--repeats 3] [--skip-statsmodels]

Size 1 is a synthetic study of 109 participants and about 4,700 rated turns; size K has K times as many participants.
Times: ours is `fit_seconds` (formula and rows in memory → estimates and standard errors), lme4's is `lmer()`'s own
elapsed time with its default settings and a data frame of factors, statsmodels' is `MixedLM.from_formula(...).fit()`.
The best of the repeats counts for each. One BLAS thread for all.
"""

from __future__ import annotations

import argparse
import shutil
import subprocess
import tempfile
import time
import warnings
from pathlib import Path

import numpy as np
import pandas as pd

from dashboard.stats.linear_mixed import fit_linear_mixed

REFERENCE = Path(__file__).parents[1] / "reference" / "linear_mixed"
FORMULA = "overall ~ turn + task + model + (1 | participant/conversation)"
R_SCRIPT = """
suppressMessages(library(lme4)); a <- commandArgs(TRUE)
d <- read.csv(a[1], stringsAsFactors=TRUE); t <- c()
for (i in 1:as.integer(a[2])) t <- c(t, system.time(
  m <- lmer(overall ~ turn + task + model + (1 | participant/conversation), d))[["elapsed"]])
cat(min(t), format(as.numeric(logLik(m)), digits=15), format(packageVersion("lme4")), "\\n")
"""


def study(size: int, seed: int = 7) -> pd.DataFrame:
    """Return a synthetic study of 109 · size participants, ratings 1–5 on turns of about six conversations each."""
    rng = np.random.default_rng(seed)
    people = 109 * size
    conversations = rng.integers(3, 10, people)
    person = np.repeat(np.arange(people), conversations)
    turns = rng.integers(3, 12, len(person))
    row = np.repeat(np.arange(len(person)), turns)
    turn = np.concatenate([np.arange(1, n + 1) for n in turns])
    task, model = rng.integers(8, size=len(person)), rng.integers(4, size=len(person))
    mean = 3.7 + rng.normal(0, 0.5, people)[person] + rng.normal(0, 0.42, len(person)) + 0.1 * (model - 1.5)
    value = mean[row] - 0.04 * turn + rng.normal(0, 0.7, len(row))
    return pd.DataFrame(
        {
            "participant": pd.array([f"P{p:06d}" for p in person], dtype="str")[row],
            "conversation": pd.array([f"T{c:07d}" for c in range(len(person))], dtype="str")[row],
            "task": pd.array([f"task {t}" for t in task], dtype="str")[row],
            "model": pd.array([f"model {m}" for m in model], dtype="str")[row],
            "turn": turn,
            "overall": np.clip(np.round(value), 1, 5),
        }
    )


def ours(frame: pd.DataFrame, repeats: int) -> tuple[float, float]:
    fits = [fit_linear_mixed(frame, FORMULA) for _ in range(repeats)]
    assert fits[0].converged, fits[0].notes
    return min(fit.fit_seconds for fit in fits), fits[0].log_likelihood


def lme4(frame: pd.DataFrame, repeats: int) -> tuple[float, float] | None:
    if shutil.which("Rscript") is None:
        return None
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "study.csv"
        frame.to_csv(path, index=False)
        command = ["Rscript", "-e", R_SCRIPT, str(path), str(repeats)]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        return None
    seconds, log_likelihood, *_ = done.stdout.split()
    return float(seconds), float(log_likelihood)


def statsmodels(frame: pd.DataFrame) -> tuple[float, float]:
    import statsmodels.formula.api as smf

    began = time.perf_counter()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        fit = smf.mixedlm(
            "overall ~ turn + C(task) + C(model)",
            frame,
            groups="participant",
            re_formula="1",
            vc_formula={"conversation": "0 + C(conversation)"},
        ).fit(reml=True)
    return time.perf_counter() - began, float(fit.llf)


def insteval() -> None:
    """Fit InstEval, three crossed factors, by maximum likelihood: 237721.7688 in lme4's documentation."""
    data = pd.read_csv(REFERENCE / "lme4_InstEval.csv.gz", comment="#")
    data["service"] = data["service"].astype(str)
    began = time.process_time()
    fit = fit_linear_mixed(data, "y ~ service + (1 | s) + (1 | d) + (1 | dept)", reml=False)
    assert abs(fit.deviance - 237721.7688) < 1e-4, fit.deviance
    print(f"InstEval: deviance {fit.deviance:.4f}, {time.process_time() - began:.1f} s of processor time")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sizes", nargs="+", type=int, default=[1, 10, 100])
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--skip-statsmodels", action="store_true")
    options = parser.parse_args()
    insteval()
    fit_linear_mixed(study(1), FORMULA)
    print(f"{'turns':>9} {'ours s':>9} {'lme4 s':>9} {'ratio':>7} {'Δ logLik':>10} {'statsmodels s':>14} {'ratio':>7}")
    for size in options.sizes:
        frame = study(size)
        mine, mine_ll = ours(frame, options.repeats if size > 1 else 10)
        theirs = lme4(frame, options.repeats)
        line = f"{len(frame):>9,} {mine:>9.4f}"
        line += f" {theirs[0]:>9.3f} {theirs[0] / mine:>6.1f}× {mine_ll - theirs[1]:>10.1e}" if theirs else " " * 29
        if not options.skip_statsmodels:
            other = statsmodels(frame)
            line += f" {other[0]:>14.2f} {other[0] / mine:>6.0f}×"
        print(line, flush=True)


if __name__ == "__main__":
    main()
