"""Intervals of variance shares from a bootstrap of whole participants: no normality is taken for granted."""

from __future__ import annotations

import math

import numpy as np

from dashboard.stats.bootstrap import SEED
from dashboard.stats.nested_intercepts import NestedIntercepts
from dashboard.stats.progress import tell
from dashboard.stats.threads import one_thread
from dashboard.stats.variance_components import COMPONENTS, Components, ConversationSums


def bootstrap_shares(
    components: Components, sums: ConversationSums, *, n_boot: int, seed: int = SEED, what: str = "bootstrap"
) -> np.ndarray:
    """Return the shares of participant, conversation and turn in samples of whole participants, shape (n_boot, 3).

    Parameters
    ----------
    components
        From :func:`~dashboard.stats.variance_components.fit_components` without covariates.
    sums
        What it was fitted to.
    n_boot, seed
        Number of samples, and the seed of the draws. A participant drawn twice counts as two.
    what
        How the computation is called to whoever listens.

    Returns
    -------
    numpy.ndarray
        NaN where a sample's fit failed, and throughout where the fit to all did.
    """
    shares = np.full((n_boot, len(COMPONENTS)), math.nan)
    if components.fit is None:
        return shares
    counts = np.bincount(sums.participant)
    starts = np.cumsum(counts) - counts
    generator = np.random.default_rng(seed)
    with one_thread():
        for draw in range(n_boot):
            tell(what, draw, n_boot)
            people = generator.integers(len(counts), size=len(counts))
            lengths = counts[people]
            rows = np.repeat(starts[people] - (np.cumsum(lengths) - lengths), lengths) + np.arange(lengths.sum())
            sample = (sums.n[rows], sums.total[rows], sums.squares[rows])
            shares[draw] = _shares(np.repeat(np.arange(len(people)), lengths), *sample, components)
    return shares


def _shares(
    owner: np.ndarray, n: np.ndarray, total: np.ndarray, squares: np.ndarray, near: Components
) -> tuple[float, ...]:
    """Return one sample's shares, its fit sought from where all participants have theirs."""
    mean = total.sum() / n.sum()
    if len(n) <= owner[-1] + 1 or len(n) >= n.sum() or not squares.sum() - n.sum() * mean**2 > 1e-9 * squares.sum():
        return (math.nan,) * len(COMPONENTS)
    found = NestedIntercepts(owner, n, total, squares, np.ones((len(n), 1))).minimise(near=near.fit)
    if found.problem:
        return (math.nan,) * len(COMPONENTS)
    conversation, participant = found.ratios
    whole = 1 + conversation + participant
    return participant / whole, conversation / whole, 1 / whole
