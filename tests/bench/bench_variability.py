"""What the Variability page costs for 10,000 participants: `pytest tests/bench/bench_variability.py -m bench -s`.

Processor seconds of one process, figures drawn included, on the sample and on 92 times as many participants, with the ratio: how the cost
grows when the data grows 92-fold. The first question must be drawn within two seconds; what the browser receives stays below
2 MB a figure.
"""

import time

import pytest

from dashboard.analyses import on_page
from dashboard.analyses.findings import Selection, parse_parameters, run_analysis
from dashboard.database import connect
from dashboard.figures.template import Template
from dashboard.intake.sample import write_sample
from dashboard.paths import SAMPLE

pytestmark = pytest.mark.bench

SCALE = 92
MOST_BYTES = 2_000_000


@pytest.fixture(scope="module")
def study(tmp_path_factory):
    """10,028 participants, 411,000 rated turns."""
    folder = tmp_path_factory.mktemp("study") / "data"
    write_sample(folder, scale=SCALE, text=False)
    return connect(folder, public=False)


@pytest.fixture(scope="module")
def sample():
    data = connect(SAMPLE, public=False)
    # Libraries are loaded by the first run of each: that is no part of an analysis' cost.
    for one in on_page("Variability"):
        measure(data, one)
    return data


def measure(data, one, *given):
    """Return processor seconds to analyse and to draw, and the bytes of the largest figure."""
    _, parameters = parse_parameters(one, list(given))
    begun = time.process_time()
    findings = run_analysis(data, one, Selection(), parameters)
    analysed = time.process_time()
    sizes = [len(drawing.figure(Template()).to_json()) for drawing in findings.figures.values()]
    return analysed - begun, time.process_time() - analysed, max(sizes, default=0)


def test_every_question_at_ten_thousand_participants(sample, study):
    print(f"\n{'':26} {'sample, s':>10} {'10,028, s':>10} {'ratio':>6} {'drawn, s':>9} {'kB':>6}")
    for one in on_page("Variability"):
        small = measure(sample, one)[0]
        large, drawn, size = measure(study, one)
        print(f"{one.name:26} {small:10.2f} {large:10.2f} {large / small:6.0f} {drawn:9.2f} {size / 1000:6.0f}")
        assert size < MOST_BYTES
        if one.position == 1:
            assert large + drawn < 2


def test_a_bootstrap_of_components(sample):
    one = next(one for one in on_page("Variability") if one.name == "variance_components")
    seconds = measure(sample, one, ("intervals", "bootstrap"), ("n_boot", "200"))[0]
    print(f"\nvariance_components, bootstrap: {1000 * seconds / 200 / 9:.1f} ms for each sample and outcome")
