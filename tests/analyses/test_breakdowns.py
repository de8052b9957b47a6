"""The questions on breakdowns: contract, independent recomputation on the sample, every definition, and the edges."""

import itertools

import numpy as np
import pandas as pd
import pytest

from dashboard.analyses import on_page, registry
from dashboard.analyses.breakdown_rows import DEFINITIONS
from dashboard.analyses.findings import Selection, run_analysis
from dashboard.database import connect
from dashboard.figures.template import Template
from dashboard.vocabulary import NotInThisData, TooLittleData

NAMES = [one.name for one in on_page("Breakdowns")]
COLUMNS = {
    "breakdown_rate": ["group", "level", "n_conversations", "n_with_breakdown", "share", "conf_low", "conf_high", "n_turns", "n_breakdown_turns"],
    "breakdown_survival": ["group", "level", "turn", "n_at_risk", "n_events", "n_censored", "survival", "conf_low", "conf_high"],
    "breakdown_alignment": ["offset", "series", "mean", "conf_low", "conf_high", "n_conversations"],
    "breakdown_impact": ["outcome", "estimate", "hedges_g", "conf_low", "conf_high", "n_with", "n_without"],
}  # fmt: skip


def ask(data, name, selection=None, **parameters):
    one = registry()[name]
    return run_analysis(data, one, selection or Selection(), one.parameters(**parameters))


@pytest.fixture(scope="module")
def turns(sample):
    """The sample's overall ratings with their conversation's properties, read past our queries."""
    cursor = sample.cursor()
    ratings = cursor.execute(
        "select conversation, turn, value from raw.ratings where outcome = 'overall' order by conversation, turn"
    ).df()
    return ratings.merge(cursor.execute("select conversation, participant, task, model from raw.conversations").df())


@pytest.fixture(scope="module")
def firsts(turns):
    """First breakdown or last rated turn of every conversation, by a loop."""
    rows = []
    for name, part in turns.groupby("conversation"):
        rated = part[part["value"].notna()]
        if rated.empty:
            continue
        low = rated[rated["value"] <= 2]
        first = rated.iloc[0]
        time = low["turn"].min() if len(low) else rated["turn"].max()
        rows.append(
            (name, first["participant"], first["task"], first["model"], time, len(low) > 0, len(low), len(rated))
        )
    columns = ["conversation", "participant", "task", "model", "time", "event", "n_low", "n_rated"]
    return pd.DataFrame(rows, columns=columns)


@pytest.mark.parametrize("name", COLUMNS)
def test_tables_that_others_build_on_have_their_columns(sample, name):
    table = ask(sample, name).table
    assert [one for one in table.columns if one in COLUMNS[name]] == COLUMNS[name]


