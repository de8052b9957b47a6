"""Signed ranks and scales of expectation: against R, enumeration and fractions by hand."""

import itertools

import numpy as np
import pytest
from scipy.stats import rankdata, wilcoxon

from dashboard.stats.pomp import Scale, classify_gap, map_expectations, percentile_ranks, pomp, thirds
from dashboard.stats.signed_rank import signed_rank
from dashboard.vocabulary import Refused

# Hollander & Wolfe (1973), depression data, as in R's help page of wilcox.test: differences first − second.
HOLLANDER = np.array([1.83, 0.50, 1.62, 2.48, 1.68, 1.88, 1.55, 3.06, 1.30]) - np.array(
    [0.878, 0.647, 0.598, 2.05, 1.06, 1.29, 1.06, 3.14, 1.29]
)


def enumerated_p(values):
    """Two-sided p by going through all signs of the given absolute values."""
    ranks = rankdata(np.abs(values))
    observed = abs(ranks[values > 0].sum() - ranks.sum() / 2)
    sums = [np.dot(signs, ranks) for signs in itertools.product([0, 1], repeat=len(ranks))]
    return np.mean(np.abs(np.array(sums) - ranks.sum() / 2) >= observed - 1e-12)


def test_documented_example_of_r():
    found = signed_rank(HOLLANDER)
    assert (found.positive, found.method) == (40, "exact")
    assert found.p_value == pytest.approx(0.0390625, abs=1e-15)
    # (40 − 5)/45
    assert found.rank_biserial == pytest.approx(35 / 45, abs=1e-15)


def test_exact_p_is_that_of_all_signs():
    values = np.random.default_rng(4).normal(0.4, 1, 11)
    assert signed_rank(values).p_value == pytest.approx(enumerated_p(values), abs=1e-12)


def test_ties_and_zeros_take_the_normal_approximation_without_continuity_correction():
    values = np.array([0, 0, 25, 25, -25, 12.5, 50, 50, 37.5, -12.5, 0.0])
    found = signed_rank(values)
    assert (found.n, found.n_zero, found.method) == (11, 3, "normal approximation")
    # |x| 12.5 12.5 25 25 25 37.5 50 50 → mid-ranks 1.5 1.5 4 4 4 6 7.5 7.5; negatives 4 + 1.5
    assert (found.positive, found.negative) == (30.5, 5.5)
    # mean 18; variance 8·9·17/24 − (6 + 24 + 6)/48 = 51 − 0.75
    z = (30.5 - 18) / np.sqrt(51 - 36 / 48)
    from scipy.stats import norm

    assert found.p_value == pytest.approx(2 * norm.sf(z), abs=1e-12)


@pytest.mark.parametrize("n", [6, 25, 26, 90])
def test_options_are_scipys(n):
    values = np.random.default_rng(n).normal(0.2, 1, n)
    method = "exact" if n <= 25 else "asymptotic"
    expected = wilcoxon(values, zero_method="wilcox", correction=False, method=method)
    assert signed_rank(values).p_value == pytest.approx(expected.pvalue, abs=1e-12)


def test_values_that_differ_by_their_last_bit_tie_and_vanish():
    third = 0.1 + 0.2 - 0.3
    assert third != 0
    found = signed_rank(np.array([third, 1, 2, 3, 4, 5, 6, -7]))
    assert found.n_zero == 1
    assert signed_rank(np.array([0.1 + 0.2, -0.3, 1, 2, 3, 4, 5])).method == "normal approximation"


@pytest.mark.parametrize("n", [0, 1, 5])
def test_fewer_than_six_values_give_no_test_but_say_so(n):
    found = signed_rank(np.arange(1.0, n + 1))
    assert np.isnan(found.p_value)
    assert f"{n} of {n} differ from zero" in found.method


def test_the_sign_turns_the_rank_biserial_and_keeps_p():
    values = np.random.default_rng(1).normal(0.3, 1, 40)
    one, other = signed_rank(values), signed_rank(-values)
    assert one.rank_biserial == pytest.approx(-other.rank_biserial, abs=1e-15)
    assert one.p_value == pytest.approx(other.p_value, abs=1e-15)


def test_pomp_puts_scales_on_one_footing():
    assert pomp(np.array([1, 2, 3, np.nan]), Scale(1, 3)) == pytest.approx([0, 50, 100, np.nan], nan_ok=True)
    assert pomp(np.array([1, 3.5, 5]), Scale(1, 5)) == pytest.approx([0, 62.5, 100])
    with pytest.raises(Refused, match="came 2 to 2"):
        pomp(np.array([2.0]), Scale(2, 2))


def test_ranks_average_fifty_and_thirds_keep_ties_together():
    values = np.array([1, 1, 1, 2, 3, 5.0])
    # mid-ranks 2 2 2 4 5 6
    assert percentile_ranks(values) == pytest.approx([25, 25, 25, 350 / 6, 75, 550 / 6])
    assert percentile_ranks(values).mean() == pytest.approx(50)
    assert thirds(values).tolist() == [0, 0, 0, 50, 100, 100]
    assert thirds(np.ones(9)).tolist() == [50.0] * 9


def test_mappings_agree_on_what_they_map():
    desired, experienced = np.array([1, 2, 3, 3.0]), np.array([5, 3, 4, 1.0])
    scales = {"desired_scale": Scale(1, 3), "experienced_scale": Scale(1, 5)}
    assert [list(side) for side in map_expectations(desired, experienced, "pomp", **scales)] == [
        [0, 50, 100, 100],
        [100, 50, 75, 0],
    ]
    for mapping in ("rank", "tercile"):
        low, high = map_expectations(desired, experienced, mapping, **scales)
        assert low[0] < 50 < high[0]
    with pytest.raises(Refused, match="pomp, rank, tercile; came 'z'"):
        map_expectations(desired, experienced, "z", **scales)


def test_a_gap_of_exactly_the_band_is_met():
    unmet, met, exceeded = classify_gap(np.array([-25.1, -25, 0, 25 + 1e-12, 25.1]), 25)
    assert unmet.tolist() == [True, False, False, False, False]
    assert met.tolist() == [False, True, True, True, False]
    assert exceeded.tolist() == [False, False, False, False, True]
