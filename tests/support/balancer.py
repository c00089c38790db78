"""A TCP balancer in front of several servers, as a Service is: each connection goes to the next.

A server that does not listen is passed over. What one side closes is closed on the other.
"""

from __future__ import annotations

import asyncio
import contextlib
import threading
from types import TracebackType
from typing import Final, Self

LOOPBACK: Final = "127.0.0.1"
PIECE: Final = 1 << 16


class Balancer:
    """Runs in a thread of its own while its context lasts.

    Attributes:
        targets: the ports of the servers; may be changed at any time.
        port: where clients connect.
        served: how many connections each server was given, by its port.
    """

    def __init__(self, targets: list[int]) -> None:
        self.targets = targets
        self.port = 0
        self.served: dict[int, int] = {}
        self._next = 0
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        begun = asyncio.run_coroutine_threadsafe(self._begin(), self._loop)
        self.port = begun.result(10)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        asyncio.run_coroutine_threadsafe(self._end(), self._loop).result(10)
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(10)
        self._loop.close()

    async def _begin(self) -> int:
        self._server = await asyncio.start_server(self._accept, LOOPBACK, 0)
        port: int = self._server.sockets[0].getsockname()[1]
        return port

    async def _end(self) -> None:
        self._server.close()
        others = asyncio.all_tasks() - {asyncio.current_task()}
        for task in others:
            task.cancel()
        await asyncio.gather(*others, return_exceptions=True)

    async def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        for _attempt in self.targets:
            port = self.targets[self._next % len(self.targets)]
            self._next += 1
            with contextlib.suppress(OSError):
                there = await asyncio.open_connection(LOOPBACK, port)
                self.served[port] = self.served.get(port, 0) + 1
                await asyncio.gather(_carry(reader, there[1]), _carry(there[0], writer))
                return
        writer.close()


async def _carry(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """From one side to the other, until either of them is gone."""
    try:
        while octets := await reader.read(PIECE):
            writer.write(octets)
            await writer.drain()
    except ConnectionError:
        pass
    finally:
        writer.close()
