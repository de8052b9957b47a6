"""How well classifiers recognise the empathy that people report, and how much of that is knowing the person."""

from dashboard.analyses import on_page
from dashboard.ui.classifier_files import choose_files
from dashboard.ui.classifier_progress import NAME as BASELINES
from dashboard.ui.classifier_progress import make_baselines
from dashboard.ui.show import open_page, show_findings

selection = open_page(
    "Classifier",
    "How well a classifier, such as an LLM judge, recognises the empathy that people report: with the metrics as published, "
    "honest intervals, and what trivial predictions reach. For whoever evaluates a judge of their own or wants to know what "
    "0.369 and 0.487 mean. Files that `sense7 judge` or the official scripts write can be added below.",
    glossary=(
        "ground truth",
        "macro-F1",
        "fallback",
        "kappa",
        "calibration",
        "Krippendorff's alpha",
        "participant as unit",
    ),
)
choose_files()
for analysis in on_page("Classifier"):
    if analysis.name == BASELINES:
        make_baselines()
    show_findings(analysis, selection)
