"""Names and text escapes that do not need a browser; see tests/browser for how they look."""

import re

import pandas as pd
import pytest
from streamlit.testing.v1 import AppTest

from dashboard.analyses import registry
from dashboard.analyses.findings import Selection
from dashboard.ui.panels import command_line
from dashboard.ui.text import plain, printable


def test_plain_escapes_every_mark_and_keeps_every_word():
    text = "Costs $5-$6 :red[x] <b>"
    escaped = plain(text)
    assert escaped.replace("\\", "").replace("\u2060", "") == text
    assert not any(escaped[i] in "$[]<>" and escaped[i - 1] != "\\" for i in range(1, len(escaped)))


def test_plain_puts_text_on_one_line():
    assert plain("# one\n\n- two\tthree") == r"\# one \- two three"


def test_a_number_keeps_its_percent_sign_on_its_line():
    assert plain("12.5 % of 8 %") == "12\\.5\u00a0\\% of 8\u00a0\\%"


@pytest.mark.parametrize(
    ("value", "shown"),
    [("within_person", "Within person"), ("GPT-4", "GPT-4"), (2.0, "2"), (None, "None"), ("a task", "a task")],
)
def test_choices_read_as_words(value, shown):
    assert printable(value) == shown


def test_the_command_line_says_what_is_not_default():
    one = registry()["applicability"]
    selection = Selection(task=("It's $5",), desired_empathy=(3.0,), min_rated_turns=2, exclude_flagged=True)
    assert command_line(one, selection, one.parameters(by="turn")) == (
        "sense7 table applicability -p 'task=It'\"'\"'s $5' -p desired_empathy=3 -p min_rated_turns=2 "
        "-p exclude_flagged=true -p by=turn"
    )
    assert command_line(one, Selection(), one.parameters()) == "sense7 table applicability"


def drawn(frame):
    def script(columns, rows):
        import pandas as pd

        from dashboard.ui.tables import show_reading_table

        show_reading_table(pd.DataFrame(rows, columns=columns), alt="A table")

    app = AppTest.from_function(script, kwargs={"columns": list(frame), "rows": frame.to_numpy().tolist()}).run()
    assert not app.exception
    return app


def test_a_table_for_reading_is_one_text_with_its_bars_escaped():
    app = drawn(pd.DataFrame({"term": ["a | b", "$5-$6\n:red[x]"], "estimate": [-0.5, 12.0]}))
    (text,) = (one.value for one in app.markdown)
    lines = text.splitlines()
    assert len(app.table) == 0
    assert len(lines) == 4
    assert [len(re.findall(r"(?<!\\)\|", line)) for line in lines] == [3, 3, 3, 3]
    assert lines[1] == "| --- | ---: |"
    assert lines[2].startswith(r"| a \| b | ")


def test_numbers_and_intervals_stand_right_and_words_left():
    rows = {
        "what": ["a", "b"],
        "interval": ["−0.1 to 0.2", "1 to 2"],
        "said": ["7 turns", "8 turns"],
        "p": ["< .001", ""],
    }
    (text,) = (one.value for one in drawn(pd.DataFrame(rows)).markdown)
    assert text.splitlines()[1] == "| --- | ---: | --- | ---: |"


def test_a_number_keeps_its_percent_sign_on_its_line_in_tables_too():
    (text,) = (one.value for one in drawn(pd.DataFrame({"claim": ["one\ntwo"], "reported": ["31.3–41.1 %"]})).markdown)
    assert "| one two |" in text
    assert "41\\.1\u00a0\\%" in text


def test_a_table_too_wide_for_a_narrow_page_scrolls_by_itself():
    app = drawn(pd.DataFrame({"term": ["word" * 30], "estimate": [1.0]}))
    assert len(app.table) == 1
    assert len(app.markdown) == 0
