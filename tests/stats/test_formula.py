"""Formulas are parsed against an allow-list, coded as R codes them, and refused in sentences."""

import numpy as np
import pandas as pd
import pytest

from dashboard.stats.formula import FormulaError, design, parse_formula
from dashboard.vocabulary import Refused

NAMES = ["overall", "turn", "task", "model", "participant", "conversation", "importance"]


@pytest.mark.parametrize(
    ("text", "canonical"),
    [
        ("overall~turn+task+(1|participant)", "overall ~ turn + task + (1 | participant)"),
        (
            "overall~turn*model+task+(1+turn|participant)+(1|conversation)",
            "overall ~ turn + model + task + turn:model + (1 + turn | participant) + (1 | conversation)",
        ),
        ("overall ~ 1 + (1|participant/conversation)", "overall ~ 1 + (1 | participant/conversation)"),
        ("overall ~ -1 + task + (turn||participant)", "overall ~ 0 + task + (1 + turn || participant)"),
        ("overall ~ (turn+model)*task - turn:task", "overall ~ turn + model + task + model:task"),
        ("overall ~ (turn+model):task", "overall ~ turn:task + task:model"),
        ("overall ~ turn − 1", "overall ~ 0 + turn"),
        ("overall ~ turn\u00a0×\u00a0task", "overall ~ turn + task + turn:task"),
        ("log(overall) ~ I(turn^2) + sqrt(importance)", "log(overall) ~ I(turn^2) + sqrt(importance)"),
        ("overall~I(-(turn+1)*2^-importance/3)", "overall ~ I(-(turn + 1) * 2^(-importance) / 3)"),
        ("overall ~ within(turn)+between(turn)+center(log(turn))+(0+turn|participant)",
         "overall ~ within(turn) + between(turn) + center(log(turn)) + (0 + turn | participant)"),
        ("overall ~ model:turn + turn", "overall ~ turn + turn:model"),
    ],
)  # fmt: skip
def test_canonical_text_parses_to_the_same_formula(text, canonical):
    formula = parse_formula(text, NAMES)
    assert str(formula) == canonical
    assert parse_formula(canonical, NAMES) == formula


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("overall ~ __import__('os').system('x')", "character “'”"),
        ("overall ~ __import__(os)", "“__import__” is no function that a formula may use; there are log, sqrt"),
        ("overall ~ eval(turn)", "“eval” is no function"),
        ("overall ~ turns + (1|participant)", "Did you mean “turn”? There are: conversation, importance"),
        ("overall ~ overall + (1|participant)", "“overall” is the outcome and cannot be a predictor"),
        ("overall ~ log(overall)", "“overall” is the outcome"),
        ("overall ~ turn + (1|overall)", "“overall” is the outcome"),
        ("overall ~ turn + " * 700, "up to 2,000 characters; this one has 11,900"),
        ("overall ~ (turn + task", "opened at character 11 is not closed"),
        ("overall ~ turn + task)", "closed at character 22 was never opened"),
        ("overall ~ turn ~ task", "one “~”"),
        ("~ turn", "no outcome before"),
        ("overall", "there must be a “~”"),
        ("", "The formula is empty"),
        ("   ", "The formula is empty"),
        ("overall ~", "the formula ended"),
        ("overall ~ turn^2", "Powers belong inside I()"),
        ("overall ~ turn | participant", "needs parentheses"),
        ("overall ~ turn/task", "nests grouping factors inside a random part only"),
        ("overall ~ 2*turn", "only numbers among the terms are 1"),
        ("overall ~ turn task", "Expected + - * or : between terms"),
        ("overall ~ (1|participant)*turn", "stands by itself"),
        ("overall ~ turn - (1|participant)", "cannot be taken away"),
        ("overall ~ (turn:task|participant)", "Random slopes are single variables"),
        ("overall ~ (0|participant)", "neither intercept nor slope"),
        ("overall ~ (1|participant) + (1|participant)+(1+turn|participant)", "twice"),
        ("overall ~ (1|log(turn))", "function call"),
        ("overall ~ log(turn, 2)", "takes one argument"),
        ("overall ~ turn; drop table", "character “;”"),
        ("overall ~ türn", "“türn” is no column"),
        ("overall ~ turn + 😀", "character “😀”"),
        ("overall ~ 3turn", "“3turn”"),
        ("overall ~ " + "(" * 200 + "turn" + ")" * 200, "nests parentheses more than 40 deep"),
        ("overall ~ I(" + "turn+" * 300 + "turn)", "arithmetic operations"),
        ("overall ~ I(" + "-" * 500 + "turn)", "nests"),
        ("overall ~ I(2)", "uses no column"),
        ("within(overall) ~ turn", "outcome cannot be within"),
        ("overall ~ " + "*".join(f"x{i}" for i in range(12)), "more than 200 terms"),
    ],
)
def test_nonsense_is_refused_with_a_sentence(text, words):
    with pytest.raises(FormulaError) as caught:
        parse_formula(text, NAMES)
    assert words in str(caught.value)
    assert isinstance(caught.value, Refused)
    assert str(caught.value).rstrip()[-1] in ".…)"


