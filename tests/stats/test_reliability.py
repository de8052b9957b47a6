"""Alpha, omega, state reliability at each level, against psych, lavaan, lme4, factanal and cases worked out by hand."""

import math
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from dashboard.stats import state_reliability
from dashboard.stats.alpha_bases import item_dropped, level_reliabilities, pairwise_reliability
from dashboard.stats.bootstrap import SEED
from dashboard.stats.omega_bootstrap import omegas
from dashboard.stats.reliability import (
    alpha,
    between_covariance,
    cross_products,
    feldt_interval,
    omega,
    pairwise_covariance,
    within_covariance,
)
from dashboard.stats.state_reliability import fit_state_reliability
from dashboard.stats.variance_components import conversation_sums, dependability, fit_components

REFERENCE = Path(__file__).parents[1] / "reference" / "variability"
GOLDEN = Path(__file__).parents[2].parent / "shared" / "data" / "golden"
needs_golden = pytest.mark.skipif(not GOLDEN.is_dir(), reason="the shared golden numbers are not on this machine")
DIMENSIONS = ["affective", "cognitive", "response", "prosocial", "interest", "contextual", "relational"]


@pytest.fixture(scope="module")
def shaped():
    turns = pd.read_csv(GOLDEN / "sense7_turns.csv")
    return turns[DIMENSIONS].to_numpy(), pd.factorize(turns["participant"])[0], pd.factorize(turns["conversation"])[0]


@pytest.fixture(scope="module")
def small():
    turns = pd.read_csv(REFERENCE / "turns.csv")
    items = turns[["one", "two", "three", "four"]].to_numpy(dtype=float)
    return items, pd.factorize(turns["participant"])[0], pd.factorize(turns["conversation"])[0]


def test_attitude_agrees_with_psych():
    # R's datasets::attitude; psych 2.2.9: alpha raw, alpha.ci (Feldt), omega of one ML factor on covariances.
    covariance = np.cov(pd.read_csv(REFERENCE / "attitude.csv").to_numpy(dtype=float).T)
    assert alpha(covariance) == pytest.approx(0.84314276956476, rel=1e-12)
    assert omega(covariance)[0] == pytest.approx(0.856326919758568, rel=1e-5)
    assert feldt_interval(alpha(covariance), 30, 7) == pytest.approx((0.739375685643107, 0.915773072159982), rel=1e-9)

    standardised = np.corrcoef(pd.read_csv(REFERENCE / "attitude.csv").to_numpy(dtype=float).T)
    assert alpha(standardised) == pytest.approx(0.839083803029511, rel=1e-12)


@pytest.fixture(scope="module")
def shrout():
    """Ratings of five people at four times on three items (Shrout & Lane 2012), as psych tables them, in long form."""
    items = (
        "2 3 6 3 7 3 5 6 3 8 4 4 7 5 6 1 5 8 8 6",
        "3 4 6 4 8 3 7 7 5 8 2 6 8 6 7 3 9 9 7 8",
        "6 4 5 3 7 4 7 8 9 9 5 7 9 7 8 4 7 9 9 6",
    )
    person, time = np.tile(range(5), 4), np.repeat(range(4), 5)
    return pd.concat(
        pd.DataFrame({"person": person, "time": time, "item": number, "y": [float(one) for one in line.split()]})
        for number, line in enumerate(items)
    )


class TestShroutAndLane:
    """The example of Shrout & Lane (2012): five people, four times, three items; psych::multilevel.reliability."""

    def test_nested_reliabilities_are_those_of_the_components(self, shrout):
        # Times within people, items as repeated measures: RkRn over four times and three items, Rcn of one time's change.
        sums = shrout.assign(square=shrout["y"] ** 2).groupby(["person", "time"])[["y", "square"]].agg(["size", "sum"])
        frame = pd.DataFrame(
            {
                "participant": sums.index.get_level_values("person"),
                "n": sums[("y", "size")].to_numpy(),
                "total": sums[("y", "sum")].to_numpy(),
                "sum_squares": sums[("square", "sum")].to_numpy(),
            }
        )
        fit = fit_components(conversation_sums(frame))
        assert float(dependability(fit, 4, 3)) == pytest.approx(0.848203577418011, rel=1e-5)
        assert fit.conversation / (fit.conversation + fit.turn / 3) == pytest.approx(0.646658978970365, rel=1e-5)

    def test_crossed_components_and_their_reliabilities(self, shrout):
        from dashboard.stats.linear_mixed import fit_linear_mixed

        frame = shrout.astype({"person": str, "time": str, "item": str})
        crossed = "(1|person) + (1|time) + (1|item) + (1|person:time) + (1|person:item) + (1|time:item)"
        found = fit_linear_mixed(frame, f"y ~ 1 + {crossed}").variances.set_index("group")["variance"]
        theirs = {
            "person": 2.3431778214764156,
            "time": 0.3805670863416585,
            "item": 0.6069362702842802,
            "person:time": 0.9194519378597338,
            "person:item": 0.1208462984196057,
            "time:item": 0.0472217439193947,
            "residual": 0.9583185560898032,
        }
        for group, variance in theirs.items():
            assert found[group] == pytest.approx(variance, rel=1e-3), group
        between, change, error = found["person"] + found["person:item"] / 3, found["person:time"], found["residual"]
        assert between / (between + error / 12) == pytest.approx(0.967580384952888, rel=1e-4)
        assert change / (change + error / 3) == pytest.approx(0.742156976701957, rel=1e-4)
        drift = found["time"] + change
        assert between / (between + drift + error / 3) == pytest.approx(0.595430544607854, rel=1e-4)
        assert between / (between + drift / 4 + error / 12) == pytest.approx(0.854800032243228, rel=1e-4)


