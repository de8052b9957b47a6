"""Figures of breakdowns: what is drawn has its place, and large data stays light."""

import json

import pandas as pd
import pytest

from dashboard.figures.impact import draw_impact
from dashboard.figures.rating_course import draw_rating_course
from dashboard.figures.template import Template

PAPER = Template(paper=True, width=336, font_size=10.7)


@pytest.mark.parametrize("estimates", [(0.2, 0.9, 1.3), (-0.4, 0.01, 0.1), (1.142, 2.0, 3.0)])
def test_the_published_cost_is_named_in_the_legend_where_it_lies_over_nothing(estimates):
    frame = pd.DataFrame(
        {"outcome": list("abc"), "series": "over", "estimate": estimates, "n": 50}
        | {"conf_low": [one - 0.2 for one in estimates], "conf_high": [one + 0.2 for one in estimates]}
    )
    figure = draw_impact(frame, template=PAPER, series_labels={"over": "d"}, reported=1.142, unit="Cost")
    assert not figure.layout.annotations
    line = next(shape for shape in figure.layout.shapes if shape.showlegend)
    assert (line.name, line.x0, line.x1) == ("reported 1.142 (contrast not stated)", 1.142, 1.142)
    low, high = figure.layout.xaxis.range
    assert low < min(0, *frame["conf_low"]) and high > max(1.142, *frame["conf_high"])
    # Rows share the whole height.
    assert sorted(figure.layout.yaxis.range) == [-0.55, 2.55]


@pytest.mark.parametrize("last", [1, 2, 15, 45, 400])
def test_a_course_prints_turns_upright_with_room_between(last):
    frame = pd.DataFrame({"turn": range(1, last + 1), "value": 3.0, "answer": "rated", "is_breakdown": False})
    figure = draw_rating_course(frame, template=PAPER, label="Overall", limits=(1.0, 5.0), ends=("low", "high"))
    ticks = figure.layout.xaxis.tickvals
    assert figure.layout.xaxis.tickangle == 0
    assert ticks[0] == 1 and ticks[-1] <= last and len(ticks) <= 12
    assert all(tick == int(tick) for tick in ticks)


@pytest.mark.parametrize("by", ["none", "task"])
def test_trajectories_send_single_conversations_by_the_dozen_however_many_there_are(given, by):
    from dashboard.analyses import registry
    from dashboard.analyses.findings import Selection, run_analysis

    turns = [
        {"conversation": f"c{place}", "overall": 1 + (place * 7 + turn * 3) % 5}
        for place in range(900)
        for turn in range(4)
    ]
    people = [{"conversation": f"c{n}", "participant": f"p{n % 40}", "task": f"t{n % 3}"} for n in range(900)]
    one = registry()["rating_trajectories"]
    found = run_analysis(given(turns, people), one, Selection(), one.parameters(by=by))
    drawn = found.figures["rating_trajectories"].figure(Template())
    singles = next(trace for trace in drawn.data if "of 900 conversations" in trace.name)
    assert len({row[0] for row in singles.customdata if row[0]}) == 60
    assert len(drawn.to_json()) < 60_000
    json.loads(drawn.to_json())
