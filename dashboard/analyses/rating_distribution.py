"""How are ratings spread over the scale, for the overall impression and each dimension?"""

from __future__ import annotations

from typing import TYPE_CHECKING

from dashboard.analyses.findings import (
    Analysis,
    Checked,
    Claim,
    Drawing,
    Findings,
    Parameters,
    Selection,
    count_selection,
    refuse_empty,
)
from dashboard.database import Database
from dashboard.figures.levels import draw_level_shares
from dashboard.queries import run_query
from dashboard.stats.clustered import clustered_mean, clustered_share
from dashboard.vocabulary import (
    NotInThisData,
    TooLittleData,
    format_interval,
    format_number,
    format_percent,
    plural,
    with_interval,
)

if TYPE_CHECKING:
    import pandas as pd

NAME = "rating_distribution"


def analyse(database: Database, selection: Selection, parameters: Parameters) -> Findings:
    """Count levels and average ratings per outcome, with intervals that take the participant as the unit."""
    outcomes = run_query(database, "outcomes")
    if outcomes.empty:
        raise NotInThisData("turn ratings.")
    counts = count_selection(database, selection)
    refuse_empty(counts)
    chosen = selection.query_parameters()
    given = run_query(database, NAME, **chosen)
    if given.empty:
        raise TooLittleData("No turn of this selection carries a rating. Take a filter away, or reset them all.")
    means = mean_ratings(given, outcomes)
    shares = level_shares(given, outcomes)
    return Findings(
        name=NAME,
        headline=_headline(means),
        tables={NAME: shares, f"{NAME}.means": means},
        figures=_figures(shares, outcomes),
        warnings=_warnings(means),
        counts=counts,
        queries={NAME: chosen, "outcomes": {}},
    )


def mean_ratings(given: pd.DataFrame, outcomes: pd.DataFrame) -> pd.DataFrame:
    """Return one row per outcome: its mean over rated turns, SD, and the participant-clustered interval.

    Parameters
    ----------
    given
        One row per outcome, cluster and value with ``n``.
    outcomes
        One row per outcome with its label, in display order.
    """
    import numpy as np
    import pandas as pd

    rows = []
    for outcome, label in zip(outcomes["outcome"], outcomes["label"], strict=True):
        part = given[given["outcome"] == outcome]
        if part.empty:
            continue
        per_unit = part.assign(total=part["value"] * part["n"]).groupby("cluster")[["total", "n"]].sum()
        mean = clustered_mean(per_unit["total"].to_numpy(), per_unit["n"].to_numpy())
        squares = float((part["n"] * (part["value"] - mean.estimate) ** 2).sum())
        rows.append(
            {
                "outcome": outcome,
                "label": label,
                "mean": mean.estimate,
                "conf_low": mean.conf_low,
                "conf_high": mean.conf_high,
                "std_dev": np.sqrt(squares / (mean.n_observations - 1)) if mean.n_observations > 1 else np.nan,
                "n_observations": mean.n_observations,
                "n_groups": mean.n_groups,
            }
        )
    return pd.DataFrame(rows)


def level_shares(given: pd.DataFrame, outcomes: pd.DataFrame) -> pd.DataFrame:
    """Return one row per outcome and level of its scale, levels never given included: n, share, interval.

    Continuous outcomes have no levels and no rows.
    """
    import numpy as np
    import pandas as pd

    rows = []
    for scale in outcomes.itertuples():
        part = given[given["outcome"] == scale.outcome]
        if part.empty or scale.step != scale.step:
            continue
        totals = part.groupby("cluster")["n"].sum()
        for level in scale.minimum + scale.step * np.arange(int(scale.n_levels)):
            at_level = part[np.isclose(part["value"], level)].groupby("cluster")["n"].sum()
            hits = at_level.reindex(totals.index, fill_value=0)
            share = clustered_share(hits.to_numpy(), totals.to_numpy())
            rows.append(
                {
                    "outcome": scale.outcome,
                    "level": float(level),
                    "n": int(hits.sum()),
                    "share": share.estimate,
                    "conf_low": share.conf_low,
                    "conf_high": share.conf_high,
                    "n_observations": share.n_observations,
                    "n_groups": share.n_groups,
                }
            )
    columns = ["outcome", "level", "n", "share", "conf_low", "conf_high", "n_observations", "n_groups"]
    return pd.DataFrame(rows, columns=columns)


