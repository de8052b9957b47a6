"""Sums read in the order of the file equal those of the query, however the file is cut and ordered."""

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest

from dashboard.analyses.turn_stream import read_conversations, stream_turns, sum_turns, survey_answers
from dashboard.paths import SAMPLE
from dashboard.queries import run_query

SUMS = ["n_turns", "n", "sum_turn", "sum_turn2", "sum_y", "sum_y_turn", "sum_y2"]


@pytest.fixture(scope="module")
def ids():
    return read_conversations(SAMPLE / "conversations.parquet")["conversation"].combine_chunks()


def sums(file, outcome, ids):
    found = sum_turns(file, outcome, ids)
    return np.column_stack([getattr(found, name) for name in SUMS])


@pytest.fixture(scope="module")
def expected(sample, ids):
    """Return the mart's sums, which DuckDB computes from the view."""

    def get(outcome):
        frame = run_query(sample, "model_moments", outcome=outcome).set_index("conversation")
        return frame.loc[ids.to_pylist(), SUMS].fillna(0).to_numpy()

    return get


@pytest.mark.parametrize("outcome", ["overall", "relational", "turn_mean"])
def test_they_are_those_of_the_query(ids, expected, outcome):
    np.testing.assert_allclose(
        sums(SAMPLE / "ratings.parquet", outcome, ids), expected(outcome), rtol=1e-14, atol=1e-12
    )


@pytest.mark.parametrize("rows", [1, 7, 100, 10**6])
def test_however_the_file_is_cut(ids, expected, rows, tmp_path):
    table = pq.read_table(SAMPLE / "ratings.parquet")
    table = table.filter(pc.is_in(table["conversation"], ids.slice(3, 15)))
    pq.write_table(table, tmp_path / "ratings.parquet", row_group_size=rows)
    found = sums(tmp_path / "ratings.parquet", "overall", ids)
    np.testing.assert_allclose(found[3:18], expected("overall")[3:18], rtol=1e-14)
    assert not found[18:].any()


def test_in_any_order_of_rows(ids, expected, tmp_path):
    table = pq.read_table(SAMPLE / "ratings.parquet")
    shuffled = table.take(np.random.default_rng(5).permutation(len(table)))
    pq.write_table(shuffled, tmp_path / "ratings.parquet", row_group_size=5000)
    np.testing.assert_allclose(sums(tmp_path / "ratings.parquet", "overall", ids), expected("overall"), rtol=1e-13)


def test_for_any_part_and_order_of_the_conversations(ids, expected):
    order = np.random.default_rng(6).permutation(len(ids))[:400]
    found = sums(SAMPLE / "ratings.parquet", "overall", ids.take(pa.array(order)))
    np.testing.assert_allclose(found, expected("overall")[order], rtol=1e-14)


def test_conversations_without_turns_and_unknown_ones_between(ids, expected, tmp_path):
    table = pq.read_table(SAMPLE / "ratings.parquet")
    gone = ids.take(pa.array([0, 5, 6, 300, 671]))
    kept = table.filter(pc.invert(pc.is_in(table["conversation"], gone)))
    pq.write_table(kept, tmp_path / "ratings.parquet", row_group_size=3000)
    wanted = expected("overall").copy()
    wanted[[0, 5, 6, 300, 671]] = 0
    np.testing.assert_allclose(sums(tmp_path / "ratings.parquet", "overall", ids), wanted, rtol=1e-14)
    part = ids.slice(100, 300)
    np.testing.assert_allclose(sums(tmp_path / "ratings.parquet", "overall", part), wanted[100:400], rtol=1e-14)


def test_turns_come_whole_and_in_order():
    runs = list(stream_turns(SAMPLE / "ratings.parquet", "relational", stated=True))
    rows = pd.read_parquet(SAMPLE / "ratings.parquet").query("outcome == 'relational'")
    names = np.concatenate([np.repeat(run.ids.to_pylist(), run.lengths) for run in runs])
    assert names.tolist() == rows["conversation"].tolist()
    assert np.concatenate([run.turn for run in runs]).tolist() == rows["turn"].tolist()
    np.testing.assert_array_equal(np.concatenate([run.value for run in runs]), rows["value"])
    np.testing.assert_array_equal(np.concatenate([run.stated for run in runs]), rows["answer"] == "not_applicable")


@pytest.mark.parametrize("item", ["importance", "desired_empathy"])
def test_survey_answers_are_those_of_the_query(sample, ids, item):
    known = run_query(sample, "model_conversations").set_index("conversation")[item]
    np.testing.assert_array_equal(survey_answers(SAMPLE / "survey.parquet", item, ids), known.loc[ids.to_pylist()])
