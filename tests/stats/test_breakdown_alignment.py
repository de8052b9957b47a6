"""Alignment, risk set, order reference and cost against loops, R and published examples."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from dashboard.stats.alignment import OFFSETS, align_events, match_events, offset_means, order_band, shuffled_means
from dashboard.stats.breakdown_cost import within_cost
from dashboard.stats.breakdowns import Courses, dropped_turns, first_breakdowns, low_turns
from dashboard.stats.effect_size import correction, effect_size

GOLDEN = Path(__file__).parents[2].parent / "shared" / "data" / "golden"
needs_golden = pytest.mark.skipif(not GOLDEN.is_dir(), reason="the shared golden numbers are not on this machine")
nan = np.nan


def courses(ratings, units=None):
    value = np.array([one for row in ratings for one in row], dtype=float)
    return Courses(
        conversation=np.repeat(np.arange(len(ratings)), [len(row) for row in ratings]),
        turn=np.concatenate([np.arange(1, len(row) + 1) for row in ratings]),
        value=value,
        broken=low_turns(value, 2),
        unit=np.arange(len(ratings)) if units is None else np.asarray(units),
    )


def times(given):
    found = first_breakdowns(given)
    return np.where(found["event"], found["time"], 0)


def some(seed=1, n=60):
    rng = np.random.default_rng(seed)
    ratings = [
        np.where(rng.random(length) < 0.1, nan, rng.integers(1, 6, length)).tolist()
        for length in rng.integers(1, 12, n)
    ]
    return courses(ratings), rng.integers(0, 3, n)


class TestAlignment:
    def test_by_hand(self):
        given = courses([[4, 2, 3], [1], [5, 5], [4, nan, 1, 5]])
        found = pd.DataFrame(align_events(given, times(given), given.value), columns=OFFSETS)
        assert found[0].tolist() == [2, 1, 1]
        assert found[-1].tolist() == pytest.approx([4, nan, nan], nan_ok=True)
        assert found[-2].tolist() == pytest.approx([nan, nan, 4], nan_ok=True)
        assert found[1].tolist() == pytest.approx([3, nan, 5], nan_ok=True)

    def test_the_risk_set_equals_a_loop_over_candidates(self):
        given, stratum = some()
        time = times(given)
        rows = [given.value[given.conversation == one] for one in range(given.n_conversations)]
        found = match_events(given, time, given.value, stratum)
        for place, event in enumerate(np.flatnonzero(time)):
            at = time[event] - 1
            candidates = [
                row
                for other, row in enumerate(rows)
                if stratum[other] == stratum[event] and len(row) > at and row[at] == row[at]
                if time[other] == 0 or time[other] - 1 > at
            ]
            for column, offset in enumerate(OFFSETS):
                there = at + offset
                own = rows[event][there] if 0 <= there < len(rows[event]) else nan
                known = [row[there] for row in candidates if 0 <= there < len(row) and row[there] == row[there]]
                expected = np.mean(known) if own == own and known else nan
                assert found[place, column] == pytest.approx(expected, nan_ok=True)

    def test_a_gap_in_turn_numbers_is_a_gap(self):
        # Turn numbers need not be complete: an event on turn 5 has nothing at −1 when turn 4 is not there.
        given = courses([[4, 1]])
        given = Courses(given.conversation, np.array([3, 5]), given.value, given.broken, given.unit)
        found = dict(zip(OFFSETS, align_events(given, times(given), given.value)[0], strict=True))
        assert found[-2] == 4
        assert np.isnan(found[-1])

    def test_without_candidates_there_is_no_comparison(self):
        given = courses([[4, 1, 3]])
        assert np.isnan(match_events(given, times(given), given.value, np.zeros(1, dtype=int))).all()

    def test_means_take_the_participant_as_unit(self):
        aligned = np.full((8, len(OFFSETS)), nan)
        aligned[:, 4] = [1, 2, 2, 1, 3, 2, 2, 1]
        found = offset_means(aligned, np.arange(8) // 2).set_index("offset")
        assert found.loc[1, "mean"] == 14 / 8
        assert np.isnan(found.loc[1, "conf_low"])  # four participants
        assert found.loc[0, "n_conversations"] == 0
        assert np.isfinite(offset_means(aligned, np.arange(8)).set_index("offset").loc[1, "conf_low"])

    @needs_golden
    def test_672_conversations_as_by_another_program(self):
        given, tasks = golden_courses()
        time, golden = times(given), pd.read_csv(GOLDEN / "breakdown_alignment.csv", comment="#")
        unit = given.unit[time > 0]
        for series, aligned in (
            ("breakdown", align_events(given, time, given.value)),
            ("matched: still unbroken at that turn (risk set)", match_events(given, time, given.value, tasks)),
        ):
            expected = golden[golden["series"] == series]
            found = offset_means(aligned, unit)
            assert found["mean"].to_numpy() == pytest.approx(expected["mean"].to_numpy(), abs=1e-12)
            assert found["n_conversations"].tolist() == expected["n"].tolist()
        expected = golden[golden["series"].str.startswith("order")]
        band = order_band(shuffled_means(given, None)[0])
        assert band["mean"].to_numpy() == pytest.approx(expected["mean"].to_numpy(), abs=0.012)
        assert band["conf_low"].to_numpy() == pytest.approx(expected["lo"].to_numpy(), abs=0.04)
        assert band["conf_high"].to_numpy() == pytest.approx(expected["hi"].to_numpy(), abs=0.04)


class TestOrderReference:
    def test_shuffled_marks_and_shuffled_ratings_agree(self):
        given, _ = some(2, 200)
        marks = order_band(shuffled_means(given, None)[0])
        ratings = order_band(shuffled_means(given, lambda _, value: low_turns(value, 2))[0])
        assert marks["mean"].to_numpy() == pytest.approx(ratings["mean"].to_numpy(), abs=0.02)

    def test_two_turns_have_two_orders(self):
        # [4, 2]: the low turn comes first (then +1 holds 4) or second (then −1 holds 4), each half of the time.
        means, n = shuffled_means(courses([[4, 2]]), None)
        assert n == 1000
        found = dict(zip(OFFSETS, means.T, strict=True))
        assert set(found[0]) == {2.0}
        after = np.isfinite(found[1])
        assert (after != np.isfinite(found[-1])).all()
        assert 0.45 < after.mean() < 0.55

    def test_is_the_same_for_the_same_seed_and_keeps_unrated_places(self):
        given = courses([[4, nan, 2, 5]])
        first, _ = shuffled_means(given, None)
        assert np.array_equal(first, shuffled_means(given, None)[0], equal_nan=True)
        # Places 1, 3, 4 are rated: no rating can stand directly before place 3.
        found = dict(zip(OFFSETS, first.T, strict=True))
        assert np.nanmax(found[3]) in (4, 5)
        assert set(found[-2][np.isfinite(found[-2])]) <= {4.0, 5.0}

    def test_a_true_dip_after_the_event_leaves_the_band(self):
        rng = np.random.default_rng(4)
        rows = rng.choice([3, 4, 5], size=(300, 8)).astype(float)
        at = rng.integers(0, 6, 300)
        rows[np.arange(300), at] = 2
        unlucky = rows.copy()
        unlucky[np.arange(300), at + 1] = 3
        for ratings, outside in ((rows, False), (unlucky, True)):
            given = courses(ratings.tolist())
            seen = np.nanmean(align_events(given, times(given), given.value), axis=0)
            band = order_band(shuffled_means(given, None)[0]).set_index("offset")
            assert (seen[OFFSETS.index(1)] < band.loc[1, "conf_low"]) == outside

    def test_drops_are_found_again_in_every_order(self):
        given = courses([[1, 5, 5], [3, 3, 3]])
        means, _ = shuffled_means(given, lambda code, value: dropped_turns(code, value, 1.0))
        # Orders of 1, 5, 5: the 1 stands first (no drop), second or third (a drop to 1).
        assert set(means[:, OFFSETS.index(0)][np.isfinite(means[:, OFFSETS.index(0)])]) == {1.0}
        assert 0.6 < np.isfinite(means[:, OFFSETS.index(0)]).mean() < 0.73

    def test_nothing_rated_is_no_band(self):
        given = courses([[nan, nan]])
        assert order_band(shuffled_means(given, None)[0])["mean"].isna().all()


class TestEffectSize:
    def test_worked_example_of_borenstein_et_al(self):
        # Introduction to Meta-Analysis (2009), pp. 26–27: means 103 and 100, SD 5.5 and 4.5, 50 each: d = 0.5970, J = 0.9923, g = 0.5924.
        rng = np.random.default_rng(1)
        values = np.concatenate([scaled(rng, 50, 103, 5.5), scaled(rng, 50, 100, 4.5)])
        found = effect_size(values, np.repeat([False, True], 50), np.arange(100))
        assert found.estimate == pytest.approx(0.597022314125993, abs=1e-9)
        assert correction(98) == pytest.approx(0.9923273657289, abs=1e-12)
        assert found.hedges_g == pytest.approx(0.592441580258019, abs=1e-9)

    def test_positive_is_a_cost(self):
        found = effect_size(np.array([5.0, 4, 2, 1]), np.array([False, False, True, True]), np.arange(4))
        # (4.5 − 1.5)/√((0.5 + 0.5)/2)
        assert found.estimate == pytest.approx(3 / np.sqrt(0.5))
        assert (found.n_with, found.n_without) == (2, 2)

    def test_shift_and_stretch_leave_it(self):
        rng = np.random.default_rng(2)
        values, has, unit = rng.normal(size=80), rng.random(80) < 0.4, rng.integers(0, 12, 80)
        once, again = effect_size(values, has, unit), effect_size(values * 7 + 1e6, has, unit)
        assert again.estimate == pytest.approx(once.estimate, rel=1e-6)
        assert again.conf_low == pytest.approx(once.conf_low, rel=1e-6)
        assert effect_size(values, ~has, unit).estimate == pytest.approx(-once.estimate)

    def test_participants_are_resampled_whole(self):
        rng = np.random.default_rng(3)
        values, has = rng.normal(size=300), rng.random(300) < 0.5
        alone = effect_size(values, has, np.arange(300))
        copied = effect_size(np.tile(values, 4), np.tile(has, 4), np.tile(np.arange(300), 4))
        assert copied.estimate == pytest.approx(alone.estimate, rel=0.01)
        assert copied.conf_high - copied.conf_low == pytest.approx(alone.conf_high - alone.conf_low, rel=0.1)

    @pytest.mark.parametrize("has", [[False] * 6, [True] + [False] * 5])
    def test_too_few_on_one_side_is_unknown(self, has):
        assert np.isnan(effect_size(np.arange(6.0), np.array(has), np.arange(6)).estimate)

    def test_equal_values_are_unknown(self):
        assert np.isnan(effect_size(np.full(8, 3.1), np.arange(8) < 4, np.arange(8)).estimate)

    @needs_golden
    @pytest.mark.parametrize("contrast", [">=1 against none", "exactly one against none"])
    @pytest.mark.parametrize("outcome", ["experienced", "satisfaction"])
    def test_672_conversations_as_in_r(self, outcome, contrast):
        values, count, unit, expected = golden_impact(outcome, contrast)
        found = effect_size(values, count > 0, unit, n_boot=5000)
        assert (found.n_with, found.n_without) == (expected["n_with"], expected["n_without"])
        assert found.estimate == pytest.approx(expected["d"], abs=1e-10)
        assert found.hedges_g == pytest.approx(expected["g"], abs=1e-10)
        assert found.conf_low == pytest.approx(expected["lo_boot"], abs=0.02)
        assert found.conf_high == pytest.approx(expected["hi_boot"], abs=0.02)
        row, reason = within_cost(values, count > 0, unit)
        assert reason == ""
        assert row["estimate"] == pytest.approx(-expected["within_b"], abs=1e-5)
        assert row["std_error"] == pytest.approx(expected["within_se"], abs=1e-5)
        assert row["df"] == pytest.approx(expected["within_df"], rel=1e-3)
        assert row["standardised"] == pytest.approx(expected["within_d"], abs=1e-4)


class TestWithinCost:
    def test_finds_the_cost_within_persons_whatever_lies_between_them(self):
        rng = np.random.default_rng(5)
        unit = np.repeat(np.arange(40), 10)
        prone = np.repeat(rng.random(40), 10)
        exposure = rng.random(400) < prone
        # Prone people rate higher: over all conversations the cost is hidden.
        values = 3 + 2 * prone - 0.8 * exposure + rng.normal(0, 0.3, 400)
        row, _ = within_cost(values, exposure, unit)
        assert row["conf_low"] < 0.8 < row["conf_high"]
        assert row["n_varying"] > 30

    def test_needs_five_participants_with_both(self):
        unit = np.repeat(np.arange(10), 2)
        exposure = np.repeat(np.arange(10) % 2, 2).astype(bool)
        exposure[:8] = [True, False] * 4
        row, reason = within_cost(np.arange(20.0), exposure, unit)
        assert np.isnan(row["estimate"])
        assert reason.startswith("Only 4 of 10 participants")


def scaled(rng, n, mean, sd):
    raw = rng.normal(size=n)
    return mean + sd * (raw - raw.mean()) / raw.std(ddof=1)


def golden_courses():
    turns = pd.read_csv(GOLDEN / "sense7_turns.csv").sort_values(["conversation", "turn"])
    number = pd.factorize(turns["conversation"])[0]
    first = turns.drop_duplicates("conversation")
    value = turns["overall"].to_numpy()
    unit = pd.factorize(first["participant"])[0]
    return Courses(number, turns["turn"].to_numpy(), value, low_turns(value, 2), unit), pd.factorize(first["task"])[0]


def golden_impact(outcome, contrast):
    rows = pd.read_csv(GOLDEN / "survival_conversations.csv")
    scores = pd.read_csv(GOLDEN / "sense7_conversations.csv").drop(columns=["participant", "task", "model", "desired"])
    merged = rows.merge(scores, on="conversation")
    if contrast.startswith("exactly"):
        merged = merged[merged["n_break"] <= 1]
    golden = pd.read_csv(GOLDEN / "breakdown_impact.csv", comment="#").set_index(["outcome", "contrast"])
    values = merged[outcome].to_numpy(dtype=float)
    return values, merged["n_break"].to_numpy(), pd.factorize(merged["participant"])[0], golden.loc[(outcome, contrast)]
