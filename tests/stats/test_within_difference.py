"""Within-person differences, against statsmodels and cases worked out by hand."""

import math

import numpy as np
import pytest

from dashboard.stats.within_difference import within_difference


def test_agrees_with_statsmodels():
    import statsmodels.api as sm

    rng = np.random.default_rng(5)
    groups = np.repeat(range(12), rng.integers(6, 15, 12))
    state = (rng.random(len(groups)) < 0.4).astype(float)
    values = rng.normal(size=12)[groups] + 0.5 * state + rng.normal(size=len(groups))
    dummies = (groups[:, None] == np.arange(12)).astype(float)
    fit = sm.OLS(values, np.column_stack([state, dummies])).fit(
        cov_type="cluster", cov_kwds={"groups": groups, "use_correction": False}
    )
    ours = within_difference(values, state, groups)
    assert ours.estimate == pytest.approx(fit.params[0], rel=1e-9)
    assert ours.std_error == pytest.approx(fit.bse[0] * math.sqrt(12 / 11), rel=1e-9)
    assert (ours.df, ours.n_groups) == (11, 12)


def test_by_hand():
    # One person 1, 3 (state 1), another 2, 6 (state 1): differences 2 and 4, equally precise: 3.
    ours = within_difference(np.array([1.0, 3, 2, 6]), np.array([0.0, 1, 0, 1]), np.array([0, 0, 1, 1]))
    assert ours.estimate == pytest.approx(3)
    assert math.isnan(ours.conf_low)


def test_people_in_one_state_only_say_nothing():
    ours = within_difference(np.array([1.0, 3, 9, 9]), np.array([0.0, 1, 1, 1]), np.array([0, 0, 1, 1]))
    assert (ours.estimate, ours.n_groups, ours.n_observations) == (2, 1, 2)
    assert math.isnan(within_difference(np.array([1.0, 2]), np.zeros(2), np.array([0, 1])).estimate)
    assert within_difference(np.zeros(0), np.zeros(0), np.zeros(0, int)).n_groups == 0


def test_differences_between_people_do_not_enter():
    groups = np.repeat([0, 1, 2, 3, 4, 5], 4)
    state = np.tile([0.0, 1, 0, 1], 6)
    values = np.tile([1.0, 2, 2, 2], 6)
    plain, moved = within_difference(values, state, groups), within_difference(values + 10 * groups, state, groups)
    assert moved.estimate == pytest.approx(plain.estimate)
    assert moved.conf_high == pytest.approx(plain.conf_high)
