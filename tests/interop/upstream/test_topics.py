"""Exchanges that live at a broker: publishing by key, bindings, durable subscriptions."""

import uuid
from typing import Any

from interop.brokers import client
from interop.brokers.rabbitmq import RabbitMQ4
from interop.upstream.behind import Behind
from interop.upstream.conftest import Cell
from interop.upstream.talk import RefusedError, Talk

from gateway.amqp_0_10 import _spec as spec
from gateway.amqp_0_10._spec_constants import STR16
from gateway.translate.profiles.loading import load_profile
from gateway.wire.tagged import Tagged


def _exchange(behind: Behind, talk: Talk) -> str:
    """A topic exchange at the broker, declared here as its clients do."""
    name = f"topic-{uuid.uuid4().hex[:8]}"
    behind.broker.create_topic(name)
    talk.does(spec.ExchangeDeclare(exchange=name, type="topic", durable=True))
    return name


def _bind(talk: Talk, exchange: str, key: str, *, durable: bool = False, selector: str = "") -> str:
    """A queue here that is bound to it."""
    queue = f"bound-{uuid.uuid4().hex[:8]}"
    talk.does(spec.QueueDeclare(queue=queue, durable=durable))
    arguments = [("x-filter-jms-selector", Tagged(STR16, selector))] if selector else []
    talk.does(
        spec.ExchangeBind(exchange=exchange, queue=queue, binding_key=key, arguments=arguments)
    )
    return queue


def _put_coloured(talk: Talk, exchange: str, colour: str, body: bytes) -> None:
    headers = [("colour", Tagged(STR16, colour))]
    properties = spec.MessageProperties(application_headers=headers)
    talk.completes(talk.publishes("news", body, to=exchange, properties=properties))


def _as_topic() -> Any:
    """Asks for a topic, where brokers tell queues and topics apart by that."""
    from proton import symbol
    from proton.reactor import LinkOption

    class Topic(LinkOption):  # type: ignore[misc]  # proton has no type information
        def apply(self, link: Any) -> None:
            terminus = link.source if link.is_receiver else link.target
            terminus.capabilities.put_object(symbol("topic"))

    return Topic()


def test_a_message_is_published_by_its_key(behind: Behind, talk: Talk, cell: Cell) -> None:
    exchange = _exchange(behind, talk)
    if isinstance(behind.broker, RabbitMQ4):  # there an exchange is no source
        queue = f"there-{exchange}"
        behind.broker.create_queue(queue)
        behind.broker.bind(exchange, "news.uk", queue)
        address = behind.broker.queue_address(queue)
    else:
        address = load_profile(behind.name).subscription_address(exchange, "news.uk")
    receiver = behind.at_broker().create_receiver(address, credit=10, options=_as_topic())
    talk.puts("news.fr", b"no", to=exchange)
    talk.puts("news.uk", b"yes", to=exchange)
    message = receiver.receive(client.TIME_LIMIT_S)
    receiver.accept()
    assert bytes(message.body) == b"yes"
    cell("topic-publish", "yes")


def test_a_0_10_publisher_hears_what_has_no_route_at_the_broker(
    behind: Behind, talk: Talk, cell: Cell
) -> None:
    exchange = _exchange(behind, talk)
    outcome = talk.outcome(talk.publishes("nobody", to=exchange, explicit=True))
    # Who does not ask has it dropped, as 0-10 wants it, and goes on.
    talk.puts("nobody", b"x", to=exchange)
    cell("unroutable", outcome)


def test_a_binding_with_wildcards_gets_what_it_asked_for(
    behind: Behind, talk: Talk, cell: Cell
) -> None:
    exchange = _exchange(behind, talk)
    talk.subscribes(_bind(talk, exchange, "news.*.#"))
    for key in ("news.uk", "news.uk.london", "sport.uk"):
        talk.puts(key, key.encode(), to=exchange)
    got = talk.gets(2)
    talk.accepts(*got)
    assert talk.quiet()
    assert [each.body for each in got] == [b"news.uk", b"news.uk.london"]
    assert {each.delivery.exchange for each in got} == {exchange}
    assert [each.delivery.routing_key for each in got] == ["news.uk", "news.uk.london"]
    cell("topic-wildcard", "yes")


def test_a_key_that_is_only_in_a_1_0_publishers_address_comes_back(
    behind: Behind, talk: Talk, cell: Cell
) -> None:
    from proton import Message

    exchange = _exchange(behind, talk)
    queue = _bind(talk, exchange, "news.#")
    talk.subscribes(queue)
    sender = behind.at_gateway().create_sender(f"{exchange}/news.uk")
    sender.send(Message(b"one", annotations={"x-opt-own": "kept"}))
    got = talk.get()
    talk.accepts(got)
    assert (got.delivery.exchange, got.body) == (exchange, b"one")
    talk.does(spec.MessageCancel(destination="d"))
    sender.send(Message(b"two", subject="news"))
    sender.send(Message(b"three", annotations={"x-opt-own": "kept"}))
    receiver = behind.at_gateway().create_receiver(queue, credit=2)
    two, three = (receiver.receive(client.TIME_LIMIT_S) for _ in range(2))
    receiver.accept()
    receiver.accept()
    assert (bytes(two.body), two.subject) == (b"two", "news")
    assert bytes(three.body) == b"three"
    assert "x-opt-own" in three.annotations
    assert "x-opt-amqp-0-10-routing-key" not in three.annotations
    cell("topic-1-0-key", got.delivery.routing_key)


def test_a_binding_with_a_selector_gets_what_it_asked_for_or_is_refused(
    behind: Behind, talk: Talk, cell: Cell
) -> None:
    exchange = _exchange(behind, talk)
    try:
        talk.subscribes(_bind(talk, exchange, "#", selector="colour = 'red'"))
    except RefusedError as refused:
        cell("topic-selector", str(refused.code))
        return
    _put_coloured(talk, exchange, "blue", b"excluded")
    _put_coloured(talk, exchange, "red", b"selected")
    got = talk.get()
    talk.accepts(got)
    assert got.body == b"selected"
    assert talk.quiet()
    cell("topic-selector", "yes")


def test_a_durable_subscription_survives_the_gateway(
    behind: Behind, talk: Talk, cell: Cell
) -> None:
    exchange = _exchange(behind, talk)
    queue = _bind(talk, exchange, "news.#", durable=True)
    talk.subscribes(queue)
    talk.puts("news.uk", b"kept here", to=exchange)
    kept = talk.get()
    talk.detach()
    assert kept.body == b"kept here"
    behind.gateway.stop()
    address = load_profile(behind.name).exchange_address(exchange, "news.uk")
    _send_there(behind, address, b"meanwhile")
    behind.gateway.start(same_ports=True)
    later = behind.talk()
    later.subscribes(queue)
    bodies = [later.get().body]
    profile = load_profile(behind.name)
    if profile.durable_subscriptions or profile.subscriptions == "managed":
        bodies.append(later.get().body)
    else:
        assert later.quiet(2)
    assert bodies[0] == b"kept here"
    later.does(spec.MessageCancel(destination="d"), spec.QueueDelete(queue=queue))
    cell("topic-durable", "yes" if b"meanwhile" in bodies else "while the gateway runs")


def _send_there(behind: Behind, address: str, body: bytes) -> None:
    from proton import Message

    connection = client.connect(behind.broker)
    try:
        sender = connection.create_sender(address, options=_as_topic())
        sender.send(Message(body=body, durable=True, inferred=True, subject="news.uk"))
    finally:
        connection.close()
