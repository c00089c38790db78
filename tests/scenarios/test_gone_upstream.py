"""A connection to an upstream that is over leaves nothing behind that holds itself.

Nobody can make the gateway dial often, but it dials for as long as it runs.
"""

from __future__ import annotations

from collections.abc import Callable

import pytest
from support.face_1_0 import message
from support.garbage import by_hand, garbage_of
from support.upstream_world import UpstreamWorld

__all__ = ["by_hand"]  # a fixture

MANY = 5


def did_nothing(world: UpstreamWorld) -> None:
    """It opens, and is gone."""


def published(world: UpstreamWorld) -> None:
    """The broker settles nothing of what it has got."""
    world.publish(b"x")


def delivered(world: UpstreamWorld) -> None:
    """What has come is a client's when the connection goes."""
    _consumer, subscription = world.subscribe()
    world.broker.deliver("q", message(b"x"))
    world.step()
    subscription.cancel()
    world.step()


def ended(world: UpstreamWorld) -> None:
    """The broker ends the session."""
    world.publish(b"x")
    world.pass_time(60_000)  # the links wait, each time that it has done so
    [session] = world.broker.sessions
    session.send_end()
    world.step()


@pytest.mark.parametrize("does", [did_nothing, published, delivered, ended])
def test_a_connection_to_an_upstream(by_hand: None, does: Callable[[UpstreamWorld], None]) -> None:
    world, brokers = UpstreamWorld(), list[object]()
    world.place("q")

    def visit() -> None:
        brokers.append(world.connect())  # it is no part of the gateway
        does(world)
        world.lose()

    visit()

    def again() -> None:
        for _ in range(MANY):
            visit()

    assert garbage_of(again) == []
