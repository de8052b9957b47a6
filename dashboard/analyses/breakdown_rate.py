"""How often do conversations break down, and where?"""

from __future__ import annotations

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
from dashboard.analyses.findings import Analysis, Drawing, Findings, Selection
from dashboard.database import Database
from dashboard.figures.breakdowns import draw_grouped_shares, draw_turn_shares
from dashboard.stats.clustered import clustered_shares
from dashboard.vocabulary import format_percent, plural, with_interval

if TYPE_CHECKING:
    import numpy as np
    import pandas as pd

NAME = "breakdown_rate"
COLUMNS = ["group", "level", "n_conversations", "n_with_breakdown", "share", "conf_low", "conf_high", "n_turns", "n_breakdown_turns", "n_participants"]  # fmt: skip
LEAST_CONVERSATIONS, LEAST_PARTICIPANTS = 10, 5


def analyse(database: Database, selection: Selection, parameters: BreakdownParameters) -> Findings:
    """Count conversations with a breakdown by task, model and desired level, and breakdowns by turn."""
    found = read_breakdowns(database, selection, parameters)
    rates = rate_rows(found, levels_of(database))
    return Findings(
        name=NAME,
        headline=_headline(rates, found),
        tables={NAME: rates},
        figures=_figures(rates, found),
        warnings=(*few_participants(found), *_small(rates)),
        notes=(*left_out(found), f"{found.words}."),
        counts=found.counts,
        queries={"breakdown_turns": found.chosen, "breakdown_conversations": _conversation_parameters(found)},
    )


def _conversation_parameters(found: Breakdowns) -> dict[str, object]:
    return {key: value for key, value in found.chosen.items() if key not in ("definition", "threshold")}


def rate_rows(found: Breakdowns, levels: dict[str, list[str]]) -> pd.DataFrame:
    """Return the share of conversations with a breakdown: all, per level of each group, and per turn.

    The row of a turn counts the conversations that are rated on it, and those of them that break down on it, first or again.
    """
    import pandas as pd

    rated = found.rated
    parts = [_group_rows(rated, pd.Series("all", index=rated.index), "all", ["all"])]
    for group in GROUPS:
        parts.append(_group_rows(rated, level_names(rated, group), group, levels[group]))
    parts.append(_turn_rows(found))
    return pd.concat([part for part in parts if len(part)], ignore_index=True)[COLUMNS]


def _group_rows(rated: pd.DataFrame, level: pd.Series, group: str, order: list[str]) -> pd.DataFrame:
    known = rated.assign(level=level, n=1, hits=rated["event"].astype(int))
    known = known[known["level"].notna()]
    sums = known.groupby(["level", "cluster_number"], sort=False)[["n", "hits", "n_rated", "n_breakdowns"]].sum()
    return _shares(sums.reset_index(), group, [one for one in order if one in set(known["level"])])


def _turn_rows(found: Breakdowns) -> pd.DataFrame:
    import pandas as pd

    courses = found.courses
    rated = courses.rated
    frame = pd.DataFrame(
        {
            "level": courses.turn[rated],
            "cluster_number": courses.unit[courses.conversation[rated]],
            "n": 1,
            "hits": _as_int(courses.broken[rated]),
        }
    )
    sums = frame.groupby(["level", "cluster_number"]).sum().reset_index()
    sums = sums.assign(level=sums["level"].map(str), n_rated=sums["n"], n_breakdowns=sums["hits"])
    return _shares(sums, "turn", [str(turn) for turn in sorted(frame["level"].unique())])


def _as_int(values: np.ndarray) -> np.ndarray:
    return values.astype(int)


def _shares(sums: pd.DataFrame, group: str, order: list[str]) -> pd.DataFrame:
    import pandas as pd

    if not order:
        return pd.DataFrame(columns=COLUMNS)
    shares = clustered_shares(sums, ["level"], successes="hits").set_index("level")
    totals = sums.groupby("level")[["n", "hits", "n_rated", "n_breakdowns"]].sum()
    table = totals.join(shares[["share", "conf_low", "conf_high", "n_groups"]]).loc[order].reset_index()
    names = {
        "n": "n_conversations",
        "hits": "n_with_breakdown",
        "n_rated": "n_turns",
        "n_breakdowns": "n_breakdown_turns",
    }
    return table.rename(columns=names | {"n_groups": "n_participants"}).assign(group=group)