class TestOnTheSample:
    def test_rates_equal_a_loop(self, sample, turns, firsts):
        table = ask(sample, "breakdown_rate").table.set_index(["group", "level"])
        whole = table.loc[("all", "all")]
        assert (whole["n_conversations"], whole["n_with_breakdown"]) == (len(firsts), firsts["event"].sum())
        assert (whole["n_turns"], whole["n_breakdown_turns"]) == (firsts["n_rated"].sum(), firsts["n_low"].sum())
        for group in ("task", "model"):
            for level, part in firsts.groupby(group):
                row = table.loc[(group, level)]
                assert row["share"] == pytest.approx(part["event"].mean(), abs=1e-12)
                assert row["n_breakdown_turns"] == part["n_low"].sum()
        rated = turns[turns["value"].notna()]
        for turn, part in rated.groupby("turn"):
            row = table.loc[("turn", str(turn))]
            assert row["n_with_breakdown"] == (part["value"] <= 2).sum()
            assert row["n_conversations"] == len(part)

    def test_survival_equals_a_loop(self, sample, firsts):
        table = ask(sample, "breakdown_survival").table
        for level, part in [("all", firsts), *firsts.groupby("model")]:
            curve, survival = table[table["level"] == level], 1.0
            assert curve["turn"].tolist() == list(range(1, part["time"].max() + 1))
            for row in curve.itertuples():
                at_risk = (part["time"] >= row.turn).sum()
                fell = ((part["time"] == row.turn) & part["event"]).sum()
                survival *= 1 - fell / at_risk
                assert (row.n_at_risk, row.n_events) == (at_risk, fell)
                assert row.survival == pytest.approx(survival, abs=1e-12)

    def test_alignment_equals_a_loop(self, sample, turns, firsts):
        table = ask(sample, "breakdown_alignment").table.set_index(["series", "offset"])
        wide = turns.pivot(index="conversation", columns="turn", values="value")
        known = firsts.set_index("conversation")
        for offset in (-2, 0, 1, 4):
            own, others = [], []
            for event in firsts[firsts["event"]].itertuples():
                value = wide.at[event.conversation, event.time + offset] if event.time + offset in wide else np.nan
                if np.isnan(value):
                    continue
                own.append(value)
                free = known[(known["task"] == event.task) & (~known["event"] | (known["time"] > event.time))].index
                free = [one for one in free if not np.isnan(wide.at[one, event.time])]
                there = wide.loc[free, event.time + offset].dropna()
                if len(there):
                    others.append(there.mean())
            assert table.loc[("breakdown", offset), "mean"] == pytest.approx(np.mean(own), abs=1e-12)
            assert table.loc[("breakdown", offset), "n_conversations"] == len(own)
            assert table.loc[("matched", offset), "mean"] == pytest.approx(np.mean(others), abs=1e-12)

    def test_the_claim_on_broken_continuity_equals_a_loop(self, sample, turns):
        """Ratings on the first turn after an error or a retry, against turns of the same task and number without one so far."""
        claim = registry()["breakdown_alignment"].claims[0]
        found = run_analysis(sample, registry()["breakdown_alignment"], Selection(), claim.parameters)
        marked = sample.cursor().execute(
            "select distinct conversation, turn from (select conversation, role = 'error' or retry = '1' as is_mark, min(turn) over "
            "(partition by conversation order by message rows between current row and unbounded following) as turn from raw.messages) "
            "where is_mark and turn is not null"
        ).fetchall()  # fmt: skip
        rated = turns[turns["value"].notna()].set_index(["conversation", "turn"])["value"].to_dict()
        first = {}
        for name, turn in sorted(marked):
            if (name, turn) in rated:
                first[name] = min(turn, first.get(name, turn))
        task = turns.drop_duplicates("conversation").set_index("conversation")["task"]
        differences = []
        for name, turn in first.items():
            others = [
                rated[other, turn]
                for other in task.index[task == task[name]]
                if (other, turn) in rated and first.get(other, 10**6) > turn
            ]
            if others:
                differences.append(rated[name, turn] - np.mean(others))
        row = found.tables["breakdown_alignment.difference"].set_index("offset").loc[0]
        assert row["difference"] == pytest.approx(np.mean(differences), abs=1e-12)
        assert row["n_conversations"] == len(differences) > 50
        checked = claim.check(found)
        assert checked.value == f"{row['difference']:+.2f} points".replace("-", "−")
        assert f"{len(differences)} conversations" in checked.basis

    def test_impact_equals_a_loop(self, sample, firsts):
        scores = sample.cursor().execute("select conversation, experienced_empathy from conversation_scores").df()
        both = firsts.merge(scores).dropna(subset="experienced_empathy")
        groups = [both.loc[both["event"] == has, "experienced_empathy"] for has in (False, True)]
        pooled = np.sqrt(sum((len(one) - 1) * one.var() for one in groups) / (len(both) - 2))
        d = (groups[0].mean() - groups[1].mean()) / pooled
        row = ask(sample, "breakdown_impact").table.set_index("outcome").loc["experienced_empathy"]
        assert row["estimate"] == pytest.approx(d, abs=1e-12)
        assert row["hedges_g"] == pytest.approx(d * (1 - 3 / (4 * (len(both) - 2) - 1)), abs=1e-12)
        assert (row["n_with"], row["n_without"]) == (len(groups[1]), len(groups[0]))

    def test_recovery_equals_a_loop(self, sample, turns, firsts):
        counts = ask(sample, "breakdown_recovery").tables["breakdown_recovery.counts"].set_index("recovery")
        n_later, n_above, n_both, n_back = 0, 0, 0, 0
        for event in firsts[firsts["event"]].itertuples():
            part = turns[(turns["conversation"] == event.conversation) & turns["value"].notna()]
            later, before = part[part["turn"] > event.time]["value"], part[part["turn"] < event.time]["value"]
            n_later += len(later) > 0
            n_above += (later > 2).any()
            if len(later) and len(before):
                n_both += 1
                n_back += (later >= before.mean() - 0.5 - 1e-9).any()
        above, back = counts.loc["above the threshold"], counts.loc["back to its earlier mean"]
        assert (above["n_conversations"], above["n_recovered"]) == (n_later, n_above)
        assert (back["n_conversations"], back["n_recovered"]) == (n_both, n_back)

    def test_dimensions_equal_a_count(self, sample, turns):
        table = ask(sample, "breakdown_dimensions").table.set_index("dimension")
        relational = sample.cursor().execute(
            "select conversation, turn, value as relational from raw.ratings where outcome = 'relational' and value is not null"
        ).df()  # fmt: skip
        both = turns[turns["value"].notna()].merge(relational)
        broken = both[both["value"] <= 2]
        assert table.loc["relational", "share"] == pytest.approx((broken["relational"] <= 2).mean(), abs=1e-12)
        assert table.loc["relational", "base_rate"] == pytest.approx((both["relational"] <= 2).mean(), abs=1e-12)
        assert table.loc["relational", "n_turns"] == len(broken)

    def test_planted_effects_are_found(self, sample):
        """The sample plants breakdowns by model, an echo on the turns after, retries at them and a cost (EFFECTS.md)."""
        tests = ask(sample, "breakdown_survival").tables["breakdown_survival.tests"]
        assert tests[tests["group"] == "model"]["p_value"].max() < 0.001
        order = ask(sample, "breakdown_alignment").tables["breakdown_alignment.order"].set_index("offset")
        assert order.loc[1, "verdict"] == "below"
        within = ask(sample, "breakdown_impact").tables["breakdown_impact.within"]
        assert (within["conf_low"] > 0).all()
        slope = ask(sample, "rating_trajectories").tables["rating_trajectories.model"].iloc[0]
        assert slope["conf_low"] < -0.034 < slope["conf_high"]
        assert ask(sample, "breakdown_impact").table["estimate"].min() > 0.5

    def test_other_thresholds_are_other_definitions(self, sample, turns):
        rated = turns["value"].dropna()
        for threshold, at in ((0.0, 1), (25.0, 2), (50.0, 3)):
            row = ask(sample, "breakdown_rate", threshold=threshold).table.iloc[0]
            assert row["n_breakdown_turns"] == (rated <= at).sum()

    def test_errors_and_retries_before_a_turn_are_found(self, sample):
        """Walk through the messages of the sample as they came."""
        messages = sample.cursor().execute(
            "select conversation, turn, role, retry from raw.messages order by conversation, message"
        ).df()  # fmt: skip
        rated = set(sample.cursor().execute(
            "select conversation, turn from raw.ratings where outcome = 'overall' and value is not null"
        ).fetchall())  # fmt: skip
        expected, marked, before = 0, False, None
        for row in messages.itertuples():
            marked = (marked and row.conversation == before) or row.role == "error" or row.retry == "1"
            before = row.conversation
            if pd.notna(row.turn):
                expected += marked and (row.conversation, int(row.turn)) in rated
                marked = False
        found = ask(sample, "breakdown_rate", definition="error or retry").table.iloc[0]["n_breakdown_turns"]
        assert found == expected > 50


