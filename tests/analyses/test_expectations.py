"""Desired, experienced and the gap: against R, fractions by hand, and what must hold at the edges."""

import dataclasses
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from scipy.stats import wilcoxon

from dashboard.analyses import registry
from dashboard.analyses.expectation_rows import means_by, shares_by
from dashboard.analyses.findings import Selection, run_analysis
from dashboard.database import connect
from dashboard.intake.dataset import SENSE7_SCALES
from dashboard.queries import run_query
from dashboard.stats.gap_comparison import add_gaps, compare_tasks, gap_table, relative_verdicts
from dashboard.stats.kruskal import kruskal_wallis, stratified_kruskal
from dashboard.stats.pomp import Scale
from dashboard.vocabulary import NotInThisData, TooLittleData

REFERENCE = Path(__file__).parents[1] / "reference" / "expectations"
SCALES = {"desired_scale": Scale(1, 3), "experienced_scale": Scale(1, 5)}


def reference(name):
    """A table made with R; see the header of each file for script and versions."""
    return pd.read_csv(REFERENCE / f"{name}.csv", comment="#")


@pytest.fixture(scope="module")
def conversations():
    """672 simulated conversations on which the reference numbers were made with R."""
    rows = pd.read_csv(REFERENCE / "conversations.csv")
    return rows.rename(
        columns={"desired": "desired_empathy", "experienced": "experienced_empathy", "participant": "cluster"}
    )


@pytest.fixture(scope="module")
def gaps(conversations):
    return add_gaps(conversations, **SCALES)


def ask(data, name, selection=None, **parameters):
    one = registry()[name]
    return run_analysis(data, one, selection or Selection(), one.parameters(**parameters))


class TestAgainstR:
    def test_desired_per_task(self, conversations):
        expected = reference("expectation_gap").set_index("task")
        found = means_by(conversations, ["task"], "desired_empathy").set_index("task")
        assert list(found.index) == list(expected.index)
        for ours, theirs in {"mean": "desired", "conf_low": "desired_lo", "conf_high": "desired_hi"}.items():
            assert found[ours].to_numpy() == pytest.approx(expected[theirs].to_numpy(), abs=1e-9)
        assert (found["n_conversations"] == expected["n_conversations"]).all()

    def test_gap_its_interval_test_and_shares_per_task(self, gaps):
        expected = reference("expectation_gap")
        found = gap_table(gaps, ["task"])
        columns = {
            "gap": "gap",
            "conf_low": "gap_lo",
            "conf_high": "gap_hi",
            "p_value": "p_wilcox",
            "p_adjusted": "p_holm",
            "rank_biserial": "rank_biserial",
            "share_unmet": "unmet25",
            "share_met": "met25",
            "share_exceeded": "exceeded25",
            "n_zero": "n_zero",
            "n_participants": "n_participants",
        }
        for ours, theirs in columns.items():
            assert found[ours].to_numpy(dtype=float) == pytest.approx(expected[theirs].to_numpy(), abs=1e-9), ours

    def test_a_narrower_band(self, conversations):
        expected = reference("expectation_gap")
        found = gap_table(add_gaps(conversations, **SCALES, band=12.5), ["task"])
        for ours, theirs in {"share_unmet": "unmet12", "share_met": "met12", "share_exceeded": "exceeded12"}.items():
            assert found[ours].to_numpy() == pytest.approx(expected[theirs].to_numpy(), abs=1e-12)

    def test_p_values_are_scipys_with_the_options_of_the_definition(self, gaps):
        for task, found in gap_table(gaps, ["task"]).set_index("task")["p_value"].items():
            means = gaps[gaps["task"] == task].groupby("cluster")["gap"].mean().round(9)
            expected = wilcoxon(means[means != 0], correction=False, method="asymptotic").pvalue
            assert found == pytest.approx(expected, rel=1e-9)

    def test_rank_tests(self, gaps, conversations):
        expected = reference("kruskal").set_index("test")["value"].to_list()
        tasks, who = gaps["task"].to_numpy(), gaps["cluster"].to_numpy()
        plain, stratified = kruskal_wallis(gaps["gap"], tasks), stratified_kruskal(gaps["gap"], tasks, who)
        assert [plain.statistic, plain.epsilon_squared, stratified.statistic] == pytest.approx(expected[:3], rel=1e-9)
        experienced = conversations["experienced_empathy"]
        plain, stratified = kruskal_wallis(experienced, tasks), stratified_kruskal(experienced, tasks, who)
        found = [plain.statistic, plain.p_value, stratified.statistic, stratified.p_value]
        assert found == pytest.approx(expected[4:8], rel=1e-9)

    def test_marginal_means_contrasts_and_joint_test(self, gaps):
        found = compare_tasks(gaps, "gap")
        means, pairs, joint = (reference(f"gap_{name}") for name in ("emmeans", "contrasts_holm", "joint_test"))
        for ours, theirs in {"estimate": "emmean", "std_error": "SE", "conf_low": "lower.CL"}.items():
            assert found.means[ours].to_numpy() == pytest.approx(means[theirs].to_numpy(), rel=1e-5)
        assert found.means["df"].to_numpy() == pytest.approx(means["df"].to_numpy(), rel=5e-3)
        assert list(found.contrasts["contrast"]) == list(pairs["contrast"])
        assert found.contrasts["estimate"].to_numpy() == pytest.approx(pairs["estimate"].to_numpy(), rel=1e-5)
        assert found.contrasts["p_adjusted"].to_numpy() == pytest.approx(pairs["p.value"].to_numpy(), rel=1e-3)
        assert found.joint["statistic"][0] == pytest.approx(joint["F.value"][0], rel=1e-5)
        assert found.joint["df_denominator"][0] == pytest.approx(joint["DenDF"][0], rel=5e-3)


