"""A `Connector` whose connections are guests of a house in memory."""

from __future__ import annotations

from collections.abc import Coroutine
from typing import Any

from support.house import House
from twisted.internet.defer import Deferred

from gateway.clients.client import Login


class MemoryConnector:
    def __init__(self, house: House) -> None:
        self.house = house
        self.reactor = house.reactor
        self.clock = house.service.clock

    async def connect_0_10(self, _where: object, login: Login) -> Any:
        client = self.house.connect_0_10(login)
        await client.ready()
        return client

    async def connect_1_0(self, _where: object, login: Login) -> Any:
        client = self.house.connect_1_0(login)
        await client.ready()
        return client

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
            self.house.pass_time(step_s)
        if failures:
            failures[0].raiseException()
        return results[0]
