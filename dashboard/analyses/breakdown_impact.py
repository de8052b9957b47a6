"""What does a breakdown cost?"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from dashboard.analyses.breakdown_rows import (
    BreakdownParameters,
    Breakdowns,
    few_participants,
    left_out,
    read_breakdowns,
    refuse_without_breakdown,
    stand_behind,
)
from dashboard.analyses.findings import Analysis, Checked, Claim, Drawing, Findings, Selection, parameter
from dashboard.database import Database
from dashboard.figures.impact import draw_impact
from dashboard.stats.breakdown_cost import within_cost
from dashboard.stats.effect_size import effect_size
from dashboard.vocabulary import NotInThisData, TooLittleData, format_interval, format_number, format_p, plural

if TYPE_CHECKING:
    import numpy as np
    import pandas as pd

NAME = "breakdown_impact"
REPORTED = 1.142
AT_LEAST, EXACTLY, EACH = "at least one", "exactly one", "each further one"
OUTCOMES = {
    "experienced_empathy": "Experienced empathy",
    "satisfaction": "Satisfaction",
    "other_turns": "Other turns, lowest removed",
}


@dataclass(frozen=True)
class ImpactParameters(BreakdownParameters):
    """The definition, and which conversations are compared with those without a breakdown."""

    contrast: str = parameter(
        AT_LEAST,
        label="Conversations with",
        choices=(AT_LEAST, EXACTLY),
        help="How many breakdowns a conversation has that is compared with those without any.",
    )


def analyse(database: Database, selection: Selection, parameters: ImpactParameters) -> Findings:
    """Compare conversations with and without a breakdown, within persons and over all."""
    found = read_breakdowns(database, selection, parameters)
    refuse_without_breakdown(found)
    if found.rated["event"].all():
        raise TooLittleData(
            f"Every one of {plural(len(found.rated), 'conversation')} has a breakdown ({found.short}): there is none to compare with. "
            "Take a filter away, or choose another definition at the top of the page."
        )
    values = outcome_values(found)
    if not values:
        raise NotInThisData(
            "what a breakdown could have cost: no answer after a conversation, and no conversation with a second rated turn."
        )
    effects = effect_rows(found, values)
    within = within_rows(found, values)
    main = effects[effects["contrast"] == parameters.contrast].reset_index(drop=True)
    headline = _headline(main, within[within["contrast"] == parameters.contrast], found)
    figures = _figures(main, within[within["contrast"] == parameters.contrast], found, headline, parameters.contrast)
    return Findings(
        name=NAME,
        headline=headline,
        tables={NAME: main, f"{NAME}.within": within, f"{NAME}.contrasts": effects},
        figures=figures,
        warnings=(*few_participants(found), *_warnings(main, within)),
        notes=(*left_out(found), f"{found.words}.", *_notes(within)),
        counts=found.counts,
        queries={"breakdown_turns": found.chosen},
    )


def outcome_values(found: Breakdowns) -> dict[str, np.ndarray]:
    """Return what may be lower after a breakdown, one value per conversation with a rated turn; outcomes without any are left out."""
    rated = found.rated
    values = {name: rated[name].to_numpy(dtype=float) for name in ("experienced_empathy", "satisfaction")}
    values["other_turns"] = other_turns(found)[rated.index.to_numpy()]
    return {name: one for name, one in values.items() if (one == one).any()}


def other_turns(found: Breakdowns) -> np.ndarray:
    """Return each conversation's mean rating without its lowest rated turn; NaN with fewer than two.

    One lowest turn is removed from every conversation, broken or not: removing the breakdown alone would leave the others' worst.
    """
    import numpy as np

    courses, n = found.courses, found.courses.n_conversations
    rated = courses.rated
    codes, value = courses.conversation[rated], courses.value[rated]
    count, total = np.bincount(codes, minlength=n), np.bincount(codes, weights=value, minlength=n)
    lowest = np.full(n, np.inf)
    np.minimum.at(lowest, codes, value)
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.where(count >= 2, (total - lowest) / (count - 1), np.nan)


def effect_rows(found: Breakdowns, values: dict[str, np.ndarray]) -> pd.DataFrame:
    """Return Cohen's d and Hedges' g per contrast and outcome."""
    import dataclasses

    import pandas as pd

    rated = found.rated
    n_breakdowns, unit = rated["n_breakdowns"].to_numpy(), rated["cluster_number"].to_numpy()
    rows = []
    for contrast in (AT_LEAST, EXACTLY):
        kept = n_breakdowns <= (1 if contrast == EXACTLY else n_breakdowns.max())
        for name, value in values.items():
            effect = effect_size(value[kept], n_breakdowns[kept] > 0, unit[kept])
            rows.append({"outcome": name, "contrast": contrast} | dataclasses.asdict(effect))
    first = ["outcome", "estimate", "hedges_g", "conf_low", "conf_high", "n_with", "n_without", "contrast"]
    table = pd.DataFrame(rows)
    return table[[*first, *(name for name in table.columns if name not in first)]]


def within_rows(found: Breakdowns, values: dict[str, np.ndarray]) -> pd.DataFrame:
    """Return the cost within persons per outcome and contrast, turns rated held fixed; empty without participants."""
    import pandas as pd

    from dashboard.stats.marginal_means import holm

    columns = ["outcome", "contrast", "estimate", "std_error", "df", "statistic", "p_value", "p_adjusted", "conf_low", "conf_high", "standardised", "total_std_dev", "n_observations", "n_groups", "n_varying", "note"]  # fmt: skip
    if found.counts.participants is None:
        return pd.DataFrame(columns=columns)
    rated = found.rated
    n_breakdowns, unit = rated["n_breakdowns"].to_numpy(), rated["cluster_number"].to_numpy()
    n_rated = rated["n_rated"].to_numpy()
    rows: list[dict[str, Any]] = []
    for contrast in (AT_LEAST, EXACTLY, EACH):
        kept = n_breakdowns <= (1 if contrast == EXACTLY else n_breakdowns.max())
        exposure = n_breakdowns if contrast == EACH else n_breakdowns > 0
        for name, value in values.items():
            row, reason = within_cost(value[kept], exposure[kept], unit[kept], adjust=n_rated[kept])
            rows.append({"outcome": name, "contrast": contrast} | row | {"note": reason})
    table = pd.DataFrame(rows).reindex(columns=columns)
    headline = table["contrast"] == AT_LEAST
    table.loc[headline, "p_adjusted"] = holm(table.loc[headline, "p_value"].to_numpy(dtype=float))
    return table


def _figures(
    main: pd.DataFrame, within: pd.DataFrame, found: Breakdowns, headline: str, contrast: str
) -> dict[str, Drawing]:
    import pandas as pd

    over = main.assign(series="over", n=main["n_with"] + main["n_without"])
    person = within.assign(
        series="within",
        n=within["n_observations"],
        conf_low=within["conf_low"] / within["total_std_dev"],
        conf_high=within["conf_high"] / within["total_std_dev"],
        estimate=within["standardised"],
    )
    columns = ["outcome", "series", "estimate", "conf_low", "conf_high", "n"]
    parts = [part[columns] for part in (person, over) if part["estimate"].notna().any()]
    if not parts:
        return {}
    frame = pd.concat(parts, ignore_index=True)
    names = {"within": "Within a person, standardised", "over": "Over all conversations, Cohen's d"}
    return {
        NAME: Drawing(
            draw=draw_impact,
            arguments={
                "frame": frame.assign(outcome=frame["outcome"].map(OUTCOMES)),
                "series_labels": {key: label for key, label in names.items() if key in set(frame["series"])},
                "reported": REPORTED,
                "unit": f"Cost of {contrast} breakdown ({found.short}), in standard deviations",
            },
            alt=headline,
        )
    }


def _headline(main: pd.DataFrame, within: pd.DataFrame, found: Breakdowns) -> str:
    first = main.iloc[0]
    label = OUTCOMES[first["outcome"]].lower()
    person = within[within["outcome"] == first["outcome"]]
    basis = stand_behind(found)
    d = f"d = {format_number(first['estimate'], 'rating')}".replace("-", "−")
    interval = format_interval(first["conf_low"], first["conf_high"])
    d += f" (95 % interval {interval})" if interval else ""
    beside = f"over all conversations {d}, with {first['n_with']:,} against {first['n_without']:,} without; reported 1.142, its contrast not stated"
    if first["estimate"] != first["estimate"]:
        beside = "over all conversations too few or too alike for Cohen's d"
    if person.empty or person["estimate"].isna().all():
        return f"Conversations with a breakdown ({found.short}) against those without, {label}: {beside}; {basis}."
    row = person.iloc[0]
    low, high = row["conf_low"], row["conf_high"]
    size = f"{format_number(abs(row['estimate']), 'rating')} points (95 % interval {_range(low, high)}, {format_p(row['p_value'])})"
    if low > 0 or high < 0:
        word = "lower" if row["estimate"] > 0 else "higher"
        lead = f"In a person's conversations with a breakdown ({found.short}) {label} is {size} {word} than in their others"
    else:
        lead = (
            f"Within a person {label} does not clearly differ between conversations with and without a breakdown ({found.short}): "
            f"a cost of {size.replace(format_number(abs(row['estimate']), 'rating'), format_number(row['estimate'], 'rating'), 1)}"
        )
    return f"{lead}, turns rated held fixed; {beside}; {basis}."


def _range(low: float, high: float) -> str:
    """Return an interval of a cost, lowest first; ``to`` where a sign would run into the dash."""
    ends = [format_number(one, "rating").replace("-", "−") for one in sorted((low, high))]
    return f"{ends[0]} to {ends[1]}"


def _warnings(main: pd.DataFrame, within: pd.DataFrame) -> list[str]:
    warnings = []
    small = main[(main["n_with"] < 10) | (main["n_without"] < 10)]
    if len(small):
        row = small.iloc[0]
        warnings.append(
            f"{plural(int(row['n_with']), 'conversation')} with a breakdown and {int(row['n_without']):,} without: few on one side, the "
            "interval is wide."
        )
    reasons = within.loc[(within["note"] != "") & (within["contrast"] == AT_LEAST), "note"]
    return [*warnings, *dict.fromkeys(reasons)]


def _notes(within: pd.DataFrame) -> list[str]:
    notes = [
        "Conversations with a breakdown are rated low on a turn by definition; survey answers and turn ratings come from the same person, "
        "so that a general mood lowers both. An association, no effect of the breakdown."
    ]
    for row in within[within["contrast"] == EACH].itertuples():
        if row.estimate == row.estimate:
            points = format_number(row.estimate, "rating").replace("-", "−")
            notes.append(
                f"{OUTCOMES[row.outcome]}: each further breakdown costs {points} points within a person "
                f"(95 % interval {_range(row.conf_low, row.conf_high)})."
            )
    return notes


def _cost(findings: Findings) -> Checked:
    row = findings.table[findings.table["outcome"] == "experienced_empathy"]
    if row.empty or row["estimate"].isna().all():
        raise NotInThisData("experienced empathy of conversations with and without a low turn.")
    one = row.iloc[0]
    return Checked(
        value=format_number(one["estimate"], "rating"),
        interval=format_interval(one["conf_low"], one["conf_high"]),
        basis=f"experienced empathy, {one['n_with']:,} conversations with a low turn against {one['n_without']:,} without",
    )


ANALYSIS = Analysis(
    name=NAME,
    page="Breakdowns",
    position=6,
    question="What does a breakdown cost?",
    analyse=analyse,
    parameters=ImpactParameters,
    tables={
        NAME: "Cohen's d and Hedges' g, conversations without against with a breakdown",
        f"{NAME}.within": "The cost within persons, turns rated held fixed",
        f"{NAME}.contrasts": "d and g for at least one and for exactly one breakdown",
    },
    figures={NAME: "The cost of a breakdown, within persons and over all conversations"},
    method=(
        "**Main estimate**: y ~ (breakdown − person's mean) + person's mean + turns rated + (1 | participant), REML, Satterthwaite; "
        "it compares a person's conversations with that person's others, in points; the figure divides it by the total SD of "
        "y ~ breakdown + (1 | participant). **Cohen's d** = (mean without − mean with)/pooled SD over conversations, positive = cost; it mixes "
        "differences within and between people. **Hedges' g** = d·(1 − 3/(4(n₁ + n₂ − 2) − 1)). Intervals of d: bootstrap of whole "
        "participants, 2,000 draws, percentile, seeded. **Other turns**: mean rating with the lowest turn removed in *both* groups, "
        "conversations of at least two rated turns. Three outcomes are tested, Holm-adjusted in the table. The published d = 1.142 is quoted as "
        "reported: which contrast it is of is not stated. Nothing here is causal."
    ),
    references=(
        "Hedges, L. V. (1981). Distribution theory for Glass's estimator of effect size. Journal of Educational Statistics, 6.",
        "Cohen, J. (1988). Statistical power analysis for the behavioral sciences (2nd ed.).",
    ),
    claims=(
        Claim(
            claim="One poor turn lowers overall perceived empathy (Cohen's d; the contrast is not stated)",
            reported="1.142",
            source="summaries of Suh et al., arXiv 2509.16437",
            check=_cost,
        ),
    ),
)
