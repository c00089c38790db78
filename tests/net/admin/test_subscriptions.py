"""`ctl subscriptions` and `ctl assign`."""

import json
from typing import Any

import pytest
from support.bridge_world import World
from support.face_1_0 import Hub

from gateway.amqp_1_0 import _spec
from gateway.bridge.seams import QueueSettings, Subscriber
from gateway.errors import ConfigurationError
from gateway.net.admin.subscriptions import assign, subscriptions

FOREVER = {"durable": _spec.DURABLE_UNSETTLED_STATE, "expiry_policy": "never"}


def old_queue(world: World) -> None:
    settings = QueueSettings(durable=True, unmarked=True)
    world.host.declaring.declare_queue("old.sub", settings, world.owner())
    world.host.bindings.bind("old.sub", "amq.topic", "news", {}, b"")


def told(world: World) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = json.loads("".join(subscriptions(world.bridge)))["subscriptions"]
    return found


def test_subscriptions_are_told_and_what_may_be_such() -> None:
    hub = Hub()
    hub.world.queue("q", durable=True)
    old_queue(hub.world)
    client = hub.client("app", user=("ann", "own"))
    client.receiver("amq.fanout", name="sub", **FOREVER)
    client.receiver("amq.topic/news", name="brief")
    old, new = told(hub.world)
    assert old == {
        "virtual_host": "/",
        "queue": "old.sub",
        "user": None,
        "container": None,
        "link": None,
        "bound_to": ["amq.topic/news"],
        "messages": 0,
        "in_use": False,
    }
    assert (new["user"], new["container"], new["link"]) == ("ann", "app", "sub")
    assert (new["bound_to"], new["in_use"]) == (["amq.fanout"], True)
    hub.end()


def test_a_subscription_is_given_to_a_user_or_to_nobody() -> None:
    world = World()
    old_queue(world)
    told = assign(world.bridge, "", "old.sub", Subscriber("ann", "app", "sub"))
    assert told == "queue old.sub is the subscription sub of container app for user ann"
    told = assign(world.bridge, "/", "old.sub", Subscriber("", "app", "sub"))
    assert told.endswith("for clients without a login")


class Users:
    def has(self, name: str) -> bool:
        return name == "ann"


@pytest.mark.parametrize("user", ["ghost", "ann\x1b[31m", "a\nb", "x" * 5000])
def test_it_is_given_to_no_user_that_there_is_not(user: str) -> None:
    world = World()
    old_queue(world)
    with pytest.raises(ConfigurationError) as caught:
        assign(world.bridge, "", "old.sub", Subscriber(user, "app", "sub"), Users())
    [(key, problem)] = caught.value.problems
    assert (key, len(problem) < 200) == ("user", True)
    assert problem.isprintable()
    assert assign(world.bridge, "", "old.sub", Subscriber("ann", "app", "sub"), Users())
    assert assign(world.bridge, "", "old.sub", Subscriber("", "app", "sub"), Users())
    assert assign(world.bridge, "", "old.sub", Subscriber("ghost", "app", "sub"))


@pytest.mark.parametrize(
    ("host", "queue", "key"), [("nowhere", "old.sub", "virtual_host"), ("", "q", "queue")]
)
def test_what_cannot_be_given_is_a_problem(host: str, queue: str, key: str) -> None:
    world = World()
    world.queue("q", durable=True)
    old_queue(world)
    with pytest.raises(ConfigurationError) as caught:
        assign(world.bridge, host, queue, Subscriber("ann", "app", "sub"))
    assert caught.value.problems[0][0] == key