def frame(**columns) -> pd.DataFrame:
    base = {
        "y": [1.0, 2, 3, 4, 5, 7, 6, 9],
        "x": [1.0, 2, 3, 4, 1, 2, 3, 5],
        "f": ["b", "a", "c", "a", "b", "c", "a", "b"],
        "h": ["u", "u", "u", "v", "u", "v", "u", "v"],
        "g": ["p", "p", "p", "q", "q", "q", "r", "r"],
    }
    return pd.DataFrame(base | columns)


def build(text, data=None, **options):
    data = frame() if data is None else data
    return design(data, parse_formula(text, list(data.columns)), **options)


@pytest.mark.parametrize(
    ("right", "columns"),
    [
        # column names of R 4.2's model.matrix, brackets added
        ("x + f", ["(Intercept)", "x", "f[b]", "f[c]"]),
        ("0 + f", ["f[a]", "f[b]", "f[c]"]),
        ("0 + f + h", ["f[a]", "f[b]", "f[c]", "h[v]"]),
        ("0 + x + f + h", ["x", "f[a]", "f[b]", "f[c]", "h[v]"]),
        ("x * h", ["(Intercept)", "x", "h[v]", "x:h[v]"]),
        ("x:h", ["(Intercept)", "x:h[u]", "x:h[v]"]),
        ("x + x:h", ["(Intercept)", "x", "x:h[v]"]),
        ("f:h", ["(Intercept)", "f[a]:h[u]", "f[b]:h[u]", "f[c]:h[u]", "f[a]:h[v]", "f[b]:h[v]", "f[c]:h[v]"]),
        ("h + f:h", ["(Intercept)", "h[v]", "h[u]:f[b]", "h[v]:f[b]", "h[u]:f[c]", "h[v]:f[c]"]),
        ("f * h", ["(Intercept)", "f[b]", "f[c]", "h[v]", "f[b]:h[v]", "f[c]:h[v]"]),
        ("factor(x)", ["(Intercept)", "factor(x)[2]", "factor(x)[3]", "factor(x)[4]", "factor(x)[5]"]),
    ],
)
def test_columns_are_those_of_r(right, columns):
    built = build(f"y ~ {right}")
    assert [*built.columns, *built.dropped_columns] == columns
    assert built.dropped_columns == (("f[c]:h[v]",) if right == "f:h" else ())


def test_the_values_of_columns_are_products_of_indicators_and_numbers():
    built = build("y ~ x * f + I(x^2) + log(x)")
    column = dict(zip(built.columns, built.X.T, strict=True))
    data = frame()
    np.testing.assert_array_equal(column["f[b]"], data["f"] == "b")
    np.testing.assert_array_equal(column["x:f[c]"], data["x"] * (data["f"] == "c"))
    np.testing.assert_allclose(column["I(x^2)"], data["x"] ** 2)
    np.testing.assert_allclose(column["log(x)"], np.log(data["x"]))
    assert built.terms["x:f"] == tuple(i for i, name in enumerate(built.columns) if name.startswith("x:f"))


def test_the_reference_level_can_be_chosen():
    built = build("y ~ f", reference={"f": "c"})
    assert built.columns == ("(Intercept)", "f[a]", "f[b]")
    assert built.levels == {"f": ("c", "a", "b")}
    with pytest.raises(FormulaError, match="“z” is no level of “f”; there are: a, b, c"):
        build("y ~ f", reference={"f": "z"})
    with pytest.raises(FormulaError, match="not among the predictors"):
        build("y ~ f", reference={"h": "u"})


def test_levels_sort_by_code_point():
    data = frame(f=["ä", "Z", "a", "B", "Z", "B", "a", "ä"])
    assert build("y ~ f", data).levels["f"] == ("B", "Z", "a", "ä")


