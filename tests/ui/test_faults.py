"""What a reader sees of a refusal and of a fault: words, no traceback; and what the log then holds."""

import logging

from streamlit.testing.v1 import AppTest


def _refused():
    from dashboard.ui.show import guarded
    from dashboard.vocabulary import NotInThisData

    with guarded("A question?"):
        raise NotInThisData("ratings of *warmth* in :red[x].")


def _broken():
    from dashboard.ui.show import guarded

    with guarded("A question?"):
        raise KeyError("secret detail")


def test_a_refusal_reads_as_advice():
    app = AppTest.from_function(_refused).run()
    assert not app.exception
    assert not app.error
    assert app.info[0].value == r"Not in this data\: ratings of \*warmth\* in \:red\[x\]\.".replace(
        ":red", ":\u2060red"
    )


def test_a_fault_is_told_without_its_details_which_the_log_has(caplog):
    with caplog.at_level(logging.ERROR, logger="dashboard"):
        app = AppTest.from_function(_broken).run()
    assert not app.exception
    assert "secret detail" not in app.error[0].value
    assert "not of your data" in app.error[0].value
    assert "secret detail" in caplog.text
