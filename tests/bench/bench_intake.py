"""Time and memory of an import, process start included: ``pytest tests/bench/bench_intake.py -m bench -s``.

The workbook has the size of the release: 672 conversations, about 9,500 messages, 15 columns.
"""

import json
import resource
import statistics
import subprocess
import sys
import time

import pytest

LABELS = ("Very poor", "Poor", "Neutral", "Good", "Very good", "Unknown", None)
DIMENSIONS = ("Affective", "Cognitive", "Response", "Prosocial", "Interest", "Contextual", "Relational")


def release_sized(path):
    """Write a workbook of the release's size, its texts shared as spreadsheets store them."""
    import xlsxwriter

    with xlsxwriter.Workbook(path) as book:
        tasks, messages = book.add_worksheet("Tasks"), book.add_worksheet("Messages")
        tasks.write_row(0, 0, ["PID", "Model", "TaskId", "PreTaskChoice", "PreTaskImportance", "PreTaskDesiredEmpathy"])
        names = ("TaskId", "MessageId", "TimeOffsetSeconds", "Role", "Content", "Retry", "EmpathyOverall")
        messages.write_row(0, 0, [*names, *DIMENSIONS, "Comment"])
        row = 0
        for number in range(672):
            name = f"T{number:04}"
            tasks.write_row(
                number + 1, 0, [f"P{number % 109:03}", "GPT-4", name, "Planning", 1 + number % 5, 1 + number % 3]
            )
            for message in range(14 + number % 2):
                row += 1
                role = "assistant" if message % 2 else "user"
                text = f"Message {message} of conversation {number}: " + "words and more words " * 20
                messages.write_row(row, 0, [name, message + 1, 7.5 * message, role, text, 0])
                if role == "assistant":
                    messages.write_row(row, 6, [LABELS[(row + place) % 7] for place in range(8)])
    return path


def used():
    """Return the processor seconds of all processes that were started and have ended."""
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


@pytest.mark.bench
def test_a_workbook_of_the_releases_size_imports_in_under_two_seconds(tmp_path):
    source = release_sized(tmp_path / "release.xlsx")
    walls, processors = [], []
    for run in range(5):
        start, before = time.perf_counter(), used()
        command = [sys.executable, "-m", "dashboard.cli", "import", str(source), "--out", str(tmp_path / f"out{run}")]
        done = subprocess.run([*command, "--json"], capture_output=True, text=True, check=True)
        walls.append(time.perf_counter() - start)
        processors.append(used() - before)
    counts = json.loads(done.stdout)
    peak = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1024
    wall, processor = statistics.median(walls), statistics.median(processors)
    print(f"\n{counts['messages']} messages: {wall:.2f} s by the clock, {processor:.2f} s of processor, {peak:.0f} MB")
    assert counts["conversations"] == 672
    # the clock says what other work on the machine took, too
    assert processor < 2
