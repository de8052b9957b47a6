"""Style indices and their reliability, against goldens, pandas and cases worked out by hand."""

import math
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from dashboard.database import connect
from dashboard.paths import SAMPLE
from dashboard.queries import run_query
from dashboard.stats.response_styles import INDICES, Turns, halves_of, largest_std_dev, split_half, style_indices

GOLDEN = Path(__file__).parents[2].parent / "shared" / "data" / "golden"
needs_golden = pytest.mark.skipif(not GOLDEN.is_dir(), reason="the shared golden numbers are not on this machine")


def turns_of(frame, low=1.0, high=5.0, levels=5):
    frame = frame.sort_values(["participant", "conversation", "turn"])
    return Turns(
        unit=pd.factorize(frame["participant"])[0],
        conversation=pd.factorize(frame["conversation"])[0],
        turn=frame["turn"].to_numpy(),
        value=frame["overall"].to_numpy(dtype=float),
        minimum=low,
        maximum=high,
        n_levels=levels,
    )


def single(values, turn=None):
    n = len(values)
    return Turns(
        np.zeros(n, int), np.zeros(n, int), np.array(turn or range(1, n + 1)), np.array(values, float), 1.0, 5.0, 5
    )


@needs_golden
def test_agrees_with_r_on_every_participant():
    turns = pd.read_csv(GOLDEN / "sense7_turns.csv")
    golden = pd.read_csv(GOLDEN / "variability_participants.csv", comment="#")
    golden = golden.rename(columns={"rmssd_adjacent": "rmssd", "inertia_pearson_adjacent": "inertia"})
    ours = turns_of(turns[turns["overall"].notna()])
    found = style_indices(ours, ours.unit, len(golden))
    for name in ("n_turns", *INDICES):
        np.testing.assert_allclose(found[name], golden[name], rtol=1e-9, atol=1e-9, err_msg=name)


def test_agrees_with_the_report_on_the_sample():
    data = connect(SAMPLE, public=False)
    report = run_query(data, "participant_ratings", outcome="overall")
    rows = run_query(data, "rated_turns", outcome="overall")
    turns = Turns(
        rows["cluster_number"].to_numpy(),
        rows["conversation_number"].to_numpy(),
        rows["turn"].to_numpy(),
        rows["value"].to_numpy(),
        1.0,
        5.0,
        5,
    )
    found = style_indices(turns, turns.unit, len(report))
    for name in INDICES:
        np.testing.assert_allclose(found[name], report[name], rtol=1e-9, atol=1e-9, err_msg=name)


@needs_golden
def test_relative_sd_agrees_with_the_published_code_on_every_hand_case():
    golden = pd.read_csv(GOLDEN / "variability_relative_sd_cases.csv", comment="#")
    for row in golden.itertuples():
        ratings = [float(one) for one in str(row.ratings).split()]
        found = style_indices(single(ratings), np.zeros(len(ratings), int), 1).iloc[0]
        largest = largest_std_dev(np.array([sum(ratings)]), np.array([len(ratings)]), 1, 5)[0]
        assert found["mean"] == pytest.approx(row.mean, rel=1e-12)
        assert found["std_dev"] == pytest.approx(row.sd, rel=1e-12, nan_ok=True)
        assert largest == pytest.approx(row.max_sd, rel=1e-12, nan_ok=True)
        assert found["relative_std_dev"] == pytest.approx(row.relative_sd, rel=1e-12, nan_ok=True)


@needs_golden
def test_split_half_agrees_with_the_golden_numbers():
    turns = pd.read_csv(GOLDEN / "sense7_turns.csv")
    golden = pd.read_csv(GOLDEN / "index_split_half.csv", comment="#")
    ours = split_half(turns_of(turns[turns["overall"].notna()]), 109, n_boot=200).set_index("index")
    names = {"sd": "std_dev", "rel": "relative_std_dev", "extreme": "share_extreme"}
    for row in golden.itertuples():
        found = ours.loc[names.get(row[1], row[1])]
        assert found["n_groups"] == row.n
        assert found["r_half"] == pytest.approx(row.r_half, rel=1e-9)
        assert found["estimate"] == pytest.approx(row.spearman_brown, rel=1e-9)
        assert found["conf_low"] < found["estimate"] < found["conf_high"]


