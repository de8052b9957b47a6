"""The Variability page's analyses on real data folders: R's goldens, what is planted in the sample, and people at the edges."""

import dataclasses
import math
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from dashboard.analyses import registry
from dashboard.analyses.findings import Selection, parse_parameters, run_analysis
from dashboard.database import connect
from dashboard.intake.imports import import_source
from dashboard.paths import SAMPLE
from dashboard.vocabulary import NotInThisData, Refused

SHARED = Path(__file__).parents[2].parent / "shared" / "data"
GOLDEN = SHARED / "golden"
needs_golden = pytest.mark.skipif(not GOLDEN.is_dir(), reason="the shared golden numbers are not on this machine")
DIMENSIONS = ("Affective", "Cognitive", "Response", "Prosocial", "Interest", "Contextual", "Relational")


@pytest.fixture(scope="module")
def sample():
    return connect(SAMPLE, public=False)


@pytest.fixture(scope="module")
def shaped(tmp_path_factory):
    """The release-shaped workbook, imported once."""
    folder = tmp_path_factory.mktemp("shaped") / "data"
    import_source(SHARED / "sense7_release_shaped.xlsx", folder)
    return connect(folder, public=False)


_found = {}


def ask(data, name, *given, selection=None):
    """What an analysis finds; asked once for each data folder and each way of asking, since findings are frozen."""
    one = registry()[name]
    chosen, parameters = parse_parameters(one, list(given))
    chosen = selection or chosen
    key = (str(data.folder), str(data.manifest["counts"]), name, chosen, parameters)
    if key not in _found:
        _found[key] = run_analysis(data, one, chosen, parameters)
    return _found[key]


def golden(name):
    return pd.read_csv(GOLDEN / name, comment="#")


def people_at_the_edges(folder):
    """Import a small file: a person with one turn, one with one conversation, one all equal, one all not applicable, and four more."""
    ratings = {
        "one turn": [[4]],
        "one conversation": [[3, 4, 2, 5, 4]],
        "all equal": [[3, 3, 3], [3, 3]],
        "all not applicable": [["N/A", "N/A"], ["N/A"]],
        "blank": [["", ""]],
        "ordinary A": [[2, 3, 2], [4, 3, 5, 4]],
        "ordinary B": [[5, 5, 4], [5, 4, 5]],
        "ordinary C": [[1, 2, 1, 3], [2, 2, 1]],
        "ordinary D": [[3, 4, 4], [4, 5, 3]],
    }
    rows = []
    for person, conversations in ratings.items():
        for number, values in enumerate(conversations):
            for place, value in enumerate(values):
                task = f"{person} {number}"
                row = {"PID": person, "Model": "GPT-4", "TaskId": task, "PreTaskChoice": "Plan", "MessageId": 2 * place}
                rows.append(row | {"Role": "user", "Content": "?"})
                rated = dict.fromkeys(("EmpathyOverall", *DIMENSIONS), value)
                rows.append(row | {"Role": "assistant", "Content": "!", "MessageId": 2 * place + 1} | rated)
    path = folder / "edges.csv"
    pd.DataFrame(rows).to_csv(path, index=False)
    import_source(path, folder / "data")
    return connect(folder / "data", public=False)


@pytest.fixture(scope="module")
def edges(tmp_path_factory):
    return people_at_the_edges(tmp_path_factory.mktemp("edges"))