class TestProperties:
    def test_gap_is_experienced_minus_desired_of_the_same_conversations(self, gaps):
        table = gap_table(gaps, ["task"])
        assert (table["experienced_pomp"] - table["desired_pomp"]).to_numpy() == pytest.approx(table["gap"].to_numpy())
        shares = table[["share_unmet", "share_met", "share_exceeded"]].sum(axis=1)
        assert shares.to_numpy() == pytest.approx(np.ones(len(table)))

    def test_the_lowest_level_cannot_be_unmet_nor_the_highest_exceeded(self, gaps):
        table = gap_table(gaps, ["desired_empathy"]).set_index("desired_empathy")
        assert table.loc[1.0, "share_unmet"] == 0
        assert table.loc[3.0, "share_exceeded"] == 0

    def test_order_of_rows_changes_nothing(self, gaps):
        shuffled = gaps.sample(frac=1, random_state=3)
        pd.testing.assert_frame_equal(gap_table(gaps, ["task"]), gap_table(shuffled, ["task"]), rtol=1e-12)

    def test_rank_and_tercile_gaps_compare_tasks_only(self, conversations):
        by_rank = add_gaps(conversations, **SCALES, mapping="rank")
        assert by_rank["gap"].mean() == pytest.approx(0, abs=1e-9)
        # A task's place is that of ranks, so any rising transformation of experienced empathy leaves it.
        moved = conversations.assign(experienced_empathy=lambda x: (x["experienced_empathy"] / 5) ** 3)
        for mapping in ("rank", "tercile"):
            first = relative_verdicts(add_gaps(conversations, **SCALES, mapping=mapping))
            second = relative_verdicts(add_gaps(moved, **SCALES, mapping=mapping))
            pd.testing.assert_frame_equal(first, second)

    def test_shares_of_levels_add_to_one_and_include_levels_never_given(self, conversations):
        kept = conversations[conversations["desired_empathy"] != 2]
        shares = shares_by(kept, "task", "desired_empathy", [1.0, 2.0, 3.0])
        assert shares.groupby("task")["share"].sum().to_numpy() == pytest.approx(np.ones(8))
        assert (shares.loc[shares["level"] == 2, "n"] == 0).all()


def survey(name, participant, task, desired, *answers, **more):
    items = ("post_affective", "post_cognitive")
    row = {"conversation": name, "participant": participant, "task": task, "model": "m", "desired_empathy": desired}
    return row | dict(zip(items, answers, strict=False)) | more


@pytest.fixture
def small(given):
    """Seven people with one conversation each on one task, one person with three on another, one with none rated."""
    rows = [survey(f"a{i}", f"p{i}", "A", 1 + i % 3, 1 + i % 5, 5) for i in range(7)]
    rows += [survey(f"b{i}", "p0", "B", 3, 2, 2) for i in range(2)]
    rows += [survey("b9", "p1", "B", 3), survey("c0", "p2", "C", None, 4, 4)]
    return given([{"conversation": row["conversation"], "overall": 3} for row in rows], rows)


