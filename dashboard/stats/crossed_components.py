"""How much of a score is the person and how much the task: crossed variance components with profile intervals."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    import pandas as pd

    from dashboard.stats.linear_mixed_deviance import Deviance

COMPONENTS = ("participant", "task", "conversation")
_CHI2_95 = 3.841458820694124


def crossed_components(values: np.ndarray, participant: np.ndarray, task: np.ndarray) -> tuple[pd.DataFrame, str]:
    """Divide the variance of a conversation score between participant, task and conversation.

    y ~ 1 + (1 | participant) + (1 | task) by REML; the conversation is the residual. Intervals of the shares are profile
    intervals: where the REML deviance, minimised over how the rest divides between the others, rises by 3.84. They end at
    0 or 1 where it never does.

    Parameters
    ----------
    values, participant, task
        One per conversation, shape (n,); nothing missing.

    Returns
    -------
    table : pandas.DataFrame
        component, variance, share, conf_low, conf_high, n_observations, n_groups (levels of the component; NaN for
        the conversation). NaN where not estimable.
    reason : str
        Why it is not, or empty.

    Notes
    -----
    Checked against lme4 1.1-31, and the interval against a grid of constrained fits.
    """
    import pandas as pd

    from dashboard.stats.linear_mixed import fit_linear_mixed
    from dashboard.vocabulary import Refused

    sizes = {"participant": len(np.unique(participant)), "task": len(np.unique(task)), "conversation": math.nan}
    table = pd.DataFrame({"component": COMPONENTS, "n_observations": len(values)})
    table["n_groups"] = table["component"].map(sizes)
    table[["variance", "share", "conf_low", "conf_high"]] = math.nan
    table = table[["component", "variance", "share", "conf_low", "conf_high", "n_observations", "n_groups"]]
    reason = _cannot(np.asarray(values, dtype=float), sizes)
    if reason:
        return table, reason
    frame = pd.DataFrame({"y": np.asarray(values, dtype=float), "participant": participant, "task": task})
    try:
        fit = fit_linear_mixed(frame, "y ~ 1 + (1 | participant) + (1 | task)")
    except Refused as refusal:
        return table, str(refusal)
    if not fit.converged:
        return table, " ".join(fit.notes)
    variances = {**fit.group_variances, "conversation": fit.sigma**2}
    total = sum(variances.values())
    table["variance"] = table["component"].map(variances)
    table["share"] = table["variance"] / total
    function = fit.estimate.deviance_function
    for index, component in enumerate(COMPONENTS):
        low, high = profile_interval(function, component, float(table.loc[index, "share"]), fit.deviance)
        table.loc[index, ["conf_low", "conf_high"]] = low, high
    return table, ""


def _cannot(values: np.ndarray, sizes: dict[str, float]) -> str:
    if len(np.unique(np.round(values, 9))) < 2:
        return "Every conversation has the same value: there is no variance to divide."
    for component in ("participant", "task"):
        if sizes[component] < 2:
            return f"There is one {component} only: its variance cannot be told."
    if sizes["participant"] >= len(values):
        return "Nobody has two conversations: participant and conversation cannot be told apart."
    if len(values) < 10:
        return f"There are {len(values)} conversations; ten are the least for three components."
    return ""


def profile_interval(function: Deviance, component: str, best: float, deviance: float) -> tuple[float, float]:
    """Return the 95 % profile interval of a component's share of the variance.

    Parameters
    ----------
    function
        The deviance of intercepts of participant and task.
    component
        One of ``COMPONENTS``.
    best, deviance
        The estimated share, and the deviance there.
    """
    curve = _profile(function, component)
    target = deviance + _CHI2_95
    return _crossing(curve, best, 0.0, target), _crossing(curve, best, 1.0, target)


def _profile(function: Deviance, component: str) -> Callable[[float], float]:
    """Return the profiled deviance as a function of one component's share."""
    from scipy.optimize import minimize_scalar

    from dashboard.stats.linear_mixed_deviance import NotPositiveDefinite

    labels = [factor.label for factor in function.factors]
    others = [name for name in COMPONENTS if name != component]

    def deviance(shares: dict[str, float]) -> float:
        # theta is the square root of a ratio to the residual's variance.
        residual = max(shares["conversation"], 1e-10)
        try:
            return function.value(function.solve(np.sqrt([max(shares[label], 0.0) / residual for label in labels])))
        except NotPositiveDefinite:
            return math.inf

    def curve(share: float) -> float:
        rest = 1 - share

        def part(division: float) -> float:
            return deviance({component: share, others[0]: rest * division, others[1]: rest * (1 - division)})

        # The curve is flat at its minimum: a division known to 1e-4 leaves an error of its square.
        found = minimize_scalar(part, bounds=(0.0, 1.0), method="bounded", options={"xatol": 1e-4})
        nearest = 0.0 if found.x < 0.5 else 1.0
        return float(min(found.fun, part(nearest))) if abs(found.x - nearest) < 0.05 else float(found.fun)

    return curve


def _crossing(curve: Callable[[float], float], best: float, end: float, target: float) -> float:
    """Return where the curve reaches the target between the best share and an end, or the end where it never does."""
    from scipy.optimize import brentq

    near_end = end + (best - end) * 1e-6
    if abs(best - end) < 1e-8 or curve(near_end) <= target:
        return end
    return float(brentq(lambda share: curve(share) - target, near_end, best, xtol=1e-5))
