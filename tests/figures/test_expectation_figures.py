"""Figures of the page Expectations: what is drawn, looked at as traces."""

import numpy as np
import pandas as pd
import pytest

from dashboard.figures.dodged import draw_dodged_intervals
from dashboard.figures.dumbbell import draw_dumbbell
from dashboard.figures.matrix import draw_matrix
from dashboard.figures.parts import draw_parts
from dashboard.figures.surface import draw_level_curves, draw_response_surface
from dashboard.figures.template import Template, wrap
from dashboard.figures.thirds import draw_thirds

SCREEN, DARK, PAPER = Template(), Template(dark=True), Template(paper=True, width=336, font_size=10.7)
NASTY = "<b>x</b> & y"


@pytest.fixture
def gaps():
    return pd.DataFrame(
        {
            "task": ["a", NASTY],
            "desired_pomp": [80.0, 20.0],
            "experienced_pomp": [60.0, 70.0],
            "gap": [-20.0, 50.0],
            "conf_low": [-45.0, np.nan],
            "conf_high": [25.0, np.nan],
            "n_conversations": [40, 2],
        }
    )


def dumbbell(frame, template=SCREEN):
    return draw_dumbbell(
        frame, template=template, row="task", start="desired_pomp", end="experienced_pomp", difference="gap",
        names=("Desired", "Experienced"), unit="Percent", axis_range=(0, 100),
    )  # fmt: skip


class TestDumbbell:
    def test_wanted_is_hollow_got_is_filled_and_a_line_joins_them(self, gaps):
        figure = dumbbell(gaps)
        way, interval, wanted, got = figure.data
        assert list(way.x) == [80, 60, None, 20, 70, None]
        assert wanted.marker.symbol == "circle-open" and list(wanted.x) == [80, 20]
        assert got.marker.symbol == "diamond" and list(got.x) == [60, 70]
        # The gap's interval stands around the end and is cut where the axis ends: 80 − 45, 80 + 25.
        assert list(interval.x) == [35, 100, None]

    def test_differences_are_printed_with_sign_and_interval(self, gaps):
        texts = [note.text for note in dumbbell(gaps).layout.annotations]
        assert texts == ["<b>−20</b> (−45 to +25)", "<b>+50</b>"]

    def test_names_from_data_are_literal(self, gaps):
        assert list(dumbbell(gaps).layout.yaxis.ticktext)[1] == "&lt;b&gt;x&lt;/b&gt; &amp; y"


class TestDodged:
    def draw(self, frame, template=SCREEN):
        return draw_dodged_intervals(
            frame, template=template, row="task", series="level", estimate="gap", series_labels={1: "One", 3: "Three"},
            colors=["#a6611a", "#01665e"], unit="Gap", zero=0.0,
        )  # fmt: skip

    @pytest.fixture
    def levels(self, gaps):
        return pd.concat([gaps.assign(level=1), gaps.head(1).assign(level=3, gap=5.0)])

    def test_each_series_has_a_colour_and_a_marker_of_its_own(self, levels):
        dots = [trace for trace in self.draw(levels).data if trace.mode == "markers"]
        assert [trace.name for trace in dots] == ["One", "Three"]
        assert len({trace.marker.symbol for trace in dots}) == len({trace.marker.color for trace in dots}) == 2
        assert dots[0].y[0] < 0 < dots[1].y[0], "series of a row stand one below the other"

    def test_every_interval_is_inside_the_axis_and_unknown_ones_are_absent(self, levels):
        figure = self.draw(levels)
        low, high = figure.layout.xaxis.range
        assert low < -45 and high > 50
        assert list(figure.data[0].x) == [-45, 25, None]

    def test_deep_colours_are_lightened_on_a_dark_ground(self, levels):
        assert self.draw(levels, DARK).data[-1].marker.color != "#01665e"
        assert self.draw(levels).data[-1].marker.color == "#01665e"


def test_parts_stack_to_one_with_their_shares_printed():
    frame = pd.DataFrame({"row": ["a"], "x": [0.97], "y": [0.03], "n_conversations": [10]})
    figure = draw_parts(
        frame, template=SCREEN, row="row", parts={"x": ("X", "#000000"), "y": ("Y", "#ffffff")}, unit="u"
    )
    assert [trace.x[0] for trace in figure.data] == [0.97, 0.03]
    assert [trace.text[0] for trace in figure.data] == ["97", ""]
    assert figure.layout.barmode == "stack"


