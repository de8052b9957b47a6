"""Variance components, profiles, shrunken means, ICC(1) and the bootstrap, against lme4, goldens and hand-worked cases."""

import math
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from dashboard.stats.bootstrap import percentile_interval, resample_sums
from dashboard.stats.nested_intercepts import NestedIntercepts
from dashboard.stats.progress import listening
from dashboard.stats.spread import brown_forsythe, one_way, one_way_of
from dashboard.stats.variance_bootstrap import bootstrap_shares
from dashboard.stats.variance_components import (
    COMPONENTS,
    Components,
    conversation_sums,
    conversations_needed,
    dependability,
    fit_components,
    shrunken_means,
)
from dashboard.stats.variance_profile import profile_share

REFERENCE = Path(__file__).parents[1] / "reference" / "variability"
GOLDEN = Path(__file__).parents[2].parent / "shared" / "data" / "golden"
needs_golden = pytest.mark.skipif(not GOLDEN.is_dir(), reason="the shared golden numbers are not on this machine")


def expected(case):
    table = pd.read_csv(REFERENCE / "expected.csv")
    part = table[table["case"] == case]
    return dict(zip(part["term"], part["value"], strict=True))


def summed(turns, outcome="overall", by=("participant", "conversation", "task")):
    known = turns[turns[outcome].notna()].assign(square=lambda x: x[outcome] ** 2)
    return (
        known.groupby(list(by))
        .agg(n=(outcome, "size"), total=(outcome, "sum"), sum_squares=("square", "sum"))
        .reset_index()
    )


@pytest.fixture(scope="module")
def turns():
    return pd.read_csv(REFERENCE / "turns.csv")


@pytest.mark.parametrize(("case", "factors"), [("1", ()), ("1 + task", ("task",))])
def test_components_agree_with_lme4(turns, case, factors):
    ours, theirs = fit_components(conversation_sums(summed(turns), factors=factors)), expected(case)
    # lme4 stops a few 1e-9 short in the log-likelihood: variances differ in the fifth digit.
    for component in COMPONENTS:
        assert getattr(ours, component) == pytest.approx(theirs[component], rel=5e-5)
    if case == "1":
        assert ours.mean == pytest.approx(theirs["mean"], rel=1e-7)
        assert -ours.fit.deviance / 2 == pytest.approx(theirs["log_likelihood"], abs=1e-6)


def test_shrunken_means_agree_with_lme4_and_their_errors_with_henderson(turns):
    sums = conversation_sums(summed(turns))
    ours = shrunken_means(fit_components(sums), sums)
    means, errors = expected("shrunken"), expected("prediction error")
    np.testing.assert_allclose(ours["shrunken_mean"], list(means.values()), rtol=1e-6)
    np.testing.assert_allclose(ours["std_error"], list(errors.values()), rtol=1e-5)
    reach = 1.959963984540054 * ours["std_error"]
    np.testing.assert_allclose(ours["conf_high"], ours["shrunken_mean"] + reach, rtol=1e-12)


@needs_golden
def test_nine_outcomes_agree_with_lme4():
    turns = pd.read_csv(GOLDEN / "sense7_turns.csv")
    golden = pd.read_csv(GOLDEN / "variance_components.csv", comment="#").set_index("outcome")
    icc = pd.read_csv(GOLDEN / "icc1_unbalanced.csv", comment="#").set_index("outcome")
    for outcome, row in golden.iterrows():
        frame = summed(turns, outcome, ("participant", "conversation", "task", "model"))
        ours = fit_components(conversation_sums(frame))
        adjusted = fit_components(conversation_sums(frame, factors=("task", "model")))
        # lme4 stops at a log-likelihood a few 1e-9 below ours; variances differ in the fifth digit.
        assert -ours.fit.deviance / 2 >= row["reml_loglik"] - 1e-9
        for component in COMPONENTS:
            assert getattr(ours, component) == pytest.approx(row[f"v_{component}"], rel=2e-4)
            assert ours.share(component) == pytest.approx(row[f"share_{component}"], rel=2e-4)
        assert adjusted.participant == pytest.approx(row["v_participant_adj_task_model"], rel=2e-4)
        assert adjusted.conversation == pytest.approx(row["v_conversation_adj_task_model"], rel=2e-4)
        assert dependability(ours, 6, 7) == pytest.approx(row["dep_c6_t7"], rel=2e-5)
        assert conversations_needed(ours, 0.8, 7) == row["n_conv_080_t7"]
        person = frame.groupby("participant")[["total", "n", "sum_squares"]].sum()
        table = one_way(*(person[name].to_numpy() for name in ("total", "n", "sum_squares")))
        assert table.icc1 == pytest.approx(icc.loc[outcome, "icc1"], rel=1e-9)
        assert table.statistic == pytest.approx(icc.loc[outcome, "f"], rel=1e-9)