def _figures(shares: pd.DataFrame, outcomes: pd.DataFrame) -> dict[str, Drawing]:
    if shares.empty:
        return {}
    scale = outcomes.set_index("outcome").loc[shares["outcome"].iloc[0]]
    alike = outcomes[(outcomes["minimum"] == scale["minimum"]) & (outcomes["maximum"] == scale["maximum"])]
    shown = shares[shares["outcome"].isin(alike["outcome"])]
    top = float(scale["maximum"])
    best = shown[shown["level"] == top]
    return {
        NAME: Drawing(
            draw=draw_level_shares,
            arguments={
                "frame": shown,
                "row": "outcome",
                "labels": dict(zip(outcomes["outcome"], outcomes["label"], strict=True)),
                "ends": (scale["minimum_label"], scale["maximum_label"]),
            },
            alt=f"Shares of the levels {scale['minimum']:g} to {top:g} per outcome; share at {top:g}: "
            + ", ".join(f"{row.outcome} {format_percent(row.share)}" for row in best.itertuples())
            + ".",
        )
    }


def _headline(means: pd.DataFrame) -> str:
    first = means.iloc[0]
    mean = with_interval(first["mean"], first["conf_low"], first["conf_high"])
    sentence = f"{first['label']} is rated {mean} on average"
    dimensions = means[~means["outcome"].isin(["overall", "turn_mean"])]
    if len(dimensions) > 1:
        high_one = dimensions.loc[dimensions["mean"].idxmax()]
        low_one = dimensions.loc[dimensions["mean"].idxmin()]
        sentence += (
            f"; of the dimensions, {high_one['label']} is rated highest ({format_number(high_one['mean'], 'rating')}) "
            f"and {low_one['label']} lowest ({format_number(low_one['mean'], 'rating')})"
        )
    return f"{sentence}; {plural(int(first['n_observations']), 'rated turn')}."


def _warnings(means: pd.DataFrame) -> tuple[str, ...]:
    few = int(means["n_groups"].max())
    if few < 5:
        return (f"Only {plural(few, 'participant')}: fewer than five give no interval.",)
    return ()


def _very_poor(findings: Findings) -> Checked:
    shares = findings.table
    row = shares[(shares["outcome"] == "relational") & (shares["level"] == shares["level"].min())]
    if row.empty:
        raise NotInThisData("ratings of relational continuity.")
    one = row.iloc[0]
    return Checked(
        value=format_number(one["share"], "percent1"),
        interval=format_interval(one["conf_low"], one["conf_high"], "percent1"),
        basis=f"of {plural(int(one['n_observations']), 'turn')} with a rating of it",
    )


ANALYSIS = Analysis(
    name=NAME,
    page="Overview",
    position=3,
    question="How are ratings spread over the scale?",
    analyse=analyse,
    tables={
        NAME: "Share of each level, per outcome",
        f"{NAME}.means": "Mean, SD and interval per outcome",
    },
    figures={NAME: "Shares of the rating levels, per outcome"},
    method=(
        "Every turn with a number counts once; *not applicable* and blank turns drop out, so outcomes rest on "
        "different turns. Intervals of means are cluster-robust with the participant as the unit (t with "
        "participants − 1 degrees of freedom); those of shares are Wilson's on the effective sample size. `turn_mean` is the mean of the "
        "dimensions that carry a number on that turn; it is continuous and has no levels."
    ),
    references=(
        "Wilson, E. B. (1927). Probable inference, the law of succession, and statistical inference. JASA, 22.",
    ),
    claims=(
        Claim(
            claim="Relational continuity is the dimension most often rated Very poor",
            reported="2.2 %",
            source="summaries of Suh et al., arXiv 2509.16437",
            check=_very_poor,
        ),
    ),
)
