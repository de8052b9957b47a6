"""The tables' home: scales, hashes that know content only, and arrays made without pandas."""

import subprocess
import sys

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dashboard.intake.arrays import number_array, text_array
from dashboard.intake.dataset import SCHEMAS, SENSE7_SCALES, ContentHash, data_sha256, scales_table, write_dataset


def hash_of(*tables, name="t"):
    content = ContentHash()
    for table in tables:
        content.update(name, table)
    return content.hexdigest()


CELLS = st.lists(st.none() | st.text(st.characters(blacklist_categories=("Cs",)), max_size=5), max_size=12)
NUMBERS = st.lists(st.none() | st.floats(allow_nan=False), max_size=12)


class TestTheHash:
    @given(CELLS, st.integers(0, 12))
    def test_knows_no_batches(self, cells, cut):
        table = pa.table({"a": text_array(cells)})
        assert hash_of(table) == hash_of(table.slice(0, cut), table.slice(cut))

    @given(CELLS, CELLS)
    def test_differs_where_cells_differ(self, one, other):
        hashes = {hash_of(pa.table({"a": text_array(cells)})) for cells in (one, other)}
        assert len(hashes) == (1 if one == other else 2)

    @given(NUMBERS, NUMBERS)
    def test_differs_where_numbers_differ(self, one, other):
        hashes = {hash_of(pa.table({"a": number_array(cells, pa.float64())})) for cells in (one, other)}
        assert len(hashes) == (1 if one == other else 2)

    def test_knows_no_storage(self):
        texts, numbers = ["a", None, "b", "a"], [1, None, 2, 3]
        plain = pa.table({"a": pa.array(texts), "n": pa.array(numbers, pa.int64())})
        packed = pa.table(
            {"a": pa.array(texts, pa.large_string()).dictionary_encode(), "n": pa.array(numbers, pa.int8())}
        )
        assert hash_of(plain) == hash_of(packed)

    def test_passes_over_what_hides_behind_a_null(self):
        texts = ["a", "hidden", "", "b"]
        bits = pa.py_buffer(bytes([0b1101]))
        _, ends, data = pa.array(texts).buffers()
        masked = pa.Array.from_buffers(pa.string(), 4, [bits, ends, data])
        numbers = pa.Array.from_buffers(pa.float64(), 4, [bits, pa.array([1.0, 9.0, -0.0, 2.0]).buffers()[1]])
        tidy = pa.table({"a": ["a", None, "", "b"], "n": [1.0, None, 0.0, 2.0]})
        assert hash_of(pa.table({"a": masked, "n": numbers})) == hash_of(tidy)

    def test_knows_names_of_tables_and_columns(self):
        table = pa.table({"a": ["x"]})
        assert len({hash_of(table), hash_of(table, name="u"), hash_of(table.rename_columns(["b"]))}) == 3

    def test_of_a_folder_is_that_of_its_tables_however_written(self, plain, tmp_path):
        for path in plain.folder.glob("*.parquet"):
            pq.write_table(pq.read_table(path), tmp_path / path.name, row_group_size=3, compression="snappy")
        assert data_sha256(tmp_path) == plain.manifest["data_sha256"]


class TestArrays:
    @given(CELLS)
    def test_of_texts_equal_arrows_own(self, cells):
        assert text_array(cells).equals(pa.array(cells, pa.string()))

    @given(st.lists(st.none() | st.integers(-(2**31), 2**31 - 1)))
    def test_of_whole_numbers_equal_arrows_own(self, cells):
        assert number_array(cells, pa.int32()).equals(pa.array(cells, pa.int32()))

    def test_need_no_pandas(self, study, tmp_path):
        source = study.to_xlsx(tmp_path / "a.xlsx")
        program = (
            "import sys; from pathlib import Path; from dashboard.intake import import_source;"
            "import_source(Path(sys.argv[1]), Path(sys.argv[2])); print('pandas' in sys.modules)"
        )
        done = subprocess.run(
            [sys.executable, "-c", program, str(source), str(tmp_path / "out")],
            capture_output=True,
            text=True,
            check=True,
        )
        assert done.stdout == "False\n"


class TestScales:
    def test_of_the_released_shape(self):
        rows = {row["measure"]: row for row in scales_table(SENSE7_SCALES).to_pylist()}
        assert len(rows) == 22
        assert [row["position"] for row in rows.values()] == list(range(1, 23))
        scores = [row["score"] for row in rows.values()]
        assert (scores.count("dimension"), scores.count("experienced_empathy"), scores.count("satisfaction")) == (
            7,
            7,
            4,
        )
        assert (rows["desired_empathy"]["minimum_label"], rows["desired_empathy"]["maximum"]) == ("Minimal empathy", 3)
        assert rows["turn_mean"]["step"] is None
        assert all((row["kind"] == "rating") == (row["rated_role"] == "assistant") for row in rows.values())

    def test_are_those_that_an_import_writes(self, plain):
        assert plain.table("scales").equals(scales_table(SENSE7_SCALES))


def test_every_table_has_the_columns_of_the_dictionary(plain):
    for name, schema in SCHEMAS.items():
        assert plain.table(name).schema.equals(schema), name


def test_a_table_of_another_shape_is_not_written(plain, tmp_path):
    from dataclasses import replace

    from dashboard.intake.dataset import Dataset

    tables = {name: plain.table(name) for name in SCHEMAS}
    wrong = replace(Dataset(**tables), survey=tables["survey"].drop_columns(["phase"]))
    with pytest.raises(TypeError, match="survey"):
        write_dataset(wrong, {}, tmp_path / "out")
    assert not (tmp_path / "out").exists()