class TestEdges:
    def test_a_task_of_two_conversations_is_shown_with_n_and_without_interval_or_test(self, small):
        found = ask(small, "expectation_gap")
        row = found.table.set_index("task").loc["B"]
        assert (row["n_conversations"], row["n_participants"]) == (2, 1)
        # experienced 2 → 25, desired 3 → 100
        assert row["gap"] == -75
        assert np.isnan(row["conf_low"])
        assert np.isnan(row["p_value"])
        assert row["method"] == "no test: 1 of 1 differ from zero, fewer than 6"
        said = " ".join(found.warnings)
        assert "B (2 conversations): no interval is given there" in said
        assert "No signed-rank test for" in said

    def test_conversations_that_lack_an_answer_are_left_out_and_counted(self, small):
        found = ask(small, "expectation_gap")
        assert "2 conversations lack one of the two answers and are left out." in found.notes
        assert "C" not in set(found.table["task"])
        assert ask(small, "desired_empathy_by_task").table["n_conversations"].sum() == 10
        assert ask(small, "experienced_empathy_by_task").table["n_conversations"].sum() == 10

    def test_where_nobody_has_two_conversations_the_model_is_left_out_with_the_reason(self, given):
        rows = [survey(f"{task}{i}", f"p{task}{i}", task, 2, 1 + i % 5) for i in range(8) for task in "AB"]
        data = given([{"conversation": row["conversation"]} for row in rows], rows)
        found = ask(data, "expectation_gap")
        assert any("Nobody has two conversations" in text for text in found.warnings)
        assert "expectation_gap.contrasts" not in found.tables
        assert len(found.table) == 2

    def test_one_desired_level_only(self, sample):
        found = ask(sample, "expectation_gap", Selection(desired_empathy=(3.0,)))
        assert (found.table["share_exceeded"] == 0).all()
        assert set(found.tables["expectation_gap.within"]["desired_empathy"]) == {3.0}

    def test_one_task_only(self, sample):
        found = ask(sample, "expectation_gap", Selection(task=("Ode to a potato",)))
        assert any("one task only" in text for text in found.warnings)
        assert len(ask(sample, "desired_empathy_by_task", Selection(task=("Ode to a potato",))).table) == 1

    def test_without_desired_empathy_the_experienced_side_works(self, given):
        scales = [one for one in SENSE7_SCALES if one.score != "desired_empathy"]
        rows = [survey(f"c{i}", None, "AB"[i % 2], None, 1 + i % 5) for i in range(12)]
        for row in rows:
            del row["desired_empathy"]
        data = given([{"conversation": row["conversation"]} for row in rows], rows, scales=scales)
        found = ask(data, "experienced_empathy_by_task")
        assert found.table["n_participants"].isna().all()
        assert list(found.table["mean"]) == [
            pytest.approx(np.mean([1, 3, 5, 2, 4, 1])),
            pytest.approx(np.mean([2, 4, 1, 3, 5, 2])),
        ]
        for name in ("expectation_gap", "desired_empathy_by_task"):
            with pytest.raises(NotInThisData, match="desired empathy"):
                ask(data, name)

    def test_a_scale_that_nobody_answered_is_not_in_the_data(self, given):
        rows = [survey("c0", "p0", "A", None, 3)]
        with pytest.raises(NotInThisData, match="desired empathy"):
            ask(given([{"conversation": "c0"}], rows), "expectation_gap")

    def test_a_selection_without_answers_says_what_to_do(self, small):
        with pytest.raises(TooLittleData, match="Take a filter away"):
            ask(small, "expectation_gap", Selection(task=("C",)))

    def test_not_applicable_lowers_applicability_and_leaves_the_mean(self, given):
        rows = [survey(f"c{i}", f"p{i}", "A", 2, 4, "n/a" if i else 2) for i in range(6)]
        found = ask(given([{"conversation": row["conversation"]} for row in rows], rows), "experienced_empathy_by_task")
        cell = found.tables["experienced_empathy_by_task.dimensions"].set_index("dimension").loc["post_cognitive"]
        assert (cell["n_rated"], cell["n_not_applicable"], cell["n_missing"]) == (1, 5, 0)
        assert cell["share_applicable"] == pytest.approx(1 / 6)
        assert cell["mean"] == 2
        # five conversations of 4 alone, one of (4 + 2)/2
        assert found.table["mean"][0] == pytest.approx(23 / 6)


class TestMapping:
    def test_the_figure_says_the_mapping_and_the_page_whether_it_matters(self, sample):
        from dashboard.figures.template import Template

        for mapping, words in {"pomp": "maximum", "rank": "Percentile", "tercile": "third"}.items():
            found = ask(sample, "expectation_gap", mapping=mapping)
            title = found.figures["expectation_gap"].figure(Template()).layout.xaxis.title.text
            assert words in title and "desired 1–3" in title.replace("<br>", " ")
            assert any(text.startswith("The conclusion ") for text in found.warnings)

    def test_a_conclusion_that_changes_is_named(self):
        from dashboard.analyses.gap_words import mapping_sentence

        same = pd.DataFrame({"task": ["A", "B"], "verdict": ["below", "above"]})
        other = same.assign(verdict=["below", "undecided"])
        text = mapping_sentence({"pomp": same, "rank": other, "tercile": same})
        assert "depends on the mapping" in text and "by rank for B" in text and "tercile" not in text
        assert "does not depend" in mapping_sentence({"pomp": same, "rank": same, "tercile": same})


