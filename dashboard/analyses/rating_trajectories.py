"""How do ratings move from turn to turn?"""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from dashboard.analyses.breakdown_rows import (
    GROUPS,
    LOW,
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
from dashboard.figures.template import OKABE_ITO, category_colors
from dashboard.figures.trajectories import draw_trajectories
from dashboard.stats.trajectories import ending_ratio, model_line, sample_lines, time_means, time_of_turns
from dashboard.vocabulary import format_number, format_p, plural

if TYPE_CHECKING:
    import numpy as np
    import pandas as pd

NAME = "rating_trajectories"
BY = ("none", "length", *GROUPS)
TURN, RELATIVE = "turn", "fifth of the conversation"
MOST_LINES, MOST_LEVELS, SEED = 60, 8, 20250919
LEAST_CONVERSATIONS, LEAST_PARTICIPANTS = 10, 5
FIFTH_NAMES = {1: "1st", 2: "2nd", 3: "3rd", 4: "4th", 5: "5th"}


@dataclass(frozen=True)
class TrajectoryParameters(BreakdownParameters):
    """What the curves are split by, and along what they run."""

    by: str = parameter(
        "none", label="Curves by", choices=BY, help="One curve per level; length in thirds of all lengths."
    )
    along: str = parameter(
        TURN,
        label="Along",
        choices=(TURN, RELATIVE),
        help="Turn number, or fifths of each conversation of at least five turns, which all of them reach.",
    )


def analyse(database: Database, selection: Selection, parameters: TrajectoryParameters) -> Findings:
    """Average ratings by turn, with the model's line, and ask whether a low rating ends conversations."""
    import numpy as np

    found = read_breakdowns(database, selection, parameters)
    relative = parameters.along == RELATIVE
    last = found.conversations["last_turn"].to_numpy()
    time = time_of_turns(found.courses, last, relative=relative)
    everyone = np.ones(found.courses.n_conversations, dtype=bool)
    slope, line, reason = model_line(found.courses, everyone, participants=found.counts.participants is not None)
    groups = _groups(found, levels_of(database), parameters.by)
    rows = mean_rows(found, time, {"all": everyone} | groups, parameters.by)
    rows = (
        rows.merge(line.assign(group="all"), on=["group", "turn"], how="left") if not relative else _without_line(rows)
    )
    ending, why = ending_ratio(found.courses, last)
    headline = _headline(rows, slope, ending, found, relative=relative)
    return Findings(
        name=NAME,
        headline=headline,
        tables={NAME: rows, f"{NAME}.model": _model_rows(slope, ending)},
        figures=_figures(rows, found, time, groups, database, headline, parameters),
        warnings=(*few_participants(found), *_warnings(rows, groups, parameters.by)),
        notes=(*left_out(found), *(one for one in (reason, why) if one), *_notes(found)),
        counts=found.counts,
        queries={"breakdown_turns": found.chosen},
    )


def _without_line(rows: pd.DataFrame) -> pd.DataFrame:
    return rows.assign(fitted=math.nan, fitted_low=math.nan, fitted_high=math.nan)


def _groups(found: Breakdowns, levels: dict[str, list[str]], by: str) -> dict[str, np.ndarray]:
    """Return which conversations belong to each level of what the curves are split by; empty for no split."""
    if by == "none":
        return {}
    if by == "length":
        return length_thirds(found.conversations)
    names = level_names(found.conversations, by)
    return {level: (names == level).to_numpy() for level in levels[by] if (names == level).any()}


def length_thirds(conversations: pd.DataFrame) -> dict[str, np.ndarray]:
    """Return conversations by length in about equal thirds: by number of turns, so that equal lengths stay together."""
    import numpy as np

    last = conversations["last_turn"].to_numpy()
    has = last > 0
    if not has.any():
        return {}
    cuts = np.unique(np.quantile(last[has], [1 / 3, 2 / 3], method="inverted_cdf").astype(int))
    edges = [int(last[has].min()) - 1, *cuts.tolist(), int(last.max())]
    thirds = {}
    for low, high in itertools.pairwise(edges):
        if high > low:
            name = f"{low + 1}–{high} turns" if high > low + 1 else plural(high, "turn")
            thirds[name] = (last > low) & (last <= high)
    return {name: member for name, member in thirds.items() if member.any()}


def mean_rows(found: Breakdowns, time: np.ndarray, members: dict[str, np.ndarray], by: str) -> pd.DataFrame:
    """Return mean rating, interval and n per group, level and turn (or fifth)."""
    import pandas as pd

    parts = []
    for level, member in members.items():
        group = "all" if level == "all" and member.all() else by
        parts.append(time_means(found.courses, time, member).assign(group=group, level=level))
    rows = pd.concat(parts, ignore_index=True)
    return rows[["group", "level", *(name for name in rows.columns if name not in ("group", "level"))]]


def _model_rows(slope: dict[str, float], ending: dict[str, float]) -> pd.DataFrame:
    import pandas as pd

    rows: list[dict[str, Any]] = [
        {"term": "turn", "measure": "points per turn", **slope},
        {
            "term": "rating",
            "measure": "hazard ratio of ending, per point lower",
            "estimate": ending["hazard_ratio"],
            **{name: ending[name] for name in ("p_value", "conf_low", "conf_high", "n_observations", "n_events")},
        },
    ]
    return pd.DataFrame(rows)


def _figures(
    rows: pd.DataFrame,
    found: Breakdowns,
    time: np.ndarray,
    groups: dict[str, np.ndarray],
    database: Database,
    headline: str,
    parameters: TrajectoryParameters,
) -> dict[str, Drawing]:
    relative = parameters.along == RELATIVE
    levels = list(groups)[:MOST_LEVELS] or ["all"]
    by_level = rows[rows["group"] == ("all" if not groups else parameters.by)]
    by_level = by_level[by_level["level"].isin(levels)]
    enough = (by_level["n_observations"] >= LEAST_CONVERSATIONS) & (by_level["n_participants"] >= LEAST_PARTICIPANTS)
    shown = by_level[enough]
    if shown.empty:
        shown = by_level
    if shown.empty:
        return {}
    lines = single_rows(found, time)
    lines = lines[lines["turn"] <= shown["turn"].max()]
    fixed = levels_of(database).get(parameters.by, [])
    colors = category_colors(fixed) if fixed else dict(zip(groups, OKABE_ITO, strict=False))
    n_lines, n_all = lines["conversation"].nunique(), len(found.rated)
    low = parameters.definition == LOW
    return {
        NAME: Drawing(
            draw=draw_trajectories,
            arguments={
                "frame": shown,
                "running": by_level.groupby("turn")["n_running"].sum().to_dict(),
                "lines": lines,
                "levels": [one for one in levels if one in set(shown["level"])],
                "labels": {one: "Mean" if one == "all" else one for one in levels},
                "colors": colors,
                "limits": (float(found.scale["minimum"]), float(found.scale["maximum"])),
                "ends": (found.scale["minimum_label"], found.scale["maximum_label"]),
                "title": found.label,
                "x_title": ("Fifth of the conversation" if relative else "Turn") + " (below: conversations running)"
                + (f"; dotted: {found.short}" if low else ""),
                "lines_label": f"{n_lines:,} of {n_all:,} conversations",
                "ticks": FIFTH_NAMES if relative else None,
                "threshold": found.low_at if low else None,
            },
            alt=headline,
        )
    }  # fmt: skip


def single_rows(found: Breakdowns, time: np.ndarray) -> pd.DataFrame:
    """Return the points of a seeded sample of conversations, each shifted a little so that equal ratings stay apart."""
    import numpy as np
    import pandas as pd

    courses = found.courses
    chosen = sample_lines(courses, most=MOST_LINES, seed=SEED)
    member = np.zeros(courses.n_conversations, dtype=bool)
    member[chosen] = True
    rows = np.flatnonzero(member[courses.conversation] & courses.rated & (time > 0))
    codes = courses.conversation[rows]
    span = float(found.scale["maximum"] - found.scale["minimum"])
    shift = (np.random.default_rng(SEED).random(courses.n_conversations)[codes] - 0.5) * 0.07 * span
    position = time[rows].astype(float)
    if not np.array_equal(time, courses.turn):
        length = found.conversations["last_turn"].to_numpy()[codes]
        position = 0.5 + 5 * (courses.turn[rows] - 0.5) / length
    return pd.DataFrame(
        {
            "conversation": found.conversations["conversation"].to_numpy()[codes],
            "turn": position,
            "source_turn": courses.turn[rows],
            "value": courses.value[rows],
            "shift": shift,
        }
    )


def _headline(
    rows: pd.DataFrame, slope: dict[str, float], ending: dict[str, float], found: Breakdowns, *, relative: bool
) -> str:
    whole = rows[rows["group"] == "all"]
    known = whole[whole["mean"].notna()]
    if known.empty:
        return f"No conversation is long enough for fifths; {stand_behind(found)}."
    first = known.iloc[0]
    enough = known[known["n_observations"] >= LEAST_CONVERSATIONS]
    last = (enough if len(enough) else known).iloc[-1]
    if slope["estimate"] == slope["estimate"]:
        clear = slope["conf_low"] > 0 or slope["conf_high"] < 0
        falls = clear and slope["estimate"] < 0
        # "fall by" says the sign already; its interval runs the same way.
        ends = ("estimate", "conf_high", "conf_low") if falls else ("estimate", "conf_low", "conf_high")
        per, low, high = (format_number(-slope[name] if falls else slope[name], "number") for name in ends)
        word = ("fall" if falls else "rise") if clear else "do not clearly move; the model says"
        tail = f"{per} points per turn (95 % interval {low} to {high})"
        lead = f"Ratings of {found.label} {word}{' by' if clear else ''} {tail}"
        lead += " where conversations that ended are accounted for"
    else:
        lead = f"Ratings of {found.label} by turn"
    unit = "fifth" if relative else "turn"
    left = "" if relative else f", with {last['n_running']:,} of {first['n_running']:,} left"
    lead += (
        f"; the mean of those running is {format_number(first['mean'], 'rating')} at {unit} {first['turn']:.0f} and "
        f"{format_number(last['mean'], 'rating')} at {unit} {last['turn']:.0f}{left}"
    )
    ratio = ending["hazard_ratio"]
    if ratio == ratio:
        interval = f"{ending['conf_low']:.2f} to {ending['conf_high']:.2f}"
        if ending["conf_low"] > 1 or ending["conf_high"] < 1:
            word = "likelier" if ratio > 1 else "less likely"
            lead += f"; conversations are {word} to end on a turn rated a point lower (hazard ratio {ratio:.2f}, {interval}, {format_p(ending['p_value'])})"
        else:
            lead += f"; a lower rating does not clearly go with ending there (hazard ratio {ratio:.2f}, {interval})"
    return f"{lead}; {stand_behind(found)}."


def _warnings(rows: pd.DataFrame, groups: dict[str, np.ndarray], by: str) -> tuple[str, ...]:
    if by != "none" and not groups:
        return (f"This selection knows no {GROUPS.get(by, by).lower()} to split by.",)
    if len(groups) > MOST_LEVELS:
        return (f"The first {MOST_LEVELS} of {len(groups)} levels are drawn; the table holds all.",)
    return ()


def _notes(found: Breakdowns) -> list[str]:
    n = min(MOST_LINES, int((found.conversations["n_rated"] >= 2).sum()))
    return [
        f"The lines behind are {plural(n, 'conversation')}, a seeded sample of those with two rated turns or more, shifted up or down a "
        "little so that equal ratings stay apart."
    ]


ANALYSIS = Analysis(
    name=NAME,
    page="Breakdowns",
    position=3,
    question="How do ratings move from turn to turn?",
    analyse=analyse,
    parameters=TrajectoryParameters,
    tables={
        NAME: "Mean rating by turn, with the number still running and the model's line",
        f"{NAME}.model": "Slope over turns, and whether a low rating goes with ending",
    },
    figures={NAME: "Ratings by turn: mean, model's line, and single conversations"},
    method=(
        "**Mean**: over the conversations rated on that turn; later turns rest on those that went on, so that the curve mixes change "
        "with who is left. **Model's line**: value ~ turn + (turn | participant) + (1 | conversation), REML, a straight line; it stays valid "
        "when ending depends on the ratings seen before. **Ending**: complementary log–log hazard that a rated turn is the "
        "conversation's last, on its rating, one coefficient per turn, errors clustered by participant. By *length*, conversations are "
        "compared with those of about equal length; *fifths* are ⌈5 t/n⌉ of conversations of at least five turns. Curves are drawn where 10 "
        "conversations and 5 participants stand behind them. Intervals: cluster-robust, with the participant as the unit. Ratings are ordinal and "
        "treated as interval."
    ),
)