@needs_golden
def test_shrunken_means_agree_with_the_golden_numbers():
    sums = conversation_sums(summed(pd.read_csv(GOLDEN / "sense7_turns.csv")))
    golden = pd.read_csv(GOLDEN / "shrunken_means.csv", comment="#")
    ours = shrunken_means(fit_components(sums), sums)
    np.testing.assert_allclose(ours["shrunken_mean"], golden["shrunken_mean"], atol=5e-6)
    np.testing.assert_allclose(ours["std_error"], golden["se_pev_mean"], atol=5e-6)


class TestProfile:
    def test_ends_are_where_the_best_remaining_fit_is_3_84_worse(self, turns):
        fitted = fit_components(conversation_sums(summed(turns)))
        divisions = np.linspace(0, 1, 2001)[1:-1]
        for component in COMPONENTS:
            others = [name for name in COMPONENTS if name != component]
            for end in profile_share(fitted, component):
                if end in (0.0, 1.0):
                    continue
                shares = {component: np.full(len(divisions), end)}
                shares |= {others[0]: (1 - end) * divisions, others[1]: (1 - end) * (1 - divisions)}
                ratios = np.array([shares["conversation"], shares["participant"]]) / shares["turn"]
                best = min(fitted.function.deviance(*column) for column in ratios.T)
                assert best - fitted.fit.deviance == pytest.approx(3.841459, abs=2e-3)

    def test_holds_the_estimate_and_stays_a_share(self, turns):
        fitted = fit_components(conversation_sums(summed(turns)))
        for component in COMPONENTS:
            low, high = profile_share(fitted, component)
            assert 0 <= low < fitted.share(component) < high <= 1

    def test_a_variance_of_zero_has_an_interval_from_zero(self):
        # Every person rates 1, 2, 3 in one conversation and 3, 2, 1 in another: no person, no conversation differs.
        frame = pd.DataFrame(
            [(f"P{p}", f"P{p}-{c}", "A", 3, 6.0, 14.0) for p in range(8) for c in range(2)],
            columns=["participant", "conversation", "task", "n", "total", "sum_squares"],
        )
        fitted = fit_components(conversation_sums(frame))
        assert (fitted.participant, fitted.conversation) == (0.0, 0.0)
        low, high = profile_share(fitted, "participant")
        assert low == 0.0
        assert 0 < high < 1
        assert profile_share(fitted, "turn")[1] == 1.0
        assert math.isinf(conversations_needed(fitted, 0.8, 7))

    def test_covers_the_planted_share_in_about_95_of_100_data_sets(self):
        rng = np.random.default_rng(3)
        covered = 0
        for _ in range(120):
            person = np.repeat(rng.normal(0, math.sqrt(0.3), 25), 12)
            conversation = np.repeat(rng.normal(0, math.sqrt(0.2), 100), 3)
            value = person + conversation + rng.normal(0, math.sqrt(0.5), 300)
            frame = pd.DataFrame(
                {
                    "participant": np.repeat(range(25), 12),
                    "conversation": np.repeat(range(100), 3),
                    "task": "A",
                    "y": value,
                }
            )
            low, high = profile_share(fit_components(conversation_sums(summed(frame, "y"))), "participant")
            covered += low <= 0.3 <= high
        assert 108 <= covered <= 119


def test_gradient_is_the_slope_of_the_deviance(turns):
    function = fit_components(conversation_sums(summed(turns), factors=("task",))).function
    for a, b in ((0.3, 0.5), (0.01, 2.0), (1.5, 0.02)):
        h = 1e-5
        slopes = [
            (function.deviance(a + h, b) - function.deviance(a - h, b)) / (2 * h),
            (function.deviance(a, b + h) - function.deviance(a, b - h)) / (2 * h),
        ]
        np.testing.assert_allclose(function.gradient(a, b), slopes, rtol=1e-5, atol=1e-5)


