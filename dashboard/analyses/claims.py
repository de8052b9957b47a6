"""What do the papers claim, and what does this data say?"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from dashboard.analyses import findings as base
from dashboard.analyses.findings import Analysis, Claim, Findings, Parameters, Selection, count_selection, refuse_empty
from dashboard.database import Database
from dashboard.vocabulary import Refused, plural

if TYPE_CHECKING:
    import pandas as pd

NAME = "claims"


Runner = Callable[[Database, Analysis, Selection, Parameters], Findings]


def analyse(database: Database, selection: Selection, parameters: Parameters) -> Findings:
    """Run every analysis that checks a claim, and put reported and found figures side by side."""
    return describe(database, selection, lambda: claims_table(database, selection))


def describe(database: Database, selection: Selection, ask: Callable[[], pd.DataFrame]) -> Findings:
    """Say what the claims' table holds; ``ask`` returns it, for whoever keeps it or part of it."""
    counts = count_selection(database, selection)
    refuse_empty(counts)
    table = ask()
    checked = int((table["this_data"] != "–").sum())
    headline = (
        f"{plural(len(table), 'claim')} of the papers can be held against this data here; "
        f"{checked} of them {'has' if checked == 1 else 'have'} the measures it takes."
    )
    only_shows = (
        "This data is synthetic: its figures say nothing about the study, they only show what would stand here."
    )
    warnings = (only_shows,) if database.synthetic else ()
    return Findings(name=NAME, headline=headline, tables={NAME: table}, warnings=warnings, counts=counts)


def claims_table(database: Database, selection: Selection, *, run: Runner = base.run_analysis) -> pd.DataFrame:
    """Return one row per claim: claim, reported, source, this_data, interval, basis, analysis, page.

    A claim whose measure this data lacks keeps its row, with the reason as basis.
    """
    import pandas as pd

    from dashboard.analyses import registry

    rows = []
    for one in registry().values():
        # Claims of one analysis mostly share a run.
        found: dict[Parameters, Findings | Refused] = {}
        for claim in one.claims:
            parameters = claim.parameters or one.parameters()
            if parameters not in found:
                found[parameters] = _findings(lambda: run(database, one, selection, parameters))  # noqa: B023
            said = _said(claim, found[parameters])
            rows.append({"claim": claim.claim, "reported": claim.reported, "source": claim.source} | said)
            rows[-1] |= {"analysis": one.name, "page": one.page}
    columns = ["claim", "reported", "this_data", "interval", "basis", "source", "analysis", "page"]
    return pd.DataFrame(rows, columns=columns)


def _findings(run: Callable[[], Findings]) -> Findings | Refused:
    try:
        return run()
    except Refused as refusal:
        return refusal


def _said(claim: Claim, found: Findings | Refused) -> dict[str, str]:
    """Return what this data says, or why it cannot."""
    try:
        if isinstance(found, Refused):
            raise found
        checked = claim.check(found)
    except Refused as refusal:
        return {"this_data": "–", "interval": "", "basis": str(refusal)}
    return {"this_data": checked.value, "interval": checked.interval, "basis": checked.basis}


ANALYSIS = Analysis(
    name=NAME,
    page="Overview",
    position=1,
    question="The papers' claims, checked here",
    analyse=analyse,
    tables={NAME: "Each claim, the reported figure, and this data's figure with its interval"},
    method=(
        "Reported figures are quoted as reported, never as results of this data. This data's figures come from the "
        "analyses named in the last columns, with the same filters; their definitions stand there. A claim appears here "
        "with its analysis."
    ),
)