class TestParticipants:
    def test_everyone_is_in_the_table_and_counted(self, edges):
        findings = ask(edges, "participant_ratings")
        table = findings.table.set_index("participant")
        assert len(table) == 9
        assert table.loc["all not applicable", "n_turns"] == table.loc["blank", "n_turns"] == 0
        assert table.loc["all not applicable", ["mean", "shrunken_mean"]].isna().all()
        assert math.isnan(table.loc["one turn", "std_dev"])
        assert table.loc["all equal", "std_dev"] == 0
        assert any("2 participants without a rating" in warning for warning in findings.warnings)
        assert any("1 participant rated a single turn" in warning for warning in findings.warnings)
        assert "7 participants" in findings.headline

    def test_shrunken_means_lie_between_the_raw_mean_and_everyones(self, sample):
        table = ask(sample, "participant_ratings").table.dropna(subset="shrunken_mean")
        between = (table["shrunken_mean"] - table["mean"]).abs() <= (table["mean"] - 3.64).abs() + 0.25
        assert between.mean() > 0.98
        assert (table["conf_low"] < table["shrunken_mean"]).all()

    @needs_golden
    def test_agree_with_lme4_through_import_and_query(self, shaped):
        ours = ask(shaped, "participant_ratings").table.set_index("participant")
        theirs = golden("shrunken_means.csv").set_index("participant")
        np.testing.assert_allclose(ours.loc[theirs.index, "shrunken_mean"], theirs["shrunken_mean"], atol=5e-6)

    def test_one_person_alone_is_a_sentence(self, sample):
        findings = ask(sample, "participant_ratings", selection=Selection(participant=("S001",)))
        assert findings.headline.startswith("The one participant here")
        assert any("two participants" in warning for warning in findings.warnings)

    def test_without_participants_it_is_not_in_this_data(self, sample):
        counts = sample.manifest["counts"] | {"participants": None}
        nobody = dataclasses.replace(sample, manifest={**sample.manifest, "counts": counts})
        for name in ("participant_ratings", "response_styles", "variance_components", "dependability"):
            with pytest.raises(NotInThisData):
                ask(nobody, name)


class TestComponents:
    @needs_golden
    def test_agree_with_lme4_for_every_outcome(self, shaped):
        ours = ask(shaped, "variance_components")
        shares = ours.table.pivot(index="outcome", columns="component", values="share")
        theirs = golden("variance_components.csv").set_index("outcome")
        for component in ("participant", "conversation", "turn"):
            np.testing.assert_allclose(shares.loc[theirs.index, component], theirs[f"share_{component}"], rtol=2e-4)
        simple = ours.tables["variance_components.companions"].set_index("measure")
        assert simple.loc["icc1", "estimate"] == pytest.approx(golden("icc1_unbalanced.csv")["icc1"][0], rel=1e-9)
        equal = golden("brown_forsythe.csv").set_index("case").loc["sense7 overall by participant"]
        assert simple.loc["brown_forsythe", "estimate"] == pytest.approx(equal["f"], rel=1e-9)
        assert simple.loc["icc_of_conversation_sds", "estimate"] > 0

    def test_intervals_hold_what_is_planted_in_the_sample(self, sample):
        table = ask(sample, "variance_components").table
        own = table[table["outcome"] == "overall"].set_index("component")
        # data/sample/EFFECTS.md: shares of the variance as seen in large samples.
        for component, planted in (("participant", 0.31), ("conversation", 0.19), ("turn", 0.50)):
            assert own.loc[component, "conf_low"] < planted < own.loc[component, "conf_high"]

    def test_bootstrap_intervals_on_demand_hold_the_estimate(self, sample):
        found = ask(sample, "variance_components", ("intervals", "bootstrap"), ("n_boot", "50")).table
        assert ((found["conf_low"] < found["share"]) & (found["share"] < found["conf_high"])).all()
        profile = ask(sample, "variance_components").table
        np.testing.assert_array_equal(found["share"], profile["share"])
        assert (found["conf_low"] != profile["conf_low"]).all()

    def test_an_unknown_kind_of_interval_is_refused_with_those_that_exist(self, sample):
        with pytest.raises(Refused, match="'profile'"):
            ask(sample, "variance_components", ("intervals", "guess"))

    def test_shares_sum_to_one(self, sample):
        table = ask(sample, "variance_components").table
        np.testing.assert_allclose(table.groupby("outcome")["share"].sum(), 1)


class TestDependability:
    @needs_golden
    def test_conversations_needed_are_those_of_the_golden_components(self, shaped):
        table = ask(shaped, "dependability", ("turns", "7")).table
        own = table[table["reliability"] == 0.8].set_index("outcome")["conversations_needed"]
        theirs = golden("variance_components.csv").set_index("outcome")["n_conv_080_t7"]
        assert own.loc[theirs.index].tolist() == theirs.tolist()

    def test_longer_conversations_never_need_more_of_them(self, sample):
        short, long = (ask(sample, "dependability", ("turns", n)).table["conversations_needed"] for n in ("2", "12"))
        assert (long <= short).all()