def test_small_data_agrees_with_r(small):
    table = pd.read_csv(REFERENCE / "expected.csv")
    theirs = dict(zip(table["term"], table["value"], strict=True))
    covariance = np.cov(small[0].T)
    assert alpha(covariance) == pytest.approx(theirs["alpha"], rel=1e-12)
    assert omega(covariance)[0] == pytest.approx(theirs["omega"], rel=1e-6)


@needs_golden
class TestAgainstGolden:
    def test_every_basis_and_level(self, shaped):
        values, person, chat = shaped
        table = pd.read_csv(GOLDEN / "reliability_sense7.csv", comment="#").set_index(["basis", "dimensions"])
        names = {
            "complete turns": "total",
            "within participants (pooled), complete": "within participants",
            "within conversations (pooled), complete": "within conversations",
            "between participants, component (S_B-S_W)/n0, complete": "between participants",
        }
        for columns, which in ((range(7), "seven"), (range(6), "without relational")):
            used = np.isfinite(values[:, columns]).all(axis=1)
            found = level_reliabilities(values[used][:, columns], person[used], chat[used], n_boot=0)
            ours = {one.level: one for one in found}
            for basis, level in names.items():
                if (basis, which) in table.index:
                    theirs = table.loc[(basis, which)]
                    assert ours[level].alpha == pytest.approx(theirs["alpha"], rel=1e-9)
                    assert ours[level].omega == pytest.approx(theirs["omega"], rel=1e-7, nan_ok=True)
                    if level != "within conversations":
                        assert (ours[level].n_observations, ours[level].n_groups) == (
                            theirs["n_turns"],
                            theirs["n_participants"],
                        )
        assert ours["within conversations"].n_groups <= 109

    def test_pooled_omegas_are_near_those_of_a_two_level_model(self, shaped):
        # lavaan's two-level factor model shares its likelihood between the levels; ours takes each level's covariances apart.
        values, person, chat = shaped
        used = np.isfinite(values).all(axis=1)
        found = {one.level: one for one in level_reliabilities(values[used], person[used], chat[used], n_boot=0)}
        golden = pd.read_csv(GOLDEN / "reliability_twolevel_omega.csv", comment="#").set_index("level")["omega"]
        assert found["within participants"].omega == pytest.approx(golden["within participant"], abs=3e-4)
        # A negative residual variance there (omega above 1) is a component without an omega here, and said so.
        assert golden["between participants"] > 1
        assert math.isnan(found["between participants"].omega) and "omega" in found["between participants"].note

    def test_pairwise(self, shaped):
        covariance, fewest = pairwise_covariance(shaped[0])
        theirs = pd.read_csv(GOLDEN / "reliability_sense7.csv", comment="#").iloc[2]
        assert alpha(covariance) == pytest.approx(theirs["alpha"], rel=1e-9)
        assert omega(covariance)[0] == pytest.approx(theirs["omega"], rel=1e-7)
        numbers = pd.read_csv(GOLDEN / "reliability_pairwise_n.csv", comment="#", index_col=0)
        assert fewest == numbers.to_numpy().min()

    def test_intervals(self, shaped):
        values, person, chat = shaped
        used = np.isfinite(values).all(axis=1)
        total = level_reliabilities(values[used], person[used], chat[used], n_boot=2000)[0]
        golden = pd.read_csv(GOLDEN / "reliability_intervals.csv", comment="#")
        assert feldt_interval(total.alpha, int(used.sum()), 7) == pytest.approx(
            tuple(golden.loc[0, ["lower", "upper"]]), rel=1e-9
        )
        # Other random draws: the ends agree to the bootstrap's own error.
        assert (total.conf_low, total.conf_high) == pytest.approx(tuple(golden.loc[1, ["lower", "upper"]]), abs=4e-4)

    def test_item_dropped(self, shaped):
        values = shaped[0][np.isfinite(shaped[0]).all(axis=1)]
        golden = pd.read_csv(GOLDEN / "reliability_item_dropped.csv", comment="#")
        alphas, correlations = item_dropped(np.cov(values.T))
        np.testing.assert_allclose(alphas, golden["raw_alpha"], rtol=1e-9)
        np.testing.assert_allclose(correlations, golden["r_drop"], rtol=1e-9)

    def test_state_components(self, shaped):
        golden = pd.read_csv(GOLDEN / "reliability_nested_components.csv", comment="#").set_index("component")[
            "variance"
        ]
        fit = fit_state_reliability(*shaped)
        for ours, theirs in (("turn", "tid"), ("conversation", "conversation"), ("participant", "participant")):
            assert fit.variances[ours] == pytest.approx(golden[theirs], rel=1e-4)
        assert fit.variances["participant:dimension"] == 0.0
        assert fit.variances["residual"] == pytest.approx(golden["Residual"], rel=1e-5)
        assert fit.n_observations == 25980


