"""What empathy people want before a task, what they get, where the gap is, and whether it matters."""

from dashboard.analyses import on_page
from dashboard.ui.show import open_page, show_findings

selection = open_page(
    "Expectations",
    "What empathy people want before a task, what they get, where the two differ, and whether meeting the expectation goes "
    "with being satisfied. For whoever designs assistants for particular tasks, or wants to check that expected and "
    "experienced empathy differ. People chose their tasks themselves: nothing here is an effect of a task.",
    glossary=(
        "desired empathy",
        "experienced empathy",
        "gap",
        "POMP",
        "participant as unit",
        "response surface",
        "Holm",
    ),
)
for analysis in on_page("Expectations"):
    show_findings(analysis, selection)