def test_incomplete_rows_are_dropped_counted_and_explained():
    data = frame(x=[1.0, np.nan, 3, np.inf, 1, 2, 3, 5], f=["b", "a", None, "a", "b", "c", "a", "b"])
    built = build("y ~ x + f", data)
    assert (built.n_observations, built.n_dropped) == (5, 3)
    assert built.dropped == {"x": 2, "f": 1}
    assert built.rows.tolist() == [0, 4, 5, 6, 7]
    assert "3 of 8 rows were left out because a cell was missing in: x (2), f (1)." in built.notes


def test_levels_that_no_complete_row_has_disappear():
    data = frame(x=[1.0, 2, np.nan, 4, 1, np.nan, 3, 5])
    assert build("y ~ x + f", data).levels["f"] == ("a", "b")


def test_determined_columns_are_dropped_and_named():
    data = frame(x2=[2.0, 4, 6, 8, 2, 4, 6, 10], k=3.0)
    built = build("y ~ x + x2 + k", data)
    assert built.dropped_columns == ("x2", "k")
    assert any("rank-deficient" in note and "x2, k" in note for note in built.notes)


def test_a_large_offset_does_not_make_a_column_look_determined():
    data = frame(year=2_000_000 + np.arange(8.0))
    assert build("y ~ year", data).dropped_columns == ()


def test_within_and_between_use_the_means_of_the_rows_fitted():
    data = frame(x=[1.0, np.nan, 3, 4, 1, 1, 3, 5])
    built = build("y ~ within(x) + between(x) + (1 | g)", data)
    column = dict(zip(built.columns, built.X.T, strict=True))
    np.testing.assert_allclose(column["between(x)"], [2, 2, 2, 2, 2, 4, 4])
    np.testing.assert_allclose(column["within(x)"], [-1, 1, 2, -1, -1, -1, 1])


def test_within_takes_the_person_even_when_the_conversation_is_written_first():
    data = frame(c=["1", "1", "2", "3", "3", "4", "5", "6"])
    built = build("y ~ within(x) + (1 | c) + (1 | g)", data)
    expected = data["x"] - data.groupby("g")["x"].transform("mean")
    np.testing.assert_allclose(built.X[:, 1], expected)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("f ~ x", "The outcome “f” must be numeric"),
        ("y ~ log(f)", "needs numbers, but “f” is a factor"),
        ("y ~ log(z)", "log(z) needs numbers above 0; 1 of 8 rows"),
        ("y ~ sqrt(z)", "numbers from 0 up; 1 of 8 rows"),
        ("y ~ I(x/(z - z))", "has no finite value on 8 of 8 rows"),
        ("y ~ I(z^0.5)", "has no finite value on 1 of 8 rows"),
        ("y ~ one", "“one” has one level in the rows fitted (“only”)"),
        ("y ~ x + (f | g)", "Random slopes must be numeric; “f” is a factor"),
        ("y ~ x + (k | g)", "has one value (3)"),
        ("y ~ within(x)", "needs a random part"),
        ("y ~ empty", "No row has all columns of the formula, of 8. Missing cells: “empty” 8."),
        ("y ~ when", "holds datetime64"),
    ],
)
def test_what_does_not_suit_the_data_is_refused_with_a_sentence(text, words):
    data = frame(
        z=[-1.0, 2, 3, 4, 5, 6, 7, 8],
        one="only",
        k=3.0,
        empty=np.nan,
        when=pd.date_range("2026-01-01", periods=8),
    )
    with pytest.raises(FormulaError) as caught:
        build(text, data)
    assert words in str(caught.value)


def test_booleans_count_as_zero_and_one():
    data = frame(b=[True, False, True, True, False, False, True, False])
    built = build("y ~ b", data)
    assert built.columns == ("(Intercept)", "b")
    np.testing.assert_array_equal(built.X[:, 1], data["b"].astype(float))


def test_nullable_and_categorical_columns_are_taken():
    data = frame()
    data["x"] = data["x"].astype("Int64")
    data["f"] = data["f"].astype("category")
    data.loc[0, "x"] = pd.NA
    built = build("y ~ x + f + (1 | g)", data)
    assert built.n_dropped == 1
    assert built.levels["f"] == ("a", "b", "c")


def test_names_with_blanks_are_quoted_with_backticks():
    data = frame().rename(columns={"x": "my x"})
    built = build("y ~ `my x` + (1 | g)", data)
    assert built.columns == ("(Intercept)", "`my x`")
    assert str(built.formula) == "y ~ `my x` + (1 | g)"
