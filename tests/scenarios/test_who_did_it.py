"""The audit log says who opened and closed, declared, bound, purged and deleted, and from where."""

from collections.abc import Callable

from support import talk_0_10
from support.face_1_0 import Hub, message

from gateway.amqp_0_10 import _spec as spec
from gateway.amqp_1_0 import _spec
from gateway.audit.schema import Kind, Reason
from gateway.bridge.seams import QueueSettings
from gateway.permissions.own_rules import OwnRules
from gateway.wire.limits import Limits
from gateway.wire.places import Elsewhere, Place


def topology(world):
    """What became of which node, by which connection of which user."""
    return [
        (
            Reason(each["reason"]).name,
            each["node"] or each["exchange"],
            each["connection"],
            each["actor"],
        )
        for each in world.blocks.raw()
        if each["kind"] == Kind.TOPOLOGY
    ]


def connections(world):
    kinds = (Kind.CONNECTION_OPENED, Kind.CONNECTION_REFUSED, Kind.CONNECTION_CLOSED)
    return [
        (
            Kind(each["kind"]).name,
            each["connection"],
            Reason(each["reason"]).name,
            each["actor"],
            each["node"],
            each["address"],
        )
        for each in world.blocks.raw()
        if each["kind"] in kinds
    ]


def test_the_topology_of_a_0_10_client_is_its_users():
    gateway = talk_0_10.Gateway()
    ann, bob = gateway.session("ann"), gateway.session("bob")
    ann.does(spec.QueueDeclare(queue="q"), spec.ExchangeDeclare(exchange="x", type="topic"))
    ann.does(spec.ExchangeBind(queue="q", exchange="x", binding_key="k"))
    ann.publishes(b"1", key="q")
    ann.hears()
    bob.does(spec.QueuePurge(queue="q"))
    bob.does(spec.ExchangeUnbind(queue="q", exchange="x", binding_key="k"))
    bob.does(spec.QueueDelete(queue="q"), spec.ExchangeDelete(exchange="x"))
    assert topology(gateway.world) == [
        ("QUEUE_DECLARED", "q", 1, "ann"),
        ("EXCHANGE_DECLARED", "x", 1, "ann"),
        ("BOUND", "q", 1, "ann"),
        ("PURGE", "q", 2, "bob"),
        ("UNBOUND", "q", 2, "bob"),
        ("QUEUE_DELETED", "q", 2, "bob"),
        ("EXCHANGE_DELETED", "x", 2, "bob"),
    ]
    (purge,) = [
        each
        for each in gateway.world.blocks.raw()
        if each["reason"] == Reason.PURGE and each["kind"] == Kind.TOPOLOGY
    ]
    assert purge["copies"] == 1


def test_what_goes_with_a_connection_is_its_users_and_what_the_gateway_does_is_nobodys():
    gateway = talk_0_10.Gateway()
    gateway.world.host.declaring.declare_queue("own", QueueSettings(), None)
    ann = gateway.session("ann")
    ann.does(spec.QueueDeclare(queue="mine", exclusive=True, auto_delete=True))
    ann.loses_transport()
    gateway.world.host.declaring.delete_queue("own", None)
    gateway.world.turn()
    assert topology(gateway.world) == [
        ("QUEUE_DECLARED", "own", 0, ""),
        ("QUEUE_DECLARED", "mine", 1, "ann"),
        ("QUEUE_DELETED", "mine", 1, "ann"),
        ("QUEUE_DELETED", "own", 0, ""),
    ]


def test_a_parked_command_is_of_the_client_that_sent_it():
    gateway = talk_0_10.Gateway(limits=Limits(octets_in_doubt_max=1000))
    gateway.world.queue("q", durable=True)
    gateway.world.commit()
    gateway.world.auto_commit = False
    ann, bob = gateway.session("ann"), gateway.session("bob")
    durable = spec.DeliveryProperties(delivery_mode=spec.DeliveryMode.PERSISTENT)
    for _ in range(4):
        ann.publishes(b"x" * 500, delivery=durable)
    ann.does(spec.QueueDelete(queue="q"))
    bob.does(spec.QueueDeclare(queue="other"))
    while gateway.world.calls:
        gateway.world.commit()
        ann.hears()
    assert {(what, node): who for what, node, _, who in topology(gateway.world)} == {
        ("QUEUE_DECLARED", "q"): "",
        ("QUEUE_DECLARED", "other"): "bob",
        ("QUEUE_DELETED", "q"): "ann",
    }


def test_the_topology_of_a_1_0_client_is_its_users():
    hub = Hub()
    ann = hub.client(user=("user", "pass"))
    link = ann.receiver("amq.topic/k")
    link.send_detach()
    ann.step()
    whats = [(what, number, who) for what, _, number, who in topology(hub.world)]
    assert whats == [
        ("QUEUE_DECLARED", 1, "user@realm"),
        ("BOUND", 1, "user@realm"),
        ("UNBOUND", 1, "user@realm"),
        ("QUEUE_DELETED", 1, "user@realm"),
    ]


def test_connections_have_number_user_mechanism_and_address():
    gateway = talk_0_10.Gateway()
    gateway.client("ann").loses_transport()
    assert connections(gateway.world) == [
        ("CONNECTION_OPENED", 1, "NONE", "ann", "PLAIN", "192.0.2.1:1"),
        ("CONNECTION_CLOSED", 1, "CONNECTION_LOST", "ann", "", "192.0.2.1:1"),
    ]
    hub = Hub()
    ann = hub.client(user=("user", "pass"))
    ann.connection.send_close()
    ann.step()
    hub.client(sasl=False)
    hub.end()
    assert connections(hub.world) == [
        ("CONNECTION_OPENED", 1, "NONE", "user@realm", "PLAIN", "127.0.0.1:1"),
        ("CONNECTION_CLOSED", 1, "NONE", "user@realm", "", "127.0.0.1:1"),
        ("CONNECTION_OPENED", 2, "NONE", "anonymous", "", "127.0.0.1:1"),
        ("CONNECTION_CLOSED", 2, "CONNECTION_LOST", "anonymous", "", "127.0.0.1:1"),
    ]


