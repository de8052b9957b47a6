"""The synthetic sample: written whole or not at all, the same bytes every time, in the tables that everything reads."""

from __future__ import annotations

import csv
import json
from collections import Counter
from pathlib import Path

import duckdb
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest

from dashboard.intake import sample
from dashboard.intake.dataset import SCHEMAS, SENSE7_SCALES, data_sha256
from dashboard.intake.sample import write_sample
from dashboard.intake.sample_arrays import OUTCOMES
from dashboard.intake.sample_document import effects_document
from dashboard.intake.sample_effects import DIMENSION_NAMES, EFFECTS, OBSERVED
from dashboard.intake.sample_text import LITERALS
from dashboard.paths import SAMPLE
from dashboard.vocabulary import Refused

TABLES = tuple(SCHEMAS)


def tables(folder: Path) -> dict[str, pa.Table]:
    return {name: pq.read_table(folder / f"{name}.parquet") for name in TABLES}


def files(folder: Path) -> dict[str, bytes]:
    return {p.relative_to(folder).as_posix(): p.read_bytes() for p in sorted(folder.rglob("*")) if p.is_file()}


def question(sql: str, folder: Path = SAMPLE) -> list[tuple]:
    with duckdb.connect() as connection:
        for name in TABLES:
            connection.execute(f"create view {name} as from read_parquet('{folder / name}.parquet')")
        return connection.execute(sql).fetchall()


