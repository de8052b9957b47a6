"""Single cells say what their writers meant, or are refused."""

import datetime as dt

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dashboard.intake.cells import (
    AGREEMENT,
    DESIRED,
    IMPORTANCE,
    QUALITY,
    ScaleReader,
    as_id,
    as_number,
    as_text,
    is_blank,
    key_of,
    may_mean,
    name_key,
    stripped,
)
from dashboard.intake.sheet import Broken, Dated, serial_of


@pytest.fixture
def quality():
    return ScaleReader(1, 5, 1, QUALITY)


class TestRatings:
    @pytest.mark.parametrize(
        ("cell", "value"),
        [
            ("Very good", 5),
            ("VERY GOOD", 5),
            ("very  good", 5),
            (" Very\u00a0good\u200b ", 5),
            ("\ufeffGood", 4),
            ("Neutral\n", 3),
            ("pOOr", 2),
            ("Very\tpoor", 1),
            (4, 4),
            (4.0, 4),
            ("4", 4),
            ("4.0", 4),
            (" 4 ", 4),
            ("\u00a04\u00a0", 4),
            ("４", 4),
            ("４．０", 4),
            ("4.00", 4),
            ("4,0", 4),
            ("4.000000e+00", 4),
            (3.9999999999999996, 4),
            (Dated(4.0), 4),
            ("1900-01-04", 4),
            ("1900-01-04 00:00:00", 4),
            ("1900-01-04T00:00:00", 4),
        ],
    )
    def test_are_read(self, quality, cell, value):
        reading = quality.read(cell)
        assert (reading.answer, reading.value) == ("rated", value)

    @pytest.mark.parametrize(
        "cell",
        ["Unknown", "unknown ", "N/A", "n/a", "N / A", "NA", "na", "Not applicable", "NOT\u00a0APPLICABLE", "n.a."],
    )
    def test_not_applicable_is_an_answer(self, quality, cell):
        assert quality.read(cell).answer == "not_applicable"

    @pytest.mark.parametrize("cell", [None, "", " ", "\u00a0", "\u200b", "\t\n", "\u3000"])
    def test_blanks_are_missing(self, quality, cell):
        assert quality.read(cell).answer == "missing"

    @pytest.mark.parametrize(
        ("cell", "why"),
        [
            (0, "outside the scale 1 to 5"),
            (6, "outside the scale"),
            (-4, "outside the scale"),
            ("7", "outside the scale"),
            (3.5, "between the levels"),
            ("3.5", "between the levels"),
            ("3,5", "between the levels"),
            ("3 delete", "neither a number nor a known label"),
            ("Excellent", "neither a number nor a known label"),
            ("Very", "neither"),
            ("Agree", "neither"),
            ("=1+1", "neither"),
            ("#N/A", "neither"),
            ("#VALUE!", "neither"),
            ("NaN", "neither"),
            ("None", "neither"),
            ("inf", "neither"),
            ("-", "neither"),
            ("4/5", "neither"),
            ("80%", "neither"),
            ("1,200", "neither"),
            ("٤", "neither"),
            (True, "truth value"),
            ("TRUE", "neither"),
            (float("nan"), "finite"),
            (float("inf"), "finite"),
            (Broken("error", "#N/A"), "is an error"),
            (Broken("formula", ""), "no stored value"),
            (Dated(45000.0), "outside the scale"),
            (Dated(4.5), "between the levels"),
            ("2025-03-04", "neither"),
            ("1899-12-31", "neither"),
        ],
    )
    def test_are_refused_with_the_reason(self, quality, cell, why):
        reading = quality.read(cell)
        assert (reading.answer, reading.value) == ("unreadable", None)
        assert why in reading.why

    def test_shown_as_dates_are_told(self, quality):
        assert quality.read(Dated(4.0)).dated
        assert quality.read("1900-01-04").dated
        assert not quality.read(4.0).dated

    def test_of_one_value_and_several_types_are_kept_apart(self, quality):
        assert quality.read(1.0).value == 1
        assert quality.read(True).answer == "unreadable"
        assert quality.read(1).value == 1
        assert not quality.read(4.0).dated
        assert quality.read(Dated(4.0)).dated


