"""Which rows a formula stands for, and what it may name."""

import numpy as np
import pandas as pd
import pytest

from dashboard.analyses.findings import Selection
from dashboard.analyses.model_frame import default_formula, model_data, model_names, read_formula
from dashboard.database import connect
from dashboard.paths import SAMPLE
from dashboard.vocabulary import NotInThisData, Refused, TooLittleData

EVERYTHING = Selection()


@pytest.fixture(scope="module")
def data():
    return connect(SAMPLE, public=False)


@pytest.fixture(scope="module")
def names(data):
    return model_names(data)


def table(name):
    return pd.read_parquet(SAMPLE / f"{name}.parquet")


class TestNames:
    def test_are_those_of_the_contract_and_the_answers_not_applicable(self, names):
        contract = {"turn", "task", "model", "importance", "desired_empathy", "participant", "conversation"}
        scores = {"experienced_empathy", "satisfaction", "ground_truth"}
        covariates = set(table("participants").columns) - {"participant"}
        outcomes = set(table("scales").query("kind == 'rating'")["measure"])
        dimensions = outcomes - {"overall", "turn_mean"}
        stated = {f"{name}_not_applicable" for name in dimensions}
        assert set(names.everything) == contract | scores | covariates | outcomes | stated

    @pytest.mark.parametrize(
        ("text", "word"),
        [
            ("__import__('os')", "no meaning"),
            ("__import__ ~ turn", "__import__"),
            ("overall ~ turn.__class__ + (1|participant)", "turn.__class__"),
            ("x" * 10_000, "10,000"),
            ("overall ~ overall + (1|participant)", "is the outcome"),
            ("overall ~ turnn + (1|participant)", "Did you mean “turn”"),
            ("overall ~ exec(turn) + (1|participant)", "no function"),
            ("age ~ turn + (1|participant)", "“age” is none"),
            ("task ~ turn + (1|participant)", "“task” is none"),
            ("turn ~ overall + (1|participant)", "“turn” is none"),
            ("satisfaction ~ turn + (1|participant)", "varies from turn to turn"),
            ("desired_empathy ~ overall + (1|participant)", "varies from turn to turn"),
            ("", "empty"),
            ("overall", "~"),
            ("(" * 200 + "overall", ""),
        ],
    )
    def test_nonsense_is_a_sentence(self, names, text, word):
        with pytest.raises(Refused) as refusal:
            read_formula(text, names)
        assert word in str(refusal.value)
        assert str(refusal.value).endswith(".")

    def test_a_name_of_the_study_that_the_data_lacks_is_said_to_be_absent(self, names):
        from dataclasses import replace

        without = replace(names, groups=("conversation",))
        with pytest.raises(NotInThisData, match="participant"):
            read_formula("overall ~ turn + (1|participant)", without)


