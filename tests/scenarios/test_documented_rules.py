"""The access rules that docs/access.md shows: what users need works, and nobody gets at others."""

import pathlib
import re

import pytest
from support import talk_0_10
from support.face_1_0 import Client as Client10
from support.face_1_0 import Hub, message
from support.own_rules import own_rules

from gateway.amqp_0_10 import _spec as spec
from gateway.amqp_1_0 import _spec
from gateway.bridge.seams import Subscriber
from gateway.config.access import load_rules
from gateway.config.load import load

DOCUMENT = pathlib.Path(__file__).parents[2] / "docs" / "access.md"
REFUSALS = (403, 405)
NEWS = "amq.topic/news.de"


class World:
    """One gateway under these rules, for clients of both protocols."""

    def __init__(self, directory: pathlib.Path) -> None:
        found = re.search(r"```yaml\n(groups:\n.*?)```", DOCUMENT.read_text(), re.DOTALL)
        assert found is not None
        file = directory / "access.yaml"
        file.write_text(found[1])
        self.hub = Hub()
        loaded = load_rules(load(None, [f"access.file={file}"]))
        self.hub.settings.access.in_force.rules = loaded.rules
        self.gateway = talk_0_10.Gateway(world=self.hub.world)
        self.gateway.settings = self.hub.settings
        self.gateway.connections = 1000
        host = self.hub.host
        for name in ("secret", "invoices.1"):
            self.hub.world.queue(name)
        host.declaring.declare_exchange("sec.fan", "fanout")
        host.bindings.bind("secret", "sec.fan", "", {}, b"")

    def says(self, user: str, *commands: object) -> bool:
        """Whether all of it is done, in a session of its own."""
        return done(self.session(user).does(*commands))

    def session(self, user: str) -> talk_0_10.Client:
        return self.gateway.session(user)

    def client(self, user: str, container: str = "app") -> Client10:
        made: Client10 = self.hub.client(container, user=(user, "own"))
        return made

    def depth(self, queue: str) -> int:
        found = self.hub.host.topology.queues[queue]
        return int(found.depth)

    def names(self) -> set[str]:
        return set(self.hub.host.topology.queues)


def done(heard: list[object]) -> bool:
    return not any(isinstance(each, tuple) and each[0] in REFUSALS for each in heard)


@pytest.fixture
def world(tmp_path: pathlib.Path) -> World:
    return World(tmp_path)


def attacks(queue: str) -> list[list[object]]:
    """What another user tries with a queue, each in a session of its own."""
    return [
        [spec.QueueQuery(queue=queue)],
        [spec.QueueDeclare(queue=queue, passive=True)],
        [spec.QueueDeclare(queue=queue, auto_delete=True)],
        [spec.QueueDeclare(queue=queue, exclusive=True, auto_delete=True)],
        [spec.ExchangeBind(queue=queue, exchange="amq.topic", binding_key="news.x")],
        [spec.ExchangeUnbind(queue=queue, exchange="amq.topic", binding_key="news.de")],
        [spec.QueuePurge(queue=queue)],
        [spec.QueueDelete(queue=queue)],
        [spec.MessageSubscribe(queue=queue, destination="d")],
        [spec.MessageSubscribe(queue=queue, destination="d", acquire_mode=1)],
    ]


def stands(world: World, queue: str) -> None:
    """Nobody but its user gets at a queue, by either protocol."""
    before = (world.depth(queue), world.hub.host.topology.queues[queue].bound_to())
    for commands in attacks(queue):
        assert not world.says("eve", *commands), commands
    eve = world.client("eve", "other")
    assert not eve.receiver(queue).attached
    assert not eve.receiver(queue, distribution_mode="copy").attached
    assert not eve.sender(queue).attached
    assert (world.depth(queue), world.hub.host.topology.queues[queue].bound_to()) == before


@pytest.mark.parametrize("exclusive", [False, True])
def test_the_temporary_queue_of_a_0_10_client_is_its_users(world: World, exclusive: bool) -> None:
    alice = world.session("alice")
    heard = alice.does(
        spec.QueueDeclare(queue="tmp", auto_delete=True, exclusive=exclusive),
        spec.ExchangeBind(queue="tmp", exchange="amq.topic", binding_key="news.de"),
    )
    assert done(heard)
    stands(world, "tmp")
    assert done(alice.does(spec.MessageSubscribe(queue="tmp", destination="d")))


def test_a_live_subscription_of_a_1_0_client_is_its_links(world: World) -> None:
    alice = world.client("alice")
    before = world.names()
    assert alice.receiver(NEWS).attached
    [queue] = world.names() - before
    stands(world, queue)
    assert (
        world.client("operator").send(world.hub.clients[-1].sender(NEWS), message(b"told"))
        == _spec.Accepted()
    )
    assert len(alice.received()) == 1


