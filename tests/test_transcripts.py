"""Conversations are saved whole: valid JSON, one conversation a line, and a corpus as ConvoKit describes it."""

import io
import json
import zipfile

import pytest

from dashboard.database import connect
from dashboard.paths import SAMPLE
from dashboard.transcripts import conversations_jsonl, convokit_corpus, read_conversations


def refuse_constant(name):
    raise AssertionError(f"{name} is no JSON")


def strict(text):
    return json.loads(text, parse_constant=refuse_constant)


def lines_of(content):
    assert content.endswith(b"\n")
    return [strict(line) for line in content.decode().splitlines()]


def unzipped(content):
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        files = {name: archive.read(name).decode("ascii") for name in archive.namelist()}
    folders = {name.split("/")[0] for name in files}
    assert folders == {"sense7"}
    return {name.split("/")[1]: text for name, text in files.items()}


@pytest.fixture(scope="module")
def saved(sample):
    """The conversations of the whole sample."""
    return read_conversations(sample, {})


@pytest.fixture(scope="module")
def corpus(saved):
    """The files of the sample's corpus."""
    return unzipped(convokit_corpus(saved, about={"synthetic": True}))


@pytest.fixture
def nasty(given, nasty_texts):
    turns = [
        {"conversation": f"c{place % 2}", "text": text, "overall": 1 + place % 5, "affective": "n/a"}
        for place, text in enumerate((*nasty_texts, "one\u2028two\u2029three\x85four\nfive", None, 'quote " \\ \x00'))
    ]
    return given(
        turns, [{"conversation": f"c{place}", "participant": "assistant", "desired_empathy": 2} for place in range(2)]
    )


class TestJsonLines:
    def test_hold_every_message_and_rating_of_the_sample(self, sample, saved):
        lines = lines_of(conversations_jsonl(saved))
        source = sample.cursor().execute("select * from raw.messages").df()
        assert [one["conversation"] for one in lines] == source["conversation"].drop_duplicates().tolist()
        said = [message for one in lines for message in one["messages"]]
        assert [one["role"] for one in said] == source["role"].tolist()
        assert [one["content"] or "" for one in said] == source["text"].fillna("").tolist()
        rated = sample.cursor().execute("select sum(value), count(value), count(*) from raw.ratings").fetchone()
        values = [value for one in said for value in one.get("ratings", {}).values()]
        numbers = [value for value in values if value is not None]
        assert (len(numbers), len(values)) == rated[1:]
        assert sum(numbers) == pytest.approx(rated[0])
        stated = (
            sample.cursor().execute("select count(*) from raw.ratings where answer = 'not_applicable'").fetchone()[0]
        )
        assert sum(len(one.get("not_applicable", [])) for one in said) == stated > 0

    def test_keep_text_as_it_is_on_one_line_each(self, nasty):
        records = read_conversations(nasty, {})
        assert lines_of(conversations_jsonl(records)) == records
        text = {one["content"] for record in records for one in record["messages"]}
        assert {"one\u2028two\u2029three\x85four\nfive", None, "<script>window.hacked = 1</script>"} <= text

    def test_hold_the_chosen_conversations_in_their_order(self, sample):
        records = read_conversations(sample, {}, conversations=["C0009", "C0002"])
        assert [one["conversation"] for one in records] == ["C0009", "C0002"]

    def test_tell_not_applicable_from_missing(self, given):
        data = given([{"conversation": "c", "affective": "n/a", "overall": 4}])
        message = read_conversations(data, {})[0]["messages"][0]
        assert message["ratings"]["affective"] is None and message["ratings"]["cognitive"] is None
        assert message["not_applicable"] == ["affective"]
        assert message["ratings"]["overall"] == 4


