"""`sense7 judge` against a real server that speaks the protocol, faults included: every conversation is accounted for."""

import collections
import csv
import json
import os
import re
import signal
import subprocess
import sys
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from dashboard import cli
from dashboard.database import connect
from dashboard.intake.predictions import COLUMNS, read_predictions
from dashboard.judge.prompt import read_answer, read_prompt
from dashboard.paths import SAMPLE
from dashboard.queries import run_query
from dashboard.vocabulary import Refused

KEY = "sk-secret-0123456789abcdef"
USAGE = {"prompt_tokens": 100, "completion_tokens": 20}


class FaultyServer(ThreadingHTTPServer):
    """Answers by ``faults(conversation_number, nth_call)``; a fault is a name, anything else is the answer's text."""

    daemon_threads = True
    request_queue_size = 128

    def __init__(self, faults):
        super().__init__(("127.0.0.1", 0), Handler)
        self.faults = faults
        self.calls = collections.Counter()
        self.seen_keys, self.paths, self.bodies = set(), set(), []
        self.running = self.most_running = 0
        self.lock = threading.Lock()

    def handle_error(self, request, client_address):
        """Keep quiet of clients that hang up on slow answers."""


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *_):
        """Keep quiet."""

    def do_POST(self):
        server = self.server
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        prompt = body["messages"][0]["content"]
        with server.lock:
            server.calls[prompt] += 1
            nth = server.calls[prompt]
            number = list(server.calls).index(prompt)
            server.seen_keys.add(self.headers.get("Authorization"))
            server.paths.add(self.path)
            server.bodies.append(body)
            server.running += 1
            server.most_running = max(server.most_running, server.running)
        try:
            chosen = server.faults(number, nth)
            fault = getattr(self, f"fault_{chosen}", None)
            fault() if fault else self.say(chosen)
        finally:
            with server.lock:
                server.running -= 1

    def send(self, status, body, **headers):
        raw = body if isinstance(body, bytes) else json.dumps(body).encode()
        self.send_response(status)
        self.send_header("Content-Type", headers.pop("kind", "application/json"))
        for name, value in headers.items():
            self.send_header(name.replace("_", "-"), value)
        self.send_header("Content-Length", str(len(raw)))
        self.end_headers()
        self.wfile.write(raw)

    def say(self, text):
        message = {"role": "assistant", "content": text}
        choice = {"index": 0, "message": message, "finish_reason": "stop"}
        self.send(200, {"id": "x", "object": "chat.completion", "model": "m", "choices": [choice], "usage": USAGE})

    def fault_429(self):
        self.send(429, {"error": {"message": "slow down"}}, Retry_After="0.1")

    def fault_500(self):
        self.send(500, {"error": {"message": "broken"}})

    def fault_400(self):
        self.send(400, {"error": {"message": "too long"}})

    def fault_401(self):
        self.send(401, {"error": {"message": f"Incorrect API key provided: {KEY}."}})

    def fault_404(self):
        self.send(404, {"error": {"message": "no such model"}})

    def fault_slow(self):
        time.sleep(5)
        self.say("<S2>1</S2>")

    def fault_truncated(self):
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", "5000")
        self.end_headers()
        self.wfile.write(b'{"id": "x", "choices": [{"mess')
        self.close_connection = True

    def fault_cut(self):
        self.send(200, b'{"id": "x", "choices": [{"mess')

    def fault_closed(self):
        self.close_connection = True
        self.connection.close()

    def fault_nonsense(self):
        self.send(200, b"<html>hello</html>", kind="text/html")

    def fault_shapeless(self):
        self.send(200, {"choices": [], "usage": None})

    def fault_silent(self):
        self.say(None)


FAULTS = ("429", "500", "slow", "truncated", "cut", "closed", "nonsense", "shapeless")


def answer(number):
    return f"<S0>because {number}</S0>\n<S2>{1 + number % 5}</S2>"


@pytest.fixture
def serve():
    """Return a function that starts a server with given faults."""
    running = []

    def start(faults):
        server = FaultyServer(faults)
        threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True).start()
        running.append(server)
        return server, f"http://127.0.0.1:{server.server_port}/v1"

    yield start
    for server in running:
        server.shutdown()
        server.server_close()


