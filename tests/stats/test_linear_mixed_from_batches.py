"""A fit from batches of rows equals the fit from all rows at once, whatever varies within conversations."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from dashboard.stats.formula import FormulaError
from dashboard.stats.linear_mixed import fit_linear_mixed
from dashboard.stats.linear_mixed_from_batches import Batch, fit_from_batches
from dashboard.stats.linear_mixed_tests import joint_tests
from dashboard.stats.marginal_means import marginal_means

REFERENCE = Path(__file__).parents[1] / "reference" / "linear_mixed"
CONSTANT = ["participant", "conversation", "task", "model", "desired", "importance"]
VARYING = ["overall", "turn_mean", "turn"]


@pytest.fixture(scope="module")
def turns() -> pd.DataFrame:
    return pd.read_csv(REFERENCE / "sense7_turns.csv.gz")


def fit_batches(turns, formula, *, size=700, **options):
    """Fit from batches of rows that end anywhere, within conversations too."""
    conversations = turns[CONSTANT].drop_duplicates("conversation").reset_index(drop=True)
    place = conversations.reset_index().set_index("conversation")["index"].loc[turns["conversation"]].to_numpy()

    def batches():
        for start in range(0, len(turns), size):
            part = turns.iloc[start : start + size]
            yield Batch(place[start : start + size], {name: part[name].to_numpy(dtype=float) for name in VARYING})

    return fit_from_batches(conversations, batches, formula, varying=VARYING, **options)


FORMULAS = [
    "overall ~ turn + I(turn^2) + (1 | participant/conversation)",
    "overall ~ log(turn) * model + desired + (1 | participant/conversation)",
    "overall ~ turn_mean + task + (1 | participant)",
    "overall ~ within(turn_mean) + between(turn_mean) + turn + (1 | participant/conversation)",
    "overall ~ center(turn) + model + (1 + turn | participant) + (1 | conversation)",
    "overall ~ turn + (0 + log(turn) | participant) + (1 | conversation)",
    "log(overall) ~ sqrt(turn) + importance + (1 | conversation)",
    "overall ~ factor(turn) + model + (1 | participant/conversation)",
    "overall ~ 0 + model + turn_mean + (1 | participant/conversation) + (1 | task)",
    "overall ~ turn + turn_mean + (turn_mean || participant) + (1 | task) + (1 | model)",
]


@pytest.mark.parametrize("formula", FORMULAS)
def test_batches_give_the_fit_of_the_rows(turns, formula):
    turns = turns[turns["turn"] <= 12] if "factor" in formula else turns
    rows = fit_linear_mixed(turns, formula)
    found = fit_batches(turns, formula)
    assert found.formula == rows.formula
    assert (found.n_observations, found.n_dropped, found.n_groups) == (rows.n_observations, rows.n_dropped, rows.n_groups)  # fmt: skip
    assert found.columns == rows.columns
    assert found.log_likelihood == pytest.approx(rows.log_likelihood, abs=1e-8)
    np.testing.assert_allclose(found.terms.iloc[:, 1:], rows.terms.iloc[:, 1:], rtol=2e-5, atol=1e-9)
    np.testing.assert_allclose(found.variances["variance"], rows.variances["variance"], rtol=1e-5)
    np.testing.assert_allclose(found.variances["correlation"], rows.variances["correlation"], rtol=1e-4)
    assert found.r2_marginal == pytest.approx(rows.r2_marginal, rel=1e-6)
    assert found.icc == pytest.approx(rows.icc, rel=1e-5)
    assert found.bic == pytest.approx(rows.bic, abs=1e-6)


@pytest.mark.parametrize("size", [1, 10**6])
def test_wherever_batches_end(turns, size):
    turns = turns[turns["participant"].isin(turns["participant"].unique()[:12])]
    formula = FORMULAS[1]
    assert fit_batches(turns, formula, size=size).log_likelihood == pytest.approx(
        fit_linear_mixed(turns, formula).log_likelihood, abs=1e-9
    )


def test_conversations_may_come_in_pieces_and_in_any_order(turns):
    shuffled = turns.sample(frac=1, random_state=3)
    fit = fit_batches(shuffled, FORMULAS[3])
    assert fit.log_likelihood == pytest.approx(fit_linear_mixed(turns, FORMULAS[3]).log_likelihood, abs=1e-8)


def test_missing_cells_of_either_kind_leave_the_same_rows_out(turns):
    turns = turns.copy()
    turns.loc[turns["conversation"] == turns["conversation"].iloc[40], "desired"] = np.nan
    turns.loc[turns.index[::11], "turn_mean"] = np.nan
    formula = "overall ~ within(turn_mean) + desired + model + (1 | participant/conversation)"
    rows, found = fit_linear_mixed(turns, formula), fit_batches(turns, formula)
    assert (found.n_observations, found.n_dropped, found.n_groups) == (rows.n_observations, rows.n_dropped, rows.n_groups)  # fmt: skip
    assert found.log_likelihood == pytest.approx(rows.log_likelihood, abs=1e-8)


def test_what_follows_from_a_fit_needs_no_rows(turns):
    formula = FORMULAS[1]
    rows, found = fit_linear_mixed(turns, formula), fit_batches(turns, formula)
    np.testing.assert_allclose(joint_tests(found).iloc[:, 1:], joint_tests(rows).iloc[:, 1:], rtol=2e-5)
    for weights in ("equal", "proportional"):
        expected = marginal_means(rows, "model", weights=weights).iloc[:, 1:]
        np.testing.assert_allclose(marginal_means(found, "model", weights=weights).iloc[:, 1:], expected, rtol=2e-5)


def test_reference_levels_and_determined_columns(turns):
    formula = "overall ~ turn + I(2 * turn) + factor(turn) + model + (1 | participant)"
    turns = turns[turns["turn"] <= 6]
    rows = fit_linear_mixed(turns, formula, reference={"model": "GPT-4", "factor(turn)": "3"})
    found = fit_batches(turns, formula, reference={"model": "GPT-4", "factor(turn)": "3"})
    assert found.design.levels == rows.design.levels
    assert found.design.dropped_columns == rows.design.dropped_columns != ()
    assert found.log_likelihood == pytest.approx(rows.log_likelihood, abs=1e-8)


@pytest.mark.parametrize(
    ("formula", "words"),
    [
        ("overall ~ task + (1 | turn)", "cannot group a random part of so many turns"),
        ("overall ~ center(within(turn)) + (1 | participant)", "stands inside another function"),
        ("overall ~ turn + (1 | participant) + (1 + turn | task)", "an intercept only"),
        ("overall ~ log(turn - 1) + (1 | participant)", "needs numbers above 0"),
        ("overall ~ turn + moon + (1 | participant)", "“moon” is no column"),
        ("overall ~ turn + model", "random part"),
    ],
)
def test_what_batches_cannot_tell_is_refused(turns, formula, words):
    with pytest.raises(FormulaError) as caught:
        fit_batches(turns, formula)
    assert words in str(caught.value)
