"""How much of a rating is the person, the conversation, the turn?"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from dashboard.analyses.findings import (
    Analysis,
    Counts,
    Drawing,
    Findings,
    OutcomeParameters,
    Selection,
    choose_outcome,
    count_selection,
    describe_counts,
    parameter,
    refuse_empty,
)
from dashboard.analyses.participant_ratings import refuse_without_participants
from dashboard.analyses.rated_turns import outcome_sums, read_turns
from dashboard.database import Database
from dashboard.figures.shares import draw_components
from dashboard.queries import run_query
from dashboard.stats.bootstrap import N_BOOT, percentile_interval
from dashboard.stats.progress import tell
from dashboard.stats.spread import OneWay, brown_forsythe, one_way, one_way_of
from dashboard.stats.variance_bootstrap import bootstrap_shares
from dashboard.stats.variance_components import (
    COMPONENTS,
    Components,
    ConversationSums,
    conversation_sums,
    fit_components,
)
from dashboard.stats.variance_profile import profile_share
from dashboard.vocabulary import TooLittleData, format_interval, format_p, format_percent, plural

if TYPE_CHECKING:
    import pandas as pd

NAME = "variance_components"
FIXED = {"task": "task_number", "model": "model_number"}
LEAST_TURNS = 4
PROFILE, BOOTSTRAP = "profile", "bootstrap"


@dataclass(frozen=True)
class ComponentParameters(OutcomeParameters):
    """Which intervals the shares have."""

    intervals: str = parameter(
        PROFILE,
        label="Intervals",
        help="Profile intervals take components to be normal; the bootstrap of whole participants does not, and takes long.",
        choices=(PROFILE, BOOTSTRAP),
        more=True,
    )
    n_boot: int = parameter(
        N_BOOT, label="Bootstrap samples", help="Samples of whole participants.", minimum=50, maximum=20_000, more=True
    )


def analyse(database: Database, selection: Selection, parameters: ComponentParameters) -> Findings:
    """Divide the variance of every outcome, with and without task and model fixed."""
    first = choose_outcome(database, parameters.outcome)
    refuse_without_participants(database)
    counts = count_selection(database, selection)
    refuse_empty(counts)
    chosen = selection.query_parameters()
    outcomes = run_query(database, "outcomes")
    parts = outcome_sums(run_query(database, "rating_sums", **chosen), outcomes, first)
    if not parts:
        raise TooLittleData("No turn of this selection carries a rating. Take a filter away, or reset them all.")
    if first not in parts:
        raise TooLittleData("No turn of this selection carries this rating. Take a filter away, or reset them all.")
    sums = {name: conversation_sums(part, participant="participant_number") for name, part in parts.items()}
    fits = {name: fit_components(one) for name, one in sums.items()}
    components = component_rows(fits, _ends(fits, sums, parameters))
    labels = dict(zip(outcomes["outcome"], outcomes["label"], strict=True))
    scale = outcomes.set_index("outcome").loc[first]
    companions = _companions(database, chosen | {"outcome": first}, scale, parts[first])
    fixed = [name for name, column in FIXED.items() if parts[first][column].nunique() > 1]
    tables = {NAME: components, f"{NAME}.companions": companions}
    if fixed:
        tables[f"{NAME}.adjusted"] = adjusted_rows(fits, _adjusted(parts, fixed))
    headline = _headline(components, fits[first], labels[first])
    one = parts[first]
    seen = Counts(int(one["participant_number"].nunique()), len(one), int(one["n"].sum()))
    return Findings(
        name=NAME,
        headline=f"{headline}; {describe_counts(seen)}.",
        tables=tables,
        figures=_figures(components, labels, headline),
        warnings=_warnings(fits, labels),
        notes=_notes(companions, tables.get(f"{NAME}.adjusted"), first, fixed),
        counts=counts,
        queries={"rating_sums": chosen, "rated_turns": chosen | {"outcome": first}},
    )


def _adjusted(parts: dict[str, pd.DataFrame], fixed: list[str]) -> dict[str, Components]:
    """Fit every outcome with factors held fixed."""
    factors = tuple(FIXED[name] for name in fixed)
    found = {}
    for place, (name, part) in enumerate(parts.items()):
        tell("components with task and model fixed", place, len(parts))
        found[name] = fit_components(conversation_sums(part, participant="participant_number", factors=factors))
    return found


def _ends(
    fits: dict[str, Components], sums: dict[str, ConversationSums], parameters: ComponentParameters
) -> dict[str, list[tuple[float, float]]]:
    """Return the interval of each component's share by outcome, in the order of ``COMPONENTS``."""
    if parameters.intervals == PROFILE:
        return {name: [profile_share(fitted, one) for one in COMPONENTS] for name, fitted in fits.items()}
    found = {}
    for place, (name, fitted) in enumerate(fits.items(), start=1):
        what = f"bootstrap of outcome {place} of {len(fits)}"
        draws = bootstrap_shares(fitted, sums[name], n_boot=parameters.n_boot, what=what)
        found[name] = [percentile_interval(column, n_groups=fitted.n_participants) for column in draws.T]
    return found


