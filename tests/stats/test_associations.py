"""Within-person correlations, kappas and importance, against published examples, goldens and cases worked out by hand."""

import itertools
import math
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from dashboard.stats.associations import (
    WEIGHTS,
    correlation_rows,
    importance_rows,
    kappa,
    kappa_rows,
    repeated_measures_correlation,
    shapley_shares,
)

REFERENCE = Path(__file__).parents[1] / "reference" / "variability"
GOLDEN = Path(__file__).parents[2].parent / "shared" / "data" / "golden"
needs_golden = pytest.mark.skipif(not GOLDEN.is_dir(), reason="the shared golden numbers are not on this machine")
DIMENSIONS = ["affective", "cognitive", "response", "prosocial", "interest", "contextual", "relational"]


def bland():
    """Bland & Altman (1995), BMJ 310: repeated intramural pH and PaCO2 of eight subjects, as published."""
    ph = """6.68 6.53 6.43 6.33 6.85 7.06 7.13 7.17 7.40 7.42 7.41 7.37 7.34 7.35 7.28 7.30 7.34 7.36 7.33 7.29 7.30 7.35 7.35
    7.30 7.30 7.37 7.27 7.28 7.32 7.32 7.38 7.30 7.29 7.33 7.31 7.33 6.86 6.94 6.92 7.19 7.29 7.21 7.25 7.20 7.19 6.77 6.82"""
    co2 = """3.97 4.12 4.09 3.97 5.27 5.37 5.41 5.44 5.67 3.64 4.32 4.73 4.96 5.04 5.22 4.82 5.07 5.67 5.10 5.53 4.75 5.51 4.28
    4.44 4.32 3.23 4.46 4.72 4.75 4.99 4.78 4.73 5.12 4.93 5.03 4.93 6.85 6.44 6.52 5.28 4.56 4.34 4.32 4.41 3.69 6.09 5.58"""
    subject = np.repeat(range(1, 9), [4, 4, 9, 5, 8, 6, 3, 8])
    return np.array(ph.split(), float), np.array(co2.split(), float), subject


def test_repeated_measures_correlation_of_the_published_example():
    # Bakdash & Marusich (2017), Frontiers in Psychology 8: r = −0.507, df 38, 95 % interval −0.707 to −0.232 (rmcorr 0.7.0).
    found = repeated_measures_correlation(*bland())
    assert found.estimate == pytest.approx(-0.506769742233062, rel=1e-9)
    assert found.df == 38
    assert found.p_value == pytest.approx(8.47108109128945e-04, rel=1e-9)
    assert (found.conf_low, found.conf_high) == pytest.approx((-0.706714636385944, -0.2318631197566758), rel=1e-9)


@pytest.mark.parametrize(
    ("file", "columns", "expected"),
    [
        # rmcorr 0.7.0 on its published examples: r, df, p, interval.
        (
            "raz2005.csv",
            ("participant", "age", "volume"),
            (-0.704407698491736, 71, 3.56100688170140e-12, -0.804153005730639, -0.5660800041816088),
        ),
        (
            "gilden2010.csv",
            ("sub", "rt", "acc"),
            (-0.406097032147335, 32, 1.71687138102666e-02, -0.654395806140290, -0.0787452719807457),
        ),
    ],
)
def test_repeated_measures_correlation_of_further_published_examples(file, columns, expected):
    table = pd.read_csv(REFERENCE / file, comment="#")
    unit, x, y = (table[name].to_numpy() for name in columns)
    found = repeated_measures_correlation(x, y, unit)
    r, df, p, low, high = expected
    # The data are printed with nine digits.
    assert found.estimate == pytest.approx(r, rel=1e-7)
    assert found.df == df
    assert found.p_value == pytest.approx(p, rel=1e-5)
    assert (found.conf_low, found.conf_high) == pytest.approx((low, high), rel=1e-6)