class TestSurface:
    def draw(self, template):
        grid = np.linspace(-1, 1, 5)
        heights = grid[:, None] + 10 * grid[None, :]
        points = pd.DataFrame({"x": [-1.0, 1.0], "y": [0.0, 0.5], "z": [2.0, 3.0]})
        ticks = (([-1, 1], ["1", "3"]), ([-1, 1], ["1", "5"]))
        return draw_response_surface(
            grid, heights, points, template=template, ticks=ticks, titles=("Desired", "Experienced", "Satisfaction")
        )

    def test_paper_gets_lines_of_equal_height_and_no_bitmap(self):
        figure = self.draw(PAPER)
        contour = next(trace for trace in figure.data if trace.type == "contour")
        assert contour.contours.coloring == "none" and contour.contours.showlabels
        assert {trace.type for trace in figure.data} == {"scatter", "contour"}
        congruence = next(trace for trace in figure.data if trace.name == "Congruence")
        assert list(congruence.x) == list(congruence.y) == [-1, 1]

    def test_the_screen_gets_a_surface_that_turns(self):
        figure = self.draw(SCREEN)
        assert {trace.type for trace in figure.data} == {"surface", "scatter3d"}
        line = figure.data[-1]
        # On the diagonal the height is 11 times the place: rows are experienced, columns desired.
        assert list(line.z) == pytest.approx([-11, -5.5, 0, 5.5, 11])


def test_curves_have_a_band_a_colour_and_a_dash_each():
    frame = pd.DataFrame(
        {"level": [1, 1, 2, 2], "y": [-1, 1, 0, 1], "estimate": [1, 2, 3, 4], "conf_low": [0, 1, 2, 3], "conf_high": [2, 3, 4, 5]}
    )  # fmt: skip
    figure = draw_level_curves(
        frame, template=SCREEN, level_labels={1: "One", 2: "Two"}, colors=["#111111", "#222222"], ticks=([-1, 1], ["1", "5"]),
        titles=("E", "S"), limits=(1, 5),
    )  # fmt: skip
    lines = [trace for trace in figure.data if trace.showlegend is not False]
    assert [line.name for line in lines] == ["One", "Two"]
    assert len({line.line.dash for line in lines}) == 2
    assert list(figure.data[0].x) == [-1, 1, 1, -1]


def test_thirds_stand_beside_the_level_that_was_wanted():
    frame = pd.DataFrame(
        {
            "desired_empathy": [3.0] * 3,
            "third": [1, 2, 3],
            "rating_pomp": [70.0, 65.0, 60.0],
            "conf_low": [65.0, 60.0, np.nan],
            "conf_high": [75.0, 70.0, np.nan],
            "desired_pomp": [100.0] * 3,
            "n_conversations": [10] * 3,
        }
    )
    figure = draw_thirds(frame, template=SCREEN, labels={3.0: "level 3"}, colors=["#01665e"], unit="Rating")
    wanted, ratings = figure.data
    assert list(wanted.y) == [100, 100] and wanted.line.dash == "dash"
    assert list(ratings.y) == [70, 65, 60]
    assert list(ratings.error_y.array[:2]) == [5, 5]


class TestMatrix:
    def frame(self):
        return pd.DataFrame(
            {"task": ["a", "a"], "item": ["x", "y"], "gap": [-20.0, 30.0], "n": [5, 6], "note": ["n 5\n9 %", ""], "low": [True, False]}
        )  # fmt: skip

    def draw(self, template=SCREEN):
        return draw_matrix(
            self.frame(), template=template, row="task", across="item", value="gap", count="n", row_labels={},
            across_title="Gap", unit="Gap", percent=False, signed=True, minimum=-30, maximum=30, note="note", mark="low",
        )  # fmt: skip

    def test_signs_notes_and_outlines(self):
        figure = self.draw()
        assert list(figure.data[0].text) == ["−20<br>n 5<br>9 %", "+30"]
        first, second = figure.layout.shapes
        assert first.line.width > 0 and second.line.width == 0
        assert second.fillcolor == "#01665e" and first.fillcolor != second.fillcolor

    def test_names_of_columns_may_stand_upright_and_keep_clear_of_the_mark(self):
        assert list(self.draw().layout.xaxis.autotickangles) == [0, -90]
        assert self.draw(Template(synthetic=True)).layout.xaxis.title.text == "\u00a0"


def test_wrapped_titles_lose_no_word_and_leave_no_orphan():
    text = "Percent of each scale's maximum (desired 1–3, experienced 1–5)"
    lines = wrap(text, 36).split("<br>")
    assert " ".join(lines) == text
    assert max(map(len, lines)) <= 36 and min(map(len, lines)) > 20
    assert wrap("", 36) == "" and wrap("Short", 36) == "Short"
