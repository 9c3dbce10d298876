"""Something between clients and a server that fails on purpose: it stands at one address while the server moves."""

import socket
import threading
from contextlib import suppress
from typing import Final

from .harness import PATIENCE_S, Server

_WORST: Final = 5.0


class Relay:
    """Forwards connections to wherever the server is now."""

    def __init__(self, server: Server) -> None:
        self.server = server
        self.swallow = 0
        """So many requests reach the server, and their answers reach nobody."""
        self.without_sockets = False
        """WebSockets cannot be opened through it."""
        self.upgrades = 0
        self._listening = socket.create_server(("127.0.0.1", 0))
        self.url = f"http://127.0.0.1:{self._listening.getsockname()[1]}"
        self._open: list[socket.socket] = []
        threading.Thread(target=self._accept, daemon=True).start()

    def cut(self) -> None:
        """Break all connections that are open now."""
        for one in self._open:
            with suppress(OSError):
                one.shutdown(socket.SHUT_RDWR)

    def close(self) -> None:
        """Break everything."""
        self._listening.close()
        self.cut()

    def _accept(self) -> None:
        with suppress(OSError):
            while True:
                client, _ = self._listening.accept()
                threading.Thread(target=self._serve, args=(client,), daemon=True).start()

    def _serve(self, client: socket.socket) -> None:
        self._open.append(client)
        with suppress(OSError), client:
            head = client.recv(65_536)
            if b"upgrade: websocket" in head.lower():
                self.upgrades += 1
                if self.without_sockets:
                    client.sendall(b"HTTP/1.1 400 Bad Request\r\ncontent-length: 0\r\n\r\n")
                    return
            host, port = self.server.url.removeprefix("http://").split(":")
            with socket.create_connection((host, int(port)), timeout=PATIENCE_S) as upstream:
                self._open.append(upstream)
                upstream.sendall(head)
                if self.swallow:
                    self.swallow -= 1
                    upstream.settimeout(_WORST)
                    upstream.recv(65_536)  # it has answered: what was asked is done
                    return
                back = threading.Thread(target=_pump, args=(upstream, client), daemon=True)
                back.start()
                _pump(client, upstream)
                back.join(PATIENCE_S)


def _pump(source: socket.socket, target: socket.socket) -> None:
    with suppress(OSError):
        source.settimeout(None)
        while part := source.recv(65_536):
            target.sendall(part)
    for one in (source, target):
        with suppress(OSError):
            one.shutdown(socket.SHUT_RDWR)
