"""Alpha and omega on one set of complete rows at each level, with participants resampled."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from dashboard.stats.bootstrap import percentile_interval, resample_sums
from dashboard.stats.omega_bootstrap import omegas
from dashboard.stats.progress import tell
from dashboard.stats.reliability import (
    CrossProducts,
    alpha,
    between_covariance,
    cross_products,
    is_positive_definite,
    omega,
    pairwise_covariance,
    total_covariance,
    within_covariance,
)

# Omega takes a factor model of each sample: so many of them have one.
OMEGA_BOOT = 500
LEVELS = ("total", "within participants", "within conversations", "between participants")


@dataclass(frozen=True)
class LevelReliability:
    """Alpha and omega at one level; NaN where they do not exist, with the reason in ``note``."""

    level: str
    alpha: float
    conf_low: float
    conf_high: float
    omega: float
    omega_low: float
    omega_high: float
    n_observations: int
    n_groups: int
    note: str


def level_reliabilities(
    values: np.ndarray, participant: np.ndarray, conversation: np.ndarray | None, *, n_boot: int
) -> list[LevelReliability]:
    """Return alpha and omega in total, within participants, within conversations and between participants.

    Parameters
    ----------
    values
        Complete ratings, shape (n, k).
    participant, conversation
        Codes of each row, shape (n,), any integers; None where rows are conversations themselves.
    n_boot
        Samples of whole participants for the intervals of alpha, and the first 500 of them for omega's; 0 for none.

    Notes
    -----
    Within: pooled covariance around group means. Between: the component (S_B − S_W)/n0, which may have a negative
    eigenvalue; omega then does not exist, and alpha may pass 1.
    """
    n, k = values.shape
    if n < 2 or k < 2:
        return []
    shifted = values - values.mean(axis=0)
    people = np.unique(participant, return_inverse=True)[1]
    n_people = int(people.max()) + 1
    by_person = cross_products(shifted, people, n_people)
    inside_chats, n_inside, n_owners = _within_conversations(shifted, people, conversation, n_people)
    draws = resample_sums(_columns(by_person, inside_chats), n_boot=n_boot) if n_boot else None
    found = {
        "total": total_covariance(by_person.counts.sum(), by_person.totals.sum(0), by_person.products.sum(0)),
        "within participants": within_covariance(by_person),
        "between participants": between_covariance(by_person),
    }
    if conversation is not None:
        found["within conversations"] = inside_chats.sum(axis=0)
    out = []
    for level in LEVELS:
        if level in found:
            covariance = found[level]
            sizes = (n_inside, n_owners) if level == "within conversations" else (n, n_people)
            drawn = _drawn(draws, level, k, n_people) if draws is not None else np.full((1, k, k), math.nan)
            out.append(reliability_at(level, covariance, drawn, sizes))
    return out


def reliability_at(level: str, covariance: np.ndarray, drawn: np.ndarray, sizes: tuple[int, int]) -> LevelReliability:
    """Return alpha and omega of a covariance matrix with percentile intervals.

    Parameters
    ----------
    covariance
        Shape (k, k).
    drawn
        The same of samples of participants, shape (B, k, k).
    sizes
        Observations and participants.
    """
    known = bool(np.isfinite(covariance).all())
    estimate = float(alpha(covariance)) if known else math.nan
    low, high = percentile_interval(np.asarray(alpha(drawn)), n_groups=sizes[1]) if known else (math.nan, math.nan)
    value, at_boundary = omega(covariance) if known else (math.nan, False)
    ends = (math.nan, math.nan)
    if not math.isnan(value):
        tell("omega of samples of participants")
        ends = percentile_interval(omegas(drawn[:OMEGA_BOOT]), n_groups=sizes[1])
    note = ""
    if not known or math.isnan(estimate):
        note = "too little data at this level"
    elif len(covariance) > 2 and not is_positive_definite(covariance):
        note = "not positive definite, so no omega"
    elif at_boundary:
        note = "omega at the boundary: a residual variance is 0"
    return LevelReliability(level, estimate, low, high, value, *ends, *sizes, note)


def _within_conversations(
    values: np.ndarray, people: np.ndarray, conversation: np.ndarray | None, n_people: int
) -> tuple[np.ndarray, int, int]:
    """Return sums of products around conversation means per participant (G, k, k), their rows and participants."""
    k = values.shape[1]
    out = np.zeros((n_people, k, k))
    if conversation is None:
        return out, 0, 0
    chats, first, chat = np.unique(conversation, return_index=True, return_inverse=True)
    sums = cross_products(values, chat, len(chats))
    inside = sums.products - sums.totals[:, :, None] * sums.totals[:, None, :] / sums.counts[:, None, None]
    owner = people[first]
    used = sums.counts > 1
    np.add.at(out, owner[used], inside[used])
    return out, int(sums.counts[used].sum()), len(np.unique(owner[used]))


def _columns(sums: CrossProducts, inside_chats: np.ndarray) -> np.ndarray:
    """Return per participant: n, n², totals, products, totals·totals'/n, products within conversations."""
    n, totals, products = sums.counts, sums.totals, sums.products
    groups = len(n)
    outer = totals[:, :, None] * totals[:, None, :] / n[:, None, None]
    return np.column_stack(
        [n, n**2, totals, products.reshape(groups, -1), outer.reshape(groups, -1), inside_chats.reshape(groups, -1)]
    )


