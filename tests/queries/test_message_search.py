"""Messages are sought as typed, in any script, and every hit is counted."""

import re

import pytest

from dashboard.queries import run_query

TEXTS = (
    "no no, NO-no no_no know",
    "Costs $5-$6 (50%) a.c abc",
    "Über über ÜBERALL, kann éan an’an",
    "日本語の日本",
    "שלום עולם שלום",
    "it's 'quoted'; drop table x",
    None,
    "",
)


@pytest.fixture
def texts(given):
    return given([{"conversation": "c1", "text": text} for text in TEXTS])


def hits(data, text, **asked):
    rows = run_query(data, "message_search", text=text, **asked)
    return dict(zip(rows["message"], rows["n_hits"], strict=True))


@pytest.mark.parametrize(
    ("text", "asked", "expected"),
    [
        # "no no, NO-no no_no know": no, no, NO, no, no, no and the one in "know".
        ("no", {}, {1: 7}),
        ("no", {"match_case": True}, {1: 6}),
        # The underscore belongs to a word, so that no_no and know hold none; neighbours share the blank between them.
        ("no", {"whole_word": True}, {1: 4}),
        ("no", {"whole_word": True, "match_case": True}, {1: 3}),
        ("no no", {"whole_word": True}, {1: 1}),
        ("$5-$6", {}, {2: 1}),
        ("a.c", {}, {2: 1}),
        ("%", {}, {2: 1}),
        ("über", {}, {3: 3}),
        ("über", {"whole_word": True}, {3: 2}),
        # Neither kann nor éan; the curly quote is no letter.
        ("an", {"whole_word": True}, {3: 2}),
        ("ÜBER", {"match_case": True}, {3: 1}),
        ("日本", {}, {4: 2}),
        ("שלום", {"whole_word": True}, {5: 2}),
        ("'; drop table x", {}, {6: 1}),
        ("absent", {}, {}),
        ("no", {"role": "user"}, {}),
        ("no", {"role": "assistant"}, {1: 7}),
    ],
)
def test_hits_are_counted_by_hand(texts, text, asked, expected):
    assert hits(texts, text, **asked) == expected


def test_counts_by_role_are_those_of_python(sample):
    messages = sample.cursor().execute("select role, text, conversation from stg_messages").df()
    counts = run_query(sample, "message_search_counts", text="the", whole_word=True).set_index("role")
    word = re.compile(r"(?<!\w)the(?!\w)", re.IGNORECASE)
    n_hits = messages["text"].map(lambda text: len(word.findall(text)) if isinstance(text, str) else 0)
    for role, row in counts.iterrows():
        own = messages["role"] == role
        assert row["n_messages"] == own.sum()
        assert row["n_hits"] == n_hits[own].sum()
        assert row["n_with"] == (n_hits[own] > 0).sum()
        assert row["n_conversations"] == messages.loc[own & (n_hits > 0), "conversation"].nunique()
    assert counts["n_hits"].sum() > 500


def test_a_hit_leads_to_the_turn_that_it_stands_before(sample):
    rows = run_query(sample, "message_search", text="the", role="user", most=50)
    turns = sample.cursor().execute("select conversation, message, turn from stg_messages where turn is not null").df()
    for _, row in rows.iterrows():
        own = turns[turns["conversation"] == row["conversation"]]
        after = own.loc[own["message"] > row["message"], "turn"]
        assert row["near_turn"] == (after.min() if len(after) else own["turn"].max())


def test_the_first_hits_come_in_the_order_of_the_source(sample):
    some = run_query(sample, "message_search", text="the", most=7)
    more = run_query(sample, "message_search", text="the", most=20)
    assert len(some) == 7
    assert some.equals(more.head(7))


def test_filters_hold_for_the_search_too(sample):
    task = sample.cursor().execute("select min(task) from stg_conversations").fetchone()[0]
    kept = set(
        sample.cursor()
        .execute("select conversation from stg_conversations where task = ?", [task])
        .df()["conversation"]
    )
    found = run_query(sample, "message_search", text="the", task=[task], most=100_000)
    assert set(found["conversation"]) <= kept
    counts = run_query(sample, "message_search_counts", text="the", task=[task])
    assert counts["n_with"].sum() == len(found)
