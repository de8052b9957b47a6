"""What must not matter, what must flip, what must be refused, and what must be said."""

import numpy as np
import pandas as pd
import pytest

from dashboard.stats.ordinal_mixed import fit_cumulative_logit
from dashboard.vocabulary import Refused, TooLittleData


def simulate(seed, *, n_participants=30, n_conversations=3, n_turns=5, sds=(1.0, 0.7), beta=(0.8, -0.3)):
    """Return ratings 1–5 from a cumulative logit with known effects."""
    rng = np.random.default_rng(seed)
    participant = np.repeat(np.arange(n_participants), n_conversations * n_turns)
    conversation = np.repeat(np.arange(n_participants * n_conversations), n_turns)
    X = np.column_stack([rng.integers(0, 2, len(participant)), rng.normal(size=len(participant))]).astype(float)
    effects = sds[0] * rng.normal(size=n_participants)[participant]
    effects += sds[1] * rng.normal(size=n_participants * n_conversations)[conversation]
    latent = X @ beta + effects + rng.logistic(size=len(participant))
    rating = 1 + np.searchsorted([-2.0, -0.7, 0.6, 2.0], latent)
    return pd.DataFrame(
        {"rating": rating, "a": X[:, 0], "b": X[:, 1], "participant": participant, "conversation": conversation}
    )


def fit(frame, *, nested=True, columns=("a", "b"), y=None, **options):
    return fit_cumulative_logit(
        frame.rating if y is None else y,
        frame[list(columns)],
        participant=frame.participant,
        conversation=frame.conversation if nested else None,
        term_names=list(columns),
        **{"n_quadrature": 5, **options},
    )


def coefficients(result):
    return pd.concat([result.thresholds, result.terms])[["estimate", "std_error"]].to_numpy()


@pytest.fixture(scope="module")
def ratings():
    return simulate(3)


@pytest.mark.parametrize("nested", [True, False])
def test_relabelling_levels_in_order_changes_nothing_but_names(ratings, nested):
    base = fit(ratings, nested=nested)
    other = fit(ratings, nested=nested, y=ratings.rating.map({1: -7, 2: 0, 3: 10, 4: 11, 5: 400}))
    np.testing.assert_allclose(coefficients(other), coefficients(base), rtol=1e-9)
    assert list(other.thresholds.term) == ["-7|0", "0|10", "10|11", "11|400"]


@pytest.mark.parametrize("nested", [True, False])
def test_reversing_levels_flips_signs(ratings, nested):
    base, other = fit(ratings, nested=nested), fit(ratings, nested=nested, y=6 - ratings.rating)
    assert other.log_likelihood == pytest.approx(base.log_likelihood, abs=1e-8)
    np.testing.assert_allclose(other.terms.estimate, -base.terms.estimate, atol=1e-7)
    np.testing.assert_allclose(other.thresholds.estimate, -base.thresholds.estimate[::-1], atol=1e-7)
    np.testing.assert_allclose(other.terms.std_error, base.terms.std_error, rtol=1e-6)


@pytest.mark.parametrize("nested", [True, False])
def test_row_order_and_group_labels_do_not_matter(ratings, nested):
    base = fit(ratings, nested=nested)
    shuffled = ratings.sample(frac=1, random_state=1)
    shuffled["participant"] = "person " + ((shuffled.participant * 17) % 31).astype(str)
    # Conversation labels that start again for each participant still mean different conversations.
    shuffled["conversation"] %= 3
    other = fit(shuffled, nested=nested)
    assert other.log_likelihood == pytest.approx(base.log_likelihood, abs=1e-8)
    np.testing.assert_allclose(coefficients(other), coefficients(base), rtol=1e-6)
    assert other.n_groups == base.n_groups


@pytest.mark.parametrize("nested", [True, False])
def test_shift_and_scale_of_columns_carry_through(ratings, nested):
    base = fit(ratings, nested=nested)
    other = fit(ratings.assign(b=1e6 + 1e7 * ratings.b, a=1e-6 * ratings.a), nested=nested)
    assert other.log_likelihood == pytest.approx(base.log_likelihood, abs=1e-7)
    np.testing.assert_allclose(other.terms.estimate * [1e-6, 1e7], base.terms.estimate, rtol=1e-6)
    np.testing.assert_allclose(other.terms.std_error * [1e-6, 1e7], base.terms.std_error, rtol=1e-6)
    moved = base.thresholds.estimate + 0.1 * base.terms.estimate[1]
    np.testing.assert_allclose(other.thresholds.estimate, moved, rtol=1e-5)


def test_two_levels_mean_the_same_however_they_are_written(ratings):
    high = ratings.rating >= 4
    base = fit(ratings, y=high.astype(int))
    np.testing.assert_allclose(coefficients(fit(ratings, y=high)), coefficients(base))
    named = pd.Categorical(np.where(high, "yes", "no"), categories=["no", "yes"], ordered=True)
    other = fit(ratings, y=named)
    np.testing.assert_allclose(coefficients(other), coefficients(base))
    assert list(other.thresholds.term) == ["no|yes"]


