"""Profile intervals are those of lme4; the parametric bootstrap recovers what it was drawn from."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from dashboard.stats.linear_mixed import fit_linear_mixed, refit_random
from dashboard.stats.linear_mixed_bootstrap import (
    Simulator,
    bootstrap_intervals,
    bootstrap_test,
    parametric_bootstrap,
    with_outcome,
)
from dashboard.stats.linear_mixed_profile import profile_intervals
from dashboard.stats.linear_mixed_tests import variance_tests
from dashboard.vocabulary import Refused

REFERENCE = Path(__file__).parents[1] / "reference" / "linear_mixed"


def reference(name: str) -> pd.DataFrame:
    return pd.read_csv(REFERENCE / name, comment="#")


@pytest.fixture(scope="module")
def turns() -> pd.DataFrame:
    return reference("sense7_turns.csv.gz")


@pytest.fixture(scope="module")
def sleep():
    return fit_linear_mixed(reference("lme4_sleepstudy.csv"), "Reaction ~ Days + (Days | Subject)")


def limits(table: pd.DataFrame) -> np.ndarray:
    return table[["conf_low", "conf_high"]].to_numpy()


def test_profile_intervals_of_components_are_those_of_lme4(turns):
    found = profile_intervals(fit_linear_mixed(turns, "overall ~ 1 + (1 | participant/conversation)"))
    expected = reference("variance_components_profile_ci.csv")
    assert found["group"].tolist() == ["participant:conversation", "participant", "residual", "fixed"]
    np.testing.assert_allclose(limits(found), expected[["lower", "upper"]], atol=1e-5)


def test_profile_intervals_of_slopes_and_correlation_are_those_of_lme4(sleep):
    # confint(lmer(Reaction ~ Days + (Days | Subject))), lme4 1.1-31; its profile is interpolated by splines
    expected = {
        ("(Intercept)", "std_dev"): (14.3814181608, 37.7159953183),
        ("Days", "std_dev"): (3.8011640533, 8.7533807531),
        ("(Intercept), Days", "correlation"): (-0.4815007583, 0.6849862733),
        ("", "std_dev"): (22.8982668821, 28.8579965114),
        ("(Intercept)", "coefficient"): (237.6806955052, 265.1295146802),
        ("Days", "coefficient"): (7.3586532751, 13.5759187517),
    }
    for row in profile_intervals(sleep).itertuples():
        assert (row.conf_low, row.conf_high) == pytest.approx(expected[row.term, row.statistic], rel=1e-4)


def test_the_interval_of_a_zero_variance_starts_at_zero():
    fit = fit_linear_mixed(reference("singular_case_data.csv.gz"), "shuf ~ turn + (1 | participant/conversation)")
    found = profile_intervals(fit, fixed=False).set_index("group")
    # lme4 1.1-31
    assert found.loc["participant:conversation", "conf_low"] == 0
    assert found.loc["participant:conversation", "conf_high"] == pytest.approx(0.10188261, rel=1e-4)
    assert found.loc["participant", ["conf_low", "conf_high"]].tolist() == pytest.approx(
        [0.4742010, 0.6294136], rel=1e-5
    )


def test_replacing_the_outcome_by_itself_gives_the_same_fit(turns):
    fit = fit_linear_mixed(turns, "overall ~ turn + (1 + turn | participant) + (1 | conversation) + (1 | task)")
    simulator = Simulator(fit)
    scaling = fit.moments.scaling
    same = with_outcome(
        fit.moments, simulator.rows, simulator.columns, (fit.design.y - scaling.y_mean) / scaling.y_scale
    )
    np.testing.assert_allclose(same.DD, fit.moments.DD, atol=1e-9)
    for level, original in ((same.inner, fit.moments.inner), (same.outer, fit.moments.outer)):
        np.testing.assert_allclose(np.stack(level.ZD), np.stack(original.ZD), atol=1e-9)


def test_bootstrap_draws_centre_on_the_fit_and_repeat_with_their_seed(sleep):
    draws = parametric_bootstrap(sleep, n_draws=200, seed=4)
    assert len(draws) == 200
    for name, value in zip(sleep.columns, sleep.coefficients, strict=True):
        assert draws[name].mean() == pytest.approx(value, abs=4 * draws[name].std() / np.sqrt(200))
        assert draws[name].std() == pytest.approx(sleep.terms.set_index("term").loc[name, "std_error"], rel=0.15)
    assert draws["sd residual"].mean() == pytest.approx(sleep.sigma, rel=0.03)
    pd.testing.assert_frame_equal(draws[:5], parametric_bootstrap(sleep, n_draws=5, seed=4))
    table = bootstrap_intervals(draws).set_index("term")
    assert table.loc["Days", "conf_low"] < 10.467 < table.loc["Days", "conf_high"]


def test_the_bootstrap_reports_progress_and_can_be_stopped(sleep):
    seen = []
    draws = parametric_bootstrap(
        sleep, n_draws=50, progress=lambda done, wanted: seen.append((done, wanted)), should_stop=lambda: len(seen) >= 3
    )
    assert seen == [(1, 50), (2, 50), (3, 50)]
    assert len(draws) == 3


def test_the_bootstrap_test_agrees_with_the_mixture_for_one_variance():
    data = reference("lme4_Pastes.csv")
    larger = fit_linear_mixed(data, "strength ~ 1 + (1 | batch) + (1 | sample)")
    smaller = fit_linear_mixed(data, "strength ~ 1 + (1 | sample)")
    found = bootstrap_test(smaller, larger, n_draws=200, seed=2).iloc[0]
    mixture = variance_tests(larger).set_index("group").loc["batch"]
    assert found["statistic"] == pytest.approx(mixture["statistic"], abs=1e-6)
    assert found["p_value"] == pytest.approx(mixture["p_value"], abs=0.1)


def test_what_cannot_be_simulated_is_refused(sleep):
    other = refit_random(sleep, sleep.design.formula)
    changed = fit_linear_mixed(reference("lme4_sleepstudy.csv"), "Reaction ~ 1 + (Days | Subject)")
    with pytest.raises(Refused, match="same rows and fixed part"):
        bootstrap_test(changed, other, n_draws=2)
