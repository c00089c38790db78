"""What is not offered: every use of it is counted, and a QMF request is answered."""

import pytest
from support.face_1_0 import Hub, message
from support.rules import rule
from support.talk_0_10 import Client, Gateway

from gateway.amqp_0_10 import _spec as spec
from gateway.amqp_0_10._spec_constants import BOOLEAN, INT32, STR16, UINT32
from gateway.amqp_0_10.decoding import read_map
from gateway.amqp_0_10.types import Command, FieldTable
from gateway.amqp_1_0 import _spec as new
from gateway.amqp_1_0 import types
from gateway.faces.counts import FaceCounts
from gateway.faces.features import Feature
from gateway.wire.buffers import Reader
from gateway.wire.tagged import Tagged

QMF = "qmf.default.direct"


def used(counts: FaceCounts) -> dict[Feature, int]:
    return {
        feature: counts.unsupported[feature] for feature in Feature if counts.unsupported[feature]
    }


def argument(name: str, value: str = "1") -> FieldTable:
    return [(name, Tagged(STR16, value))]


def bind(**fields: object) -> spec.ExchangeBind:
    return spec.ExchangeBind(
        **{"queue": "q", "exchange": "amq.direct", "binding_key": "k", **fields}
    )


def declare(name: str, value: str = "1") -> spec.QueueDeclare:
    return spec.QueueDeclare(queue="new", arguments=argument(name, value))


def subscribe(name: str) -> spec.MessageSubscribe:
    return spec.MessageSubscribe(queue="q", destination="d", arguments=argument(name))


@pytest.mark.parametrize(
    ("command", "feature", "code"),
    [
        (spec.MessageResume(destination="d", resume_id="1"), Feature.RESUME, 540),
        (bind(arguments=argument("qpid.fed.op")), Feature.FEDERATION, 540),
        (spec.ExchangeDeclare(exchange="x", type="xml"), Feature.XML_EXCHANGE, 404),
        (bind(exchange="qpid.management"), Feature.QMF, 404),
        (bind(exchange=QMF), Feature.QMF, None),
        (spec.ExchangeDeclare(exchange=QMF, passive=True), Feature.QMF, None),
        (spec.ExchangeQuery(name="amq.failover"), Feature.FAILOVER, None),
        (declare("qpid.policy_type", "none"), Feature.QUEUE_POLICY, None),
        pytest.param(
            bind(exchange="amq.topic", arguments=argument("qpid.exclusive-binding")),
            Feature.EXCLUSIVE_BINDING,
            None,
            marks=rule("0-10", "exchange.bind.arguments", "unknown-argument"),
        ),
    ],
    ids=lambda one: one.name.lower() if isinstance(one, Feature) else None,
)
def test_each_use_is_counted_by_feature(command: Command, feature: Feature, code: int) -> None:
    gateway = Gateway()
    gateway.world.queue()
    heard = gateway.session().does(command)
    assert used(gateway.settings.counts) == {feature: 1}
    assert [one[0] for one in heard if isinstance(one, tuple)] == ([code] if code else [])


def test_a_policy_that_is_not_known_is_counted_and_refuses_where_it_is_full() -> None:
    gateway = Gateway()
    client = gateway.session()
    arguments = [
        ("qpid.policy_type", Tagged(STR16, "none")),
        ("qpid.max_count", Tagged(INT32, 2)),
        ("qpid.flow_stop_count", Tagged(INT32, 0)),
    ]
    client.does(spec.QueueDeclare(queue="q", arguments=arguments))
    assert used(gateway.settings.counts) == {Feature.QUEUE_POLICY: 1}
    assert gateway.settings.counts.arguments_ignored == 1
    for body in (b"1", b"2", b"3"):
        client.publishes(body)
    assert client.hears()[-2:] == [(506, 3), "ended 0"]
    assert gateway.world.depth() == 2


def test_what_is_offered_is_not_counted() -> None:
    gateway = Gateway()
    client = gateway.session()
    client.does(spec.QueueDeclare(queue="q", arguments=argument("qpid.max_count")))
    client.does(declare("unknown"), bind(), subscribe("x-apache-selector-not"))
    client.does(bind(arguments=argument("qpid.exclusive-binding")), declare("no-local"))
    for name in ("qpid.ive", "qpid.msg_sequence"):
        client.does(spec.ExchangeDeclare(exchange=name[5:], type="topic", arguments=argument(name)))
    client.does(declare("qpid.queue_msg_sequence"))
    client.publishes(b"1")
    assert client.hears()
    assert used(gateway.settings.counts) == {}


def test_a_broker_that_federates_is_counted_when_it_connects() -> None:
    gateway = Gateway()
    gateway.client(properties=[("qpid.fed_link", Tagged(BOOLEAN, True))])
    assert used(gateway.settings.counts) == {Feature.FEDERATION: 1}


# QMF.


def asks(
    client: Client, *, explicit: bool = False, app_id: bytes = b"qmf2", reply_to: bool = True
) -> list[object]:
    """A request to the broker's agent, as management clients send it; what is heard."""
    whereto = spec.ReplyTo(exchange="qmf.default.topic", routing_key="direct.me")
    client.publishes(
        b"request",
        to=QMF,
        key="broker",
        explicit=explicit,
        message=spec.MessageProperties(
            app_id=app_id, correlation_id=b"7", reply_to=whereto if reply_to else None
        ),
    )
    return client.hears()


