"""Every SQL file is plain, says what its rows are, and keeps its promises on the sample."""

import re

import duckdb
import pandas as pd
import pytest

from dashboard.database import connect, layers
from dashboard.paths import QUERIES, SAMPLE
from dashboard.queries import FILTERS, parse_values, print_query, report, report_names, run_query
from dashboard.vocabulary import Refused

FILES = sorted(QUERIES.rglob("*.sql"))
DEFAULTS = {"outcome": "overall"}


@pytest.fixture(scope="module")
def data():
    return connect(SAMPLE, public=False)


def code_of(path):
    return "\n".join(line for line in path.read_text().splitlines() if not line.strip().startswith("--"))


def final_select(path):
    """The text from the last select that stands at the beginning of a line."""
    return re.split(r"^(?=select\b)", code_of(path), flags=re.MULTILINE)[-1]


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
class TestEveryFile:
    def test_says_what_a_row_is_and_its_key(self, path):
        lines = path.read_text().splitlines()
        assert re.match(r"-- One row per .+[.:,]?", lines[0])
        assert lines[1].startswith("-- key: ")

    def test_is_one_statement(self, path):
        statements = duckdb.extract_statements(path.read_text())
        assert len(statements) == 1

    def test_names_its_final_columns(self, path):
        has_star = bool(re.search(r"select\s+\*|\.\*", final_select(path)))
        # Covariates are not known beforehand: the one star, and its header says so.
        assert has_star == (path.stem == "stg_participants")

    def test_orders_what_is_read_and_nothing_else(self, path):
        ordered = "order by" in final_select(path)
        assert ordered == (path.parent.name in {"reports", "checks"})


@pytest.mark.parametrize("name", report_names())
class TestEveryReport:
    def test_declares_the_parameters_that_it_uses(self, name):
        used = set(re.findall(r"\$([a-z_]+)", code_of(QUERIES / "reports" / f"{name}.sql")))
        assert used == set(report(name).parameters)

    def test_its_key_identifies_a_row_of_the_sample(self, name, data):
        given = {key: value for key, value in DEFAULTS.items() if key in report(name).parameters}
        rows = run_query(data, name, **given)
        assert len(rows) > 0
        key = list(report(name).key)
        assert set(key) <= set(rows.columns)
        assert not rows.duplicated(key).any()
        assert not rows[key].isna().any().any()

    def test_prints_ready_to_paste_and_gives_the_same_rows(self, name, data):
        given = {key: value for key, value in DEFAULTS.items() if key in report(name).parameters}
        if "task" in report(name).parameters:
            given["task"] = ["Debugging a teapot", "O'Neill"]
        fresh = duckdb.connect(":memory:")
        statements = duckdb.extract_statements(print_query(data, name, **given))
        for statement in statements[:-1]:
            fresh.execute(statement)
        pasted = fresh.execute(statements[-1]).df()
        pd.testing.assert_frame_equal(pasted, run_query(data, name, **given), check_dtype=False)


@pytest.mark.parametrize("layer", layers(), ids=lambda layer: layer.name)
def test_key_of_staging_and_marts_identifies_a_row(layer, data):
    key = re.search(r"^-- key: (.+)$", layer.sql, flags=re.MULTILINE).group(1)
    values = ["'overall'" if name == "rated_on" else "null" for name in layer.parameters]
    source = f"{layer.name}({', '.join(values)})" if layer.parameters else layer.name
    total, distinct = data.cursor().execute(f"select count(*), count(distinct ({key})) from {source}").fetchone()
    assert total == distinct > 0


def test_an_unknown_query_and_an_unknown_parameter_are_refused_with_what_exists(data):
    with pytest.raises(Refused, match=r"no query 'grund_truth'.*Did you mean 'ground_truth'"):
        run_query(data, "grund_truth")
    with pytest.raises(Refused, match=r"parameter of the query 'ground_truth' called 'colour'.*'task'"):
        run_query(data, "ground_truth", colour="red")


def test_every_filter_keeps_exactly_the_rows_that_pandas_keeps(data):
    everything = data.cursor().execute("select * from conversation_scores order by position").df()
    chosen = {
        "task": ["Debugging a teapot", "Ode to a potato"],
        "model": ["GPT-4"],
        "desired_empathy": [1.0, 3.0],
    }
    expected = everything
    for key, values in chosen.items():
        expected = expected[expected[key].isin(values)]
    assert 0 < len(expected) < len(everything)
    assert run_query(data, "ground_truth", **chosen)["conversation"].tolist() == expected["conversation"].tolist()


