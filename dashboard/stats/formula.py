"""Formulas in lme4's syntax: `parse_formula` reads text against an allow-list, `design` builds the columns."""

from dashboard.stats.formula_design import Design, design, random_terms
from dashboard.stats.formula_parser import parse_formula
from dashboard.stats.formula_rows import Grouping, encode
from dashboard.stats.formula_syntax import (
    FUNCTIONS,
    Bar,
    Formula,
    FormulaError,
    RandomTerm,
    check_names,
    names_in,
    term_label,
)

__all__ = [
    "FUNCTIONS",
    "Bar",
    "Design",
    "Formula",
    "FormulaError",
    "Grouping",
    "RandomTerm",
    "check_names",
    "design",
    "encode",
    "names_in",
    "parse_formula",
    "random_terms",
    "term_label",
]