def component_rows(fits: dict[str, Components], ends: dict[str, list[tuple[float, float]]]) -> pd.DataFrame:
    """Return one row per outcome and component: variance, share, the share's interval, and n."""
    import pandas as pd

    rows: list[dict[str, Any]] = []
    for outcome, fitted in fits.items():
        for component, (low, high) in zip(COMPONENTS, ends[outcome], strict=True):
            rows.append(
                {
                    "outcome": outcome,
                    "component": component,
                    "variance": getattr(fitted, component),
                    "share": fitted.share(component) if fitted.fit is not None else math.nan,
                    "conf_low": low,
                    "conf_high": high,
                    "n_observations": fitted.n_observations,
                    "n_conversations": fitted.n_conversations,
                    "n_participants": fitted.n_participants,
                }
            )
    return pd.DataFrame(rows)


def adjusted_rows(fits: dict[str, Components], adjusted: dict[str, Components]) -> pd.DataFrame:
    """Return one row per outcome and component with task and model fixed, beside the variance without."""
    import pandas as pd

    rows = []
    for outcome, fitted in adjusted.items():
        for component in COMPONENTS:
            plain = getattr(fits[outcome], component)
            variance = getattr(fitted, component)
            rows.append(
                {
                    "outcome": outcome,
                    "component": component,
                    "variance": variance,
                    "share": fitted.share(component) if fitted.fit is not None else math.nan,
                    "variance_unadjusted": plain,
                    "change": variance / plain - 1 if plain > 0 else math.nan,
                }
            )
    return pd.DataFrame(rows)


def _companions(database: Database, chosen: dict[str, Any], scale: pd.Series, sums: pd.DataFrame) -> pd.DataFrame:
    """Return textbook companions, which take turns or conversations as independent."""
    import pandas as pd

    person = sums.groupby("participant_number")[["total", "n", "sum_squares"]].sum()
    simple = one_way(*(person[name].to_numpy() for name in ("total", "n", "sum_squares")))
    turns, _ = read_turns(database, chosen, scale)
    equal = brown_forsythe(turns.value, turns.unit)
    long = sums[sums["n"] >= LEAST_TURNS]
    spreads = one_way_of(long["std_dev"].to_numpy(), pd.factorize(long["participant_number"])[0]) if len(long) else None
    rows = [
        _companion("icc1", simple.icc1, simple, "ICC(1), one-way, turns as independent"),
        _companion("brown_forsythe", equal.statistic, equal, "equal spread of participants, turns as independent"),
    ]
    if spreads is not None:
        method = f"ICC(1) of the SDs of conversations with at least {LEAST_TURNS} turns, conversations as independent"
        rows.append(_companion("icc_of_conversation_sds", spreads.icc1, spreads, method))
    return pd.DataFrame(rows)


def _companion(measure: str, estimate: float, test: OneWay, method: str) -> dict[str, Any]:
    return {
        "measure": measure,
        "estimate": estimate,
        "df1": test.df1,
        "df2": test.df2,
        "p_value": test.p_value,
        "n_observations": test.n_observations,
        "n_groups": test.n_groups,
        "method": method,
    }


def _headline(components: pd.DataFrame, fitted: Components, label: str) -> str:
    if fitted.fit is None:
        return (
            f"The variance of {label} cannot be divided: {fitted.problem[:1].lower()}{fitted.problem[1:].rstrip('.')}"
        )
    first = components.iloc[:3].set_index("component")
    person = first.loc["participant"]
    ends = format_interval(person["conf_low"], person["conf_high"], "percent")
    interval = f"95 % interval {ends}" if ends else "no interval from so few people"
    lead = f"{format_percent(person['share'])} of the variance of {label} lies between participants ({interval})"
    rest = (
        f"{format_percent(first.loc['conversation', 'share'])} between their conversations, "
        f"{format_percent(first.loc['turn', 'share'])} from turn to turn"
    )
    if person["conf_low"] <= 0.01:
        lead = (
            f"Hardly any variance of {label} lies between participants ({format_percent(person['share'])}, {interval})"
        )
    return f"{lead}, {rest}"


