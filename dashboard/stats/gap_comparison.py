"""The gap between desired and experienced empathy: tables by group, and whether tasks differ."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from dashboard.stats.clustered import MINIMUM_CLUSTERS, clustered_mean
from dashboard.stats.pomp import DECIMALS, Scale, classify_gap, map_expectations
from dashboard.stats.signed_rank import signed_rank

if TYPE_CHECKING:
    import pandas as pd

GAP_COLUMNS = ("desired_pomp", "experienced_pomp", "gap", "unmet", "met", "exceeded")


def add_gaps(
    rows: pd.DataFrame, *, desired_scale: Scale, experienced_scale: Scale, mapping: str = "pomp", band: float = 25.0
) -> pd.DataFrame:
    """Put both sides on one scale, subtract them, and say whether the expectation was met.

    Parameters
    ----------
    rows
        One row per conversation: desired_empathy and experienced_empathy; rows that lack either are left out.
    desired_scale, experienced_scale
        Ends of the scales.
    mapping
        One of ``dashboard.stats.pomp.MAPPINGS``.
    band
        Met is |gap| ≤ band.

    Returns
    -------
    pandas.DataFrame
        The rows with desired_pomp, experienced_pomp, gap, unmet, met, exceeded.
    """
    both = rows[rows["desired_empathy"].notna() & rows["experienced_empathy"].notna()].reset_index(drop=True)
    desired, experienced = map_expectations(
        both["desired_empathy"].to_numpy(dtype=float),
        both["experienced_empathy"].to_numpy(dtype=float),
        mapping,
        desired_scale=desired_scale,
        experienced_scale=experienced_scale,
    )
    gap = experienced - desired
    unmet, met, exceeded = classify_gap(gap, band)
    values = (desired, experienced, gap, unmet, met, exceeded)
    return both.assign(**dict(zip(GAP_COLUMNS, values, strict=True)))


def gap_table(rows: pd.DataFrame, by: Sequence[str], *, participants: bool = True) -> pd.DataFrame:
    """Return the gap per group: means over conversations, interval and test with the participant as the unit.

    Parameters
    ----------
    rows
        One row per conversation: ``by``, cluster, and the columns of :func:`add_gaps`.
    by
        Grouping columns; groups are sorted. Groups of one conversation are kept.
    participants
        Whether clusters are participants; else n_participants is NaN and the conversation is the unit.

    Returns
    -------
    pandas.DataFrame
        ``by``, n_conversations, n_participants, desired_pomp, experienced_pomp, gap, conf_low, conf_high, p_value,
        p_adjusted (Holm over the groups), share_unmet, share_met, share_exceeded, rank_biserial, n_zero, method.
        The test is :func:`dashboard.stats.signed_rank.signed_rank` of one mean gap per participant; where it is
        omitted, ``method`` says why.
    """
    import pandas as pd

    from dashboard.stats.marginal_means import holm

    found = []
    for key, part in rows.groupby(list(by), sort=True):
        sums = part.groupby("cluster")["gap"].agg(["sum", "count"])
        mean = clustered_mean(sums["sum"].to_numpy(), sums["count"].to_numpy())
        test = signed_rank((sums["sum"] / sums["count"]).to_numpy())
        found.append(
            dict(zip(by, key, strict=True))
            | {
                "n_conversations": len(part),
                "n_participants": len(sums) if participants else np.nan,
                "desired_pomp": part["desired_pomp"].mean(),
                "experienced_pomp": part["experienced_pomp"].mean(),
                "gap": mean.estimate,
                "conf_low": mean.conf_low,
                "conf_high": mean.conf_high,
                "p_value": test.p_value,
                "p_adjusted": np.nan,
                "share_unmet": part["unmet"].mean(),
                "share_met": part["met"].mean(),
                "share_exceeded": part["exceeded"].mean(),
                "rank_biserial": test.rank_biserial,
                "n_zero": test.n_zero,
                "method": test.method,
            }
        )
    if not found:
        return pd.DataFrame(columns=[*by, "n_conversations", "n_participants", *GAP_COLUMNS[:3], "method"])
    table = pd.DataFrame(found)
    table["p_adjusted"] = holm(table["p_value"].to_numpy())
    return table


@dataclass(frozen=True)
class TaskComparison:
    """Whether tasks differ in a mean, by the mixed model ``y ~ task + (1 | participant)``.

    Attributes
    ----------
    means, contrasts, joint
        Marginal means, Holm contrasts of all pairs, and the joint F test; empty where the model was not fitted.
    reason
        Why it was not, or empty.
    """

    means: pd.DataFrame
    contrasts: pd.DataFrame
    joint: pd.DataFrame
    reason: str


def compare_tasks(rows: pd.DataFrame, outcome: str, *, participants: bool = True) -> TaskComparison:
    """Fit the outcome on the task with an intercept per participant (REML, Satterthwaite).

    Parameters
    ----------
    rows
        One row per conversation: task, cluster, ``outcome``; nothing missing.
    participants
        Whether clusters are participants. Without participants, or where fewer than five have two conversations, no
        such model is fitted.

    Notes
    -----
    Checked against lmerTest 3.1-3 and emmeans 1.8.4-1.
    """
    import pandas as pd

    from dashboard.stats.linear_mixed import fit_linear_mixed
    from dashboard.stats.linear_mixed_tests import joint_tests
    from dashboard.stats.marginal_means import contrasts, marginal_means
    from dashboard.vocabulary import Refused

    def none(reason: str) -> TaskComparison:
        empty = pd.DataFrame()
        return TaskComparison(empty, empty, empty, reason)

    if rows["task"].nunique() < 2:
        return none("There is one task only: nothing to compare.")
    if not participants:
        return none("Who took part is not known, so that a model with an intercept per participant does not exist.")
    repeated = int((rows["cluster"].value_counts() > 1).sum())
    if repeated < MINIMUM_CLUSTERS:
        return none(
            f"{'Nobody has' if not repeated else f'Only {repeated} have'} two conversations or more: an intercept per "
            "participant cannot be told from the residual."
        )
    frame = pd.DataFrame({"y": rows[outcome], "task": rows["task"], "participant": rows["cluster"]})
    try:
        fit = fit_linear_mixed(frame, "y ~ task + (1 | participant)")
        if not fit.converged:
            return none(" ".join(fit.notes))
        return TaskComparison(marginal_means(fit, "task"), contrasts(fit, "task"), joint_tests(fit), "")
    except Refused as refusal:
        return none(str(refusal))


def relative_verdicts(rows: pd.DataFrame) -> pd.DataFrame:
    """Say for every task whether its gap lies below or above that of the average conversation.

    The average is taken as fixed, so that mappings whose sum of gaps is a matter of definition can be compared.

    Returns
    -------
    pandas.DataFrame
        task, gap, conf_low, conf_high (all minus the mean over conversations), verdict: ``below``, ``above`` or
        ``undecided``.
    """
    import pandas as pd

    centred = rows["gap"] - rows["gap"].mean()
    found = []
    for task, part in rows.assign(gap=centred).groupby("task", sort=True):
        sums = part.groupby("cluster")["gap"].agg(["sum", "count"])
        mean = clustered_mean(sums["sum"].to_numpy(), sums["count"].to_numpy())
        low, high = np.round([mean.conf_low, mean.conf_high], DECIMALS)
        verdict = "below" if high < 0 else "above" if low > 0 else "undecided"
        found.append((task, mean.estimate, mean.conf_low, mean.conf_high, verdict))
    return pd.DataFrame(found, columns=["task", "gap", "conf_low", "conf_high", "verdict"])
