"""What is set up before the server answers."""

import os
import socket
from pathlib import Path

import pytest

from dashboard.server import ANSWERS_BY, head_start, send_at_once


@pytest.mark.parametrize(
    ("started", "now", "left"),
    [
        (None, 100.0, 0.0),
        ("100.0", 100.0, ANSWERS_BY),
        ("100.0", 101.0, ANSWERS_BY - 1.0),
        ("100.0", 500.0, 0.0),
        # The clock was set back.
        ("100.0", 50.0, ANSWERS_BY),
    ],
)
def test_the_head_start_ends_when_the_server_shall_answer(started, now, left):
    assert head_start(started, now) == pytest.approx(left)


@pytest.mark.parametrize(("family", "address"), [(socket.AF_INET, "127.0.0.1"), (socket.AF_INET6, "::1")])
def test_connections_send_small_pieces_at_once(family, address):
    def waits(one):
        return not one.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY)

    with socket.socket(family) as listening, socket.socket(family) as browser, socket.socket(family) as other:
        try:
            listening.bind((address, 0))
        except OSError:
            pytest.skip(f"this machine has no address {address}")
        listening.listen()
        send_at_once()
        browser.connect(listening.getsockname())
        accepted, _ = listening.accept()
        with accepted:
            assert not waits(accepted)
            assert waits(other)
            # The sockets looked at are still open.
            accepted.sendall(b"x")
            assert browser.recv(1) == b"x"


@pytest.mark.skipif(not Path("/dev/fd").is_dir(), reason="nothing is looked at where there is no /dev/fd")
def test_what_was_looked_at_is_left_as_it_was():
    reading, writing = os.pipe()
    try:
        before = sorted(Path("/dev/fd").iterdir())
        send_at_once()
        assert sorted(Path("/dev/fd").iterdir()) == before
        # A copy of the writing end left open would keep the reader waiting for ever.
        os.set_blocking(reading, False)
        os.close(writing)
        assert os.read(reading, 1) == b""
    finally:
        os.close(reading)
