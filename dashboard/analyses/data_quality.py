"""Is the data sound?"""

from __future__ import annotations

from typing import TYPE_CHECKING

from dashboard.analyses.findings import Analysis, Findings, Parameters, Selection
from dashboard.database import Database
from dashboard.vocabulary import plural

if TYPE_CHECKING:
    import pandas as pd

NAME = "data_quality"


def analyse(database: Database, selection: Selection, parameters: Parameters) -> Findings:
    """Check the whole data as ``sense7 check`` does; filters do not apply."""
    import pandas as pd

    from dashboard.intake import check_dataset

    report = check_dataset(database.folder)
    table = pd.DataFrame(report.to_json()["checks"])
    return Findings(
        name=NAME,
        headline=_headline(table),
        tables={NAME: table},
        notes=("The check is of the whole data; filters do not apply to it.",),
    )


def _headline(table: pd.DataFrame) -> str:
    counts = table["severity"].value_counts()
    errors, warnings = int(counts.get("error", 0)), int(counts.get("warning", 0))
    done = plural(len(table), "check")
    if errors:
        return f"Of {done}, {errors} found errors: figures may be wrong until the data is imported again."
    if warnings:
        return f"No errors in {done}; {plural(warnings, 'warning')} that you should know of."
    return f"No errors and no warnings in {done}."


ANALYSIS = Analysis(
    name=NAME,
    page="Overview",
    position=6,
    question="Is the data sound?",
    analyse=analyse,
    tables={NAME: "Checks of keys, ranges, orphans, straight-lining, unrated and duplicate conversations"},
    method="The same checks as `sense7 check`: errors break the tables' promises, warnings are facts worth knowing.",
    whole_data=True,
)
