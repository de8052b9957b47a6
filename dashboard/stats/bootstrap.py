"""The bootstrap of whole participants, as weights times per-participant sums."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from functools import lru_cache

import numpy as np

from dashboard.stats.clustered import MINIMUM_CLUSTERS
from dashboard.stats.progress import tell

N_BOOT = 2000
SEED = 20250919
_CELLS = 4_000_000
# Weights of so many cells, a byte each as a rule, are kept.
_KEPT = 25_000_000


def resample_sums(sums: np.ndarray, *, n_boot: int = N_BOOT, seed: int = SEED) -> np.ndarray:
    """Return the sums of ``n_boot`` samples of participants, drawn with replacement.

    A participant drawn twice counts as two. Any statistic that is a function of sums over participants can be computed
    from the result without touching a row of the data again.

    Parameters
    ----------
    sums
        One row per participant, shape (G, m): counts, totals, cross-products, …
    n_boot
        Number of samples.
    seed
        Seed of the draws; the same seed gives the same samples for the same G.

    Returns
    -------
    numpy.ndarray
        Shape (n_boot, m).
    """
    sums = np.asarray(sums, dtype=float)
    n_groups = len(sums)
    out = np.empty((n_boot, sums.shape[1]))
    if n_groups == 0:
        out.fill(math.nan)
        return out
    place = 0
    for weights in _weights(n_groups, n_boot, seed):
        out[place : place + len(weights)] = weights.astype(float) @ sums
        place += len(weights)
    return out


def _weights(n_groups: int, n_boot: int, seed: int) -> Iterable[np.ndarray]:
    """Return how often each sample holds each participant, in batches of shape (rows, G)."""
    small = n_boot * n_groups <= _KEPT
    return _kept_weights(n_groups, n_boot, seed) if small else _draw_weights(n_groups, n_boot, seed)


@lru_cache(maxsize=4)
def _kept_weights(n_groups: int, n_boot: int, seed: int) -> tuple[np.ndarray, ...]:
    """Keep the last few: one analysis resamples the same participants again and again."""
    return tuple(_draw_weights(n_groups, n_boot, seed))


def _draw_weights(n_groups: int, n_boot: int, seed: int) -> Iterator[np.ndarray]:
    generator = np.random.default_rng(seed)
    step = max(1, _CELLS // n_groups)
    for start in range(0, n_boot, step):
        tell("bootstrap of participants", start, n_boot)
        rows = min(step, n_boot - start)
        drawn = generator.integers(n_groups, size=(rows, n_groups))
        flat = drawn + n_groups * np.arange(rows)[:, None]
        counts = np.bincount(flat.ravel(), minlength=rows * n_groups).reshape(rows, n_groups)
        yield counts.astype(np.min_scalar_type(int(counts.max())))


def percentile_interval(draws: np.ndarray, *, n_groups: int, conf_level: float = 0.95) -> tuple[float, float]:
    """Return the percentile interval of bootstrap draws; NaN for fewer than 5 participants.

    Draws in which the statistic is undefined (NaN: all ratings equal, say) are left out; if more than one in twenty is,
    there is no interval.
    """
    known = draws[np.isfinite(draws)]
    if n_groups < MINIMUM_CLUSTERS or len(known) < 0.95 * len(draws) or len(known) == 0:
        return math.nan, math.nan
    tail = (1 - conf_level) / 2
    low, high = np.quantile(known, [tail, 1 - tail])
    return float(low), float(high)
