"""Krippendorff's alpha and the ceiling of a fallible ground truth: published examples, properties, edges, recovery."""

import math

import numpy as np
import pytest
from scipy.stats import spearmanr

from dashboard.stats.krippendorff import METRICS, krippendorff_alpha
from dashboard.stats.truth_ceiling import accuracy_ceiling, reliability_ceiling, whole_level_ceiling

NAN = math.nan
# Krippendorff (2011), Computing Krippendorff's alpha-reliability, section C: four observers, twelve units.
OBSERVERS = np.array(
    [
        [1, 2, 3, 3, 2, 1, 4, 1, 2, NAN, NAN, NAN],
        [1, 2, 3, 3, 2, 2, 4, 1, 2, 5, NAN, 3],
        [NAN, 3, 3, 3, 2, 3, 4, 2, 2, 5, 1, NAN],
        [1, 2, 3, 3, 2, 4, 4, 1, 2, 5, 1, NAN],
    ]
).T
PEOPLE = np.array([f"p{place}" for place in range(12)])


@pytest.mark.parametrize(("metric", "published"), [("nominal", 0.743), ("ordinal", 0.815), ("interval", 0.849)])
def test_alpha_is_that_of_the_published_example(metric, published):
    alpha, low, high = krippendorff_alpha(OBSERVERS, PEOPLE, metric=metric)
    assert alpha == pytest.approx(published, abs=0.0006)
    assert low < alpha <= high


@pytest.mark.parametrize("metric", METRICS)
def test_alpha_does_not_care_who_judged_or_in_which_order(metric):
    rng = np.random.default_rng(2)
    shuffled = OBSERVERS[rng.permutation(12)][:, [2, 0, 3, 1]]
    mine = krippendorff_alpha(OBSERVERS, PEOPLE, metric=metric)[0]
    assert krippendorff_alpha(shuffled, PEOPLE, metric=metric)[0] == pytest.approx(mine, abs=1e-12)


@pytest.mark.parametrize("metric", METRICS)
def test_complete_agreement_is_one_and_nothing_to_compare_is_nan(metric):
    same = np.repeat(np.arange(1.0, 6.0)[:, None], 3, axis=1)
    assert krippendorff_alpha(same, PEOPLE[:5], metric=metric)[0] == 1
    assert math.isnan(krippendorff_alpha(np.full((5, 2), 4.0), PEOPLE[:5], metric=metric)[0])
    alone = np.column_stack([np.arange(1.0, 6.0), np.full(5, NAN)])
    assert math.isnan(krippendorff_alpha(alone, PEOPLE[:5], metric=metric)[0])
    assert math.isnan(krippendorff_alpha(np.full((5, 2), NAN), PEOPLE[:5], metric=metric)[0])


def test_alpha_of_chance_is_about_zero_and_has_no_interval_for_four_people():
    rng = np.random.default_rng(4)
    alpha, _, _ = krippendorff_alpha(rng.integers(1, 6, (4000, 2)), np.arange(4000) % 300, metric="ordinal")
    assert abs(alpha) < 0.05
    few = krippendorff_alpha(OBSERVERS, np.arange(12) % 4, metric="ordinal")
    assert math.isnan(few[1]) and math.isnan(few[2])


def simulated(n_conversations=3000, n_turns=6, between=0.8, within=0.9, seed=7):
    """True values of conversations, and turns that scatter around them."""
    rng = np.random.default_rng(seed)
    true = 3 + between * rng.standard_normal(n_conversations)
    conversations = np.repeat(np.arange(n_conversations), n_turns)
    turns = true[conversations] + within * rng.standard_normal(len(conversations))
    return true, turns, conversations


def test_reliability_and_ceilings_recover_what_was_simulated():
    true, turns, conversations = simulated()
    truth = np.bincount(conversations, turns) / 6
    # R = 0.64 / (0.64 + 0.81/6)
    expected = 0.64 / (0.64 + 0.81 / 6)
    reliability, correlation = reliability_ceiling(turns, conversations, np.arange(3000) // 6)
    assert reliability.estimate == pytest.approx(expected, abs=0.02)
    assert reliability.conf_low < expected < reliability.conf_high
    # whoever knows the true values correlates with the ground truth by the root of its reliability
    assert correlation.estimate == pytest.approx(np.corrcoef(true, truth)[0, 1], abs=0.02)
    assert correlation.estimate == pytest.approx(spearmanr(true, truth).statistic, abs=0.03)
    hits = np.mean(np.clip(np.rint(true), 1, 5) == np.clip(np.rint(truth), 1, 5))
    ceiling = accuracy_ceiling(truth, np.full(3000, 6), 0.9, reliability=reliability.estimate)
    assert ceiling == pytest.approx(hits, abs=0.025)


def test_reliability_equals_the_mean_squares_worked_out_by_hand():
    # conversations (1, 3), (4, 6), (5): total 19, n 5, means 2 5 5
    turns, conversations = np.array([1.0, 3, 4, 6, 5]), np.array([0, 0, 1, 1, 2])
    # SSB = 4²/2 + 10²/2 + 25 − 19²/5 = 8 + 50 + 25 − 72.2 = 10.8, MSB = 5.4; SSW = 2 + 2 = 4, MSW = 2
    reliability, _ = reliability_ceiling(turns, conversations, np.arange(3))
    assert reliability.estimate == pytest.approx(1 - 2 / 5.4, abs=1e-12)
    assert math.isnan(reliability.conf_low)


def test_reliability_needs_two_turns_somewhere_and_different_means():
    assert math.isnan(reliability_ceiling(np.array([1.0, 2.0]), np.array([0, 1]), np.arange(2))[0].estimate)
    same = reliability_ceiling(np.array([1.0, 3, 1, 3]), np.array([0, 0, 1, 1]), np.arange(2))
    assert math.isnan(same[0].estimate) and math.isnan(same[1].estimate)


def test_a_whole_level_loses_only_what_rounding_loses():
    assert whole_level_ceiling(np.arange(1.0, 6.0)) == pytest.approx(1.0)
    assert 0.9 < whole_level_ceiling(np.random.default_rng(1).uniform(1, 5, 500)) < 1