def test_a_0_10_client_that_is_refused_is_in_the_log_with_what_it_asked_for():
    gateway = talk_0_10.Gateway()
    client = talk_0_10.Client(gateway)
    client.hears()
    client.connection.send_start_ok([], "GSSAPI", b"", "en_US")
    client.hears()
    client.loses_transport()
    liar = talk_0_10.Client(gateway)
    liar.hears()
    liar.connection.send_start_ok([], "PLAIN", b"\0eve\0guess", "en_US")
    liar.hears()
    liar.authenticated(None)
    liar.hears()
    liar.loses_transport()
    assert connections(gateway.world) == [
        ("CONNECTION_REFUSED", 1, "NO_MECHANISM", "", "GSSAPI", "192.0.2.1:1"),
        ("CONNECTION_REFUSED", 2, "LOGIN_FAILED", "eve", "PLAIN", "192.0.2.1:1"),
    ]


def test_a_client_that_breaks_the_protocol_is_in_the_log_with_that():
    hub = Hub()
    client = hub.client()
    client.face.receive_data(b"\x00\x00\x00\x03nonsense", hub.world.now_ms)
    client.face.receive_eof(hub.world.now_ms)
    hub.world.turn()
    assert connections(hub.world)[-1][:3] == ("CONNECTION_CLOSED", 1, "BROKE_PROTOCOL")


def test_one_that_is_not_heard_of_is_in_the_log_with_that():
    hub = Hub(limits=Limits(idle_timeout_ms=1000))
    client = hub.client()
    client.face.handle_deadline(hub.world.now_ms + 10_000_000)
    hub.world.turn()
    assert connections(hub.world)[-1][:3] == ("CONNECTION_CLOSED", 1, "TIMED_OUT")


def test_a_silent_client_is_not_told_to_have_broken_its_protocol():
    told: list[str] = []

    class Lines:
        """A `Journal` that writes down which of its calls came."""

        def __getattr__(self, name: str) -> Callable[..., None]:
            return lambda *_arguments, **_named: told.append(name)

    hub = Hub(limits=Limits(idle_timeout_ms=1000))
    hub.settings.journal = Lines()
    client = hub.client()
    client.face.handle_deadline(hub.world.now_ms + 10_000_000)
    hub.world.turn()
    assert "on_broken" not in told
    assert told[-1] == "on_closed"


def test_who_is_sent_elsewhere_is_told_apart_from_who_was_refused():
    hub = Hub()
    hub.settings.elsewhere["/"] = Elsewhere(Place(False, "b.example", 5672))
    client = hub.client()
    client.face.receive_eof(hub.world.now_ms)
    hub.world.turn()
    assert connections(hub.world)[-1][:3] == ("CONNECTION_REFUSED", 1, "REDIRECTED")


def test_messages_have_the_number_of_the_connection_that_they_came_by():
    hub = Hub()
    hub.world.queue("q")
    hub.client()
    client = hub.client()
    client.send(client.sender("q", source=_spec.Source(address="x")), message())
    (received,) = [each for each in hub.world.blocks.raw() if each["kind"] == Kind.RECEIVED]
    assert received["connection"] == 2


def closings(world):
    """User, reason and connection of those that are over."""
    return [each[2:4] for each in connections(world) if each[0] != "CONNECTION_OPENED"]


class Closings:
    """The operators' log."""

    def __init__(self):
        self.lines = []

    def on_refused(self, visit, reason, why):
        self.lines.append(why)

    def on_closed(self, visit, why):
        self.lines.append(why)

    def on_opened(self, visit):
        pass

    def on_broken(self, visit, part, problem, *, first):
        pass

    def on_step(self, visit, what):
        pass


def test_a_connection_that_other_rules_end_is_not_closed_by_its_client():
    gateway, hub, lines = talk_0_10.Gateway(), Hub(), Closings()
    gateway.settings.journal = hub.settings.journal = lines
    gateway.session("ann")
    hub.client(user=("user", "pass"))
    for world in (gateway, hub):
        world.settings.access.adopt(OwnRules([]), "f", world.world.bridge.turns.spread)
        world.world.turn()
    assert closings(gateway.world) == [("RULES_CHANGED", "ann")]
    assert closings(hub.world) == [("RULES_CHANGED", "user@realm")]
    assert lines.lines == [
        "'ann' may not connect",
        "'user@realm' may not connect",
    ]


def test_a_connect_that_is_refused_is_not_one_that_left():
    gateway, hub, lines = talk_0_10.Gateway(), Hub(), Closings()
    gateway.settings.journal = hub.settings.journal = lines
    for world in (gateway, hub):
        world.settings.access.adopt(OwnRules([]), "f", world.world.bridge.turns.spread)
    client = talk_0_10.Client(gateway)
    client.hears()
    client.connection.send_start_ok([], "PLAIN", b"\0u\0p", "en_US")
    client.hears()
    client.authenticated("ann")
    client.hears()
    client.connection.send_open("")
    assert "closed 320" in client.hears()
    hub.client(user=("user", "pass"))
    hub.end()
    assert closings(gateway.world) == [("NOT_ALLOWED", "ann")]
    assert closings(hub.world) == [("NOT_ALLOWED", "user@realm")]
    assert lines.lines == ["'ann' may not connect", "'user@realm' may not connect"]
