"""Profile and bootstrap intervals replace those of the t tests, and several variances are tested by simulation."""

import numpy as np
import pandas as pd
import pytest

from dashboard.stats.linear_mixed import fit_linear_mixed
from dashboard.stats.linear_mixed_intervals import with_intervals
from dashboard.stats.linear_mixed_profile import profile_intervals
from dashboard.stats.linear_mixed_tests import variance_ratio, variance_tests
from dashboard.stats.progress import listening
from dashboard.vocabulary import Refused

FORMULA = "y ~ x + (1 | participant/conversation)"


def study(seed=3, people=14, sd=(0.6, 0.4), slope_sd=0.0):
    rng = np.random.default_rng(seed)
    person = np.repeat(np.arange(people), 5)
    conversation = np.repeat(np.arange(people * 5), 5)
    x = rng.normal(size=len(conversation))
    level = sd[0] * rng.normal(size=people)[person] + sd[1] * rng.normal(size=people * 5)
    slope = 0.5 + slope_sd * rng.normal(size=people)[person[conversation]]
    y = 3 + level[conversation] + slope * x + rng.normal(size=len(x))
    return pd.DataFrame({"y": y, "x": x, "participant": person[conversation], "conversation": conversation})


@pytest.fixture(scope="module")
def fit():
    return fit_linear_mixed(study(), FORMULA)


def test_wald_is_the_fit_as_it_is(fit):
    assert with_intervals(fit, "wald") is fit


def test_profile_limits_stand_in_the_terms_and_all_else_stays(fit):
    found = with_intervals(fit, "profile")
    expected = profile_intervals(fit).query("statistic == 'coefficient'").set_index("term")
    np.testing.assert_array_equal(found.terms["conf_low"], expected.loc[found.terms["term"], "conf_low"])
    rest = ["estimate", "std_error", "df", "statistic", "p_value"]
    pd.testing.assert_frame_equal(found.terms[rest], fit.terms[rest])
    assert found.interval_method == "profile" and "profile likelihood" in found.notes[-1]


def test_bootstrap_limits_are_seeded_and_close_to_the_others(fit):
    one, again, other = (with_intervals(fit, "bootstrap", n_draws=30, seed=seed) for seed in (5, 5, 6))
    pd.testing.assert_frame_equal(one.intervals, again.intervals)
    assert not np.allclose(one.intervals["conf_low"], other.intervals["conf_low"])
    assert set(one.intervals["measure"]) == {"std_dev", "coefficient"}
    assert "30 data sets" in one.notes[-1] and "seed 5" in one.notes[-1]
    # 200 draws put a percentile within about a seventh of the interval's width, twice its standard error
    many = with_intervals(fit, "bootstrap", n_draws=200, seed=5).terms
    width = (fit.terms["conf_high"] - fit.terms["conf_low"]).to_numpy()
    assert np.all(np.abs(many["conf_low"] - fit.terms["conf_low"]) < 0.2 * width)


def test_they_say_how_far_they_are_and_can_be_ended(fit):
    heard = []
    with listening(lambda what, done, total: heard.append((what, done, total))):
        with_intervals(fit, "profile")
        with_intervals(fit, "bootstrap", n_draws=30)
    assert heard[0] == ("profile intervals", 0, 5)
    assert heard[-1] == ("parametric bootstrap", 30, 30)

    class Enough(Exception):
        pass

    def stop(what, done, total):
        if done == 3:
            raise Enough

    with listening(stop), pytest.raises(Enough):
        with_intervals(fit, "bootstrap", n_draws=100_000)


def test_autocorrelated_residuals_have_profile_intervals_and_no_bootstrap():
    frame = study().assign(turn=np.tile(np.arange(1, 6), 70))
    fit = fit_linear_mixed(frame, FORMULA, ar1=True)
    assert with_intervals(fit, "profile").terms["conf_low"].notna().all()
    with pytest.raises(Refused, match="no autocorrelation"):
        with_intervals(fit, "bootstrap")
    with pytest.raises(Refused, match="without autocorrelated"):
        variance_tests(fit)


class TestSeveralVariancesAtOnce:
    def ratio(self, frame, n_draws=60):
        large = fit_linear_mixed(frame, "y ~ x + (1 + x | participant) + (1 | conversation)")
        small = fit_linear_mixed(frame, "y ~ x + (1 | conversation)")
        return variance_ratio(small, large, n_draws=n_draws, seed=1)

    def test_present_they_are_found_and_absent_they_are_not(self):
        statistic, added, p, method = self.ratio(study(slope_sd=0.5))
        assert added == 3 and p == pytest.approx(1 / 61) and "parametric bootstrap of 60" in method
        assert statistic > 15
        assert self.ratio(study(seed=8, sd=(0.0, 0.4)))[2] > 0.05

    def test_without_draws_there_is_no_p(self):
        assert np.isnan(self.ratio(study(), n_draws=None)[2])
