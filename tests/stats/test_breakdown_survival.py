"""First breakdowns, Kaplan–Meier, log-rank and the discrete hazard against R, published examples and fractions by hand."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from dashboard.stats.breakdowns import Courses, dropped_turns, first_breakdowns, low_turns
from dashboard.stats.discrete_hazard import compare_hazards, fit_hazard, person_periods, turn_bins
from dashboard.stats.survival import cumulative_incidence, kaplan_meier, log_rank

REFERENCE = Path(__file__).parents[1] / "reference" / "breakdowns"
GOLDEN = Path(__file__).parents[2].parent / "shared" / "data" / "golden"
needs_golden = pytest.mark.skipif(not GOLDEN.is_dir(), reason="the shared golden numbers are not on this machine")
nan = np.nan
# survival::aml, Embury et al. (1977): weeks, whether relapsed.
AML = {
    "Maintained": ([9, 13, 13, 18, 23, 28, 31, 34, 45, 48, 161], [1, 1, 0, 1, 1, 0, 1, 1, 0, 1, 0]),
    "Nonmaintained": ([5, 5, 8, 8, 12, 16, 23, 27, 30, 33, 43, 45], [1, 1, 1, 1, 1, 0, 1, 1, 1, 1, 1, 1]),
}
# Freireich et al. (1963), as in Cox & Oakes (1984).
SIX_MP = ([6, 6, 6, 7, 10, 13, 16, 22, 23, 6, 9, 10, 11, 17, 19, 20, 25, 32, 32, 34, 35], [1] * 9 + [0] * 12)
PLACEBO = ([1, 1, 2, 2, 3, 4, 4, 5, 5, 8, 8, 8, 8, 11, 11, 12, 12, 15, 17, 22, 23], [1] * 21)


def courses(*ratings, units=None):
    """Conversations spelled out turn by turn; a breakdown is a rating of 2 or lower."""
    value = np.array([one for row in ratings for one in row], dtype=float)
    return Courses(
        conversation=np.repeat(np.arange(len(ratings)), [len(row) for row in ratings]),
        turn=np.concatenate([np.arange(1, len(row) + 1) for row in ratings]),
        value=value,
        broken=low_turns(value, 2),
        unit=np.arange(len(ratings)) if units is None else np.array(units),
    )


class TestFirstBreakdowns:
    def test_every_shape_of_a_conversation(self):
        found = first_breakdowns(
            courses(
                [4],  # one turn, unbroken: censored at 1
                [1],  # one turn, broken
                [2, 4, 1],  # on the first turn, and again
                [4, nan, 2],  # on the last turn, after a gap
                [4, 3, nan, nan],  # the end unrated: censored at the last rated turn
                [nan, nan],  # never rated
            )
        )
        assert found["time"].tolist() == [1, 1, 1, 3, 2, 0]
        assert found["event"].tolist() == [False, True, True, True, False, False]
        assert found["n_breakdowns"].tolist() == [0, 1, 2, 1, 0, 0]
        assert found["n_rated"].tolist() == [1, 1, 3, 2, 2, 0]
        assert found["last_turn"].tolist() == [1, 1, 3, 3, 4, 2]

    def test_low_has_a_tolerance_for_means_that_meet_the_threshold(self):
        mean = np.mean([2.1, 1.9, 2.0])
        assert low_turns(np.array([mean, 2.0001, nan, 2]), 2).tolist() == [True, False, False, True]

    def test_a_drop_is_measured_from_the_earlier_ratings_of_the_conversation(self):
        # Second conversation: running means 5, 4, 4 (unrated turns do not count); drops at 3 (5 − 2) and not at 4 (4 − 0).
        codes = np.array([0, 0, 1, 1, 1, 1])
        value = np.array([2.0, 1.5, 5.0, nan, 3.0, 4.0])
        assert dropped_turns(codes, value, 1.0).tolist() == [False, False, False, False, True, False]
        assert dropped_turns(codes, value, 0.5).tolist() == [False, True, False, False, True, False]

    def test_drops_equal_a_loop(self):
        rng = np.random.default_rng(3)
        codes = np.repeat(np.arange(50), rng.integers(1, 9, 50))
        value = np.where(rng.random(len(codes)) < 0.2, nan, rng.integers(1, 6, len(codes)))
        expected = []
        for place, code in enumerate(codes):
            before = value[:place][codes[:place] == code]
            before = before[~np.isnan(before)]
            expected.append(len(before) > 0 and bool(value[place] <= before.mean() - 1 + 1e-9))
        assert dropped_turns(codes, value, 1.0).tolist() == expected

    @needs_golden
    def test_672_conversations_as_in_r(self):
        found, reference = golden_firsts()
        assert (found["time"] == reference["time"]).all()
        assert (found["event"] == reference["event"].astype(bool)).all()
        assert (found["n_breakdowns"] == reference["n_break"]).all()


class TestKaplanMeier:
    def test_by_hand(self):
        # At 1: 1 of 5 falls; at 2: 1 of 4, one censored after it; at 3: 1 of 2 falls, one censored.
        found = kaplan_meier(np.array([1, 2, 2, 3, 3]), np.array([1, 1, 0, 1, 0]), np.arange(5))
        assert found["n_at_risk"].tolist() == [5, 4, 2]
        assert found["n_censored"].tolist() == [0, 1, 1]
        assert found["survival"].tolist() == pytest.approx([4 / 5, 3 / 5, 3 / 10])

    def test_aml_of_rs_survival(self):
        # summary(survfit(Surv(time, status) ~ x, aml, conf.type = "log-log")), survival 3.5-3, at weeks 23 and 33.
        time, event = (np.array(one) for one in AML["Maintained"])
        found = kaplan_meier(time, event, np.arange(len(time))).set_index("turn")
        assert found.loc[23, "survival"] == pytest.approx(0.6136363636363635, abs=1e-12)
        assert found.loc[48, "survival"] == pytest.approx(0.1840909090909091, abs=1e-12)
        time, event = (np.array(one) for one in AML["Nonmaintained"])
        found = kaplan_meier(time, event, np.arange(len(time))).set_index("turn")
        assert found.loc[33, "survival"] == pytest.approx(0.1944444444444445, abs=1e-12)
        # Independent people: the jackknife is Greenwood's error exactly where nobody is censored before (week 12).
        assert found.loc[12, "std_error"] == pytest.approx(0.1423187606383278, abs=1e-12)
        assert found.loc[12, ["conf_low", "conf_high"]].tolist() == pytest.approx(
            [0.27013889872253889, 0.8009401923330000], abs=1e-7
        )

    def test_clustered_errors_as_rs_survfit_with_cluster(self):
        data, expected = reference()
        found = kaplan_meier(data["time"], data["event"], data["participant"])
        km = expected[expected["case"] == "km"]
        assert found["turn"].tolist() == km["key"].astype(int).tolist()
        for name, column in (("survival", "statistic"), ("std_error",) * 2, ("conf_low",) * 2, ("conf_high",) * 2):
            assert found[name].to_numpy() == pytest.approx(km[column].to_numpy(), abs=1e-12), name

    @needs_golden
    def test_672_conversations_as_in_r(self):
        found, reference = golden_firsts()
        curve = kaplan_meier(found["time"], found["event"], found["unit"])
        golden = pd.read_csv(GOLDEN / "km_first_breakdown.csv", comment="#")
        robust = golden[golden["method"].str.startswith("infinitesimal")].reset_index(drop=True)
        names = {"turn": "turn", "n_at_risk": "n_at_risk", "n_events": "n_events", "n_censored": "n_censored"}
        names |= {"survival": "survival", "std_err": "std_error", "conf_low": "conf_low", "conf_high": "conf_high"}
        for theirs, ours in names.items():
            assert curve[ours].to_numpy() == pytest.approx(robust[theirs].to_numpy(), abs=1e-12), ours
        for group in ("model", "desired"):
            for level, part in golden[golden["group"] == group].groupby("level"):
                here = (reference[group].astype(str) == level).to_numpy()
                curve = kaplan_meier(found["time"][here], found["event"][here], found["unit"][here]).set_index("turn")
                assert curve.loc[part["turn"], "survival"].to_numpy() == pytest.approx(part["survival"].to_numpy())

    def test_never_an_event(self):
        found = kaplan_meier(np.array([2, 3]), np.array([False, False]), np.arange(2))
        assert found["survival"].tolist() == [1, 1, 1]
        assert found["n_events"].sum() == 0
        assert found["conf_low"].isna().all()

    def test_all_at_once(self):
        found = kaplan_meier(np.ones(8, dtype=int), np.ones(8, dtype=bool), np.arange(8))
        assert found["survival"].tolist() == [0]
        assert found["std_error"].isna().all()

    def test_no_interval_with_four_participants(self):
        time, event = np.array([1, 2, 2, 3, 3, 1, 4, 4]), np.array([1, 0, 1, 0, 1, 0, 1, 0])
        assert kaplan_meier(time, event, np.arange(8) % 4)["conf_low"].isna().all()
        assert kaplan_meier(time, event, np.arange(8) % 5)["conf_low"].notna().any()

    def test_repeating_everyone_does_not_narrow_the_interval(self):
        data, _ = reference()
        once = kaplan_meier(data["time"], data["event"], data["participant"])
        twice = pd.concat([data, data])
        again = kaplan_meier(twice["time"], twice["event"], twice["participant"])
        assert again["std_error"].to_numpy() == pytest.approx(once["std_error"].to_numpy())


class TestCumulativeIncidence:
    def test_by_hand(self):
        found = cumulative_incidence(np.array([1, 2, 2, 3]), np.array([1, 0, 1, 1]), np.arange(4))
        assert found["cumulative_incidence"].tolist() == [1 / 4, 2 / 4, 3 / 4]

    @needs_golden
    def test_is_the_aalen_johansen_estimate(self):
        found, _ = golden_firsts()
        golden = pd.read_csv(GOLDEN / "cumulative_incidence.csv", comment="#")
        shares = cumulative_incidence(found["time"], found["event"], found["unit"])
        assert shares["cumulative_incidence"].to_numpy() == pytest.approx(
            golden["aalen_johansen"].to_numpy(), abs=1e-12
        )


class TestLogRank:
    def test_published_examples(self):
        # Freireich: 16.79 in Cox & Oakes (1984); both as R's survdiff prints them.
        for groups, statistic in (((SIX_MP, PLACEBO), 16.79294098921654), (tuple(AML.values()), 3.39638869897760)):
            time, event = (np.concatenate([one[part] for one in groups]) for part in (0, 1))
            codes = np.repeat([0, 1], [len(one[0]) for one in groups])
            found = log_rank(time, event, codes)
            assert found.statistic == pytest.approx(statistic, abs=1e-10)
            assert found.df == 1

    def test_does_not_depend_on_the_order_of_groups(self):
        data, expected = reference()
        codes = pd.factorize(data["group"])[0]
        found = log_rank(data["time"], data["event"], codes)
        assert found.statistic == pytest.approx(expected.set_index("case").loc["log_rank", "statistic"], abs=1e-10)
        assert log_rank(data["time"], data["event"], 2 - codes).statistic == pytest.approx(found.statistic)

    def test_one_group_or_no_event_is_no_test(self):
        assert np.isnan(log_rank([1, 2], [1, 0], [0, 0]).p_value)
        assert np.isnan(log_rank([1, 2], [0, 0], [0, 1]).p_value)


class TestDiscreteHazard:
    def test_wald_test_and_errors_as_rs_glm_and_sandwich(self):
        data, expected = reference()
        found = compare_hazards(*data[["time", "event"]].to_numpy().T, codes(data["participant"]), codes(data["group"]))
        rows = expected.set_index("case")
        assert found.statistic == pytest.approx(rows.loc["wald", "statistic"], rel=1e-6)
        assert (found.df, found.pooled_from, found.reason) == (2, 7, "")
        assert found.ratios["estimate"].to_numpy()[1:] == pytest.approx(
            rows.loc["hazard", "statistic"].to_numpy(), rel=1e-6
        )
        assert found.ratios["std_error"].to_numpy()[1:] == pytest.approx(
            rows.loc["hazard", "std_error"].to_numpy(), rel=1e-6
        )

    @needs_golden
    def test_672_conversations_as_in_r(self):
        found, reference = golden_firsts()
        golden = pd.read_csv(GOLDEN / "logrank_and_clustered_tests.csv", comment="#").set_index("group")
        for group in golden.index:
            test = compare_hazards(
                *found[["time", "event", "unit"]].to_numpy().T.astype(int), codes(reference[group].astype(str))
            )
            assert test.statistic == pytest.approx(golden.loc[group, "wald"], rel=1e-6)
            assert test.p_value == pytest.approx(golden.loc[group, "p.1"], rel=1e-5)
            assert log_rank(
                found["time"], found["event"], codes(reference[group].astype(str))
            ).statistic == pytest.approx(golden.loc[group, "chisq"], rel=1e-10)

    @needs_golden
    def test_a_trend_with_all_properties_as_in_r(self):
        rows = pd.read_csv(GOLDEN / "person_period.csv")
        golden = pd.read_csv(GOLDEN / "discrete_hazard_cloglog.csv", comment="#")
        golden = golden[golden["model"].str.startswith("log(turn)")].set_index("term")
        columns = [np.ones(len(rows)), np.log(rows["turn"])]
        for name in ("model", "task", "desired"):
            columns += [
                (rows[name].astype(str) == term.removeprefix(name)).astype(float)
                for term in golden.index
                if term.startswith(name)
            ]
        fit = fit_hazard(np.column_stack(columns), rows["y"].to_numpy(), np.ones(len(rows)), codes(rows["participant"]))
        assert fit.coefficients == pytest.approx(golden["estimate"].to_numpy(), rel=1e-5, abs=1e-7)
        assert np.sqrt(np.diag(fit.model_covariance)) == pytest.approx(golden["se_model"].to_numpy(), rel=1e-5)
        assert np.sqrt(np.diag(fit.covariance)) == pytest.approx(golden["se_HC1"].to_numpy(), rel=1e-5)
        assert fit.log_likelihood == pytest.approx(golden["loglik"].iloc[0], abs=1e-8)

    def test_cells_and_single_trials_give_the_same(self):
        data, _ = reference()
        unit, group = codes(data["participant"]), codes(data["group"])
        cells = person_periods(data["time"].to_numpy(), data["event"].to_numpy().astype(bool), unit, group)
        assert cells[:, 4].sum() == data["time"].sum()
        assert cells[:, 3].sum() == data["event"].sum()
        one = np.column_stack([np.ones(len(cells)), cells[:, 1] == 1, cells[:, 1] == 2])
        grouped = fit_hazard(one, cells[:, 3], cells[:, 4], cells[:, 0])
        single = np.repeat(np.arange(len(cells)), cells[:, 4])
        y = np.concatenate([np.arange(n) < d for d, n in cells[:, 3:5]])
        alone = fit_hazard(one[single], y.astype(float), np.ones(len(single)), cells[single, 0])
        assert grouped.coefficients == pytest.approx(alone.coefficients)
        assert grouped.covariance == pytest.approx(alone.covariance)

    def test_turns_without_events_or_with_nothing_else_join_the_one_before(self):
        turn = np.repeat(np.arange(1, 7), 2)
        events = np.array([1, 0, 0, 0, 1, 0, 1, 0, 0, 0, 0, 0])
        bins = turn_bins(turn, events, np.full(12, 3))
        assert bins.tolist() == [0, 0, 1, 1, 1, 1, 2, 2, 2, 2, 2, 2]

    def test_a_group_without_breakdown_is_left_out_and_named(self):
        rng = np.random.default_rng(5)
        time, event = rng.integers(1, 6, 300), rng.random(300) < 0.3
        level = rng.integers(0, 3, 300)
        event[level == 2] = False
        found = compare_hazards(time, event, rng.integers(0, 30, 300), level)
        assert found.df == 1
        assert "1 of 3 groups" in found.reason
        assert np.isfinite(found.p_value)

    @pytest.mark.parametrize(("event", "units"), [(np.zeros(20, dtype=bool), 20), (np.arange(20) % 2 == 0, 3)])
    def test_nothing_to_compare_is_told(self, event, units):
        found = compare_hazards(np.full(20, 2), event, np.arange(20) % units, np.arange(20) // 10)
        assert np.isnan(found.p_value)
        assert found.reason.endswith(".")

    def test_no_difference_is_rejected_as_often_as_said(self):
        rng = np.random.default_rng(7)
        hits = 0
        for _ in range(200):
            unit = np.repeat(np.arange(40), 6)
            rate = np.repeat(0.12 * np.exp(rng.normal(0, 0.7, 40)), 6).clip(0.01, 0.8)
            time = rng.geometric(rate)
            event = time <= 6
            found = compare_hazards(np.minimum(time, 6), event, unit, rng.integers(0, 3, 240))
            hits += found.p_value < 0.05
        assert 2 <= hits <= 26


def codes(names):
    return pd.factorize(names, sort=True)[0]


def reference():
    return pd.read_csv(REFERENCE / "first_breakdown_data.csv"), pd.read_csv(REFERENCE / "first_breakdown.csv")


def golden_firsts():
    """First breakdowns of the golden conversations by our rule, beside R's rows, in the same order."""
    turns = pd.read_csv(GOLDEN / "sense7_turns.csv").sort_values(["conversation", "turn"])
    number, names = pd.factorize(turns["conversation"])
    people = turns.drop_duplicates("conversation")["participant"]
    value = turns["overall"].to_numpy()
    found = first_breakdowns(Courses(number, turns["turn"].to_numpy(), value, low_turns(value, 2), codes(people)))
    rated = (found["n_rated"] > 0).to_numpy()
    rows = pd.read_csv(GOLDEN / "survival_conversations.csv").set_index("conversation").loc[names[rated]]
    return found[rated].reset_index(drop=True), rows.reset_index()