@pytest.mark.parametrize("ratios", [(1.0, 0.5, 0.05, 0.5), (0.3, 0.02, 0.4, 0.01), (4.0, 0.1, 0.01, 2.0)])
def test_state_derivatives_are_what_differences_tell(small, ratios):
    values, person, chat = small
    values = values.copy()
    values[::4, 2] = np.nan
    values[1::5, 0] = np.nan
    sums = state_reliability._sum(values, person, chat)
    _, slope = state_reliability._differentiate(np.array(ratios), sums)
    for index in range(4):
        step = np.zeros(4)
        step[index] = 1e-5 * ratios[index]
        up, down = (state_reliability._evaluate(np.array(ratios) + way * step, sums)[0] for way in (1, -1))
        assert slope[index] == pytest.approx((up - down) / (2 * step[index]), rel=1e-4, abs=1e-4)


def test_state_deviance_is_the_engines(small):
    from dashboard.stats.linear_mixed import fit_linear_mixed

    values, person, chat = (item[:90] for item in small)
    values = values.copy()
    values[::4, 2] = np.nan
    values[1::5, 0] = np.nan
    fit = fit_state_reliability(values, person, chat)
    rows, columns = np.nonzero(np.isfinite(values))
    frame = pd.DataFrame(
        {
            "y": values[rows, columns],
            "dimension": [f"d{column}" for column in columns],
            "participant": [f"p{person[row]}" for row in rows],
            "conversation": [f"c{chat[row]:03}" for row in rows],
            "turn": [f"t{row:03}" for row in rows],
        }
    )
    engine = fit_linear_mixed(
        frame, "y ~ dimension + (1|participant) + (1|participant:dimension) + (1|conversation) + (1|turn)"
    )
    theirs = engine.variances.set_index("group")["variance"]
    for name, variance in fit.variances.items():
        assert variance == pytest.approx(theirs[name], rel=2e-3, abs=1e-5)


class TestByHand:
    def test_alpha(self):
        # Variances 2 and 2, covariance 1: 2·(1 − 4/6) = 2/3.
        assert alpha(np.array([[2.0, 1], [1, 2]])) == pytest.approx(2 / 3)

    def test_alpha_of_parallel_copies_is_one_and_of_noise_zero(self):
        assert alpha(np.ones((4, 4))) == pytest.approx(1)
        assert alpha(np.eye(4)) == pytest.approx(0)

    def test_omega_of_a_known_factor(self):
        # Loadings 0.8, 0.6, 0.7, residuals 0.36, 0.64, 0.51: (2.1)²/(2.1² + 1.51).
        loadings = np.array([0.8, 0.6, 0.7])
        covariance = np.outer(loadings, loadings) + np.diag([0.36, 0.64, 0.51])
        assert omega(covariance)[0] == pytest.approx(4.41 / 5.92, rel=1e-6)

    def test_two_dimensions_have_no_omega(self):
        assert math.isnan(omega(np.array([[2.0, 1], [1, 2]]))[0])

    def test_within_and_between_by_hand(self):
        # Two people, two turns: (1, 1), (3, 3) and (5, 7), (7, 5).
        sums = cross_products(np.array([[1.0, 1], [3, 3], [5, 7], [7, 5]]), np.array([0, 0, 1, 1]), 2)
        # Around the means: products 2, 2 each; covariances 2 and −2: pooled over 2 df.
        np.testing.assert_allclose(within_covariance(sums), [[2, 0], [0, 2]])
        # Means (2, 2) and (6, 6): S_B = 2·(4 + 4)/1 = 16 throughout; n0 = 2.
        np.testing.assert_allclose(between_covariance(sums), [[7, 8], [8, 7]])


