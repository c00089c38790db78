"""Stores that earlier versions wrote: each starts, with all that is in it.

`stores/make_store.py` made them; what it put in is said here once more, so that a reader which
forgets something and a writer which does the same do not agree.
"""

import pathlib
import tarfile

import pytest
from support.face_1_0 import body_of
from support.verbs import amqp_gateway
from support.whole_gateway import WholeGateway
from vectors.stores.make_store import CONFIGURATION, Gateway, Hub

from gateway.amqp_0_10 import _spec as spec
from gateway.amqp_0_10._spec_constants import INT8, LIST, STR16, UINT16
from gateway.amqp_1_0 import _spec as spec_1_0
from gateway.amqp_1_0 import sections, types
from gateway.audit.ends import differences
from gateway.message import Kind
from gateway.store.outside import damage, known
from gateway.translate.ids import uuid_of
from gateway.wire.tagged import Tagged

STORES = pathlib.Path(__file__).parent / "stores"
NAMES = sorted(path.name.removesuffix(".tar.xz") for path in STORES.glob("*.tar.xz"))

DEPTHS = {
    "q.0-10": 4,
    "q.1.0": 4,
    "q.alternate": 1,
    "q.limited": 1,
    "q.requests": 0,
    "q.seen": 2,
    "q.to-0-10": 0,
    "q.to-1.0": 0,
    "spool.1": 3,
    "spool.2": 1,
    "app.plain": 1,
    "app.with_selector": 1,
    "users-app.plain": 1,
    "users-app.with_selector": 1,
}
BINDINGS = {
    ("e.direct", "q.limited", "key"),
    ("e.topic", "q.0-10", "a.*.#"),
    ("e.headers", "q.1.0", "b"),
    ("e.fanout", "q.alternate", ""),
    ("amq.topic", "app.plain", "news.#"),
    ("amq.topic", "users-app.plain", "news.#"),
    ("amq.fanout", "app.with_selector", ""),
    ("amq.fanout", "users-app.with_selector", ""),
}


# Of durable subscriptions: the first store's queues are named by container and link alone.
WITHOUT_USERS = "2026-11-22"
OWNERS = {"app": "anonymous", "users-app": "user@realm"}
FOREVER = {"durable": spec_1_0.DURABLE_UNSETTLED_STATE, "expiry_policy": "never"}


def called(data, queue):
    """What the store has it by."""
    owner = OWNERS.get(queue.partition(".")[0])
    if owner is None or data.name == WITHOUT_USERS:
        return queue
    return f"subscription.{owner}.{queue}"


@pytest.fixture(params=NAMES)
def data(request, tmp_path):
    with tarfile.open(STORES / f"{request.param}.tar.xz") as archive:
        archive.extractall(tmp_path, filter="data")
    return tmp_path / request.param


@pytest.fixture
def gateway(data):
    gateway = WholeGateway(data, *CONFIGURATION).start()
    yield gateway
    gateway.stop()


def host(gateway, name="main"):
    return gateway.service.bridge.hosts[name]


def queue(gateway, name, host_name="main"):
    found = host(gateway, host_name).topology.find_queue(name)
    assert found is not None
    return found


def test_nothing_is_said_to_be_damaged_and_the_log_is_whole(gateway, data):
    assert gateway.service.recovered.damage == []
    assert gateway.service.bridge.problems == []
    gateway.stop()
    verified = amqp_gateway("audit", "verify", str(data / "audit"))
    assert verified.exit_code == 0, verified.output


def test_every_queue_is_there_with_as_many_messages(gateway, data):
    queues = host(gateway).topology.queues
    expected = {called(data, name): depth for name, depth in DEPTHS.items()}
    assert {name: each.depth for name, each in queues.items()} == expected
    others = host(gateway, "other").topology.queues
    assert {name: each.depth for name, each in others.items()} == {
        called(data, "app.plain"): 1,
        called(data, "app.with_selector"): 0,
    }


def test_a_durable_subscription_goes_on_for_whose_it_is(gateway):
    hub = Hub(gateway)
    for container, user in (("app", None), ("users-app", ("user", "pass"))):
        client = hub.client(container, user=user)
        client.receiver("amq.topic/news.#", name="plain", **FOREVER)
        assert [body_of(payload) for payload in client.received()] == [b"news"]


def test_what_the_store_knows_of_the_log_is_what_there_is(data):
    assert differences(data / "audit", known(data).ends) == []
    assert (known(data).ends.last is None) == (data.name == WITHOUT_USERS)
    assert damage(data) == []


