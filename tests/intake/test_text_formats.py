"""Folders and single files of csv, jsonl and parquet give the same tables as the workbook."""

import datetime as dt
import json

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from dashboard.intake import import_source

TABLES = ("conversations", "messages", "ratings", "survey", "participants", "scales")


def same_tables(one, other, without=()):
    for name in TABLES:
        drop = [column for column in without if column in one.table(name).column_names]
        assert one.table(name).drop_columns(drop).to_pylist() == other.table(name).drop_columns(drop).to_pylist(), name


class TestFolders:
    @pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "utf-16-le", "utf-16-be", "cp1252", "utf-32"])
    @pytest.mark.parametrize("delimiter", [",", ";", "\t"])
    def test_of_csv(self, study, take, tmp_path, encoding, delimiter):
        study.set("Messages", 2, "Content", "Größe; “très”,\nzwei Zeilen\t€")
        found = take(study.to_folder(tmp_path / "data", encoding=encoding, delimiter=delimiter))
        same_tables(found, take(study))
        assert found.report.origin == "folder"
        assert found.report.sheets == {"Messages": 16, "Tasks": 4}
        assert bool(found.noted("Windows-1252")) == (encoding == "cp1252")

    @pytest.mark.parametrize("ending", ["jsonl", "parquet"])
    def test_of_jsonl_and_parquet(self, study, plain, take, tmp_path, ending):
        same_tables(take(study.to_folder(tmp_path / "data", ending)), plain, without=["source_row"])

    def test_of_mixed_kinds_in_any_case_with_further_files(self, study, plain, take, kit, tmp_path):
        folder = tmp_path / "data"
        folder.mkdir()
        kit.write_table(folder / "TASKS.parquet", study.sheets["Tasks"])
        kit.write_table(folder / "messages.csv", study.sheets["Messages"])
        (folder / "people.tsv").write_text("PID\tAge\nP1\t30\nP2\t41\n")
        (folder / "README.md").write_text("about")
        (folder / ".hidden.csv").write_text("x")
        found = take(folder)
        assert found.rows("ratings") == plain.rows("ratings")
        assert [row["age"] for row in found.rows("participants")] == [30, 41]
        assert found.report.sheets["people"] == 2
        assert found.noted("Not read", "README.md")

    @pytest.mark.parametrize(
        ("name", "content"), [("manifest.json", '{"synthetic": true}'), ("README.md", "All data here is SYNTHETIC.")]
    )
    def test_that_say_synthetic_are(self, study, take, tmp_path, name, content):
        folder = study.to_folder(tmp_path / "data")
        (folder / name).write_text(content)
        assert take(folder).manifest["synthetic"]

    def test_with_one_table_twice_are_refused(self, study, refuse, tmp_path):
        folder = study.to_folder(tmp_path / "data")
        (folder / "tasks.parquet").write_bytes(b"PAR1")
        said = refuse(folder)
        assert "Tasks.csv" in said
        assert "tasks.parquet" in said

    def test_without_tables_are_refused(self, study, refuse, tmp_path):
        (tmp_path / "data").mkdir()
        assert "holds no csv" in refuse(tmp_path / "data")
        study.to_xlsx(tmp_path / "data" / "book.xlsx")
        assert "book.xlsx" in refuse(tmp_path / "data")

    def test_that_were_imported_already_are_refused(self, plain, refuse):
        assert "--data" in refuse(plain.folder)

    def test_rows_count_as_a_spreadsheet_counts(self, study, refuse, tmp_path):
        study.set("Messages", 2, "Content", "three\nlines\nlong").set("Messages", 9, "EmpathyOverall", 7)
        folder = study.to_folder(tmp_path / "data")
        assert "Messages, row 9, EmpathyOverall" in refuse(folder)

    def test_a_date_in_a_csv_is_the_rating_in_iso_form_only(self, study, take, refuse, tmp_path):
        study.set("Messages", 3, "EmpathyOverall", "1900-01-03 00:00:00")
        found = take(study.to_folder(tmp_path / "data"))
        assert found.ratings("overall")["T1", 1] == 3
        assert found.noted("shown as dates")
        study.set("Messages", 3, "EmpathyOverall", "1/3/1900")
        assert "1/3/1900" in refuse(study.to_folder(tmp_path / "other"))