def without_differences():
    """Return ratings of people and conversations that are more alike than chance would have them."""
    frame = simulate(11, sds=(0.0, 0.0))
    # Every participant and conversation gets the same ratings, turned round: no variance can be left.
    frame["rating"] = 1 + (np.arange(len(frame)) % 5 + frame.participant + frame.conversation) % 5
    return frame


def test_zero_variances_are_exactly_zero_said_and_the_fit_is_the_plain_model():
    from statsmodels.miscmodels.ordinal_model import OrderedModel

    frame = without_differences()
    result = fit(frame)
    assert list(result.variances.variance) == [0.0, 0.0]
    assert any("exactly zero" in note for note in result.notes)
    plain = OrderedModel(frame.rating, frame[["a", "b"]], distr="logit").fit(
        method="bfgs", disp=0, gtol=1e-8, maxiter=500
    )
    assert result.log_likelihood == pytest.approx(plain.llf, abs=1e-7)
    np.testing.assert_allclose(result.terms.estimate, plain.params[:2], atol=1e-5)
    np.testing.assert_allclose(result.terms.std_error, plain.bse[:2], rtol=1e-3)
    assert result.thresholds.estimate.is_monotonic_increasing


def test_one_zero_variance_equals_the_model_without_it():
    frame = simulate(5, sds=(1.2, 0.0))
    # Conversations cut at random within participants: whether their variance lands on 0 depends on the draw.
    rng = np.random.default_rng(0)
    for _ in range(20):
        order = rng.permutation(len(frame))
        frame = (
            frame.iloc[order].sort_values("participant", kind="stable").assign(conversation=np.repeat(np.arange(90), 5))
        )
        nested = fit(frame)
        if nested.variances.variance[1] == 0:
            break
    assert nested.variances.variance[1] == 0
    simple = fit(frame, nested=False)
    assert nested.log_likelihood == pytest.approx(simple.log_likelihood, abs=1e-9)
    np.testing.assert_allclose(nested.terms.estimate, simple.terms.estimate, atol=1e-8)
    np.testing.assert_allclose(nested.terms.std_error, simple.terms.std_error_model, rtol=1e-6)
    assert any("participant:conversation is exactly zero" in note for note in nested.notes)


def test_known_effects_are_recovered():
    frame = simulate(2, n_participants=150, n_conversations=5, n_turns=6, sds=(1.2, 0.8))
    result = fit(frame)
    assert (np.abs(result.terms.estimate - [0.8, -0.3]) < 3 * result.terms.std_error).all()
    assert (np.abs(result.thresholds.estimate - [-2.0, -0.7, 0.6, 2.0]) < 3 * result.thresholds.std_error).all()
    np.testing.assert_allclose(result.variances.std_dev, [1.2, 0.8], atol=0.25)


def test_second_start_agrees_and_is_said(ratings):
    result = fit(ratings)
    assert any("second start" in note and "same log-likelihood" in note for note in result.notes)
    assert not any("second start" in note for note in fit(ratings, try_second_start=False).notes)


def test_coarse_quadrature_is_said(ratings):
    # Conversations of two turns that differ wildly: posteriors far from normal.
    wild = simulate(8, n_turns=2, sds=(0.5, 8.0))
    assert any("5 points is coarse" in note and "with 11 points" in note for note in fit(wild).notes)
    assert any("Laplace's approximation is coarse" in note for note in fit(wild, n_quadrature=1).notes)
    assert not any("coarse" in note for note in fit(ratings, n_quadrature=7).notes)


def test_dependent_and_constant_columns_are_dropped_and_named(ratings):
    frame = ratings.assign(twice=3 * ratings.a - 2 * ratings.b + 5, constant=4.0)
    result = fit(frame, columns=("constant", "a", "b", "twice"))
    assert result.dropped_columns == ("constant", "twice")
    assert list(result.terms.term) == ["a", "b"]
    assert any("'constant' and 'twice' were dropped" in note for note in result.notes)
    np.testing.assert_allclose(coefficients(result), coefficients(fit(ratings)))


def test_a_model_without_fixed_terms_is_fitted(ratings):
    result = fit(ratings, columns=())
    assert result.converged
    assert len(result.terms) == 0
    assert len(result.thresholds) == 4


@pytest.mark.parametrize("nested", [True, False])
def test_separation_is_said_and_no_number_is_shown(ratings, nested):
    frame = ratings.assign(perfect=(ratings.rating == 5).astype(float))
    result = fit(frame, nested=nested, columns=("a", "perfect"))
    assert not result.converged
    assert len(result.terms) == len(result.thresholds) == len(result.variances) == 0
    assert np.isnan([result.log_likelihood, result.aic, result.bic, result.deviance]).all()
    assert "'perfect' separates" in result.notes[0]
    assert "Leave the term out" in result.notes[0]


