"""How long the reader takes on ten million messages: `pytest tests/bench/bench_reader.py -m bench -s`.

Processor seconds of this process, all threads together; on two free cores a search waits about half of it. The data is a sample
a thousand times the size, made once per run (half a minute, 0.3 GB); SENSE7_READER_DATA names a folder that is there already.
"""

import os
import time
from pathlib import Path

import pytest

from dashboard.analyses import registry
from dashboard.analyses.findings import Selection, run_analysis
from dashboard.analyses.message_search import Listener, SearchParameters, search
from dashboard.database import connect
from dashboard.figures.template import Template
from dashboard.intake.sample import write_sample

pytestmark = pytest.mark.bench


@pytest.fixture(scope="module")
def large(tmp_path_factory):
    """A sample of about 9.4 million messages."""
    there = os.environ.get("SENSE7_READER_DATA")
    folder = Path(there) if there else tmp_path_factory.mktemp("large") / "data"
    if not there:
        write_sample(folder, scale=1000)
    return connect(folder, public=False)


@pytest.mark.parametrize(
    "asked",
    [
        {"text": "the"},
        {"text": "the", "whole_word": True},
        {"text": "the", "role": "user"},
        {"text": "nowhere"},
        {"text": "nowhere", "match_case": True},
        {"text": "he", "whole_word": True},
    ],
    ids=lambda asked: " ".join(map(str, asked.values())),
)
def test_a_search(large, asked):
    begun, times = time.process_time(), {}
    listener = Listener(
        searching=lambda share: None,
        found=lambda hits: times.setdefault("first hits", time.process_time() - begun),
        counting=lambda share: None,
    )
    found = search(large, Selection(), SearchParameters(**asked), listener)
    times["all counted"] = time.process_time() - begun
    said = ", ".join(f"{name} {seconds:.2f}" for name, seconds in times.items())
    print(f"\n{asked}: {said} processor seconds; {found.by_role['n_hits'].sum():,} hits, load {os.getloadavg()[0]:.1f}")
    if found.by_role["n_hits"].sum():
        assert times["first hits"] < 2


def test_the_list_and_a_transcript(large):
    spent = []
    for name, parameters in (
        ("conversations", {}),
        ("conversations", {"order": "lowest rating", "broken_only": True}),
        ("transcript", {"conversation": "C300000"}),
    ):
        one, begun = registry()[name], time.process_time()
        run_analysis(large, one, Selection(), one.parameters(**parameters))
        spent.append(time.process_time() - begun)
    print("\nlist {:.1f}, another order of it {:.1f}, a transcript {:.1f} processor seconds".format(*spent))
    assert spent[1] < 3


def test_trajectories(large):
    one, begun = registry()["rating_trajectories"], time.process_time()
    found = run_analysis(large, one, Selection(), one.parameters())
    asked, begun = time.process_time() - begun, time.process_time()
    size = len(found.figures["rating_trajectories"].figure(Template()).to_json())
    print(
        f"\ntrajectories {asked:.1f}, drawn in {time.process_time() - begun:.2f} processor seconds, {size:,} bytes sent"
    )
    assert size < 3_000_000