@pytest.fixture(scope="module")
def three(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("three") / "sample"
    write_sample(folder, scale=3, text=False)
    return folder


def test_the_committed_sample_is_what_the_defaults_write(tmp_path: Path):
    manifest = write_sample(tmp_path / "again")
    committed = json.loads((SAMPLE / "manifest.json").read_text(encoding="utf-8"))
    assert manifest["data_sha256"] == committed["data_sha256"]
    again, there = files(tmp_path / "again"), files(SAMPLE)
    assert set(again) == set(there)
    # another version of pyarrow may write other bytes for the same rows, which the hash above covers
    same_writer = committed["software"] == manifest["software"]
    compared = [name for name in there if same_writer or not name.endswith((".parquet", "manifest.json"))]
    assert [name for name in compared if again[name] != there[name]] == []


def test_the_committed_sample_is_small():
    assert sum(len(content) for content in files(SAMPLE).values()) < 1_500_000


def test_the_hash_is_that_of_the_tables():
    assert json.loads((SAMPLE / "manifest.json").read_text(encoding="utf-8"))["data_sha256"] == data_sha256(SAMPLE)


def test_everything_says_that_it_is_synthetic():
    manifest = json.loads((SAMPLE / "manifest.json").read_text(encoding="utf-8"))
    assert manifest["synthetic"] is True
    assert manifest["release"] is False
    assert manifest["origin"] == "synthetic"
    assert "SYNTHETIC" in manifest["title"]
    assert "SYNTHETIC" in (SAMPLE / "EFFECTS.md").read_text(encoding="utf-8")
    assert question("select count(*) from messages where text is null or not starts_with(text, '[synthetic] ')") == [
        (0,)
    ]
    assert question("select count(*) from messages where not starts_with(comment, '[synthetic] ')") == [(0,)]


def test_effects_md_is_written_from_the_effects():
    assert (SAMPLE / "EFFECTS.md").read_text(encoding="utf-8") == effects_document(EFFECTS, OBSERVED)


def test_the_sample_has_the_shape_of_the_study():
    (shape,) = question(
        """select (select count(*) from conversations), (select count(*) from participants),
        (select count(distinct task) from conversations), (select count(distinct model) from conversations),
        (select count(*) from messages), (select count(turn) from messages)"""
    )
    assert shape[:4] == (672, 109, 8, 4)
    assert shape[4] == pytest.approx(9500, abs=150)
    assert shape[5] == pytest.approx(4700, abs=100)
    ((fewest, most, single),) = question(
        """select min(n), max(n), count(*) filter (n = 1)
        from (select count(*) as n from conversations group by participant)"""
    )
    assert fewest == 1
    assert single >= 3
    assert most >= 12
    ((shortest, longest),) = question(
        "select min(n), max(n) from (select count(turn) as n from messages group by conversation)"
    )
    assert (shortest, longest) == (1, 15)


def test_the_sample_holds_what_real_data_has():
    (counts,) = question(
        """select count(*) filter (role = 'error'), count(*) filter (retry = '1'), count(comment)
        from messages"""
    )
    assert min(counts) > 20
    ((unrated,),) = question(
        """select count(*) from (select conversation from ratings where outcome = 'overall'
        group by conversation having count(value) = 0)"""
    )
    assert unrated >= 3
    ((some,),) = question("select count(*) from ratings where outcome = 'overall' and answer = 'missing'")
    assert some > 60
    assert question("select distinct answer from survey order by all") == [
        ("missing",),
        ("not_applicable",),
        ("rated",),
    ]
    assert question("select count(*) from survey where item = 'desired_empathy' and value is null")[0][0] >= 1
    ((blank_traits, blank_gender),) = question(
        "select count(*) filter (trait_empathy is null), count(*) filter (gender is null) from participants"
    )
    assert min(blank_traits, blank_gender) >= 1


@pytest.mark.parametrize("name", TABLES)
def test_tables_have_the_documented_columns(name: str):
    schema = pq.read_schema(SAMPLE / f"{name}.parquet")
    documented = SCHEMAS[name]
    assert [(f.name, f.type) for f in schema][: len(documented)] == [(f.name, f.type) for f in documented]
    more = schema.names[len(documented) :]
    assert more == (["age", "gender", "trait_empathy", "trait_openness"] if name == "participants" else [])


@pytest.mark.parametrize(
    ("name", "key"),
    [
        ("conversations", "conversation"),
        ("messages", "conversation, message"),
        ("ratings", "outcome, conversation, turn"),
        ("survey", "conversation, item"),
        ("participants", "participant"),
        ("scales", "measure"),
    ],
)
@pytest.mark.parametrize("which", ["committed", "three"])
def test_rows_are_unique_and_ordered_by_their_key(name: str, key: str, which: str, three: Path):
    folder = SAMPLE if which == "committed" else three
    assert question(f"select {key} from {name} group by all having count(*) > 1", folder) == []
    if name not in ("scales", "survey"):
        read = pq.read_table(folder / f"{name}.parquet", columns=key.split(", "))
        assert read.equals(read.sort_by([(column, "ascending") for column in key.split(", ")]))


def test_every_turn_has_a_rating_row_for_every_outcome(three: Path):
    for folder in (SAMPLE, three):
        turns = pq.read_table(folder / "messages.parquet", columns=["conversation", "message", "turn"])
        turns = turns.filter(pc.is_valid(turns["turn"]))
        ratings = pq.read_table(folder / "ratings.parquet")
        assert set(ratings["outcome"].unique().to_pylist()) == set(OUTCOMES)
        for outcome in OUTCOMES:
            rows = ratings.filter(pc.equal(ratings["outcome"], outcome)).select(["conversation", "message", "turn"])
            assert rows.equals(turns)


def test_values_are_whole_levels_and_null_unless_rated():
    bounds = {scale.measure: (scale.minimum, scale.maximum, scale.step) for scale in SENSE7_SCALES}
    for table, column in (("ratings", "outcome"), ("survey", "item")):
        found = question(
            f"""select {column}, min(value), max(value), bool_and(value = round(value)),
            bool_and((answer = 'rated') = (value is not null)) from {table} group by 1"""
        )
        assert len(found) == (9 if table == "ratings" else 13)
        for name, low, high, whole, told_apart in found:
            minimum, maximum, step = bounds[name]
            assert minimum <= low <= high <= maximum
            assert whole or step is None
            assert told_apart


def test_turn_mean_is_the_mean_of_the_dimensions_that_carry_a_number():
    assert question(
        """with dimensions as (
                select conversation, turn, avg(value) as mean from ratings
                where outcome not in ('overall', 'turn_mean') group by all
            )
            select count(*) from ratings join dimensions using (conversation, turn)
            where outcome = 'turn_mean'
                and (value is distinct from mean) and not coalesce(abs(value - mean) < 1e-12, false)"""
    ) == [(0,)]


def test_messages_are_numbered_and_timed_in_order():
    assert question(
        """with steps as (
            select *, lag(message, 1, 0) over per as before, lag(seconds, 1, 0) over per as earlier,
                count(turn) over (partition by conversation order by message) as turns
            from messages window per as (partition by conversation order by message)
        )
        select bool_and(message = before + 1), bool_and(seconds >= earlier),
            bool_and(message > 1 or (role = 'user' and seconds = 0)),
            bool_and((role = 'assistant') = (turn is not null)), bool_and(turn is null or turn = turns) from steps"""
    ) == [(True, True, True, True, True)]


def test_a_question_and_its_replies_share_a_message_id():
    assert question(
        """select bool_and(n_questions = 1) from (
            select count(*) filter (role = 'user') as n_questions from messages group by conversation, message_id
        )"""
    ) == [(True,)]


def test_counts_and_answers_of_the_manifest_are_those_of_the_tables(three: Path):
    for folder in (SAMPLE, three):
        manifest = json.loads((folder / "manifest.json").read_text(encoding="utf-8"))
        (row,) = question(
            """select (select count(*) from conversations), (select count(*) from participants),
            (select count(*) from messages), (select count(turn) from messages),
            (select count(value) from ratings where outcome = 'overall')""",
            folder,
        )
        names = ("conversations", "participants", "messages", "assistant_turns", "rated_turns")
        assert manifest["counts"] == dict(zip(names, row, strict=True))
        found = {name: Counter() for name in DIMENSION_NAMES}
        for outcome, answer, n in question("select outcome, answer, count(*) from ratings group by all", folder):
            if outcome in found:
                found[outcome][answer] = n
        assert manifest["answers"] == found


def test_texts_that_must_show_as_typed_are_there():
    texts = {text for (text,) in question("select text from messages")}
    for _, literal in LITERALS:
        assert f"[synthetic] {literal}" in texts
    joined = "".join(literal for _, literal in LITERALS)
    for part in ("$5-$6", ":red[x]", "<script>", "![x](http://", "龙", "שלום", "مرحبا"):
        assert part in joined
    assert max(len(text) for text in texts) > 30_000


def test_without_text_all_else_is_the_same(tmp_path: Path):
    write_sample(tmp_path / "plain", text=False)
    with_text, without = tables(SAMPLE), tables(tmp_path / "plain")
    for name in TABLES:
        spoken = [column for column in without[name].column_names if column in ("text", "comment")]
        assert without[name].drop_columns(spoken).equals(with_text[name].drop_columns(spoken))
    assert without["messages"]["text"].null_count == without["messages"].num_rows
    assert without["messages"]["comment"].null_count == without["messages"].num_rows
    assert files(SAMPLE / "predictions") == files(tmp_path / "plain" / "predictions")


def test_a_larger_sample_begins_with_the_smaller_one(tmp_path: Path, three: Path):
    write_sample(tmp_path / "one", text=False)
    one, larger = tables(tmp_path / "one"), tables(three)
    for name in ("participants", "conversations", "messages", "survey"):
        assert larger[name].slice(0, one[name].num_rows).equals(one[name])
    first = pc.is_in(larger["ratings"]["conversation"], one["conversations"]["conversation"])
    assert larger["ratings"].filter(first).equals(one["ratings"])


def test_what_is_written_does_not_depend_on_how_many_blocks_are_together(
    tmp_path: Path, three: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(sample, "_BLOCKS_TOGETHER", 2)
    write_sample(tmp_path / "pairs", scale=3, text=False)
    assert pq.read_metadata(tmp_path / "pairs" / "ratings.parquet").num_row_groups == 18
    assert data_sha256(tmp_path / "pairs") == data_sha256(three)


def test_another_seed_gives_other_data(tmp_path: Path):
    write_sample(tmp_path / "other", seed=8)
    for name in TABLES:
        assert tables(SAMPLE)[name].equals(tables(tmp_path / "other")[name]) == (name == "scales")
    ours, others = files(SAMPLE / "predictions"), files(tmp_path / "other" / "predictions")
    assert all(ours[name] != others[name] for name in ours)


def test_the_same_arguments_give_the_same_bytes(tmp_path: Path, three: Path):
    write_sample(tmp_path / "again", scale=3, text=False)
    assert files(tmp_path / "again") == files(three)


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        ({"seed": -1}, "The seed must be a whole number from 0; came -1"),
        ({"scale": 0}, "The scale must be a whole number from 1; came 0"),
        ({"scale": 10**9}, "Choose a smaller --scale"),
    ],
)
def test_numbers_out_of_range_are_refused(tmp_path: Path, arguments: dict[str, int], sentence: str):
    with pytest.raises(Refused, match=sentence):
        write_sample(tmp_path / "out", **arguments)
    assert list(tmp_path.iterdir()) == []