class TestRows:
    def test_of_a_turn_rating_are_turns_rated_or_not(self, data):
        found = model_data(data, EVERYTHING, "affective ~ turn + task + (1|participant)")
        ratings = table("ratings").query("outcome == 'affective'")
        assert found.rows == "turn"
        assert len(found.frame) == len(ratings)
        assert found.frame["affective"].count() == (ratings["answer"] == "rated").sum() == found.counts.turns
        assert found.frame["affective"].sum() == ratings["value"].sum()

    def test_of_a_conversation_score_are_conversations(self, data):
        found = model_data(data, EVERYTHING, "satisfaction ~ task + (1|participant)")
        assert found.rows == "conversation"
        assert len(found.frame) == len(table("conversations"))
        survey = table("survey").merge(table("scales"), left_on="item", right_on="measure")
        expected = survey.query("score == 'satisfaction' and answer == 'rated'").groupby("conversation")["value"].mean()
        assert found.frame["satisfaction"].mean() == pytest.approx(expected.mean())

    def test_two_ratings_of_one_turn_stand_in_one_row(self, data):
        found = model_data(data, EVERYTHING, "overall ~ affective + (1|participant/conversation)")
        wide = table("ratings").pivot(index=["conversation", "turn"], columns="outcome", values="value")
        both = wide[["overall", "affective"]].dropna()
        complete = found.frame[["overall", "affective"]].dropna()
        assert len(complete) == len(both) == found.counts.turns
        assert (complete["overall"] * complete["affective"]).sum() == (both["overall"] * both["affective"]).sum()

    def test_a_predictors_own_rated_turns_do_not_filter(self, data):
        found = model_data(data, Selection(min_rated_turns=8), "overall ~ relational + (1|participant)")
        kept = table("ratings").query("outcome == 'overall' and answer == 'rated'").groupby("conversation").size()
        turns = table("ratings").query("outcome == 'overall'")
        assert len(found.frame) == turns["conversation"].isin(kept[kept >= 8].index).sum()

    def test_not_applicable_is_1_where_said_0_where_rated_and_missing_where_blank(self, data):
        found = model_data(data, EVERYTHING, "relational_not_applicable ~ task + (1|participant)")
        answers = table("ratings").query("outcome == 'relational'")["answer"]
        values = found.frame["relational_not_applicable"]
        assert (values == 1).sum() == (answers == "not_applicable").sum() > 0
        assert (values == 0).sum() == (answers == "rated").sum()
        assert values.isna().sum() == (answers == "missing").sum() > 0

    def test_covariates_come_from_the_participant_with_their_type(self, data):
        found = model_data(data, EVERYTHING, "overall ~ age + gender + (1|participant)")
        people = table("participants").set_index("participant")
        assert found.frame["age"].dtype == float
        expected = found.frame["participant"].map(people["age"])
        assert np.array_equal(found.frame["age"], expected, equal_nan=True)
        assert set(found.frame["gender"].dropna()) == set(people["gender"].dropna())

    def test_filters_apply(self, data):
        found = model_data(data, Selection(model=("GPT-4",)), "overall ~ turn + (1|participant)")
        chosen = table("conversations").query("model == 'GPT-4'")["conversation"]
        assert len(found.frame) == table("ratings").query("outcome == 'overall'")["conversation"].isin(chosen).sum()


class TestWhatIsFittedUnlessTold:
    def test_asks_for_turn_and_model_with_conversations_in_participants(self, data, names):
        text = default_formula(data, EVERYTHING, names)
        assert text == "overall ~ turn + model + (1 | participant/conversation)"

    def test_leaves_out_what_a_selection_holds_fixed(self, data, names):
        text = default_formula(data, Selection(model=("GPT-4",), participant=("S001",)), names)
        assert text == "overall ~ turn + task + (1 | conversation)"

    def test_is_refused_where_there_are_no_groups(self, data, names):
        first = table("conversations")["participant"].value_counts().idxmin()
        alone = Selection(
            participant=(first,), task=(table("conversations").set_index("participant").loc[[first], "task"].iloc[0],)
        )
        if len(model_data(data, alone, "overall ~ 1 + (1|conversation)").frame["conversation"].unique()) > 1:
            pytest.skip("every participant of this sample chose some task twice")
        with pytest.raises(TooLittleData, match="filter"):
            default_formula(data, alone, names)


def test_the_moments_are_the_sums_of_the_rated_turns(data):
    from dashboard.queries import run_query

    found = run_query(data, "model_moments", outcome="affective").set_index("conversation")
    everything = table("ratings").query("outcome == 'affective'")
    assert found["n_turns"].to_dict() == everything.groupby("conversation").size().to_dict()
    assert found["sum_y"].isna().sum() == (found["n"] == 0).sum() > 0
    found = found[found["n"] > 0]
    turns = everything[everything["answer"] == "rated"]
    grouped = turns.assign(ty=turns["turn"] * turns["value"], tt=turns["turn"] ** 2, yy=turns["value"] ** 2)
    expected = grouped.groupby("conversation").agg(
        n=("value", "size"), sum_turn=("turn", "sum"), sum_turn2=("tt", "sum"),
        sum_y=("value", "sum"), sum_y_turn=("ty", "sum"), sum_y2=("yy", "sum"),
    )  # fmt: skip
    pd.testing.assert_frame_equal(
        found[expected.columns].sort_index().astype(float), expected.sort_index().astype(float), check_names=False
    )
