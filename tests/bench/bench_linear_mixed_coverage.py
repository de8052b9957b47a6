"""Coverage of the 95 % intervals of fixed effects over seeded data sets, unbalanced and singular cases included.

    OMP_NUM_THREADS=1 python tests/bench/bench_linear_mixed_coverage.py [--data-sets 2000] [--people 24]

Each data set: `people` participants with 1–9 conversations of 1–11 rated turns; a participant's trait (two groups), a
conversation's task (two levels), and the turn number have known effects. Model: y ~ turn + task + trait +
(1 | participant/conversation), REML, Satterthwaite. `singular` has no conversation variance, so that about half of
its fits land on the boundary.
"""

from __future__ import annotations

import argparse
import time

import numpy as np
import pandas as pd

from dashboard.stats.linear_mixed import fit_linear_mixed

TRUE = {"(Intercept)": 3.5, "turn": -0.05, "task[b]": 0.3, "trait[v]": -0.4}
CASES = {"three levels": (0.5, 0.4), "singular": (0.5, 0.0), "no participant variance": (0.0, 0.4)}
FORMULA = "y ~ turn + task + trait + (1 | participant/conversation)"


def data_set(seed: int, people: int, sd_person: float, sd_conversation: float) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    person = np.repeat(np.arange(people), rng.integers(1, 10, people))
    lengths = rng.integers(1, 12, len(person))
    conversation = np.repeat(np.arange(len(person)), lengths)
    turn = np.concatenate([np.arange(1, n + 1) for n in lengths]).astype(float)
    task, trait = rng.integers(2, size=len(person)), np.arange(people) % 2
    level = sd_person * rng.normal(size=people)[person] + sd_conversation * rng.normal(size=len(person))
    mean = TRUE["(Intercept)"] + TRUE["task[b]"] * task + TRUE["trait[v]"] * trait[person] + level
    y = mean[conversation] + TRUE["turn"] * turn + 0.7 * rng.normal(size=len(turn))
    rows = {
        "y": y,
        "turn": turn,
        "task": np.array(["a", "b"])[task][conversation],
        "trait": np.array(["u", "v"])[trait][person][conversation],
        "participant": person[conversation],
        "conversation": conversation,
    }
    return pd.DataFrame(rows)


def coverage(case: str, n_sets: int, people: int) -> tuple[pd.Series, int, int]:
    """Return the share of intervals that hold the true effect, by term; boundary fits; failed fits."""
    truth = pd.Series(TRUE)
    hits, boundary, failed = pd.Series(0, index=truth.index), 0, 0
    for seed in range(n_sets):
        fit = fit_linear_mixed(data_set(seed, people, *CASES[case]), FORMULA)
        if not fit.converged:
            failed += 1
            continue
        boundary += not fit.estimate.free.all()
        terms = fit.terms.set_index("term")
        hits += ((terms["conf_low"] <= truth) & (truth <= terms["conf_high"])).astype(int)
    return hits / (n_sets - failed), boundary, failed


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data-sets", type=int, default=2000)
    parser.add_argument("--people", type=int, default=24)
    options = parser.parse_args()
    for case in CASES:
        began = time.perf_counter()
        shares, boundary, failed = coverage(case, options.data_sets, options.people)
        figures = ", ".join(f"{term} {share:.2%}" for term, share in shares.items())
        seconds = time.perf_counter() - began
        print(f"{case}: {figures}; at the boundary {boundary}, failed {failed} ({seconds:.0f} s)", flush=True)


if __name__ == "__main__":
    main()