def _figures(components: pd.DataFrame, labels: dict[str, str], headline: str) -> dict[str, Drawing]:
    shown = components[components["share"].notna()]
    if shown.empty:
        return {}
    return {
        NAME: Drawing(
            draw=draw_components,
            arguments={"frame": shown, "labels": labels, "components": COMPONENTS},
            alt=f"Stacked bars: how the variance of each outcome divides into participant, conversation and turn. {headline}.",
        )
    }


def _warnings(fits: dict[str, Components], labels: dict[str, str]) -> tuple[str, ...]:
    warnings = [f"{labels[name]}: no components. {fitted.problem}" for name, fitted in fits.items() if fitted.problem]
    few = [labels[name] for name, fitted in fits.items() if fitted.fit is not None and fitted.n_participants < 20]
    if few:
        n = min(fitted.n_participants for fitted in fits.values() if fitted.fit is not None)
        warnings.append(
            f"{plural(n, 'participant')} tell little about the variance between participants: the intervals are wide."
        )
    return tuple(warnings)


def _notes(companions: pd.DataFrame, adjusted: pd.DataFrame | None, first: str, fixed: list[str]) -> tuple[str, ...]:
    by_name = companions.set_index("measure")
    notes = []
    simple = by_name.loc["icc1", "estimate"]
    if simple == simple:
        notes.append(
            f"ICC(1) of turns within participants, conversations ignored, is {simple:.2f}: larger than the participant's share, "
            "since it counts what turns of one conversation have in common."
        )
    equal = by_name.loc["brown_forsythe"]
    if equal["p_value"] == equal["p_value"]:
        notes.append(
            f"Brown–Forsythe, turns as independent: F({equal['df1']:.0f}, {equal['df2']:,.0f}) = {equal['estimate']:.2f}, "
            f"{format_p(equal['p_value'])}. Descriptive: on a bounded scale the spread depends on the mean."
        )
    if (
        "icc_of_conversation_sds" in by_name.index
        and by_name.loc["icc_of_conversation_sds", "estimate"] == by_name.loc["icc_of_conversation_sds", "estimate"]
    ):
        notes.append(
            f"ICC(1) of the SDs of conversations with at least {LEAST_TURNS} turns: "
            f"{by_name.loc['icc_of_conversation_sds', 'estimate']:.2f}. Near 0, how much a person varies is not a trait."
        )
    if adjusted is not None:
        row = adjusted[(adjusted["outcome"] == first) & (adjusted["component"] == "conversation")].iloc[0]
        if row["change"] == row["change"]:
            notes.append(
                f"With {' and '.join(fixed)} fixed, the variance between conversations changes by {100 * row['change']:+.0f} %."
            )
    return tuple(notes)


ANALYSIS = Analysis(
    name=NAME,
    page="Variability",
    position=5,
    question="How much of a rating is the person?",
    analyse=analyse,
    parameters=ComponentParameters,
    tables={
        NAME: "Variance between participants, conversations and turns, per outcome",
        f"{NAME}.adjusted": "The same with task and model fixed",
        f"{NAME}.companions": "Textbook companions: ICC(1), Brown–Forsythe, ICC of conversation SDs",
    },
    figures={NAME: "How the variance of each outcome divides"},
    method=(
        "A mixed model with intercepts of participant and of conversation within participant, fitted by REML; the turn is the "
        "residual, measurement error included. Shares are of the sum of the three. The participant's share is the "
        "correlation of two ratings of one person in different conversations; participant and conversation together are "
        "that of two turns of one conversation. Intervals are **profile intervals** of the share: where the deviance, "
        "minimised over how the rest divides, rises by 3.84; or, on demand, percentiles of a seeded **bootstrap** of whole "
        "participants, which does not take the components to be normal. Outcomes rest on the turns on which each is rated, "
        "and not being applicable is not random. *With task and model fixed* is a second table. ICC(1), "
        "Brown–Forsythe and the ICC of conversation SDs take turns or conversations as independent; they are companions, not "
        "the answer. Ratings are ordinal and treated as interval; tasks are self-chosen."
    ),
    references=(
        "Bates, D., Mächler, M., Bolker, B., & Walker, S. (2015). Fitting linear mixed-effects models using lme4. Journal of "
        "Statistical Software, 67(1).",
        "Brown, M. B., & Forsythe, A. B. (1974). Robust tests for the equality of variances. JASA, 69.",
    ),
)
