"""What the analyses of expectations share: scales by what they measure, conversations, and means by group."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from dashboard.analyses.findings import Selection
from dashboard.database import Database
from dashboard.queries import run_query
from dashboard.stats.clustered import MINIMUM_CLUSTERS, clustered_mean, clustered_share
from dashboard.stats.pomp import Scale
from dashboard.vocabulary import NotInThisData, plural

if TYPE_CHECKING:
    import pandas as pd

WHAT = {
    "desired_empathy": "desired empathy, asked before the conversation.",
    "experienced_empathy": "experienced empathy, asked after the conversation.",
    "satisfaction": "satisfaction, asked after the conversation.",
    "importance": "the importance of empathy, asked before the conversation.",
}
FEW_CONVERSATIONS = 10
CHOICE_NOTE = "Tasks are chosen by the participants themselves: differences between tasks are not effects of tasks."
ORDINAL_NOTE = "Answers are ordinal and treated as interval; the ordinal check of the page Mixed models stands beside."


@dataclass(frozen=True)
class ScoreScale:
    """The scale of a conversation score, and the items that it averages.

    Attributes
    ----------
    minimum, maximum, step
        Of the items; ``step`` is NaN for continuous ones.
    ends
        Wording of the ends, None where unknown.
    items
        Labels by item, in display order.
    """

    minimum: float
    maximum: float
    step: float
    ends: tuple[str | None, str | None]
    items: dict[str, str]

    @property
    def scale(self) -> Scale:
        """Its ends."""
        return Scale(self.minimum, self.maximum)

    @property
    def range_text(self) -> str:
        """``1 Minimal empathy to 3 High empathy``."""
        low, high = (f" {word}" if word else "" for word in self.ends)
        return f"{self.minimum:g}{low} to {self.maximum:g}{high}"

    def name(self, level: float) -> str:
        """``1 Minimal empathy`` at the ends of the scale, the number alone between."""
        word = self.ends[0] if level == self.minimum else self.ends[1] if level == self.maximum else None
        return f"{level:g} {word}" if word else f"{level:g}"

    def levels(self) -> list[float]:
        """Return every level of the scale, lowest first; empty for a continuous scale."""
        if self.step != self.step or self.step <= 0:
            return []
        return [
            self.minimum + index * self.step for index in range(round((self.maximum - self.minimum) / self.step) + 1)
        ]


def score_scale(database: Database, score: str) -> ScoreScale:
    """Return the scale of a conversation score.

    Raises
    ------
    NotInThisData
        When no item of the data counts towards it, or none was ever answered.
    """
    measures = run_query(database, "measures")
    items = measures[(measures["score"] == score) & (measures["kind"] != "rating")]
    if items.empty or not items["n_rated"].sum():
        raise NotInThisData(WHAT[score])
    first = items.iloc[0]
    return ScoreScale(
        minimum=float(items["minimum"].min()),
        maximum=float(items["maximum"].max()),
        step=float(first["step"]),
        ends=(_text(first["minimum_label"]), _text(first["maximum_label"])),
        items={
            str(name): short_label(str(label)) for name, label in zip(items["measure"], items["label"], strict=True)
        },
    )


def _text(value: object) -> str | None:
    return value if isinstance(value, str) and value else None


def short_label(label: str) -> str:
    """Return an item's label without ``(after)``, which every item here would bear."""
    return label.removesuffix(" (after)")


def require_tasks(database: Database) -> None:
    """Refuse data that does not say what its conversations were about.

    Raises
    ------
    NotInThisData
    """
    levels = run_query(database, "selection_levels")
    if not (levels["filter"] == "task").any():
        raise NotInThisData("the task of a conversation.")


def read_conversations(database: Database, selection: Selection) -> pd.DataFrame:
    """Return one row per conversation with desired and experienced empathy, either of which may be missing."""
    return run_query(database, "expectation_gap", **selection.query_parameters())


