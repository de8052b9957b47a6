"""What the data is, whether the papers' claims hold in it, and how good it is."""

from dashboard.analyses import on_page
from dashboard.ui import cache
from dashboard.ui.about import ANCHORS, show_about
from dashboard.ui.bodies import BODIES, show_claims, show_reported_claims
from dashboard.ui.show import open_page, show_findings, show_later

selection = open_page(
    "Overview",
    "What this data holds, how far it bears out what the papers report, and how far it can be trusted. "
    "For whoever wants the size, the shape and the quality of the data before asking anything of it.",
    glossary=(
        "turn",
        "rated turn",
        "not applicable",
        "missing",
        "ground truth",
        "participant as unit",
        "Wilson interval",
    ),
    more=ANCHORS,
)
claims, *others = on_page("Overview")
# The claims ask every analysis, so they are drawn last, in their place at the top, unless their answers are known.
draw_claims = show_later(
    claims, selection, show_claims, waiting=show_reported_claims, is_known=cache.are_claims_known(selection)
)
for analysis in others:
    show_findings(analysis, selection, BODIES.get(analysis.name))
show_about()
draw_claims()