@needs_golden
def test_every_pair_agrees_with_r():
    turns = pd.read_csv(GOLDEN / "sense7_turns.csv")
    golden = pd.read_csv(GOLDEN / "dimension_correlations.csv", comment="#")
    names = ("overall", *DIMENSIONS)
    unit, chat = pd.factorize(turns["participant"])[0], pd.factorize(turns["conversation"])[0]
    found = correlation_rows(turns[list(names)].to_numpy(), names, unit, chat, 109, n_boot=0, least=1)
    wide = found.pivot(index=["x", "y"], columns="level", values="estimate")
    for row in golden.itertuples():
        ours = wide.loc[(row.x, row.y)]
        assert ours["within_participant"] == pytest.approx(row.r_within_participant, rel=1e-9)
        assert ours["within_conversation"] == pytest.approx(row.r_within_conversation, rel=1e-9)
        assert ours["between_participants"] == pytest.approx(row.r_between_means, rel=1e-9)
        one = repeated_measures_correlation(turns[row.x].to_numpy(), turns[row.y].to_numpy(), unit)
        assert (one.df, one.n_observations, one.n_groups) == (row.df, row.n, row.k)
        assert (one.conf_low, one.conf_high) == pytest.approx((row.lo, row.hi), rel=1e-9)


@needs_golden
def test_kappas_agree_with_psych():
    turns = pd.read_csv(GOLDEN / "sense7_turns.csv")
    golden = pd.read_csv(GOLDEN / "kappa_with_overall.csv", comment="#").set_index("dimension")
    unit = pd.factorize(turns["participant"])[0]
    found = kappa_rows(
        turns[DIMENSIONS].to_numpy() - 1, turns["overall"].to_numpy() - 1, tuple(DIMENSIONS), unit, 109, 5, n_boot=100
    )
    for row in found.itertuples():
        theirs = golden.loc[row.dimension]
        name = {"unweighted": "kappa", "linear": "kappa_linear", "quadratic": "kappa_quadratic"}[row.weights]
        assert row.estimate == pytest.approx(theirs[name], rel=1e-9)
        assert row.share_equal == pytest.approx(theirs["agreement"], rel=1e-9)
        assert row.n_observations == theirs["n"]
        assert row.conf_low < row.estimate < row.conf_high


class TestKappa:
    def test_of_cohens_example(self):
        # Cohen (1968), as in psych's help: kappa 0.4915254 unweighted.
        table = np.array([[0.44, 0.07, 0.09], [0.05, 0.20, 0.05], [0.01, 0.03, 0.06]]).T
        assert kappa(table) == pytest.approx(0.491525423728813, rel=1e-9)

    @pytest.mark.parametrize(
        ("weights", "expected"),
        [("unweighted", 0.119496855345912), ("linear", 0.189189189189189), ("quadratic", 0.296765119549930)],
    )
    def test_of_two_raters_of_anxiety(self, weights, expected):
        # The first two raters of R's irr::anxiety, levels 1 to 6; R 4.2.2, psych 2.2.9.
        one = np.array([3, 3, 3, 4, 5, 5, 2, 3, 5, 2, 2, 6, 1, 5, 2, 2, 1, 2, 4, 3])
        two = np.array([3, 6, 4, 6, 2, 4, 2, 4, 3, 3, 2, 3, 3, 3, 2, 2, 1, 3, 3, 4])
        table = np.bincount((one - 1) * 6 + two - 1, minlength=36).reshape(6, 6)
        assert kappa(table, weights) == pytest.approx(expected, rel=1e-12)
        rows = kappa_rows(two[:, None] - 1.0, one - 1.0, ("two",), np.arange(20), 20, 6, n_boot=0)
        assert rows.set_index("weights").loc[weights, "estimate"] == pytest.approx(expected, rel=1e-12)

    def test_by_hand(self):
        # 2 × 2 with 20, 5, 10, 15: agreement 35/50, by chance (25·30 + 25·20)/2500 = 1/2: (0.7 − 0.5)/0.5.
        assert kappa(np.array([[20, 5], [10, 15]])) == pytest.approx(0.4)

    def test_weights_agree_for_two_levels(self):
        table = np.array([[20, 5], [10, 15]])
        assert {round(float(kappa(table, weights)), 12) for weights in WEIGHTS} == {0.4}

    def test_perfect_agreement_and_one_level_only(self):
        assert kappa(np.diag([3, 4, 5])) == 1
        assert math.isnan(kappa(np.diag([0, 7, 0])))