@pytest.mark.parametrize(("name", "definition"), list(itertools.product(NAMES, DEFINITIONS)))
def test_every_definition_is_answered_and_said(sample, name, definition):
    found = ask(sample, name, definition=definition)
    said = {
        "low rating": "≤ 2",
        "low dimension": "any dimension",
        "drop": "drops by",
        "error or retry": "error or retry",
    }
    shown = " ".join(drawing.figure(Template()).to_json() for drawing in found.figures.values())
    shown = shown.encode().decode("unicode_escape").replace("<br>", " ")
    if name != "rating_trajectories":
        assert said[definition] in shown.replace("≤", "≤")
    assert found.headline.endswith(".")


class TestEdges:
    """Conversations of one turn, first and last turns, gaps, ties, none at all."""

    def rows(self, *ratings):
        return [
            {"conversation": f"c{place}", "text": "word " * (place % 4 + 1)}
            | ({} if value is None else {"overall": value, "affective": value, "cognitive": 3})
            for place, row in enumerate(ratings)
            for value in row
        ]

    def people(self, n, per=2):
        return [
            {"conversation": f"c{place}", "participant": f"p{place // per}", "task": "one", "model": "m", "post_affective": 1 + place % 5}
            for place in range(n)
        ]  # fmt: skip

    def test_none_at_all(self, given):
        data = given(self.rows(*[[4, 5]] * 12), self.people(12))
        assert "No conversation has a breakdown" in ask(data, "breakdown_rate").headline
        assert "No conversation breaks down" in ask(data, "breakdown_survival").headline
        assert (ask(data, "breakdown_survival").table["survival"] == 1).all()
        assert ask(data, "rating_trajectories").headline.endswith(".")
        for name in NAMES[3:]:
            with pytest.raises(TooLittleData, match="None of 12 conversations has a breakdown"):
                ask(data, name)

    def test_every_one_breaks_at_once(self, given):
        data = given(self.rows(*[[1]] * 12), self.people(12))
        assert ask(data, "breakdown_survival").table["survival"].iloc[0] == 0
        assert "nothing can be said of what comes after" in ask(data, "breakdown_alignment").headline
        assert "nothing can be said of recovery" in ask(data, "breakdown_recovery").headline
        with pytest.raises(TooLittleData, match="Every one of 12 conversations"):
            ask(data, "breakdown_impact")

    @pytest.mark.parametrize("name", NAMES)
    def test_a_mixture_of_every_shape(self, given, name):
        shapes = [[4], [1], [2, 4, 1], [4, None, 2], [4, 3, None], [None, None], [5, 5, 5, 5, 5, 2, 5], [3, 3]]
        data = given(self.rows(*shapes * 3), self.people(24, per=3))
        found = ask(data, name)
        assert found.headline.endswith(".")
        assert "nan" not in found.headline
        for drawing in found.figures.values():
            for template in (Template(), Template(paper=True, width=336, font_size=10.7)):
                assert drawing.figure(template).data
        if name == "breakdown_survival":
            curve = found.table[found.table["group"] == "all"].set_index("turn")
            # Per eight: at 1 two of seven fall and one is censored after them; at 2 two are censored; at 3 one of two falls.
            assert curve.loc[1, ["n_at_risk", "n_events", "n_censored"]].tolist() == [21, 6, 3]
            assert curve.loc[2, ["n_at_risk", "n_events", "n_censored"]].tolist() == [12, 0, 6]
            assert curve.loc[3, ["n_at_risk", "n_events", "n_censored"]].tolist() == [6, 3, 0]
            assert curve.loc[6, "survival"] == pytest.approx(15 / 21 * 0.5 * 0)

    @pytest.mark.parametrize("name", NAMES)
    def test_fewer_than_five_participants_give_no_interval(self, given, name):
        data = given(self.rows(*[[4, 2, 3], [4, 5], [1, 3], [3, 3]] * 2), self.people(8, per=4))
        found = ask(data, name)
        for table in found.tables.values():
            for column in {"conf_low", "conf_high"} & set(table.columns):
                if f"{found.name}.order" in found.tables and "seen" in table:
                    continue
                assert table[column].isna().all(), (name, column)
        if name != "breakdown_dimensions":
            assert any("fewer than five" in one for one in found.warnings)

    @pytest.mark.parametrize("name", NAMES)
    def test_mapped_data_without_participants_tasks_and_surveys(self, mapped_folder, name):
        data = connect(mapped_folder, public=False)
        try:
            found = ask(data, name)
        except NotInThisData as reason:
            assert name in ("breakdown_dimensions", "breakdown_context")
            assert str(reason).endswith(".")
            return
        assert "Warmth" in found.headline
        assert "participant" not in found.headline

    def test_hidden_texts_leave_times(self, sample):
        hidden = connect(sample.folder, public=True)
        found = ask(hidden, "breakdown_context")
        assert set(found.table["measure"]) == {"response_seconds", "has_error", "was_retried"}
        assert any("texts are hidden" in one for one in found.notes)

    def test_ties_of_dimensions_share_the_conversation(self, given):
        turns = [
            {"conversation": "c0", "overall": 2, "affective": 1, "cognitive": 2, "response": 4},
            {"conversation": "c1", "overall": 4, "affective": 4, "cognitive": 2},
            {"conversation": "c1", "overall": 1, "affective": 1, "cognitive": 1},
        ]
        first = ask(given(turns), "breakdown_dimensions").tables["breakdown_dimensions.first"].set_index("dimension")
        # c0: affective and cognitive together, half each; c1: cognitive alone, a turn before the breakdown.
        assert first.loc["affective", "share_first"] == pytest.approx(0.25)
        assert first.loc["cognitive", "share_first"] == pytest.approx(0.75)
        assert first.loc["cognitive", "n_first_alone"] == 1
        assert first.loc["response", "n_first"] == 0
