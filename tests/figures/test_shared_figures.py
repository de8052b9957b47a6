"""Figures shared by several analyses: what is drawn, looked at as traces."""

import itertools

import numpy as np
import pandas as pd
import pytest

from dashboard.figures.intervals import draw_counts, draw_histogram, draw_intervals
from dashboard.figures.levels import draw_level_shares, level_name
from dashboard.figures.matrix import draw_matrix
from dashboard.figures.template import OKABE_ITO, Template, blank_figure, category_colors, diverging, escape, ink_on

NASTY = "<b>$5-$6</b> :red[x] & مرحبا"
TEMPLATE = Template()


@pytest.fixture
def shares():
    rows = [("overall", level, share) for level, share in zip(range(1, 6), [0.02, 0.10, 0.30, 0.38, 0.20], strict=True)]
    rows += [(NASTY, level, share) for level, share in zip(range(1, 6), [0.5, 0.5, 0, 0, 0], strict=True)]
    return pd.DataFrame(rows, columns=["outcome", "level", "share"]).assign(n=lambda x: (x["share"] * 100).astype(int))


def test_each_level_is_one_trace_from_low_to_high_and_bars_reach_one(shares):
    figure = draw_level_shares(shares, template=TEMPLATE, row="outcome", labels={}, ends=("Very poor", "Very good"))
    assert [trace.name for trace in figure.data] == ["1 Very poor", "2", "3", "4", "5 Very good"]
    assert np.sum([trace.x for trace in figure.data], axis=0) == pytest.approx([1, 1])
    assert figure.data[3].text[0] == "38"
    assert figure.data[0].text[0] == "", "a share that has no room is not printed into its neighbour"
    assert tuple(figure.layout.xaxis.range) == (0, 1)
    assert figure.layout.yaxis.range[0] > figure.layout.yaxis.range[1], "the first bar stands on top"


def test_names_from_data_are_shown_literally_everywhere(shares):
    text = draw_level_shares(shares, template=TEMPLATE, row="outcome", labels={}, ends=(NASTY, None)).to_json()
    assert "<b>" not in text.replace("\\u003cb\\u003e", "<b>").replace("<br>", "")
    assert escape(NASTY).startswith("&lt;b&gt;$5-$6")


@pytest.fixture
def estimates():
    return pd.DataFrame(
        {
            "task": ["a", "b", "c"],
            "share": [0.4, 0.9, np.nan],
            "conf_low": [0.3, np.nan, np.nan],
            "conf_high": [0.5, np.nan, np.nan],
            "n_observations": [10, 3, 0],
        }
    )


def test_intervals_are_drawn_before_their_estimates_and_only_where_known(estimates):
    figure = draw_intervals(
        estimates, template=TEMPLATE, row="task", estimate="share", labels={"a": "Task A"}, unit="Share",
        axis_range=(0, 1), percent=True,
    )  # fmt: skip
    lines = [trace for trace in figure.data if trace.mode == "lines"]
    dots = [trace for trace in figure.data if "markers" in trace.mode]
    assert [tuple(line.x) for line in lines] == [(0.3, 0.5)]
    assert list(figure.data).index(dots[0]) == len(figure.data) - 1
    assert list(dots[0].text) == ["40 %", "90 %"], "a level without an estimate is left out"
    assert list(figure.layout.yaxis.ticktext) == ["Task A", "b"]
    assert figure.layout.xaxis.title.text == "Share"


def test_values_stand_in_a_column_right_of_the_axis_with_room_for_them(estimates):
    """Above its dot a value would be crossed by the zero line or meet the row above."""
    paper = Template(paper=True, width=336, font_size=11)
    figure = draw_intervals(
        estimates, template=paper, row="task", estimate="share", labels={}, unit="Share", axis_range=(-1, 1), zero=True,
    )  # fmt: skip
    assert [(one.text, one.x, one.xref, one.y) for one in figure.layout.annotations] == [
        ("0.40", 1, "paper", 0),
        ("0.90", 1, "paper", 1),
    ]
    assert not any("text" in (trace.mode or "") for trace in figure.data)
    widest = paper.small * 0.55 * len("0.40")
    assert figure.layout.margin.r > 0.9 * paper.font_size + widest


def test_levels_differ_in_greyscale():
    """On scales of three and five levels, neighbours and ends by a tenth of the range from black to white."""
    for n_levels in (3, 5):
        greys = []
        for color in diverging(n_levels):
            red, green, blue = (int(color[place : place + 2], 16) for place in (1, 3, 5))
            greys.append((0.299 * red + 0.587 * green + 0.114 * blue) / 255)
        assert abs(greys[0] - greys[-1]) > 0.1
        assert all(abs(one - other) > 0.1 for one, other in itertools.pairwise(greys))


def test_pale_lines_are_darkened_on_a_light_ground():
    middle = diverging(3)[1]
    assert Template().visible(middle) < middle
    assert Template(dark=True).visible(middle) == middle
    assert Template().visible("#0072B2") == "#0072B2"


