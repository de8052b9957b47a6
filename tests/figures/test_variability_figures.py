"""Figures of people at any number: all counted, a few hundred drawn, small enough to send, and no words over the marks."""

import numpy as np
import pandas as pd
import pytest

from dashboard.figures.caterpillar import DRAWN, draw_caterpillar
from dashboard.figures.person import draw_person_conversations
from dashboard.figures.styles import DOTS, draw_style_map
from dashboard.figures.template import Template

SCALE = {"limits": (1.0, 5.0), "ends": ("Very poor", "Very good"), "unit": "Empathy"}
MANY = 10_000


@pytest.fixture(scope="module")
def people():
    rng = np.random.default_rng(1)
    mean = np.sort(rng.uniform(1.2, 4.8, MANY))
    return pd.DataFrame(
        {
            "participant": [f"S{place:05d}" for place in range(MANY)],
            "n_turns": rng.integers(2, 90, MANY),
            "n_conversations": rng.integers(1, 14, MANY),
            "mean": mean,
            "shrunken_mean": mean,
            "conf_low": mean - 0.4,
            "conf_high": mean + 0.4,
            "everyone": 3.0,
            "std_dev": rng.uniform(0.0, 1.5, MANY),
            "relative_std_dev": rng.uniform(0.0, 1.0, MANY),
        }
    )


def trace(figure, name):
    return next(one for one in figure.data if one.name and one.name.startswith(name))


class TestCaterpillar:
    def test_of_very_many_evenly_spaced_ones_are_drawn_with_the_ends_and_the_chosen(self, people):
        figure = draw_caterpillar(people, template=Template(), chosen="S00777", **SCALE)
        drawn = [point[0] for point in next(one for one in figure.data if one.meta == "people").customdata]
        assert DRAWN <= len(drawn) <= DRAWN + 1
        assert {drawn[0], drawn[-1]} == {"S00000", f"S{MANY - 1:05d}"} and "S00777" in drawn
        assert "10,000 participants" in figure.layout.xaxis.title.text.replace("<br>", " ")
        assert len(figure.to_json()) < 150_000

    def test_everyones_mean_is_a_line_across_that_the_legend_names(self, people):
        figure = draw_caterpillar(people.iloc[:40], template=Template(), **SCALE)
        line = trace(figure, "everyone")
        assert line.name == "everyone 3.00" and list(line.y) == [3.0, 3.0]
        assert list(line.x) == list(figure.layout.xaxis.range)
        assert not figure.layout.annotations

    def test_lines_of_its_title_fit_a_column_of_paper(self, people):
        title = draw_caterpillar(people, template=Template(paper=True), **SCALE).layout.xaxis.title.text
        assert max(map(len, title.split("<br>"))) <= Template(paper=True).line_length


def test_the_course_of_a_person_names_everyone_in_the_legend():
    frame = pd.DataFrame(
        {
            "place": [0, 1, 3, 4],
            "conversation": ["a", "a", "b", "b"],
            "number": [1, 1, 2, 2],
            "turn": [1, 2, 1, 2],
            "value": [3.0, 4.0, 2.0, 5.0],
            "mean": [3.5, 3.5, 3.5, 3.5],
            "task": ["Plan"] * 4,
        }
    )
    figure = draw_person_conversations(frame, template=Template(), everyone=3.25, **SCALE)
    assert list(trace(figure, "everyone 3.25").y) == [3.25, 3.25]
    assert not figure.layout.annotations


class TestStyleMap:
    @pytest.mark.parametrize("n", [DOTS, DOTS + 1, MANY])
    def test_everyone_is_in_both_panels(self, people, n):
        shown = people.iloc[np.linspace(0, MANY - 1, n).astype(int)]
        figure = draw_style_map(shown, template=Template(), typical_n=40, **SCALE)
        for axis in ("y", "y2"):
            cells = [one for one in figure.data if one.type == "bar" and one.yaxis == axis]
            dots = [
                one
                for one in figure.data
                if one.type == "scatter" and one.mode == "markers" and one.yaxis == axis and len(one.x) > 1
            ]
            assert sum(point[3] for one in cells for point in one.customdata) + sum(len(one.x) for one in dots) == n
            assert bool(cells) == (n > DOTS)
        assert len(figure.to_json()) < 400_000

    def test_a_cell_stands_where_its_people_are(self, people):
        figure = draw_style_map(people, template=Template(), typical_n=40, **SCALE)
        cells = next(one for one in figure.data if one.type == "bar" and one.yaxis == "y")
        middle = np.asarray(cells.x), np.asarray(cells.base) + np.asarray(cells.y) / 2
        counts = np.array([point[3] for point in cells.customdata])
        assert np.average(middle[0], weights=counts) == pytest.approx(people["mean"].mean(), abs=0.02)
        assert np.average(middle[1], weights=counts) == pytest.approx(people["std_dev"].mean(), abs=0.02)

    def test_the_hatching_lies_where_no_spread_can_be(self, people):
        figure = draw_style_map(people.iloc[:50], template=Template(), typical_n=40, **SCALE)
        lines = next(one for one in figure.data if one.mode == "lines" and not one.fill)
        x, y = (np.array([np.nan if one is None else one for one in axis]) for axis in (lines.x, lines.y))
        known = np.isfinite(x)
        assert known.sum() > 20
        largest = np.sqrt(np.maximum((x[known] - 1) * (5 - x[known]), 0) * 40 / 39)
        assert (y[known] >= largest - 1e-9).all()