class TestBootstrapOfOmega:
    def test_many_matrices_at_once_have_the_omegas_of_each_alone(self):
        rng = np.random.default_rng(2)
        loadings = rng.uniform(0.5, 1.2, (40, 6))
        noise = rng.normal(size=(40, 120, 6)) * 0.7
        rows = rng.normal(size=(40, 120, 1)) * loadings[:, None, :] + noise
        matrices = np.array([np.cov(one.T) for one in rows])
        np.testing.assert_allclose(omegas(matrices), [omega(one)[0] for one in matrices], rtol=1e-6)

    def test_matrices_without_an_omega_are_nan_and_stop_no_other(self):
        good = np.eye(3) * 0.4 + 0.6
        bad = np.ones((3, 3))
        unknown = np.full((3, 3), np.nan)
        found = omegas(np.array([bad, good, unknown]))
        assert math.isnan(found[0]) and math.isnan(found[2])
        assert found[1] == pytest.approx(omega(good)[0], rel=1e-9)
        assert np.isnan(omegas(np.array([np.eye(2)]))).all()
        assert len(omegas(np.empty((0, 3, 3)))) == 0

    def test_intervals_hold_the_estimates(self, small):
        values, person, chat = small
        for one in level_reliabilities(values, person, chat, n_boot=300)[:3]:
            assert one.omega_low < one.omega < one.omega_high
            assert (one.omega_low, one.omega_high) == pytest.approx((one.conf_low, one.conf_high), abs=0.05)
        assert math.isnan(level_reliabilities(values, person, chat, n_boot=0)[0].omega_low)

    def test_pairwise_samples_are_covariances_of_the_people_drawn(self, small):
        values, person, _ = (item.copy() for item in small)
        values[::3, 1] = np.nan
        values[1::5, 2] = np.nan
        found = pairwise_reliability(values, person, n_boot=200)
        rng = np.random.default_rng(SEED)
        alphas = []
        for drawn in rng.integers(person.max() + 1, size=(200, person.max() + 1)):
            rows = np.concatenate([np.flatnonzero(person == one) for one in drawn])
            alphas.append(alpha(pairwise_covariance(values[rows])[0]))
        assert (found.conf_low, found.conf_high) == pytest.approx(tuple(np.quantile(alphas, [0.025, 0.975])), rel=1e-9)
        assert found.alpha == alpha(pairwise_covariance(values)[0])
        assert found.omega_low < found.omega < found.omega_high


class TestEdges:
    def test_constant_ratings_have_no_alpha(self):
        found = level_reliabilities(np.full((20, 3), 4.0), np.repeat(range(10), 2), np.repeat(range(10), 2), n_boot=50)
        assert all(math.isnan(one.alpha) and one.note for one in found)

    def test_straight_lining_is_perfectly_consistent(self):
        values = np.repeat(np.array([1.0, 2, 3, 4, 5, 1, 2, 5, 3, 4])[:, None], 3, axis=1)
        found = level_reliabilities(values, np.repeat(range(5), 2), np.repeat(range(5), 2), n_boot=100)
        assert found[0].alpha == pytest.approx(1)
        fit = fit_state_reliability(values, np.repeat(range(5), 2), np.repeat(range(5), 2))
        assert fit.problem and math.isnan(fit.variances["turn"])

    def test_four_people_have_no_interval(self, small):
        values, person, chat = small
        few = person < 4
        assert math.isnan(level_reliabilities(values[few], person[few], chat[few], n_boot=50)[0].conf_low)
        many = level_reliabilities(values, person, chat, n_boot=200)
        assert all(one.conf_low < one.alpha < one.conf_high for one in many[:3])

    def test_intervals_do_not_depend_on_names_or_order_of_rows(self, small):
        values, person, chat = small
        shuffled = np.random.default_rng(0).permutation(len(values))
        one = level_reliabilities(values, person, chat, n_boot=100)
        two = level_reliabilities(values[shuffled], person[shuffled], chat[shuffled], n_boot=100)
        for left, right in zip(one, two, strict=True):
            assert left.conf_low == pytest.approx(right.conf_low, rel=1e-9)

    @pytest.mark.parametrize(
        ("values", "why"),
        [
            (np.full((4, 3), 3.0), "equal"),
            (np.array([[1, np.nan], [np.nan, 2], [3, np.nan], [np.nan, 4]]), "two rated dimensions"),
        ],
    )
    def test_state_model_says_why_not(self, values, why):
        assert why in fit_state_reliability(values, np.array([0, 0, 1, 1]), np.array([0, 0, 1, 1])).problem