def _figures(rates: pd.DataFrame, found: Breakdowns) -> dict[str, Drawing]:
    grouped = rates[rates["group"] != "turn"]
    turns = rates[
        (rates["group"] == "turn")
        & (rates["n_conversations"] >= LEAST_CONVERSATIONS)
        & (rates["n_participants"] >= LEAST_PARTICIPANTS)
    ]
    figures = {
        NAME: Drawing(
            draw=draw_grouped_shares,
            arguments={
                "frame": grouped,
                "titles": {"all": "", **GROUPS},
                "all_label": "All conversations",
                "unit": f"Share of conversations with a breakdown ({found.short})",
            },
            alt="Share of conversations with a breakdown: "
            + ", ".join(f"{row.level} {format_percent(row.share)}" for row in grouped.itertuples())
            + ".",
        )
    }
    if len(turns):
        figures[f"{NAME}.turn"] = Drawing(
            draw=draw_turn_shares,
            arguments={
                "frame": turns.assign(turn=turns["level"].astype(int)),
                "unit": f"Share of rated turns that break down ({found.short})",
            },
            alt="Share of rated turns that are breakdowns, by turn: "
            + ", ".join(f"turn {row.level} {format_percent(row.share)}" for row in turns.itertuples())
            + ".",
        )
    return figures


def _headline(rates: pd.DataFrame, found: Breakdowns) -> str:
    first = rates.iloc[0]
    basis = f"{plural(int(first['n_turns']), 'rated turn')}, {stand_behind(found)}"
    if not first["n_with_breakdown"]:
        return f"No conversation has a breakdown ({found.short}); {basis}."
    share = with_interval(first["share"], first["conf_low"], first["conf_high"], "percent")
    sentence = (
        f"{share} of conversations break down at least once ({found.short}), on "
        f"{format_percent(first['n_breakdown_turns'] / first['n_turns'])} of rated turns"
    )
    models = rates[(rates["group"] == "model") & (rates["n_participants"] >= LEAST_PARTICIPANTS)]
    if len(models) > 1:
        low, high = models.loc[models["share"].idxmin()], models.loc[models["share"].idxmax()]
        sentence += (
            f"; by assistant model from {format_percent(low['share'])} ({low['level']}) to "
            f"{format_percent(high['share'])} ({high['level']})"
        )
    return f"{sentence}; {basis}."


def _small(rates: pd.DataFrame) -> tuple[str, ...]:
    few = rates[(rates["group"] != "turn") & (rates["group"] != "all") & (rates["n_participants"] < LEAST_PARTICIPANTS)]
    if few.empty:
        return ()
    listed = ", ".join(few["level"].head(5)) + (f" and {len(few) - 5} more" if len(few) > 5 else "")
    return (f"Fewer than five participants stand behind {listed}: no interval is given there.",)


ANALYSIS = Analysis(
    name=NAME,
    page="Breakdowns",
    position=1,
    question="How often do conversations break down, and where?",
    analyse=analyse,
    parameters=BreakdownParameters,
    tables={NAME: "Conversations with a breakdown, by task, model, desired level and turn"},
    figures={
        NAME: "Share of conversations with a breakdown",
        f"{NAME}.turn": "Share of rated turns that break down, by turn",
    },
    method=(
        "A **breakdown turn** is by default a rated turn whose outcome lies at or below 25 % of its scale (2 on 1–5); the "
        "definition stands at the top of the page. A conversation counts once, however many breakdowns it has; longer "
        "conversations have more occasions, so shares of groups of unlike length are not rates per turn: the survival "
        "curves below take that into account. The row of a turn counts the conversations rated on it; the figure by turn stops "
        "below 10 conversations or 5 participants. Conversations without a rated turn are left out. Intervals: Wilson's on "
        "the effective sample size, with the participant as the unit. Tasks are self-chosen: nothing here is causal."
    ),
    references=(
        "Wilson, E. B. (1927). Probable inference, the law of succession, and statistical inference. JASA, 22.",
    ),
)
