"""Names and text escapes that do not need a browser; see tests/browser for how they look."""

import pytest

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
