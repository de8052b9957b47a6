"""Breakdowns computed a second time, from the tables as they are stored, by plain loops that share no code with ours.

On the workbook in the released shape, and on data drawn at random: conversations of one turn, breakdowns on the first and the
last turn, unrated gaps, ties, none at all.
"""

import math
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import given as drawn_from
from hypothesis import strategies as st

from dashboard.analyses import registry
from dashboard.analyses.findings import Selection, run_analysis
from dashboard.database import connect
from dashboard.intake.imports import import_source
from dashboard.vocabulary import NotInThisData, TooLittleData

WORKBOOK = Path(__file__).parents[2].parent / "shared" / "data" / "sense7_release_shaped.xlsx"
LOW, Z = 2, 1.959963984540054
EXACT = {"abs": 1e-9, "rel": 1e-9, "nan_ok": True}


def ask(data, name):
    one = registry()[name]
    return run_analysis(data, one, Selection(), one.parameters())


def stored(data):
    """Return conversations as plain dicts, read past our queries: participant, task, ratings by turn, experienced empathy."""
    cursor = data.cursor()
    found = {
        name: {"participant": person or name, "task": task, "ratings": {}, "last": 0}
        for name, person, task in cursor.execute(
            "select conversation, participant, task from raw.conversations order by position"
        ).fetchall()
    }
    for name, turn, value in cursor.execute(
        "select conversation, turn, value from raw.ratings where outcome = 'overall'"
    ).fetchall():
        if value is not None:
            found[name]["ratings"][turn] = value
    answers = cursor.execute(
        "select conversation, value from raw.survey where starts_with(item, 'post_') and value is not null"
    ).fetchall()
    for name, one in found.items():
        own = [value for other, value in answers if other == name]
        one["experienced"] = sum(own) / len(own) if own else None
        low = sorted(turn for turn, value in one["ratings"].items() if value <= LOW)
        one["low"], one["first"] = low, low[0] if low else None
        one["time"] = low[0] if low else max(one["ratings"], default=None)
    return found


def survival(spans):
    """Kaplan–Meier of (time, event, person), with the infinitesimal jackknife over persons and log–log intervals."""
    persons = sorted({person for _, _, person in spans})
    influence, left, rows = dict.fromkeys(persons, 0.0), 1.0, []
    for turn in range(1, max(time for time, _, _ in spans) + 1):
        there = [one for one in spans if one[0] >= turn]
        fell = [one for one in there if one[0] == turn and one[1]]
        if len(fell) < len(there):
            for time, event, person in there:
                # The derivative of log(1 − d/n) by the weight of one conversation.
                failed = 1.0 if time == turn and event else 0.0
                influence[person] -= (failed - len(fell) / len(there)) / (len(there) - len(fell))
        left *= 1 - len(fell) / len(there)
        low = high = math.nan
        if len(persons) >= 5 and 0 < left < 1:
            reach = Z * math.sqrt(sum(one * one for one in influence.values())) / abs(math.log(left))
            low, high = left ** math.exp(reach), left ** math.exp(-reach)
        ended = sum(1 for time, event, _ in there if time == turn and not event)
        rows.append((turn, len(there), len(fell), ended, left, low, high))
    return rows


def check_rates_and_survival(data, found):
    rated = [one for one in found.values() if one["ratings"]]
    whole = ask(data, "breakdown_rate").table.iloc[0]
    assert whole["n_conversations"] == len(rated)
    assert whole["n_with_breakdown"] == sum(one["first"] is not None for one in rated)
    assert whole["n_breakdown_turns"] == sum(len(one["low"]) for one in rated)
    assert whole["n_turns"] == sum(len(one["ratings"]) for one in rated)
    table = ask(data, "breakdown_survival").table
    curve = table[table["group"] == "all"]
    expected = survival([(one["time"], one["first"] is not None, one["participant"]) for one in rated])
    columns = ["turn", "n_at_risk", "n_events", "n_censored", "survival", "conf_low", "conf_high"]
    assert len(curve) == len(expected)
    for row, numbers in zip(curve[columns].itertuples(index=False), expected, strict=True):
        assert tuple(row) == pytest.approx(numbers, **EXACT)


def check_alignment(data, found):
    table = ask(data, "breakdown_alignment").table.set_index(["offset", "series"])
    broken = [one for one in found.values() if one["first"] is not None]
    for offset in range(-3, 6):
        own, matched = [], []
        for one in broken:
            at = one["first"]
            if at + offset not in one["ratings"]:
                continue
            own.append(one["ratings"][at + offset])
            candidates = [
                other["ratings"][at + offset]
                for other in found.values()
                if other is not one
                and other["task"] == one["task"]
                and at in other["ratings"]
                and (other["first"] is None or other["first"] > at)
                and at + offset in other["ratings"]
            ]
            if candidates:
                matched.append(sum(candidates) / len(candidates))
        for series, values in (("breakdown", own), ("matched", matched)):
            row = table.loc[(offset, series)]
            assert row["n_conversations"] == len(values)
            assert row["mean"] == pytest.approx(sum(values) / len(values) if values else math.nan, **EXACT)


