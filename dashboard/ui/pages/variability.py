"""How individual empathy judgements are: people, their styles, and what a rating is made of."""

from dashboard.analyses import on_page
from dashboard.ui import care
from dashboard.ui.people import show_people, show_person
from dashboard.ui.show import open_page, show_findings

selection = open_page(
    "Variability",
    "How individual empathy judgements are: how people rate, whether they can be told apart, and how much of a rating is "
    "the person, the conversation, the turn. For whoever wants to know whether one number per conversation says something "
    "about the assistant or about the rater.",
    glossary=("participant as unit", "BLUP", "REML", "ICC", "straight-lining", "cluster-robust interval"),
    more=(care.ANCHOR,),
)
bodies = {"participant_ratings": show_people, "participant_profile": show_person}
for analysis in on_page("Variability"):
    show_findings(analysis, selection, bodies.get(analysis.name))
care.show_care(
    "This page estimates rather than tests. Its p values are those of covariates (all comparisons counted and adjusted by Holm), "
    "of *not applicable* (one model, not adjusted) and of equal variances (descriptive). Nothing was registered beforehand, "
    "so all of it is exploratory."
)
