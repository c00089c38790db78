from support.bridge_world import Producer
from support.upstream_relays import bodies, publish, world
from support.upstream_world import UpstreamWorld

from gateway.amqp_1_0._spec import Error


def break_off(w, ms=60_000):
    """The peer breaks the connection, and is back after a while; what it gets."""
    w.lose()
    broker = w.connect()
    w.pass_time(ms)
    return broker


def test_when_connections_end_again_and_again_messages_go_later_and_one_by_one():
    w = world()
    broker = w.connect()
    publish(w, b"a", b"b", publisher=Producer())
    assert bodies(broker.received()) == [b"a", b"b"]
    broker = break_off(w, 0)
    assert bodies(broker.received()) == [b"a", b"b"]
    broker = break_off(w, 999)
    assert bodies(broker.received()) == []
    w.pass_time(1)
    (alone,) = broker.received()
    assert bodies([alone]) == [b"a"]
    broker.settle(alone)
    w.step()
    assert bodies(broker.received()) == [b"b"]
    broker = break_off(w, 0)  # one was accepted since: it begins anew
    assert bodies(broker.received()) == [b"b"]


def test_a_message_that_is_alone_at_several_ends_of_the_connection_is_poison():
    w = world()
    broker = w.connect()
    publish(w, b"a", b"b", publisher=Producer())
    for _ in range(2):
        broker = break_off(w)
    for _ in range(3):
        assert bodies(broker.received()) == [b"a"]
        assert w.counts.poison == 0
        broker = break_off(w)
    assert w.counts.poison == 1
    assert bodies(broker.received()) == [b"b"]
    assert w.host.topology.find_queue("gateway.rejected").depth == 1
    w.check()


def test_while_one_queue_breaks_connections_those_of_others_go_on():
    w = UpstreamWorld().place("q", "r")
    broker = w.connect()
    publish(w, b"a", publisher=Producer())
    for number in range(3):
        broker = break_off(w, 0)
        producer = Producer()
        publish(w, b"%d" % number, b"+", key="r", publisher=producer)
        mine = [each for each in broker.received() if each.payload[-1:] != b"a"]
        assert len(mine) == 2
        for each in mine:
            broker.settle(each)
        w.step()
        assert len(producer.published) == 2


def test_ends_that_say_nothing_of_a_message_leave_it_alone():
    w = world()
    w.connect()
    publish(w, b"a", publisher=Producer())
    for _ in range(6):
        w.broker.connection.send_close(error=Error(condition="amqp:connection:forced"))
        w.step()
        w.face = None
        broker = w.connect()
        assert bodies(broker.received()) == [b"a"]
    assert w.counts.poison == 0
