"""How long do conversations go without a breakdown?"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from dashboard.analyses.breakdown_rows import (
    GROUPS,
    BreakdownParameters,
    Breakdowns,
    few_participants,
    left_out,
    level_names,
    levels_of,
    read_breakdowns,
    stand_behind,
)
from dashboard.analyses.findings import Analysis, Drawing, Findings, Selection, parameter
from dashboard.database import Database
from dashboard.figures.survival import draw_survival
from dashboard.figures.template import category_colors
from dashboard.stats.discrete_hazard import compare_hazards
from dashboard.stats.hazard_frailty import HazardTrend, hazard_trend
from dashboard.stats.survival import cumulative_incidence, kaplan_meier, log_rank
from dashboard.vocabulary import format_p, format_percent, with_interval

if TYPE_CHECKING:
    import pandas as pd

NAME = "breakdown_survival"
BY = ("none", *GROUPS)
LEAST_AT_RISK, LEAST_PARTICIPANTS = 10, 5
MOST_CURVES = 8
HAZARD = "complementary log–log hazard, turn held fixed, errors clustered by participant"
LOG_RANK = "log-rank, conversations as independent"


@dataclass(frozen=True)
class SurvivalParameters(BreakdownParameters):
    """The definition, and what the curves are split by."""

    by: str = parameter("none", label="Curves by", choices=BY, help="One curve per level.")


def analyse(database: Database, selection: Selection, parameters: SurvivalParameters) -> Findings:
    """Estimate survival without a breakdown, and test whether tasks, models and desired levels differ in hazard."""
    found = read_breakdowns(database, selection, parameters)
    levels = levels_of(database)
    curves, incidence = curve_rows(found, levels)
    tests, ratios = test_rows(found, levels)
    trend = hazard_trend(*(found.rated[name].to_numpy() for name in ("time", "event", "cluster_number")))
    headline = _headline(curves, incidence, tests, found)
    return Findings(
        name=NAME,
        headline=headline,
        tables={
            NAME: curves,
            f"{NAME}.incidence": incidence,
            f"{NAME}.tests": tests,
            f"{NAME}.hazard": ratios,
        },
        figures=_figures(curves, incidence, levels, found, parameters.by),
        warnings=(*few_participants(found), *_too_many(curves, parameters.by)),
        notes=(*left_out(found), f"{found.words}.", *_notes(tests, trend)),
        counts=found.counts,
        queries={"breakdown_turns": found.chosen},
    )


def _groups(found: Breakdowns, levels: dict[str, list[str]]) -> Iterator[tuple[str, str, pd.DataFrame]]:
    """Yield group, level and the conversations of each curve."""
    rated = found.rated
    yield "all", "all", rated
    for group in GROUPS:
        names = level_names(rated, group)
        for level in levels[group]:
            part = rated[names == level]
            if len(part):
                yield group, level, part


def curve_rows(found: Breakdowns, levels: dict[str, list[str]]) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Return survival and cumulative incidence per group, level and turn."""
    import pandas as pd

    curves, shares = [], []
    for group, level, part in _groups(found, levels):
        arrays = tuple(part[name].to_numpy() for name in ("time", "event", "cluster_number"))
        place = {"group": group, "level": level}
        curves.append(kaplan_meier(*arrays).assign(**place))
        shares.append(cumulative_incidence(*arrays).assign(**place))
    first, last = ["group", "level"], ["n_participants", "std_error"]
    survival, incidence = pd.concat(curves, ignore_index=True), pd.concat(shares, ignore_index=True)
    survival = survival.rename(columns={"n_units": "n_participants"})
    return (
        survival[[*first, *(name for name in survival.columns if name not in {*first, *last}), *last]],
        incidence[[*first, *(name for name in incidence.columns if name not in first)]],
    )


