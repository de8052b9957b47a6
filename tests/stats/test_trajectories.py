"""Means by turn, fifths, the model's line under informative endings, whether a low rating ends, and recovery."""

import numpy as np
import pytest

from dashboard.stats.breakdowns import Courses, first_breakdowns, low_turns
from dashboard.stats.recovery import ABOVE, BACK, recovery_times
from dashboard.stats.trajectories import ending_ratio, model_line, sample_lines, time_means, time_of_turns

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


def everyone(given):
    return np.ones(given.n_conversations, dtype=bool)


def simulated(seed, *, slope=0.0, leave=0.0, people=60, each=8, longest=10):
    """Conversations that end the likelier the lower the last rating, by ``leave`` per point below 3."""
    rng = np.random.default_rng(seed)
    ratings, units = [], []
    for person in range(people):
        level = rng.normal(0, 0.7)
        for _ in range(each):
            talk, row = rng.normal(0, 0.5), []
            for turn in range(1, longest + 1):
                row.append(3 + level + talk + slope * turn + rng.normal(0, 0.6))
                if rng.random() < np.clip(0.12 + leave * (3 - row[-1]), 0, 1):
                    break
            ratings.append(row)
            units.append(person)
    return courses(ratings, units)


class TestMeansByTurn:
    def test_by_hand(self):
        given = courses([[4, 2, nan], [5], [3, nan]])
        found = time_means(given, given.turn, everyone(given)).set_index("turn")
        assert found["mean"].tolist() == pytest.approx([4, 2, nan], nan_ok=True)
        assert found["n_observations"].tolist() == [3, 1, 0]
        assert found["n_running"].tolist() == [3, 2, 1]
        assert found["conf_low"].isna().all()

    def test_groups_divide_the_whole(self):
        given = simulated(1)
        member = np.arange(given.n_conversations) % 2 == 0
        parts = [time_means(given, given.turn, one) for one in (member, ~member)]
        whole = time_means(given, given.turn, everyone(given))
        n = sum(part["n_observations"] for part in parts)
        assert (whole["n_observations"] == n).all()
        total = sum(part["n_observations"] * part["mean"] for part in parts)
        assert whole["mean"].to_numpy() == pytest.approx((total / n).to_numpy())

    def test_fifths_of_conversations_of_five_turns_or_more(self):
        given = courses([[1] * 5, [1] * 4, [1] * 7])
        last = np.array([5, 4, 7])
        found = time_of_turns(given, last, relative=True)
        assert found.tolist() == [1, 2, 3, 4, 5, 0, 0, 0, 0, 1, 2, 3, 3, 4, 5, 5]
        assert (time_of_turns(given, last, relative=False) == given.turn).all()


class TestModelLine:
    def test_is_not_bent_by_endings_that_depend_on_ratings(self):
        given = simulated(2, slope=0.0, leave=0.25)
        means = time_means(given, given.turn, everyone(given))
        slope, line, reason = model_line(given, everyone(given), participants=True)
        assert reason == ""
        # Those who rate low leave: the mean of those running rises though nobody's ratings do.
        assert means["mean"].iloc[5] - means["mean"].iloc[0] > 0.25
        assert slope["conf_low"] < 0 < slope["conf_high"]
        assert abs(line["fitted"].iloc[5] - line["fitted"].iloc[0]) < 0.12

    def test_finds_a_slope(self):
        slope, line, _ = model_line(given := simulated(3, slope=-0.1), everyone(given), participants=True)
        assert slope["conf_low"] < -0.1 < slope["conf_high"]
        assert slope["p_value"] < 0.001
        assert (line["fitted_low"] < line["fitted"]).all()
        assert np.diff(line["fitted"]) == pytest.approx(slope["estimate"])

    def test_too_little_is_told(self):
        given = courses([[4, 3, 2]] * 4)
        slope, line, reason = model_line(given, everyone(given), participants=True)
        assert np.isnan(slope["estimate"])
        assert line.empty
        assert reason.endswith(".")


class TestEnding:
    @pytest.mark.parametrize(("leave", "found"), [(0.15, True), (0.0, False)])
    def test_a_lower_rating_ends_conversations_only_where_planted(self, leave, found):
        given = simulated(4, leave=leave, longest=8)
        last = first_breakdowns(given)["last_turn"].to_numpy()
        row, reason = ending_ratio(given, last)
        assert reason == ""
        assert (row["conf_low"] > 1) == found
        assert row["conf_low"] < row["hazard_ratio"] < row["conf_high"]

    def test_nothing_to_say_is_told(self):
        given = courses([[4, 4]] * 10)
        row, reason = ending_ratio(given, np.full(10, 2))
        assert np.isnan(row["hazard_ratio"])
        assert reason.endswith(".")


class TestSingleLines:
    def test_a_seeded_sample_of_those_with_two_ratings(self):
        given = simulated(5)
        chosen = sample_lines(given, most=40, seed=1)
        assert len(chosen) == 40
        assert (chosen == sample_lines(given, most=40, seed=1)).all()
        n_rated = np.bincount(given.conversation[given.rated], minlength=given.n_conversations)
        assert (n_rated[chosen] >= 2).all()
        few = courses([[4], [3, 4], [nan, 2]])
        assert sample_lines(few, most=40, seed=1).tolist() == [1]


class TestRecovery:
    def test_by_hand(self):
        given = courses(
            [
                [4, 1, 3, 4],  # above after 1; earlier mean 4: back at 4 − 0.5 after 2
                [4, 1, nan, 2, 2],  # neither: censored after 3, at the last rated turn
                [1, 3],  # above after 1; no earlier turn
                [4, 2],  # no later turn
                [4, 4],  # no breakdown
                [3, 5, 2, 2, 3.5, 2],  # earlier mean 4: back exactly at 3.5, after 2
            ]
        )
        found = first_breakdowns(given)
        rows = recovery_times(given, np.where(found["event"], found["time"], 0), low_at=2)
        above, back = (rows[rows["recovery"] == one] for one in (ABOVE, BACK))
        assert above["time"].tolist() == [1, 3, 1, 0, 2]
        assert above["event"].tolist() == [True, False, True, False, True]
        assert above["reason"].tolist() == ["", "", "", "no later", ""]
        assert back["time"].tolist() == [2, 3, 0, 0, 2]
        assert back["event"].tolist() == [True, False, False, False, True]
        assert back["reason"].tolist() == ["", "", "no earlier", "no later", ""]