class TestStyles:
    @needs_golden
    def test_reliability_agrees_with_the_golden_split_halves(self, shaped):
        found = ask(shaped, "response_styles", ("n_boot", "0")).tables["response_styles.reliability"].set_index("index")
        theirs = golden("index_split_half.csv").set_index("index")
        for ours, name in (("mean", "mean"), ("std_dev", "sd"), ("entropy", "entropy"), ("inertia", "inertia")):
            assert found.loc[ours, "estimate"] == pytest.approx(theirs.loc[name, "spearman_brown"], rel=1e-9)

    @needs_golden
    def test_says_that_ranking_by_sd_is_noise_where_it_is(self, shaped):
        assert "ranking people by SD is mostly noise" in ask(shaped, "response_styles").headline

    def test_straight_lining_is_found(self, edges):
        table = ask(edges, "response_styles").table.set_index("participant")
        # Every dimension of a turn got the same rating there.
        assert (table["share_straight_lining"].dropna() == 1).all()
        assert table.loc["all not applicable", "share_applicable"] == 0
        assert math.isnan(table.loc["blank", "share_applicable"])


class TestReliability:
    @needs_golden
    def test_agrees_with_r_through_import_and_query(self, shaped):
        table = ask(shaped, "rating_reliability", ("n_boot", "0")).table
        alphas = table[table["statistic"] == "alpha"].set_index("scale")["estimate"]
        theirs = golden("reliability_sense7.csv").set_index(["basis", "dimensions"])["alpha"]
        for ours, basis in (
            ("complete turns", ("complete turns", "seven")),
            ("without relational", ("complete turns", "without relational")),
            ("pairwise covariances", ("pairwise covariances", "seven")),
            ("post-task items", ("post-task items, conversations", "seven")),
            ("complete turns, within conversations", ("within conversations (pooled), complete", "seven")),
        ):
            assert alphas[ours] == pytest.approx(theirs[basis], rel=1e-9)

    def test_alpha_planted_in_the_sample_is_found(self, sample):
        # data/sample/EFFECTS.md: 0.967 in large samples; this one has some hundred complete turns.
        table = ask(sample, "rating_reliability", ("n_boot", "400")).table
        assert table.iloc[0]["estimate"] == pytest.approx(0.967, abs=0.012)

    def test_claims_stand_beside_the_published_figures(self, sample):
        one = registry()["rating_reliability"]
        for claim, reported in zip(one.claims, ("0.961", "0.94"), strict=True):
            assert claim.parameters == one.parameters(n_boot=400)
            checked = claim.check(ask(sample, "rating_reliability", ("n_boot", "400")))
            assert claim.reported == reported
            assert 0.8 < float(checked.value) < 1
            assert checked.interval and "with all" in checked.basis


class TestAssociations:
    @needs_golden
    def test_agree_with_r_through_import_and_query(self, shaped):
        findings = ask(shaped, "dimension_associations", ("n_boot", "0"))
        ours = findings.table.pivot(index=["x", "y"], columns="level", values="estimate")
        theirs = golden("dimension_correlations.csv").set_index(["x", "y"])
        np.testing.assert_allclose(
            ours.loc[theirs.index, "within_participant"], theirs["r_within_participant"], rtol=1e-9
        )
        np.testing.assert_allclose(
            ours.loc[theirs.index, "within_conversation"], theirs["r_within_conversation"], rtol=1e-9
        )
        kappas = findings.tables["dimension_associations.kappa"].pivot(
            index="dimension", columns="weights", values="estimate"
        )
        expected = golden("kappa_with_overall.csv").set_index("dimension")
        for ours_name, name in (("unweighted", "kappa"), ("linear", "kappa_linear"), ("quadratic", "kappa_quadratic")):
            np.testing.assert_allclose(kappas.loc[expected.index, ours_name], expected[name], rtol=1e-9)

    def test_kappas_planted_in_the_sample_are_found(self, sample):
        # data/sample/EFFECTS.md, unweighted, as seen in large samples.
        table = ask(sample, "dimension_associations", ("n_boot", "200")).tables["dimension_associations.kappa"]
        own = table[table["weights"] == "unweighted"].set_index("dimension")
        for dimension, planted in (("affective", 0.70), ("prosocial", 0.64), ("relational", 0.535)):
            assert own.loc[dimension, "estimate"] == pytest.approx(planted, abs=0.07)
        assert own["estimate"].idxmin() == "relational"

    def test_importance_is_a_division(self, sample):
        table = ask(sample, "dimension_associations", ("n_boot", "200")).tables["dimension_associations.importance"]
        assert table["share"].sum() == pytest.approx(1)
        assert (table["share"] > 0).all()

    def test_claims_stand_beside_the_published_figures(self, sample):
        one = registry()["dimension_associations"]
        assert one.claims[0].parameters == one.parameters(n_boot=200)
        found = ask(sample, "dimension_associations", ("n_boot", "200"))
        values = [claim.check(found).value for claim in one.claims]
        assert 0.4 < float(values[1]) < float(values[0]) < 0.8
        assert values[2].count("/") == 2


