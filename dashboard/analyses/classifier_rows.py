"""A classifier's predictions joined to the data by conversation: what every analysis of the classifier starts from."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from dashboard.analyses.findings import Counts, Parameters, Selection, count_selection, parameter, refuse_empty
from dashboard.database import Database
from dashboard.intake.predictions import PredictionFile, find_predictions, locate, read_all, usable
from dashboard.queries import run_query
from dashboard.stats.classification_intervals import Scored
from dashboard.vocabulary import NotInThisData, Refused, TooLittleData, plural

if TYPE_CHECKING:
    import pandas as pd

QUERY = "classifier_conversations"
TRUTH_TOLERANCE = 1e-6
REPORTED = {"spearman": 0.369, "accuracy": 0.487}
SOURCE = "abstract of Suh et al., arXiv 2509.16437"
_NEEDED = (
    "predictions of a classifier. Give a file in the official form, csv or xlsx: -p predictions=FILE on the command line "
    "or an upload on the page Classifier."
)


@dataclass(frozen=True)
class PredictionParameters(Parameters):
    """Which prediction files are evaluated."""

    predictions: tuple[str, ...] = parameter(
        (),
        label="Prediction files",
        help="Files in the official form, csv or xlsx; by default those that lie with the data.",
        shared=True,
    )


@dataclass(frozen=True)
class FallbackParameters(PredictionParameters):
    """And whether rows count in which the judge gave no level."""

    without_fallbacks: bool = parameter(
        False,
        label="Leave fallbacks out",
        help="A failed call and an unreadable answer were recorded as prediction 3; this leaves them out.",
    )


@dataclass(frozen=True)
class Judged:
    """Prediction files joined to the data.

    Attributes
    ----------
    files
        The files, in the order given.
    rows
        Every row of every file that the selection keeps, in order: file, series, judge, conversation, cluster, task,
        model, desired_empathy, n_turns, predicted, truth (the file's), recomputed (the data's), is_fallback, is_failed,
        is_usable (both numbers of the file are there), is_known (the conversation is in the data), truth_differs.
    warnings
        What weakens the answer, a sentence each.
    notes
        What was seen on the way.
    counts
        What the usable rows rest on.
    """

    files: tuple[PredictionFile, ...]
    rows: pd.DataFrame
    warnings: tuple[str, ...]
    notes: tuple[str, ...]
    counts: Counts

    def used(self, *, without_fallbacks: bool = False) -> pd.DataFrame:
        """Return the rows that count in the official metrics, with or without the fallbacks."""
        kept = self.rows["is_usable"] & ~(self.rows["is_fallback"] & without_fallbacks)
        return self.rows[kept]

    def part(self, name: str, *, without_fallbacks: bool = False) -> pd.DataFrame:
        """Return those of one file."""
        used = self.used(without_fallbacks=without_fallbacks)
        return used[used["file"] == name]

    def scored(self, name: str, *, without_fallbacks: bool = False, truth: str = "truth") -> Scored:
        """Return the numbers of one file, held against its own or the ``recomputed`` ground truth."""
        part = self.part(name, without_fallbacks=without_fallbacks)
        part = part[part[truth].notna()]
        # Unrounded means of our own tie, or do not, by their last bit only; the file's are taken as they are.
        numbers = part[truth] if truth == "truth" else part[truth].round(9)
        return Scored(part["predicted"].to_numpy(), numbers.to_numpy(), part["cluster"].to_numpy())

    @property
    def small_print(self) -> tuple[str, ...]:
        """Warnings and notes: the page's first analysis warns, the others repeat it in the small print."""
        return (*self.warnings, *self.notes)

    @property
    def judges(self) -> list[str]:
        """The judges in the order of their files."""
        return list(dict.fromkeys(judge_of(one) for one in self.files))


def judge_of(file: PredictionFile) -> str:
    """Return what a file's judge is called: its Model column, else the file's name without the iteration."""
    return file.judge or file.series


def prediction_paths(database: Database, given: Sequence[str]) -> list[Path]:
    """Return the files asked for, else those that lie with the data.

    Raises
    ------
    NotInThisData
        When none was asked for and none lies with the data.
    Refused
        When a file does not exist.
    """
    if given:
        return [locate(database.folder, one) for one in given]
    found = find_predictions(database.folder)
    if not found:
        raise NotInThisData(_NEEDED)
    return found