@pytest.fixture
def judge(monkeypatch, capsys, tmp_path):
    """Run `sense7 judge` on the sample and return exit status, standard output, standard error."""
    monkeypatch.setenv("SENSE7_DATA", str(SAMPLE))
    monkeypatch.setenv("SENSE7_API_KEY", KEY)
    monkeypatch.chdir(tmp_path)

    def run(url, *arguments, model="my/judge"):
        monkeypatch.setattr(sys, "argv", ["sense7", "judge", "--base-url", url, "--model", model, *map(str, arguments)])
        with pytest.raises(SystemExit) as stopped:
            cli.main()
        captured = capsys.readouterr()
        return stopped.value.code or 0, captured.out, captured.err

    return run


def rows_of(path):
    with path.open(newline="") as file:
        return list(csv.DictReader(file))


def no_key_in(folder, *texts):
    for path in folder.rglob("*"):
        assert not path.is_file() or KEY.encode() not in path.read_bytes(), path
    assert all(KEY not in text for text in texts)


def test_answers_become_an_official_file_that_evaluate_reads(judge, serve, tmp_path, monkeypatch, capsys):
    server, url = serve(lambda number, nth: answer(number))
    status, out, err = judge(url, "--limit", 30, "--iterations", 2, "--concurrency", 1, "--json")
    assert status == 0, err
    found = json.loads(out)
    assert [path.rsplit("/", 1)[-1] for path in found["files"]] == [
        "my_judge-sense7-iter1.csv",
        "my_judge-sense7-iter2.csv",
    ]
    assert (found["questions"], found["answered"], found["unreadable"], found["failed"]) == (60, 60, 0, 0)
    rows = rows_of(tmp_path / "my_judge-sense7-iter1.csv")
    assert list(rows[0])[: len(COLUMNS)] == list(COLUMNS)
    truth = run_query(connect(SAMPLE, public=False), "ground_truth").head(30)
    assert [row["TaskId"] for row in rows] == truth["conversation"].tolist()
    for number, (row, value) in enumerate(zip(rows, truth["ground_truth"], strict=True)):
        assert (row["IS_EMPATHY"], row["CoT"], row["Model"]) == (str(1 + number % 5), f"because {number}", "my/judge")
        stated = row["ground-truth"]
        assert stated == "EMPTY" if value != value else float(stated) == pytest.approx(value, abs=1e-12)
    assert server.seen_keys == {f"Bearer {KEY}"}
    assert server.paths == {"/v1/chat/completions"}
    assert list(tmp_path.glob("*.jsonl")) == []
    monkeypatch.setattr(sys, "argv", ["sense7", "evaluate", *found["files"], "--json"])
    with pytest.raises(SystemExit):
        cli.main()
    evaluated = json.loads(capsys.readouterr().out)
    assert [one["n_fallback"] for one in evaluated["files"]] == [0, 0]
    assert evaluated["notes"] == []


def test_the_prompt_holds_the_conversation_and_no_rating(judge, serve):
    server, url = serve(lambda number, nth: answer(number))
    judge(url, "--limit", 1)
    (body,) = server.bodies
    text = body["messages"][0]["content"]
    assert "User: [synthetic]" in text and "Assistant: [synthetic]" in text
    assert "{" not in text and "<!--" not in text
    assert set(body) == {"model", "messages"} and body["model"] == "my/judge"


