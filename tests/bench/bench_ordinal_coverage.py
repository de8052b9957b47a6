"""Bias and coverage of ordinal mixed fits over seeded data sets with known effects.

Run: python tests/bench/bench_ordinal_coverage.py [--n 200]
Prints a Markdown table: nested fits, and participant-only fits of the same data with their two kinds of errors.
"""

from __future__ import annotations

import os

os.environ.setdefault("OMP_NUM_THREADS", "1")

import argparse

import numpy as np

from dashboard.stats.ordinal_mixed import fit_cumulative_logit

BETA = np.array([0.5, -0.1, 0.6])
NAMES = ["conversation's covariate", "turn", "participant's covariate"]
SD_PARTICIPANT, SD_CONVERSATION = 1.4, 1.1


def simulate(seed: int, n_participants: int = 60) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Return ratings 1–5, columns, participants and conversations: 2–8 conversations of 2–11 turns each."""
    rng = np.random.default_rng(seed)
    person = np.repeat(np.arange(n_participants), rng.integers(2, 9, n_participants))
    lengths = rng.integers(2, 12, len(person))
    talk = np.repeat(np.arange(len(person)), lengths)
    participant = person[talk]
    turn = np.concatenate([np.arange(1, n + 1) for n in lengths])
    first, third = rng.integers(0, 2, len(person))[talk], rng.normal(size=n_participants)[participant]
    X = np.column_stack([first, turn, third]).astype(float)
    latent = X @ BETA + SD_PARTICIPANT * rng.normal(size=n_participants)[participant]
    latent = latent + SD_CONVERSATION * rng.normal(size=len(person))[talk] + rng.logistic(size=len(talk))
    return 1 + np.searchsorted([-4, -2.2, -0.3, 1.8], latent), X, participant, talk


def fit_both(seed: int) -> np.ndarray:
    """Return estimates, errors and hits of the nested fit, then those of the participant-only fit."""
    y, X, participant, conversation = simulate(seed)
    nested = fit_cumulative_logit(y, X, participant=participant, conversation=conversation, term_names=NAMES)
    simple = fit_cumulative_logit(y, X, participant=participant, term_names=NAMES)
    t, s = nested.terms, simple.terms
    hits = (t.conf_low < BETA) & (t.conf_high > BETA)
    return np.column_stack([t.estimate, t.std_error, hits, s.estimate, s.std_error, s.std_error_model])


def main() -> None:
    """Simulate, fit, print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--n", type=int, default=200)
    options = parser.parse_args()
    fits = np.array([fit_both(1000 + i) for i in range(options.n)])
    mean, spread = fits.mean(axis=0), fits.std(axis=0)
    print("| term | true | nested: mean, SD, mean SE | coverage | participant only: SD, clustered SE, own SE |")
    print("|---|---|---|---|---|")
    for j, name in enumerate(NAMES):
        nested = f"{mean[j, 0]:.3f}, {spread[j, 0]:.3f}, {mean[j, 1]:.3f}"
        simple = f"{spread[j, 3]:.3f}, {mean[j, 4]:.3f}, {mean[j, 5]:.3f}"
        print(f"| {name} | {BETA[j]} | {nested} | {100 * mean[j, 2]:.1f} % | {simple} |")


if __name__ == "__main__":
    main()
