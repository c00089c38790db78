"""The log says once who waits to be confirmed and for which limit, and once that it is over."""

from support.bridge_world import Producer, World
from twisted.logger import capturedLogs, formatEvent

from gateway.bridge.limits import BridgeLimits
from gateway.bridge.pressure import COPY_OCTETS
from gateway.errors import StoreError
from gateway.net.held_back import HeldBack


def told_by(held_back: HeldBack) -> list[str]:
    """What one look writes into the log."""
    with capturedLogs() as captured:
        held_back.look()
    return [str(formatEvent(event)) for event in captured]


def filled(limits: BridgeLimits, count: int = 4) -> World:
    world = World(limits=limits)
    world.queue()
    world.bridge.pressure.join(1, "mallory", "/")
    for token in range(count):
        message = world.message(b"x", key="q")
        message.publisher = 1
        world.host.publishing.publish(message, Producer(), token)
    world.turn()
    return world


def test_what_all_wait_for_is_told_once_and_so_is_its_end() -> None:
    world = filled(BridgeLimits(messages_high=3, messages_low=1))
    held_back = HeldBack(world.bridge.pressure)
    octets = 4 * (COPY_OCTETS + 1)
    first = f"queues.messages_high is reached, all queues hold 4 messages, {octets} octets"
    assert told_by(held_back) == [f"all publishers wait: {first}"]
    assert told_by(held_back) == []
    world.host.declaring.purge_queue("q")
    world.turn()
    assert told_by(held_back) == ["all publishers go on"]
    assert told_by(held_back) == []


def test_which_limit_it_is() -> None:
    world = filled(BridgeLimits(octets_high=3 * COPY_OCTETS, octets_low=COPY_OCTETS))
    (line,) = told_by(HeldBack(world.bridge.pressure))
    assert line.startswith("all publishers wait: queues.size_high is reached")


def test_a_user_that_waits_is_named() -> None:
    world = filled(BridgeLimits(user_octets=3 * COPY_OCTETS))
    octets = 4 * (COPY_OCTETS + 1)
    why = f"queues.user_size is used up, they hold {octets} octets"
    assert told_by(HeldBack(world.bridge.pressure)) == [f"user 'mallory': publishers wait: {why}"]


def test_a_disk_that_refuses_is_not_told_twice() -> None:
    world = filled(BridgeLimits(), 0)
    world.bridge.on_store_failed(StoreError("no"))
    assert told_by(HeldBack(world.bridge.pressure)) == []
