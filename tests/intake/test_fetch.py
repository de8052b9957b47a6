"""Fetching takes the workbook from a server, or says why not and writes nothing."""

import hashlib
import json
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from dashboard.intake import fetch_release
from dashboard.vocabulary import Refused


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *arguments):
        pass

    def do_GET(self):
        body = self.server.body
        path = self.path.partition("?")[0]
        if path == "/missing.xlsx":
            self.send_error(404)
            return
        if path == "/moved.xlsx":
            self.send_response(302)
            self.send_header("Location", "/sense-7_dataset.xlsx")
            self.send_header("Content-Length", "0")
            self.end_headers()
            return
        self.send_response(200)
        if path == "/page.xlsx":
            body = b"<!DOCTYPE html><html><body>Sign in</body></html>"
        stated = len(body) + 500 if path == "/short.xlsx" else len(body)
        if path != "/unstated.xlsx":
            self.send_header("Content-Length", str(10**9 if path == "/huge.xlsx" else stated))
        self.send_header("Connection", "close")
        self.end_headers()
        if path == "/silent.xlsx":
            time.sleep(3)
        if path == "/slow.xlsx":
            for at in range(0, len(body), 50):
                self.wfile.write(body[at : at + 50])
                self.wfile.flush()
                time.sleep(0.05)
            return
        self.wfile.write(body)
        self.close_connection = True


class Quiet(ThreadingHTTPServer):
    daemon_threads = True

    def handle_error(self, request, client_address):
        pass  # the client hung up, as it should


@pytest.fixture
def server(study, tmp_path):
    served = Quiet(("127.0.0.1", 0), Handler)
    served.body = study.to_xlsx(tmp_path / "served.xlsx").read_bytes()
    thread = threading.Thread(target=served.serve_forever, args=(0.02,))
    thread.start()
    yield served
    served.shutdown()
    served.server_close()
    thread.join()


@pytest.fixture
def address(server):
    return f"http://127.0.0.1:{server.server_address[1]}"


@pytest.mark.parametrize("name", ["sense-7_dataset.xlsx", "moved.xlsx", "unstated.xlsx"])
def test_what_is_fetched_is_the_release(server, address, tmp_path, name):
    said = []
    report = fetch_release(f"{address}/{name}?token=secret", tmp_path / "out", progress=said.append)
    digest = hashlib.sha256(server.body).hexdigest()
    manifest = json.loads((tmp_path / "out" / "manifest.json").read_text())
    assert report.source_sha256 == manifest["source_sha256"] == digest
    assert any(digest in line and "CDLA-Permissive-2.0" in line for line in said)
    assert not any("secret" in line for line in said)
    assert (report.origin, manifest["release"], manifest["licence"]) == ("release", True, "CDLA-Permissive-2.0")
    assert "CDLA-Permissive-2.0" in report.to_text()
    assert "SENSE-7" in manifest["citation"]


@pytest.mark.parametrize(
    ("path", "options", "says"),
    [
        ("missing.xlsx", {}, "404"),
        ("page.xlsx", {}, "web page"),
        ("short.xlsx", {}, "cut short"),
        ("huge.xlsx", {}, "larger than 100 MB"),
        ("unstated.xlsx", {"size_limit": 1000}, "larger than"),
        ("silent.xlsx", {"timeout_seconds": 0.3}, "timed out"),
        ("slow.xlsx", {"deadline_seconds": 0.3}, "too long"),
    ],
)
def test_what_goes_wrong_is_said_and_leaves_what_was_there(study, take, address, tmp_path, path, options, says):
    before = take(study)
    content = (before.folder / "manifest.json").read_bytes()
    with pytest.raises(Refused, match=says):
        fetch_release(f"{address}/{path}", before.folder, **options)
    assert (before.folder / "manifest.json").read_bytes() == content


@pytest.mark.parametrize(
    "url", ["file:///etc/passwd", "ftp://example.org/a.xlsx", "sense-7.xlsx", "http://", "http://a:b/x"]
)
def test_only_web_addresses_are_asked(tmp_path, url):
    with pytest.raises(Refused, match="http"):
        fetch_release(url, tmp_path / "out")


def test_a_server_that_is_not_there(tmp_path):
    with pytest.raises(Refused, match="cannot be downloaded"):
        fetch_release("http://127.0.0.1:9/a.xlsx", tmp_path / "out", timeout_seconds=2)


def test_nothing_is_fetched_into_a_folder_that_may_not_be_replaced(address, tmp_path):
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "mine.txt").write_text("x")
    with pytest.raises(Refused, match="not empty"):
        fetch_release(f"{address}/sense-7_dataset.xlsx", tmp_path / "out")