def test_traits_in_numbers_are_cut_into_thirds_and_long_lists_of_words_left_out(given):
    from dashboard.analyses.desired_empathy_by_task import covariate_levels

    people = [
        {"participant": f"p{i}", "age": 20 + i, "job": f"job {i}", "hand": "left" if i else "right"} for i in range(9)
    ]
    rows = [{"conversation": f"c{i}", "participant": f"p{i}"} for i in range(9)]
    data = given([{"conversation": f"c{i}"} for i in range(9)], rows, people=people)
    found = covariate_levels(run_query(data, "participant_covariates"))
    assert list(found[found["group"] == "age"]["level"].unique()) == ["20–22", "23–25", "26–28"]
    assert set(found["group"]) == {"age", "hand"}


def test_desired_empathy_is_answered_by_every_split(sample):
    one = registry()["desired_empathy_by_task"]
    for by in one.parameter_fields()["by"].metadata["choices"]:
        found = run_analysis(sample, one, Selection(), one.parameters(by=by))
        assert found.headline.endswith(".")
        assert len(found.tables["desired_empathy_by_task.by"]) > 1


SHAPED = Path(__file__).parents[2].parent / "shared" / "data" / "sense7_release_shaped.xlsx"


@pytest.mark.skipif(not SHAPED.exists(), reason="the release-shaped workbook is not beside this repository")
def test_a_workbook_in_the_released_shape_gives_the_reference_numbers(tmp_path):
    from dashboard.intake.imports import import_source

    import_source(SHAPED, tmp_path / "data")
    data = connect(tmp_path / "data", public=False)
    expected = reference("expectation_gap")
    table = ask(data, "expectation_gap").table
    assert table["gap"].to_numpy() == pytest.approx(expected["gap"].to_numpy(), abs=1e-9)
    assert table["p_adjusted"].to_numpy() == pytest.approx(expected["p_holm"].to_numpy(), rel=1e-9)
    experienced = ask(data, "experienced_empathy_by_task").table
    assert experienced["mean"].to_numpy() == pytest.approx(expected["experienced"].to_numpy(), abs=1e-9)


def test_contract_columns_come_first_and_in_order(sample):
    columns = list(ask(sample, "expectation_gap").table.columns)
    assert columns[:13] == [
        "task",
        "n_conversations",
        "n_participants",
        "desired_pomp",
        "experienced_pomp",
        "gap",
        "conf_low",
        "conf_high",
        "p_value",
        "p_adjusted",
        "share_unmet",
        "share_met",
        "share_exceeded",
    ]
    assert list(ask(sample, "desired_empathy_by_task").table.columns) == (
        ["task", "n_conversations", "n_participants", "mean", "conf_low", "conf_high"]
    )
    assert dataclasses.is_dataclass(registry()["expectation_gap"].parameters)


@pytest.mark.parametrize("name", [one.name for one in registry().values() if one.page == "Expectations"])
@pytest.mark.parametrize("folder", ["nasty_folder", "unrated_folder", "mapped_folder"])
def test_odd_data_is_answered_literally_or_refused_in_a_sentence(name, folder, request):
    from dashboard.figures.template import Template
    from dashboard.vocabulary import Refused

    data = connect(request.getfixturevalue(folder), public=False)
    try:
        found = ask(data, name)
    except Refused as refusal:
        assert isinstance(refusal, NotInThisData | TooLittleData)
        assert str(refusal).endswith(".")
        return
    assert folder == "nasty_folder"
    for drawing in found.figures.values():
        for template in (Template(), Template(paper=True, width=336, font_size=10.7)):
            text = drawing.figure(template).to_json().replace("\\u003c", "<")
            assert "<script" not in text and "<img" not in text


def test_a_mapping_by_rank_or_third_claims_no_shortfall(sample):
    for mapping in ("rank", "tercile"):
        found = ask(sample, "expectation_gap", mapping=mapping)
        assert found.headline.startswith("Compared with the average conversation")
        assert "falls short" not in found.headline
        assert f"The {mapping} mapping compares tasks with each other only" in found.warnings[0]
