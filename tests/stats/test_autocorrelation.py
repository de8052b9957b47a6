"""The group's AR(1) within conversations, against nlme, simulated ratings and edges."""

import math
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from dashboard.stats.autocorrelation import fit_autocorrelation
from dashboard.stats.response_styles import Turns

REFERENCE = Path(__file__).parents[1] / "reference" / "variability"
GOLDEN = Path(__file__).parents[2].parent / "shared" / "data" / "golden"


def turns_of(frame):
    known = frame[frame["overall"].notna()].sort_values(["participant", "conversation", "turn"])
    return Turns(
        pd.factorize(known["participant"])[0],
        pd.factorize(known["conversation"])[0],
        known["turn"].to_numpy(),
        known["overall"].to_numpy(dtype=float),
        1.0,
        5.0,
        5,
    )


def test_agrees_with_nlme():
    table = pd.read_csv(REFERENCE / "expected.csv")
    theirs = table[table["case"] == "ar1"].set_index("term")["value"]
    found = fit_autocorrelation(turns_of(pd.read_csv(REFERENCE / "turns.csv")))
    assert found.phi == pytest.approx(theirs["phi"], rel=1e-4)
    assert found.log_likelihood == pytest.approx(theirs["log_likelihood"], abs=1e-6)


@pytest.mark.skipif(not GOLDEN.is_dir(), reason="the shared golden numbers are not on this machine")
def test_agrees_with_nlme_where_turns_are_unrated():
    golden = pd.read_csv(GOLDEN / "ar1_inertia.csv", comment="#").set_index("model")
    found = fit_autocorrelation(turns_of(pd.read_csv(GOLDEN / "sense7_turns.csv")))
    assert found.phi == pytest.approx(golden.loc["corAR1", "phi"], rel=1e-4)
    assert found.log_likelihood == pytest.approx(golden.loc["corAR1", "loglik"], abs=1e-5)
    assert found.log_likelihood_without == pytest.approx(golden.loc["none", "loglik"], abs=1e-5)
    assert found.conf_low < found.phi < found.conf_high


@pytest.mark.parametrize("phi", [-0.3, 0.0, 0.5])
def test_recovers_what_was_simulated(phi):
    rng = np.random.default_rng(11)
    rows = []
    for chat in range(160):
        level = rng.normal(0, 0.5) + (chat // 4) % 7 / 4
        error = rng.normal()
        for turn in range(1, 13):
            rows.append((chat // 4, chat, turn, level + error))
            error = phi * error + math.sqrt(1 - phi**2) * rng.normal()
    found = fit_autocorrelation(
        turns_of(pd.DataFrame(rows, columns=["participant", "conversation", "turn", "overall"]))
    )
    assert found.conf_low < phi < found.conf_high
    assert found.phi == pytest.approx(phi, abs=0.07)
    assert (found.p_value < 0.001) == (phi != 0)


def test_a_shift_and_a_stretch_change_nothing():
    frame = pd.read_csv(REFERENCE / "turns.csv")
    moved = frame.assign(overall=25 * frame["overall"] - 7)
    assert fit_autocorrelation(turns_of(moved)).phi == pytest.approx(fit_autocorrelation(turns_of(frame)).phi, abs=1e-5)


@pytest.mark.parametrize(
    ("rows", "why"),
    [
        ([("P", "c", turn, 3 + turn % 2) for turn in range(1, 15)], "two participants"),
        ([(f"P{i % 3}", f"c{i}", 1, i % 5) for i in range(12)], "pairs"),
        ([(f"P{i % 3}", f"c{i}", turn, 4) for i in range(12) for turn in (1, 2, 3)], "equal"),
        ([], "two participants"),
    ],
)
def test_says_why_not(rows, why):
    found = fit_autocorrelation(
        turns_of(pd.DataFrame(rows, columns=["participant", "conversation", "turn", "overall"]))
    )
    assert why in found.problem
    assert math.isnan(found.phi)
