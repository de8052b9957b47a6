"""Figures and tables for papers: what was collected on the other pages, in one zip."""

from dashboard.ui.export_page import show_export
from dashboard.ui.show import guarded, open_page

open_page(
    "Export",
    "Figures and tables for your paper, collected while exploring: name and order them, choose style and formats once, and "
    "save one zip with captions, methods, and a manifest that says where each comes from and how to make it again. "
    "Each entry keeps the filters and settings with which it was added; the filters at the left do not change it.",
    stops=False,
)
with guarded("The export."):
    show_export()
