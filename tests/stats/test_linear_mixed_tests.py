"""Joint tests, marginal means, contrasts and likelihood-ratio tests are those of lmerTest, emmeans and lme4."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from dashboard.stats.formula import FormulaError
from dashboard.stats.linear_mixed import fit_linear_mixed
from dashboard.stats.linear_mixed_tests import compare, joint_tests, mixture_p, variance_tests
from dashboard.stats.marginal_means import contrasts, holm, marginal_means
from dashboard.vocabulary import Refused

REFERENCE = Path(__file__).parents[1] / "reference" / "linear_mixed"


def reference(name: str) -> pd.DataFrame:
    return pd.read_csv(REFERENCE / name, comment="#")


FORMULAS = reference("lmer_terms_satterthwaite.csv").groupby("model")["formula"].first().to_dict()


@pytest.fixture(scope="module")
def turns() -> pd.DataFrame:
    return reference("sense7_turns.csv.gz")


@pytest.fixture(scope="module")
def fits(turns):
    return {model: fit_linear_mixed(turns, formula) for model, formula in FORMULAS.items()}


@pytest.fixture(scope="module")
def gap():
    data = reference("sense7_conversations.csv.gz")
    data["gap"] = 100 * (data["experienced"] - 1) / 4 - 100 * (data["desired"] - 1) / 2
    return fit_linear_mixed(data, "gap ~ task + (1 | participant)")


@pytest.mark.parametrize("model", FORMULAS)
def test_joint_tests_are_lmertests_type_three(fits, model):
    expected = reference("lmer_joint_tests.csv")
    expected = expected[expected["model"] == model].set_index("term")
    found = joint_tests(fits[model]).set_index("term")
    assert list(found.index) == list(expected.index)
    assert found["df"].tolist() == expected["num_df"].tolist()
    np.testing.assert_allclose(found["statistic"], expected["f"], rtol=1e-4)
    np.testing.assert_allclose(found["df_denominator"], expected["den_df"], rtol=1e-5)
    np.testing.assert_allclose(found["p_value"], expected["p"], rtol=5e-3)


def test_joint_tests_do_not_depend_on_the_reference_level(turns):
    formula = "overall ~ turn * model + task + (1 | participant)"
    usual = joint_tests(fit_linear_mixed(turns, formula))
    other = joint_tests(fit_linear_mixed(turns, formula, reference={"model": "Llama2-70B", "task": "Brainstorming"}))
    np.testing.assert_allclose(usual["statistic"], other["statistic"], rtol=1e-7)
    np.testing.assert_allclose(usual["df_denominator"], other["df_denominator"], rtol=5e-4)


def test_marginal_means_are_those_of_emmeans(fits):
    expected = reference("emmeans_model.csv")
    for (model, weights), rows in expected.groupby(["model", "weights"]):
        found = marginal_means(fits[model], "model", weights=weights)
        assert found["model"].tolist() == rows["model.1"].tolist()
        np.testing.assert_allclose(found["estimate"], rows["emmean"], rtol=1e-7)
        np.testing.assert_allclose(found["std_error"], rows["SE"], rtol=1e-5)
        np.testing.assert_allclose(found["df"], rows["df"], rtol=1e-3)
        np.testing.assert_allclose(found["conf_low"], rows["lower.CL"], rtol=1e-5)
        np.testing.assert_allclose(found["conf_high"], rows["upper.CL"], rtol=1e-5)


def test_holm_contrasts_are_those_of_emmeans(fits, gap):
    for fit, factor, file in (
        (fits["m2"], "model", "emmeans_model_contrasts_holm.csv"),
        (gap, "task", "gap_contrasts_holm.csv"),
    ):
        expected = reference(file)
        found = contrasts(fit, factor)
        plain = expected["contrast"].str.replace("[()]", "", regex=True)
        assert found["contrast"].tolist() == plain.tolist()
        np.testing.assert_allclose(found["estimate"], expected["estimate"], rtol=1e-6)
        np.testing.assert_allclose(found["std_error"], expected["SE"], rtol=1e-5)
        np.testing.assert_allclose(found["df"], expected["df"], rtol=1e-3)
        np.testing.assert_allclose(found["p_adjusted"], expected["p.value"], rtol=5e-3)


def test_the_gap_differs_between_tasks_as_in_lmertest_and_emmeans(gap):
    joint = joint_tests(gap).iloc[0]
    expected = reference("gap_joint_test.csv").iloc[0]
    assert joint["statistic"] == pytest.approx(expected["F.value"], rel=1e-6)
    assert joint["df_denominator"] == pytest.approx(expected["DenDF"], rel=1e-5)
    means, emmeans = marginal_means(gap, "task"), reference("gap_emmeans.csv")
    np.testing.assert_allclose(means["estimate"], emmeans["emmean"], rtol=1e-6)
    np.testing.assert_allclose(means["std_error"], emmeans["SE"], rtol=1e-5)
    np.testing.assert_allclose(means["df"], emmeans["df"], rtol=1e-3)


def test_marginal_means_of_combinations_average_to_those_of_one_factor(fits):
    both = marginal_means(fits["m5"], ["task", "model"])
    assert len(both) == 32
    averaged = both.groupby("model")["estimate"].mean()
    np.testing.assert_allclose(averaged, marginal_means(fits["m5"], "model")["estimate"], rtol=1e-12)


def test_a_covariate_can_be_held_elsewhere(fits):
    at_one = marginal_means(fits["m1"], "model", at={"turn": 1})
    at_two = marginal_means(fits["m1"], "model", at={"turn": 2})
    slope = fits["m1"].terms.set_index("term").loc["turn", "estimate"]
    np.testing.assert_allclose(at_two["estimate"] - at_one["estimate"], slope, rtol=1e-10)


def test_marginal_means_of_what_is_no_factor_are_refused(fits):
    with pytest.raises(FormulaError, match="“turn” is no factor of the model .* its factors are: task, model"):
        marginal_means(fits["m1"], "turn")


def test_holm_steps_down_and_never_decreases():
    # by hand: 0.01·3, max(0.02·2, 0.03), max(0.05·1, 0.04)
    np.testing.assert_allclose(holm(np.array([0.05, 0.01, np.nan, 0.02])), [0.05, 0.03, np.nan, 0.04])
    assert holm(np.array([0.9, 0.8])).tolist() == [1.0, 1.0]


def test_variance_tests_are_those_of_lme4(turns):
    expected = reference("lrt_variances.csv").set_index("test")
    tests = {
        "conversation intercept | participant": ("overall ~ turn + (1 | participant/conversation)", 1),
        "slope+cov | participant": ("overall ~ turn + (1 + turn | participant)", 0),
        "slope+cov | participant+conversation": ("overall ~ turn + (1 + turn | participant) + (1 | conversation)", 0),
    }
    for name, (formula, row) in tests.items():
        found = variance_tests(fit_linear_mixed(turns, formula)).iloc[row]
        assert found["statistic"] == pytest.approx(expected.loc[name, "lr_reml"], abs=1e-6)
        assert found["p_value"] == pytest.approx(expected.loc[name, "p_mixture_reml"], rel=1e-4)
    sleep = fit_linear_mixed(reference("lme4_sleepstudy.csv"), "Reaction ~ Days + (Days | Subject)")
    found = variance_tests(sleep).iloc[0]
    assert found["statistic"] == pytest.approx(expected.loc["sleepstudy slope+cov", "lr_reml"], abs=1e-6)
    assert found["p_value"] == pytest.approx(expected.loc["sleepstudy slope+cov", "p_mixture_reml"], rel=1e-4)


def test_mixtures_at_their_edges():
    assert mixture_p(0.0, 1) == 1.0
    # half of chi-squared(1)'s 5 % point
    assert mixture_p(3.841458820694124, 1) == pytest.approx(0.025)
    assert np.isnan(mixture_p(4.0, 3))


def test_nested_fixed_parts_are_compared_on_ml_refits(turns):
    small = fit_linear_mixed(turns, "overall ~ turn + (1 | participant)")
    large = fit_linear_mixed(turns, "overall ~ turn + model + (1 | participant)")
    table = compare([large, small])
    assert table["model"].tolist() == [small.formula, large.formula]
    by_hand = small.maximum_likelihood.deviance - large.maximum_likelihood.deviance
    assert table["statistic"][1] == pytest.approx(by_hand)
    assert table["df"][1] == 3
    assert table["p_value"][1] < 1e-20


def test_models_that_are_not_comparable_are_refused(turns):
    base = fit_linear_mixed(turns, "overall ~ turn + (1 | participant)")
    with pytest.raises(Refused, match="not nested"):
        compare([base, fit_linear_mixed(turns, "overall ~ task + (1 | participant)")])
    with pytest.raises(Refused, match="one outcome only"):
        compare([base, fit_linear_mixed(turns, "turn_mean ~ turn + task + (1 | participant)")])
    with pytest.raises(Refused, match="same rows only"):
        compare([base, fit_linear_mixed(turns.iloc[5:], "overall ~ turn + task + (1 | participant)")])
