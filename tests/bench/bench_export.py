"""How long figures take as files once the browser is there: `pytest tests/bench/bench_export.py -m bench -s`.

Wall clock, which a busy machine lengthens; beside it this process' processor seconds.
"""

import os
import time

import pytest

from dashboard.analyses import registry
from dashboard.analyses.findings import Selection, run_analysis
from dashboard.database import connect
from dashboard.export.figures import Print
from dashboard.export.items import Answer
from dashboard.paths import SAMPLE
from dashboard.vocabulary import TooLittleData

pytestmark = pytest.mark.bench
N_FIGURES = 30


def figures():
    """The sample's first figures: what was found, and the figure's name."""
    data = connect(SAMPLE, public=False)
    found = []
    for one in registry().values():
        if one.figures and len(found) < N_FIGURES:
            try:
                findings = run_analysis(data, one, Selection(), one.parameters())
            except TooLittleData:
                continue
            answer = Answer(data, one, findings, Selection(), one.parameters(), Print())
            found += [(answer, name) for name in findings.figures]
    return found[:N_FIGURES]


def test_thirty_figures_as_pdf_in_fifteen_seconds():
    wanted = figures()
    assert len(wanted) == N_FIGURES
    begun = time.perf_counter()
    wanted[0][0].content("figure", wanted[0][1], "pdf")
    start = time.perf_counter() - begun
    for format in ("pdf", "svg", "png"):
        own = time.process_time()
        begun = time.perf_counter()
        sizes = [len(answer.content("figure", name, format)) for answer, name in wanted]
        took = time.perf_counter() - begun
        own = time.process_time() - own
        print(f"{N_FIGURES} {format}: {took:.1f} s, {own:.1f} of our processor's, {sum(sizes) // 1024:,} kB")
        assert format != "pdf" or took < 15
    print(f"first figure with the browser's start {start:.1f} s; load {os.getloadavg()[0]:.1f}")