def test_published_figures_are_dashed_and_labelled_reported(estimates):
    figure = draw_intervals(
        estimates, template=TEMPLATE, row="task", estimate="share", labels={}, unit="Share", axis_range=None,
        percent=True, reported={"b": 0.381, "not here": 0.5},
    )  # fmt: skip
    assert [(shape.x0, shape.line.dash) for shape in figure.layout.shapes] == [(0.381, "dash")]
    assert [note.text for note in figure.layout.annotations] == ["reported 38.1 %", "40 %", "90 %"]


def test_counts_start_at_zero_and_leave_room_for_their_numbers():
    frame = pd.DataFrame({"task": ["a", "b"], "n": [1200, 0]})
    figure = draw_counts(frame, template=TEMPLATE, row="task", count="n", unit="Conversations", noun="conversations")
    assert list(figure.data[0].text) == ["1,200", "0"]
    assert figure.layout.xaxis.range[0] == 0
    assert figure.layout.xaxis.range[1] > 1200


def test_histogram_names_the_ends_of_the_scale():
    frame = pd.DataFrame({"low": [1.0, 2, 3, 4], "high": [2.0, 3, 4, 5], "n": [0, 4, 2, 1]})
    figure = draw_histogram(frame, template=TEMPLATE, unit="Ground truth", noun="conversations", ends=("Poor", "Good"))
    assert list(figure.layout.xaxis.ticktext) == ["1<br>Poor", "2", "3", "4", "5<br>Good"]
    assert list(figure.data[0].y) == [0, 4, 2, 1]


@pytest.mark.parametrize("dark", [False, True])
def test_matrix_tiles_are_shapes_with_readable_numbers_and_hollow_where_unknown(dark):
    frame = pd.DataFrame(
        {
            "dimension": ["x", "x", "y", "y"],
            "task": ["a", "b", "a", "b"],
            "share": [0.0, 1.0, 0.5, np.nan],
            "n": [1, 2, 3, 0],
        }
    )
    figure = draw_matrix(
        frame, template=Template(dark=dark), row="dimension", across="task", value="share", count="n",
        row_labels={"x": "X"}, across_title="Task", unit="Share",
    )  # fmt: skip
    fills = [shape.fillcolor for shape in figure.layout.shapes]
    assert len(fills) == 4
    assert fills[3] == "rgba(0,0,0,0)"
    assert list(figure.data[0].text) == ["0", "100", "50", ""]
    for fill, ink in zip(fills[:3], figure.data[0].textfont.color, strict=False):
        assert contrast(fill, ink) > 4.5


def contrast(one, other):
    def luminance(color):
        channels = [int(color[i : i + 2], 16) / 255 for i in (1, 3, 5)]
        linear = [c / 12.92 if c <= 0.03928 else ((c + 0.055) / 1.055) ** 2.4 for c in channels]
        return float(np.dot([0.2126, 0.7152, 0.0722], linear))

    high, low = sorted([luminance(one), luminance(other)], reverse=True)
    return (high + 0.05) / (low + 0.05)


@pytest.mark.parametrize("n_levels", [2, 3, 5, 7, 11])
def test_level_colours_are_distinct_and_carry_readable_numbers(n_levels):
    colors = diverging(n_levels)
    assert len(set(colors)) == n_levels
    assert min(contrast(color, ink_on(color)) for color in colors) > 4.5


def test_levels_of_any_scale_have_a_colour():
    assert diverging(0) == []
    assert len(diverging(1)) == 1
    assert level_name(0.0, [0.0, 10.0], ("none", None)) == "0 none"
    assert level_name(10.0, [0.0, 10.0], ("none", None)) == "10"


def test_tasks_keep_their_colour_whatever_is_filtered():
    colors = category_colors(["a", "b", "c"])
    assert colors["b"] == OKABE_ITO[1]
    assert len(set(category_colors([str(i) for i in range(8)]).values())) == 8


def test_synthetic_data_says_so_on_screen_and_paper():
    for template in (Template(synthetic=True), Template(synthetic=True, paper=True, width=336)):
        assert "SYNTHETIC" in blank_figure(template, height=100).to_json()
    assert "SYNTHETIC" not in blank_figure(Template(), height=100).to_json()


def test_intervals_end_inside_an_axis_without_fixed_limits(estimates):
    paper = Template(paper=True, width=336, font_size=11)
    figure = draw_intervals(
        estimates, template=paper, row="task", estimate="share", labels={}, unit="Share", axis_range=None,
        percent=True, reported={"b": 0.6},
    )  # fmt: skip
    low, high = figure.layout.xaxis.range
    lines = [trace for trace in figure.data if trace.mode == "lines"]
    assert low < min(min(line.x) for line in lines) and max(max(line.x) for line in lines) < high
    assert low < 0.6 < high
