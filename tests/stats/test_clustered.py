"""Participant-clustered means and shares, against statsmodels, fractions by hand, and their properties."""

import math

import numpy as np
import pandas as pd
import pytest

from dashboard.stats.clustered import (
    clustered_mean,
    clustered_means,
    clustered_share,
    clustered_shares,
    p_against_zero,
    wilson_interval,
)


def sums(values, clusters):
    frame = pd.DataFrame({"value": values, "cluster": clusters}).groupby("cluster")["value"]
    return frame.sum().to_numpy(), frame.count().to_numpy()


@pytest.fixture
def unbalanced():
    rng = np.random.default_rng(20)
    clusters = np.repeat(np.arange(30), rng.integers(1, 12, 30))
    return rng.normal(size=30)[clusters] + rng.normal(size=len(clusters)), clusters


def test_mean_agrees_with_statsmodels_cluster_covariance(unbalanced):
    import statsmodels.api as sm

    values, clusters = unbalanced
    fit = sm.OLS(values, np.ones(len(values))).fit(
        cov_type="cluster", cov_kwds={"groups": clusters, "use_correction": False}, use_t=True
    )
    ours = clustered_mean(*sums(values, clusters))
    assert ours.estimate == pytest.approx(fit.params[0], rel=1e-12)
    assert ours.std_error == pytest.approx(fit.bse[0] * math.sqrt(30 / 29), rel=1e-9)
    assert (ours.n_observations, ours.n_groups, ours.df) == (len(values), 30, 29)


def test_mean_by_hand():
    # Five people, ratings (1), (2, 2), (3), (4), (5, 5, 5): mean 27/8 …  1 + 4 + 3 + 4 + 15 = 27 over 8.
    # Deviations per person: 1 − 27/8 = −19/8; 4 − 54/8 = −22/8; −3/8; 5/8; 15 − 81/8 = 39/8. Squares sum to 2400/64 = 37.5.
    # SE² = 5/4 · 37.5 / 64 = 0.732421875.
    ours = clustered_mean(np.array([1.0, 4, 3, 4, 15]), np.array([1, 2, 1, 1, 3]))
    assert ours.estimate == 27 / 8
    assert ours.std_error**2 == pytest.approx(5 / 4 * 37.5 / 64, rel=1e-12)
    reach = 2.7764451051977987 * ours.std_error  # t, 4 df
    assert (ours.conf_low, ours.conf_high) == pytest.approx((27 / 8 - reach, 27 / 8 + reach), rel=1e-9)


def test_p_against_zero_is_that_of_the_one_sample_t_test():
    from scipy.stats import ttest_1samp

    values = np.array([0.3, -0.2, 0.9, 0.4, 0.1, 0.6])
    ours = clustered_mean(values, np.ones(6))
    assert p_against_zero(ours) == pytest.approx(ttest_1samp(values, 0).pvalue, rel=1e-12)
    assert math.isnan(p_against_zero(clustered_mean(values[:4], np.ones(4))))
    assert math.isnan(p_against_zero(clustered_mean(np.ones(6), np.ones(6))))


def test_one_observation_per_cluster_is_the_textbook_interval():
    values = np.array([2.0, 3, 5, 4, 4, 1, 3])
    ours = clustered_mean(values, np.ones(7))
    assert ours.std_error == pytest.approx(values.std(ddof=1) / math.sqrt(7), rel=1e-12)


def test_shifting_and_scaling_the_ratings_moves_the_interval_along(unbalanced):
    values, clusters = unbalanced
    plain, moved = clustered_mean(*sums(values, clusters)), clustered_mean(*sums(25 * values - 7, clusters))
    for name in ("estimate", "conf_low", "conf_high"):
        assert getattr(moved, name) == pytest.approx(25 * getattr(plain, name) - 7, rel=1e-9)


def test_wilson_against_a_published_interval():
    # Newcombe (1998), Statistics in Medicine 17, table I: 81/263, Wilson without continuity correction: 0.2553 to 0.3662.
    low, high = wilson_interval(81 / 263, 263)
    assert (round(low, 4), round(high, 4)) == (0.2553, 0.3662)
    # The same table: 0/20 gives 0 to 0.1611.
    low, high = wilson_interval(0.0, 20)
    assert (low, round(high, 4)) == (0.0, 0.1611)


