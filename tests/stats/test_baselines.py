"""Baselines of the classifier: nobody's own ratings reach their prediction, and planted effects are found."""

import math

import numpy as np
import pandas as pd
import pytest

from dashboard.stats.baselines import BASELINES, assign_folds, held_out_predictions
from dashboard.stats.classification import spearman

WARM, COLD = "thank you so much, that is kind", "no, read the manual again please"


def conversations(n_people=40, per_person=4, *, person=0.0, words=0.0, task=0.0, seed=1):
    """Conversations whose truth depends on the person, the words and the task as told."""
    rng = np.random.default_rng(seed)
    n = n_people * per_person
    clusters = np.repeat([f"p{place:02d}" for place in range(n_people)], per_person)
    warm = rng.integers(0, 2, n)
    tasks = rng.integers(0, 3, n)
    truth = 3.2 + person * np.repeat(rng.standard_normal(n_people), per_person) + words * (warm - 0.5)
    truth = truth + task * (tasks - 1) + 0.3 * rng.standard_normal(n)
    return pd.DataFrame(
        {
            "cluster": clusters,
            "task": [f"task {one}" for one in tasks],
            "ground_truth": np.clip(truth, 1, 5),
            "transcript": [f"hello there {place % 7} {WARM if one else COLD}" for place, one in enumerate(warm)],
        }
    )


def rho(frame, found, name):
    return spearman(found[name].to_numpy(), frame["ground_truth"].to_numpy())[0]


def test_folds_keep_participants_whole_and_are_even():
    clusters = np.repeat([f"p{place}" for place in range(37)], 5)
    folds = assign_folds(clusters)
    assert pd.Series(folds).groupby(clusters).nunique().max() == 1
    people = pd.Series(folds).groupby(clusters).first().value_counts()
    assert (len(people), people.max() - people.min()) == (10, 1)
    assert (folds == assign_folds(clusters)).all()
    assert len(np.unique(assign_folds(np.array(["a", "b", "c"])))) == 3


@pytest.mark.parametrize("name", ["constant", "task_mean", "words"])
def test_a_persons_own_ratings_and_words_never_reach_their_prediction(name):
    frame = conversations(person=0.5, words=1.0, task=0.5)
    before = held_out_predictions(frame, participants=True)
    mine = frame["cluster"] == "p07"
    changed = frame.copy()
    changed.loc[mine, "ground_truth"] = 1.0
    after = held_out_predictions(changed, participants=True)
    # The mean of all is one constant for everybody; what distinguishes a person's conversations is not theirs.
    constant = 0.0 if name == "constant" else frame["ground_truth"].mean() - changed["ground_truth"].mean()
    difference = before[name] - after[name]
    np.testing.assert_allclose(difference[mine], constant, atol=1e-9)
    if name != "constant":
        assert not np.allclose(difference[~mine], constant, atol=1e-9)


def test_a_conversations_own_rating_never_reaches_the_persons_mean():
    frame = pd.DataFrame(
        {
            "cluster": ["a", "a", "a", "b", "b", "c"],
            "task": "t",
            "ground_truth": [1.0, 2.0, 4.5, 3.0, 5.0, 4.0],
            "transcript": None,
        }
    )
    found = held_out_predictions(frame, participants=True)["participant_others"]
    # a: (2 + 4.5)/2, (1 + 4.5)/2, (1 + 2)/2; b: 5, 3; c has one conversation: the mean of a and b, 15.5/5
    assert found.tolist() == pytest.approx([3.25, 2.75, 1.5, 5.0, 3.0, 3.1])


def test_planted_effects_are_found_where_they_are_and_nowhere_else():
    frame = conversations(person=0.9)
    found = held_out_predictions(frame, participants=True)
    assert rho(frame, found, "participant_others") > 0.6
    assert abs(rho(frame, found, "words")) < 0.25
    frame = conversations(words=2.0)
    found = held_out_predictions(frame, participants=True)
    assert rho(frame, found, "words") > 0.7
    assert abs(rho(frame, found, "participant_others")) < 0.25
    frame = conversations(task=0.8)
    found = held_out_predictions(frame, participants=True)
    assert rho(frame, found, "task_mean") > 0.7


def test_folds_alone_correlate_with_nothing():
    # Strong persons, tasks and words that say nothing: the means of the other folds must not show through.
    found = [conversations(person=0.9, seed=seed) for seed in range(6)]
    ranks = [rho(frame, held_out_predictions(frame, participants=True), "task_mean") for frame in found]
    assert abs(np.mean(ranks)) < 0.1


def test_constant_is_the_commonest_level_of_the_others():
    frame = conversations().assign(ground_truth=[4.2] * 100 + [2.1] * 60)
    assert (held_out_predictions(frame, participants=True)["constant"] == 4).all()


def test_what_cannot_be_made_is_unknown_and_not_guessed():
    frame = conversations().assign(transcript=None, task=None)
    found = held_out_predictions(frame, participants=False)
    assert list(found) == list(BASELINES)
    assert found["words"].isna().all() and found["participant_others"].isna().all()
    assert found["task_mean"].notna().all() and found["constant"].notna().all()
    unlike = conversations().assign(transcript=[f"word{place}" for place in range(160)])
    assert held_out_predictions(unlike, participants=True)["words"].isna().all()
    some = conversations(words=2.0)
    some.loc[:9, "transcript"] = None
    assert held_out_predictions(some, participants=True)["words"].notna().all()


def test_two_people_are_needed_and_progress_is_told():
    with pytest.raises(ValueError, match="two participants"):
        held_out_predictions(conversations(n_people=1), participants=True)
    told = []
    held_out_predictions(conversations(n_people=12), participants=True, progress=lambda *one: told.append(one))
    assert told[0] == (0, 10) and told[-1] == (10, 10) and len(told) == 11


def test_the_same_twice_and_in_any_order_of_rows():
    frame = conversations(person=0.5, words=1.0)
    found = held_out_predictions(frame, participants=True)
    pd.testing.assert_frame_equal(found, held_out_predictions(frame, participants=True))
    mixed = frame.sample(frac=1, random_state=3)
    again = held_out_predictions(mixed, participants=True).loc[frame.index]
    for name in ("constant", "task_mean", "participant_others"):
        np.testing.assert_allclose(found[name], again[name])
    assert math.isclose(rho(frame, found, "words"), rho(frame, again, "words"), abs_tol=0.05)
