"""How individual empathy judgements are: people, their styles, and what a rating is made of."""

from dashboard.analyses import on_page
from dashboard.ui.people import show_people
from dashboard.ui.show import open_page, show_findings

selection = open_page(
    "Variability",
    "How individual empathy judgements are: how people rate, whether they can be told apart, and how much of a rating is "
    "the person, the conversation, the turn. For whoever wants to know whether one number per conversation says something "
    "about the assistant or about the rater.",
    glossary=("participant as unit", "BLUP", "REML", "ICC", "straight-lining", "cluster-robust interval"),
)
for analysis in on_page("Variability"):
    show_findings(analysis, selection, show_people if analysis.name == "participant_ratings" else None)
