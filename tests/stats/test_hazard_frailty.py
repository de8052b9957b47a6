"""The hazard with an intercept per participant against lme4, and what the frailty does to the trend."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from dashboard.stats.discrete_hazard import fit_hazard, person_periods
from dashboard.stats.hazard_frailty import fit_frailty, hazard_trend

GOLDEN = Path(__file__).parents[2].parent / "shared" / "data" / "golden"


@pytest.mark.skipif(not GOLDEN.is_dir(), reason="the shared golden numbers are not on this machine")
def test_672_conversations_as_in_lme4():
    rows = pd.read_csv(GOLDEN / "person_period.csv")
    golden = pd.read_csv(GOLDEN / "discrete_hazard_frailty.csv", comment="#").set_index("term")["estimate"]
    columns = [np.ones(len(rows)), np.log(rows["turn"])]
    for name in ("model", "task", "desired"):
        terms = [term.removeprefix(name) for term in golden.index if term.startswith(name)]
        columns += [(rows[name].astype(str) == term).astype(float) for term in terms]
    design, unit = np.column_stack(columns), pd.factorize(rows["participant"])[0]
    arrays = (design, rows["y"].to_numpy(), np.ones(len(rows)), unit)
    pooled = fit_hazard(*arrays)
    found = fit_frailty(*arrays, start=pooled.coefficients)
    assert found.converged
    assert found.log_likelihood == pytest.approx(golden["logLik"], abs=1e-3)
    assert found.std_dev == pytest.approx(golden["sd participant"], abs=5e-3)
    assert found.coefficients == pytest.approx(golden.iloc[:-2].to_numpy(), abs=1e-2)
    # The hazard seems to fall from turn to turn and rises for each participant.
    assert pooled.coefficients[1] < found.coefficients[1]


def test_a_constant_hazard_of_unlike_people_falls_only_when_they_are_pooled():
    rng = np.random.default_rng(1)
    unit = np.repeat(np.arange(80), 12)
    rate = np.exp(-2 + np.repeat(rng.normal(0, 1.2, 80), 12))
    time = rng.geometric(-np.expm1(-rate))
    event, time = time <= 10, np.minimum(time, 10)
    cells = person_periods(time, event, unit, np.zeros(len(unit), dtype=int))
    design = np.column_stack([np.ones(len(cells)), np.log(cells[:, 2])])
    pooled = fit_hazard(design, cells[:, 3], cells[:, 4], cells[:, 0])
    found = fit_frailty(design, cells[:, 3], cells[:, 4], cells[:, 0], start=pooled.coefficients)
    assert pooled.coefficients[1] < -0.25
    assert abs(found.coefficients[1]) < 0.15
    assert found.std_dev == pytest.approx(1.2, abs=0.25)


def test_alike_people_have_next_to_no_frailty():
    rng = np.random.default_rng(2)
    unit = np.repeat(np.arange(60), 10)
    time = rng.geometric(0.15, 600)
    cells = person_periods(np.minimum(time, 8), time <= 8, unit, np.zeros(600, dtype=int))
    design = np.ones((len(cells), 1))
    pooled = fit_hazard(design, cells[:, 3], cells[:, 4], cells[:, 0])
    found = fit_frailty(design, cells[:, 3], cells[:, 4], cells[:, 0], start=pooled.coefficients)
    assert found.std_dev < 0.35
    assert found.log_likelihood >= pooled.log_likelihood - 1e-3


def test_the_trend_is_told_with_and_without_or_why_not():
    rng = np.random.default_rng(3)
    unit = np.repeat(np.arange(50), 8)
    time = rng.geometric(0.2, 400)
    found = hazard_trend(np.minimum(time, 8), time <= 8, unit)
    assert found.reason == ""
    assert found.pooled_low < found.pooled < found.pooled_high
    assert abs(found.frailty - found.pooled) < 0.3
    for few in (
        hazard_trend(np.ones(8, dtype=int), np.ones(8, dtype=bool), np.arange(8)),
        hazard_trend(time[:16], time[:16] < 3, unit[:16]),
    ):
        assert np.isnan(few.frailty)
        assert few.reason.endswith(".")
