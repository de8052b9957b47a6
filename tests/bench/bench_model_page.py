"""Time and memory of mixed models from data to sentence; run by hand.

``python tests/bench/bench_model_page.py [FOLDER] [FORMULA]``: the sample by default, or any folder that ``sense7 sample
--scale K --no-text`` wrote. Prints wall and processor seconds for reading, fitting and degrees of freedom, and the peak
memory; on the sample also each analysis of the page, cold and warm.
"""

import resource
import sys
import time
from pathlib import Path

from dashboard.analyses import on_page
from dashboard.analyses.findings import Selection, run_analysis
from dashboard.analyses.model_moments import is_large, rows_or_sums
from dashboard.analyses.model_parameters import estimate_model
from dashboard.database import connect
from dashboard.paths import SAMPLE
from dashboard.ui.memory import hold_in_memory

FORMULA = "overall ~ turn + model + (1 | participant/conversation)"


class Clock:
    """Print how long a step took since the last one."""

    def __init__(self):
        self.wall, self.processor = time.perf_counter(), time.process_time()

    def say(self, what):
        wall, processor = time.perf_counter(), time.process_time()
        memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6
        print(
            f"{what:32} {wall - self.wall:8.3f} s  processor {processor - self.processor:8.3f} s  peak {memory:5.2f} GB"
        )
        self.wall, self.processor = wall, processor


def bench_model(database, formula):
    clock = Clock()
    data = rows_or_sums(database, Selection(), formula)
    clock.say("rows or sums in memory")
    fit = estimate_model(data, reml=True, reference={})
    clock.say(f"fit ({fit.n_observations:,} turns)")
    print(fit.terms.to_string())
    clock.say("degrees of freedom, tests")


def bench_page(database):
    for one in on_page("Mixed models"):
        for state in ("cold", "warm"):
            clock = Clock()
            run_analysis(database, one, Selection(), one.parameters(formula=FORMULA))
            clock.say(f"{one.name}, {state}")


if __name__ == "__main__":
    folder = Path(sys.argv[1]) if len(sys.argv) > 1 else SAMPLE
    opened = connect(folder, public=False, memory_limit="2GB")
    if not is_large(opened):
        opened = hold_in_memory(opened)
    bench_model(opened, sys.argv[2] if len(sys.argv) > 2 else FORMULA)
    if not is_large(opened):
        bench_page(opened)
