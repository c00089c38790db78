"""Answers between clients of the gateway and those of an old broker of 0-10."""

from support.bridge_world import World, bind
from support.old_broker import OldBroker, OldWorld

from gateway.amqp_0_10 import _spec as spec
from gateway.amqp_0_10.structs import read_header, write_header
from gateway.message import ACCEPTED, Message


def request(world: World, reply_to: tuple[str, str], key: str = "q") -> Message:
    """A message to a queue that names where an answer is to go."""
    pair = spec.ReplyTo(exchange=reply_to[0], routing_key=reply_to[1])
    header = write_header(None, spec.MessageProperties(reply_to=pair))
    message = world.message(header + b"ask", key=key)
    message.body_at = len(header)
    return message


def answer_to(message: Message) -> tuple[str, str]:
    """Where an answer is to go."""
    _, _, properties = read_header(message.payload, message.body_at)
    assert properties is not None
    assert properties.reply_to is not None
    return properties.reply_to.exchange or "", properties.reply_to.routing_key or ""


def publish(world: World, body: bytes, to: tuple[str, str]) -> None:
    message = world.message(body, exchange=to[0], key=to[1])
    world.host.publishing.publish(message, None, 0)


def asked(world: OldWorld, reply_to: tuple[str, str]) -> tuple[str, str]:
    """What the old broker's client is told of a client of the gateway's."""
    world.host.publishing.publish(request(world.world, reply_to), None, 0)
    world.step()
    (delivery,) = world.broker.take()
    return answer_to(delivery.message)


def taken(world: OldWorld, queue: str) -> list[bytes]:
    consumer, subscription = world.world.subscribe(queue, settled=True)
    world.step()
    subscription.cancel()
    return [each.message.body() for each in consumer.deliveries]


def test_an_answer_at_the_old_broker_comes_to_the_queue_that_was_named() -> None:
    world = OldWorld()
    broker = world.begin()
    world.world.queue("here")
    where = asked(world, ("", "here"))
    assert where[0] == "amq.direct"
    publish(broker.world, b"answer", where)
    world.step()
    assert taken(world, "here") == [b"answer"]
    assert not any(world.faces.translated.lost)
    world.check()


def test_who_asks_again_for_the_same_node_is_answered_by_the_same_key() -> None:
    world = OldWorld()
    world.begin()
    world.world.queue("here")
    world.world.queue("beside")
    first = asked(world, ("", "here"))
    assert asked(world, ("", "here")) == first
    assert asked(world, ("", "beside")) != first


def test_a_key_holds_over_connections() -> None:
    world = OldWorld()
    world.begin()
    world.world.queue("here")
    where = asked(world, ("", "here"))
    broker = world.again()
    publish(broker.world, b"answer", where)
    world.step()
    assert taken(world, "here") == [b"answer"]


def test_what_is_at_the_old_broker_keeps_its_name() -> None:
    world = OldWorld()
    world.begin()
    assert asked(world, ("", "q")) == ("", "q")
    assert asked(world, ("", "there alone")) == ("", "there alone")
    assert asked(world, ("upstream.broker", "there")) == ("", "there")
    assert asked(world, ("upstream.broker", "amq.direct/k")) == ("amq.direct", "k")


def test_a_key_of_which_the_node_is_gone_is_not_bound_any_more() -> None:
    world = OldWorld()
    broker = world.begin()
    world.world.queue("here")
    where = asked(world, ("", "here"))
    queue = world.host.topology.find_queue("here")
    assert queue is not None
    world.host.declaring.delete_queue("here", world.world.owner())
    publish(broker.world, b"late", where)
    world.step()
    direct = broker.world.host.topology.find_exchange("amq.direct")
    assert direct is not None
    assert not direct.bindings


def test_a_request_from_the_old_broker_is_answered_there() -> None:
    world = OldWorld()
    broker = world.begin()
    broker.world.queue("there")
    bind(broker.world, "there", "amq.direct", "k")
    world.world.queue("there")  # another one, which is not meant
    consumer, _ = world.subscribe()
    for reply_to in (("", "there"), ("amq.direct", "k")):
        broker.world.host.publishing.publish(request(broker.world, reply_to), None, 0)
        world.step()
        (delivery,) = consumer.take()
        where = answer_to(delivery.message)
        assert where[0] == "upstream.broker"
        publish(world.world, b"answer", where)
        world.step()
        assert broker.bodies("there") == [b"answer"]
        world.settle(delivery, ACCEPTED)


def test_a_request_that_comes_back_to_the_gateway_names_what_it_named() -> None:
    world = OldWorld()
    world.begin()
    world.world.queue("here")
    world.host.publishing.publish(request(world.world, ("", "here")), None, 0)
    world.step()
    consumer, _ = world.subscribe()
    (delivery,) = consumer.take()
    assert answer_to(delivery.message) == ("", "here")


def test_what_comes_back_by_a_way_of_another_gateway_is_for_that() -> None:
    world = OldWorld()
    broker: OldBroker = world.begin()
    consumer, _ = world.subscribe()
    strange = ("amq.direct", "gateway./.answers-00000000.7")
    broker.world.host.publishing.publish(request(broker.world, strange), None, 0)
    world.step()
    (delivery,) = consumer.take()
    assert answer_to(delivery.message) == ("upstream.broker", "/".join(strange))