class TestProfile:
    def test_is_the_person_asked_for(self, sample):
        findings = ask(sample, "participant_profile", ("person", "S001"))
        people = ask(sample, "participant_ratings").table.set_index("participant")
        own = findings.table.set_index("index")
        for name in ("mean", "std_dev", "rmssd", "longest_run"):
            assert own.loc[name, "value"] == pytest.approx(people.loc["S001", name])
        conversations = findings.tables["participant_profile.conversations"]
        assert conversations["n_turns"].sum() == people.loc["S001", "n_turns"]
        pooled = (conversations["mean"] * conversations["n_turns"]).sum() / conversations["n_turns"].sum()
        assert pooled == pytest.approx(people.loc["S001", "mean"])
        levels = findings.tables["participant_profile.levels"]
        assert levels["share"].sum() == pytest.approx(1) and levels["share_everyone"].sum() == pytest.approx(1)

    def test_an_unknown_person_is_refused_with_those_that_exist(self, sample):
        with pytest.raises(Refused, match="no participant in this selection 'S0001'"):
            ask(sample, "participant_profile", ("person", "S0001"))

    def test_whoever_rated_nothing_is_a_sentence(self, edges):
        findings = ask(edges, "participant_profile", ("person", "all not applicable"))
        assert "on no turn" in findings.headline
        assert not findings.figures


def test_a_click_gives_the_id_behind_the_point():
    from dashboard.ui.people import clicked_person

    assert clicked_person({"selection": {"points": [{"customdata": ["S&amp;1", 3, 2]}]}}) == "S&1"
    assert clicked_person({"selection": {"points": [{"x": 1}]}}) is None
    assert clicked_person(None) is None


def test_a_click_on_a_turn_gives_its_conversation_and_the_turn():
    from dashboard.ui.people import clicked_turn

    assert clicked_turn({"selection": {"points": [{"customdata": ["C&lt;1&gt;", "Plan", 4]}]}}) == ("C<1>", 4)
    assert clicked_turn({"selection": {"points": [{"customdata": {"0": "C1", "1": "Plan", "2": 4}}]}}) == ("C1", 4)
    assert clicked_turn({"selection": {"points": [{"x": 1}]}}) is None


class TestNotApplicable:
    def test_what_is_planted_in_the_sample_is_found(self, sample):
        # data/sample/EFFECTS.md: relational applies most to Homesick on Mars (0.5), least to Debugging a teapot (−0.55).
        findings = ask(sample, "applicability_model", ("dimension", "relational"))
        terms = findings.table.set_index("term")["estimate"]
        assert terms["task[Debugging a teapot]"] > terms["task[Homesick on Mars]"]
        overall = findings.tables["applicability_model.overall"]
        assert set(overall["dimension"]) == {name.lower() for name in DIMENSIONS}

    def test_an_unknown_dimension_is_refused(self, sample):
        with pytest.raises(Refused, match="no dimension 'relation'"):
            ask(sample, "applicability_model", ("dimension", "relation"))


class TestCovariates:
    def test_counts_and_adjusts_every_comparison(self, sample):
        findings = ask(sample, "covariate_associations")
        known = findings.table.dropna(subset="p_value")
        assert f"{len(known)} comparisons, none planned" in findings.warnings[0]
        smallest = known.sort_values("p_value").iloc[0]
        assert smallest["p_adjusted"] == pytest.approx(min(1.0, smallest["p_value"] * len(known)))
        assert (known["p_adjusted"] >= known["p_value"]).all()

    def test_without_covariates_they_are_not_in_this_data(self, edges):
        with pytest.raises(NotInThisData, match="covariates"):
            ask(edges, "covariate_associations")