def read_judged(database: Database, selection: Selection, parameters: PredictionParameters) -> Judged:
    """Read the prediction files and join them to the data's conversations.

    A row whose conversation the data does not have stays, since the official metrics use the file alone; under a filter
    it leaves.

    Raises
    ------
    Refused
        When a file cannot be used, or none of its conversations is in this data.
    NotInThisData, TooLittleData
        When there is no file, or the selection keeps none of its rows.
    """
    import pandas as pd

    files = read_all(prediction_paths(database, parameters.predictions))
    refuse_empty(count_selection(database, selection))
    known = run_query(database, QUERY)
    for one in files:
        _refuse_strangers(one, known)
    chosen = known if selection.is_everything else run_query(database, QUERY, **selection.query_parameters())
    rows = pd.concat([_joined(one, chosen, keep_all=selection.is_everything) for one in files], ignore_index=True)
    if not rows["is_usable"].any():
        raise TooLittleData(
            "No conversation of this selection has both a prediction and a ground truth. Take a filter away, or reset "
            "them all."
        )
    judges = list(dict.fromkeys(judge_of(one) for one in files))
    warnings = [sentence for one in files for sentence in _file_warnings(one, known)]
    if len(judges) > 1:
        warnings.insert(
            0, f"These files are of {len(judges)} judges ({', '.join(judges)}): means over files are taken per judge."
        )
    notes = [note for one in files for note in one.notes]
    return Judged(tuple(files), rows, tuple(warnings), tuple(notes), _counts(database, rows))


def describe_rows(judged: Judged) -> str:
    """Return ``670 conversations, 109 participants``."""
    parts = [plural(judged.counts.conversations, "conversation")]
    if judged.counts.participants is not None:
        parts.append(plural(judged.counts.participants, "participant"))
    return ", ".join(parts)


def _refuse_strangers(file: PredictionFile, known: pd.DataFrame) -> None:
    """Refuse a file of other data."""
    ids = file.rows["conversation"]
    if not ids.isin(known["conversation"]).any():
        first = next((f" (the first is {one!r})" for one in ids.dropna()), "")
        raise Refused(
            f"{file.name} must hold predictions for conversations of this data; none of its "
            f"{plural(ids.nunique(), 'TaskId')}{first} is among the data's {len(known):,}."
        )


def _joined(file: PredictionFile, conversations: pd.DataFrame, *, keep_all: bool) -> pd.DataFrame:
    """Return a file's rows with what the data knows of their conversations."""
    own = file.rows.rename(columns={"participant": "file_participant"}).assign(is_usable=usable(file.rows))
    known = conversations.rename(columns={"ground_truth": "recomputed"}).drop(columns="participant")
    rows = own.merge(known, on="conversation", how="left" if keep_all else "inner", validate="many_to_one", sort=False)
    unknown = rows["cluster"].isna()
    instead = rows["file_participant"].fillna(rows["conversation"])
    position = [f"row {place}" for place in range(len(rows))]
    rows["cluster"] = rows["cluster"].where(~unknown, instead).fillna(dict(enumerate(position)))
    rows["is_known"] = ~unknown
    rows["truth_differs"] = truth_differs(rows["truth"], rows["recomputed"]) & ~unknown
    rows.insert(0, "file", file.name)
    rows.insert(1, "series", file.series)
    rows.insert(2, "judge", judge_of(file))
    return rows.drop(columns="file_participant")


def _file_warnings(file: PredictionFile, known: pd.DataFrame) -> list[str]:
    """Say where a file does not fit the data."""
    ids = file.rows["conversation"]
    merged = file.rows.merge(known, on="conversation", how="left", suffixes=("_file", ""), validate="many_to_one")
    strangers = int((~ids.isin(known["conversation"])).sum())
    repeated = int(ids.dropna().duplicated().sum())
    differs = int((ids.isin(known["conversation"]) & truth_differs(merged["truth"], merged["ground_truth"])).sum())
    both = merged["participant"].notna() & merged["participant_file"].notna()
    others = int((both & (merged["participant"] != merged["participant_file"])).sum())
    found = []
    if strangers:
        found.append(f"{plural(strangers, 'row')} with a TaskId that this data does not have; they count as published")
    if repeated:
        found.append(
            f"{plural(repeated, 'row')} that {'repeats' if repeated == 1 else 'repeat'} a TaskId; each counts, as published"
        )
    if differs:
        found.append(
            f"{plural(differs, 'row')} whose ground truth differs from the one computed from this data; the metrics are "
            "the file's, those of the recomputed ground truth stand in the table beside"
        )
    if others:
        found.append(f"{plural(others, 'row')} whose PID is not the data's participant; the data's counts")
    return [f"{file.name} has {one}." for one in found]


def truth_differs(stated: pd.Series, recomputed: pd.Series) -> pd.Series:
    """Return where a stated ground truth is not the recomputed one: by more than 1e-6, or missing on one side."""
    both = stated.notna() & recomputed.notna()
    return (both & ((stated - recomputed).abs() > TRUTH_TOLERANCE)) | (stated.notna() != recomputed.notna())


def _counts(database: Database, rows: pd.DataFrame) -> Counts:
    used = rows[rows["is_usable"]]
    conversations = used.drop_duplicates("conversation")
    known = database.manifest["counts"].get("participants") is not None
    return Counts(
        participants=int(used["cluster"].nunique()) if known else None,
        conversations=len(conversations),
        turns=int(conversations["n_turns"].fillna(0).sum()),
    )