class TestCsv:
    def write(self, study, tmp_path, change):
        folder = study.to_folder(tmp_path / "data")
        path = folder / "Messages.csv"
        path.write_bytes(change(path.read_bytes()))
        return folder

    def test_with_a_line_that_states_the_delimiter(self, study, plain, take, tmp_path):
        folder = study.to_folder(tmp_path / "data", delimiter=";")
        path = folder / "Messages.csv"
        path.write_bytes(b"sep=;\r\n" + path.read_bytes())
        found = take(folder)
        same_tables(found, plain, without=["source_row"])
        assert found.rows("messages")[0]["source_row"] == 3

    def test_with_title_rows_and_blank_lines(self, study, plain, take, tmp_path):
        folder = self.write(
            study, tmp_path, lambda raw: b"Exported 2025\r\n\r\n" + raw.replace(b"\r\n", b"\r\n\r\n", 3)
        )
        same_tables(take(folder), plain, without=["source_row"])

    @pytest.mark.parametrize("ends", [b"\n", b"\r"])
    def test_with_other_line_ends(self, study, plain, take, tmp_path, ends):
        same_tables(take(self.write(study, tmp_path, lambda raw: raw.replace(b"\r\n", ends))), plain)

    @pytest.mark.parametrize(
        ("change", "says"),
        [
            (lambda raw: raw.replace(b"answer 10", b"answer, 10"), "row 3 has 16"),
            (lambda raw: raw + b'T1,9,1,user,"never closed', "no well-formed csv"),
            (lambda raw: raw.replace(b"answer 10", b'"an" swer'), "no well-formed csv"),
            (lambda raw: raw.replace(b"answer 10", b"\x00"), "binary zeros"),
            (lambda raw: raw.replace(b"answer 10", "Ã¤Ã".encode() + b"\xff"), "damaged UTF-8"),
            (lambda raw: b"", "empty"),
            (lambda raw: b"\xff\xfe", "empty"),
        ],
    )
    def test_that_is_damaged_is_refused(self, study, refuse, tmp_path, change, says):
        said = refuse(self.write(study, tmp_path, change))
        assert says in said
        assert "Messages" in said

    def test_rows_that_end_early_are_noted(self, study, plain, take, tmp_path):
        found = take(self.write(study, tmp_path, lambda raw: raw.replace(b",,,,,,,,,\r\n", b"\r\n", 1)))
        same_tables(found, plain)
        assert found.noted("end early", "rows 2")


class TestJsonl:
    @pytest.mark.parametrize(
        ("line", "says"),
        [
            ('{"TaskId": "T1"', "line 3"),
            ("[1, 2]", "line 3"),
            ('{"TaskId": "T1", "TaskId": "T2"}', "twice"),
            ("[" * 100_000, "line 3"),
        ],
    )
    def test_that_is_damaged_is_refused_with_the_line(self, study, refuse, tmp_path, line, says):
        folder = study.to_folder(tmp_path / "data", "jsonl")
        lines = (folder / "Messages.jsonl").read_text().splitlines()
        (folder / "Messages.jsonl").write_text("\n".join([*lines[:2], line, *lines[2:]]))
        assert says in refuse(folder)

    def test_nested_values_and_half_characters(self, study, take, tmp_path):
        folder = study.to_folder(tmp_path / "data", "jsonl")
        lines = (folder / "Messages.jsonl").read_text().splitlines()
        first = json.loads(lines[0]) | {"Tokens": [1, {"a": "ü"}]}
        lines[0] = json.dumps(first).replace("question 10", "\\ud83d\\ude42 \\ud83d")
        (folder / "Messages.jsonl").write_text("\n".join(lines))
        row = take(folder).rows("messages")[0]
        assert (row["text"], row["tokens"]) == ("\U0001f642 \ufffd", '[1, {"a": "ü"}]')

    def test_a_nested_rating_is_refused(self, study, refuse, tmp_path):
        study.set("Messages", 3, "EmpathyOverall", [4])
        assert "Messages, row 2, EmpathyOverall" in refuse(study.to_folder(tmp_path / "data", "jsonl"))


