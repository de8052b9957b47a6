"""The parser of mixed-model formulas: lme4's syntax, read against an allow-list.

Text becomes a tree of frozen values or a `FormulaError`; nothing in it is ever evaluated as Python.
"""

from __future__ import annotations

import re
from collections.abc import Collection
from dataclasses import dataclass, field

from dashboard.stats.formula_syntax import (
    FUNCTIONS,
    Arithmetic,
    Bar,
    Call,
    Expression,
    Formula,
    FormulaError,
    Name,
    Number,
    check_names,
    names_in,
    term_label,
)

MAX_LENGTH = 2_000
MAX_DEPTH = 40
MAX_TERMS = 200
MAX_OPERATIONS = 100

_LOOKALIKES = str.maketrans(
    {
        "\u2212": "-",
        "\u2013": "-",
        "\u2014": "-",
        "\u2010": "-",
        "\u2011": "-",
        "\u00d7": "*",
        "\u2217": "*",
        "\u22c5": "*",
        "\u223c": "~",
        "\u02dc": "~",
        "\uff5e": "~",
        "\u2223": "|",
        "\uff5c": "|",
        "\uff08": "(",
        "\uff09": ")",
        "\uff0b": "+",
        "\uff1a": ":",
        "\u00a0": " ",
        "\u202f": " ",
        "\u2009": " ",
    }
)
_TOKEN = re.compile(
    r"\s*(?:(?P<number>(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?(?![\w.]))|(?P<name>[^\W\d][\w.]*)|`(?P<quoted>[^`]+)`"
    r"|(?P<operator>\|\||[-+*:/^()|~,]))"
)


# ------------------------------------------------------------------------------------------------ tokens
@dataclass(frozen=True)
class _Token:
    kind: str
    text: str
    position: int


def _tokens(text: str) -> list[_Token]:
    found, position = [], 0
    text = text.translate(_LOOKALIKES).rstrip()
    while position < len(text):
        match = _TOKEN.match(text, position)
        if match is None:
            raise FormulaError(_unreadable(text, position))
        kind = match.lastgroup or "operator"
        found.append(_Token("name" if kind == "quoted" else kind, match[kind], match.start(kind) + 1))
        position = match.end()
    found.append(_Token("end", "", len(text) + 1))
    return found


def _unreadable(text: str, position: int) -> str:
    while text[position].isspace():
        position += 1
    character = text[position]
    if character.isdigit() or character == ".":
        word = re.match(r"[\w.]*", text[position:])
        return (
            f"“{word[0] if word else character}” at character {position + 1} of the formula is no number and no name."
        )
    return (
        f"The character “{character}” (number {position + 1} of the formula) has no meaning in a formula. "
        "A formula is made of names, + - * : ~, ( | ) and the functions " + ", ".join(FUNCTIONS) + "."
    )


# ------------------------------------------------------------------------------------------------ parser
@dataclass
class _Sum:
    """Terms in order of appearance, as the parser collects them."""

    terms: list[tuple[Name | Call, ...]] = field(default_factory=list)
    intercept: bool | None = None
    bars: list[Bar] = field(default_factory=list)

    def is_plain(self) -> bool:
        return not self.bars and self.intercept is None

    def add(self, other: _Sum) -> None:
        known = {frozenset(term) for term in self.terms}
        for term in other.terms:
            if frozenset(term) not in known:
                self.terms.append(term)
                known.add(frozenset(term))
        self.bars.extend(bar for bar in other.bars if bar not in self.bars)
        self.intercept = self.intercept if other.intercept is None else other.intercept
        if len(self.terms) > MAX_TERMS:
            raise FormulaError(f"The formula stands for more than {MAX_TERMS} terms; write fewer interactions.")

    def remove(self, other: _Sum) -> None:
        if other.bars:
            raise FormulaError(f"A random part cannot be taken away: “- {other.bars[0]}”. Leave it out instead.")
        gone = {frozenset(term) for term in other.terms}
        self.terms = [term for term in self.terms if frozenset(term) not in gone]
        if other.intercept is not None:
            self.intercept = not other.intercept


