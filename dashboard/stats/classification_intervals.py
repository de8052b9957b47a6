"""Intervals of classification metrics from the bootstrap of whole participants."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from dashboard.stats.bootstrap import N_BOOT, percentile_interval, resample_sums
from dashboard.stats.classification import (
    KAPPAS,
    LEVELS,
    METRICS,
    class_metrics,
    confusion,
    official_metrics,
    table_metrics,
    to_levels,
    weighted_spearman,
)

if TYPE_CHECKING:
    import pandas as pd

ALL_METRICS = (*METRICS, *KAPPAS)


@dataclass(frozen=True)
class Scored:
    """Predictions of one file: finite numbers and the participant of each row, all of shape (n,)."""

    predicted: np.ndarray
    truth: np.ndarray
    clusters: np.ndarray


def metric_intervals(files: Sequence[Scored], *, n_boot: int = N_BOOT) -> tuple[list[pd.DataFrame], pd.DataFrame]:
    """Estimate every metric of each file, and its mean over files, with participant-bootstrap percentile intervals.

    All files see the same samples of participants, so that the interval of a mean over files takes into account that
    they judge the same conversations.

    Parameters
    ----------
    files
        At least one.

    Returns
    -------
    list of pandas.DataFrame
        Per file, one row per metric of ``ALL_METRICS``: metric, estimate, conf_low, conf_high, n_observations,
        n_groups. Estimates are those of ``official_metrics``; intervals are NaN for fewer than 5 participants.
    pandas.DataFrame
        One row per metric: metric, mean, conf_low, conf_high, std_dev (n − 1, over files; NaN for one), n_files.
        Files in which a metric is undefined leave its mean.
    """
    codes = np.split(
        cluster_codes(np.concatenate([np.asarray(one.clusters, dtype=str) for one in files])),
        np.cumsum([len(one.truth) for one in files])[:-1],
    )
    n_groups = max((int(one.max()) for one in codes if len(one)), default=-1) + 1
    times = resample_sums(np.eye(n_groups), n_boot=n_boot) if n_groups > 1 else np.empty((0, n_groups))
    draws = [_draws(one, code, times) for one, code in zip(files, codes, strict=True)]
    tables = [_file_table(one, code, drawn) for one, code, drawn in zip(files, codes, draws, strict=True)]
    return tables, _mean_table(tables, draws, n_groups)


def _file_table(file: Scored, codes: np.ndarray, draws: dict[str, np.ndarray]) -> pd.DataFrame:
    import pandas as pd

    estimates = vars(official_metrics(file.predicted, file.truth)) | _kappas(file)
    n_groups = len(np.unique(codes))
    rows = []
    for metric in ALL_METRICS:
        low, high = percentile_interval(draws[metric], n_groups=n_groups)
        rows.append((metric, float(estimates[metric]), low, high, len(file.truth), n_groups))
    return pd.DataFrame(rows, columns=["metric", "estimate", "conf_low", "conf_high", "n_observations", "n_groups"])


def _mean_table(tables: list[pd.DataFrame], draws: list[dict[str, np.ndarray]], n_groups: int) -> pd.DataFrame:
    import pandas as pd

    rows = []
    for place, metric in enumerate(ALL_METRICS):
        values = np.array([table["estimate"].iloc[place] for table in tables])
        known = np.isfinite(values)
        n = int(known.sum())
        mean = float(values[known].mean()) if n else math.nan
        std_dev = float(values[known].std(ddof=1)) if n > 1 else math.nan
        low = high = math.nan
        if n:
            drawn = np.mean([one[metric] for one, there in zip(draws, known, strict=True) if there], axis=0)
            low, high = percentile_interval(drawn, n_groups=n_groups)
        rows.append((metric, mean, low, high, std_dev, n))
    return pd.DataFrame(rows, columns=["metric", "mean", "conf_low", "conf_high", "std_dev", "n_files"])


def cluster_codes(clusters: np.ndarray) -> np.ndarray:
    """Return codes from 0 for cluster names, shape (n,)."""
    return np.unique(np.asarray(clusters, dtype=str), return_inverse=True)[1]


def cluster_tables(predicted: np.ndarray, truth: np.ndarray, codes: np.ndarray, n_groups: int) -> np.ndarray:
    """Count rows by level within each cluster: shape (G, 5, 5), the true level first."""
    k = len(LEVELS)
    cell = (codes * k + to_levels(truth) - 1) * k + to_levels(predicted) - 1
    return np.bincount(cell, minlength=n_groups * k * k).reshape(n_groups, k, k).astype(float)


def _kappas(file: Scored) -> dict[str, float]:
    found = table_metrics(confusion(file.predicted, file.truth))
    return {name: float(found[name]) for name in KAPPAS}


def _draws(file: Scored, codes: np.ndarray, times: np.ndarray) -> dict[str, np.ndarray]:
    """Return the metrics of each bootstrap sample; ``times`` (b, G) says how often each participant was drawn."""
    if len(times) == 0 or len(codes) == 0:
        return {metric: np.empty(0) for metric in ALL_METRICS}
    n_boot, n_groups = times.shape
    tables = cluster_tables(file.predicted, file.truth, codes, n_groups).reshape(n_groups, -1)
    counts = np.bincount(codes, minlength=n_groups)
    distances = np.bincount(codes, np.abs(file.predicted - file.truth), minlength=n_groups)
    found = table_metrics((times @ tables).reshape(n_boot, len(LEVELS), len(LEVELS)))
    with np.errstate(invalid="ignore", divide="ignore"):
        found["mae"] = (times @ distances) / (times @ counts)
    found["spearman"] = weighted_spearman(times[:, codes], file.predicted, file.truth)
    return found


def class_intervals(file: Scored, *, n_boot: int = N_BOOT) -> pd.DataFrame:
    """Estimate sensitivity, specificity, precision and F1 of every level, with participant-bootstrap intervals.

    Returns
    -------
    pandas.DataFrame
        One row per level and measure: level, measure, estimate, conf_low, conf_high, n_true, n_predicted.
    """
    import pandas as pd

    codes = cluster_codes(file.clusters)
    n_groups = int(codes.max()) + 1
    tables = cluster_tables(file.predicted, file.truth, codes, n_groups)
    whole = tables.sum(0)
    found = class_metrics(whole)
    k = len(LEVELS)
    draws = class_metrics(resample_sums(tables.reshape(n_groups, -1), n_boot=n_boot).reshape(n_boot, k, k))
    rows = []
    for place, level in enumerate(LEVELS):
        for measure, values in found.items():
            low, high = percentile_interval(draws[measure][:, place], n_groups=n_groups)
            n_true, n_predicted = int(whole[place].sum()), int(whole[:, place].sum())
            rows.append((level, measure, float(values[place]), low, high, n_true, n_predicted))
    columns = ["level", "measure", "estimate", "conf_low", "conf_high", "n_true", "n_predicted"]
    return pd.DataFrame(rows, columns=columns)
