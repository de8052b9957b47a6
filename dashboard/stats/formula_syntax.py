"""What a mixed-model formula is made of: frozen values that print as lme4's syntax."""

from __future__ import annotations

import difflib
import re
from collections.abc import Collection, Iterator
from dataclasses import dataclass, field

from dashboard.vocabulary import Refused

FUNCTIONS = ("log", "sqrt", "I", "center", "within", "between", "factor")

_PLAIN_NAME = re.compile(r"[^\W\d][\w.]*\Z")


class FormulaError(Refused):
    """A formula that is refused; the message says what must hold, what came and where."""


# ------------------------------------------------------------------------------------------- arithmetic
@dataclass(frozen=True)
class Name:
    """A column of the data."""

    name: str

    def __str__(self) -> str:
        return self.name if _PLAIN_NAME.match(self.name) else f"`{self.name}`"


@dataclass(frozen=True)
class Number:
    """A number inside a function call."""

    value: float

    def __str__(self) -> str:
        return f"{self.value:.12g}"


@dataclass(frozen=True)
class Call:
    """One of the allowed functions applied to an expression."""

    function: str
    argument: Expression

    def __str__(self) -> str:
        return f"{self.function}({self.argument})"


@dataclass(frozen=True)
class Arithmetic:
    """`left operator right` inside a function call; unary minus is `0 - right` with left None."""

    operator: str
    left: Expression | None
    right: Expression

    def __str__(self) -> str:
        right = _operand(self.right, self.operator, right=True)
        if self.left is None:
            return f"-{right}"
        space = "" if self.operator == "^" else " "
        return f"{_operand(self.left, self.operator)}{space}{self.operator}{space}{right}"


Expression = Name | Number | Call | Arithmetic
_BINDING = {"+": 1, "-": 1, "*": 2, "/": 2, "^": 4}


def _operand(expression: Expression, operator: str, *, right: bool = False) -> str:
    if not isinstance(expression, Arithmetic):
        return str(expression)
    inner = 3 if expression.left is None else _BINDING[expression.operator]
    outer = _BINDING[operator]
    loose = inner < outer or (inner == outer and (right != (operator == "^")))
    return f"({expression})" if loose else str(expression)


def names_in(expression: Expression) -> Iterator[str]:
    """Yield the columns that an expression uses, in order."""
    if isinstance(expression, Name):
        yield expression.name
    elif isinstance(expression, Call):
        yield from names_in(expression.argument)
    elif isinstance(expression, Arithmetic):
        if expression.left is not None:
            yield from names_in(expression.left)
        yield from names_in(expression.right)


# ---------------------------------------------------------------------------------------------- formulas
Term = tuple[Name | Call, ...]


def term_label(term: Term) -> str:
    """Return a term as it is written: its variables joined by colons."""
    return ":".join(str(variable) for variable in term)


@dataclass(frozen=True)
class RandomTerm:
    """One random term: intercept and slopes that vary by one grouping factor, with all their correlations."""

    intercept: bool
    slopes: tuple[Name | Call, ...]
    group: tuple[str, ...]

    @property
    def label(self) -> str:
        """The grouping factor: a column, or columns joined by colons."""
        return ":".join(self.group)

    @property
    def effects(self) -> tuple[str, ...]:
        """Names of the effects, intercept first."""
        return (("(Intercept)",) if self.intercept else ()) + tuple(str(slope) for slope in self.slopes)


@dataclass(frozen=True)
class Bar:
    """A random part as the user wrote it, e.g. `(1 + turn | participant/conversation)`."""

    intercept: bool
    slopes: tuple[Name | Call, ...]
    groups: tuple[str, ...]
    separator: str = ""
    correlated: bool = True

    def __str__(self) -> str:
        left = ("1",) if self.intercept else ("0",)
        names = [str(Name(name)) for name in self.groups]
        bar = "|" if self.correlated else "||"
        return f"({' + '.join((*left, *map(str, self.slopes)))} {bar} {self.separator.join(names)})"

    def terms(self) -> tuple[RandomTerm, ...]:
        """Return the random terms that the bar stands for: `a/b` is `a` and `a:b`; `||` has no correlation."""
        shortest = 1 if self.separator == "/" else len(self.groups)
        groups = [self.groups[:size] for size in range(shortest, len(self.groups) + 1)]
        parts: list[tuple[bool, tuple[Name | Call, ...]]] = [(self.intercept, self.slopes)]
        if not self.correlated:
            parts = ([(True, ())] if self.intercept else []) + [(False, (slope,)) for slope in self.slopes]
        return tuple(RandomTerm(one, slopes, group) for group in groups for one, slopes in parts)


@dataclass(frozen=True)
class Formula:
    """A parsed formula; `str()` gives its canonical text, which parses to the same formula.

    `terms` are the fixed terms without the intercept, main effects before interactions as R orders them.
    """

    response: Name | Call
    intercept: bool
    terms: tuple[Term, ...]
    bars: tuple[Bar, ...] = ()
    names: tuple[str, ...] = field(default=(), compare=False)

    def __str__(self) -> str:
        labels = [term_label(term) for term in self.terms]
        first = [] if self.intercept and labels else ["1" if self.intercept else "0"]
        return f"{self.response} ~ {' + '.join([*first, *labels, *map(str, self.bars)])}"

    @property
    def outcome(self) -> str:
        """The left-hand side as text."""
        return str(self.response)

    @property
    def random(self) -> tuple[RandomTerm, ...]:
        """The random terms, bars written out."""
        return tuple(term for bar in self.bars for term in bar.terms())

    @property
    def predictors(self) -> tuple[str, ...]:
        """The columns used by fixed terms and random slopes, each once."""
        variables = [v for term in self.terms for v in term] + [s for bar in self.bars for s in bar.slopes]
        return tuple(dict.fromkeys(name for variable in variables for name in names_in(variable)))

    @property
    def grouping(self) -> tuple[str, ...]:
        """The columns that group the random terms, each once."""
        return tuple(dict.fromkeys(name for bar in self.bars for name in bar.groups))

    @property
    def columns(self) -> tuple[str, ...]:
        """Every column that the formula uses: outcome, predictors, grouping."""
        return tuple(dict.fromkeys((*names_in(self.response), *self.predictors, *self.grouping)))

    def without_random(self) -> Formula:
        """Return the formula with its fixed part only."""
        return Formula(self.response, self.intercept, self.terms, (), self.names)


def check_names(formula: Formula, names: Collection[str]) -> None:
    """Refuse a formula that uses a column which is not among `names`."""
    unknown = [name for name in formula.columns if name not in set(names)]
    if not unknown:
        return
    listed = ", ".join(sorted(names)[:60]) + (", …" if len(names) > 60 else "")
    close = difflib.get_close_matches(unknown[0], list(names), n=1, cutoff=0.6)
    hint = f" Did you mean “{close[0]}”?" if close else ""
    quoted = " and ".join(f"“{_shown(name)}”" for name in unknown[:3])
    verb = "is no column" if len(unknown) == 1 else "are no columns"
    raise FormulaError(f"{quoted} {verb} of this data.{hint} There are: {listed}.")


def _shown(name: str) -> str:
    return name if len(name) <= 40 else name[:37] + "…"