def test_share_with_one_answer_each_is_wilson_on_n_nearly():
    # With one observation a cluster SE² is p(1−p)/(n−1), so the effective size is n − 1.
    hits = np.array([1.0] * 12 + [0.0] * 28)
    ours = clustered_share(hits, np.ones(40))
    assert (ours.conf_low, ours.conf_high) == pytest.approx(wilson_interval(0.3, 39), rel=1e-9)


def test_share_of_people_who_always_answer_alike_counts_people():
    # Ten people, four of them always 1, each asked 50 times: fifty copies of an answer are one answer.
    hits, counts = np.array([50.0] * 4 + [0.0] * 6), np.full(10, 50.0)
    ours = clustered_share(hits, counts)
    assert (ours.conf_low, ours.conf_high) == pytest.approx(wilson_interval(0.4, 9), rel=1e-9)


@pytest.mark.parametrize("hit", [0.0, 1.0])
def test_share_of_none_or_all_counts_clusters(hit):
    ours = clustered_share(np.full(20, 7 * hit), np.full(20, 7.0))
    assert ours.estimate == hit
    assert (ours.conf_low, ours.conf_high) == pytest.approx(wilson_interval(hit, 20))
    assert 0 <= ours.conf_low <= ours.conf_high <= 1


def test_share_that_is_the_same_in_every_cluster_is_not_certain():
    ours = clustered_share(np.full(20, 1.0), np.full(20, 3.0))
    assert ours.conf_high - ours.conf_low > 0.3


class TestTooLittle:
    def test_nothing(self):
        ours = clustered_mean(np.array([]), np.array([]))
        assert math.isnan(ours.estimate)
        assert (ours.n_observations, ours.n_groups) == (0, 0)

    def test_one_cluster_has_a_mean_and_no_interval(self):
        ours = clustered_mean(np.array([9.0]), np.array([3]))
        assert ours.estimate == 3
        assert math.isnan(ours.std_error)
        assert math.isnan(ours.conf_low)

    @pytest.mark.parametrize("estimator", [clustered_mean, clustered_share])
    def test_four_clusters_have_no_interval_five_do(self, estimator):
        hits, counts = np.array([1.0, 0, 2, 1, 1]), np.array([2.0, 1, 2, 3, 1])
        assert math.isnan(estimator(hits[:4], counts[:4]).conf_low)
        assert not math.isnan(estimator(hits, counts).conf_low)

    def test_clusters_without_an_observation_do_not_count(self):
        ours = clustered_mean(np.array([4.0, 0.0]), np.array([2, 0]))
        assert ours.n_groups == 1


def test_per_level_frames_keep_the_order_and_take_null_as_a_level():
    frame = pd.DataFrame(
        {
            "task": ["b", "b", None, "a"],
            "cluster": ["p", "q", "p", "q"],
            "total": [4.0, 2.0, 5.0, 1.0],
            "n": [2, 1, 1, 1],
        }
    )
    means = clustered_means(frame, ["task"])
    assert means["mean"].tolist() == [2.0, 5.0, 1.0]
    assert means["n_groups"].tolist() == [2, 1, 1]
    shares = clustered_shares(frame.assign(hits=[1, 1, 0, 1]), ["task"], successes="hits")
    assert shares["share"].tolist() == [2 / 3, 0.0, 1.0]


def test_intervals_cover_the_truth_in_95_of_100_samples_of_people():
    rng = np.random.default_rng(7)
    covered = 0
    for _ in range(2000):
        people = rng.normal(3.6, 0.6, 40)
        counts = rng.integers(1, 60, 40)
        totals = people * counts + rng.normal(0, 0.8, 40) * np.sqrt(counts)
        ours = clustered_mean(totals, counts)
        covered += ours.conf_low <= 3.6 <= ours.conf_high
    # Unequal n costs a little: the standard error of this share is 0.5 points.
    assert 0.92 <= covered / 2000 <= 0.965
