"""Metrics of classification: outside numbers, properties, edges, and an independent implementation."""

import math
from statistics import mean

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import spearmanr
from sklearn.metrics import cohen_kappa_score, f1_score

from dashboard.stats.classification import (
    class_metrics,
    confusion,
    official_metrics,
    table_metrics,
    to_levels,
    weighted_spearman,
)
from dashboard.stats.classification_intervals import ALL_METRICS, Scored, class_intervals, metric_intervals

VALUES = st.floats(0, 6, allow_nan=False).map(lambda x: round(x * 4) / 4)
PAIRS = st.lists(st.tuples(VALUES, VALUES), min_size=3, max_size=60)


def round_half_even(value):
    """Round without numpy: the nearest whole number, the even one of two as near."""
    low = math.floor(value)
    rest = value - low
    return low if rest < 0.5 or (rest == 0.5 and low % 2 == 0) else low + 1


def oracle(predicted, truth):
    """Accuracy, macro-F1, within-1 and MAE, in plain Python from their definitions."""
    said = [min(5, max(1, round_half_even(x))) for x in predicted]
    true = [min(5, max(1, round_half_even(x))) for x in truth]
    scores = []
    for level in sorted(set(said) | set(true)):
        hit = sum(a == b == level for a, b in zip(said, true, strict=True))
        precision = hit / said.count(level) if level in said else 0
        recall = hit / true.count(level) if level in true else 0
        scores.append(2 * precision * recall / (precision + recall) if precision + recall else 0)
    return {
        "accuracy": mean(a == b for a, b in zip(said, true, strict=True)),
        "macro_f1": mean(scores),
        "within_1": mean(abs(a - b) <= 1 for a, b in zip(said, true, strict=True)),
        "mae": mean(abs(a - b) for a, b in zip(predicted, truth, strict=True)),
    }


class TestOfficialMetrics:
    @given(PAIRS)
    @settings(max_examples=150, deadline=None)
    def test_equal_an_independent_implementation_and_scikit_learn(self, pairs):
        predicted, truth = map(np.array, zip(*pairs, strict=True))
        found = official_metrics(predicted, truth)
        for name, value in oracle(predicted.tolist(), truth.tolist()).items():
            assert getattr(found, name) == pytest.approx(value, abs=1e-12)
        theirs = f1_score(to_levels(truth), to_levels(predicted), average="macro", zero_division=0)
        assert found.macro_f1 == pytest.approx(theirs, abs=1e-12)

    def test_halves_round_to_even_and_ends_are_clipped(self):
        # 0.5 → 0 → 1, 1.5 → 2, 2.5 → 2, 3.5 → 4, 4.5 → 4, 5.5 → 6 → 5, −2 → 1
        assert to_levels([0.5, 1.5, 2.5, 3.5, 4.5, 5.5, -2]).tolist() == [1, 2, 2, 4, 4, 5, 1]

    def test_spearman_and_mae_are_of_unrounded_values(self):
        predicted, truth = np.array([1.0, 2.4, 2.6, 4.0]), np.array([1.2, 2.2, 2.1, 4.9])
        found = official_metrics(predicted, truth)
        # |1 − 1.2| + |2.4 − 2.2| + |2.6 − 2.1| + |4 − 4.9| = 0.2 + 0.2 + 0.5 + 0.9 = 1.8, over 4
        assert found.mae == pytest.approx(0.45, abs=1e-12)
        # ranks 1 2 3 4 against 1 3 2 4: 1 − 6·(0 + 1 + 1 + 0)/(4·15) = 0.8; rounded values would tie and give 1
        assert found.spearman == pytest.approx(0.8, abs=1e-12)
        assert found.spearman_p == pytest.approx(spearmanr(predicted, truth).pvalue, abs=1e-12)

    def test_a_level_seen_in_one_column_only_counts_with_f1_zero(self):
        # levels seen: 3, 4 (true) and 5 (predicted). F1: 3 → 2·1/(2·1+0+0) = 1, 4 → 0, 5 → 0; mean 1/3
        assert official_metrics(np.array([3.0, 5.0]), np.array([3.0, 4.0])).macro_f1 == pytest.approx(1 / 3, abs=1e-12)

    def test_what_is_undefined_is_nan_and_not_zero(self):
        constant = official_metrics(np.full(5, 3.0), np.arange(1.0, 6.0))
        assert math.isnan(constant.spearman) and math.isnan(constant.spearman_p)
        assert constant.accuracy == pytest.approx(0.2)
        nothing = official_metrics(np.empty(0), np.empty(0))
        assert nothing.n == 0 and math.isnan(nothing.accuracy)


