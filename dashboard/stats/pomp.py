"""Desired and experienced empathy on one scale: percent of the maximum possible, and two mappings by rank."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from dashboard.vocabulary import Refused

MAPPINGS = ("pomp", "rank", "tercile")
# Ranks are taken of rounded values: unrounded means tie, or are zero, by their last bit only.
DECIMALS = 9


@dataclass(frozen=True)
class Scale:
    """A rating scale by its ends; ``minimum < maximum``."""

    minimum: float
    maximum: float


def pomp(values: np.ndarray, scale: Scale) -> np.ndarray:
    """Return 100 · (x − minimum)/(maximum − minimum), the percent of the maximum possible.

    Parameters
    ----------
    values
        Ratings or their means; NaN stays NaN.
    scale
        Ends of the scale.

    Raises
    ------
    Refused
        When the scale has no extent.

    References
    ----------
    Cohen, P., Cohen, J., Aiken, L. S., & West, S. G. (1999). The problem of units and the circumstance for POMP.
    Multivariate Behavioral Research, 34.
    """
    if not scale.maximum > scale.minimum:
        raise Refused(
            f"A scale must end above where it begins; came {scale.minimum:g} to {scale.maximum:g}, so that percents of "
            "its maximum do not exist."
        )
    return 100 * (np.asarray(values, dtype=float) - scale.minimum) / (scale.maximum - scale.minimum)


def percentile_ranks(values: np.ndarray) -> np.ndarray:
    """Return mid-ranks as percents, 100 · (rank − ½)/n, so that their mean is 50; ties share their mid-rank.

    Parameters
    ----------
    values
        Without missing values, shape (n,).
    """
    from scipy.stats import rankdata

    rounded = np.round(np.asarray(values, dtype=float), DECIMALS)
    return 100 * (rankdata(rounded) - 0.5) / len(rounded) if len(rounded) else rounded


def thirds(values: np.ndarray) -> np.ndarray:
    """Return 0, 50 or 100 for the lowest, middle and highest third of the values; ties fall into one third."""
    percents = percentile_ranks(values)
    return np.where(percents < 100 / 3, 0.0, np.where(percents <= 200 / 3, 50.0, 100.0))


def map_expectations(
    desired: np.ndarray, experienced: np.ndarray, mapping: str, *, desired_scale: Scale, experienced_scale: Scale
) -> tuple[np.ndarray, np.ndarray]:
    """Return desired and experienced empathy on a common scale from 0 to 100.

    Parameters
    ----------
    desired, experienced
        Conversations that have both, shape (n,).
    mapping
        ``pomp``: each on its own scale's percent of the maximum possible. ``rank``: the percentile rank of each among
        these conversations. ``tercile``: experienced by third of its own distribution, against desired on POMP.
        The last two make the sum of gaps a matter of definition, so they compare groups with each other only.
    desired_scale, experienced_scale
        Ends of the scales.

    Raises
    ------
    Refused
        For an unknown mapping.
    """
    if mapping == "pomp":
        return pomp(desired, desired_scale), pomp(experienced, experienced_scale)
    if mapping == "rank":
        return percentile_ranks(desired), percentile_ranks(experienced)
    if mapping == "tercile":
        return pomp(desired, desired_scale), thirds(experienced)
    raise Refused(f"The mapping must be one of {', '.join(MAPPINGS)}; came {mapping!r}.")


def classify_gap(gap: np.ndarray, band: float) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return whether each gap is unmet (< −band), met (|gap| ≤ band) and exceeded (> band).

    Gaps are compared after rounding to 9 decimals, so that a gap of exactly the band is met.
    """
    rounded = np.round(np.asarray(gap, dtype=float), DECIMALS)
    return rounded < -band, np.abs(rounded) <= band, rounded > band
