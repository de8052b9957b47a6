"""Ratings by turn: means of the conversations still running, a model-based line, and whether a low rating ends them."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from dashboard.stats.breakdowns import Courses
from dashboard.stats.clustered import MINIMUM_CLUSTERS, clustered_mean

if TYPE_CHECKING:
    import pandas as pd

FIFTHS = 5
LAST_TURN_OF_ITS_OWN = 12


def time_of_turns(courses: Courses, last_turn: np.ndarray, *, relative: bool) -> np.ndarray:
    """Return what each turn is averaged under: its number, or its fifth of the conversation.

    Parameters
    ----------
    courses
        The turns.
    last_turn
        Number of turns per conversation, shape (n,).
    relative
        Fifths ⌈5 t/n⌉ of conversations of at least five turns; 0 for turns of shorter ones, which have no fifths.
    """
    if not relative:
        return courses.turn
    length = last_turn[courses.conversation]
    fifth = -(-FIFTHS * courses.turn // np.maximum(length, 1))
    return np.where(length >= FIFTHS, fifth, 0)


def time_means(courses: Courses, time: np.ndarray, member: np.ndarray) -> pd.DataFrame:
    """Return the mean rating at each time over a group of conversations, with the clustered interval.

    Parameters
    ----------
    courses
        The turns.
    time
        Turn number or fifth per turn, shape (N,); 0 is left out.
    member
        Which conversations belong to the group, shape (n,).

    Returns
    -------
    pandas.DataFrame
        turn (the time), mean, conf_low, conf_high, n_observations (rated turns), n_participants, n_running (conversations
        that have a turn there, rated or not).
    """
    import pandas as pd

    here = member[courses.conversation] & (time > 0)
    rated = here & courses.rated
    n_units = int(courses.unit.max()) + 1 if len(courses.unit) else 0
    unit = courses.unit[courses.conversation]
    rows = []
    for one in np.unique(time[here]):
        at = rated & (time == one)
        counts = np.bincount(unit[at], minlength=n_units)
        mean = clustered_mean(np.bincount(unit[at], weights=courses.value[at], minlength=n_units), counts)
        running = len(np.unique(courses.conversation[here & (time == one)]))
        rows.append(
            (int(one), mean.estimate, mean.conf_low, mean.conf_high, mean.n_observations, mean.n_groups, running)
        )
    names = ["turn", "mean", "conf_low", "conf_high", "n_observations", "n_participants", "n_running"]
    return pd.DataFrame(rows, columns=names)


def model_line(
    courses: Courses, member: np.ndarray, *, participants: bool
) -> tuple[dict[str, float], pd.DataFrame, str]:
    """Fit a straight line of ratings over turns that stays valid when drop-out depends on the ratings seen before.

    Parameters
    ----------
    courses, member
        As for :func:`time_means`.
    participants
        Whether units are participants; else conversations alone have an intercept.

    Returns
    -------
    slope : dict
        estimate (points per turn), std_error, df, p_value, conf_low, conf_high; NaN where not estimable.
    line : pandas.DataFrame
        turn, fitted, fitted_low, fitted_high (pointwise, normal quantiles) at every turn; empty where not estimable.
    reason : str
        Why not; empty otherwise.

    Notes
    -----
    value ~ turn + (turn | participant) + (1 | conversation) by REML; without the slopes of participants where these do not
    settle.
    """
    import pandas as pd

    from dashboard.stats.linear_mixed import fit_linear_mixed
    from dashboard.vocabulary import Refused

    rows = np.flatnonzero(courses.rated & member[courses.conversation])
    codes = courses.conversation[rows]
    unknown = dict.fromkeys(["estimate", "std_error", "df", "p_value", "conf_low", "conf_high"], math.nan)
    none = pd.DataFrame(columns=["turn", "fitted", "fitted_low", "fitted_high"])
    n_units = len(np.unique(courses.unit[codes]))
    if n_units < MINIMUM_CLUSTERS or len(np.unique(courses.turn[rows])) < 3:
        return unknown, none, "Fewer than five participants, or than three turns: no model-based line."
    frame = pd.DataFrame(
        {
            "value": courses.value[rows],
            "turn": courses.turn[rows].astype(float),
            "participant": pd.Categorical(courses.unit[codes]).rename_categories(str),
            "conversation": pd.Categorical(codes).rename_categories(str),
        }
    )
    formulas = ["value ~ turn + (1 | conversation)"]
    if participants:
        formulas = [
            "value ~ turn + (1 + turn | participant) + (1 | conversation)",
            "value ~ turn + (1 | participant) + (1 | conversation)",
        ]
    reason = ""
    for formula in formulas:
        try:
            fit = fit_linear_mixed(frame, formula)
        except Refused as refusal:
            reason = str(refusal)
            continue
        if fit.converged:
            term = fit.terms.set_index("term").loc["turn"]
            turns = np.arange(1, int(courses.turn[rows].max()) + 1)
            design = np.column_stack([np.ones(len(turns)), turns])
            fitted = design @ fit.coefficients
            reach = 1.959963984540054 * np.sqrt(np.einsum("ij,jk,ik->i", design, fit.covariance, design))
            line = {"turn": turns, "fitted": fitted, "fitted_low": fitted - reach, "fitted_high": fitted + reach}
            return {name: float(term[name]) for name in unknown}, pd.DataFrame(line), ""
        reason = " ".join(fit.notes)
    return unknown, none, reason


def ending_ratio(courses: Courses, last_turn: np.ndarray) -> tuple[dict[str, float], str]:
    """Estimate whether a conversation is likelier to end on a turn that is rated lower.

    Parameters
    ----------
    courses
        The turns; those after the first that are rated enter.
    last_turn
        Number of turns per conversation, shape (n,).

    Returns
    -------
    row : dict
        hazard_ratio (of ending, per point *lower*), conf_low, conf_high, p_value, n_observations, n_events; NaN where not
        estimable.
    reason : str
        Why not; empty otherwise.

    Notes
    -----
    Complementary log–log hazard of ending with one coefficient per turn (from the 12th pooled), errors clustered by
    participant, HC1.
    """
    from dashboard.stats.discrete_hazard import fit_hazard

    rows = np.flatnonzero(courses.rated & (courses.turn > 1))
    codes = courses.conversation[rows]
    ends = courses.turn[rows] == last_turn[codes]
    unknown = dict.fromkeys(["hazard_ratio", "conf_low", "conf_high", "p_value"], math.nan)
    unknown |= {"n_observations": len(rows), "n_events": int(ends.sum())}
    step = np.minimum(courses.turn[rows], LAST_TURN_OF_ITS_OWN)
    # A turn on which every conversation ends, or none, tells nothing of who ends: its coefficient would run away.
    mixed = [one for one in np.unique(step) if 0 < ends[step == one].mean() < 1]
    kept = np.isin(step, mixed)
    value = courses.value[rows][kept]
    if len(np.unique(courses.unit[codes[kept]])) < MINIMUM_CLUSTERS or len(np.unique(value)) < 2:
        return unknown, "Too few turns or participants to say whether ratings go with ending."
    design = np.column_stack([step[kept][:, None] == np.array(mixed)[None, :], -(value - value.mean())]).astype(float)
    fit = fit_hazard(design, ends[kept].astype(float), np.ones(len(value)), courses.unit[codes[kept]])
    _, _, p_value = fit.wald(np.array([design.shape[1] - 1]))
    estimate, se = float(fit.coefficients[-1]), math.sqrt(float(fit.covariance[-1, -1]))
    if not fit.converged or not math.isfinite(se):
        return unknown, "The model of ending did not settle."
    z = 1.959963984540054
    found = {"hazard_ratio": estimate, "conf_low": estimate - z * se, "conf_high": estimate + z * se}
    return unknown | {name: math.exp(one) for name, one in found.items()} | {"p_value": p_value}, ""


def sample_lines(courses: Courses, *, most: int, seed: int) -> np.ndarray:
    """Return codes of conversations with at least two rated turns: all, or a seeded sample of ``most``; ascending."""
    n_rated = np.bincount(courses.conversation[courses.rated], minlength=courses.n_conversations)
    eligible = np.flatnonzero(n_rated >= 2)
    if len(eligible) <= most:
        return eligible
    return np.sort(np.random.default_rng(seed).choice(eligible, most, replace=False))