class TestParquet:
    def test_of_many_types(self, study, plain, take, kit, tmp_path):
        folder = tmp_path / "data"
        folder.mkdir()
        kit.write_table(folder / "Tasks.parquet", study.sheets["Tasks"])
        rows = study.sheets["Messages"]
        columns = {name: [row[place] for row in rows[1:]] for place, name in enumerate(rows[0])}
        numbers = {label: number for number, label in kit.LABELS.items()}
        table = pa.table(
            {
                **columns,
                "TaskId": pa.array(columns["TaskId"]).dictionary_encode(),
                "MessageId": pa.array(columns["MessageId"], pa.int8()),
                "Content": pa.array(columns["Content"], pa.large_string()),
                "EmpathyOverall": pa.array(
                    [float(numbers.get(c, "nan")) for c in columns["EmpathyOverall"]], pa.float32()
                ),
                "Affective": pa.array([numbers.get(cell) for cell in columns["Affective"]], pa.decimal128(5, 1)),
                "Cognitive": pa.array([numbers.get(cell) for cell in columns["Cognitive"]], pa.int64()),
            }
        )
        pq.write_table(table, folder / "Messages.parquet")
        same_tables(take(folder), plain, without=["source_row"])

    def test_of_dates(self, study, take, kit, tmp_path):
        folder = tmp_path / "data"
        folder.mkdir()
        kit.write_table(folder / "Tasks.parquet", study.sheets["Tasks"])
        rows = study.sheets["Messages"]
        columns = {name: [row[place] for row in rows[1:]] for place, name in enumerate(rows[0])}
        moments = [dt.datetime(2025, 3, 4, 10, 11, 12, 345_678)] * 16
        ratings = [dt.date(1900, 1, 3) if cell else None for cell in columns["EmpathyOverall"]]
        pq.write_table(pa.table({**columns, "EmpathyOverall": ratings, "SentAt": moments}), folder / "Messages.parquet")
        found = take(folder)
        assert set(found.ratings("overall").values()) == {3}
        assert found.rows("messages")[0]["sent_at"] == "2025-03-04 10:11:12.345678"

    @pytest.mark.parametrize("content", [b"PAR1", b"PAR1" + bytes(100) + b"PAR1", b"not parquet at all"])
    def test_that_is_damaged_is_refused(self, refuse, tmp_path, content):
        (tmp_path / "a.parquet").write_bytes(content)
        assert "a.parquet" in refuse(tmp_path / "a.parquet")

    def test_that_is_absurdly_large_is_refused(self, refuse, tmp_path):
        nothing = pa.nulls(50_000_000, pa.int8())
        pq.write_table(pa.table({"TaskId": nothing}), tmp_path / "a.parquet")
        assert "limit" in refuse(tmp_path / "a.parquet")

    def test_whose_few_texts_unfold_to_gigabytes_is_refused(self, refuse, tmp_path):
        texts = pa.DictionaryArray.from_arrays(pa.array([0] * 100_000, pa.int32()), ["x" * 100_000])
        pq.write_table(pa.table({"TaskId": texts}), tmp_path / "a.parquet")
        assert "million characters" in refuse(tmp_path / "a.parquet")


