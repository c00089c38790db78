"""dtx over 0-10 with queues at an upstream: spooled ones are here, others have no part in it."""

import pytest
from support.branches_0_10 import (
    OK,
    ROLLED_BACK,
    accept,
    asks,
    commit,
    end,
    prepare,
    selected,
    start,
    works,
)
from support.remotes import FakeRules
from support.talk_0_10 import Gateway
from support.transactions_0_10 import check

from gateway.faces.features import Feature


def test_what_goes_to_a_spooled_queue_is_sent_on_after_the_commit() -> None:
    rules = FakeRules()
    remote = rules.add("r", spool=True)
    gateway = Gateway(rules=rules)
    client = selected(gateway)
    works(client, b"1", key="r", durable=True)
    assert asks(client, prepare()) == OK
    gateway.world.turn()
    assert "r" not in remote.relays or remote.relays["r"].take() == []
    gateway.world.crash()
    gateway = Gateway(world=gateway.world)
    assert asks(gateway.session(), commit()) == OK
    gateway.world.turn()
    assert [each.message.body() for each in rules.remotes["broker"].relays["r"].take()] == [b"1"]
    check(gateway)


@pytest.mark.parametrize("first", [False, True])
def test_a_publish_to_an_upstream_is_refused_and_dooms_the_branch(first: bool) -> None:
    rules = FakeRules()
    rules.add("r")
    gateway = Gateway(rules=rules)
    gateway.world.queue()
    client = selected(gateway)
    asks(client, start())
    if not first:
        client.publishes(b"here")
    client.publishes(b"there", key="r")
    assert asks(client) == 540
    assert gateway.settings.counts.unsupported[Feature.DTX] == 1
    assert asks(gateway.session(), prepare()) == ROLLED_BACK
    assert gateway.world.bridge.pressure.messages == 0
    check(gateway)


def test_an_accept_of_what_came_from_an_upstream_is_refused() -> None:
    rules = FakeRules()
    remote = rules.add("r")
    gateway = Gateway(rules=rules)
    client = selected(gateway)
    client.subscribes("r")
    client.hears()
    inlet, _source = remote.inlets[-1]
    inlet.on_attached()
    inlet.receive(gateway.world.message(b"1", key="r"), 0)
    client.hears()
    asks(client, start())
    assert asks(client, accept((0, 0))) == 540
    assert asks(gateway.session(), prepare()) == ROLLED_BACK


def test_both_are_done_outside_of_branches() -> None:
    rules = FakeRules()
    rules.add("r")
    gateway = Gateway(rules=rules)
    client = selected(gateway)
    assert asks(client, start(), end()) == OK
    client.publishes(b"1", key="r")
    client.hears()
    assert gateway.world.depth("r") == 1
