"""The code that a model prints really runs: its commands write the rows, R and Python give the model's numbers.

R starts once for all models; without R (lme4, lmerTest, nlme) these tests skip.
"""

import contextlib
import io
import os
import shlex
import shutil
import subprocess
import sys

import numpy as np
import pandas as pd
import pytest

from dashboard import cli
from dashboard.analyses import model_moments, registry
from dashboard.analyses.findings import Selection, run_analysis
from dashboard.paths import SAMPLE

R_PACKAGES = "for (p in c('lmerTest', 'nlme')) if (!requireNamespace(p, quietly = TRUE)) quit(status = 1)"
NESTED = "(1 | participant/conversation)"
FILTERED = Selection(task=("Ode to a potato", "Debugging a teapot"), min_rated_turns=3)
# One worker, so that each model is fitted and its code run once.
pytestmark = pytest.mark.xdist_group("printed code")

SHAPES = {
    "nested": (f"overall ~ turn + model + {NESTED}", {}, Selection()),
    "filtered": (f"overall ~ turn * model + {NESTED}", {}, FILTERED),
    "slope": ("overall ~ turn + (1 + turn | participant) + (1 | conversation)", {}, Selection()),
    "uncorrelated": ("overall ~ turn + task + (1 + turn || participant)", {}, Selection()),
    "crossed": (f"affective ~ log(turn) + {NESTED} + (1 | task)", {}, Selection()),
    "functions": (f"overall ~ I(turn^2) + center(turn) + sqrt(turn) + {NESTED}", {}, Selection()),
    "persons": (f"overall ~ within(affective) + between(affective) + {NESTED}", {}, Selection()),
    "factor": (f"overall ~ factor(importance) + gender + {NESTED}", {}, Selection()),
    "no intercept": ("overall ~ 0 + model + turn + (1 | participant)", {}, Selection()),
    "reference": (f"overall ~ model + {NESTED}", {"reference": "model=Llama2-70B", "method": "ML"}, Selection()),
    "score": ("satisfaction ~ task + desired_empathy + (1 | participant)", {}, Selection()),
    "not applicable": (f"relational_not_applicable ~ task + turn + {NESTED}", {}, Selection()),
    "computed": ("log(overall) ~ turn + age + (1 | participant)", {}, Selection()),
    "series": (f"overall ~ turn + model + {NESTED}", {"ar1": True}, Selection()),
    "series of persons": ("overall ~ turn + model + (1 | participant)", {"ar1": True}, Selection()),
    "series, slope": ("overall ~ turn + (1 + turn | participant)", {"ar1": True, "method": "ML"}, Selection()),
}
# As if the data had too many turns for memory: rows come by queries then.
LARGE = {
    "sums": (f"overall ~ turn + gender + age + {NESTED}", {}, Selection()),
    "batches": (f"overall ~ within(affective) + relational_not_applicable + {NESTED}", {}, FILTERED),
}


@pytest.fixture(scope="module")
def found(sample):
    """Return each model's terms and its printed code."""
    one = registry()["mixed_model"]

    def ask(shapes):
        out = {}
        for name, (formula, more, selection) in shapes.items():
            findings = run_analysis(sample, one, selection, one.parameters(formula=formula, **more))
            told = findings.tables["mixed_model.report"].set_index("part")["text"]
            terms = findings.table[~findings.table["is_reference"]]
            out[name] = (terms.set_index("term"), told.loc["r"], told.loc["python"])
        return out

    found = ask(SHAPES)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(model_moments, "LARGE_TURNS", 0)
        patch.setattr(model_moments, "STREAMED_TURNS", 0)
        found |= ask(LARGE)
    return found


@pytest.fixture(scope="module")
def folders(found, tmp_path_factory):
    """Run the commands that the code names, each model in a folder of its own."""
    out = {}
    for name, (_, r, _) in found.items():
        out[name] = tmp_path_factory.mktemp("model")
        for line in r.splitlines():
            if line.startswith("# sense7 "):
                _run(shlex.split(line.removeprefix("# ")), out[name])
        (out[name] / "model.R").write_text(r, encoding="utf-8")
    return out


def _run(command, folder):
    with pytest.MonkeyPatch.context() as patch, contextlib.redirect_stderr(io.StringIO()):
        patch.setenv("SENSE7_DATA", str(SAMPLE))
        patch.setattr(sys, "argv", command)
        patch.chdir(folder)
        with pytest.raises(SystemExit) as stopped:
            cli.main()
    assert not stopped.value.code, command


@pytest.fixture(scope="module")
def r_estimates(folders):
    """Run every script in one R, and read the fixed effects."""
    if shutil.which("Rscript") is None:
        pytest.skip("R is not on this machine")
    environment = os.environ | {"LC_ALL": "C.UTF-8", "OMP_NUM_THREADS": "1"}
    if subprocess.run(["Rscript", "-e", R_PACKAGES], env=environment, check=False, capture_output=True).returncode:
        pytest.skip("R lacks lmerTest or nlme")
    lines = ["suppressMessages({library(lmerTest); library(nlme)})"]
    for folder in folders.values():
        lines.append(
            f'local({{ setwd("{folder}"); invisible(capture.output(source("model.R", local = TRUE, encoding = "UTF-8"))); '
            'b <- fixef(m); write.csv(data.frame(term = names(b), estimate = format(unname(b), digits = 15)), "b.csv") })'
        )
    script = next(iter(folders.values())) / "all.R"
    script.write_text("\n".join(lines), encoding="utf-8")
    done = subprocess.run(["Rscript", str(script)], env=environment, check=False, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return {name: pd.read_csv(folder / "b.csv")["estimate"].to_numpy() for name, folder in folders.items()}


@pytest.mark.parametrize("name", [*SHAPES, *LARGE])
def test_r_gives_the_models_numbers(found, r_estimates, name):
    # nlme's optimiser stops a little earlier than ours
    tolerance = 2e-4 if "series" in name else 1e-5
    np.testing.assert_allclose(r_estimates[name], found[name][0]["estimate"], rtol=tolerance, atol=tolerance)


@pytest.mark.parametrize("name", SHAPES)
def test_python_gives_the_models_numbers(found, folders, name, monkeypatch):
    terms, _, python = found[name]
    monkeypatch.chdir(folders[name])
    space = {}
    with contextlib.redirect_stdout(io.StringIO()):
        exec(compile(python.split("import statsmodels")[0], name, "exec"), space)
    np.testing.assert_allclose(space["fit"].terms["estimate"], terms["estimate"], rtol=1e-7, atol=1e-9)