def test_rows(found: Breakdowns, levels: dict[str, list[str]]) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Return the tests of each group, the clustered one first, and the hazard ratios of its levels."""
    import numpy as np
    import pandas as pd

    from dashboard.stats.marginal_means import holm

    rated, rows, ratios = found.rated, [], []
    time, event, unit = (rated[name].to_numpy() for name in ("time", "event", "cluster_number"))
    for group in GROUPS:
        codes = pd.Categorical(level_names(rated, group), categories=levels[group]).codes.astype(int)
        if len(np.unique(codes[codes >= 0])) < 2:
            continue
        hazard = compare_hazards(time, event, unit, codes)
        known = codes >= 0
        ranked = log_rank(time[known], event[known], codes[known])
        common = {"group": group, "n_conversations": int(known.sum())}
        rows.append(common | {"statistic": hazard.statistic, "df": hazard.df, "p_value": hazard.p_value, "method": HAZARD, "note": hazard.reason})  # fmt: skip
        rows.append(common | {"statistic": ranked.statistic, "df": ranked.df, "p_value": ranked.p_value, "method": LOG_RANK, "note": ""})  # fmt: skip
        names = [levels[group][code] for code in hazard.ratios["level"].astype(int)]
        ratios.append(hazard.ratios.assign(group=group, level=names))
    tests = pd.DataFrame(rows, columns=["group", "method", "statistic", "df", "p_value", "n_conversations", "note"])
    tests.insert(5, "p_adjusted", np.nan)
    headline = tests["method"] == HAZARD
    tests.loc[headline, "p_adjusted"] = holm(tests.loc[headline, "p_value"].to_numpy(dtype=float))
    columns = [
        "group",
        "level",
        "hazard_ratio",
        "conf_low",
        "conf_high",
        "estimate",
        "std_error",
        "n_observations",
        "n_events",
    ]
    table = pd.concat(ratios, ignore_index=True)[columns] if ratios else pd.DataFrame(columns=columns)
    return tests, table


def shown_part(curves: pd.DataFrame) -> pd.DataFrame:
    """Return the turns up to which a curve is drawn: at least 10 conversations and 5 participants at risk."""
    enough = (curves["n_at_risk"] >= LEAST_AT_RISK) & (curves["n_participants"] >= LEAST_PARTICIPANTS)
    return curves[enough]


def _figures(
    curves: pd.DataFrame, incidence: pd.DataFrame, levels: dict[str, list[str]], found: Breakdowns, by: str
) -> dict[str, Drawing]:
    group = "all" if by == "none" else by
    shown = shown_part(curves[curves["group"] == group])
    names = [one for one in (["all"] if by == "none" else levels[by]) if one in set(shown["level"])][:MOST_CURVES]
    if not names:
        return {}
    shown = shown[shown["level"].isin(names)]
    shares = incidence[(incidence["group"] == group) & incidence["level"].isin(names)]
    shares = shares[shares["turn"] <= shown["turn"].max()]
    labels = {one: "All conversations" if by == "none" else one for one in names}
    said = []
    for one in names:
        last = shown[shown["level"] == one].iloc[-1]
        said.append(f"{labels[one]} {format_percent(last['survival'])} at turn {last['turn']:.0f}")
    return {
        NAME: Drawing(
            draw=draw_survival,
            arguments={
                "frame": shown,
                "incidence": shares,
                "levels": names,
                "labels": labels,
                "colors": category_colors(levels[by]) if by != "none" else {},
                "units": ("Still without a breakdown", "Broken down so far, of all"),
                "x_title": f"Turn (breakdown: {found.short})",
            },
            alt=f"Kaplan–Meier curves of conversations without a breakdown ({found.short}): {', '.join(said)}. Below, the share "
            "broken down so far of all conversations, those that ended counted as unbroken.",
        )
    }


def _headline(curves: pd.DataFrame, incidence: pd.DataFrame, tests: pd.DataFrame, found: Breakdowns) -> str:
    whole = curves[curves["group"] == "all"]
    basis = stand_behind(found)
    if not whole["n_events"].sum():
        return f"No conversation breaks down ({found.short}), so that nothing can be said of when; {basis}."
    shown = shown_part(whole)
    if shown.empty:
        return f"Too few conversations to draw a curve of survival without a breakdown ({found.short}); {basis}."
    at = shown[shown["turn"] <= 5].iloc[-1] if (shown["turn"] >= 5).any() else shown.iloc[-1]
    share = with_interval(at["survival"], at["conf_low"], at["conf_high"], "percent")
    total = incidence[incidence["group"] == "all"].iloc[-1]["cumulative_incidence"]
    sentence = (
        f"{share} of conversations that go on come through turn {at['turn']:.0f} without a breakdown ({found.short}); "
        f"{format_percent(total)} of all break down before they end"
    )
    clear = tests[(tests["method"] == HAZARD) & tests["p_value"].notna()]
    model = clear[clear["group"] == "model"]
    one = (model if len(model) else clear).head(1)
    if len(one):
        row = one.iloc[0]
        name = GROUPS[row["group"]].lower() + "s"
        name = "desired levels" if row["group"] == "desired_empathy" else name
        verdict = "differ in hazard" if row["p_adjusted"] < 0.05 else "do not clearly differ in hazard"
        sentence += f"; {name} {verdict} (χ²({row['df']:.0f}) = {row['statistic']:.1f}, {format_p(row['p_value'])})"
    return f"{sentence}; {basis}."


def _too_many(curves: pd.DataFrame, by: str) -> tuple[str, ...]:
    n = curves.loc[curves["group"] == by, "level"].nunique()
    if by != "none" and not n:
        return (f"This selection knows no {GROUPS[by].lower()} to split by.",)
    return (f"The first {MOST_CURVES} of {n} levels are drawn; the table holds all.",) if n > MOST_CURVES else ()


def _notes(tests: pd.DataFrame, trend: HazardTrend) -> list[str]:
    notes = [_say_trend(trend)]
    for row in tests.itertuples():
        if row.p_value == row.p_value:
            adjusted = f", Holm-adjusted {format_p(row.p_adjusted)}" if row.p_adjusted == row.p_adjusted else ""
            notes.append(
                f"{GROUPS[row.group]}: χ²({row.df:.0f}) = {row.statistic:.2f}, {format_p(row.p_value)}{adjusted} ({row.method})."
            )
        if row.note:
            notes.append(f"{GROUPS[row.group]}: {row.note}")
    return notes


def _say_trend(trend: HazardTrend) -> str:
    """Say how the hazard changes with the turn, and what becomes of it when participants may differ."""
    why = "Where participants differ, those prone to breakdowns leave the risk set first, and the pooled hazard falls though nobody's does."
    if trend.pooled != trend.pooled:
        return f"{trend.reason} {why}"
    low, high = (f"{2**value:.2f}" for value in (trend.pooled_low, trend.pooled_high))
    pooled = f"From one turn to its double the hazard is multiplied by {2**trend.pooled:.2f} ({low} to {high}), everyone pooled"
    if trend.frailty != trend.frailty:
        return f"{pooled}. {trend.reason} {why}"
    flips = " The frailty flips the trend." if (trend.pooled < 0) != (trend.frailty < 0) else ""
    return (
        f"{pooled}, and by {2**trend.frailty:.2f} with a frailty, an intercept per participant (SD {trend.std_dev:.2f} of the log hazard)."
        f"{flips} {why}"
    )


ANALYSIS = Analysis(
    name=NAME,
    page="Breakdowns",
    position=2,
    question="How long do conversations go without a breakdown?",
    analyse=analyse,
    parameters=SurvivalParameters,
    tables={
        NAME: "Kaplan–Meier estimate by group, level and turn",
        f"{NAME}.incidence": "Share of all conversations broken down by each turn (ending competes)",
        f"{NAME}.tests": "Whether tasks, models and desired levels differ",
        f"{NAME}.hazard": "Hazard ratios against the first level",
    },
    figures={NAME: "Conversations still without a breakdown, numbers at risk, and share broken down so far"},
    method=(
        "Time is the turn of the first breakdown; a conversation without one is censored at its last *rated* turn, after the "
        "breakdowns of that turn. Unrated turns between are no event; conversations without a rated turn are left out. The "
        "upper curve (Kaplan–Meier) asks what would happen if conversations went on, and takes ending as unrelated to breaking "
        "down; the lower (cumulative incidence) is the share that did break down by turn t, ending competing with it. Errors are the "
        "infinitesimal jackknife over participants, intervals log–log; curves stop below 10 conversations or 5 participants at risk, "
        "the table goes on. **Headline test**: joint Wald test of the groups in a complementary log–log hazard with one "
        "coefficient per turn (from the 8th pooled), expected information, errors clustered by participant "
        "(G/(G−1)·(n−1)/(n−k)); one test per group, Holm-adjusted over them. The log-rank test takes conversations as independent "
        "and is a companion."
    ),
    references=(
        "Kaplan, E. L., & Meier, P. (1958). Nonparametric estimation from incomplete observations. JASA, 53.",
        "Efron, B. (1981). Censored data and the bootstrap. JASA, 76.",
        "Prentice, R. L., & Gloeckler, L. A. (1978). Regression analysis of grouped survival data. Biometrics, 34.",
    ),
)