class TestSearch:
    def test_from_near_by_is_the_search_from_afar(self, turns):
        sums = conversation_sums(summed(turns))
        fitted = fit_components(sums)
        rng = np.random.default_rng(8)
        kept = np.isin(sums.participant, rng.choice(sums.n_participants, sums.n_participants // 2, replace=False))
        codes = np.unique(sums.participant[kept], return_inverse=True)[1]
        part = (codes, sums.n[kept], sums.total[kept], sums.squares[kept], np.ones((int(kept.sum()), 1)))
        near, far = NestedIntercepts(*part).minimise(near=fitted.fit), NestedIntercepts(*part).minimise()
        np.testing.assert_allclose(near.ratios, far.ratios, rtol=1e-6)
        assert near.deviance == pytest.approx(far.deviance, abs=1e-7)
        assert not near.problem and not far.problem

    def test_newtons_steps_end_where_an_independent_search_ends_zeros_included(self):
        rng = np.random.default_rng(5)
        zeros = 0
        for _ in range(60):
            counts = rng.integers(1, 7, rng.integers(3, 30))
            person = np.repeat(np.arange(len(counts)), counts)
            n = rng.integers(1, 9, len(person)).astype(float)
            if len(person) == len(counts) or n.sum() == len(n):
                continue
            spread = rng.choice([0.0, 0.01, 0.2, 1.0, 5.0], 2) ** 0.5
            level = spread[0] * rng.normal(size=len(counts))[person] + spread[1] * rng.normal(size=len(person))
            chat = np.repeat(np.arange(len(person)), n.astype(int))
            value = level[chat] + rng.normal(size=len(chat))
            function = NestedIntercepts(
                person, n, np.bincount(chat, value), np.bincount(chat, value**2), np.ones((len(n), 1))
            )
            ours, theirs = function.minimise(), min(function._search(start)[0] for start in ((0.4, 0.4), (0.02, 0.02)))
            assert not ours.problem
            assert ours.deviance <= theirs + 1e-7
            zeros += int((ours.ratios == 0).any())
        assert zeros > 5

    def test_many_people_are_searched_from_a_part_of_them_and_end_where_the_slope_is_0(self):
        rng = np.random.default_rng(2)
        person = np.repeat(rng.normal(0, 0.6, 2400), 3)
        n = rng.integers(1, 9, 7200).astype(float)
        level = person + rng.normal(0, 0.5, 7200)
        total = n * level + np.sqrt(n) * rng.normal(size=7200)
        squares = total**2 / n + rng.chisquare(np.maximum(n - 1, 1e-9))
        frame = pd.DataFrame({"participant": np.repeat(range(2400), 3), "n": n, "total": total, "sum_squares": squares})
        fitted = fit_components(conversation_sums(frame))
        assert not fitted.problem
        assert np.abs(fitted.function.gradient(*fitted.fit.ratios)).max() < 1e-3
        assert fitted.participant == pytest.approx(0.36, rel=0.1)
        assert fitted.conversation == pytest.approx(0.25, rel=0.1)


class TestParticipantBootstrap:
    def test_a_sample_is_the_fit_to_the_people_drawn_each_as_often_as_drawn(self, turns):
        frame = summed(turns)
        sums = conversation_sums(frame)
        fitted = fit_components(sums)
        ours = bootstrap_shares(fitted, sums, n_boot=3, seed=5)
        names = np.array(sorted(frame["participant"].unique()))
        rng = np.random.default_rng(5)
        for row in ours:
            drawn = rng.integers(len(names), size=len(names))
            again = pd.concat(
                frame[frame["participant"] == names[one]].assign(participant=f"{place:04d}")
                for place, one in enumerate(drawn)
            )
            other = fit_components(conversation_sums(again))
            np.testing.assert_allclose(row, [other.share(one) for one in COMPONENTS], rtol=1e-6)

    def test_spreads_as_the_profile_where_components_are_normal(self):
        rng = np.random.default_rng(4)
        person = np.repeat(rng.normal(0, math.sqrt(0.3), 150), 20)
        conversation = np.repeat(rng.normal(0, math.sqrt(0.2), 600), 5)
        frame = pd.DataFrame(
            {"participant": np.repeat(range(150), 20), "conversation": np.repeat(range(600), 5), "task": "A"}
        ).assign(y=person + conversation + rng.normal(0, math.sqrt(0.5), 3000))
        sums = conversation_sums(summed(frame, "y"))
        fitted = fit_components(sums)
        draws = bootstrap_shares(fitted, sums, n_boot=300)
        for place, component in enumerate(COMPONENTS):
            low, high = percentile_interval(draws[:, place], n_groups=150)
            profile = profile_share(fitted, component)
            assert low < fitted.share(component) < high
            assert (high - low) == pytest.approx(profile[1] - profile[0], rel=0.2)

    def test_says_how_far_it_is_and_ends_when_told_to(self, turns):
        sums = conversation_sums(summed(turns))
        fitted = fit_components(sums)
        heard = []

        def enough(what, done, total):
            heard.append((what, done, total))
            if done == 7:
                raise KeyboardInterrupt

        with pytest.raises(KeyboardInterrupt), listening(enough):
            bootstrap_shares(fitted, sums, n_boot=1000, what="samples")
        assert heard == [("samples", done, 1000) for done in range(8)]

    def test_without_a_fit_there_is_no_share(self):
        frame = pd.DataFrame(
            [("P1", "c1", 3, 9.0, 29.0)], columns=["participant", "conversation", "n", "total", "sum_squares"]
        )
        sums = conversation_sums(frame)
        assert np.isnan(bootstrap_shares(fit_components(sums), sums, n_boot=4)).all()


class TestInvariance:
    def test_shifting_and_stretching_the_scale(self, turns):
        plain = fit_components(conversation_sums(summed(turns)))
        moved = fit_components(conversation_sums(summed(turns.assign(overall=25 * turns["overall"] - 7))))
        assert moved.participant == pytest.approx(625 * plain.participant, rel=1e-6)
        assert moved.mean == pytest.approx(25 * plain.mean - 7, rel=1e-8)

    def test_order_and_names_of_people(self, turns):
        frame = summed(turns)
        plain = fit_components(conversation_sums(frame))
        renamed = frame.assign(participant="Z" + frame["participant"].str[::-1]).sample(frac=1, random_state=1)
        assert fit_components(conversation_sums(renamed)).participant == pytest.approx(plain.participant, rel=1e-7)


class TestTooLittle:
    @pytest.mark.parametrize(
        ("rows", "why"),
        [
            ([("P1", "c1", 3, 9.0, 29.0), ("P1", "c2", 3, 9.0, 29.0)], "two participants"),
            ([("P1", "c1", 3, 9.0, 29.0), ("P2", "c2", 3, 12.0, 50.0)], "two rated conversations"),
            ([("P1", "c1", 1, 3.0, 9.0), ("P1", "c2", 1, 4.0, 16.0), ("P2", "c3", 1, 5.0, 25.0)], "two rated turns"),
            ([("P1", "c1", 2, 8.0, 32.0), ("P1", "c2", 2, 8.0, 32.0), ("P2", "c3", 1, 4.0, 16.0)], "equal"),
        ],
    )
    def test_says_why(self, rows, why):
        frame = pd.DataFrame(rows, columns=["participant", "conversation", "n", "total", "sum_squares"])
        sums = conversation_sums(frame)
        fitted = fit_components(sums)
        assert why in fitted.problem
        assert math.isnan(fitted.participant)
        assert shrunken_means(fitted, sums)["shrunken_mean"].isna().all()
        assert all(math.isnan(end) for end in profile_share(fitted, "turn"))

    def test_nothing_at_all(self):
        frame = pd.DataFrame({"participant": [], "n": [], "total": [], "sum_squares": []})
        assert fit_components(conversation_sums(frame)).problem


class TestDependability:
    # V_p = 1, V_c = 2, V_t = 8, four turns: error of one conversation 2 + 8/4 = 4; over c conversations 4/c.
    components = Components(1.0, 2.0, 8.0, 3.0, 100, 10, 5)

    def test_by_hand(self):
        np.testing.assert_allclose(dependability(self.components, np.array([1, 4, 16]), 4), [1 / 5, 1 / 2, 16 / 20])

    def test_conversations_needed_reach_it_and_one_less_does_not(self):
        for wanted in (0.5, 0.7, 0.8, 0.9):
            needed = conversations_needed(self.components, wanted, 4)
            assert dependability(self.components, needed, 4) >= wanted - 1e-12
            assert needed == 1 or dependability(self.components, needed - 1, 4) < wanted
        assert conversations_needed(self.components, 0.8, 4) == 16


class TestSpread:
    def test_agrees_with_r(self, turns):
        codes = pd.factorize(turns["participant"])[0]
        values = turns["overall"].to_numpy(dtype=float)
        assert one_way_of(values, codes).icc1 == pytest.approx(expected("icc1")["icc1"], rel=1e-9)
        test = brown_forsythe(values, codes)
        assert test.statistic == pytest.approx(expected("brown-forsythe")["f"], rel=1e-9)
        assert test.p_value == pytest.approx(expected("brown-forsythe")["p"], rel=1e-9)

    @needs_golden
    def test_agrees_with_car(self):
        golden = pd.read_csv(GOLDEN / "brown_forsythe.csv", comment="#").set_index("case")
        turns = pd.read_csv(GOLDEN / "sense7_turns.csv")
        turns = turns[turns["overall"].notna()]
        codes = pd.factorize(turns["participant"])[0]
        test = brown_forsythe(turns["overall"].to_numpy(dtype=float), codes)
        assert test.statistic == pytest.approx(golden.loc["sense7 overall by participant", "f"], rel=1e-9)
        assert test.p_value == pytest.approx(golden.loc["sense7 overall by participant", "p"], rel=1e-7)
        chats = pd.factorize(turns["conversation"])[0]
        means = np.bincount(chats, turns["overall"]) / np.bincount(chats)
        test = brown_forsythe(turns["overall"].to_numpy(dtype=float) - means[chats], codes)
        theirs = golden.loc["sense7 conversation-centred residuals by participant"]
        assert test.statistic == pytest.approx(theirs["f"], rel=1e-9)
        assert (test.df1, test.df2) == (theirs["df1"], theirs["df2"])

    @pytest.mark.parametrize(
        ("by", "f", "df", "p"),
        [
            (["fcategory"], 0.0459921156373194, (2, 42), 9.55097523021745e-01),
            (["fcategory", "partner"], 1.4694199211428629, (5, 39), 2.21927901689388e-01),
        ],
    )
    def test_agrees_with_car_on_its_documented_example(self, by, f, df, p):
        # car 3.1-1, leveneTest(centre = median) on carData::Moore.
        moore = pd.read_csv(REFERENCE / "moore.csv", comment="#")
        test = brown_forsythe(moore["conformity"].to_numpy(dtype=float), moore.groupby(by).ngroup().to_numpy())
        assert test.statistic == pytest.approx(f, rel=1e-12)
        assert (test.df1, test.df2) == df
        assert test.p_value == pytest.approx(p, rel=1e-10)

    def test_icc_by_hand(self):
        # Groups (1, 3) and (5, 7): means 2 and 6, MSB = 2·2·2² = 16 with 1 df, MSW = 4/2 = 2, n0 = 2: (16 − 2)/(16 + 2).
        assert one_way_of(np.array([1.0, 3, 5, 7]), np.array([0, 0, 1, 1])).icc1 == pytest.approx(14 / 18)

    def test_groups_below_three_values_are_left_out(self):
        values, groups = np.array([1.0, 2, 3, 4, 5, 9, 9, 1]), np.array([0, 0, 0, 1, 1, 1, 2, 2])
        assert brown_forsythe(values, groups) == brown_forsythe(values[:6], groups[:6])

    def test_people_who_never_vary_have_no_test(self):
        ours = one_way_of(np.array([1.0, 1, 2, 2, 3, 3]), np.array([0, 0, 1, 1, 2, 2]))
        assert ours.icc1 == 1
        assert math.isnan(ours.p_value)


class TestBootstrap:
    def test_standard_error_of_a_mean_is_the_textbook_one(self):
        rng = np.random.default_rng(1)
        values = rng.normal(size=200)
        draws = resample_sums(np.column_stack([values, np.ones(200)]), n_boot=4000)
        spread = (draws[:, 0] / draws[:, 1]).std()
        assert spread == pytest.approx(values.std() / math.sqrt(200), rel=0.05)
        assert (draws[:, 1] == 200).all()

    def test_is_seeded(self):
        sums = np.arange(12.0).reshape(6, 2)
        np.testing.assert_array_equal(resample_sums(sums, n_boot=50), resample_sums(sums, n_boot=50))
        assert not np.array_equal(resample_sums(sums, n_boot=50), resample_sums(sums, n_boot=50, seed=1))

    def test_batches_do_not_lose_a_draw(self):
        sums = np.ones((5000, 1))
        assert (resample_sums(sums, n_boot=1700) == 5000).all()

    def test_no_interval_for_four_people_or_when_often_undefined(self):
        draws = np.arange(100.0)
        assert math.isnan(percentile_interval(draws, n_groups=4)[0])
        assert percentile_interval(draws, n_groups=5) == (pytest.approx(2.475), pytest.approx(96.525))
        assert math.isnan(percentile_interval(np.where(draws < 6, np.nan, draws), n_groups=50)[0])
