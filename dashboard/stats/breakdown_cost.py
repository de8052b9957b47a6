"""What an event costs within persons: a mixed model of person-mean-centred indicators."""

from __future__ import annotations

import math

import numpy as np

from dashboard.stats.clustered import MINIMUM_CLUSTERS

COLUMNS = ["estimate", "std_error", "df", "statistic", "p_value", "conf_low", "conf_high"]


def within_cost(
    values: np.ndarray, exposure: np.ndarray, unit: np.ndarray, *, adjust: np.ndarray | None = None
) -> tuple[dict[str, float], str]:
    """Estimate how much lower a person's value is with an exposure than without, that person's mean exposure held fixed.

    Parameters
    ----------
    values
        The outcome per conversation, shape (n,); NaN is left out.
    exposure
        Whether the conversation has the event (0 or 1), or how many, shape (n,).
    unit
        Code of the participant, shape (n,).
    adjust
        A covariate per conversation (turns rated), shape (n,).

    Returns
    -------
    row : dict
        estimate (positive = cost, in the unit of the values), std_error, df, statistic, p_value, conf_low, conf_high,
        standardised (the estimate over the total SD of y ~ exposure + (1 | participant)), n_observations, n_groups,
        n_varying (participants whose exposure varies). NaN where not estimable.
    reason : str
        Why not; empty otherwise.

    Notes
    -----
    y ~ (exposure − person's mean) + person's mean (+ adjust) + (1 | participant), REML, Satterthwaite. Checked against lmerTest
    3.1-3 without adjustment.
    """
    import pandas as pd

    from dashboard.stats.linear_mixed import fit_linear_mixed
    from dashboard.vocabulary import Refused

    known = ~np.isnan(values)
    frame = pd.DataFrame({"y": values, "exposure": np.asarray(exposure, dtype=float), "participant": unit})
    if adjust is not None:
        frame["adjust"] = np.asarray(adjust, dtype=float)
    frame = frame[known].reset_index(drop=True)
    groups = frame.groupby("participant")["exposure"]
    varying = int((groups.nunique() > 1).sum()) if len(frame) else 0
    row = dict.fromkeys([*COLUMNS, "standardised"], math.nan)
    row |= {"n_observations": len(frame), "n_groups": groups.ngroups if len(frame) else 0, "n_varying": varying}
    if varying < MINIMUM_CLUSTERS:
        return row, (
            f"Only {varying} of {row['n_groups']} participants have conversations both with and without: within persons nothing "
            "can be estimated."
        )
    mean = groups.transform("mean")
    frame = frame.assign(within=np.round(frame["exposure"] - mean, 12), between=mean)
    # Participants are levels, not numbers.
    frame["participant"] = frame["participant"].astype(str)
    more = " + adjust" if adjust is not None and frame["adjust"].nunique() > 1 else ""
    try:
        fit = fit_linear_mixed(frame, f"y ~ within + between{more} + (1 | participant)")
        plain = fit_linear_mixed(frame, "y ~ exposure + (1 | participant)")
    except Refused as refusal:
        return row, str(refusal)
    if not fit.converged or not plain.converged:
        return row, " ".join(fit.notes or plain.notes)
    term = fit.terms.set_index("term").loc["within"]
    row |= {name: float(term[name]) for name in ("std_error", "df", "p_value")}
    row |= {"estimate": -float(term["estimate"]), "statistic": -float(term["statistic"])}
    row |= {"conf_low": -float(term["conf_high"]), "conf_high": -float(term["conf_low"])}
    total = math.sqrt(float(plain.variances["variance"].sum()))
    return row | {"standardised": row["estimate"] / total if total > 0 else math.nan, "total_std_dev": total}, ""
