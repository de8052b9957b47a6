"""The adapter gives scipy's and statsmodels' numbers, and its own intervals unrounded."""

import math

import numpy as np
import pytest

from dashboard.stats.pingouin_adapter import holm, kruskal_wallis, spearman


def test_spearman_is_scipys():
    from scipy.stats import spearmanr

    rng = np.random.default_rng(2)
    x = rng.normal(size=60)
    y = x + rng.normal(size=60)
    ours, theirs = spearman(x, y), spearmanr(x, y)
    assert ours.estimate == pytest.approx(theirs.statistic, rel=1e-12)
    assert ours.p_value == pytest.approx(theirs.pvalue, rel=1e-9)
    # Bonett & Wright: tanh(atanh r ± 1.96 √((1 + r²/2)/(n − 3))).
    reach = 1.959963984540054 * math.sqrt((1 + theirs.statistic**2 / 2) / 57)
    assert ours.conf_high == pytest.approx(math.tanh(math.atanh(theirs.statistic) + reach), rel=1e-9)


def test_kruskal_wallis_is_scipys():
    from scipy.stats import kruskal

    rng = np.random.default_rng(3)
    values, groups = rng.integers(1, 6, 40).astype(float), np.repeat(["a", "b", "c", "d"], 10)
    theirs = kruskal(*(values[groups == name] for name in "abcd"))
    ours = kruskal_wallis(values, groups)
    assert ours.estimate == pytest.approx(theirs.statistic / 39, rel=1e-9)
    assert ours.p_value == pytest.approx(theirs.pvalue, rel=1e-9)


def test_holm_by_hand():
    # 0.01 · 3 = 0.03; 0.02 · 2 = 0.04; 0.5; the unknown one does not count.
    np.testing.assert_allclose(holm(np.array([0.5, 0.01, np.nan, 0.02])), [0.5, 0.03, np.nan, 0.04])
    assert np.isnan(holm(np.array([np.nan]))).all()


def test_too_little_is_unknown():
    assert math.isnan(spearman(np.arange(4.0), np.arange(4.0)).estimate)
    assert math.isnan(spearman(np.arange(9.0), np.ones(9)).p_value)
    assert math.isnan(kruskal_wallis(np.arange(9.0), np.array(["a"] * 9)).estimate)
    assert spearman(np.array([1.0, 2, 3, 4, 5, np.nan]), np.array([2.0, 3, 4, 5, 6, 7])).n_observations == 5