class TestConvoKit:
    def test_has_the_five_files_with_the_mandatory_fields(self, corpus):
        files = corpus
        assert set(files) == {"utterances.jsonl", "speakers.json", "conversations.json", "corpus.json", "index.json"}
        utterances = [strict(line) for line in files["utterances.jsonl"].splitlines()]
        needed = {"id", "speaker", "conversation_id", "reply-to", "timestamp", "text", "meta"}
        assert all(needed <= set(one) for one in utterances)
        assert len({one["id"] for one in utterances}) == len(utterances) == 9509
        assert all(isinstance(one["text"], str) for one in utterances)

    def test_every_conversation_is_one_chain_that_begins_with_its_id(self, sample, corpus):
        files = corpus
        conversations = strict(files["conversations.json"])
        chains = {}
        for line in files["utterances.jsonl"].splitlines():
            one = strict(line)
            chain = chains.setdefault(one["conversation_id"], [])
            assert one["reply-to"] == (chain[-1] if chain else None)
            chain.append(one["id"])
        assert {name: chain[0] for name, chain in chains.items()} == {name: name for name in conversations}
        assert {one["meta"]["conversation"] for one in conversations.values()} == {
            row[0] for row in sample.cursor().execute("select distinct conversation from raw.messages").fetchall()
        }

    def test_every_speaker_is_described_and_nobody_is_taken_for_another(self, nasty):
        files = unzipped(convokit_corpus(read_conversations(nasty, {}), about={}))
        speakers = strict(files["speakers.json"])
        # The participant is called "assistant", and is not there: only assistant messages are given.
        assert speakers == {
            "assistant:unknown": {"meta": {"role": "assistant", "participant": None, "model": None}, "vectors": []}
        }

    def test_the_index_names_every_field_of_meta_with_its_types(self, corpus):
        files = corpus
        index = strict(files["index.json"])
        metas = [strict(line)["meta"] for line in files["utterances.jsonl"].splitlines()]
        assert set(index["utterances-index"]) == {key for meta in metas for key in meta}
        assert index["utterances-index"]["ratings"] == ["<class 'dict'>"]
        assert index["utterances-index"]["turn"] == ["<class 'int'>"]
        assert index["overall-index"]["synthetic"] == ["<class 'bool'>"]
        assert {"speakers-index", "conversations-index", "version", "vectors"} <= set(index)

    def test_timestamps_order_every_conversation_and_times_stay_in_meta(self, corpus, nasty):
        untimed = unzipped(convokit_corpus(read_conversations(nasty, {}), about={}))
        for files, is_timed in ((corpus, True), (untimed, False)):
            said = [strict(line) for line in files["utterances.jsonl"].splitlines()]
            assert all(isinstance(one["timestamp"], float) for one in said)
            by_conversation = {}
            for one in said:
                by_conversation.setdefault(one["conversation_id"], []).append(one)
                assert one["timestamp"] == (one["meta"]["seconds"] if is_timed else one["meta"]["message"])
            for chain in by_conversation.values():
                # ConvoKit sorts by timestamp, ties as they stand.
                assert sorted(chain, key=lambda one: one["timestamp"]) == chain

    def test_people_without_an_id_are_one_speaker_per_conversation(self, given):
        said = [{"message": 1, "turn": None, "seconds": None, "retry": None}]
        records = [
            {"conversation": name, "participant": None, "task": None, "model": None, "survey": {}}
            | {"messages": [said[0] | {"role": role, "content": "x"} for role in ("seeker", "user", "error")]}
            for name in "ab"
        ]
        for record in records:
            for place, one in enumerate(record["messages"], 1):
                one["message"] = place
        speakers = strict(unzipped(convokit_corpus(records, about={}))["speakers.json"])
        assert set(speakers) == {"seeker:a", "seeker:b", "user:a", "user:b", "role:error"}

    def test_the_same_conversations_give_the_same_bytes(self, nasty):
        records = read_conversations(nasty, {})
        assert convokit_corpus(records, about={}) == convokit_corpus(records, about={})


def test_public_mode_saves_no_text_and_no_comment():
    hidden = connect(SAMPLE, public=True)
    records = read_conversations(hidden, {})
    lines = conversations_jsonl(records)
    assert b"[synthetic]" not in lines
    assert all({"content", "comment"}.isdisjoint(one) for record in lines_of(lines) for one in record["messages"])
    files = unzipped(convokit_corpus(records, about={}, public=True))
    assert "[synthetic]" not in "".join(files.values())
    assert strict(files["corpus.json"])["texts_hidden"] is True
