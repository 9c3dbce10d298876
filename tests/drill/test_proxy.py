"""The network that fails on purpose does what it says, to connections that are open already."""

import contextlib
import socket
import socketserver
import threading
import time
from collections.abc import Iterator

import pytest

from evenmatch.drill.proxy import Proxy


class Echo(socketserver.BaseRequestHandler):
    """Says what it hears, in capitals, and remembers it."""

    heard: bytearray

    def handle(self) -> None:
        with contextlib.suppress(OSError):
            while piece := self.request.recv(65_536):
                self.heard.extend(piece)
                self.request.sendall(piece.upper())


@pytest.fixture
def heard(monkeypatch: pytest.MonkeyPatch) -> bytearray:
    """All that reaches the other end."""
    monkeypatch.setattr(Echo, "heard", bytearray(), raising=False)
    return Echo.heard


@pytest.fixture
def proxy(heard: bytearray) -> Iterator[Proxy]:
    """A proxy in front of an echo."""
    assert not heard
    with socketserver.ThreadingTCPServer(("127.0.0.1", 0), Echo) as server:
        server.daemon_threads = True
        threading.Thread(target=server.serve_forever, daemon=True).start()
        with Proxy("127.0.0.1", server.server_address[1]) as made:
            yield made
        server.shutdown()


@contextlib.contextmanager
def line(proxy: Proxy) -> Iterator[socket.socket]:
    with socket.create_connection(("127.0.0.1", proxy.port), timeout=30) as made:
        yield made


def say(one: socket.socket, words: bytes) -> bytes:
    one.sendall(words)
    answer = b""
    while len(answer) < len(words):
        piece = one.recv(65_536)
        assert piece, "it ended"
        answer += piece
    return answer


def reaches(heard: bytearray, words: bytes) -> None:
    """Something gets to the other end, in its time."""
    until = time.monotonic() + 30
    while words not in heard:
        assert time.monotonic() < until, bytes(heard)
        time.sleep(0.01)


def test_what_is_said_goes_through_and_takes_its_time(proxy: Proxy) -> None:
    with line(proxy) as one:
        assert say(one, b"ann") == b"ANN"
        assert say(one, b"x" * 1_000_000) == b"X" * 1_000_000
        proxy.delay_s = 0.1
        begun = time.monotonic()
        assert say(one, b"ben") == b"BEN"
        assert time.monotonic() - begun >= 0.2
        proxy.delay_s, proxy.bytes_a_s = 0.0, 10_000
        begun = time.monotonic()
        assert say(one, b"y" * 2_000) + say(one, b"z") == b"Y" * 2_000 + b"Z"
        assert time.monotonic() - begun >= 0.2


def test_what_is_held_comes_later_also_from_who_has_given_up(proxy: Proxy, heard: bytearray) -> None:
    with line(proxy) as one, line(proxy) as other:
        assert say(one, b"a") + say(other, b"b") == b"AB"
        with proxy.hole():
            one.sendall(b"ann")
            other.sendall(b"ben")
            one.settimeout(0.2)
            with pytest.raises(TimeoutError):
                one.recv(1)
            other.close()
            with line(proxy) as third:  # taken, and left without an answer
                third.sendall(b"cat")
            assert b"ann" not in heard
        one.settimeout(30)
        assert one.recv(3) == b"ANN"
        reaches(heard, b"ben")
        reaches(heard, b"cat")


def test_answers_are_lost_and_connections_are_reset(proxy: Proxy, heard: bytearray) -> None:
    with line(proxy) as one:
        assert say(one, b"a") == b"A"
        proxy.losing = True
        one.sendall(b"ann")
        reaches(heard, b"ann")
        one.settimeout(0.2)
        with pytest.raises(TimeoutError):
            one.recv(1)
        proxy.losing = False
        proxy.cut()
        with pytest.raises(ConnectionResetError):
            one.recv(1)
    with line(proxy) as one:
        assert say(one, b"b") == b"B"
    proxy.refusing = True
    with contextlib.suppress(OSError), line(proxy) as one:  # it may come while the connection is made
        one.sendall(b"c")
        assert one.recv(1) == b""
    assert not heard.endswith(b"c")
