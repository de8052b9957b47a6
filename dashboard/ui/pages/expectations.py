"""What empathy people want before a task, what they get, where the gap is, and whether it matters."""

from dashboard.analyses import on_page
from dashboard.ui import care
from dashboard.ui.show import open_page, show_findings

selection = open_page(
    "Expectations",
    "What empathy people want before a task, what they get, where the two differ, and whether meeting the expectation goes "
    "with being satisfied. For whoever designs assistants for particular tasks, or wants to check that expected and "
    "experienced empathy differ.",
    glossary=(
        "desired empathy",
        "experienced empathy",
        "gap",
        "POMP",
        "participant as unit",
        "response surface",
        "Holm",
    ),
    more=(care.ANCHOR,),
)
for analysis in on_page("Expectations"):
    show_findings(analysis, selection)
care.show_care(
    "The signed-rank tests of the gap, one per task and adjusted by Holm, are what this page is for. Contrasts of tasks and "
    "pairs of task and dimension are adjusted by Holm within their table; slopes, likelihood ratios and changes over thirds "
    "are not adjusted. Nothing was registered beforehand, so all of it is exploratory."
)