class TestLabels:
    @pytest.mark.parametrize(
        ("labels", "ends", "cell", "value"),
        [
            (AGREEMENT, (1, 5), "strongly DISAGREE", 1),
            (AGREEMENT, (1, 5), "Disagree", 2),
            (AGREEMENT, (1, 5), "Neither agree nor disagree", 3),
            (AGREEMENT, (1, 5), "neutral", 3),
            (AGREEMENT, (1, 5), "Agree", 4),
            (IMPORTANCE, (1, 5), "Not at all important", 1),
            (IMPORTANCE, (1, 5), "Slightly important", 2),
            (IMPORTANCE, (1, 5), "Somewhat  important", 2),
            (IMPORTANCE, (1, 5), "moderately", 3),
            (IMPORTANCE, (1, 5), "Very important", 4),
            (IMPORTANCE, (1, 5), "Extremely important", 5),
            (DESIRED, (1, 3), "Minimal empathy", 1),
            (DESIRED, (1, 3), "HIGH EMPATHY", 3),
            (DESIRED, (1, 3), 2, 2),
        ],
    )
    def test_of_the_survey_are_read(self, labels, ends, cell, value):
        assert ScaleReader(*ends, 1, labels).read(cell).value == value

    @pytest.mark.parametrize("cell", ["#N/A", "=A1", "None", "nan", "TRUE"])
    def test_what_nobody_chose_is_no_label(self, cell):
        reading = ScaleReader(1, 3, 1, DESIRED).read(cell)
        assert (reading.answer, reading.label) == ("unreadable", "")

    @pytest.mark.parametrize(
        ("label", "meant"),
        [
            ("Medium", True),
            ("Level 2", True),
            ("Medium (2)", True),
            ("2 delete", False),
            ("Level 4", False),
            ("?", False),
        ],
    )
    def test_that_are_unknown_may_mean_a_level_unless_they_are_a_damaged_number(self, label, meant):
        assert may_mean(label, 2.0) == meant

    def test_that_are_unknown_are_told_as_they_stand(self):
        assert ScaleReader(1, 3, 1, DESIRED).read(" Some empathy ").label == "Some empathy"

    def test_can_be_learnt(self):
        reader = ScaleReader(1, 3, 1, DESIRED)
        assert reader.read("Some empathy").answer == "unreadable"
        reader.learn("Some empathy", 2)
        assert reader.read("SOME EMPATHY").value == 2

    def test_of_a_mapping_may_mean_not_applicable_or_missing(self):
        reader = ScaleReader(1, 5, 1, {"Skipped": "not applicable", "–": "missing", "Top": 5})
        assert [reader.read(cell).answer for cell in ("skipped", "–", "TOP")] == ["not_applicable", "missing", "rated"]


@given(
    st.sampled_from(sorted(QUALITY)),
    st.lists(st.sampled_from(" \t\u00a0\u200b\ufeff\u3000"), max_size=4),
    st.booleans(),
)
def test_stray_blanks_and_case_never_change_a_label(label, blanks, upper):
    written = "".join(blanks) + (label.upper() if upper else label.lower()) + "".join(blanks)
    assert ScaleReader(1, 5, 1, QUALITY).read(written).value == QUALITY[label]


@given(st.floats(allow_nan=True, allow_infinity=True) | st.text(max_size=12) | st.booleans() | st.integers())
def test_whatever_is_rated_is_a_level_of_the_scale(cell):
    reading = ScaleReader(1, 5, 1, QUALITY).read(cell)
    assert (reading.value in {1, 2, 3, 4, 5}) == (reading.answer == "rated")


def test_a_continuous_scale_takes_fractions():
    reader = ScaleReader(0, 1, None)
    assert reader.read("0.25").value == 0.25
    assert reader.read(1.01).answer == "unreadable"


