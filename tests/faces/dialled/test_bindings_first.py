"""What was held back for an exchange goes out when what is bound to it is subscribed again."""

from support.bridge_world import Producer
from support.upstream_relays import bodies, publish
from support.upstream_world import UpstreamWorld

from gateway.amqp_1_0 import _spec
from gateway.bridge.remote.moving import Moving
from gateway.bridge.remote.remote import Placement
from gateway.faces.dialled.reaching import PATIENCE_MS
from gateway.translate.profiles.profile import Profile
from gateway.translate.profiles.templates import Template

GONE = _spec.Error(condition="amqp:not-found", description="no such exchange")


def world(*keys):
    """A queue that is bound to the remote exchange ``x``, which something waits to be sent to."""
    w = UpstreamWorld(
        profile=Profile(exchange=Template("{exchange|plain}/{key}"), subscriptions="address")
    )
    w.place(exchange="x")
    w.host.declaring.declare_exchange("x", "direct")
    w.world.queue("here")
    for key in keys:
        assert w.host.bindings.bind("here", "x", key, {}, b"") is None
    publish(w, b"1", exchange="x", key="sent", publisher=Producer())
    return w


def late(waiting, *addresses):
    """Have the broker answer these subscriptions when the test says so."""

    def prepare(broker):
        for address in addresses:
            broker.answers[address] = waiting.append

    return prepare


def test_what_was_held_back_waits_for_all_bindings():
    w = world("a", "b")
    waiting = []
    broker = w.connect(prepare=late(waiting, "x/a", "x/b"))
    assert broker.link("x/sent", sends=False).credit > 0
    for event in waiting:
        assert broker.received() == []
        broker.accept(event)
        w.step()
    assert bodies(broker.received()) == [b"1"]


def test_a_binding_that_cannot_be_there_holds_nothing_back():
    w = world("a")

    def prepare(broker):
        broker.refusals["x/a"] = GONE

    assert bodies(w.connect(prepare=prepare).received()) == [b"1"]


def test_a_binding_that_is_not_answered_does_not_hold_it_back_for_long():
    w = world("a")
    broker = w.connect(prepare=late([], "x/a"))
    w.pass_time(PATIENCE_MS - 1)
    assert broker.received() == []
    w.pass_time(1)
    assert bodies(broker.received()) == [b"1"]


def test_a_binding_that_is_made_later_holds_nothing_back():
    w = world()
    broker = w.connect(prepare=late([], "x/a"))
    assert bodies(broker.received()) == [b"1"]
    assert w.host.bindings.bind("here", "x", "a", {}, b"") is None
    publish(w, b"2", exchange="x", key="sent", publisher=Producer())
    assert bodies(broker.received()) == [b"2"]


def test_each_connection_is_waited_for():
    w = world("a")
    first = []
    w.connect(prepare=late(first, "x/a"))
    w.lose()
    second = []
    broker = w.connect(prepare=late(second, "x/a"))
    assert broker.received() == []
    broker.accept(second[0])
    w.step()
    assert bodies(broker.received()) == [b"1"]


def test_bindings_of_other_exchanges_hold_nothing_back():
    w = world()
    w.place(exchange="y")
    w.host.declaring.declare_exchange("y", "direct")
    assert w.host.bindings.bind("here", "y", "a", {}, b"") is None
    broker = w.connect(prepare=late([], "y/a"))
    assert bodies(broker.received()) == [b"1"]


def test_what_waits_while_an_exchange_moves_is_for_its_bindings_there():
    w = world("a")
    broker = w.connect()
    (delivery,) = broker.received()
    broker.settle(delivery)
    w.step()
    w.placements.exchanges_placed["x"] = Placement(w.upstream, way="other")
    change = Moving(w.bridge, w.placements, [w.upstream])
    change.hold()
    publish(w, b"2", exchange="x", key="sent", publisher=Producer())
    waiting = []
    late(waiting, "x/a")(broker)
    change.carry_out()
    w.step()
    assert broker.received() == []
    broker.accept(waiting[0])
    w.step()
    assert bodies(broker.received()) == [b"2"]