class TestFromTheTable:
    def test_kappas_equal_scikit_learn(self):
        rng = np.random.default_rng(3)
        truth = rng.integers(1, 6, 200)
        predicted = np.clip(truth + rng.integers(-2, 3, 200), 1, 5)
        found = table_metrics(confusion(predicted, truth))
        for name, weights in (("kappa", None), ("kappa_linear", "linear"), ("kappa_quadratic", "quadratic")):
            theirs = cohen_kappa_score(truth, predicted, labels=[1, 2, 3, 4, 5], weights=weights)
            assert found[name] == pytest.approx(theirs, abs=1e-12)

    def test_sensitivity_and_specificity_of_a_table_worked_out_by_hand(self):
        # true 3, 3, 3, 4, 4, 5 · predicted 3, 3, 4, 4, 3, 4
        found = class_metrics(confusion(np.array([3, 3, 4, 4, 3, 4]), np.array([3, 3, 3, 4, 4, 5])))
        assert found["sensitivity"][2:] == pytest.approx([2 / 3, 1 / 2, 0])
        # not 3: three, two of them not called 3; not 4: four, two; not 5: five, five
        assert found["specificity"][2:] == pytest.approx([2 / 3, 2 / 4, 1])
        assert np.isnan(found["sensitivity"][:2]).all()
        assert np.isnan(found["precision"][4])

    @given(PAIRS)
    @settings(max_examples=60, deadline=None)
    def test_reversing_the_scale_changes_no_kappa_and_no_accuracy(self, pairs):
        predicted, truth = (to_levels(np.array(one)) for one in zip(*pairs, strict=True))
        straight, mirrored = (
            table_metrics(confusion(a, b)) for a, b in ((predicted, truth), (6 - predicted, 6 - truth))
        )
        for name in straight:
            assert straight[name] == pytest.approx(mirrored[name], abs=1e-12, nan_ok=True)


class TestWeightedSpearman:
    def test_whole_weights_are_repeated_rows(self):
        rng = np.random.default_rng(5)
        first, second = rng.integers(1, 6, 30).astype(float), rng.normal(size=30).round(1)
        weights = rng.integers(0, 4, (20, 30))
        found = weighted_spearman(weights, first, second)
        for one, row in zip(found, weights, strict=True):
            assert one == pytest.approx(spearmanr(np.repeat(first, row), np.repeat(second, row)).statistic, abs=1e-12)

    def test_is_nan_where_a_side_is_constant_among_the_drawn(self):
        weights = np.array([[1, 1, 0, 0], [1, 1, 1, 1]])
        found = weighted_spearman(weights, np.array([2.0, 2.0, 3.0, 4.0]), np.array([1.0, 2.0, 3.0, 4.0]))
        assert math.isnan(found[0]) and found[1] > 0.9


def scored(n_people=40, per_person=5, seed=1):
    rng = np.random.default_rng(seed)
    clusters = np.repeat([f"p{place}" for place in range(n_people)], per_person)
    person = np.repeat(rng.normal(0, 0.8, n_people), per_person)
    truth = 3 + person + rng.normal(0, 0.6, len(person))
    return Scored(to_levels(truth + rng.normal(0, 1, len(truth))).astype(float), truth, clusters)


class TestIntervals:
    def test_estimates_are_the_official_metrics_and_lie_inside(self):
        one = scored()
        (table,), mean_table = metric_intervals([one])
        official = official_metrics(one.predicted, one.truth)
        assert table["metric"].tolist() == list(ALL_METRICS)
        for row in table.itertuples():
            assert row.conf_low < row.estimate < row.conf_high
            assert row.n_groups == 40 and row.n_observations == 200
            if hasattr(official, row.metric):
                assert row.estimate == getattr(official, row.metric)
        assert mean_table["mean"].tolist() == table["estimate"].tolist()
        assert mean_table["std_dev"].isna().all()

    def test_equal_a_bootstrap_that_rebuilds_every_sample(self):
        one = scored(n_people=12)
        people = np.unique(one.clusters)
        rng = np.random.default_rng(0)
        draws = []
        for _ in range(3000):
            rows = np.concatenate(
                [np.flatnonzero(one.clusters == person) for person in rng.choice(people, len(people))]
            )
            draws.append(vars(official_metrics(one.predicted[rows], one.truth[rows])))
        slow = pd.DataFrame(draws)
        (table,), _ = metric_intervals([one], n_boot=3000)
        table = table.set_index("metric")
        for name in ("accuracy", "macro_f1", "within_1", "mae", "spearman"):
            expected = slow[name].quantile([0.025, 0.975]).to_numpy()
            width = expected[1] - expected[0]
            assert table.loc[name, ["conf_low", "conf_high"]].to_numpy(float) == pytest.approx(
                expected, abs=0.1 * width
            )

    def test_the_mean_over_equal_files_has_the_interval_of_one(self):
        one = scored()
        (table, _), mean_table = metric_intervals([one, one])
        np.testing.assert_allclose(mean_table["conf_low"], table["conf_low"])
        assert (mean_table["std_dev"] == 0).all()

    def test_fewer_than_five_participants_give_none(self):
        one = scored(n_people=4)
        (table,), mean_table = metric_intervals([one])
        assert table[["conf_low", "conf_high"]].isna().all(axis=None)
        assert mean_table[["conf_low", "conf_high"]].isna().all(axis=None)
        assert class_intervals(one)["conf_low"].isna().all()

    def test_a_person_counts_once_however_many_rows_they_have(self):
        one = scored(n_people=20, per_person=3)
        many = Scored(np.repeat(one.predicted, 10), np.repeat(one.truth, 10), np.repeat(one.clusters, 10))
        (few,), _ = metric_intervals([one])
        (more,), _ = metric_intervals([many])
        np.testing.assert_allclose(few["conf_low"], more["conf_low"])

    def test_every_level_has_its_measures(self):
        table = class_intervals(scored())
        assert table.groupby("level").size().tolist() == [4] * 5
        assert (table.groupby("level")["n_true"].first().sum(), table["n_predicted"].max() > 0) == (200, True)
