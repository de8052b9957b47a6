"""Descriptives per participant against an independent computation, R's goldens and cases worked out by hand."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from dashboard.analyses.findings import Selection
from dashboard.database import connect
from dashboard.paths import SAMPLE
from dashboard.queries import run_query

GOLDEN = Path(__file__).parents[2].parent / "shared" / "data"


@pytest.fixture(scope="module")
def data():
    return connect(SAMPLE, public=False)


@pytest.fixture(scope="module")
def turns(data):
    return (
        data.cursor()
        .execute(
            "select * from selected_ratings(null, null, null, null, null, null, 'overall') where answer = 'rated' "
            "order by participant, conversation, turn"
        )
        .df()
    )


def described_by_pandas(x, low=1.0, high=5.0, k=5):
    values = x["value"].to_numpy()
    n, mean = len(values), values.mean()
    pairs = x.merge(x.assign(turn=x["turn"] - 1), on=["conversation", "turn"], suffixes=("", "_next"))[
        ["value", "value_next"]
    ].to_numpy()
    shares = np.unique(values, return_counts=True)[1] / n
    best = np.array(best_spread(values.sum(), n, low, high)) if n > 1 and low < mean < high else None
    runs = [len(list(run)) for _, part in x.groupby("conversation") for run in split_runs(part["value"].tolist())]
    varies = len(pairs) >= 3 and np.ptp(pairs[:, 0]) > 0 and np.ptp(pairs[:, 1]) > 0
    return pd.Series(
        {
            "n_turns": n,
            "n_conversations": x["conversation"].nunique(),
            "mean": mean,
            "std_dev": values.std(ddof=1) if n > 1 else np.nan,
            "median": np.median(values),
            "iqr": np.subtract(*np.percentile(values, [75, 25])),
            "minimum": values.min(),
            "maximum": values.max(),
            "entropy": abs(-(shares * np.log(shares)).sum() / np.log(k)),
            "share_extreme": np.isin(values, [low, high]).mean(),
            "share_midpoint": (values == (low + high) / 2).mean(),
            "share_low": (values <= low + (high - low) / 4).mean(),
            "relative_std_dev": np.nan if best is None else values.std(ddof=1) / best.std(ddof=1),
            "rmssd": np.sqrt(np.mean((pairs[:, 1] - pairs[:, 0]) ** 2)) if len(pairs) else np.nan,
            "inertia": np.corrcoef(pairs.T)[0, 1] if varies else np.nan,
            "longest_run": max(runs),
        }
    )


def best_spread(total, n, low, high):
    """The n values in [low, high] with this sum and the largest spread: as many at the top as fit, one between."""
    at_top = int(np.floor(round((total - n * low) / (high - low), 9)))
    values = [high] * at_top + [low] * (n - at_top - 1)
    return [*values, total - sum(values)]


def split_runs(values):
    run = []
    for value in values:
        if run and run[-1] != value:
            yield run
            run = []
        run.append(value)
    yield run


def test_agrees_with_an_independent_computation(data, turns):
    expected = turns.groupby("participant").apply(described_by_pandas)
    ours = run_query(data, "participant_ratings", outcome="overall").set_index("participant")
    rated = ours[ours["n_turns"] > 0]
    pd.testing.assert_frame_equal(
        rated[expected.columns], expected, check_dtype=False, check_names=False, rtol=1e-9, atol=1e-9
    )


@pytest.mark.skipif(not (GOLDEN / "golden").is_dir(), reason="the shared golden numbers are not on this machine")
def test_agrees_with_r(tmp_path):
    from dashboard.intake import import_source

    import_source(GOLDEN / "sense7_release_shaped.xlsx", tmp_path / "data")
    ours = run_query(connect(tmp_path / "data", public=False), "participant_ratings", outcome="overall")
    golden = pd.read_csv(GOLDEN / "golden" / "variability_participants.csv", comment="#").set_index("participant")
    golden = golden.rename(columns={"rmssd_adjacent": "rmssd", "inertia_pearson_adjacent": "inertia"})
    ours = ours.set_index("participant").loc[golden.index]
    common = [name for name in golden.columns if name in ours.columns]
    assert len(common) == 14
    for name in common:
        np.testing.assert_allclose(ours[name], golden[name], rtol=1e-9, atol=1e-9, err_msg=name)


def test_people_without_a_rating_keep_a_row_with_zero_turns(data):
    everyone = data.cursor().execute("select count(distinct participant) from stg_conversations").fetchone()[0]
    ours = run_query(data, "participant_ratings", outcome="relational")
    assert len(ours) == everyone
    unrated = ours[ours["n_turns"] == 0]
    assert len(unrated) > 0
    assert unrated.drop(columns=["participant", "n_turns", "n_conversations"]).isna().all().all()


def test_a_continuous_outcome_has_no_levels(data):
    ours = run_query(data, "participant_ratings", outcome="turn_mean")
    assert ours[["entropy", "share_extreme", "share_midpoint"]].isna().all().all()
    assert ours["mean"].notna().any()


def test_shares_at_hand_worked_edges(data):
    ours = run_query(data, "participant_ratings", outcome="overall").set_index("participant")
    constant = ours[(ours["n_turns"] > 1) & (ours["minimum"] == ours["maximum"])]
    assert (constant["std_dev"] == 0).all()
    assert (constant["entropy"] == 0).all()
    assert constant["inertia"].isna().all()
    assert (ours["relative_std_dev"].dropna().between(0, 1 + 1e-12)).all()


@pytest.mark.parametrize("name", ["participant_ratings", "dataset_overview", "ground_truth"])
def test_the_last_digit_repeats(name):
    """Threads add up in another order each time; a sum of many would then differ in its last bits."""
    seen = {run_query(connect(SAMPLE, public=False), name, **Selection().query_parameters()).to_csv() for _ in range(8)}
    assert len(seen) == 1