@pytest.mark.parametrize("name", ["rated_turns", "conversation_sums", "participant_ratings", "selected_units"])
def test_a_report_that_needs_ids_alone_reads_no_message_and_no_survey(name, data):
    values = {key: DEFAULTS.get(key) for key in report(name).parameters}
    plan = str(data.cursor().execute(f"explain (analyze, format json) {report(name).sql}", values).fetchall())
    read = set(re.findall(r"(\w+)\.parquet", plan))
    assert read and read <= {"conversations", "ratings", "scales"}


def test_an_empty_list_is_no_filter(data):
    assert len(run_query(data, "ground_truth", task=[])) == len(run_query(data, "ground_truth"))


def test_min_rated_turns_counts_rated_turns_of_the_outcome(data):
    ratings = data.cursor().execute("select * from stg_ratings").df()
    rated = ratings[(ratings["outcome"] == "overall") & (ratings["answer"] == "rated")]
    counts = rated.groupby("conversation").size()
    kept = run_query(data, "ground_truth", min_rated_turns=8)["conversation"]
    assert set(kept) == set(counts[counts >= 8].index)


def test_flagged_participants_leave_with_all_their_conversations(data):
    flagged = data.cursor().execute("select cluster from straight_lining where flagged").df()["cluster"]
    kept = run_query(data, "ground_truth", exclude_flagged=True)
    everything = run_query(data, "ground_truth")
    assert len(flagged) > 0
    assert set(everything["participant"]) - set(kept["participant"]) == set(flagged)


def test_cursors_of_two_threads_do_not_mix_their_rows(data):
    from concurrent.futures import ThreadPoolExecutor

    tasks = run_query(data, "selection_levels").query("filter == 'task'")
    expected = dict(zip(tasks["level"], tasks["n_conversations"], strict=True))

    def count(task):
        return (
            task,
            set(run_query(data, "ground_truth", task=[task])["task"]),
            len(run_query(data, "ground_truth", task=[task])),
        )

    with ThreadPoolExecutor(8) as pool:
        for task, seen, n in pool.map(count, list(expected) * 12):
            assert seen == {task}
            assert n == expected[task]


class TestTheConnectionIsLocked:
    @pytest.mark.parametrize(
        "statement",
        [
            "select * from read_csv('/etc/passwd')",
            "copy (select 1) to 'out.csv'",
            "set enable_external_access = true",
            "set memory_limit = '100GB'",
            "install httpfs",
            "attach 'other.db'",
        ],
    )
    def test_it_reads_nothing_else_and_its_settings_stay(self, data, statement):
        with pytest.raises(duckdb.Error):
            data.cursor().execute(statement)


class TestPublicMode:
    def test_hides_all_participant_text(self):
        hidden = connect(SAMPLE, public=True)
        text, comment, n = (
            hidden.cursor().execute("select count(text), count(comment), count(*) from raw.messages").fetchone()
        )
        assert (text, comment) == (0, 0)
        assert n > 9000

    def test_prints_queries_that_hide_it_too(self):
        hidden = connect(SAMPLE, public=True)
        assert "null::varchar as text" in print_query(hidden, "codebook")


def test_values_of_parameters_are_read_by_kind():
    values = parse_values(
        "participant_ratings",
        [
            ("task", "A=B"),
            ("task", "C"),
            ("desired_empathy", "2"),
            ("min_rated_turns", "3"),
            ("exclude_flagged", "true"),
        ],
    )
    assert values == {
        "task": ["A=B", "C"],
        "desired_empathy": [2.0],
        "min_rated_turns": 3,
        "exclude_flagged": True,
    }
    assert set(FILTERS) <= set(report("participant_ratings").parameters)
    with pytest.raises(Refused, match=r"whole number; came '2.5'"):
        parse_values("participant_ratings", [("min_rated_turns", "2.5")])
    with pytest.raises(Refused, match="takes one value; it came twice"):
        parse_values("participant_ratings", [("outcome", "overall"), ("outcome", "affective")])


def test_without_an_overall_rating_rated_turns_are_those_of_the_first_outcome(tmp_path):
    import shutil

    folder = tmp_path / "warmth"
    shutil.copytree(SAMPLE, folder)
    for name, column in (("ratings", "outcome"), ("scales", "measure")):
        table = pd.read_parquet(folder / f"{name}.parquet")
        table[table[column] != "overall"].to_parquet(folder / f"{name}.parquet")
    without = connect(folder, public=False)
    kept = run_query(without, "ground_truth", min_rated_turns=8)
    rated = without.cursor().execute(
        "select conversation from stg_ratings where outcome = 'affective' and answer = 'rated' "
        "group by conversation having count(*) >= 8"
    ).df()  # fmt: skip
    assert set(kept["conversation"]) == set(rated["conversation"])
    assert len(kept) > 0
