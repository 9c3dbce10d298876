"""A network that fails on purpose: it stands between two who talk over TCP, and does to them what networks do.

    client ──> 127.0.0.1:port ──> delay, pace, hold, lose, cut ──> wherever it leads

1. What is set counts from now on, for connections that are open too; any thread may set it.
2. What was held is not lost: it goes on its way when the hole closes, as retransmitted packets do, also when its sender
   has given up meanwhile. What is lost on the way back is lost for good.
3. A connection that is cut is reset, in both directions.
"""

import asyncio
import contextlib
import socket
import struct
import threading
import time
from collections.abc import Callable, Iterator
from typing import Final

_CHUNK: Final = 16_384
_RESET: Final = struct.pack("ii", 1, 0)
"""SO_LINGER: whoever closes so sends a reset."""


class Proxy:
    """One address that leads to another."""

    def __init__(self, host: str, port: int) -> None:
        self.target = host, port
        """Where new connections lead."""
        self.delay_s = 0.0
        """What every piece takes each way."""
        self.bytes_a_s = 0.0
        """How much goes through each way of each connection; 0 = all there is."""
        self.refusing = False
        """New connections are reset at once."""
        self.losing = False
        """What is sent reaches the other end, and its answers reach nobody."""
        self._passing = asyncio.Event()
        self._passing.set()
        self._open: set[asyncio.StreamWriter] = set()
        self._tasks: set[asyncio.Task[None]] = set()
        self._loop = asyncio.new_event_loop()
        listening = socket.create_server(("127.0.0.1", 0))
        self.port: int = listening.getsockname()[1]
        self._thread = threading.Thread(target=self._work, args=(listening,), name="proxy", daemon=True)
        self._thread.start()

    # -- called from any thread --------------------------------------------------------------------------------------

    def cut(self) -> None:
        """Reset all connections that are open now."""
        self._do(self._cut)

    def hold(self) -> None:
        """Become a black hole: connections are taken and stay open, and nothing goes through."""
        self._do(self._passing.clear)

    def release(self) -> None:
        """Let everything through again, what was held first."""
        self._do(self._passing.set)

    @contextlib.contextmanager
    def hole(self) -> Iterator[None]:
        """A black hole for as long as the block runs."""
        self.hold()
        try:
            yield
        finally:
            self.release()

    def close(self) -> None:
        """End everything."""
        if self._thread.is_alive():
            self._loop.call_soon_threadsafe(self._loop.stop)
            self._thread.join()

    def __enter__(self) -> "Proxy":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _do(self, work: Callable[[], object]) -> None:
        done = threading.Event()

        def then() -> None:
            work()
            done.set()

        self._loop.call_soon_threadsafe(then)
        done.wait()

    # -- the proxy's thread ------------------------------------------------------------------------------------------

    def _work(self, listening: socket.socket) -> None:
        asyncio.set_event_loop(self._loop)
        self._loop.run_until_complete(asyncio.start_server(self._take, sock=listening))
        try:
            self._loop.run_forever()
        finally:
            self._cut()
            for task in asyncio.all_tasks(self._loop):
                task.cancel()
            self._loop.run_until_complete(asyncio.sleep(0))
            listening.close()
            self._loop.close()

    def _cut(self) -> None:
        for writer in list(self._open):
            _reset(writer)

    async def _take(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        if self.refusing:
            _reset(writer)
            return
        self._open.add(writer)
        other = None
        try:
            await self._passing.wait()
            back, other = await asyncio.open_connection(*self.target)
            self._open.add(other)
            await asyncio.gather(self._pump(reader, other, False), self._pump(back, writer, True))
        except (OSError, asyncio.CancelledError):
            pass
        finally:
            for one in (writer, other):
                if one is not None:
                    self._open.discard(one)
                    one.transport.abort()

    async def _pump(self, source: asyncio.StreamReader, target: asyncio.StreamWriter, is_back: bool) -> None:
        """Carry what comes from one end to the other until it ends."""
        way: asyncio.Queue[tuple[float, bytes]] = asyncio.Queue(maxsize=64)
        reading = asyncio.ensure_future(self._read(source, way))
        try:
            while True:
                due_s, piece = await way.get()
                await asyncio.sleep(due_s - time.monotonic())
                await self._passing.wait()
                if is_back and self.losing:
                    continue
                if not piece:
                    break
                target.write(piece)
                await target.drain()
                if self.bytes_a_s:
                    await asyncio.sleep(len(piece) / self.bytes_a_s)
            if target.can_write_eof():
                target.write_eof()
        finally:
            reading.cancel()

    async def _read(self, source: asyncio.StreamReader, way: "asyncio.Queue[tuple[float, bytes]]") -> None:
        piece = b"-"
        while piece:
            try:
                piece = await source.read(_CHUNK)
            except OSError:
                piece = b""
            await way.put((time.monotonic() + self.delay_s, piece))


def _reset(writer: asyncio.StreamWriter) -> None:
    found = writer.get_extra_info("socket")
    if found is not None:
        with contextlib.suppress(OSError):
            found.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _RESET)
    writer.transport.abort()
