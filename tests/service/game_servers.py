"""A game's allocator for tests: a real HTTP server that answers as it is told, and keeps what it heard."""

import http.server
import json
import threading
from collections.abc import Callable
from typing import Any

GOOD = {"address": "203.0.113.7", "port": 7777, "token": "let-me-in"}

Reply = tuple[int, bytes] | Callable[[http.server.BaseHTTPRequestHandler], None]


def good(**more: Any) -> Reply:
    """An answer that names a server."""
    return 200, json.dumps(GOOD | more).encode()


class Heard:
    """A request as it came."""

    def __init__(self, path: str, headers: dict[str, str], body: bytes) -> None:
        self.path, self.headers, self.body = path, headers, body
        self.told: dict[str, Any] = json.loads(body)


class Allocator:
    """Listens on loopback; answers with what stands in `replies`, one after the other, the last for ever."""

    def __init__(self, *replies: Reply) -> None:
        self.replies = list(replies) or [good()]
        self.heard: list[Heard] = []
        self.released = threading.Event()
        """Answers that hang, hang until then."""
        allocator = self

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers["content-length"]))
                headers = {name.lower(): value for name, value in self.headers.items()}
                allocator.heard.append(Heard(self.path, headers, body))
                reply = allocator.replies.pop(0) if len(allocator.replies) > 1 else allocator.replies[0]
                if callable(reply):
                    reply(self)
                    return
                self.send_response(reply[0])
                self.send_header("Content-Length", str(len(reply[1])))
                self.end_headers()
                self.wfile.write(reply[1])

            def log_message(self, *_: Any) -> None:
                pass

        class Quiet(http.server.ThreadingHTTPServer):
            daemon_threads = True

            def handle_error(self, *_: Any) -> None:
                pass  # who is cut off in the middle of an answer may be

        self.server = Quiet(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server.server_port}/allocate?for=tests"
        self._thread = threading.Thread(target=self.server.serve_forever, args=(0.01,), daemon=True)
        self._thread.start()

    def hang(self, _: http.server.BaseHTTPRequestHandler) -> None:
        """Say nothing."""
        self.released.wait(60)

    def close(self) -> None:
        """Stop listening."""
        self.released.set()
        self.server.shutdown()
        self.server.server_close()
        self._thread.join()

    def __enter__(self) -> "Allocator":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