class TestShapley:
    def test_is_the_average_over_all_orders(self):
        rng = np.random.default_rng(4)
        x = rng.normal(size=(200, 4)) @ rng.normal(size=(4, 4))
        y = x @ np.array([1.0, 0.5, 0, -0.3]) + rng.normal(size=200)
        both = np.column_stack([y, x]) - np.column_stack([y, x]).mean(axis=0)

        def r2(columns):
            if not columns:
                return 0.0
            fitted = both[:, columns] @ np.linalg.lstsq(both[:, columns], both[:, 0], rcond=None)[0]
            return fitted @ fitted / (both[:, 0] @ both[:, 0])

        gains = np.zeros(4)
        for order in itertools.permutations(range(1, 5)):
            for place, column in enumerate(order):
                gains[column - 1] += r2(list(order[: place + 1])) - r2(list(order[:place]))
        shares, total = shapley_shares(both.T @ both)
        np.testing.assert_allclose(shares, gains / 24 / r2([1, 2, 3, 4]), rtol=1e-7)
        assert shares.sum() == pytest.approx(1)
        assert total == pytest.approx(r2([1, 2, 3, 4]))

    def test_of_uncorrelated_predictors_are_squared_correlations(self):
        # Products of y with two orthogonal unit predictors 0.6 and 0.3: R² = 0.36 + 0.09, shares 0.8 and 0.2.
        shares, total = shapley_shares(np.array([[1, 0.6, 0.3], [0.6, 1, 0], [0.3, 0, 1]]))
        np.testing.assert_allclose(shares, [0.8, 0.2], rtol=1e-9)
        assert total == pytest.approx(0.45)

    def test_copies_of_one_another_are_refused(self):
        x = np.repeat(np.array([1.0, 2, 3, 4, 5, 1, 2, 4, 5, 3])[:, None], 3, axis=1)
        rows, r2 = importance_rows(x[:, 0], x[:, 1:], ("a", "b"), np.repeat([0, 1], 5), n_boot=0)
        assert rows.empty and math.isnan(r2)


class TestLevels:
    def test_differences_between_people_do_not_enter_within(self):
        rng = np.random.default_rng(9)
        unit = np.repeat(range(30), 20)
        values = rng.normal(size=(600, 2)) + 5 * rng.normal(size=(30, 1))[unit]
        found = correlation_rows(values, ("a", "b"), unit, unit * 10, 30, n_boot=300).set_index("level")
        assert abs(found.loc["within_participant", "estimate"]) < 0.15
        assert found.loc["between_participants", "estimate"] > 0.95
        assert (found["conf_low"] <= found["estimate"]).all() and (found["estimate"] <= found["conf_high"]).all()

    def test_shifting_a_person_changes_nothing_within(self):
        ph, co2, subject = bland()
        moved = repeated_measures_correlation(ph + 3 * subject, co2, subject)
        assert moved.estimate == pytest.approx(repeated_measures_correlation(ph, co2, subject).estimate, rel=1e-9)

    def test_people_with_two_turns_do_not_count_between(self):
        unit = np.repeat([0, 1, 2, 3], [3, 3, 3, 2])
        values = np.column_stack([unit + np.arange(11) % 2, unit + np.arange(11) % 3]).astype(float)
        found = correlation_rows(values, ("a", "b"), unit, unit, 4, n_boot=0).set_index("level")
        assert found.loc["between_participants", "n_groups"] == 3
        assert found.loc["within_participant", "n_groups"] == 4

    def test_ratings_that_never_vary_have_none(self):
        found = correlation_rows(
            np.full((12, 2), 3.0), ("a", "b"), np.repeat(range(4), 3), np.repeat(range(4), 3), 4, n_boot=20
        )
        assert found["estimate"].isna().all()

    def test_nothing_rated(self):
        found = correlation_rows(np.full((4, 2), np.nan), ("a", "b"), np.arange(4), np.arange(4), 4, n_boot=10)
        assert found["estimate"].isna().all()
