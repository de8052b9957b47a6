"""The quadrature against brute-force integration, and its analytic gradient against differences."""

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.special import expit

from dashboard.stats import ordinal_mixed_blocks
from dashboard.stats.ordinal_mixed_blocks import build_blocks
from dashboard.stats.ordinal_mixed_gradient import CumulativeLogitLikelihood
from dashboard.stats.ordinal_mixed_quadrature import Parameters

N_LEVELS = 4


@pytest.fixture
def rows():
    """Four participants with one to three conversations of one to five turns, sorted."""
    rng = np.random.default_rng(7)
    sizes = [(p, rng.integers(1, 6)) for p in range(4) for _ in range(rng.integers(1, 4))]
    participant = np.concatenate([np.full(n, p) for p, n in sizes])
    conversation = np.concatenate([np.full(n, c) for c, (_, n) in enumerate(sizes)])
    level = rng.integers(0, N_LEVELS, len(participant))
    return level, rng.normal(size=(len(level), 2)), participant, conversation


def likelihood_of(rows, *, n_outer, n_inner):
    level, design, participant, conversation = rows
    blocks = build_blocks(
        level,
        design,
        participant=participant,
        conversation=conversation,
        n_levels=N_LEVELS,
        n_nodes=n_outer * n_inner,
    )
    return CumulativeLogitLikelihood(blocks, n_outer=n_outer, n_inner=n_inner)


def parameters_of(values):
    return Parameters(values[:3], values[3:5], values[5], values[6])


VALUES = np.array([-1.4, 0.1, 1.5, 0.6, -0.4, 1.1, 0.8])


def density(x):
    return np.exp(-0.5 * x * x) / np.sqrt(2 * np.pi)


def integrate_by_force(rows, parameters):
    """Return each participant's log-likelihood from scipy's adaptive integration, straight from the definition."""
    level, design, participant, conversation = rows
    eta = design @ parameters.fixed
    cuts = np.r_[-np.inf, parameters.thresholds, np.inf]

    def probability(mask, offset):
        upper = expit(cuts[level[mask] + 1] - eta[mask] - offset)
        return np.prod(upper - expit(cuts[level[mask]] - eta[mask] - offset))

    def of_conversation(c, u):
        mask = conversation == c
        offset = parameters.sd_participant * u
        inside = lambda b: density(b) * probability(mask, offset + parameters.sd_conversation * b)  # noqa: E731
        return quad(inside, -9, 9, epsabs=1e-12, epsrel=1e-9)[0]

    def of_participant(p):
        mine = np.unique(conversation[participant == p])
        inside = lambda u: density(u) * np.prod([of_conversation(c, u) for c in mine])  # noqa: E731
        return np.log(quad(inside, -9, 9, epsabs=1e-12, epsrel=1e-9)[0])

    return np.array([of_participant(p) for p in np.unique(participant)])


def test_nested_quadrature_equals_brute_force_integration(rows):
    parameters = parameters_of(VALUES)
    values, _ = likelihood_of(rows, n_outer=25, n_inner=25).evaluate(parameters)
    np.testing.assert_allclose(values, integrate_by_force(rows, parameters), atol=2e-8)


def test_seven_points_are_near_the_integral(rows):
    parameters = parameters_of(VALUES)
    values, _ = likelihood_of(rows, n_outer=7, n_inner=7).evaluate(parameters)
    exact, _ = likelihood_of(rows, n_outer=40, n_inner=40).evaluate(parameters)
    np.testing.assert_allclose(values, exact, atol=2e-4)


@pytest.mark.parametrize(("n_outer", "n_inner"), [(1, 1), (2, 2), (7, 7), (5, 3), (7, 1)])
@pytest.mark.parametrize("deviations", [(1.1, 0.8), (0.0, 0.8), (1.1, 0.0), (3.0, 2.5), (-0.7, 0.5)])
def test_gradient_equals_central_differences(rows, n_outer, n_inner, deviations):
    likelihood = likelihood_of(rows, n_outer=n_outer, n_inner=n_inner)
    values = np.r_[VALUES[:5], deviations]
    _, gradient = likelihood.evaluate(parameters_of(values))
    for j, shift in enumerate(1e-5 * np.eye(7)):
        ahead, _ = likelihood.evaluate(parameters_of(values + shift))
        behind, _ = likelihood.evaluate(parameters_of(values - shift))
        np.testing.assert_allclose(gradient[:, j], (ahead - behind) / 2e-5, atol=2e-7)


def test_likelihood_is_even_in_the_deviations(rows):
    likelihood = likelihood_of(rows, n_outer=5, n_inner=5)
    plus, _ = likelihood.evaluate(parameters_of(VALUES))
    minus, _ = likelihood.evaluate(parameters_of(VALUES * np.r_[np.ones(5), -1, -1]))
    np.testing.assert_allclose(plus, minus, atol=1e-12)


def test_conversation_nodes_do_nothing_without_its_variance(rows):
    parameters = parameters_of(np.r_[VALUES[:6], 0.0])
    one, _ = likelihood_of(rows, n_outer=7, n_inner=1).evaluate(parameters)
    seven, _ = likelihood_of(rows, n_outer=7, n_inner=7).evaluate(parameters)
    np.testing.assert_allclose(one, seven, atol=1e-12)


def test_blocks_of_participants_change_nothing(rows, monkeypatch):
    whole = likelihood_of(rows, n_outer=5, n_inner=5)
    monkeypatch.setattr(ordinal_mixed_blocks, "MAX_TERM_NODES", 300)
    cut = likelihood_of(rows, n_outer=5, n_inner=5)
    assert len(whole.blocks) == 1
    assert len(cut.blocks) > 2
    for one, other in zip(whole.evaluate(parameters_of(VALUES)), cut.evaluate(parameters_of(VALUES)), strict=True):
        np.testing.assert_allclose(one, other, atol=1e-11)


def test_modes_are_found_from_any_start(rows):
    # Large deviations make the target flat and steep in turns; a start at the wrong end must not matter.
    parameters = parameters_of(np.r_[-30.0, 0.0, 25.0, 8.0, -5.0, 15.0, 9.0])
    fresh, _ = likelihood_of(rows, n_outer=5, n_inner=5).evaluate(parameters)
    spoilt = likelihood_of(rows, n_outer=5, n_inner=5)
    for modes in spoilt.modes:
        modes.participant += 300.0
        modes.conversation -= 300.0
        modes.conversation_at_nodes -= 300.0
    found, _ = spoilt.evaluate(parameters)
    np.testing.assert_allclose(found, fresh, atol=1e-9)


def test_out_of_range_predictors_give_no_number(rows):
    assert likelihood_of(rows, n_outer=3, n_inner=3).evaluate(parameters_of(VALUES * 1e4)) is None
