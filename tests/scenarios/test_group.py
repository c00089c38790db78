"""A gateway of a group: what would live in it alone is refused by name, by either protocol."""

import pytest
from support.face_1_0 import Hub
from support.remotes import FakeRules
from support.talk_0_10 import Client, Gateway

from gateway.amqp_0_10 import _spec as spec
from gateway.amqp_1_0 import _spec
from gateway.bridge.limits import BridgeLimits
from gateway.bridge.seams import QueueSettings
from gateway.message import Condition, Refusal

ALONE = BridgeLimits(local_nodes=False)


def rules() -> FakeRules:
    """The queue ``r`` and the exchange ``x`` are at an upstream."""
    made = FakeRules()
    made.add("r")
    made.add_exchange("x")
    return made


@pytest.fixture
def gateway() -> Gateway:
    return Gateway(rules=rules(), bridge_limits=ALONE)


@pytest.fixture
def client(gateway: Gateway) -> Client:
    return gateway.session()


@pytest.mark.parametrize(
    ("command", "code"),
    [
        (spec.QueueDeclare(queue="mine"), 530),
        (spec.QueueDeclare(queue="reply", exclusive=True, auto_delete=True), 530),
        (spec.ExchangeDeclare(exchange="mine", type="topic"), 530),
        (spec.ExchangeBind(queue="r", exchange="amq.topic", binding_key="k"), 530),
        (spec.QueueDeclare(queue="r", exclusive=True), 540),
    ],
)
def test_a_client_of_0_10_makes_nothing_here(
    client: Client, command: spec.QueueDeclare, code: int
) -> None:
    assert client.does(command) == [(code, 0), "ended 0"]


def test_what_a_rule_places_may_be_declared_and_bound(client: Client) -> None:
    heard = client.does(
        spec.QueueDeclare(queue="r", durable=True),
        spec.ExchangeBind(queue="r", exchange="x", binding_key="k"),
    )
    assert "ended 0" not in heard


@pytest.mark.parametrize(("exchange", "key"), [("amq.direct", "k"), ("", "nobody")])
@pytest.mark.parametrize("explicit", [True, False])
def test_a_publish_that_only_another_gateway_could_route_is_refused(
    client: Client, exchange: str, key: str, explicit: bool
) -> None:
    client.publishes(b"x", to=exchange, key=key, explicit=explicit)
    assert client.hears() == [(530, 0), "ended 0"]
    client.gateway.world.check()


def test_nobody_has_a_remote_queue_for_himself(client: Client) -> None:
    client.subscribes("r", credit=None, exclusive=True)
    assert client.hears() == [(540, 0), "ended 0"]


def test_the_refusal_names_what_would_live_here(gateway: Gateway) -> None:
    world = gateway.world
    answer = world.host.declaring.declare_queue("mine", QueueSettings(), world.owner())
    assert isinstance(answer, Refusal)
    assert answer.condition == Condition.NOT_ALLOWED
    assert "'mine'" in answer.description


def test_a_dynamic_node_and_a_subscription_to_what_is_local_are_refused_by_1_0() -> None:
    hub = Hub(rules=rules(), bridge_limits=ALONE)
    client = hub.client()
    client.attach(_spec.RECEIVER, source=_spec.Source(dynamic=True))
    assert client.refused() == "amqp:not-allowed"
    client.receiver("amq.topic/news", durable=_spec.DURABLE_UNSETTLED_STATE, expiry_policy="never")
    assert client.refused() == "amqp:not-allowed"


@pytest.mark.parametrize("closed", [True, False])
def test_the_upstream_keeps_a_durable_subscription_by_the_same_name_for_all(closed: bool) -> None:
    names = []
    for _gateway in range(2):
        there = rules()
        hub = Hub(rules=there, bridge_limits=ALONE)
        client = hub.client("app")
        session = client.session()
        link = session.attach("sub", _spec.RECEIVER)
        link.send_attach(
            source=_spec.Source(
                address="x/news",
                durable=_spec.DURABLE_UNSETTLED_STATE,
                expiry_policy="never",
            ),
            target=_spec.Target(),
        )
        client.step()
        inlet, _source = there.remotes["broker"].inlets[-1]
        inlet.on_attached()
        client.step()
        assert link.attached
        kept = inlet.kept_there
        assert kept is not None
        assert (kept.exchange, kept.key, kept.over) == ("x", "news", False)
        link.send_detach(closed=closed)
        client.step()
        assert kept.over is closed
        names.append(kept.name)
        assert not hub.world.host.topology.subscribed
    assert names[0] == names[1]


def test_a_receiver_of_1_0_from_a_remote_exchange_has_a_queue_of_its_own() -> None:
    hub = Hub(rules=rules(), bridge_limits=ALONE)
    client = hub.client()
    link = client.receiver("x/news")
    assert link.attached
