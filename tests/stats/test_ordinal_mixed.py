"""The cumulative-logit mixed model against R's ordinal and lme4 (tests/reference/ordinal_mixed.R) and goldens."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from dashboard.stats.ordinal_mixed import fit_cumulative_logit

REFERENCE = Path(__file__).parents[1] / "reference"
GOLDEN = Path(__file__).parents[2].parent / "shared" / "data" / "golden"
needs_golden = pytest.mark.skipif(not GOLDEN.exists(), reason="the shared golden data are not beside the project")


@pytest.fixture(scope="module")
def reference():
    return pd.read_csv(REFERENCE / "ordinal_mixed.csv")


@pytest.fixture(scope="module")
def small():
    return pd.read_csv(REFERENCE / "ordinal_small.csv")


def fit_wine(n_quadrature):
    wine = pd.read_csv(REFERENCE / "ordinal_wine.csv")
    X = np.column_stack([wine.temp == "warm", wine.contact == "yes"]).astype(float)
    names = ["tempwarm", "contactyes"]
    return fit_cumulative_logit(wine.rating, X, participant=wine.judge, term_names=names, n_quadrature=n_quadrature)


def fit_small(frame, outcome="rating", *, nested, n_quadrature):
    return fit_cumulative_logit(
        frame[outcome],
        frame[["turn", "warm"]],
        participant=frame.participant,
        conversation=frame.conversation if nested else None,
        term_names=["turn", "warm"],
        n_quadrature=n_quadrature,
    )


def model_errors(table):
    return table["std_error_model"] if "std_error_model" in table else table["std_error"]


def assert_equals_clmm(fit, rows):
    rows = rows.set_index("term")
    assert fit.converged
    assert fit.log_likelihood == pytest.approx(rows.estimate["logLik"], abs=1e-6)
    table = pd.concat([fit.thresholds, fit.terms]).set_index("term")
    expected = rows.loc[table.index]
    np.testing.assert_allclose(table.estimate, expected.estimate, atol=2e-5)
    # clmm's Hessian is differenced twice.
    np.testing.assert_allclose(model_errors(table), expected.std_error, rtol=1e-3)
    variances = rows.estimate[rows.index.str.startswith("variance")]
    np.testing.assert_allclose(sorted(fit.variances.variance), sorted(variances), rtol=5e-5)


def test_wine_equals_the_published_fit():
    # ordinal's vignette and help page of clmm: Laplace, and ten quadrature points.
    fit = fit_wine(1)
    assert fit.log_likelihood == pytest.approx(-81.56541, abs=5e-6)
    np.testing.assert_allclose(fit.terms.estimate, [3.062993, 1.834883], atol=2e-5)
    np.testing.assert_allclose(fit.thresholds.estimate, [-1.6237, 1.5134, 4.2285, 6.0888], atol=5e-5)
    assert fit.variances.variance[0] == pytest.approx(1.279455, abs=5e-5)
    assert list(fit.thresholds.term) == ["1|2", "2|3", "3|4", "4|5"]
    assert fit_wine(10).log_likelihood == pytest.approx(-81.53246, abs=5e-6)


@pytest.mark.parametrize(("case", "points"), [("wine Laplace", 1), ("wine 10 points", 10)])
def test_wine_equals_clmm(reference, case, points):
    assert_equals_clmm(fit_wine(points), reference[reference.case == case])


@pytest.mark.parametrize(
    ("case", "nested", "points"),
    [
        ("small participant Laplace", False, 1),
        ("small participant 7 points", False, 7),
        ("small nested Laplace", True, 1),
    ],
)
def test_unbalanced_ratings_equal_clmm(reference, small, case, nested, points):
    fit = fit_small(small, nested=nested, n_quadrature=points)
    assert_equals_clmm(fit, reference[reference.case == case])


@pytest.mark.parametrize(
    ("case", "nested", "points"),
    [
        ("small two levels Laplace", False, 1),
        ("small two levels 7 points", False, 7),
        ("small two levels nested Laplace", True, 1),
    ],
)
def test_two_levels_equal_a_mixed_logit_of_glmer(reference, small, case, nested, points):
    rows = reference[reference.case == case].set_index("term")
    fit = fit_small(small, "high", nested=nested, n_quadrature=points)
    assert fit.log_likelihood == pytest.approx(rows.estimate["logLik"], abs=1e-6)
    # The threshold is minus glmer's intercept.
    assert fit.thresholds.estimate[0] == pytest.approx(-rows.estimate["(Intercept)"], abs=1e-4)
    assert model_errors(fit.thresholds)[0] == pytest.approx(rows.std_error["(Intercept)"], rel=2e-3)
    np.testing.assert_allclose(fit.terms.estimate, rows.estimate[["turn", "warm"]], atol=1e-4)
    # glmer's errors come from a Hessian of finite differences of the deviance.
    np.testing.assert_allclose(model_errors(fit.terms), rows.std_error[["turn", "warm"]], rtol=2e-3)
    variances = rows.estimate[rows.index.str.startswith("variance")]
    np.testing.assert_allclose(sorted(fit.variances.variance), sorted(variances), rtol=1e-3)


@pytest.fixture(scope="module")
def study():
    frame = pd.read_csv(GOLDEN / "sense7_turns.csv")
    frame = frame[frame.overall.notna()]
    X = pd.get_dummies(frame[["task", "model"]], drop_first=True, dtype=float)
    X.insert(0, "turn", frame.turn.astype(float))
    return frame, X


def fit_study(study, *, nested, n_quadrature=7):
    frame, X = study
    return fit_cumulative_logit(
        frame.overall,
        X,
        participant=frame.participant,
        conversation=frame.conversation if nested else None,
        term_names=list(X),
        n_quadrature=n_quadrature,
    )


@needs_golden
@pytest.mark.parametrize(
    ("model", "nested", "points", "atol"),
    [
        ("(1|participant) Laplace", False, 1, 3e-4),
        ("(1|participant) AGQ 7", False, 7, 3e-4),
        ("(1|participant)+(1|conversation) Laplace", True, 1, 2e-3),
    ],
)
def test_study_equals_clmm(study, model, nested, points, atol):
    # clmm stops early by default: its Laplace likelihood is right to 6e-5, its estimates to a
    # hundredth of their errors.
    rows = pd.read_csv(GOLDEN / "clmm_sense7.csv", comment="#").query("model == @model").set_index("term")
    fit = fit_study(study, nested=nested, n_quadrature=points)
    assert fit.log_likelihood == pytest.approx(rows.estimate["logLik"], abs=1e-4)
    assert fit.log_likelihood >= rows.estimate["logLik"] - 1e-9
    expected = rows[~rows.index.str.startswith("var") & (rows.index != "logLik")]
    table = pd.concat([fit.thresholds, fit.terms])
    np.testing.assert_allclose(table.estimate, expected.estimate, atol=atol)
    np.testing.assert_allclose(model_errors(table), expected.std_error, rtol=5e-4)


@needs_golden
def test_study_equals_nested_quadrature_and_participant_sandwich(study):
    golden = pd.read_csv(GOLDEN / "ordinal_nested_agq.csv", comment="#").set_index("term")
    one, two = fit_study(study, nested=False), fit_study(study, nested=True)
    terms = golden.loc[list(one.terms.term)]
    np.testing.assert_allclose(one.terms.estimate, terms.est1, atol=1e-5)
    np.testing.assert_allclose(one.terms.std_error_model, terms.se1, rtol=1e-5)
    np.testing.assert_allclose(one.terms.std_error, terms.robust1, rtol=1e-5)
    np.testing.assert_allclose(two.terms.estimate, terms.est2, atol=2e-5)
    np.testing.assert_allclose(two.terms.std_error, terms.se2, rtol=1e-5)
    assert one.log_likelihood == pytest.approx(golden.est1["logLik"], abs=1e-6)
    assert two.log_likelihood == pytest.approx(golden.est2["logLik"], abs=1e-6)
    assert one.variances.variance[0] == pytest.approx(golden.est1["var participant"], rel=1e-5)
    expected = golden.est2[["var participant", "var conversation"]]
    np.testing.assert_allclose(two.variances.variance, expected, rtol=2e-5)


def test_tables_and_scalars_follow_from_the_estimates(small):
    fit = fit_small(small, nested=True, n_quadrature=7)
    assert fit.deviance == -2 * fit.log_likelihood
    # 4 thresholds, 2 terms, 2 variances.
    assert fit.aic == pytest.approx(fit.deviance + 16)
    assert fit.bic == pytest.approx(fit.deviance + 8 * np.log(len(small)))
    assert fit.n_observations == len(small)
    assert fit.n_groups == {
        "participant": small.participant.nunique(),
        "participant:conversation": small.conversation.nunique(),
    }
    np.testing.assert_allclose(fit.terms.statistic, fit.terms.estimate / fit.terms.std_error)
    np.testing.assert_allclose(fit.terms.conf_high - fit.terms.conf_low, 2 * 1.959964 * fit.terms.std_error, rtol=1e-6)
    variances = fit.variances.set_index("group").variance
    total = variances.sum() + np.pi**2 / 3
    assert fit.icc["participant"] == pytest.approx(variances["participant"] / total)
    assert fit.terms.df.isna().all()
    assert any("z tests" in note for note in fit.notes)
    assert fit.r2_marginal is None
    assert fit.r2_conditional is None
    assert "std_error_model" not in fit.terms
    np.testing.assert_allclose(np.sqrt(np.diag(fit.covariance))[-2:], fit.terms.std_error)


def test_participant_only_errors_are_the_clustered_ones_and_said(small):
    fit = fit_small(small, nested=False, n_quadrature=7)
    assert any("participant-clustered" in note for note in fit.notes)
    warm = fit.terms.set_index("term").loc["warm"]
    # 'warm' is constant within conversations, whose own effects this model leaves out.
    assert warm.std_error > 1.2 * warm.std_error_model
    assert warm.statistic == pytest.approx(warm.estimate / warm.std_error)