def test_a_scale_in_halves_takes_halves():
    reader = ScaleReader(0, 10, 0.5)
    assert reader.read(2.5).value == 2.5
    assert reader.read(2.25).answer == "unreadable"


class TestIds:
    @pytest.mark.parametrize(
        ("cell", "found"),
        [
            (1.0, "1"),
            (1, "1"),
            ("1", "1"),
            ("1.0", "1"),
            ("1.00", "1"),
            (" 1 ", "1"),
            ("\u00a0P1\u200b", "P1"),
            ("007", "007"),
            ("007.0", "007.0"),
            (7.0, "7"),
            (1.5, "1.5"),
            ("-3.0", "-3"),
            (2**60, str(2**60)),
            (Dated(4.0), "4"),
            (None, None),
            ("  ", None),
            ("NA", "NA"),
            ("None", "None"),
        ],
    )
    def test_are_one_text_however_they_are_stored(self, cell, found):
        assert as_id(cell) == found

    def test_keep_decimals_where_decimals_are_ids(self):
        assert as_id("1.0", decimals_are_ids=True) == "1.0"

    @pytest.mark.parametrize("cell", [Broken("error", "#REF!"), True, float("nan"), float("inf"), 1.234567890123457e17])
    def test_that_are_none_are_refused(self, cell):
        with pytest.raises(ValueError):
            as_id(cell)


class TestTexts:
    @pytest.mark.parametrize(
        ("cell", "text"),
        [
            (4.0, "4"),
            (4.25, "4.25"),
            (True, "TRUE"),
            (" a ", " a "),
            ("", None),
            (None, None),
            (Dated(4.0), "1900-01-04"),
        ],
    )
    def test_of_cells_are_as_they_came(self, cell, text):
        assert as_text(cell) == text

    def test_blank_is_what_shows_nothing(self):
        assert [is_blank(cell) for cell in (None, "", " \u200b", "a", 0.0, False)] == [
            True,
            True,
            True,
            False,
            False,
            False,
        ]

    def test_stripping_leaves_the_inside(self):
        assert stripped(" \u200ba \u00a0b\ufeff ") == "a \u00a0b"

    def test_names_ignore_case_blanks_and_underscores(self):
        assert name_key("Task _Id") == name_key("TaskId") == name_key("task-id") == "taskid"
        assert key_of("Very_good") != key_of("Very good")


class TestNumbers:
    def test_blank_is_none(self):
        assert as_number(" ") is None

    @pytest.mark.parametrize("cell", ["12 s", "1,200", "0x10", "1_000", "1e999", "--4", "1.2.3"])
    def test_that_are_none_are_refused(self, cell):
        with pytest.raises(ValueError):
            as_number(cell)

    @given(st.dates(dt.date(1900, 1, 1), dt.date(2100, 1, 1)))
    def test_dates_and_serial_numbers_are_one_to_one(self, day):
        assert str(Dated(serial_of(day))) == day.isoformat()

    def test_dates_with_times_show_to_the_millisecond(self):
        moment = dt.datetime(2025, 3, 4, 10, 11, 12)
        assert str(Dated(serial_of(moment))) == "2025-03-04 10:11:12"
        assert str(Dated(serial_of(moment.replace(microsecond=345_000)))) == "2025-03-04 10:11:12.345"
        assert [str(Dated(0.5)), str(Dated(-1.0)), str(Dated(4.0, True))] == ["12:00:00", "-1.0", "1904-01-05"]

    def test_serial_numbers_are_those_of_spreadsheets(self):
        # 1900-03-01 is day 61, since spreadsheets count a 29 February 1900; 2023-03-15 is day 45,000.
        days = [
            dt.date(1900, 1, 1),
            dt.date(1900, 1, 4),
            dt.date(1900, 2, 28),
            dt.date(1900, 3, 1),
            dt.date(2023, 3, 15),
        ]
        assert [serial_of(day) for day in days] == [1, 4, 59, 61, 45000]