class _Parser:
    """Recursive descent over the tokens; one method per rule of the grammar."""

    def __init__(self, text: str) -> None:
        self.tokens = _tokens(text)
        self.at = 0
        self.depth = 0
        self.operations = 0

    # -- helpers
    @property
    def token(self) -> _Token:
        return self.tokens[self.at]

    def take(self, *texts: str) -> _Token | None:
        if self.token.kind == "operator" and self.token.text in texts:
            self.at += 1
            return self.tokens[self.at - 1]
        return None

    def expect(self, text: str, opened: _Token) -> None:
        if self.take(text) is None:
            raise FormulaError(
                f"The parenthesis opened at character {opened.position} is not closed: expected “{text}” but "
                f"{self.here()}."
            )

    def here(self) -> str:
        if self.token.kind == "end":
            return "the formula ended"
        return f"found “{self.token.text}” at character {self.token.position}"

    def enter(self) -> None:
        self.depth += 1
        if self.depth > MAX_DEPTH:
            raise FormulaError(f"The formula nests parentheses more than {MAX_DEPTH} deep.")

    # -- grammar
    def formula(self) -> tuple[Name | Call, _Sum]:
        if self.token.kind == "end":
            raise FormulaError("The formula is empty; write, for example, overall ~ turn + (1 | participant).")
        if self.token.text == "~":
            raise FormulaError("There is no outcome before the “~”; write outcome ~ predictors.")
        response = self.variable()
        if self.take("~") is None:
            raise FormulaError(f"After the outcome “{response}” there must be a “~”, but {self.here()}.")
        right = self.sum()
        if self.token.kind != "end":
            raise FormulaError(self.surplus())
        return response, right

    def surplus(self) -> str:
        if self.token.text == ")":
            return f"The parenthesis closed at character {self.token.position} was never opened."
        if self.token.text == "~":
            return f"A formula has one “~”; a second one is at character {self.token.position}."
        if self.token.text in ("|", "||"):
            return f"A random part needs parentheses, as in (1 | participant); {self.here()}."
        if self.token.text == "^":
            return f"Powers belong inside I(), as in I(turn^2); {self.here()}."
        if self.token.text == "/":
            return f"“/” nests grouping factors inside a random part only, as in (1 | a/b); {self.here()}."
        return f"Expected + - * or : between terms, but {self.here()}."

    def sum(self) -> _Sum:
        total = _Sum()
        sign = self.take("+", "-")
        while True:
            item = self.crossing()
            if sign is not None and sign.text == "-":
                total.remove(item)
            else:
                total.add(item)
            sign = self.take("+", "-")
            if sign is None:
                return total

    def crossing(self) -> _Sum:
        left = self.interaction()
        while self.take("*"):
            right = self.interaction()
            both = _Sum()
            both.add(left)
            both.add(right)
            both.add(self.interact(left, right))
            left = both
        return left

    def interaction(self) -> _Sum:
        left = self.atom()
        while self.take(":"):
            left = self.interact(left, self.atom())
        return left

    @staticmethod
    def interact(left: _Sum, right: _Sum) -> _Sum:
        for side in (left, right):
            if side.bars:
                raise FormulaError(f"A random part stands by itself, added with +: “{side.bars[0]}”.")
            if not side.is_plain() or not side.terms:
                raise FormulaError("Interactions are between named terms; 0, 1 or nothing cannot be part of one.")
        product = _Sum()
        product.add(_Sum([tuple(dict.fromkeys(a + b)) for a in left.terms for b in right.terms]))
        return product

    def atom(self) -> _Sum:
        token = self.token
        if token.kind == "number":
            if float(token.text) not in (0.0, 1.0):
                raise FormulaError(
                    f"The only numbers among the terms are 1 (intercept) and 0 (none); “{token.text}” is at character "
                    f"{token.position}. Numbers may stand inside I(), as in I(turn^2)."
                )
            self.at += 1
            return _Sum(intercept=float(token.text) == 1.0)
        if self.take("("):
            self.enter()
            inner = self.sum()
            bar = self.take("|", "||")
            if bar is not None:
                inner = _Sum(bars=[self.bar(inner, correlated=bar.text == "|")])
            self.expect(")", token)
            self.depth -= 1
            return inner
        return _Sum([(self.variable(),)])

    def bar(self, left: _Sum, *, correlated: bool) -> Bar:
        if left.bars:
            raise FormulaError("A random part cannot hold another one.")
        slopes = []
        for term in left.terms:
            if len(term) > 1:
                raise FormulaError(f"Random slopes are single variables; “{term_label(term)}” is an interaction.")
            slopes.append(term[0])
        groups, separator = [self.group_name()], ""
        while token := self.take("/", ":"):
            if separator and token.text != separator:
                raise FormulaError(f"A random part uses either / or : between its groups, not both ({self.here()}).")
            separator = token.text
            groups.append(self.group_name())
        intercept = left.intercept is not False
        if not intercept and not slopes:
            raise FormulaError(
                f"The random part by “{groups[0]}” has neither intercept nor slope; write (1 | {groups[0]})."
            )
        if len(set(groups)) < len(groups):
            raise FormulaError(f"A random part names “{groups[0]}” twice after the bar.")
        return Bar(intercept, tuple(slopes), tuple(groups), separator, correlated or not slopes)

    def group_name(self) -> str:
        if self.token.kind != "name":
            raise FormulaError(f"After the “|” there must be a grouping column, but {self.here()}.")
        self.at += 1
        if self.token.text == "(":
            raise FormulaError(f"Grouping factors are columns; “{self.tokens[self.at - 1].text}(” is a function call.")
        return self.tokens[self.at - 1].text

    def variable(self) -> Name | Call:
        token = self.token
        if token.kind != "name":
            raise FormulaError(f"Expected a column or one of {', '.join(FUNCTIONS)}, but {self.here()}.")
        self.at += 1
        opened = self.token
        if not self.take("("):
            return Name(token.text)
        if token.text not in FUNCTIONS:
            raise FormulaError(
                f"“{token.text}” is no function that a formula may use; there are {', '.join(FUNCTIONS)}."
            )
        self.enter()
        argument = self.arithmetic()
        if self.take(","):
            raise FormulaError(f"{token.text}() takes one argument; a comma is at character {self.token.position - 1}.")
        self.expect(")", opened)
        self.depth -= 1
        return Call(token.text, argument)

    # -- arithmetic inside a call
    def arithmetic(self) -> Expression:
        left = self.product()
        while token := self.take("+", "-"):
            left = self.combine(token.text, left, self.product())
        return left

    def product(self) -> Expression:
        left = self.unary()
        while token := self.take("*", "/"):
            left = self.combine(token.text, left, self.unary())
        return left

    def combine(self, operator: str, left: Expression, right: Expression) -> Expression:
        self.operations += 1
        if self.operations > MAX_OPERATIONS:
            raise FormulaError(f"The formula holds more than {MAX_OPERATIONS} arithmetic operations.")
        return Arithmetic(operator, left, right)

    def unary(self) -> Expression:
        if self.take("-"):
            self.enter()
            value = Arithmetic("-", None, self.unary())
            self.depth -= 1
            return value
        return self.power()

    def power(self) -> Expression:
        base = self.operand()
        if self.take("^"):
            self.enter()
            base = Arithmetic("^", base, self.unary())
            self.depth -= 1
        return base

    def operand(self) -> Expression:
        token = self.token
        if token.kind == "number":
            self.at += 1
            return Number(float(token.text))
        if self.take("("):
            self.enter()
            inner = self.arithmetic()
            self.expect(")", token)
            self.depth -= 1
            return inner
        return self.variable()


