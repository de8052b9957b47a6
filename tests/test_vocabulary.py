"""How numbers are printed: a real minus, none before zero, and intervals that cannot be misread."""

import math

import pytest

from dashboard.vocabulary import column_formats, format_interval, format_number, with_interval


@pytest.mark.parametrize(
    ("value", "kind", "text"),
    [
        (-0.25, "rating", "−0.25"),
        (-0.004, "rating", "0.00"),
        (-1234.5678, "number", "−1,234.6"),
        (-3.0, "number", "−3"),
        (-0.0004, "number", "0.000"),
        (-0.05, "percent1", "−5.0 %"),
        (-math.inf, "rating", "−∞"),
        (math.nan, "rating", "–"),
    ],
)
def test_a_number_has_a_real_minus_and_none_before_zero(value, kind, text):
    assert format_number(value, kind) == text


def test_an_interval_with_a_minus_says_to():
    assert format_interval(3.41, 3.72) == "3.41–3.72"
    assert format_interval(0.24, 0.39, "percent") == "24–39 %"
    assert format_interval(-0.02, 0.07) == "−0.02 to 0.07"
    assert format_interval(-0.001, 0.07) == "0.00–0.07"
    assert format_interval(math.nan, 1.0) == ""
    assert with_interval(-0.1, -0.2, -0.05) == "−0.10 (95 % interval −0.20 to −0.05)"


def test_an_interval_is_printed_as_its_estimate():
    share = column_formats(["task", "n_rated", "share_applicable", "conf_low", "conf_high", "n_groups"])
    assert share["conf_low"] == share["conf_high"] == share["share_applicable"] == "percent"
    gap = column_formats(["share_met", "gap", "std_error", "conf_low"])
    assert gap["conf_low"] == gap["gap"] != "percent"
    assert column_formats(["mean", "conf_low"])["conf_low"] == "rating"