def test_a_rare_group_at_one_end_is_separation(ratings):
    rare = ((ratings.rating == 5) & (np.arange(len(ratings)) < 60)).astype(float)
    assert 3 <= rare.sum() < 20
    assert "'rare' separates" in fit(ratings.assign(rare=rare), columns=("a", "rare")).notes[0]


def test_participants_who_never_vary_have_no_finite_variance(ratings):
    result = fit(ratings, nested=False, y=1 + ratings.participant % 5, columns=())
    assert not result.converged
    assert "every participant gives one rating throughout" in result.notes[0]


def test_levels_of_the_scale_that_nobody_used_are_named(ratings):
    frame = ratings[ratings.rating != 2]
    result = fit(frame, scale_levels=[1, 2, 3, 4, 5])
    assert any("Level 2 of the scale never occurs" in note for note in result.notes)
    assert list(result.thresholds.term) == ["1|3", "3|4", "4|5"]
    ordered = pd.Categorical(frame.rating, categories=[1, 2, 3, 4, 5], ordered=True)
    assert any("Level 2 of the scale" in note for note in fit(frame, y=ordered).notes)


def test_a_level_seen_once_is_fitted_and_said(ratings):
    y = ratings.rating.to_numpy().copy()
    y[0] = 6
    result = fit(ratings, y=y)
    assert result.converged
    assert any("rating 6 (1)" in note for note in result.notes)


def test_participants_with_a_single_rating_are_taken(ratings):
    single = simulate(9, n_participants=20, n_conversations=1, n_turns=1)
    single["participant"] += 1000
    single["conversation"] += 1000
    result = fit(pd.concat([ratings, single]))
    assert result.converged
    assert result.n_groups["participant"] == 50


def test_few_participants_have_no_clustered_intervals():
    frame = simulate(4, n_participants=4, n_conversations=4, n_turns=10)
    result = fit(frame, nested=False)
    assert result.converged
    assert result.terms[["std_error", "p_value", "conf_low"]].isna().all().all()
    assert result.terms.std_error_model.notna().all()
    assert any("at least 5" in note for note in result.notes)


def test_five_rows_are_fitted_or_refused_in_words():
    frame = (
        simulate(1, n_participants=2, n_conversations=2, n_turns=2)
        .iloc[:5]
        .assign(participant=[0, 0, 0, 1, 1], rating=[1, 2, 1, 2, 1])
    )
    result = fit(frame, nested=False, columns=())
    assert result.converged
    assert result.variances.variance[0] == 0
    with pytest.raises(TooLittleData, match="7 parameters"):
        fit(frame.assign(rating=[1, 2, 3, 4, 5]), nested=False)


def test_input_that_cannot_be_used_is_refused_with_a_sentence(ratings):
    with pytest.raises(TooLittleData, match="at least two different ratings; all 450 rows have 3"):
        fit(ratings.assign(rating=3))
    with pytest.raises(TooLittleData, match="participant needs at least 2 groups"):
        fit(ratings.assign(participant=1))
    with pytest.raises(TooLittleData, match="participant needs groups with several ratings"):
        fit(ratings.assign(participant=np.arange(450)), nested=False)
    with pytest.raises(TooLittleData, match="conversation needs groups with several ratings.*Use .1.participant"):
        fit(ratings.assign(conversation=np.arange(450)))
    with pytest.raises(TooLittleData, match="each participant has exactly one"):
        fit(ratings.assign(conversation=ratings.participant))
    with pytest.raises(TooLittleData, match="no row came"):
        fit(ratings.iloc[:0])
    with pytest.raises(Refused, match="at most 20 levels; this one has 450"):
        fit(ratings, y=np.linspace(1, 5, 450))
    with pytest.raises(Refused, match="row 3 has none"):
        fit(ratings, y=ratings.rating.astype(float).where(np.arange(450) != 2))
    with pytest.raises(Refused, match="'b' has no finite number in row 6"):
        fit(ratings.assign(b=ratings.b.where(np.arange(450) != 5, np.inf)))
    with pytest.raises(Refused, match="needs a conversation; row 2 has none"):
        fit(ratings.assign(conversation=ratings.conversation.astype(float).where(np.arange(450) != 1)))
    with pytest.raises(Refused, match="whole number from 1 to 50; 0 came"):
        fit(ratings, n_quadrature=0)
    with pytest.raises(Refused, match="ordered levels"):
        fit(ratings, y=pd.Categorical(ratings.rating))
    with pytest.raises(Refused, match="450 × 1; 450 × 2 came"):
        fit_cumulative_logit(ratings.rating, ratings[["a", "b"]], participant=ratings.participant, term_names=["a"])
