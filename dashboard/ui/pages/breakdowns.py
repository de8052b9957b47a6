"""When perceived empathy collapses, what happens around it, whether it recovers, and what it costs."""

from dashboard.analyses import on_page
from dashboard.ui import care
from dashboard.ui.breakdown_definition import show_definition
from dashboard.ui.show import open_page, show_findings
from dashboard.ui.trajectory_lines import show_trajectories

BODIES = {"rating_trajectories": show_trajectories}
selection = open_page(
    "Breakdowns",
    "When the empathy that people perceive collapses within a conversation, what happens around that turn, whether it comes "
    "back, and what a breakdown costs at the end. For whoever wants to know how fragile perceived empathy is. The definition "
    "of a breakdown holds for the whole page; every figure says it. People chose tasks and length themselves: nothing here is causal.",
    glossary=(
        "breakdown",
        "Kaplan–Meier",
        "cumulative incidence",
        "hazard",
        "risk set",
        "order reference",
        "participant as unit",
    ),
    more=(care.ANCHOR,),
)

show_definition()
for analysis in on_page("Breakdowns"):
    show_findings(analysis, selection, BODIES.get(analysis.name))
care.show_care(
    "Tests of the hazard, one per grouping, of the three costs and of what goes with a breakdown are adjusted by Holm within "
    "their table, not across tables; the log-rank test is descriptive. A different definition of a breakdown is a different "
    "question: trying several makes more tests. Nothing was registered beforehand, so all of it is exploratory."
)
