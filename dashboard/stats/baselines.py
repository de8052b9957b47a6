"""What trivial predictions of a conversation's ground truth reach on people whom they have not seen."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from dashboard.stats.classification import to_levels
from dashboard.stats.threads import one_thread

if TYPE_CHECKING:
    import pandas as pd

BASELINES = ("constant", "task_mean", "participant_others", "words")
N_FOLDS = 10
SEED = 20250919
ALPHAS = (0.3, 1.0, 3.0, 10.0, 30.0)
MOST_WORDS = 20_000
Progress = Callable[[int, int], None]


def assign_folds(clusters: np.ndarray, *, n_folds: int = N_FOLDS, seed: int = SEED) -> np.ndarray:
    """Return the fold of each row, shape (n,), all rows of a participant in one; seeded, sizes as even as can be."""
    _, codes = np.unique(np.asarray(clusters, dtype=str), return_inverse=True)
    n_groups = int(codes.max()) + 1
    shuffled = np.random.default_rng(seed).permutation(n_groups)
    return (shuffled % min(n_folds, n_groups))[codes]


def held_out_predictions(
    frame: pd.DataFrame, *, participants: bool, progress: Progress = lambda done, total: None
) -> pd.DataFrame:
    """Predict each conversation's ground truth from data of other people, or from the person's other conversations.

    Parameters
    ----------
    frame
        One row per conversation with a ground truth: cluster, task (null allowed), ground_truth, transcript (null where
        there is no text).
    participants
        Whether ``cluster`` is a participant; else nobody has other conversations.
    progress
        Called with the folds done and their number.

    Returns
    -------
    pandas.DataFrame
        One column per baseline of ``BASELINES``, in the frame's index. A baseline that cannot be made is NaN throughout:
        ``participant_others`` without participants, ``words`` without text.

    Raises
    ------
    ValueError
        For fewer than two clusters.

    Notes
    -----
    ``constant`` is the commonest level of the other folds' conversations; ``task_mean`` their mean for the task (their
    overall mean for a task they lack); ``participant_others`` the mean of the same participant's other conversations
    (the other folds' mean for somebody with one conversation); ``words`` a ridge regression on TF-IDF weights of single
    words, fitted on the other folds, its penalty chosen there on a held-out fifth of the participants.

    The mean of the other folds is low where the fold left out is high. Pooled over folds, that alone would correlate
    predictions negatively with the truth, so ``task_mean`` and ``words`` predict a difference from the other folds' mean,
    which is added to the mean of all: one constant that is the same for everybody.
    """
    import pandas as pd

    truth = frame["ground_truth"].to_numpy(dtype=float)
    clusters = frame["cluster"].to_numpy(dtype=str)
    if len(np.unique(clusters)) < 2:
        raise ValueError("held-out predictions need two participants at least")
    folds = assign_folds(clusters)
    words = _count_words(frame["transcript"])
    found = {name: np.full(len(frame), math.nan) for name in BASELINES}
    general = np.full(len(frame), math.nan)
    numbers = np.unique(folds)
    for done, fold in enumerate(numbers):
        progress(done, len(numbers))
        test, train = folds == fold, folds != fold
        found["constant"][test] = np.bincount(to_levels(truth[train])).argmax()
        general[test] = truth[train].mean()
        shift = truth.mean() - general[test]
        found["task_mean"][test] = _task_means(frame["task"][train], truth[train], frame["task"][test]) + shift
        found["words"][test] = _word_predictions(words, truth, clusters, test) + shift
    if participants:
        found["participant_others"] = _others_mean(frame["cluster"], truth, general)
    progress(len(numbers), len(numbers))
    return pd.DataFrame(found, index=frame.index)


def _task_means(train: pd.Series, truth: np.ndarray, test: pd.Series) -> np.ndarray:
    import pandas as pd

    means = pd.Series(truth, index=train.index).groupby(train).mean()
    return test.map(means).astype(float).fillna(truth.mean()).to_numpy()


def _others_mean(clusters: pd.Series, truth: np.ndarray, instead: np.ndarray) -> np.ndarray:
    """Return the mean of the participant's other conversations; ``instead`` for those who have one."""
    codes = np.unique(clusters.to_numpy(dtype=str), return_inverse=True)[1]
    totals, counts = np.bincount(codes, truth)[codes], np.bincount(codes)[codes]
    return np.where(counts > 1, (totals - truth) / np.maximum(counts - 1, 1), instead)


def _count_words(transcripts: pd.Series) -> Any:
    """Return how often each conversation holds each word, sparse, shape (n, words); None where there is no word."""
    from sklearn.feature_extraction.text import CountVectorizer

    try:
        return CountVectorizer().fit_transform(transcripts.fillna(""))
    except ValueError:
        return None


def _word_predictions(counts: Any, truth: np.ndarray, clusters: np.ndarray, test: np.ndarray) -> np.ndarray:
    """Return what the words of the test conversations predict; NaN where the training ones hold too few words.

    Words are counted once, but those that count, and their weights, come from the training conversations alone.
    """
    nothing = np.full(int(test.sum()), math.nan)
    if counts is None:
        return nothing
    spoken = np.asarray(counts.sum(axis=1)).ravel() > 0
    train = ~test & spoken
    if len(np.unique(clusters[train])) < 2 or not spoken[test].any():
        return nothing
    rows = np.flatnonzero(train)
    fold = assign_folds(clusters[rows], n_folds=5, seed=SEED + 1)
    inner = _ridge(counts, truth, rows[fold != 0], rows[fold == 0], ALPHAS)
    if inner is None:
        return nothing
    best = ALPHAS[int(np.argmin(((inner - truth[rows[fold == 0]]) ** 2).mean(1)))]
    found = _ridge(counts, truth, rows, np.flatnonzero(test), (best,))
    # A conversation without a word gets the mean of the others.
    return nothing if found is None else np.where(spoken[test], found[0], truth[train].mean())


def _ridge(
    counts: Any, truth: np.ndarray, train: np.ndarray, test: np.ndarray, alphas: Sequence[float]
) -> np.ndarray | None:
    """Return the predictions of a ridge regression on TF-IDF weights, shape (alphas, test rows)."""
    from sklearn.feature_extraction.text import TfidfTransformer
    from sklearn.linear_model import Ridge

    known = counts[train]
    words = np.flatnonzero(known.getnnz(axis=0) >= 2)
    if len(words) == 0:
        return None
    if len(words) > MOST_WORDS:
        often = np.asarray(known[:, words].sum(axis=0)).ravel()
        words = np.sort(words[np.argsort(-often, kind="stable")[:MOST_WORDS]])
    weights = TfidfTransformer(sublinear_tf=True).fit(known[:, words])
    shown, asked = weights.transform(known[:, words]), weights.transform(counts[test][:, words])
    with one_thread():
        return np.array([Ridge(alpha=alpha).fit(shown, truth[train]).predict(asked) for alpha in alphas])
