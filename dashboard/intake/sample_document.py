"""EFFECTS.md of the synthetic sample."""

from __future__ import annotations

from dashboard.intake.sample_effects import Effects


def effects_document(e: Effects) -> str:
    """Return the text of EFFECTS.md: what was planted."""
    return "# What is planted in the synthetic sample\n"
