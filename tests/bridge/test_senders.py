"""Who sends to a node hears once that it was deleted, however many they are."""

from __future__ import annotations

from support.bridge_world import World

from gateway.bridge.senders import Senders
from gateway.bridge.spread.spread import Spread
from gateway.message import Condition
from gateway.wire.work import LINK, SHARE


class Sender:
    """A `NodeSender` that ends other links when it is told."""

    def __init__(self, senders: Senders, ends: tuple[int, ...] = ()) -> None:
        self.senders = senders
        self.ends = ends
        self.told: list[str] = []

    def on_cancelled(self, condition: Condition, description: str) -> None:
        assert condition == Condition.RESOURCE_DELETED
        self.told.append(description)
        for link in self.ends:
            self.senders.end(link)


def test_who_sends_to_a_queue_is_told_once_that_it_is_deleted() -> None:
    world = World()
    world.queue("q")
    world.queue("other")
    senders = world.host.topology.senders
    each = [Sender(senders, ends) for ends in ((1, 2), (2,), (), ())]
    for link, sender in enumerate(each, 1):
        senders.begin("queue", "q", link, sender)
    elsewhere = Sender(senders)
    senders.begin("queue", "other", 9, elsewhere)
    senders.end(3)
    world.host.owners.delete(world.host.topology.queues["q"])
    assert [sender.told for sender in each] == [
        ["queue 'q' was deleted"],
        [],
        [],
        ["queue 'q' was deleted"],
    ]
    assert elsewhere.told == []


def test_who_sends_to_an_exchange_is_told_once_that_it_is_deleted_by_whatever() -> None:
    world = World()
    senders = world.host.topology.senders
    declaring, bindings = world.host.declaring, world.host.bindings
    asked, unused = Sender(senders), Sender(senders)
    declaring.declare_exchange("asked", "fanout")
    declaring.declare_exchange("unused", "fanout", auto_delete=True)
    senders.begin("exchange", "asked", 1, asked)
    senders.begin("exchange", "unused", 2, unused)
    world.queue("asked")
    bindings.bind("asked", "unused", "", {}, b"")
    world.host.owners.delete(world.host.topology.queues["asked"])
    assert (asked.told, unused.told) == ([], ["exchange 'unused' was deleted"])
    assert declaring.delete_exchange("asked") is None
    assert asked.told == ["exchange 'asked' was deleted"]


def test_very_many_are_told_over_several_turns_and_who_has_gone_meanwhile_is_not() -> None:
    spread = Spread()
    senders = Senders(spread)
    count = 2 * SHARE // LINK
    each = [Sender(senders) for _ in range(count)]
    for link, sender in enumerate(each, 1):
        senders.begin("queue", "q", link, sender)
    senders.on_deleted("queue", "q")
    told = sum(bool(sender.told) for sender in each)
    assert 0 < told < count
    senders.end(count)
    again = Sender(senders)
    senders.begin("queue", "q", count + 1, again)
    while spread.has_work:
        spread.run()
    assert [sender.told for sender in each[:-1]] == [["queue 'q' was deleted"]] * (count - 1)
    assert (each[-1].told, again.told) == ([], [])
    senders.on_deleted("queue", "q")
    spread.run()
    assert again.told == ["queue 'q' was deleted"]