def check_recovery(data, found):
    answer = ask(data, "breakdown_recovery")
    counts = answer.tables["breakdown_recovery.counts"].set_index("recovery")
    table = answer.table
    for name in ("above the threshold", "back to its earlier mean"):
        spans, no_later, no_earlier = [], 0, 0
        for one in found.values():
            if one["first"] is None:
                continue
            later = {turn - one["first"]: value for turn, value in one["ratings"].items() if turn > one["first"]}
            earlier = [value for turn, value in one["ratings"].items() if turn < one["first"]]
            if not later:
                no_later += 1
                continue
            if name != "above the threshold" and not earlier:
                no_earlier += 1
                continue
            bar = sum(earlier) / len(earlier) - 0.5 - 1e-9 if name != "above the threshold" else LOW + 1e-9
            good = [turn for turn, value in later.items() if value >= bar]
            spans.append((min(good) if good else max(later), bool(good), one["participant"]))
        row = counts.loc[name]
        assert (row["n_conversations"], row["n_recovered"]) == (len(spans), sum(event for _, event, _ in spans))
        assert (row["n_without_later"], row["n_without_earlier"]) == (no_later, no_earlier)
        curve = table[table["recovery"] == name]
        expected = survival(spans) if spans else []
        assert curve["share"].tolist() == pytest.approx([1 - one[4] for one in expected], **EXACT)
        assert curve["conf_low"].tolist() == pytest.approx([1 - one[6] for one in expected], **EXACT)
        assert curve["conf_high"].tolist() == pytest.approx([1 - one[5] for one in expected], **EXACT)


def standardised(without, with_):
    """Cohen's d, positive where those without lie higher."""
    means = [sum(one) / len(one) for one in (without, with_)]
    squares = [sum((value - mean) ** 2 for value in one) for one, mean in zip((without, with_), means, strict=True)]
    pooled = math.sqrt(sum(squares) / (len(without) + len(with_) - 2))
    return (means[0] - means[1]) / pooled


def check_impact(data, found):
    table = ask(data, "breakdown_impact").table.set_index("outcome")
    rest = {}
    for name, one in found.items():
        values = sorted(one["ratings"].values())
        rest[name] = sum(values[1:]) / (len(values) - 1) if len(values) > 1 else None
    for outcome, of in (("experienced_empathy", lambda name: found[name]["experienced"]), ("other_turns", rest.get)):
        groups = [
            [
                of(name)
                for name, one in found.items()
                if one["ratings"] and of(name) is not None and bool(one["low"]) is has
            ]
            for has in (False, True)
        ]
        if outcome not in table.index:
            assert not any(groups)
            continue
        row = table.loc[outcome]
        assert (row["n_without"], row["n_with"]) == tuple(map(len, groups))
        if min(map(len, groups)) < 2 or len(set(groups[0])) + len(set(groups[1])) < 3:
            continue
        d = standardised(*groups)
        n = sum(map(len, groups))
        assert row["estimate"] == pytest.approx(d, **EXACT)
        assert row["hedges_g"] == pytest.approx(d * (1 - 3 / (4 * (n - 2) - 1)), **EXACT)


def check_everything(data):
    found = stored(data)
    check_rates_and_survival(data, found)
    rated = [one for one in found.values() if one["ratings"]]
    for check, name in (
        (check_alignment, "breakdown_alignment"),
        (check_recovery, "breakdown_recovery"),
        (check_impact, "breakdown_impact"),
    ):
        n_broken = sum(one["first"] is not None for one in rated)
        has_outcome = any(one["experienced"] is not None or len(one["ratings"]) > 1 for one in rated)
        if n_broken == 0 or (name == "breakdown_impact" and n_broken == len(rated)):
            with pytest.raises(TooLittleData):
                ask(data, name)
        elif name == "breakdown_impact" and not has_outcome:
            with pytest.raises(NotInThisData, match="what a breakdown could have cost"):
                ask(data, name)
        else:
            check(data, found)


@pytest.mark.skipif(not WORKBOOK.is_file(), reason="the workbook in the released shape is not on this machine")
def test_the_workbook_in_the_released_shape(tmp_path):
    import_source(WORKBOOK, tmp_path / "data")
    check_everything(connect(tmp_path / "data", public=False))


def test_the_sample(sample):
    check_everything(sample)


RATING = st.sampled_from([1, 2, 2, 3, 4, 5, None])
CONVERSATION = st.tuples(
    st.lists(RATING, min_size=1, max_size=8),
    st.integers(0, 7),
    st.sampled_from(["a", "b", None]),
    st.sampled_from([1, 2, 3, 4, 5, None]),
)


@settings(
    max_examples=12, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow]
)
@drawn_from(rows=st.lists(CONVERSATION, min_size=1, max_size=30))
def test_data_drawn_at_random(given, rows):
    if not any(value is not None for ratings, *_ in rows for value in ratings):
        return
    turns = [
        {"conversation": f"c{place}"} | ({} if value is None else {"overall": value})
        for place, (ratings, *_) in enumerate(rows)
        for value in ratings
    ]
    people = [
        {"conversation": f"c{place}", "participant": f"p{person}", "task": task, "post_affective": after}
        for place, (_, person, task, after) in enumerate(rows)
    ]
    check_everything(given(turns, people))


@pytest.mark.parametrize(
    "shapes",
    [
        [[1]],
        [[5], [1], [2], [3]],
        [[1, 5, 5], [5, 5, 1], [5, None, 2], [None, 1, None], [None, None], [3, 3, 3]],
        [[4, 5]] * 9,
        [[1, 1, 1]] * 9,
    ],
    ids=["one turn", "single turns", "first, last and gaps", "none at all", "all at once"],
)
def test_shapes_that_are_easily_got_wrong(given, shapes):
    turns = [
        {"conversation": f"c{place}"} | ({} if value is None else {"overall": value})
        for place, ratings in enumerate(shapes)
        for value in ratings
    ]
    people = [{"conversation": f"c{n}", "participant": f"p{n % 6}", "task": "a"} for n in range(len(shapes))]
    check_everything(given(turns, people))
