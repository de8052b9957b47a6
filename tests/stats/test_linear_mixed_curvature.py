"""Exact second derivatives of two nested intercepts: they are those of the deviance, and large fits equal ordinary ones."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from dashboard.stats import linear_mixed_estimation
from dashboard.stats.linear_mixed import fit_linear_mixed, refit
from dashboard.stats.linear_mixed_curvature import is_nested_intercepts, newton, profiled
from dashboard.stats.linear_mixed_optimise import central_hessian
from dashboard.stats.linear_mixed_predict import predictions

REFERENCE = Path(__file__).parents[1] / "reference" / "linear_mixed"
NESTED = "overall ~ turn + task + (1 | participant/conversation)"


@pytest.fixture(scope="module")
def turns() -> pd.DataFrame:
    return pd.read_csv(REFERENCE / "sense7_turns.csv.gz")


@pytest.mark.parametrize("reml", [True, False])
@pytest.mark.parametrize("theta", [(0.3, 1.2), (0.9, 0.1), (1e-3, 0.5)])
def test_derivatives_are_those_of_the_deviance(turns, reml, theta):
    function = fit_linear_mixed(turns, NESTED, reml=reml).estimate.deviance_function
    value, gradient, hessian, _ = profiled(function, np.array(theta))
    expected, slope = function.evaluate(np.array(theta))
    assert value == pytest.approx(expected, abs=1e-9)
    np.testing.assert_allclose(gradient, slope, rtol=1e-9, atol=1e-8)
    np.testing.assert_allclose(hessian, central_hessian(function.evaluate, np.array(theta)), rtol=1e-5, atol=1e-3)


@pytest.mark.parametrize("reml", [True, False])
def test_newton_ends_where_the_ordinary_search_ends(turns, reml):
    fit = fit_linear_mixed(turns, NESTED, reml=reml)
    optimum, _ = newton(fit.estimate.deviance_function, np.array([0.4, 0.9]))
    assert optimum.value == pytest.approx(fit.deviance, abs=1e-9)
    np.testing.assert_allclose(optimum.x, fit.estimate.theta, rtol=1e-6)


def test_other_random_parts_are_left_to_the_ordinary_search(turns):
    formulas = {
        "overall ~ turn + (1 | participant)": False,
        "overall ~ turn + (1 + turn | participant) + (1 | conversation)": False,
        "overall ~ turn + (1 | participant/conversation) + (1 | task)": False,
        NESTED: True,
    }
    assert {text: is_nested_intercepts(fit_linear_mixed(turns, text).moments) for text in formulas} == formulas


class TestTheWayOfLargeData:
    """Taken for data of any size here: the answer does not depend on it."""

    @pytest.mark.parametrize("reml", [True, False])
    def test_everything_reported_equals_the_ordinary_fit(self, turns, reml, monkeypatch):
        ordinary = fit_linear_mixed(turns, NESTED, reml=reml)
        monkeypatch.setattr(linear_mixed_estimation, "THIN_ABOVE", 0)
        fit = fit_linear_mixed(turns, NESTED, reml=reml)
        assert fit.estimate.curvature is not None
        assert fit.log_likelihood == pytest.approx(ordinary.log_likelihood, abs=1e-10)
        np.testing.assert_allclose(fit.terms.iloc[:, 1:], ordinary.terms.iloc[:, 1:], rtol=2e-6, atol=1e-12)
        np.testing.assert_allclose(fit.variances["variance"], ordinary.variances["variance"], rtol=1e-6)
        assert fit.bic == pytest.approx(ordinary.bic, abs=1e-8)
        assert refit(fit, reml=not reml).estimate.curvature is not None

    def test_predictions_are_made_when_they_are_asked_for(self, turns, monkeypatch):
        ordinary = predictions(fit_linear_mixed(turns, NESTED))
        monkeypatch.setattr(linear_mixed_estimation, "THIN_ABOVE", 0)
        found = predictions(fit_linear_mixed(turns, NESTED))
        for label, expected in ordinary.items():
            np.testing.assert_allclose(found[label].effects, expected.effects, atol=1e-6)

    @pytest.mark.parametrize("sds", [(0.5, 0.0), (0.0, 0.4), (0.0, 0.0)])
    def test_a_variance_of_zero_lands_on_the_boundary_all_the_same(self, sds, monkeypatch):
        rng = np.random.default_rng(11)
        person = np.repeat(np.arange(30), 4)
        conversation = np.repeat(np.arange(120), 6)
        y = sds[0] * rng.normal(size=30)[person[conversation]] + sds[1] * rng.normal(size=120)[conversation]
        frame = pd.DataFrame({
            "y": y + rng.normal(size=720), "x": rng.normal(size=720),
            "participant": person[conversation], "conversation": conversation,
        })  # fmt: skip
        ordinary = fit_linear_mixed(frame, "y ~ x + (1 | participant/conversation)")
        monkeypatch.setattr(linear_mixed_estimation, "THIN_ABOVE", 0)
        fit = fit_linear_mixed(frame, "y ~ x + (1 | participant/conversation)")
        assert fit.converged and ordinary.converged
        assert fit.log_likelihood == pytest.approx(ordinary.log_likelihood, abs=1e-8)
        np.testing.assert_array_equal(fit.estimate.free, ordinary.estimate.free)