def parse_formula(text: str, names: Collection[str] | None = None) -> Formula:
    """Parse a formula in lme4's syntax.

    Parameters
    ----------
    text
        e.g. ``overall ~ turn * model + (1 + turn | participant) + (1 | conversation)``. Allowed are ``+ - * :``,
        ``0`` and ``1``, parentheses, the functions in `FUNCTIONS`, and random parts ``(1|g)``, ``(1+x|g)``,
        ``(0+x|g)``, ``(x||g)``, ``(1|g/h)``, ``(1|g:h)``. Names with blanks are quoted with backticks.
    names
        The columns that exist; None leaves names unchecked.

    Raises
    ------
    FormulaError
        In sentences: what must hold, what came, where.
    """
    if len(text) > MAX_LENGTH:
        raise FormulaError(f"A formula may have up to {MAX_LENGTH:,} characters; this one has {len(text):,}.")
    response, right = _Parser(text).formula()
    by_degree = sorted(right.terms, key=len)
    # variables of an interaction stand in the order in which the canonical text first names them
    order = {v: i for i, v in enumerate(dict.fromkeys(v for term in by_degree for v in term))}
    terms = [tuple(sorted(term, key=order.__getitem__)) for term in by_degree]
    formula = Formula(
        response,
        right.intercept is not False,
        tuple(terms),
        tuple(right.bars),
        tuple(sorted(names)) if names is not None else (),
    )
    _check_roles(formula)
    if names is not None:
        check_names(formula, names)
    return formula


def _check_roles(formula: Formula) -> None:
    outcome = set(names_in(formula.response))
    if not outcome:
        raise FormulaError(f"The outcome must name a column; “{formula.response}” names none.")
    both = [name for name in (*formula.predictors, *formula.grouping) if name in outcome]
    if both:
        raise FormulaError(f"“{both[0]}” is the outcome and cannot be a predictor or group of itself.")
    for call in (formula.response, *(v for term in formula.terms for v in term)):
        if isinstance(call, Call) and not list(names_in(call)):
            raise FormulaError(f"“{call}” uses no column.")
    if isinstance(formula.response, Call) and formula.response.function in ("within", "between", "factor"):
        raise FormulaError(
            f"The outcome cannot be {formula.response.function}(…); use a column, log, sqrt, I or center."
        )
    seen: set[tuple[str, str]] = set()
    for term in formula.random:
        for effect in term.effects:
            if (term.label, effect) in seen:
                raise FormulaError(f"The random part gives {effect} by “{term.label}” twice.")
            seen.add((term.label, effect))