def console() -> tuple[Gateway, Client]:
    """A client that listens for replies."""
    gateway = Gateway()
    gateway.settings.admin_address = "http://admin.example:1"
    gateway.world.queue("replies")
    client = gateway.session()
    client.does(bind(queue="replies", exchange="qmf.default.topic", binding_key="direct.me"))
    client.subscribes("replies")
    client.hears()
    gateway.settings.counts.unsupported[Feature.QMF] = 0
    return gateway, client


@pytest.mark.parametrize("explicit", [False, True])
def test_a_qmf_request_is_answered_with_an_exception_that_names_the_admin_api(
    explicit: bool,
) -> None:
    gateway, client = console()
    heard = asks(client, explicit=explicit)
    [(_, (delivery, _, message), body)] = [one for one in heard if isinstance(one, tuple)]
    assert delivery.routing_key == "direct.me"
    assert (message.app_id, message.correlation_id) == (b"qmf2", b"7")
    assert message.content_type == "amqp/map"
    headers = {key: tagged.value for key, tagged in message.application_headers}
    assert headers["qmf.opcode"] == "_exception"
    [(name, values)] = read_map(Reader(body))
    assert name == "_values"
    assert dict(values.value) == {
        "error_code": Tagged(UINT32, 3),
        "error_text": Tagged(
            STR16,
            "QMF is not offered here; the gateway's own admin API is at http://admin.example:1",
        ),
    }
    accepts = [one for one in heard if isinstance(one, spec.MessageAccept)]
    assert len(accepts) == explicit
    assert not [one for one in heard if isinstance(one, spec.MessageReject)]
    assert used(gateway.settings.counts) == {Feature.QMF: 1}
    gateway.world.check()


@pytest.mark.parametrize("lacks", ["app-id", "reply-to"])
def test_what_is_no_request_is_counted_and_not_answered(lacks: str) -> None:
    gateway, client = console()
    heard = asks(client, app_id=b"" if lacks == "app-id" else b"qmf2", reply_to=lacks != "reply-to")
    assert not [one for one in heard if isinstance(one, tuple)]
    assert used(gateway.settings.counts) == {Feature.QMF: 1}


def test_an_agent_of_a_client_gets_its_requests_and_the_gateway_keeps_quiet() -> None:
    gateway, client = console()
    gateway.world.queue("agent")
    gateway.world.host.bindings.bind("agent", QMF, "broker", {}, b"")
    heard = asks(client)
    assert not [one for one in heard if isinstance(one, tuple)]
    assert gateway.world.depth("agent") == 1
    assert used(gateway.settings.counts) == {}


def test_a_reply_to_nowhere_harms_nobody() -> None:
    gateway = Gateway()
    client = gateway.session()
    asks(client)
    client.publishes(
        b"request",
        to=QMF,
        message=spec.MessageProperties(app_id=b"qmf2", reply_to=spec.ReplyTo(exchange="none")),
    )
    client.publishes(
        b"request",
        to=QMF,
        message=spec.MessageProperties(app_id=b"qmf2", reply_to=spec.ReplyTo(exchange=QMF)),
    )
    assert client.hears() == ["completed 1-2"]
    assert used(gateway.settings.counts) == {Feature.QMF: 3}
    gateway.world.check()


# 1.0.


def described(symbol: str) -> Tagged:
    value = types.Described(Tagged(types.SYMBOL, symbol), Tagged(types.STRING, "a = 1"))
    return Tagged(types.DESCRIBED, value)


def test_filters_that_a_1_0_client_wants_in_vain_are_counted() -> None:
    hub = Hub()
    hub.world.queue()
    client = hub.client()
    client.receiver("q", filter={"f": described("amqp:sql-filter")})
    assert client.refused() == "amqp:not-implemented"
    assert client.receiver("q", filter={"f": described("example:filter")}).attached
    assert used(hub.settings.counts) == {Feature.FILTER: 2}
    hub.end()


def test_shared_subscriptions_and_management_over_1_0_are_counted() -> None:
    hub = Hub()
    client = hub.client()
    client.receiver("amq.topic", capabilities=["shared"])
    assert client.refused() == "amqp:not-implemented"
    client.sender(QMF)
    assert used(hub.settings.counts) == {
        Feature.SHARED_SUBSCRIPTION: 1,
        Feature.QMF: 1,
    }
    hub.end()


@pytest.mark.parametrize("app_id", ["qmf2", "other"])
def test_a_qmf_request_of_a_1_0_client_is_answered_too(app_id: str) -> None:
    hub = Hub()
    hub.settings.admin_address = "192.0.2.1:8161"
    hub.world.queue("replies")
    client = hub.client()
    receiver = client.receiver("replies")
    sender = client.sender(QMF)
    state = client.send(
        sender,
        message(
            b"request",
            properties=new.Properties(
                subject="broker",
                reply_to="replies",
                correlation_id=Tagged(types.STRING, "7"),
            ),
            application={"x-amqp-0-10.app-id": Tagged(types.STRING, app_id)},
        ),
    )
    hub.step()
    answers = client.received()
    if app_id == "qmf2":
        assert isinstance(state, new.Accepted)
        (answer,) = answers
        assert b"admin API is at 192.0.2.1:8161" in answer
        assert b"_exception" in answer
    else:
        assert isinstance(state, new.Rejected)
        assert answers == []
    assert receiver.attached
    hub.end()
