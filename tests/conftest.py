"""What tests share: the committed sample, small data spelled out row by row, nasty text, a browser and a running server."""

import functools
import os
import signal
import socket
import subprocess
import sys
import time
import urllib.request
from dataclasses import replace
from pathlib import Path

# First, since it sets numpy's threads, which are read when numpy is first imported.
import dashboard  # noqa: F401  # isort: skip

import pyarrow as pa
import pytest
from hypothesis import settings
from streamlit.components.v2 import manifest_scanner

from dashboard import cli
from dashboard.database import connect
from dashboard.export.browser import find_browser
from dashboard.intake.dataset import SCHEMAS, SENSE7_SCALES, Dataset, counts_of, scales_table, write_dataset
from dashboard.paths import ROOT, SAMPLE, SERVER
from dashboard.vocabulary import Refused

# Random things take a seed, the tests' too: a run repeats itself. SENSE7_EXPLORE=1 draws anew, to search further.
settings.register_profile("repeatable", derandomize=True, database=None)
settings.register_profile("explore", derandomize=False)
settings.load_profile("explore" if os.environ.get("SENSE7_EXPLORE") else "repeatable")

# A run started in the background may ignore Ctrl-C, and so would the programs that tests interrupt.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

NOT_APPLICABLE = "n/a"
CHROMIUM_ARGUMENTS = (
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
)
# Each would do something if it were read as Markdown, HTML, an icon name, an emoji, a formula or a link.
NASTY_TEXTS = (
    "Costs $5-$6 or $7",
    ":red[x] and :material/home: and :smile:",
    "<script>window.hacked = 1</script>",
    "![x](http://example.invalid/a.png)",
    "[y](http://example.invalid/b) http://example.invalid/c",
    "<img src=http://example.invalid/d.png onerror='window.hacked=2'>",
    "**bold** _it_ `code` ~~gone~~ # head | cell",
    "=HYPERLINK(1) a -> b <- c -- d >= e",
    "שלום עולם",
    "日本語のタスク",
    "1. one & <b>two</b> \\ three",
)


