"""On 20 random data sets the Laplace likelihood is never below that of R's clmm, once clmm searches tightly."""

from pathlib import Path

import pandas as pd
import pytest

from dashboard.stats.ordinal_mixed import fit_cumulative_logit

# ordinal 2022.11-16; the script of the same name makes both files.
REFERENCE = Path(__file__).parents[1] / "reference"
FITS = pd.read_csv(REFERENCE / "ordinal_clmm.csv")
DATA = pd.read_csv(REFERENCE / "ordinal_clmm_data.csv.gz")


@pytest.mark.parametrize("row", list(FITS.itertuples()), ids=lambda row: f"{row.seed} {row.model}")
def test_it_is_clmms_or_a_little_better(row):
    rows = DATA[DATA["seed"] == row.seed]
    fit = fit_cumulative_logit(
        rows["rating"],
        rows[["turn", "warm"]].to_numpy(dtype=float),
        participant=rows["participant"],
        conversation=rows["conversation"] if row.model == "nested" else None,
        term_names=["turn", "warm"],
        n_quadrature=1,
    )
    assert fit.converged
    assert -1e-8 <= fit.log_likelihood - row.tight <= 2e-6
    # What clmm prints by default is not the likelihood at its estimates: its inner search stops at a gradient of 1e-4.
    assert fit.log_likelihood == pytest.approx(row.default, abs=2e-3)
