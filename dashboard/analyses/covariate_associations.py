"""Do ways of rating go with who the participants are?"""

from __future__ import annotations

from typing import TYPE_CHECKING

from dashboard.analyses.findings import (
    Analysis,
    Drawing,
    Findings,
    OutcomeParameters,
    Selection,
    choose_outcome,
    count_selection,
    refuse_empty,
)
from dashboard.analyses.participant_ratings import refuse_without_participants, with_shrunken_means
from dashboard.database import Database
from dashboard.figures.matrix import draw_matrix
from dashboard.queries import run_query
from dashboard.stats.pingouin_adapter import Association, holm, kruskal_wallis, spearman
from dashboard.vocabulary import NotInThisData, TooLittleData, format_number, format_p, plural

if TYPE_CHECKING:
    import pandas as pd

NAME = "covariate_associations"
STYLES = {
    "shrunken_mean": "Shrunken mean",
    "std_dev": "SD",
    "relative_std_dev": "Relative SD",
    "entropy": "Entropy",
    "share_extreme": "Extremes",
    "rmssd": "RMSSD",
    "inertia": "Inertia",
}
# A covariate in words with more levels than this is a name or a remark, not a group.
MOST_LEVELS = 12


def analyse(database: Database, selection: Selection, parameters: OutcomeParameters) -> Findings:
    """Hold each index of a person's ratings against each covariate."""
    outcome = choose_outcome(database, parameters.outcome)
    refuse_without_participants(database)
    counts = count_selection(database, selection)
    refuse_empty(counts)
    covariates = run_query(database, "participant_covariates")
    if covariates.empty:
        raise NotInThisData("covariates of participants (a sheet with one row per participant).")
    chosen = selection.query_parameters() | {"outcome": outcome}
    people = run_query(database, "participant_ratings", **chosen)
    people, _ = with_shrunken_means(people, run_query(database, "rating_sums", **chosen))
    people = people[people["n_turns"] > 0]
    table = association_rows(people, covariates)
    if table.empty or table["p_value"].isna().all():
        raise TooLittleData(
            "No covariate varies over five or more participants of this selection. Take a filter away, or reset them all."
        )
    headline = _headline(table)
    return Findings(
        name=NAME,
        headline=f"{headline}; {plural(len(people), 'participant')}.",
        tables={NAME: table},
        figures=_figures(table, headline),
        warnings=(
            f"Exploratory: {plural(int(table['p_value'].notna().sum()), 'comparison')}, none planned; p is adjusted by Holm's "
            "method over all of them.",
        ),
        counts=counts,
        queries={"participant_ratings": chosen, "participant_covariates": {}},
    )


def association_rows(people: pd.DataFrame, covariates: pd.DataFrame) -> pd.DataFrame:
    """Return one row per index and covariate: rank correlation, or ε² between groups for a covariate in words."""
    import pandas as pd

    rows = []
    for covariate, part in covariates.groupby("covariate", sort=False):
        by_person = people.merge(part, on="participant", how="inner")
        is_number = bool(part["number"].notna().all())
        if not is_number and not 2 <= part["text"].nunique() <= MOST_LEVELS:
            continue
        for index in STYLES:
            values = by_person[index].to_numpy(dtype=float)
            found = (
                spearman(values, by_person["number"].to_numpy(dtype=float))
                if is_number
                else kruskal_wallis(values, by_person["text"].to_numpy(dtype=object))
            )
            rows.append(_row(index, str(covariate), found))
    columns = ["index", "covariate", "estimate", "conf_low", "conf_high", "p_value", "n_observations", "method"]
    frame = pd.DataFrame(rows, columns=columns)
    frame.insert(6, "p_adjusted", holm(frame["p_value"].to_numpy()))
    return frame


def _row(index: str, covariate: str, found: Association) -> tuple[object, ...]:
    method = "Spearman’s correlation" if found.method == "Spearman" else "ε² of Kruskal–Wallis"
    ends = (found.conf_low, found.conf_high, found.p_value)
    return (index, covariate, found.estimate, *ends, found.n_observations, method)


def _headline(table: pd.DataFrame) -> str:
    known = table[table["p_value"].notna()]
    best = known.loc[known["p_value"].idxmin()]
    what = f"{STYLES[best['index']]} with {best['covariate'].replace('_', ' ')}"
    numbers = f"{best['method']} {format_number(best['estimate'], 'rating').replace('-', '−')}, {format_p(best['p_adjusted'])} adjusted"
    clear = int((known["p_adjusted"] < 0.05).sum())
    if clear:
        return f"Of {len(known)} comparisons, {clear} {'stands' if clear == 1 else 'stand'} out after adjustment, first {what} ({numbers})"
    return f"None of {len(known)} comparisons stands out after adjustment; the nearest is {what} ({numbers})"


def _figures(table: pd.DataFrame, headline: str) -> dict[str, Drawing]:
    known = table.assign(across=table["index"].map(STYLES), strength=table["estimate"].abs())
    labels = {name: name.replace("_", " ").capitalize() for name in known["covariate"]}
    return {
        NAME: Drawing(
            draw=draw_matrix,
            arguments={
                "frame": known,
                "row": "covariate",
                "across": "across",
                "value": "strength",
                "count": "n_observations",
                "row_labels": labels,
                "across_title": "Strength: |correlation|, or ε² between groups",
                "unit": "Strength",
                "percent": False,
            },
            alt=f"Strength of each association of a rating index with a participant's covariate. {headline}.",
        )
    }


ANALYSIS = Analysis(
    name=NAME,
    page="Variability",
    position=10,
    question="Do ways of rating go with who people are?",
    analyse=analyse,
    parameters=OutcomeParameters,
    tables={NAME: "Each index against each covariate, with Holm-adjusted p"},
    figures={NAME: "Strength of each association"},
    method=(
        "One value per participant. Numbers: Spearman's correlation with the interval of Bonett and Wright. Words with up to "
        f"{MOST_LEVELS} levels: ε² = H/(n − 1) and p of Kruskal–Wallis over levels of at least two people. p is adjusted by Holm's "
        "method over all comparisons shown. Exploratory: nothing here was planned, and indices that are unreliable for single "
        "people weaken every association."
    ),
    references=(
        "Bonett, D. G., & Wright, T. A. (2000). Sample size requirements for estimating Pearson, Kendall and Spearman "
        "correlations. Psychometrika, 65.",
        "Holm, S. (1979). A simple sequentially rejective multiple test procedure. Scandinavian Journal of Statistics, 6.",
    ),
)
