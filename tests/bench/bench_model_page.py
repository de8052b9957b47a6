"""Time and memory of mixed models from data to sentence; run by hand.

``python tests/bench/bench_model_page.py [FOLDER] [FORMULA]``: the sample by default, or any folder that ``sense7 sample
--scale K --no-text`` wrote. Prints wall and processor seconds for reading, fitting and degrees of freedom, and the peak
memory; on the sample also each analysis of the page, cold and warm, and, where Chromium is, how long a new terms table
takes in the real page after a term was changed (seven formulas never asked before).
"""

import os
import resource
import shutil
import subprocess
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


NEW_TERMS = {
    "Importance": "turn + importance",
    "Task:": "turn + task",
    "Age": "turn + age",
    "Trait": "turn + trait_empathy",
    "sqrt(turn)": "sqrt(turn) + model",
    "log(turn)": "log(turn) + model",
    "I(turn^2)": "turn + I(turn^2)",
}
IDLE = "document.querySelector('[data-testid=stApp]')?.getAttribute('data-test-script-state') === 'notRunning'"
# Milliseconds until a table holds the words, looked at before every frame that the browser draws.
UNTIL_SHOWN = """(words) => new Promise(done => {
    const began = performance.now();
    const look = () => [...document.querySelectorAll("table")].some(one => one.innerText.includes(words))
        ? done(performance.now() - began) : requestAnimationFrame(look);
    look();
})"""


def bench_refit(port=8603):
    """Start the dashboard, change a term, and time the new table in the browser."""
    from playwright.sync_api import sync_playwright

    command = [sys.executable, "-m", "dashboard.cli", "run", "--headless", "--port", str(port), "--data", str(SAMPLE)]
    server = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        time.sleep(6)
        with sync_playwright() as playwright:
            browser = playwright.chromium.launch(executable_path=shutil.which("chromium"), args=["--no-sandbox"])
            page = browser.new_page(viewport={"width": 1440, "height": 900})
            page.goto(f"http://localhost:{port}/mixed_models")
            _rest(page)
            formula = page.get_by_role("textbox", name="Formula")
            for words, fixed in NEW_TERMS.items():
                formula.fill(f"overall ~ {fixed} + (1 | participant/conversation)")
                page.wait_for_timeout(300)
                formula.press("Enter")
                milliseconds = page.evaluate(UNTIL_SHOWN, words)
                began = time.monotonic()
                _rest(page)
                whole = milliseconds / 1000 + time.monotonic() - began
                print(f"new table, {fixed:24} {milliseconds / 1000:8.3f} s  whole page {whole:6.2f} s")
            browser.close()
    finally:
        server.terminate()
    print("load average", os.getloadavg())


def _rest(page):
    page.wait_for_selector("h1", timeout=60_000)
    page.wait_for_timeout(200)
    page.wait_for_function(IDLE, timeout=90_000)


if __name__ == "__main__":
    folder = Path(sys.argv[1]) if len(sys.argv) > 1 else SAMPLE
    opened = connect(folder, public=False, memory_limit="2GB")
    if not is_large(opened):
        opened = hold_in_memory(opened)
    bench_model(opened, sys.argv[2] if len(sys.argv) > 2 else FORMULA)
    if not is_large(opened):
        bench_page(opened)
        if shutil.which("chromium"):
            bench_refit()