def test_every_binding_is_there_with_its_arguments(gateway, data):
    found = {}
    for exchange in host(gateway).topology.exchanges.values():
        for binding in exchange.every():
            found[exchange.name, binding.queue.name, binding.key] = binding.arguments
    bindings = {(exchange, called(data, queue), key) for exchange, queue, key in BINDINGS}
    assert {each for each in found if each[0]} == bindings
    assert found["e.headers", "q.1.0", "b"]["colour"] == Tagged(Kind.STRING, "blue")
    assert "colour = 'blue'" in [
        each.value for each in found["amq.fanout", called(data, "app.with_selector"), ""].values()
    ]


def test_exchanges_and_queues_have_what_they_were_declared_with(gateway):
    topology = host(gateway).topology
    types = {name: topology.exchanges[f"e.{name}"].type for name in ("direct", "topic", "headers")}
    assert types == {"direct": "direct", "topic": "topic", "headers": "headers"}
    assert topology.exchanges["e.fanout"].alternate_exchange == "e.direct"
    assert queue(gateway, "q.alternate").settings.alternate_exchange == "e.fanout"
    assert queue(gateway, "q.limited").settings.max_count == 50
    client = Gateway(gateway).session()
    (found, _) = client.does(spec.QueueQuery(queue="q.limited"))
    assert ("x-note", Tagged(STR16, "kept")) in found.arguments
    assert ("qpid.max_count", Tagged(UINT16, 50)) in found.arguments


def transfers(client):
    return [each for each in client.hears() if isinstance(each, tuple)]


def test_a_0_10_client_gets_what_both_protocols_stored(gateway):
    client = Gateway(gateway).session()
    client.subscribes("q.0-10")
    first, empty, large, back = transfers(client)
    _, (delivery, _, properties), body = first
    assert body == b"with properties"
    assert (delivery.delivery_mode, delivery.priority) == (spec.DeliveryMode.PERSISTENT, 7)
    assert properties.message_id == bytes(range(16))
    assert properties.reply_to.exchange == "e.direct"
    assert ("colour", Tagged(STR16, "blue")) in properties.application_headers
    assert (empty[2], large[2]) == (b"", bytes(range(256)) * 1000)
    assert back[2] == b"there and back"
    assert "x-amqp-1.0" in [name for name, _ in back[1][2].application_headers]


def test_a_1_0_client_gets_what_both_protocols_stored(gateway):
    client = Hub(gateway).client()
    client.receiver("q.1.0")
    first, empty, foreign, back = client.received()
    found = sections.properties(first, sections.scan(first))
    assert (body_of(first), body_of(empty), body_of(foreign)) == (
        b"with properties",
        b"",
        b"foreign",
    )
    assert (found.message_id.value, found.subject) == ("an id", "a subject")
    assert b"x-opt-note" in first
    assert body_of(back) == b"back and there"


def test_what_was_in_escrow_is_restored_towards_where_it_came_from(gateway):
    old, new = Gateway(gateway).session(), Hub(gateway).client()
    old.subscribes("q.1.0")
    properties = transfers(old)[-1][1][2]
    assert properties.content_encoding == "utf-16"
    assert ("list", Tagged(LIST, [Tagged(INT8, 1)])) in properties.application_headers
    new.receiver("q.0-10")
    payload = new.received()[-1]
    found = sections.properties(payload, sections.scan(payload))
    assert found.message_id == Tagged(types.ULONG, 77)
    assert b"x-opt-note" in payload


def test_what_may_have_been_with_a_consumer_is_marked_and_nothing_else(gateway):
    client = Gateway(gateway).session()
    client.subscribes("q.seen")
    assert [(each[2], each[1][0].redelivered) for each in transfers(client)] == [
        (b"seen", True),
        (b"in the same queue", True),
    ]
    client.subscribes("q.0-10", "other")
    assert not any(each[1][0].redelivered for each in transfers(client))


def test_a_request_from_before_can_be_answered(gateway):
    old, new = Gateway(gateway).session(), Hub(gateway).client()
    old.does(spec.QueueDeclare(queue="q.replies"))
    new.receiver("q.replies")
    properties = spec.MessageProperties(correlation_id=uuid_of(Tagged(types.STRING, "request-1")))
    old.publishes(b"that!", key="q.replies", message=properties)
    old.hears()
    new.step()
    (reply,) = new.received()
    found = sections.properties(reply, sections.scan(reply))
    assert found.correlation_id == Tagged(types.STRING, "request-1")


def test_debts_are_still_owed(gateway):
    (debt,) = gateway.service.bridge.debts.of("broker")
    assert (debt.exchange, debt.queue, debt.key) == ("there.topic", "gateway.q", "a.#")
    assert debt.arguments == {"x-filter": Tagged(Kind.STRING, "colour = 'blue'")}