def test_a_folder_that_is_not_ours_is_left_alone(tmp_path: Path):
    (tmp_path / "thesis.txt").write_text("four years", encoding="utf-8")
    with pytest.raises(Refused, match="not empty"):
        write_sample(tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["thesis.txt"]


@pytest.mark.parametrize("when", [1, 4, 6])
def test_an_interrupted_sample_leaves_what_was_there(tmp_path: Path, when: int):
    def interrupt(done: int, total: int) -> None:
        if done >= when:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        write_sample(tmp_path / "new", scale=3, text=False, progress=interrupt)
    assert list(tmp_path.iterdir()) == []
    write_sample(tmp_path / "old")
    before = files(tmp_path / "old")
    with pytest.raises(KeyboardInterrupt):
        write_sample(tmp_path / "old", scale=3, text=False, progress=interrupt)
    assert [path.name for path in tmp_path.iterdir()] == ["old"]
    assert files(tmp_path / "old") == before


def test_progress_rises_to_its_total(tmp_path: Path):
    seen: list[tuple[int, int]] = []
    write_sample(tmp_path / "out", scale=3, text=False, progress=lambda done, total: seen.append((done, total)))
    assert {total for _, total in seen} == {6}
    assert [done for done, _ in seen] == sorted(done for done, _ in seen)
    assert seen[-1] == (6, 6)


def kind_of(row: dict[str, str]) -> str:
    if row["IS_EMPATHY"] == "PROCESSING_FAILED":
        return "failed"
    if row["Output"].startswith("ERROR:"):
        return "error"
    level = row["Output"].partition("<S2>")[2].partition("</S2>")[0].strip()
    if level == "10":
        return "ten"
    return "read" if level in {"1", "2", "3", "4", "5"} else "unreadable"


@pytest.mark.parametrize("judge", EFFECTS.judges, ids=lambda judge: judge.name)
def test_prediction_files_hold_the_planted_faults(judge):
    names = sorted(path.name for path in (SAMPLE / "predictions").iterdir() if path.name.startswith(judge.name))
    assert names == [f"{judge.name}-rubric-iter{n}.csv" for n in (1, 2)]
    for name in names:
        with (SAMPLE / "predictions" / name).open(encoding="utf-8", newline="") as file:
            rows = list(csv.DictReader(file))
        official = "CoT,TaskId,PID,IS_EMPATHY,Chat,OnlyChat,Prompt,Output,Processing Time,Model,ground-truth"
        assert list(rows[0]) == official.split(",")
        kinds = Counter(kind_of(row) for row in rows)
        planted = {
            "error": judge.call_errors,
            "unreadable": judge.unreadable,
            "failed": judge.failed,
            "ten": judge.tens,
        }
        assert kinds == {**planted, "read": 672 - sum(planted.values())}
        recorded = {kind: {row["IS_EMPATHY"] for row in rows if kind_of(row) == kind} for kind in planted}
        assert recorded == {"error": {"3"}, "unreadable": {"3"}, "failed": {"PROCESSING_FAILED"}, "ten": {"1"}}
        assert {row["Model"] for row in rows} == {judge.name}
        assert all(value != "" for row in rows for value in row.values())
        owners = question("select conversation, participant from conversations order by position")
        assert [(row["TaskId"], row["PID"]) for row in rows] == owners
