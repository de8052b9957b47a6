"""Linear mixed models give the numbers of lme4, lmerTest, performance and the books."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from dashboard.stats.formula import design, parse_formula
from dashboard.stats.linear_mixed import fit_linear_mixed, refit
from dashboard.stats.linear_mixed_deviance import Deviance
from dashboard.stats.linear_mixed_moments import moments_of_design

REFERENCE = Path(__file__).parents[1] / "reference" / "linear_mixed"


def reference(name: str) -> pd.DataFrame:
    return pd.read_csv(REFERENCE / name, comment="#")


@pytest.fixture(scope="module")
def turns() -> pd.DataFrame:
    return reference("sense7_turns.csv.gz")


@pytest.fixture(scope="module")
def sleepstudy() -> pd.DataFrame:
    return reference("lme4_sleepstudy.csv")


def published(table: pd.DataFrame, term: str) -> tuple[float, float]:
    row = table.set_index("term").loc[term]
    return row["estimate"], row["std_error"]


def test_sleepstudy_slopes_are_those_of_bates_et_al_2015(sleepstudy):
    # Bates, Mächler, Bolker & Walker (2015), J. Stat. Softw. 67(1), section 1: REML criterion 1743.6
    fit = fit_linear_mixed(sleepstudy, "Reaction ~ Days + (Days | Subject)")
    assert fit.deviance == pytest.approx(1743.628, abs=5e-4)
    assert published(fit.terms, "(Intercept)") == pytest.approx((251.405, 6.825), abs=5e-4)
    assert published(fit.terms, "Days") == pytest.approx((10.467, 1.546), abs=5e-4)
    assert fit.variances["variance"].tolist() == pytest.approx([612.10, 35.07, 654.94], rel=5e-5)
    assert fit.variances["correlation"][1] == pytest.approx(0.066, abs=5e-4)
    assert fit.maximum_likelihood.deviance == pytest.approx(1751.9393, abs=5e-5)
    # lmerTest: 17 degrees of freedom for both, exactly
    assert fit.terms["df"].tolist() == pytest.approx([17, 17], rel=1e-4)


def test_dyestuff_penicillin_pastes_orthodont_are_those_of_the_books():
    # lme4's documentation (Dyestuff, Penicillin, Pastes) and Pinheiro & Bates (2000), chapter 1 (Orthodont)
    dyestuff = fit_linear_mixed(reference("lme4_Dyestuff.csv"), "Yield ~ 1 + (1 | Batch)")
    assert dyestuff.deviance == pytest.approx(319.6543, abs=5e-5)
    assert dyestuff.maximum_likelihood.deviance == pytest.approx(327.3271, abs=5e-5)

    crossed = "diameter ~ 1 + (1 | plate) + (1 | sample)"
    penicillin = fit_linear_mixed(reference("lme4_Penicillin.csv"), crossed, reml=False)
    assert penicillin.deviance == pytest.approx(332.1883, abs=5e-5)
    assert penicillin.variances["std_dev"].tolist() == pytest.approx([0.84557, 1.77067, 0.54993], abs=5e-5)

    pastes = fit_linear_mixed(reference("lme4_Pastes.csv"), "strength ~ 1 + (1 | batch/cask)", reml=False)
    assert pastes.deviance == pytest.approx(247.9945, abs=5e-5)
    assert pastes.n_groups == {"batch": 10, "batch:cask": 30}

    orthodont = reference("nlme_Orthodont.csv").query("Sex == 'Female'")
    girls = fit_linear_mixed(orthodont, "distance ~ age + (1 | Subject)")
    assert girls.log_likelihood == pytest.approx(-70.609, abs=5e-4)
    assert published(girls.terms, "(Intercept)") == pytest.approx((17.3727, 0.85874), abs=1e-4)
    assert published(girls.terms, "age") == pytest.approx((0.4795, 0.05259), abs=5e-5)


MODELS = reference("lmer_terms_satterthwaite.csv")[["model", "formula"]].drop_duplicates()


@pytest.fixture(scope="module", params=MODELS.itertuples(index=False), ids=lambda m: m.model)
def golden(request, turns):
    return request.param.model, fit_linear_mixed(turns, request.param.formula)


def plain(term: str) -> str:
    return term.replace("[", "").replace("]", "")


def test_terms_are_those_of_lmertest(golden):
    model, fit = golden
    expected = reference("lmer_terms_satterthwaite.csv").pipe(lambda t: t[t["model"] == model]).set_index("term")
    terms = fit.terms.assign(term=fit.terms["term"].map(plain)).set_index("term")
    assert list(terms.index) == list(expected.index)
    np.testing.assert_allclose(terms["estimate"], expected["estimate"], atol=1e-6)
    np.testing.assert_allclose(terms["std_error"], expected["std_error"], rtol=1e-5)
    np.testing.assert_allclose(terms["df"], expected["df"], rtol=1e-4)
    np.testing.assert_allclose(terms["statistic"], expected["statistic"], rtol=1e-4, atol=1e-5)
    np.testing.assert_allclose(terms["p_value"], expected["p_value"], rtol=2e-3, atol=1e-12)


def test_likelihoods_criteria_and_r2_are_those_of_lme4_and_performance(golden):
    model, fit = golden
    expected = reference("lmer_fit_statistics.csv").set_index("model").loc[model]
    assert fit.converged
    assert fit.log_likelihood == pytest.approx(expected["reml_loglik"], abs=1e-8)
    assert fit.maximum_likelihood.log_likelihood == pytest.approx(expected["ml_loglik"], abs=1e-8)
    assert fit.aic == pytest.approx(expected["ml_aic"], abs=1e-6)
    assert fit.bic == pytest.approx(expected["ml_bic"], abs=1e-6)
    assert fit.r2_marginal == pytest.approx(expected["r2_marginal"], abs=1e-6)
    assert fit.r2_conditional == pytest.approx(expected["r2_conditional"], abs=1e-6)


def test_variances_are_those_of_lme4(golden):
    model, fit = golden
    expected = reference("lmer_variances.csv").pipe(lambda t: t[t["model"] == model])
    renamed = {"Residual": "residual", "conversation:participant": "participant:conversation"}
    single = expected[expected["var2"].isna()]
    expected_sd = {(renamed.get(r.group, r.group), r.var1): r.sd_or_cor for r in single.itertuples()}
    for row in fit.variances.itertuples():
        key = (row.group, row.term or np.nan)
        found = next(
            v for k, v in expected_sd.items() if k[0] == key[0] and (k[1] == key[1] or row.group == "residual")
        )
        assert row.std_dev == pytest.approx(found, rel=1e-5)
        assert row.variance == pytest.approx(found**2, rel=2e-5)
    correlations = expected[expected["var2"].notna()]["sd_or_cor"].tolist()
    assert fit.variances["correlation"].dropna().tolist() == pytest.approx(correlations, abs=1e-4)


def test_a_zero_variance_lands_on_the_boundary_exactly_with_the_df_of_the_reduced_model():
    data = reference("singular_case_data.csv.gz")
    fit = fit_linear_mixed(data, "shuf ~ turn + model + (1 | participant/conversation)")
    reduced = fit_linear_mixed(data, "shuf ~ turn + model + (1 | participant)")
    variances = fit.variances.set_index("group")["variance"]
    assert variances["participant:conversation"] == 0.0
    assert fit.converged
    assert any("exactly 0" in note and "participant:conversation" in note for note in fit.notes)
    assert fit.deviance == pytest.approx(reduced.deviance, abs=1e-8)
    expected = reference("singular_case.csv")
    expected = expected[expected["fit"] == "(1|participant) only"]
    for table in (fit.terms, reduced.terms):
        np.testing.assert_allclose(table["estimate"], expected["Estimate"], atol=1e-6)
        np.testing.assert_allclose(table["std_error"], expected["Std..Error"], rtol=1e-5)
        np.testing.assert_allclose(table["df"], expected["df"], rtol=1e-4)


def test_variance_components_of_every_outcome_are_those_of_lme4(turns):
    expected = reference("variance_components.csv").set_index("outcome")
    for outcome in ("overall", "turn_mean", "affective"):
        row = expected.loc[outcome]
        fit = fit_linear_mixed(turns, f"{outcome} ~ 1 + (1 | participant/conversation)")
        assert fit.n_observations == row["n"]
        assert fit.log_likelihood == pytest.approx(row["reml_loglik"], abs=1e-7)
        assert published(fit.terms, "(Intercept)") == pytest.approx((row["intercept"], row["se"]), rel=1e-5)
        shares = [row["share_participant"], row["share_conversation"], row["share_turn"]]
        assert list(fit.icc.values()) == pytest.approx(shares, abs=1e-5)


def test_participant_crossed_with_task_is_as_in_lme4_zero_variance_included():
    data = reference("sense7_conversations.csv.gz")
    data["gap"] = 100 * (data["experienced"] - 1) / 4 - 100 * (data["desired"] - 1) / 2
    for row in reference("crossed_participant_task.csv").itertuples():
        fit = fit_linear_mixed(data, f"{row.outcome} ~ 1 + (1 | participant) + (1 | task)")
        assert fit.log_likelihood >= row.reml_loglik - 1e-7
        assert fit.log_likelihood == pytest.approx(row.reml_loglik, abs=1e-5)
        expected = [row.participant, row.task, row.residual]
        assert fit.variances["variance"].tolist() == pytest.approx(expected, rel=1e-4, abs=1e-12)
    # lme4 found desired's participant variance to be zero
    fit = fit_linear_mixed(data, "desired ~ 1 + (1 | participant) + (1 | task)")
    assert fit.variances["variance"][0] == 0.0


def singular_slopes() -> pd.DataFrame:
    # slopes are a multiple of the intercepts
    rng = np.random.default_rng(1)
    groups = np.repeat(np.arange(30), 12)
    x = np.tile(np.arange(12.0), 30)
    u = rng.normal(size=30)
    y = u[groups] * (1 + 0.2 * x) + rng.normal(size=360)
    return pd.DataFrame({"y": np.round(y, 2), "x": x, "g": groups.astype(str)})


def test_a_singular_slope_covariance_lands_on_a_correlation_of_one():
    fit = fit_linear_mixed(singular_slopes(), "y ~ x + (1 + x | g)")
    # lme4 1.1-31, bobyqa, rhoend 1e-9: deviance 1101.3437243504, lmerTest's df of the singular fit
    assert fit.deviance == pytest.approx(1101.3437243504, abs=1e-8)
    assert fit.terms["std_error"].tolist() == pytest.approx([0.19118800, 0.03206468], rel=1e-6)
    assert fit.terms["df"].tolist() == pytest.approx([30.49271, 30.02628], rel=5e-3)
    assert fit.variances["std_dev"].tolist() == pytest.approx([0.91292, 0.15685, 0.94471], abs=1e-5)
    assert fit.variances["correlation"][1] == pytest.approx(1, abs=1e-12)
    assert any("±1" in note for note in fit.notes)


class TestInstEval:
    """Three crossed factors, 73,421 rows: the whole search is in tests/bench/bench_linear_mixed.py, as it takes a while."""

    FORMULA = "y ~ service + (1 | s) + (1 | d) + (1 | dept)"

    @pytest.fixture
    def data(self):
        data = reference("lme4_InstEval.csv.gz")
        return data.assign(service=data["service"].astype(str))

    def test_the_deviance_at_lme4s_estimates_is_its_deviance_and_flat(self, data):
        moments = moments_of_design(design(data, parse_formula(self.FORMULA)))
        function = Deviance(moments, reml=False)
        # lme4 1.1-31: getME(m, "theta")
        theta = {"s": 0.2764583115841, "d": 0.4373551751448, "dept": 0.0666834168384}
        value, gradient = function.evaluate(np.array([theta[factor.label] for factor in function.factors]))
        assert value == pytest.approx(237721.7688, abs=1e-4)
        # the curvature is some 1e5: a gradient of 1 is an estimate off by 1e-5
        assert np.abs(gradient).max() < 1
        assert {factor.label: factor.n_groups for factor in function.factors} == {"s": 2972, "d": 1128, "dept": 14}
        assert moments.n == 73_421

    def test_the_fit_of_its_first_400_students_is_lme4s(self, data):
        fit = fit_linear_mixed(data[data["s"].astype(int) <= 400], self.FORMULA, reml=False)
        # lme4 1.1-31, optimizer nloptwrap with tolerances of 1e-10
        assert fit.deviance == pytest.approx(34607.828031587, abs=1e-6)
        assert fit.n_groups == {"s": 400, "d": 1037, "dept": 14}
        ratio = fit.variances.set_index("group")["std_dev"] / fit.sigma
        assert ratio[["d", "s", "dept"]].tolist() == pytest.approx([0.423871, 0.292124, 0.058427], abs=1e-5)


def test_ml_and_reml_refits_are_the_direct_fits(sleepstudy):
    formula = "Reaction ~ Days + (Days | Subject)"
    direct = fit_linear_mixed(sleepstudy, formula, reml=False)
    there_and_back = refit(refit(fit_linear_mixed(sleepstudy, formula), reml=False), reml=True)
    assert direct.method == "ML"
    assert there_and_back.method == "REML"
    assert refit(there_and_back, reml=False).deviance == pytest.approx(direct.deviance, abs=1e-8)
    assert there_and_back.deviance == pytest.approx(fit_linear_mixed(sleepstudy, formula).deviance, abs=1e-8)
