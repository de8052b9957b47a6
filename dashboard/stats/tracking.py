"""Does experienced empathy follow desired empathy, within persons and between them?"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from dashboard.stats.clustered import MINIMUM_CLUSTERS

if TYPE_CHECKING:
    import pandas as pd

MODELS = {"as it is": "", "task held fixed": " + task"}
TERMS = {"within": "Within persons", "between": "Between persons"}
COLUMNS = ["estimate", "std_error", "df", "statistic", "p_value", "conf_low", "conf_high"]


def track(rows: pd.DataFrame) -> tuple[pd.DataFrame, tuple[str, ...]]:
    """Estimate the slopes of experienced on desired empathy, within and between participants.

    A slope of 0 means that experienced empathy does not follow, 1 that it follows point by point.

    Parameters
    ----------
    rows
        One row per conversation: cluster (the participant), task, desired_pomp, experienced_pomp; nothing missing.

    Returns
    -------
    table : pandas.DataFrame
        model (``as it is``, ``task held fixed``), term (``within``, ``between``), estimate, std_error, df, statistic,
        p_value, conf_low, conf_high, n_observations, n_groups; NaN where not estimable.
    reasons : tuple of str
        Why slopes are missing; empty when none is.

    Notes
    -----
    experienced ~ (desired − person's mean) + person's mean (+ task) + (1 | participant) by REML, with Satterthwaite's
    degrees of freedom. Person means are over the rows given. Checked against lmerTest 3.1-3.
    """
    import pandas as pd

    mean = rows.groupby("cluster")["desired_pomp"].transform("mean")
    frame = pd.DataFrame(
        {
            "y": rows["experienced_pomp"],
            "within": np.round(rows["desired_pomp"] - mean, 12),
            "between": mean,
            "task": rows["task"],
            "participant": rows["cluster"],
        }
    )
    varying = int(rows.groupby("cluster")["desired_pomp"].nunique().gt(1).sum())
    reasons, parts = [], []
    for name, more in MODELS.items():
        if more and frame["task"].nunique() < 2:
            continue
        slopes, reason = _slopes(frame, more, varying)
        parts.append(slopes.assign(model=name))
        if reason and reason not in reasons:
            reasons.append(reason)
    table = pd.concat(parts, ignore_index=True)
    table = table.assign(n_observations=len(frame), n_groups=frame["participant"].nunique())
    return table[["model", "term", *COLUMNS, "n_observations", "n_groups"]], tuple(reasons)


def _slopes(frame: pd.DataFrame, more: str, varying: int) -> tuple[pd.DataFrame, str]:
    import pandas as pd

    from dashboard.stats.linear_mixed import fit_linear_mixed
    from dashboard.vocabulary import Refused

    empty = pd.DataFrame({"term": list(TERMS)}).reindex(columns=["term", *COLUMNS])
    if frame["between"].nunique() < 2 and not varying:
        return empty, "Only one level was desired: there is nothing to follow."
    if varying < MINIMUM_CLUSTERS:
        few = "Nobody" if not varying else f"Only {varying} of {frame['participant'].nunique()} participants"
        return empty, (
            f"{few} wanted different levels in different conversations; slopes within persons need at least "
            f"{MINIMUM_CLUSTERS}."
        )
    try:
        fit = fit_linear_mixed(frame, f"y ~ within + between{more} + (1 | participant)")
    except Refused as refusal:
        return empty, str(refusal)
    if not fit.converged:
        return empty, " ".join(fit.notes)
    return fit.terms.set_index("term").reindex(list(TERMS)).reset_index()[["term", *COLUMNS]], ""
