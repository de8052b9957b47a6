"""How much data is there, and of what?"""

from __future__ import annotations

from dashboard.analyses.findings import (
    Analysis,
    Checked,
    Claim,
    Counts,
    Drawing,
    Findings,
    Parameters,
    Selection,
    count_selection,
    describe_counts,
    refuse_empty,
)
from dashboard.database import Database
from dashboard.figures.intervals import draw_counts
from dashboard.queries import run_query
from dashboard.vocabulary import format_number, plural

NAME = "dataset_overview"


def analyse(database: Database, selection: Selection, parameters: Parameters) -> Findings:
    """Count what the selection holds."""
    counts = count_selection(database, selection)
    refuse_empty(counts)
    chosen = selection.query_parameters()
    measures = run_query(database, NAME, **chosen)
    levels = run_query(database, "conversations_by_level", **chosen)
    figures = {}
    for group, name in (("task", NAME), ("model", f"{NAME}.model")):
        part = levels[levels["group"] == group]
        if not part.empty:
            figures[name] = Drawing(
                draw=draw_counts,
                arguments={
                    "frame": part,
                    "row": "level",
                    "count": "n_conversations",
                    "unit": f"Conversations per {group}",
                    "noun": "conversations",
                },
                alt=f"Conversations per {group}: "
                + "; ".join(f"{row.level} {row.n_conversations:,}" for row in part.itertuples())
                + ".",
            )
    return Findings(
        name=NAME,
        headline=_headline(counts, measures.set_index("measure")["value"].to_dict()),
        tables={NAME: measures, f"{NAME}.levels": levels},
        figures=figures,
        notes=_notes(counts),
        counts=counts,
        queries={NAME: chosen, "conversations_by_level": chosen},
    )


def _headline(counts: Counts, values: dict[str, float]) -> str:
    sentence = f"There are {describe_counts(counts)}"
    rated = values["rated_turns"]
    if rated == rated and rated > 0:
        mean = format_number(values["overall_mean"], "rating")
        sentence += f"; {format_number(rated, 'count')} of the turns carry an overall rating, {mean} on average"
    return sentence + "."


def _notes(counts: Counts) -> tuple[str, ...]:
    if counts.participants is None:
        return ("The source knows no participants: the conversation is the independent unit.",)
    return ()


def _size(findings: Findings) -> Checked:
    counts = findings.counts or Counts(None, 0, 0)
    people = "" if counts.participants is None else f", {plural(counts.participants, 'participant')}"
    return Checked(value=plural(counts.conversations, "conversation") + people, interval="", basis="counted")


ANALYSIS = Analysis(
    name=NAME,
    page="Overview",
    position=2,
    question="How much data is there?",
    analyse=analyse,
    tables={
        NAME: "Participants, conversations, messages and turns, and two means",
        f"{NAME}.levels": "Conversations, participants and turns per task and model",
    },
    figures={NAME: "Conversations per task", f"{NAME}.model": "Conversations per assistant model"},
    method=(
        "Participants are the distinct ids of the conversations; messages are all rows that were left after exact "
        "duplicates, errors included; assistant turns are all messages of the rated role, unrated and retried ones "
        "too; a rated turn carries a number as overall rating. `ground_truth_mean` averages the conversations that have a "
        "ground truth, `overall_mean` averages rated turns."
    ),
    claims=(
        Claim(
            claim="Size of the data analysed and released",
            reported="695 conversations, 109 participants; 672 released",
            source="Suh et al., arXiv 2509.16437",
            check=_size,
        ),
    ),
)
