"""Every analysis keeps what pages, the command line and the export rely on: members are discovered, so this grows with the code."""

import dataclasses
import json

import pytest

from dashboard.analyses import PAGES, registry
from dashboard.analyses.findings import Parameters, Selection, parse_parameters, run_analysis
from dashboard.database import connect
from dashboard.export import table_text
from dashboard.figures.template import Template
from dashboard.paths import SAMPLE
from dashboard.vocabulary import COLUMNS, NotInThisData, Refused, TooLittleData

SCREEN, DARK, PAPER = Template(), Template(dark=True, synthetic=True), Template(paper=True, width=336, font_size=10.7)


@pytest.fixture(scope="module")
def data():
    return connect(SAMPLE, public=False)


@pytest.fixture(scope="module")
def opened_anew():
    return connect(SAMPLE, public=False)


@pytest.fixture(scope="module")
def found(data):
    """Findings on the whole sample, computed once per analysis."""
    cache = {}

    def get(name):
        if name not in cache:
            one = registry()[name]
            cache[name] = run_analysis(data, one, Selection(), one.parameters())
        return cache[name]

    return get


# Tests of one analysis share a worker, and so its findings.
EVERY = [pytest.param(name, marks=pytest.mark.xdist_group(name)) for name in registry()]


@pytest.mark.parametrize("name", EVERY)
class TestEveryAnalysis:
    def test_is_named_alike_everywhere(self, name):
        one = registry()[name]
        assert one.page in PAGES
        assert name in one.tables
        assert all(table == name or table.startswith(f"{name}.") for table in [*one.tables, *one.figures])
        assert one.question and one.method
        assert dataclasses.is_dataclass(one.parameters)
        assert issubclass(one.parameters, Parameters)

    def test_finds_what_it_declares_on_the_sample(self, name, found):
        findings, one = found(name), registry()[name]
        assert findings.name == name
        assert set(findings.tables) <= set(one.tables)
        assert set(findings.figures) <= set(one.figures)
        assert name in findings.tables
        assert len(findings.table) > 0

    def test_every_column_of_every_table_has_a_label(self, name, found, data):
        own = {row[0] for row in data.cursor().execute("select measure from raw.scales").fetchall()}
        for table, frame in found(name).tables.items():
            # The rows of a model bear the names of its formula, outcomes among them.
            unlabelled = set(frame.columns) - set(COLUMNS) - (own if table == "mixed_model.rows" else set())
            assert not unlabelled, table

    def test_says_its_finding_in_one_sentence(self, name, found):
        headline = found(name).headline
        assert headline[0].isupper() or headline[0].isdigit()
        assert headline.endswith(".")
        assert len(headline) < 600
        for banned in ("nan", "None", "<NA>", "inf "):
            assert banned not in headline

    def test_draws_in_every_medium(self, name, found):
        for figure_name, drawing in found(name).figures.items():
            for template in (SCREEN, DARK, PAPER):
                figure = drawing.figure(template)
                assert len(figure.data) > 0, figure_name
                shown = "SYNTHETIC" in figure.to_json()
                assert shown == template.synthetic
            assert len(drawing.alt) > 20

    def test_draws_nothing_that_a_pdf_would_hold_as_a_bitmap(self, name, found):
        bitmaps = {"heatmap", "histogram2d", "scattergl", "image", "heatmapgl", "histogram2dcontour"}
        for drawing in found(name).figures.values():
            assert not bitmaps & {trace.type for trace in drawing.figure(PAPER).data}

    def test_gives_the_same_twice_to_the_last_digit(self, name, opened_anew, found):
        """Asked of the data opened anew: threads must not change what is shown or exported."""
        one = registry()[name]
        again = run_analysis(opened_anew, one, Selection(), one.parameters())
        assert again.headline == found(name).headline
        assert list(again.tables) == list(found(name).tables)
        for table, frame in found(name).tables.items():
            assert table_text(frame, "csv") == table_text(again.tables[table], "csv"), table

    @pytest.mark.parametrize(
        "selection",
        [
            Selection(participant=("S001",)),
            Selection(task=("Ode to a potato",), model=("GPT-4",)),
            Selection(desired_empathy=(3.0,), exclude_flagged=True, min_rated_turns=6),
        ],
        ids=["one participant", "task and model", "long conversations of one desired level"],
    )
    def test_answers_or_says_why_not_for_a_selection(self, name, data, selection):
        one = registry()[name]
        try:
            findings = run_analysis(data, one, selection, one.parameters())
        except (TooLittleData, NotInThisData) as reason:
            assert str(reason).endswith(".")
            return
        assert findings.headline.endswith(".")
        for drawing in findings.figures.values():
            json.loads(drawing.figure(SCREEN).to_json())

    def test_refuses_an_empty_selection_with_what_to_do(self, name, data):
        one = registry()[name]
        if name == "codebook" or name == "data_quality":
            # They describe the whole data; filters do not apply to them.
            assert run_analysis(data, one, Selection(min_rated_turns=10_000), one.parameters()).tables
            return
        with pytest.raises(TooLittleData, match="filter"):
            run_analysis(data, one, Selection(min_rated_turns=10_000), one.parameters())

    def test_reads_its_declared_parameters_from_text(self, name):
        one = registry()[name]
        for key, item in one.parameter_fields().items():
            for choice in item.metadata["choices"]:
                _, parameters = parse_parameters(one, [(key, str(choice))])
                assert getattr(parameters, key) == choice


def test_a_level_that_does_not_exist_is_refused_with_those_that_do(data):
    one = registry()["ground_truth"]
    with pytest.raises(Refused, match="no task 'Ode to a tomato'.*Did you mean 'Ode to a potato'"):
        run_analysis(data, one, Selection(task=("Ode to a tomato",)), one.parameters())


def test_the_hits_of_a_search_have_labels_too(data):
    one = registry()["message_search"]
    hits = run_analysis(data, one, Selection(), one.parameters(text="the")).tables["message_search.hits"]
    assert set(hits.columns) <= set(COLUMNS)


def test_formats_of_columns_are_those_that_are_printed():
    known = {"text", "count", "rating", "number", "plain", "percent", "percent1", "p"}
    assert {entry.format for entry in COLUMNS.values()} <= known