@pytest.mark.parametrize("role", [_spec.SENDER, _spec.RECEIVER])
def test_the_dynamic_node_of_a_1_0_client_is_its_users(world: World, role: bool) -> None:
    alice = world.client("alice")
    before = world.names()
    terminus = (
        {"target": _spec.Target(dynamic=True)}
        if role == _spec.SENDER
        else {"source": _spec.Source(dynamic=True)}
    )
    assert alice.attach(role, **terminus).attached
    [queue] = world.names() - before
    assert alice.receiver(queue).attached
    assert not world.client("alice", "again").receiver(queue).attached
    stands(world, queue)
    service = world.client("quotes")
    assert service.send(service.sender(queue), message()) == _spec.Accepted()


def test_queues_that_belong_to_somebody_are_not_reached(world: World) -> None:
    for queue in ("secret", "invoices.1"):
        stands(world, queue)
    assert world.says("alice", spec.MessageSubscribe(queue="invoices.1", destination="d"))


def test_a_name_that_belongs_to_somebody_is_not_taken_first(world: World) -> None:
    assert not world.says("eve", spec.QueueDeclare(queue="invoices.2", auto_delete=True))


def test_nobody_publishes_by_an_alternate_exchange(world: World) -> None:
    alternate = {"alternate_exchange": "sec.fan", "auto_delete": True}
    assert not world.says("eve", spec.QueueDeclare(queue="mine", **alternate))
    assert not world.says("eve", spec.ExchangeDeclare(exchange="e", type="fanout", **alternate))
    assert world.says("operator", spec.QueueDeclare(queue="theirs", **alternate))


def test_who_may_not_publish_does_not_by_a_node_of_its_own(world: World) -> None:
    mallory = world.client("mallory")
    before = world.names()
    assert not mallory.attach(_spec.SENDER, target=_spec.Target(dynamic=True)).attached
    assert world.names() == before
    session = world.session("mallory")
    assert done(session.does(spec.QueueDeclare(queue="mine", auto_delete=True)))
    session.publishes(b"x", key="mine")
    assert not done(session.hears())


def test_a_user_publishes_by_its_own_key_only(world: World) -> None:
    for key, may in (("from.eve.x", True), ("from.alice.x", False)):
        session = world.session("eve")
        session.publishes(b"x", to="amq.topic", key=key)
        assert done(session.hears()) is may


@pytest.mark.parametrize("name", ["amq.topic", NEWS, "amq.topic/#", "sec.fan", "sec.fan/x"])
def test_nobody_hides_an_exchange_from_1_0_clients(world: World, name: str) -> None:
    operator = world.client("operator")
    links = [operator.sender(each) for each in (name, None)]
    assert not world.says("eve", spec.QueueDeclare(queue=name, exclusive=True, auto_delete=True))
    assert name not in world.names()
    links.append(operator.sender(name))
    alice = world.client("alice")
    assert alice.receiver(NEWS).attached
    told = message(b"told", properties=_spec.Properties(to=NEWS, subject="news.de"))
    for number, link in enumerate(links):
        operator.send(link, told, tag=bytes([number]))
    heard = 3 if name.startswith("amq.topic") and name != "amq.topic/#" else 1
    assert len(alice.received()) == heard


def test_what_upstreams_reject_is_nobodys_own(world: World) -> None:
    name = "gateway.rejected"
    for durable in (False, True):
        assert not world.says("eve", spec.QueueDeclare(queue=name, exclusive=True, durable=durable))
        assert not world.says("eve", spec.QueueDeclare(queue=name, auto_delete=True))
    assert name not in world.names()
    world.hub.host.nodes.rejected_queue()
    stands(world, name)


def test_nobody_takes_the_name_of_a_topic(world: World) -> None:
    exchange = spec.ExchangeDeclare(exchange="prices", type="fanout", auto_delete=True)
    assert not world.says("eve", exchange)
    assert world.says("operator", exchange)


def test_the_subscription_of_a_user_without_rights_collects_until_an_operator_deletes_it(
    world: World,
) -> None:
    access, spread = world.hub.settings.access, world.hub.world.bridge.turns.spread
    access.adopt(own_rules("allow: all"), "f", spread)
    alice = world.client("alice")
    forever = {"durable": _spec.DURABLE_UNSETTLED_STATE, "expiry_policy": "never"}
    assert alice.receiver(NEWS, name="sub", **forever).attached
    queue = "subscription.alice.app.sub"
    access.adopt(own_rules("allow: all, users: operator"), "f", spread)
    alice.step()
    operator = world.client("operator")
    operator.send(operator.sender(NEWS), message(b"told"))
    assert world.depth(queue) == 1
    assert not world.says("operator", spec.QueueDelete(queue=queue))
    subscriber = Subscriber("operator", "app", "sub")
    assert world.hub.host.durable_subscriptions.assign(queue, subscriber) is None
    assert world.says("operator", spec.QueueDelete(queue=queue))
    assert queue not in world.names()
