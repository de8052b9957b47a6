"""Exploratory analytics for SENSE-7: turn-by-turn ratings of perceived empathy."""

__version__ = "0.1.0"
