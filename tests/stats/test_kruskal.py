"""Kruskal–Wallis: against R's documented example, full permutation, and properties."""

import itertools

import numpy as np
import pytest
from scipy.stats import kruskal

from dashboard.stats.kruskal import kruskal_wallis, stratified_kruskal

# Hollander & Wolfe (1973), mucociliary efficiency, as in R's help page of kruskal.test.
VALUES = np.array([2.9, 3.0, 2.5, 2.6, 3.2, 3.8, 2.7, 4.0, 2.4, 2.8, 3.4, 3.7, 2.2, 2.0])
GROUPS = np.repeat(["a", "b", "c"], [5, 4, 5])


def test_documented_example_of_r():
    found = kruskal_wallis(VALUES, GROUPS)
    assert found.statistic == pytest.approx(0.7714285714285722, abs=1e-12)
    assert found.p_value == pytest.approx(0.6799647735788936, abs=1e-12)
    assert found.epsilon_squared == pytest.approx(0.0593406593406594, abs=1e-12)
    assert (found.df, found.n_observations, found.n_groups) == (2, 14, 3)


def test_ties_are_corrected_as_scipy_does():
    values = np.random.default_rng(2).integers(1, 6, 80).astype(float)
    groups = np.random.default_rng(3).choice(["x", "y", "z"], 80)
    expected = kruskal(*[values[groups == one] for one in "xyz"])
    found = kruskal_wallis(values, groups)
    assert found.statistic == pytest.approx(expected.statistic, abs=1e-10)
    assert found.p_value == pytest.approx(expected.pvalue, abs=1e-12)


def test_moments_are_those_of_all_permutations_within_strata():
    values = np.array([1.0, 4.0, 2.0, 3.0, 3.0, 7.0, 9.0])
    groups = np.array(["a", "b", "c", "a", "b", "b", "c"])
    strata = np.array([0, 0, 0, 1, 1, 1, 1])
    ranks = np.argsort(np.argsort(values)) + 1.0
    ranks[values == 3.0] = ranks[values == 3.0].mean()
    sums = []
    for first in itertools.permutations(ranks[:3]):
        for second in itertools.permutations(ranks[3:]):
            order = np.array([*first, *second])
            sums.append([order[groups == one].sum() for one in "abc"])
    sums = np.array(sums)
    observed = np.array([ranks[groups == one].sum() for one in "abc"])
    deviation = observed - sums.mean(axis=0)
    statistic = deviation @ np.linalg.pinv(np.cov(sums.T, ddof=0), rcond=1e-9) @ deviation
    found = stratified_kruskal(values, groups, strata)
    assert found.statistic == pytest.approx(statistic, abs=1e-9)
    assert found.df == 2


def test_a_stratum_of_one_carries_nothing_and_a_shift_of_all_changes_nothing():
    rng = np.random.default_rng(5)
    values, groups, strata = rng.normal(size=60), rng.choice(list("abc"), 60), rng.integers(0, 9, 60)
    base = stratified_kruskal(values, groups, strata)
    assert stratified_kruskal(values + 3, groups, strata).statistic == pytest.approx(base.statistic)
    assert stratified_kruskal(values[::-1], groups[::-1], strata[::-1]).statistic == pytest.approx(base.statistic)
    # One more stratum with a single, highest observation leaves all other ranks alone.
    more = stratified_kruskal(np.append(values, 99), np.append(groups, "a"), np.append(strata, 99))
    assert more.statistic == pytest.approx(base.statistic)
    assert more.n_observations == base.n_observations


@pytest.mark.parametrize(
    ("values", "groups", "strata"),
    [
        ([1.0, 2.0, 3.0], ["a", "a", "a"], [0, 0, 0]),
        ([2.0, 2.0, 2.0], ["a", "b", "a"], [0, 0, 0]),
        ([1.0, 2.0, 3.0], ["a", "b", "c"], [0, 1, 2]),
        ([], [], []),
    ],
    ids=["one group", "all equal", "strata of one", "nothing"],
)
def test_without_anything_to_compare_there_is_no_test(values, groups, strata):
    found = stratified_kruskal(np.array(values), np.array(groups), np.array(strata))
    assert np.isnan(found.statistic)
    assert np.isnan(found.p_value)