class TestSingleFiles:
    @pytest.mark.parametrize("ending", ["csv", "jsonl", "parquet"])
    def test_hold_messages_with_the_columns_of_tasks_repeated(self, study, plain, take, kit, tmp_path, ending):
        found = take(kit.write_table(tmp_path / f"all.{ending}", study.joined()))
        same_tables(found, plain, without=["source_row"])
        assert found.report.origin == "file"
        assert found.report.sheets == {"all": 16}

    def test_whose_conversations_disagree_are_refused(self, study, refuse, kit, tmp_path):
        rows = study.joined()
        rows[4][rows[0].index("Model")] = "GPT-9"
        rows[7][rows[0].index("PID")] = "P7"
        said = refuse(kit.write_table(tmp_path / "all.csv", rows))
        assert 'all, row 5, Model: "GPT-9" must be the same on every row of a conversation; row 2' in said
        assert "all, row 8, PID" in said

    def test_say_it_once_where_the_other_rows_are_blank(self, study, plain, take, kit, tmp_path):
        rows = study.joined()
        for row in rows[3::4]:
            for place in range(len(study.sheets["Messages"][0]), len(rows[0])):
                row[place] = None
        same_tables(take(kit.write_table(tmp_path / "all.csv", rows)), plain)

    @pytest.mark.parametrize("column", ["PID", "TaskId", "Role"])
    def test_without_a_required_column_are_refused(self, study, refuse, kit, tmp_path, column):
        rows = study.joined()
        rows[0][rows[0].index(column)] = "Other"
        assert column in refuse(kit.write_table(tmp_path / "all.csv", rows))

    def test_are_refused_case_by_case_too(self, study, refuse, kit, tmp_path):
        rows = study.joined()
        rows[2][rows[0].index("EmpathyOverall")] = "9"
        for row in rows[1:]:
            if row[0] == "T2":
                row[rows[0].index("PreTaskImportance")] = "12"
        said = refuse(kit.write_table(tmp_path / "all.csv", rows))
        assert 'all, row 3, EmpathyOverall: "9"' in said
        assert 'all, row 6, PreTaskImportance: "12"' in said


TEXTS = st.text(st.characters(blacklist_categories=("Cs", "Cc")), max_size=20)
RATINGS = st.sampled_from(["Very poor", "Poor", "Neutral", "Good", "Very good", "Unknown", None])


@st.composite
def studies(draw, study):
    """Fill the study's cells with other valid ones, and give it other texts."""
    for row in study.sheets["Messages"][1:]:
        row[4] = draw(TEXTS.filter(bool)) + "."
        if row[3] == "assistant":
            row[6:14] = [draw(RATINGS) for _ in range(8)]
    for row in study.sheets["Tasks"][1:]:
        row[3] = draw(st.sampled_from(["Planning", "日本語", "a;b,c", "x\ty"]))
        row[6:] = [draw(st.sampled_from(["Agree", "Strongly disagree", "N/A", None])) for _ in row[6:]]
    return study


@settings(max_examples=12, deadline=None, suppress_health_check=list(HealthCheck))
@given(data=st.data())
def test_whatever_the_study_says_every_format_says_it(data, kit, tmp_path_factory):
    study = data.draw(studies(kit.Study()))
    folder = tmp_path_factory.mktemp("formats")
    sources = [study.to_xlsx(folder / "book.xlsx"), study.to_openpyxl(folder / "open.xlsx")]
    for ending in ("csv", "jsonl", "parquet"):
        sources.append(study.to_folder(folder / ending, ending))
        sources.append(kit.write_table(folder / f"all.{ending}", study.joined()))
    hashes = set()
    for number, source in enumerate(sources):
        import_source(source, folder / f"out{number}")
        tables = [pq.read_table(folder / f"out{number}" / f"{name}.parquet") for name in TABLES]
        tables[1] = tables[1].drop_columns(["source_row"])
        hashes.add(json.dumps([table.to_pylist() for table in tables]))
    assert len(hashes) == 1


@settings(max_examples=15, deadline=None, suppress_health_check=list(HealthCheck))
@given(data=st.data())
def test_shuffled_messages_with_ids_give_the_same_tables(data, kit, tmp_path_factory):
    study = kit.Study()
    folder = tmp_path_factory.mktemp("shuffled")
    before = import_source(study.to_xlsx(folder / "a.xlsx"), folder / "a")
    study.sheets["Messages"][1:] = data.draw(st.permutations(study.sheets["Messages"][1:]))
    after = import_source(study.to_xlsx(folder / "b.xlsx"), folder / "b")
    assert (after.rated_turns, after.answers) == (before.rated_turns, before.answers)
    for name in TABLES:
        one, two = (pq.read_table(folder / out / f"{name}.parquet") for out in "ab")
        if name == "messages":
            one, two = one.drop_columns(["source_row"]), two.drop_columns(["source_row"])
        assert one.equals(two)