class TestRelativeSd:
    @pytest.mark.parametrize(
        ("ratings", "largest"),
        [
            # Two ratings with sum 7: 5 and 2, deviations ±1.5: √4.5. Three with sum 13: 5, 5, 3 around 13/3: √(4/3).
            ([3, 4], math.sqrt(4.5)),
            ([4, 4, 5], math.sqrt(4 / 3)),
            ([1, 5], math.sqrt(8)),
            ([2, 2], math.sqrt(2)),
            ([1, 1], 0.0),
        ],
    )
    def test_largest_sd_by_hand(self, ratings, largest):
        assert largest_std_dev(np.array([sum(ratings)]), np.array([len(ratings)]), 1, 5)[0] == pytest.approx(largest)

    def test_largest_sd_is_that_of_every_set_of_ratings_with_the_sum(self):
        import itertools

        for n in range(2, 6):
            sets = np.array(list(itertools.combinations_with_replacement(range(1, 6), n)), dtype=float)
            found = pd.Series(sets.std(axis=1, ddof=1)).groupby(sets.sum(axis=1)).max()
            np.testing.assert_allclose(
                largest_std_dev(found.index.to_numpy(), np.full(len(found), n), 1, 5), found, atol=1e-12
            )

    @pytest.mark.parametrize(
        ("ratings", "relative"), [([3, 3, 3], 0.0), ([1, 5], 1.0), ([1, 1, 5], 1.0), ([3, 4], 1 / 3)]
    )
    def test_relative_sd_by_hand(self, ratings, relative):
        turns = single(ratings)
        assert style_indices(turns, turns.unit, 1)["relative_std_dev"][0] == pytest.approx(relative)

    @pytest.mark.parametrize("ratings", [[3], [5, 5, 5], [1, 1]])
    def test_is_undefined_for_one_turn_or_a_mean_at_an_end(self, ratings):
        turns = single(ratings)
        assert math.isnan(style_indices(turns, turns.unit, 1)["relative_std_dev"][0])


class TestSuccessiveTurns:
    def test_by_hand(self):
        # Pairs (1, 3), (3, 2), (2, 5): differences 2, −1, 3; mean square 14/3.
        turns = single([1, 3, 2, 5])
        found = style_indices(turns, turns.unit, 1).iloc[0]
        assert found["rmssd"] == pytest.approx(math.sqrt(14 / 3))
        assert found["inertia"] == pytest.approx(np.corrcoef([1, 3, 2], [3, 2, 5])[0, 1])

    def test_an_unrated_turn_breaks_the_pair(self):
        turns = single([1, 3, 2, 5], turn=[1, 2, 4, 5])
        found = style_indices(turns, turns.unit, 1).iloc[0]
        assert found["rmssd"] == pytest.approx(math.sqrt((4 + 9) / 2))
        assert math.isnan(found["inertia"])

    def test_the_end_of_a_conversation_is_no_pair(self):
        turns = Turns(
            np.zeros(4, int), np.array([0, 0, 1, 1]), np.array([1, 2, 3, 4]), np.array([1.0, 2, 5, 5]), 1, 5, 5
        )
        assert style_indices(turns, turns.unit, 1)["n_pairs"][0] == 2


class TestEntropy:
    def test_is_1_when_levels_are_used_alike_and_0_when_one_is(self):
        assert style_indices(single([1, 2, 3, 4, 5]), np.zeros(5, int), 1)["entropy"][0] == pytest.approx(1)
        assert style_indices(single([4, 4, 4]), np.zeros(3, int), 1)["entropy"][0] == 0

    def test_a_continuous_outcome_has_none(self):
        turns = Turns(np.zeros(2, int), np.zeros(2, int), np.array([1, 2]), np.array([2.5, 3.5]), 1, 5, math.nan)
        found = style_indices(turns, turns.unit, 1)
        assert found[["entropy", "share_extreme"]].isna().all().all()
        assert found["std_dev"].notna().all()


class TestSplitHalf:
    def test_halves_alternate_within_a_person(self):
        turns = Turns(
            unit=np.array([0, 0, 1, 0, 0, 1]),
            conversation=np.array([0, 0, 1, 2, 3, 4]),
            turn=np.array([1, 2, 1, 1, 1, 1]),
            value=np.full(6, 3.0),
            minimum=1,
            maximum=5,
            n_levels=5,
        )
        assert halves_of(turns).tolist() == [0, 0, 0, 1, 0, 1]

    def test_people_who_never_change_are_perfectly_reliable_in_the_mean(self):
        frame = pd.DataFrame(
            [(p, f"{p}-{c}", t, 1 + p % 5) for p in range(10) for c in range(2) for t in (1, 2)],
            columns=["participant", "conversation", "turn", "overall"],
        )
        found = split_half(turns_of(frame), 10, n_boot=200).set_index("index")
        assert found.loc["mean", "estimate"] == pytest.approx(1)
        # All SDs are 0: nobody differs, so there is nothing to be reliable about.
        assert math.isnan(found.loc["std_dev", "estimate"])

    def test_noise_is_not_reliable(self):
        rng = np.random.default_rng(8)
        frame = pd.DataFrame(
            [(p, f"{p}-{c}", t, rng.integers(1, 6)) for p in range(200) for c in range(4) for t in range(1, 6)],
            columns=["participant", "conversation", "turn", "overall"],
        )
        found = split_half(turns_of(frame), 200, n_boot=300).set_index("index")
        assert (found["conf_low"] < 0.15).all()
        assert (found["estimate"].abs() < 0.35).all()

    def test_two_people_have_none(self):
        frame = pd.DataFrame(
            [(p, f"{p}-{c}", t, p + 2) for p in range(2) for c in range(2) for t in (1, 2)],
            columns=["participant", "conversation", "turn", "overall"],
        )
        assert split_half(turns_of(frame), 2, n_boot=50)["estimate"].isna().all()


def test_nothing_rated_gives_rows_without_numbers():
    empty = np.zeros(0, int)
    turns = Turns(empty, empty, empty, np.zeros(0), 1, 5, 5)
    found = style_indices(turns, empty, 2)
    assert found["n_turns"].tolist() == [0, 0]
    assert found[list(INDICES)].isna().all().all()
