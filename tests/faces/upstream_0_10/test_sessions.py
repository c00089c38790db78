"""Sessions at an old broker of 0-10: each has a channel, as far as there are any."""

from support.bridge_world import Producer
from support.old_broker import OldWorld

from gateway.message import OutcomeKind
from gateway.wire.limits import Limits


def test_who_finds_no_channel_waits_for_one_and_that_is_told_once() -> None:
    world = OldWorld(limits=Limits(links_max=3))
    broker = world.begin("a", "b", "c", "d")
    assert world.upstream.links_attached() == 3
    assert world.upstream.links_wanted() == 5  # with that of the exchange `upstream.broker`
    assert "no channel is free for 2 more sessions" in world.upstream.health.last_error
    publisher = Producer()
    for name in ("a", "b", "c", "d"):
        world.publish(b"1", key=name, publisher=publisher)
    waits = [name for name in ("a", "b", "c", "d") if broker.world.depth(name) == 0]
    assert len(publisher.published) + len(waits) == 4
    assert waits
    gone = next(name for name in ("a", "b", "c", "d") if name not in waits)
    queue = world.host.topology.find_queue(gone)
    assert queue is not None
    world.upstream.unserve(queue)
    world.step()
    assert world.upstream.links_attached() == 3
    assert world.upstream.links_wanted() == 4


def test_after_an_exception_a_session_is_attached_again_later_each_time() -> None:
    world = OldWorld()
    broker = world.begin("full", made=False)
    broker.world.queue("full", max_count=1)
    world.pass_time(2_000)
    publisher = Producer()
    world.publish(b"1", key="full", publisher=publisher)
    attached = world.upstream.links_attached()
    for _ in range(3):
        world.publish(b"more", key="full", publisher=publisher)
        assert world.upstream.links_attached() == attached - 1
        world.pass_time(2_000)
        assert world.upstream.links_attached() == attached
    assert [outcome.kind for _, outcome in publisher.published] == [OutcomeKind.ACCEPTED] * 4
    assert world.counts.sessions_ended == 3  # each refused message is a dead letter
