"""Time, memory and size of the synthetic sample: `pytest tests/bench/bench_sample.py -m bench -s`.

`SENSE7_BENCH_SCALE=10000` runs the full size of 47 million turns; otherwise 500 blocks stand for it.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

pytestmark = pytest.mark.bench

FULL = 10_000
PROGRAM = """
import json, resource, sys, time
from pathlib import Path
from dashboard.intake.sample import write_sample
start = time.perf_counter()
manifest = write_sample(Path(sys.argv[1]), scale=int(sys.argv[2]), text=False)
seconds = time.perf_counter() - start
peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
print(json.dumps({"seconds": seconds, "peak_mb": peak, "turns": manifest["counts"]["assistant_turns"]}))
"""


def run(folder: Path, scale: int) -> dict[str, float]:
    start = time.perf_counter()
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, str(folder), str(scale)], check=True, capture_output=True, text=True
    )
    size = sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())
    return {**json.loads(done.stdout), "with_imports": time.perf_counter() - start, "megabytes": size / 1e6}


def test_a_sample_of_the_study_s_size_takes_less_than_three_seconds(tmp_path: Path):
    found = run(tmp_path / "sample", 1)
    print(f"\nscale 1: {found['with_imports']:.2f} s with imports, {found['peak_mb']:.0f} MB")
    assert found["with_imports"] < 3


def test_a_large_sample_streams_within_a_gigabyte(tmp_path: Path):
    scale = int(os.environ.get("SENSE7_BENCH_SCALE", "500"))
    found = run(tmp_path / "sample", scale)
    print(
        f"\nscale {scale}: {found['turns']:,} turns, {found['seconds']:.1f} s, {found['peak_mb']:.0f} MB, "
        f"{found['megabytes']:.0f} MB on disk; at {FULL}: about {found['seconds'] * FULL / scale:.0f} s, "
        f"{found['megabytes'] * FULL / scale / 1000:.1f} GB"
    )
    assert found["peak_mb"] < 1000
    assert found["megabytes"] * FULL / scale < 6000