def _drawn(draws: np.ndarray, level: str, k: int, n_groups: int) -> np.ndarray:
    """Return the covariances of each bootstrap sample at a level, shape (B, k, k)."""
    n, squares, totals = draws[:, 0], draws[:, 1], draws[:, 2 : 2 + k]
    blocks = draws[:, 2 + k :].reshape(len(draws), 3, k, k)
    products, outer, chats = blocks[:, 0], blocks[:, 1], blocks[:, 2]
    if level == "total":
        return np.asarray(total_covariance(n, totals, products))
    if level == "within conversations":
        return np.asarray(chats)
    within = products - outer
    if level == "within participants":
        return np.asarray(within)
    if n_groups < 2:
        return np.full((len(draws), k, k), math.nan)
    between = (outer - totals[:, :, None] * totals[:, None, :] / n[:, None, None]) / (n_groups - 1)
    df = n - n_groups
    size = (n - squares / n) / (n_groups - 1)
    with np.errstate(divide="ignore", invalid="ignore"):
        component = (between - within / df[:, None, None]) / size[:, None, None]
    return np.asarray(component)


def pairwise_reliability(values: np.ndarray, participant: np.ndarray, *, n_boot: int) -> LevelReliability:
    """Return alpha and omega on pairwise covariances with participants resampled.

    Parameters
    ----------
    values
        Ratings, shape (n, k), NaN where missing; every column has two.
    participant
        Codes of each row, shape (n,), any integers.
    """
    k = values.shape[1]
    covariance, _ = pairwise_covariance(values)
    people = np.unique(participant, return_inverse=True)[1]
    known = np.isfinite(values)
    ones = known.astype(float)
    filled = np.where(known, values - np.nanmean(values, axis=0), 0.0)
    # Of each pair of columns, over the rows that have both: how many, the sum of the first, the sum of products.
    columns = [
        np.bincount(people, part)
        for one in range(k)
        for other in range(k)
        for part in (
            ones[:, one] * ones[:, other],
            filled[:, one] * ones[:, other],
            filled[:, one] * filled[:, other],
        )
    ]
    draws = resample_sums(np.column_stack(columns), n_boot=n_boot).reshape(-1, k, k, 3)
    n, first, products = np.moveaxis(draws, -1, 0)
    with np.errstate(divide="ignore", invalid="ignore"):
        drawn = (products - first * first.transpose(0, 2, 1) / n) / (n - 1)
    drawn[(n < 2).any(axis=(1, 2))] = math.nan
    rated = known.any(axis=1)
    sizes = (int(rated.sum()), len(np.unique(people[rated])))
    if not n_boot:
        drawn = np.full((1, k, k), math.nan)
    return reliability_at("total", covariance, drawn, sizes)


def item_dropped(covariance: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return alpha without each dimension, and the dimension's correlation with the sum of the others, both (k,)."""
    k = len(covariance)
    alphas, correlations = np.full(k, math.nan), np.full(k, math.nan)
    for item in range(k):
        rest = [other for other in range(k) if other != item]
        if k > 2:
            alphas[item] = alpha(covariance[np.ix_(rest, rest)])
        spread = covariance[item, item] * covariance[np.ix_(rest, rest)].sum()
        if spread > 0:
            correlations[item] = covariance[item, rest].sum() / math.sqrt(spread)
    return alphas, correlations
