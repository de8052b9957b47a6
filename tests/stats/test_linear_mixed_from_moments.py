"""A fit from one row of sums per conversation equals the fit from its turns."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from dashboard.stats.formula import FormulaError
from dashboard.stats.linear_mixed import fit_linear_mixed
from dashboard.stats.linear_mixed_from_moments import fit_from_moments
from dashboard.stats.linear_mixed_tests import joint_tests
from dashboard.stats.marginal_means import marginal_means

REFERENCE = Path(__file__).parents[1] / "reference" / "linear_mixed"


@pytest.fixture(scope="module")
def turns() -> pd.DataFrame:
    return pd.read_csv(REFERENCE / "sense7_turns.csv.gz")


def sums_of(turns: pd.DataFrame, outcome: str) -> pd.DataFrame:
    y = turns[outcome]
    t = turns["turn"].where(y.notna())
    parts = pd.DataFrame(
        {"n": y.notna(), "sum_turn": t, "sum_turn2": t**2, "sum_y": y, "sum_y_turn": y * t, "sum_y2": y**2}
    )
    keys = ["participant", "conversation", "task", "model", "desired", "importance"]
    return pd.concat([turns[keys], parts], axis=1).groupby(keys, as_index=False, sort=False).sum()


FORMULAS = [
    "overall ~ turn + task + model + (1 | participant)",
    "overall ~ turn + task + model + desired + importance + (1 | participant/conversation)",
    "overall ~ turn * model + task + (1 + turn | participant) + (1 | conversation)",
    "overall ~ turn * task * model + (1 | conversation)",
    "turn_mean ~ turn + (1 + turn | participant)",
    "overall ~ turn + model + (1 + turn | participant/conversation)",
    "overall ~ turn + model + (turn || participant) + (1 | task)",
    "overall ~ 0 + model + turn + (1 | participant/conversation) + (1 | task)",
]


@pytest.mark.parametrize("formula", FORMULAS)
@pytest.mark.parametrize("reml", [True, False])
def test_sums_give_the_fit_of_the_rows(turns, formula, reml):
    rows = fit_linear_mixed(turns, formula, reml=reml)
    sums = fit_from_moments(sums_of(turns, formula.split(" ")[0]), formula, reml=reml)
    assert sums.formula == rows.formula
    assert sums.n_observations == rows.n_observations
    assert sums.n_groups == rows.n_groups
    assert sums.log_likelihood == pytest.approx(rows.log_likelihood, abs=1e-8)
    assert sums.columns == rows.columns
    np.testing.assert_allclose(sums.terms.iloc[:, 1:], rows.terms.iloc[:, 1:], rtol=1e-5, atol=1e-9)
    np.testing.assert_allclose(sums.variances["variance"], rows.variances["variance"], rtol=1e-5)
    assert sums.r2_marginal == pytest.approx(rows.r2_marginal, rel=1e-6)
    assert sums.icc == pytest.approx(rows.icc, rel=1e-5)
    assert sums.bic == pytest.approx(rows.bic, abs=1e-6)


def test_joint_tests_and_marginal_means_need_no_rows(turns):
    formula = FORMULAS[2]
    rows, sums = fit_linear_mixed(turns, formula), fit_from_moments(sums_of(turns, "overall"), formula)
    np.testing.assert_allclose(joint_tests(sums).iloc[:, 1:], joint_tests(rows).iloc[:, 1:], rtol=1e-5)
    for weights in ("equal", "proportional"):
        expected = marginal_means(rows, "model", weights=weights).iloc[:, 1:]
        found = marginal_means(sums, "model", weights=weights).iloc[:, 1:]
        np.testing.assert_allclose(found, expected, rtol=1e-5)


def test_conversations_without_a_predictor_are_counted_by_turns(turns):
    sums = sums_of(turns, "overall")
    sums.loc[3, "desired"] = np.nan
    fit = fit_from_moments(sums, "overall ~ turn + desired + (1 | participant/conversation)")
    assert fit.n_dropped == sums["n"][3]
    lost = turns["conversation"] == sums["conversation"][3]
    expected = fit_linear_mixed(turns[~lost], "overall ~ turn + desired + (1 | participant/conversation)")
    assert fit.log_likelihood == pytest.approx(expected.log_likelihood, abs=1e-8)


def test_a_determined_column_is_dropped_and_named(turns):
    sums = sums_of(turns, "overall")
    sums["twice"] = 2 * sums["desired"]
    fit = fit_from_moments(sums, "overall ~ turn + desired + twice + turn:twice + turn:desired + (1 | participant)")
    assert fit.design.dropped_columns == ("twice", "turn:desired")
    assert any("twice" in note for note in fit.notes)


@pytest.mark.parametrize(
    ("formula", "words"),
    [
        ("overall ~ log(turn) + (1 | participant)", "turn enters as it is"),
        ("overall ~ I(turn^2) + (1 | participant)", "turn enters as it is"),
        ("overall ~ center(desired) + (1 | participant)", "need rows"),
        ("log(overall) ~ turn + (1 | participant)", "the outcome is taken as it is"),
        ("overall ~ turn + (1 + desired | participant)", "the only random slope is turn"),
        ("overall ~ turn + mood + (1 | participant)", "“mood” is no column"),
        ("overall ~ turn", "needs a random part"),
    ],
)
def test_what_sums_cannot_tell_is_refused(turns, formula, words):
    with pytest.raises(FormulaError) as caught:
        fit_from_moments(sums_of(turns, "overall"), formula)
    assert words in str(caught.value)
