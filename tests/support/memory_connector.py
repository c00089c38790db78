"""A `Connector` whose connections are guests of a whole gateway in memory."""

from __future__ import annotations

from collections.abc import Coroutine
from typing import Any

from support.whole_gateway import WholeGateway
from twisted.internet.defer import Deferred

from gateway.clients.client import Login
from gateway.clients.conversation import Connector


class MemoryConnector:
    def __init__(self, whole: WholeGateway) -> None:
        self.whole = whole
        self.reactor = whole.reactor
        self.clock = whole.service.clock

    async def connect_0_10(self, _where: object, login: Login, _timeout_s: float = 0) -> Any:
        client = self.whole.connect_0_10(login)
        await client.ready()
        return client

    async def connect_1_0(self, _where: object, login: Login, _timeout_s: float = 0) -> Any:
        client = self.whole.connect_1_0(login)
        await client.ready()
        return client

    answered = Connector.answered

    def pause(self, seconds: float) -> Deferred[None]:
        later: Deferred[None] = Deferred()
        self.reactor.callLater(seconds, later.callback, None)
        return later

    def play(self, steps: Coroutine[Deferred[Any], Any, Any], step_s: float = 0.1) -> Any:
        """Run a coroutine to its end, letting time pass; what it returns, or raises."""
        results: list[Any] = []
        failures: list[Any] = []
        Deferred.fromCoroutine(steps).addCallbacks(results.append, failures.append)
        for _ in range(2000):
            if results or failures:
                break
            self.whole.pass_time(step_s)
        if failures:
            failures[0].raiseException()
        return results[0]