def knows_participants(database: Database) -> bool:
    """Return whether the source knows who took part in which conversation."""
    return database.manifest["counts"].get("participants") is not None


def means_by(frame: pd.DataFrame, by: Sequence[str], value: str, *, participants: bool = True) -> pd.DataFrame:
    """Return the mean over conversations per group, with the interval that takes the participant as the unit.

    Parameters
    ----------
    frame
        One row per conversation: ``by``, ``cluster``, ``value``; rows without a value are left out.
    by
        Grouping columns; groups are sorted.
    value
        What to average.
    participants
        Whether clusters are participants; else ``n_participants`` is NaN.

    Returns
    -------
    pandas.DataFrame
        ``by``, n_conversations, n_participants, mean, conf_low, conf_high.
    """
    import numpy as np
    import pandas as pd

    rows = []
    for key, part in frame[frame[value].notna()].groupby(list(by), sort=True):
        sums = part.groupby("cluster")[value].agg(["sum", "count"])
        found = clustered_mean(sums["sum"].to_numpy(), sums["count"].to_numpy())
        rows.append(
            dict(zip(by, key, strict=True))
            | {
                "n_conversations": found.n_observations,
                "n_participants": found.n_groups if participants else np.nan,
                "mean": found.estimate,
                "conf_low": found.conf_low,
                "conf_high": found.conf_high,
            }
        )
    columns = [*by, "n_conversations", "n_participants", "mean", "conf_low", "conf_high"]
    return pd.DataFrame(rows, columns=columns)


def shares_by(frame: pd.DataFrame, by: str, value: str, levels: Sequence[float]) -> pd.DataFrame:
    """Return the share of each level per group, levels never given included.

    Returns
    -------
    pandas.DataFrame
        ``by``, level, n, share, conf_low, conf_high, n_conversations; groups sorted.
    """
    import numpy as np
    import pandas as pd

    rows = []
    for group, part in frame[frame[value].notna()].groupby(by, sort=True):
        totals = part.groupby("cluster").size()
        for level in levels:
            at_level = part[np.isclose(part[value], level)].groupby("cluster").size()
            hits = at_level.reindex(totals.index, fill_value=0)
            share = clustered_share(hits.to_numpy(), totals.to_numpy())
            rows.append((group, level, int(hits.sum()), share.estimate, share.conf_low, share.conf_high, len(part)))
    columns = [by, "level", "n", "share", "conf_low", "conf_high", "n_conversations"]
    return pd.DataFrame(rows, columns=columns)


def few_warnings(means: pd.DataFrame, by: str = "task") -> tuple[str, ...]:
    """Return what small groups mean for the answer: no interval below five participants, wide ones below ten."""
    bare = [row for row in means.itertuples() if row.conf_low != row.conf_low]
    wide = [
        row for row in means.itertuples() if row.conf_low == row.conf_low and row.n_conversations < FEW_CONVERSATIONS
    ]
    found = []
    if bare:
        listed = _listed([f"{getattr(row, by)} ({plural(int(row.n_conversations), 'conversation')})" for row in bare])
        found.append(f"Fewer than {MINIMUM_CLUSTERS} participants stand behind {listed}: no interval is given there.")
    if wide:
        listed = _listed([f"{getattr(row, by)} ({plural(int(row.n_conversations), 'conversation')})" for row in wide])
        found.append(f"Few conversations stand behind {listed}: intervals there are wide.")
    return tuple(found)


def _listed(names: list[str], most: int = 4) -> str:
    return ", ".join(names[:most]) + (f" and {len(names) - most} more" if len(names) > most else "")


def describe_basis(frame: pd.DataFrame, *, participants: bool) -> str:
    """Return ``672 conversations, 109 participants``."""
    text = plural(len(frame), "conversation")
    return f"{text}, {plural(frame['cluster'].nunique(), 'participant')}" if participants else text
