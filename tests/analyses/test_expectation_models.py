"""Tracking, response surface, person against task, dimensions and thirds: against R, by hand, and at the edges."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from dashboard.analyses import registry
from dashboard.analyses.expectation_onset import by_third, change_of_gap, third_gaps
from dashboard.analyses.findings import Selection, run_analysis
from dashboard.database import connect
from dashboard.stats.crossed_components import COMPONENTS, crossed_components
from dashboard.stats.gap_comparison import add_gaps
from dashboard.stats.linear_mixed import fit_linear_mixed
from dashboard.stats.pomp import Scale
from dashboard.stats.response_surface import centred, congruence_rules, fit_surface, principal_axis, quadratic, shape_of
from dashboard.stats.tracking import track
from dashboard.vocabulary import NotInThisData, TooLittleData

REFERENCE = Path(__file__).parents[1] / "reference" / "expectations"


def reference(name):
    return pd.read_csv(REFERENCE / f"{name}.csv", comment="#")


def ask(data, name, selection=None, **parameters):
    one = registry()[name]
    return run_analysis(data, one, selection or Selection(), one.parameters(**parameters))


@pytest.fixture(scope="module")
def conversations():
    return reference("conversations")


@pytest.fixture(scope="module")
def gaps(conversations):
    named = conversations.rename(
        columns={"desired": "desired_empathy", "experienced": "experienced_empathy", "participant": "cluster"}
    )
    return add_gaps(named, desired_scale=Scale(1, 3), experienced_scale=Scale(1, 5))


@pytest.fixture(scope="module")
def surface_rows(conversations):
    return pd.DataFrame(
        {
            "cluster": conversations["participant"],
            "x": centred(conversations["desired"], Scale(1, 3)),
            "y": centred(conversations["experienced"], Scale(1, 5)),
            "level": conversations["desired"].astype(float),
            "satisfaction": conversations["satisfaction"],
        }
    )


class TestTracking:
    def test_slopes_are_those_of_lmertest(self, gaps):
        found, reasons = track(gaps)
        expected = reference("tracking")
        assert reasons == ()
        assert list(found["term"]) == list(expected["term"])
        assert list(found["model"]) == list(expected["model"])
        for column, within in {"estimate": 1e-6, "std_error": 1e-6, "df": 0.3, "p_value": 1e-5}.items():
            assert found[column].to_numpy() == pytest.approx(expected[column].to_numpy(), abs=within), column

    def test_whoever_gets_exactly_what_they_want_is_followed_fully(self):
        rng = np.random.default_rng(1)
        desired = rng.choice([0.0, 50.0, 100.0], 200)
        person = np.repeat(np.arange(20), 10)
        rows = pd.DataFrame(
            {
                "cluster": person.astype(str),
                "task": rng.choice(list("ab"), 200),
                "desired_pomp": desired,
                "experienced_pomp": desired + rng.normal(0, 1, 200) + rng.normal(0, 5, 20)[person],
            }
        )
        found = track(rows)[0].set_index(["model", "term"])
        assert found.loc[("as it is", "within"), "estimate"] == pytest.approx(1, abs=0.01)
        # A shift of everybody's experience leaves the slopes.
        moved = track(rows.assign(experienced_pomp=rows["experienced_pomp"] + 7))[0]
        assert moved["estimate"].to_numpy() == pytest.approx(found["estimate"].to_numpy(), abs=1e-7)

    def test_people_with_one_conversation_give_no_slope_within_but_the_levels(self, given):
        rows = [
            {"conversation": f"c{i}", "participant": f"p{i}", "task": "AB"[i % 2], "desired_empathy": 1 + i % 3}
            | {"post_affective": 1 + i % 5}
            for i in range(15)
        ]
        found = ask(given([{"conversation": row["conversation"]} for row in rows], rows), "expectation_tracking")
        assert found.table["estimate"].isna().all()
        assert "Nobody wanted different levels" in found.warnings[0]
        assert list(found.tables["expectation_tracking.levels"]["n_conversations"]) == [5, 5, 5]
        assert "cannot be told here" in found.headline

    def test_one_desired_level_leaves_nothing_to_follow(self, sample):
        found = ask(sample, "expectation_tracking", Selection(desired_empathy=(2.0,)))
        assert "Only one level was desired" in found.warnings[0]


class TestResponseSurface:
    def test_shape_of_the_published_example(self):
        data, expected = reference("rsa_motcon_data"), reference("rsa_motcon")
        columns = quadratic(data["x"], data["y"])
        b, *_ = np.linalg.lstsq(columns, data["z"].to_numpy(), rcond=None)
        residual = data["z"].to_numpy() - columns @ b
        covariance = np.linalg.inv(columns.T @ columns) * (residual @ residual) / (len(data) - 6)
        found = shape_of(b, covariance).set_index("term")
        assert b == pytest.approx(expected["estimate"].to_numpy()[:6], abs=1e-9)
        assert found.loc["a1":"a5", "estimate"].to_numpy() == pytest.approx(
            expected["estimate"].to_numpy()[6:11], abs=1e-9
        )
        assert found.loc["a1":"a5", "std_error"].to_numpy() == pytest.approx(
            expected["std_error"].to_numpy()[6:11].astype(float), abs=1e-9
        )
        at = expected.set_index("term")["estimate"]
        assert [found.loc["p10", "estimate"], found.loc["p11", "estimate"]] == pytest.approx(
            [at["p10.x"], at["p11.I(y^2)"]], abs=1e-9
        )

    def test_coefficients_shape_and_degrees_of_freedom_are_those_of_lmertest(self, surface_rows):
        expected = reference("rsa_sense7")
        found = fit_surface(surface_rows).terms.head(11)
        assert found["estimate"].to_numpy() == pytest.approx(expected["estimate"].to_numpy(), abs=1e-6)
        assert found["std_error"].to_numpy() == pytest.approx(expected["std_error"].to_numpy(), abs=1e-6)
        assert found["df"].to_numpy() == pytest.approx(expected["df"].to_numpy(), rel=5e-3)
        # clubSandwich's CR2
        assert found["robust_std_error"].to_numpy() == pytest.approx(expected["se_cr2"].to_numpy(), abs=1e-6)

    def test_axis_and_likelihood_ratios_are_those_of_lme4(self, surface_rows):
        expected = reference("surface").set_index("term")
        surface = fit_surface(surface_rows)
        axis = surface.terms.set_index("term").loc[["p10", "p11"]]
        assert axis["estimate"].to_numpy() == pytest.approx(expected["estimate"].to_numpy()[:2], rel=1e-4)
        assert axis["std_error"].to_numpy() == pytest.approx(
            expected["std_error"].astype(float).to_numpy()[:2], rel=1e-4
        )
        assert surface.tests["statistic"].to_numpy() == pytest.approx(expected["estimate"].to_numpy()[2:], abs=1e-5)
        assert list(surface.tests["df"]) == [3, 6]

    def test_axis_of_a_ridge_along_congruence_is_the_line_itself(self):
        # −(x − y)² = −x² + 2xy − y², slightly bent so that a stationary point exists
        p10, p11 = principal_axis(np.array([0.0, 0.0, -1.0, 1.9, -1.0]))
        assert (p10, p11) == pytest.approx((0, 1))
        assert np.isnan(principal_axis(np.array([1.0, 1.0, 0.0, 0.0, 0.0]))).all()

    def test_planted_congruence_is_claimed_and_its_absence_is_not(self):
        rng = np.random.default_rng(8)
        n = 1500
        person = rng.integers(0, 100, n)
        x, y = rng.choice([-1.0, 0.0, 1.0], n), rng.uniform(-1, 1, n)
        noise = rng.normal(0, 0.4, n) + rng.normal(0, 0.3, 100)[person]
        base = pd.DataFrame({"cluster": person.astype(str), "x": x, "y": y, "level": x + 2})
        # A ridge along x = y that falls slightly towards its ends.
        congruent = fit_surface(base.assign(satisfaction=4 - (x - y) ** 2 - 0.15 * (x + y) ** 2 + noise))
        plain = fit_surface(base.assign(satisfaction=3 + y + noise))
        assert congruent.rules["holds"].all()
        assert not plain.rules["holds"].all()

    def test_every_rule_can_fail_alone(self):
        good = {"p10": (0, -1, 1), "p11": (1, 0.5, 1.5), "a4": (-1, -1.5, -0.5), "a3": (0, -0.1, 0.1)}

        def holds(p=0.01, **changed):
            rows = [(term, *values) for term, values in (good | changed).items()]
            table = pd.DataFrame(rows, columns=["term", "estimate", "conf_low", "conf_high"])
            return list(congruence_rules(table, p)["holds"])

        assert holds() == [True] * 5
        assert holds(p10=(2, 1, 3)) == [False, True, True, True, True]
        assert holds(p11=(2, 1.1, 3)) == [True, False, True, True, True]
        assert holds(a4=(-1, -2, 0.1)) == [True, True, False, True, True]
        assert holds(a3=(1, 0.5, 1.5)) == [True, True, True, False, True]
        assert holds(p=0.05) == [True, True, True, True, False]
        assert holds(p10=(np.nan, np.nan, np.nan))[0] is False

    def test_an_unknown_axis_is_no_reason_to_claim(self, sample):
        found = ask(sample, "expectation_satisfaction")
        # The sample has no effect of congruence planted: whoever claims one has found noise.
        assert "Congruence must not be read" in found.warnings[0]
        assert "highest where experienced empathy meets desired" not in found.headline

    @pytest.mark.parametrize(
        ("selection", "reason"),
        [
            (Selection(desired_empathy=(3.0,)), "1 desired level only"),
            (Selection(desired_empathy=(1.0, 3.0)), "2 desired levels only"),
            (Selection(participant=("S001", "S002")), "takes at least 30 and 5|desired level"),
        ],
    )
    def test_too_little_for_a_surface_says_why(self, sample, selection, reason):
        with pytest.raises(TooLittleData, match=reason):
            ask(sample, "expectation_satisfaction", selection)

    def test_curves_of_the_factor_model_pass_through_means_of_a_saturated_case(self):
        rng = np.random.default_rng(3)
        level = rng.choice([1.0, 2.0, 3.0], 600)
        y = rng.uniform(-1, 1, 600)
        exact = level + y * level + 0.5 * y**2
        person = rng.integers(0, 60, 600)
        satisfaction = exact + rng.normal(0, 0.02, 600) + rng.normal(0, 0.02, 60)[person]
        rows = pd.DataFrame({"cluster": person.astype(str), "x": level - 2, "y": y, "level": level})
        curves = fit_surface(rows.assign(satisfaction=satisfaction)).curves
        expected = curves["level"] + curves["y"] * curves["level"] + 0.5 * curves["y"] ** 2
        assert curves["estimate"].to_numpy() == pytest.approx(expected.to_numpy(), abs=0.03)
        assert (curves["conf_low"] < curves["estimate"]).all()


class TestIndividuality:
    def test_variances_are_those_of_lme4(self, conversations, gaps):
        expected = reference("crossed_participant_task").set_index("outcome")
        values = {"desired": conversations["desired"], "experienced": conversations["experienced"], "gap": gaps["gap"]}
        for outcome, value in values.items():
            found, reason = crossed_components(value, conversations["participant"], conversations["task"])
            assert reason == ""
            theirs = expected.loc[outcome, ["participant", "task", "residual"]].to_numpy(dtype=float)
            assert found["variance"].to_numpy() == pytest.approx(theirs, rel=2e-4, abs=1e-6)
            assert found["share"].sum() == pytest.approx(1)
            assert (found["conf_low"] <= found["share"]).all() and (found["share"] <= found["conf_high"]).all()

    def test_a_variance_of_zero_lies_exactly_at_the_boundary(self, conversations):
        found, _ = crossed_components(conversations["desired"], conversations["participant"], conversations["task"])
        person = found.set_index("component").loc["participant"]
        assert (person["variance"], person["conf_low"]) == (0, 0)
        assert 0 < person["conf_high"] < 0.1

    def test_ends_of_the_interval_are_where_the_constrained_deviance_rises_by_384(self, conversations):
        frame = conversations.rename(columns={"experienced": "value"})[["value", "participant", "task"]]
        found, _ = crossed_components(frame["value"], frame["participant"], frame["task"])
        row = found.set_index("component").loc["participant"]
        fit = fit_linear_mixed(frame, "value ~ 1 + (1 | participant) + (1 | task)")
        function = fit.estimate.deviance_function
        order = [factor.label for factor in function.factors]
        for end in (row["conf_low"], row["conf_high"]):
            # Grid over the division of the rest, finer than needed.
            best = np.inf
            for task in np.linspace(0, 0.2, 401) * (1 - end):
                rest = 1 - end - task
                share = {"participant": end, "task": task}
                best = min(best, function.value(function.solve(np.sqrt([share[name] / rest for name in order]))))
            assert best - fit.deviance == pytest.approx(3.8415, abs=0.01)

    @pytest.mark.parametrize(
        ("values", "people", "tasks", "reason"),
        [
            ([1.0] * 12, list("aabbccddeeff"), list("xyxyxyxyxyxy"), "same value"),
            (list(range(12)), ["a"] * 12, list("xyxyxyxyxyxy"), "one participant only"),
            (list(range(12)), list("aabbccddeeff"), ["x"] * 12, "one task only"),
            (list(range(12)), list("abcdefghijkl"), list("xyxyxyxyxyxy"), "Nobody has two"),
            (list(range(4)), list("aabb"), list("xyxy"), "There are 4 conversations"),
        ],
    )
    def test_what_cannot_be_divided_says_why(self, values, people, tasks, reason):
        found, said = crossed_components(np.array(values, dtype=float), np.array(people), np.array(tasks))
        assert reason in said
        assert found["share"].isna().all()
        assert tuple(found["component"]) == COMPONENTS

    def test_without_participants_it_is_not_in_the_data(self, given):
        rows = [{"conversation": f"c{i}", "task": "A", "desired_empathy": 2, "post_affective": 3} for i in range(9)]
        data = given([{"conversation": row["conversation"]} for row in rows], rows)
        for name in ("expectation_individuality", "expectation_tracking"):
            with pytest.raises(NotInThisData, match="participants"):
                ask(data, name)


class TestByDimension:
    def test_gap_of_a_dimension_is_its_answer_minus_desired(self, given):
        rows = [
            {"conversation": f"c{i}", "participant": f"p{i}", "task": "A", "desired_empathy": 3}
            | {"post_affective": 5, "post_cognitive": 2, "post_relational": "n/a" if i else 1}
            for i in range(8)
        ]
        found = ask(given([{"conversation": row["conversation"]} for row in rows], rows), "gap_by_dimension")
        table = found.table.set_index("dimension")
        assert list(table["gap"]) == [0, -75, -100]
        assert list(table["n_conversations"]) == [8, 8, 1]
        assert table.loc["post_affective", "n_zero"] == 8
        assert "Relational" in found.headline or "Cognitive understanding in A" in found.headline

    def test_mean_over_dimensions_answered_by_all_is_the_gap_of_the_task(self, sample):
        cells = ask(sample, "gap_by_dimension").table
        assert len(cells) == 56
        raw = sample.cursor().execute(
            "select s.task, i.item, avg(25.0 * (i.value - 1) - 50.0 * (s.desired_empathy - 1)) as gap, count(*) as n "
            "from conversation_scores s join stg_survey i using (conversation) where i.item like 'post_%' "
            "and i.answer = 'rated' and s.desired_empathy is not null group by all"
        ).df()  # fmt: skip
        joined = cells.merge(raw, left_on=["task", "dimension"], right_on=["task", "item"], suffixes=("", "_raw"))
        assert len(joined) == 56
        assert joined["gap"].to_numpy() == pytest.approx(joined["gap_raw"].to_numpy(), abs=1e-9)
        assert (joined["n_conversations"] == joined["n"]).all()


class TestOnset:
    def test_thirds_by_hand(self, given):
        # Seven turns: ceil(3t/7) = 1 1 2 2 3 3 3; the fourth is not rated.
        turns = [{"conversation": "a", "overall": value} for value in (5, 3, 4, None, 2, 1, 3)]
        turns += [{"conversation": "b", "overall": 5}, {"conversation": "b", "overall": 5}]
        rows = [{"conversation": name, "participant": name, "task": "A", "desired_empathy": 2} for name in "ab"]
        for turn in turns:
            if turn["overall"] is None:
                del turn["overall"]
        found = ask(given(turns, rows), "expectation_onset")
        assert list(found.table["n_turns"]) == [2, 1, 3]
        # means 4, 4, 2 on 1–5 → 75, 75, 25 against 50
        assert list(found.table["gap"]) == [25, 25, -25]
        change = found.tables["expectation_onset.change"].iloc[0]
        assert (change["gap_first"], change["gap_last"], change["change"]) == (25, -25, -50)
        assert np.isnan(change["conf_low"])

    def test_means_are_over_conversations_not_turns(self):
        rows = pd.DataFrame(
            {
                "conversation": ["a", "a", "b", "b"],
                "third": [1, 3, 1, 3],
                "cluster": ["p", "p", "q", "q"],
                "desired_empathy": [1.0] * 4,
                "n_rated": [9, 1, 1, 1],
                "mean": [5.0, 5.0, 1.0, 3.0],
            }
        )
        gaps = third_gaps(rows, Scale(1, 5), Scale(1, 3))
        assert list(by_third(gaps, participants=True)["rating_pomp"]) == [50, 75]
        assert change_of_gap(gaps, participants=True)["change"][0] == 25

    def test_another_outcome_has_its_own_thirds(self, sample):
        overall, relational = (ask(sample, "expectation_onset", outcome=one) for one in ("overall", "relational"))
        assert relational.table["n_turns"].sum() < overall.table["n_turns"].sum()
        assert "Relational" in relational.figures["expectation_onset"].arguments["unit"]

    def test_conversations_of_two_turns_have_no_thirds(self, given):
        turns = [{"conversation": "a", "overall": 3}] * 2
        rows = [{"conversation": "a", "participant": "p", "task": "A", "desired_empathy": 2}]
        with pytest.raises(TooLittleData, match="three turns"):
            ask(given(turns, rows), "expectation_onset")


ESCONV = Path(__file__).parents[2].parent / "shared" / "data" / "failed_esconv"
MAPPING = Path(__file__).parents[2] / "data" / "mappings" / "failed_esconv.toml"


@pytest.mark.skipif(not ESCONV.exists(), reason="the mapped data is not beside this repository")
def test_mapped_data_without_desired_empathy_has_the_experienced_side_only(tmp_path):
    from dashboard.intake.imports import import_source

    import_source(ESCONV, tmp_path / "data", mapping=MAPPING)
    data = connect(tmp_path / "data", public=False)
    found = ask(data, "experienced_empathy_by_task")
    raw = pd.read_csv(ESCONV / "conversations.csv").dropna(subset=["post_empathy"])
    expected = raw.groupby("problem_type")["post_empathy"].mean()
    assert found.table.set_index("task")["mean"].to_numpy() == pytest.approx(expected.to_numpy(), abs=1e-9)
    for name in registry():
        if registry()[name].page == "Expectations" and name != "experienced_empathy_by_task":
            with pytest.raises(NotInThisData, match="^Not in this data: desired empathy"):
                ask(data, name)


class TestPlantedEffectsAreFound:
    """data/sample/EFFECTS.md states what a sample of 200 times this size shows; this one scatters around it."""

    def test_gap_within_each_desired_level(self, sample):
        within = ask(sample, "expectation_gap").tables["expectation_gap.within"]
        overall = within[within["task"] == "All tasks"]
        error = (overall["conf_high"] - overall["conf_low"]) / 4
        assert (np.abs(overall["gap"] - [64.3, 16.1, -31.0]) < 3.5 * error).all()

    def test_desired_empathy_per_task(self, sample):
        planted = {
            "Budgeting for a castle": 1.37, "Consoling a lighthouse": 2.58, "Debugging a teapot": 1.3, "Homesick on Mars": 2.66,
            "Naming a dragon": 1.69, "Ode to a potato": 1.63, "Quarrel with a wizard": 2.43, "Travelling to Atlantis": 1.75,
        }  # fmt: skip
        table = ask(sample, "desired_empathy_by_task").table.set_index("task")
        error = (table["conf_high"] - table["conf_low"]) / 4
        assert (np.abs(table["mean"] - pd.Series(planted)) < 3.5 * error).all()

    def test_satisfaction_rises_with_experienced_empathy_and_not_with_congruence(self, sample):
        found = ask(sample, "expectation_satisfaction")
        b2 = found.table.set_index("term").loc["b2"]
        # 0.66 for each point, two points from the middle to the end
        assert abs(b2["estimate"] / 2 - 0.66) < 3.5 * b2["std_error"] / 2
        assert found.tables["expectation_satisfaction.tests"]["p_value"][0] > 0.05

    def test_ratings_fade_over_a_conversation(self, sample):
        change = ask(sample, "expectation_onset").tables["expectation_onset.change"]
        assert (change["conf_high"] < 0).all()