def test_fifty_calls_at_once_to_a_faulty_server_account_for_every_conversation(judge, serve, tmp_path):
    def faults(number, nth):
        time.sleep(0.3)
        if number % 10 == 9:
            return ("500", "closed", "slow", "429", "nonsense")[number // 10 % 5]
        if number % 10 == 8:
            return ("I would say four.", "<S2>10</S2>", "<S0>cut", "<S2>3", "silent")[number // 10 % 5]
        return FAULTS[number % 8] if nth == 1 and number % 2 else answer(number)

    server, url = serve(faults)
    began = time.monotonic()
    status, out, err = judge(url, "--limit", 100, "--concurrency", 50, "--timeout", 3, "--attempts", 3, "--json")
    assert status == 0, err
    assert time.monotonic() - began < 120
    found = json.loads(out)
    assert found["answered"] + found["unreadable"] + found["failed"] == found["questions"] == 100
    assert (found["unreadable"], found["failed"]) == (10, 10)
    assert server.most_running > 10
    rows = rows_of(tmp_path / "my_judge-sense7-iter1.csv")
    assert len(rows) == len({row["TaskId"] for row in rows}) == 100
    by_status = collections.Counter(row["Status"] for row in rows)
    assert by_status == {"answered": 80, "unreadable": 10, "failed": 10}
    for row in rows:
        assert (row["IS_EMPATHY"] == "PROCESSING_FAILED") == (row["Status"] != "answered")
        if row["Status"] == "answered":
            number = int(re.search(r"because (\d+)", row["CoT"])[1])
            assert row["IS_EMPATHY"] == str(1 + number % 5)
        else:
            assert row["Detail"] not in ("", "EMPTY")
    read = read_predictions(tmp_path / "my_judge-sense7-iter1.csv")
    assert int(read.rows["is_failed"].sum()) == 20
    assert int(read.rows["is_fallback"].sum()) == 0
    no_key_in(tmp_path, out, err)


@pytest.mark.parametrize("fault", FAULTS)
def test_every_fault_is_outlived(judge, serve, tmp_path, fault):
    _, url = serve(lambda number, nth: fault if nth == 1 else answer(number))
    status, out, err = judge(url, "--limit", 2, "--timeout", 2, "--json")
    assert status == 0, err
    assert json.loads(out)["answered"] == 2
    assert {row["Attempts"] for row in rows_of(tmp_path / "my_judge-sense7-iter1.csv")} == {"2"}


def test_failed_questions_are_asked_again_and_answers_are_not(judge, serve, tmp_path):
    healthy = threading.Event()
    server, url = serve(lambda number, nth: answer(number) if number % 3 or healthy.is_set() else "400")
    status, out, _ = judge(url, "--limit", 9, "--concurrency", 1, "--json")
    assert (status, json.loads(out)["failed"]) == (0, 3)
    assert json.loads(out)["journal"]
    calls = sum(server.calls.values())
    healthy.set()
    status, out, _ = judge(url, "--limit", 9, "--concurrency", 1, "--json")
    assert (status, json.loads(out)["answered"]) == (0, 9)
    assert sum(server.calls.values()) == calls + 3
    assert [row["Status"] for row in rows_of(tmp_path / "my_judge-sense7-iter1.csv")] == ["answered"] * 9
    assert list(tmp_path.glob("*.jsonl")) == []


def start_judge(url, folder, *arguments):
    return subprocess.Popen(
        [sys.executable, "-m", "dashboard.cli", "judge", "--base-url", url, "--model", "j", *map(str, arguments)],
        cwd=folder,
        env=os.environ | {"SENSE7_DATA": str(SAMPLE), "SENSE7_API_KEY": KEY, "PYTHONPATH": str(SAMPLE.parents[1])},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


@pytest.mark.parametrize("how", ["interrupted", "killed"])
def test_a_run_goes_on_where_it_was_stopped(judge, serve, tmp_path, how):
    def slowly(number, nth):
        time.sleep(0.1)
        return answer(number)

    server, url = serve(slowly)
    process = start_judge(url, tmp_path, "--limit", 60, "--concurrency", 3)
    deadline = time.monotonic() + 60
    while len(server.calls) < 12 and time.monotonic() < deadline:
        time.sleep(0.02)
    if how == "interrupted":
        process.send_signal(signal.SIGINT)
    else:
        process.kill()
    out, err = process.communicate(timeout=30)
    assert list(tmp_path.glob("*.csv")) == []
    (journal,) = tmp_path.glob("*.jsonl")
    kept = journal.read_text().count('"reply"')
    assert kept >= 5
    if how == "interrupted":
        assert (process.returncode, out) == (130, "")
        assert "goes on from there" in err and "Traceback" not in err
        assert kept == sum(server.calls.values()), "a call that was paid for was lost"
    else:
        with journal.open("a") as file:
            file.write('{"iteration": 1, "conv')
    before = sum(server.calls.values())
    status, out, err = judge(url, "--limit", 60, "--concurrency", 3, "--json", model="j")
    assert status == 0, err
    assert json.loads(out)["answered"] == 60
    assert sum(server.calls.values()) - before == 60 - kept
    assert len(rows_of(tmp_path / "j-sense7-iter1.csv")) == 60
    no_key_in(tmp_path, out, err)


class TestRefusals:
    def refused(self, result, *words):
        status, out, err = result
        assert (status, out) == (2, "")
        assert "Traceback" not in err and KEY not in err
        for word in words:
            assert word in err

    def test_a_wrong_key_ends_the_run_and_is_not_repeated(self, judge, serve, tmp_path):
        server, url = serve(lambda number, nth: "401")
        self.refused(judge(url, "--limit", 40), "401", "[key]")
        assert sum(server.calls.values()) <= 8
        no_key_in(tmp_path)

    def test_an_unknown_model(self, judge, serve):
        _, url = serve(lambda number, nth: "404")
        self.refused(judge(url, "--limit", 40), "404", "no such model")

    def test_nobody_there(self, judge):
        result = judge("http://127.0.0.1:9/v1", "--limit", 40, "--attempts", 1, "--concurrency", 8)
        self.refused(result, "the first 10 questions all failed", "connection")

    @pytest.mark.parametrize("url", ["host/v1", "ftp://host/v1", "http://me:secret@host/v1", "http://host/v1?key=1"])
    def test_no_plain_address(self, judge, url):
        self.refused(judge(url), "--base-url")

    def test_a_file_in_the_way(self, judge, serve, tmp_path):
        (tmp_path / "my_judge-sense7-iter1.csv").write_text("mine")
        server, url = serve(lambda number, nth: answer(number))
        self.refused(judge(url, "--limit", 2), "is there already")
        assert not server.calls and (tmp_path / "my_judge-sense7-iter1.csv").read_text() == "mine"

    def test_a_journal_of_another_run(self, judge, serve, tmp_path):
        _, url = serve(lambda number, nth: "400" if number == 1 else answer(number))
        judge(url, "--limit", 3)
        (tmp_path / "my_judge-sense7-iter1.csv").unlink()
        self.refused(judge(url, "--limit", 3, "--temperature", 0.5), "another temperature")

    def test_hidden_texts_and_no_folder(self, judge, serve, monkeypatch, tmp_path):
        _, url = serve(lambda number, nth: answer(number))
        self.refused(judge(url, "--out", tmp_path / "gone"), "must exist")
        monkeypatch.setenv("SENSE7_PUBLIC", "1")
        self.refused(judge(url), "SENSE7_PUBLIC")


def test_tokens_are_totalled_over_all_attempts_and_priced(judge, serve):
    _, url = serve(lambda number, nth: "unreadable at first" if nth == 1 else answer(number))
    _, out, _ = judge(url, "--limit", 5, "--price-in", 2, "--price-out", 10, "--json")
    found = json.loads(out)
    # two calls per conversation, 100 in and 20 out each: 1,000 · 2 + 200 · 10 = 4,000 per million
    assert (found["tokens_in"], found["tokens_out"]) == (1000, 200)
    assert found["cost"] == pytest.approx(0.004)


def test_a_rate_limit_holds_all_workers_back(judge, serve):
    times = []

    def faults(number, nth):
        times.append(time.monotonic())
        return "429" if len(times) == 1 else answer(number)

    _, url = serve(faults)
    status, out, _ = judge(url, "--limit", 6, "--concurrency", 1, "--json")
    assert (status, json.loads(out)["answered"]) == (0, 6)


class TestPrompt:
    def test_a_prompt_of_ones_own_names_the_files(self, judge, serve, tmp_path):
        (tmp_path / "short one.md").write_text("Rate {conversation} about {task}: <S2>1-5</S2>")
        server, url = serve(lambda number, nth: answer(number))
        status, _, err = judge(url, "--limit", 1, "--prompt", tmp_path / "short one.md")
        assert status == 0, err
        assert (tmp_path / "my_judge-short_one-iter1.csv").exists()
        assert server.bodies[0]["messages"][0]["content"].startswith("Rate User: [synthetic]")

    @pytest.mark.parametrize(
        ("text", "words"),
        [
            ("Rate this <S2>", "must hold the placeholder {conversation}"),
            ("{conversation} {mood} <S2>", "{mood}"),
            ("{conversation}", "<S2>"),
        ],
    )
    def test_one_that_cannot_work_is_refused(self, tmp_path, text, words):
        (tmp_path / "p.md").write_text(text)
        with pytest.raises(Refused, match=re.escape(words)):
            read_prompt(tmp_path / "p.md")

    def test_what_was_said_is_not_searched_for_placeholders(self):
        filled = read_prompt(None).fill(conversation="I wrote {task} and {conversation}", task="T")
        assert "I wrote {task} and {conversation}" in filled


@pytest.mark.parametrize(
    "text",
    [
        None,
        "",
        "4",
        "<S2>10</S2>",
        "<S2>4.5</S2>",
        "<S2>level 4</S2>",
        "<S2>4",
        "<S2>4</S2><S2>5</S2>",
        "<s2>4</s2>",
        "<S2>0</S2>",
    ],
)
def test_no_level_is_guessed(text):
    with pytest.raises(ValueError, match="answer|between"):
        read_answer(text)
