"""What does each column and each measure mean, and how well is it filled?"""

from __future__ import annotations

from typing import TYPE_CHECKING

from dashboard.analyses.findings import Analysis, Findings, Parameters, Selection
from dashboard.database import Database
from dashboard.queries import run_query
from dashboard.vocabulary import plural

if TYPE_CHECKING:
    import pandas as pd

NAME = "codebook"


def analyse(database: Database, selection: Selection, parameters: Parameters) -> Findings:
    """Describe every column and every measure of the whole data; filters do not apply."""
    columns = run_query(database, NAME)
    examples = run_query(database, "codebook_examples")
    columns = columns.merge(examples, on=["table", "column"], how="left", validate="one_to_one")
    measures = run_query(database, "measures")
    return Findings(
        name=NAME,
        headline=_headline(columns, measures),
        tables={NAME: columns.drop(columns="position"), f"{NAME}.measures": measures},
        notes=("The codebook describes the whole data; filters do not apply to it.",),
        queries={NAME: {}, "measures": {}},
    )


def _headline(columns: pd.DataFrame, measures: pd.DataFrame) -> str:
    ratings = int((measures["kind"] == "rating").sum())
    items = len(measures) - ratings
    return (
        f"The data holds {plural(columns['table'].nunique(), 'table')} with {plural(len(columns), 'column')}, "
        f"{plural(ratings, 'measure')} of a turn and {plural(items, 'survey item')}."
    )


ANALYSIS = Analysis(
    name=NAME,
    page="Overview",
    position=7,
    question="What does each column mean?",
    analyse=analyse,
    tables={NAME: "Every column of the data tables", f"{NAME}.measures": "Every measure: scale, wording, answers"},
    method=(
        "Filled is the share of cells that are not null. The number of distinct values is that of the first 1,000,000 rows. "
        "Examples are the most frequent values among the first 100,000 rows of a table."
    ),
    whole_data=True,
)
