"""Fits change as they must under shift, scale, relabelling and reordering; failures and edges speak plainly."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from dashboard.stats.formula import FormulaError
from dashboard.stats.linear_mixed import fit_linear_mixed
from dashboard.stats.linear_mixed_estimation import estimate
from dashboard.stats.linear_mixed_predict import fitted_values

REFERENCE = Path(__file__).parents[1] / "reference" / "linear_mixed"
FORMULA = "overall ~ turn + model + (1 + turn | participant) + (1 | conversation)"


@pytest.fixture(scope="module")
def turns() -> pd.DataFrame:
    return pd.read_csv(REFERENCE / "sense7_turns.csv.gz")


@pytest.fixture(scope="module")
def usual(turns):
    return fit_linear_mixed(turns, FORMULA)


def test_reordering_rows_changes_nothing(turns, usual):
    shuffled = fit_linear_mixed(turns.sample(frac=1, random_state=3), FORMULA)
    assert shuffled.log_likelihood == pytest.approx(usual.log_likelihood, abs=1e-8)
    np.testing.assert_allclose(shuffled.terms.iloc[:, 1:], usual.terms.iloc[:, 1:], rtol=1e-5, atol=1e-12)


def test_relabelling_groups_changes_nothing(turns, usual):
    renamed = turns.assign(
        participant=turns["participant"].map(lambda p: f"zz{9_999 - int(p[1:])}"),
        conversation=pd.factorize(turns["conversation"])[0],
    )
    fit = fit_linear_mixed(renamed, FORMULA)
    assert fit.log_likelihood == pytest.approx(usual.log_likelihood, abs=1e-8)


@pytest.mark.parametrize(("factor", "shift"), [(10.0, 0.0), (1.0, 1e6), (1e-3, -5.0)])
def test_the_outcomes_unit_and_origin_go_through(turns, usual, factor, shift):
    fit = fit_linear_mixed(turns.assign(overall=turns["overall"] * factor + shift), FORMULA)
    # REML: n − p residual degrees of freedom
    df = usual.n_observations - len(usual.columns)
    assert fit.log_likelihood == pytest.approx(usual.log_likelihood - df * np.log(factor), abs=2e-6)
    expected = usual.coefficients * factor
    expected[0] += shift
    np.testing.assert_allclose(fit.coefficients, expected, rtol=1e-6)
    np.testing.assert_allclose(fit.terms["std_error"], usual.terms["std_error"] * factor, rtol=1e-5)
    np.testing.assert_allclose(fit.terms["df"], usual.terms["df"], rtol=1e-4)
    np.testing.assert_allclose(fit.variances["std_dev"], usual.variances["std_dev"] * factor, rtol=1e-4)


def test_the_origin_of_a_slope_does_not_change_the_model(turns, usual):
    # years instead of turns: correlation with the intercept becomes −1 to many digits, the fit stays
    fit = fit_linear_mixed(turns.assign(turn=turns["turn"] + 2000), FORMULA)
    assert fit.log_likelihood == pytest.approx(usual.log_likelihood, abs=1e-7)
    slope = fit.terms.set_index("term").loc["turn"]
    expected = usual.terms.set_index("term").loc["turn"]
    np.testing.assert_allclose(slope, expected, rtol=1e-5)
    np.testing.assert_allclose(fit.variances["std_dev"][1:], usual.variances["std_dev"][1:], rtol=1e-4)


def test_the_reference_level_does_not_change_the_model(turns, usual):
    fit = fit_linear_mixed(turns, FORMULA, reference={"model": "Llama2-70B"})
    assert fit.log_likelihood == pytest.approx(usual.log_likelihood, abs=1e-8)
    assert fit.columns[2:] == ("model[GPT-3.5]", "model[GPT-4]", "model[GPT-4 empathy prompt]")
    np.testing.assert_allclose(fitted_values(fit)["fitted"], fitted_values(usual)["fitted"], atol=1e-6)


def test_statsmodels_agrees_on_small_data():
    import statsmodels.formula.api as smf

    data = pd.read_csv(REFERENCE / "lme4_sleepstudy.csv")
    ours = fit_linear_mixed(data, "Reaction ~ Days + (1 + Days | Subject)")
    theirs = smf.mixedlm("Reaction ~ Days", data, groups="Subject", re_formula="Days").fit(reml=True, method="lbfgs")
    assert ours.log_likelihood == pytest.approx(theirs.llf, abs=1e-4)
    np.testing.assert_allclose(ours.coefficients, theirs.fe_params, rtol=1e-5)
    np.testing.assert_allclose(ours.terms["std_error"], theirs.bse_fe, rtol=1e-3)
    np.testing.assert_allclose(ours.variances["variance"][0], theirs.cov_re.iloc[0, 0], rtol=1e-3)


def test_three_nested_levels_are_fitted():
    rng = np.random.default_rng(3)
    a, b, c = np.repeat(np.arange(8), 60), np.repeat(np.arange(40), 12), np.repeat(np.arange(160), 3)
    y = rng.normal(size=8)[a] + rng.normal(size=40)[b] + rng.normal(size=160)[c] + rng.normal(size=480)
    data = pd.DataFrame({"y": y, "a": a.astype(str), "b": b.astype(str), "c": c.astype(str)})
    fit = fit_linear_mixed(data, "y ~ 1 + (1 | a/b/c)")
    # the marginal likelihood by full matrices
    from scipy.stats import multivariate_normal

    ml = fit.maximum_likelihood
    V = np.eye(480) * ml.sigma**2
    for (label, group), variance in zip(ml.design.groups.items(), ml.variances["variance"], strict=False):
        assert label in ("a", "a:b", "a:b:c")
        V += variance * (group.codes[:, None] == group.codes)
    expected = multivariate_normal(np.full(480, ml.coefficients[0]), V).logpdf(y)
    assert ml.log_likelihood == pytest.approx(expected, abs=1e-7)


def test_ar1_is_nlmes_corar1(turns):
    # nlme 3.1-162, lme(…, correlation = corAR1(form = ~ turn | participant/conversation)), REML
    empty = fit_linear_mixed(turns, "overall ~ 1 + (1 | participant/conversation)", ar1=True)
    expected = pd.read_csv(REFERENCE / "ar1_inertia.csv", comment="#").set_index("model").loc["corAR1"]
    assert empty.ar1 == pytest.approx(expected["phi"], abs=1e-5)
    assert empty.log_likelihood == pytest.approx(expected["loglik"], abs=1e-6)

    fit = fit_linear_mixed(turns, "overall ~ turn + task + model + (1 | participant/conversation)", ar1=True)
    assert fit.log_likelihood == pytest.approx(-5378.04123281, abs=1e-6)
    assert fit.ar1 == pytest.approx(0.106913713533, abs=2e-5)
    assert fit.coefficients[1] == pytest.approx(-0.0415115270010, rel=1e-4)
    assert fit.terms["std_error"][1] == pytest.approx(0.0048089072163, rel=1e-4)
    assert fit.variances["variance"].tolist() == pytest.approx(
        [0.250828787610, 0.157050245942, 0.513370590893], rel=1e-3
    )
    assert fit.maximum_likelihood.log_likelihood == pytest.approx(-5353.22470244, abs=1e-6)
    assert any("AR(1)" in note for note in fit.notes)
    without = fit_linear_mixed(turns, "overall ~ turn + task + model + (1 | participant/conversation)")
    assert without.terms["std_error"][1] < fit.terms["std_error"][1]


def test_ar1_needs_a_turn_number_once(turns):
    with pytest.raises(FormulaError, match="“turn” once within a “conversation”"):
        fit_linear_mixed(turns.assign(turn=1), "overall ~ 1 + (1 | participant)", ar1=True)
    with pytest.raises(FormulaError, match="column “turn”"):
        fit_linear_mixed(turns.drop(columns="turn"), "overall ~ 1 + (1 | participant)", ar1=True)


def small(**columns) -> pd.DataFrame:
    rng = np.random.default_rng(0)
    base = {"y": rng.normal(size=24), "x": np.tile(np.arange(6.0), 4), "g": np.repeat(list("abcd"), 6)}
    return pd.DataFrame(base | columns)


@pytest.mark.parametrize(
    ("data", "formula", "words"),
    [
        (small(), "y ~ x", "needs a random part"),
        (small(), "y ~ x + (1 | row)", "“row” is no column"),
        (small(g="a"), "y ~ x + (1 | g)", "one group"),
        (small(g=[str(i) for i in range(24)]), "y ~ x + (1 | g)", "24 groups × 1 random effect(s) for 24 rows"),
        (small(y=2.0), "y ~ x + (1 | g)", "has one value (2) in all 24 rows"),
        (small(y=np.nan), "y ~ x + (1 | g)", "No row has all columns"),
    ],
)
def test_what_cannot_be_fitted_is_refused_with_a_sentence(data, formula, words):
    with pytest.raises(FormulaError) as caught:
        fit_linear_mixed(data, formula)
    assert words in str(caught.value)


def test_a_failed_fit_shows_no_numbers_and_says_what_to_do():
    data = small()
    data["y"] = 3 * data["x"] + data["g"].map({"a": 1.0, "b": 5.0, "c": -2.0, "d": 4.0})
    fit = fit_linear_mixed(data, "y ~ x + (1 | g)")
    assert not fit.converged
    assert fit.terms.empty
    assert fit.variances.empty
    assert np.isnan(fit.log_likelihood)
    assert np.isnan(fit.r2_marginal)
    assert np.isnan(fit.aic)
    assert fit.icc == {}
    assert any("Use fewer" in note or "Simplify" in note for note in fit.notes)
    assert fit.to_dict()["terms"] == []


def test_a_start_that_ends_on_a_saddle_is_left_again():
    # zero variance is stationary by symmetry: a run that arrives there must notice that the deviance falls away
    rng = np.random.default_rng(11)
    g, c = np.repeat(np.arange(25), 24), np.repeat(np.arange(150), 4)
    y = 0.5 * rng.normal(size=25)[g] + 0.25 * rng.normal(size=150)[c] + rng.normal(size=600)
    data = pd.DataFrame({"y": y, "g": g.astype(str), "c": c.astype(str)})
    fit = fit_linear_mixed(data, "y ~ 1 + (1 | g/c)")
    assert fit.estimate.free.all()
    stuck = estimate(fit.moments, reml=True, start=np.array([1e-9, fit.estimate.theta[1]]), second_start=False)
    assert stuck.deviance == pytest.approx(fit.deviance, abs=1e-8)


def test_few_groups_and_dropped_rows_are_noted():
    data = small()
    data.loc[0, "x"] = np.nan
    fit = fit_linear_mixed(data, "y ~ x + (1 | g)")
    assert fit.n_dropped == 1
    assert fit.dropped == {"x": 1}
    assert any("1 of 24 rows" in note for note in fit.notes)
    assert any("4 groups: too few" in note for note in fit.notes)


def test_no_fixed_effect_at_all_is_a_model_too():
    fit = fit_linear_mixed(small(), "y ~ 0 + (1 | g)")
    assert fit.converged
    assert fit.terms.empty


def test_a_second_run_gives_the_same_digits(turns, usual):
    again = fit_linear_mixed(turns, FORMULA)
    assert again.deviance == usual.deviance
    assert again.coefficients.tolist() == usual.coefficients.tolist()