@pytest.fixture(scope="session", autouse=True)
def _installed_packages_are_scanned_once():
    """Streamlit looks through every installed package for components whenever an app is started in a test."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(
            manifest_scanner, "scan_component_manifests", functools.cache(manifest_scanner.scan_component_manifests)
        )
        yield


@pytest.fixture(scope="session")
def sample():
    """The committed synthetic sample, opened."""
    return connect(SAMPLE, public=False)


@pytest.fixture
def sense7(monkeypatch, capsys, tmp_path):
    """Run the command line on the sample and return exit status, standard output, standard error."""
    monkeypatch.setenv("SENSE7_DATA", str(SAMPLE))
    monkeypatch.delenv("SENSE7_PUBLIC", raising=False)
    monkeypatch.chdir(tmp_path)

    def run(*arguments):
        monkeypatch.setattr(sys, "argv", ["sense7", *map(str, arguments)])
        with pytest.raises(SystemExit) as stopped:
            cli.main()
        captured = capsys.readouterr()
        return stopped.value.code or 0, captured.out, captured.err

    return run


@pytest.fixture
def given(tmp_path):
    """Return a function that opens a small data set spelled out row by row; see :func:`write_given`."""
    made = []

    def build(turns, conversations=(), **options):
        folder = write_given(tmp_path / f"given{len(made)}", turns, conversations, **options)
        made.append(folder)
        return connect(folder, public=False)

    return build


def write_given(folder, turns, conversations=(), *, scales=SENSE7_SCALES, people=None, manifest=None):
    """Write the data folder of some rated turns, and return it.

    Parameters
    ----------
    turns
        One dict per rated-role message in order: ``conversation``, any outcome (a number, ``"n/a"`` for not applicable,
        left out for missing), and ``text``.
    conversations
        One dict per conversation: ``conversation``, ``participant``, ``task``, ``model``, any survey item. Conversations
        that only turns name get no participant, task or model.
    scales
        The measures; by default those of SENSE-7.
    people
        Covariates: one dict per participant.
    manifest
        Further content of manifest.json.
    """
    outcomes = [one.measure for one in scales if one.kind == "rating"]
    dimensions = [one.measure for one in scales if one.score == "dimension"]
    items = {one.measure: one.kind for one in scales if one.kind != "rating"}
    known = {row["conversation"]: row for row in conversations}
    for row in turns:
        known.setdefault(row["conversation"], {"conversation": row["conversation"]})
    messages, ratings, counted = [], [], {}
    for row in turns:
        name = row["conversation"]
        number = counted[name] = counted.get(name, 0) + 1
        messages.append({"conversation": name, "message": number, "turn": number, "role": "assistant"} | _text(row))
        answered = [row[one] for one in dimensions if isinstance(row.get(one), int | float)]
        mean = {"turn_mean": sum(answered) / len(answered)} if answered else {}
        for outcome in outcomes:
            answer = (row | mean).get(outcome)
            ratings.append(
                {"conversation": name, "message": number, "turn": number, "outcome": outcome} | _answer(answer)
            )
    ratings.sort(key=lambda one: (one["outcome"], list(known).index(one["conversation"]), one["turn"]))
    survey = [
        {"conversation": name, "phase": kind, "item": item} | _answer(row.get(item))
        for name, row in known.items()
        for item, kind in items.items()
    ]
    persons = dict.fromkeys(row["participant"] for row in known.values() if row.get("participant"))
    covariates = people if people is not None else [{"participant": person} for person in persons]
    places = [row | {"position": place} for place, row in enumerate(known.values(), 1)]
    dataset = Dataset(
        conversations=_table("conversations", places),
        messages=_table("messages", messages),
        ratings=_table("ratings", ratings),
        survey=_table("survey", survey),
        participants=pa.Table.from_pylist(covariates) if covariates else SCHEMAS["participants"].empty_table(),
        scales=scales_table(scales),
    )
    content = {
        "origin": "folder",
        "synthetic": False,
        "release": False,
        "title": "Given rows",
        "notes": [],
        "answers": {},
    }
    write_dataset(dataset, content | {"counts": counts_of(dataset)} | (manifest or {}), folder)
    return folder


def _text(row):
    return {"text": row.get("text")}


def _answer(value):
    if value == NOT_APPLICABLE:
        return {"value": None, "answer": "not_applicable"}
    if value is None:
        return {"value": None, "answer": "missing"}
    return {"value": float(value), "answer": "rated"}


def _table(name, rows):
    return pa.Table.from_pylist([{key: row.get(key) for key in SCHEMAS[name].names} for row in rows], SCHEMAS[name])


@pytest.fixture(scope="session")
def nasty_texts():
    """Texts that would do something if they were read as Markdown, HTML, an icon, a formula or a link."""
    return NASTY_TEXTS


@pytest.fixture(scope="session")
def nasty_folder(tmp_path_factory):
    """A data folder in which every name, label, id, covariate and note is one of the nasty texts."""
    turns, conversations, people = [], [], []
    for place, text in enumerate(NASTY_TEXTS):
        people.append({"participant": f"{place} {text}", "trait": text})
        for half in range(2):
            name = f"{text} {half}"
            conversations.append(
                {"conversation": name, "participant": f"{place} {text}", "task": text, "model": NASTY_TEXTS[-place - 1]}
                | {"desired_empathy": 1 + place % 3, "importance": 3, "post_affective": 4, "successful": 4}
            )
            for turn in range(3):
                rated = {one.measure: 1 + (place + turn + half) % 5 for one in SENSE7_SCALES if one.kind == "rating"}
                turns.append({"conversation": name, "text": text, "relational": NOT_APPLICABLE} | rated)
    labels = dict(zip((one.measure for one in SENSE7_SCALES), NASTY_TEXTS, strict=False))
    ends = {"minimum_label": NASTY_TEXTS[1], "maximum_label": NASTY_TEXTS[2], "wording": NASTY_TEXTS[3]}
    scales = [replace(one, label=labels.get(one.measure, one.label), **ends) for one in SENSE7_SCALES]
    return write_given(
        tmp_path_factory.mktemp("nasty") / "data",
        turns,
        conversations,
        scales=scales,
        people=people,
        manifest={"title": " · ".join(NASTY_TEXTS[:5]), "notes": list(NASTY_TEXTS), "licence": NASTY_TEXTS[2]},
    )


@pytest.fixture(scope="session")
def unrated_folder(tmp_path_factory):
    """A data folder without ratings, surveys, participants, tasks or models: conversations and nothing else."""
    turns = [{"conversation": f"c{place // 2}", "text": "words"} for place in range(8)]
    return write_given(tmp_path_factory.mktemp("unrated") / "data", turns, scales=())


@pytest.fixture(scope="session")
def mapped_folder(tmp_path_factory):
    """A data folder as a mapping makes it: one outcome on 0–10 of another name, no participants, tasks or models."""
    scale = replace(SENSE7_SCALES[0], measure="warmth", label="Warmth", score=None, minimum=0.0, maximum=10.0)
    turns = [{"conversation": f"c{place // 4}", "warmth": place % 11, "text": "words"} for place in range(48)]
    return write_given(tmp_path_factory.mktemp("mapped") / "data", turns, scales=(scale,))


@pytest.fixture(scope="session")
def chromium():
    """Path of an installed Chromium; without one, tests are skipped, or fail where SENSE7_REQUIRE_BROWSER says they must run."""
    try:
        return find_browser()
    except Refused as reason:
        if os.environ.get("SENSE7_REQUIRE_BROWSER") == "1":
            raise
        pytest.skip(str(reason))


@pytest.fixture(scope="session")
def browser(chromium):
    """A headless Chromium for the whole session."""
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        opened = playwright.chromium.launch(executable_path=chromium, args=list(CHROMIUM_ARGUMENTS))
        yield opened
        opened.close()


@pytest.fixture(scope="session")
def serve(tmp_path_factory):
    """Return a function that starts the dashboard on a data folder, once per folder, and gives its address."""
    running = {}

    def start(folder, **environment):
        key = (str(folder), *sorted(environment.items()))
        if key not in running:
            log = (tmp_path_factory.mktemp("server") / "log.txt").open("w")
            running[key] = (*start_server(folder, log, environment), log)
        return running[key][1]

    yield start
    for process, _, log in running.values():
        process.terminate()
        process.wait(timeout=20)
        log.close()


def start_server(folder, log, environment):
    """Start the dashboard on a free port and wait until it is healthy; return the process and its address."""
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        port = found.getsockname()[1]
    process = subprocess.Popen(
        [
            *(sys.executable, "-m", "streamlit", "run", str(SERVER), "--server.port", str(port)),
            *("--server.headless", "true", "--server.address", "127.0.0.1", "--server.showEmailPrompt", "false"),
        ],
        cwd=ROOT,
        env=os.environ | {"SENSE7_DATA": str(folder)} | environment,
        stdout=log,
        stderr=subprocess.STDOUT,
    )
    address = f"http://127.0.0.1:{port}"
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline:
        try:
            with urllib.request.urlopen(f"{address}/_stcore/health", timeout=2) as answer:
                if answer.status == 200:
                    return process, address
        except OSError:
            time.sleep(0.05)
    process.kill()
    raise TimeoutError(f"the dashboard did not become healthy within a minute; see {Path(log.name)}")


@pytest.fixture(scope="session")
def app_server(serve):
    """Address of the dashboard on the sample."""
    return serve(SAMPLE)


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items):
    """Mark the tests that need Chromium, and run those that click in it once more when they fail.

    On a busy machine a click can meet a page that is being drawn anew.
    """
    for item in items:
        if "chromium" in getattr(item, "fixturenames", ()):
            item.add_marker(pytest.mark.browser)
        if "browser" in getattr(item, "fixturenames", ()):
            item.add_marker(pytest.mark.flaky(reruns=1))
