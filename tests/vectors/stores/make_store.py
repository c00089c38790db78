"""Makes a data directory with some of everything that a store keeps, as this version writes it.

Run once for each version whose store is to be readable for ever, from a checkout of that version:

    PYTHONPATH=tests:. python tests/vectors/stores/make_store.py NAME

What is in it, `test_stores` says. The gateway is killed at the end: deliveries are under way, a
queue was deleted under its consumer, and the last audit segment is open.
"""

import pathlib
import sys
import tarfile
import tempfile

from support import face_1_0, talk_0_10
from support.face_1_0 import message
from support.whole_gateway import WholeGateway

from gateway.amqp_0_10 import _spec as spec
from gateway.amqp_0_10._spec_constants import INT8, LIST, STR16, UINT16
from gateway.amqp_1_0 import _spec as spec_1_0
from gateway.amqp_1_0 import events, types
from gateway.bridge.durable.debts import BindingRow
from gateway.message import Kind
from gateway.wire.tagged import Tagged

HERE = pathlib.Path(__file__).parent
CONFIGURATION = (
    "virtual_hosts=[{name: main}, {name: other}]",
    "upstreams.broker.hosts=[amqp://broker.example:5672]",
    "nodes=[{queue: 'spool.*', upstream: broker, spool: true}]",
    "audit.segment_size=64KiB",
)
QUEUES = (
    "q.0-10",
    "q.1.0",
    "q.to-0-10",
    "q.to-1.0",
    "q.requests",
    "q.seen",
    "q.deleted",
    "spool.1",
    "spool.2",
)
# Container, user, hostname.
SUBSCRIBERS = (
    ("app", None, None),
    ("users-app", ("user", "pass"), None),
    ("app", None, "vhost:other"),
)
HEADER = spec_1_0.Header(durable=True)


class World:
    """What the clients of tests ask of a bridge's surroundings, of a whole gateway."""

    def __init__(self, gateway):
        self.gateway = gateway
        self.bridge = gateway.service.bridge

    @property
    def now_ms(self):
        return self.gateway.service.clock.now_ms()

    def turn(self):
        self.gateway.service.turns.schedule()
        self.gateway.run()


class Hub(face_1_0.Hub):
    """1.0 clients of a whole gateway."""

    def __init__(self, gateway):
        self.world = World(gateway)
        self.turns = face_1_0.Turns()
        self.settings = gateway.service.faces
        self.clients = []


class Gateway(talk_0_10.Gateway):
    """0-10 clients of a whole gateway."""

    def __init__(self, gateway):
        super().__init__(world=World(gateway))
        self.settings = gateway.service.faces
        self.connections = 1000


def first_life(gateway):
    """Nodes, messages and subscriptions; the gateway stops in order."""
    old, new = Gateway(gateway), Hub(gateway)
    declare(old.session())
    publish_0_10(old.session())
    publish_1_0(new.client("sender"))
    for container, user, hostname in SUBSCRIBERS:
        subscribe(new.client(container, user=user, hostname=hostname))
    publish_to_topics(old.session(), new)
    fill_segments(old.session())


def second_life(gateway):
    """What needs two sides; the gateway is killed."""
    old, new = Gateway(gateway), Hub(gateway)
    request(old.session(), new.client("requester"))
    escrow(old.session(), new.client("escrow"))
    gateway.service.bridge.debts.owe(
        BindingRow(
            "broker",
            "there.topic",
            "gateway.q",
            "a.#",
            {"x-filter": Tagged(Kind.STRING, "colour = 'blue'")},
            b"",
        )
    )
    fill_segments(old.session())
    deliver(old)
    new.step()


def fill_segments(client):
    """Messages that nobody takes, so that audit segments are closed."""
    for _ in range(1000):
        client.publishes(b"nobody", key="nowhere")
    client.hears()


def declare(client):
    limits = [("qpid.max_count", Tagged(UINT16, 50)), ("x-note", Tagged(STR16, "kept"))]
    match = [("x-match", Tagged(STR16, "all")), ("colour", Tagged(STR16, "blue"))]
    heard = client.does(
        spec.ExchangeDeclare(exchange="e.direct", type="direct", durable=True),
        spec.ExchangeDeclare(exchange="e.topic", type="topic", durable=True),
        spec.ExchangeDeclare(exchange="e.headers", type="headers", durable=True),
        spec.ExchangeDeclare(
            exchange="e.fanout", type="fanout", durable=True, alternate_exchange="e.direct"
        ),
        *[spec.QueueDeclare(queue=name, durable=True) for name in QUEUES],
        spec.QueueDeclare(queue="q.limited", durable=True, arguments=limits),
        spec.QueueDeclare(queue="q.alternate", durable=True, alternate_exchange="e.fanout"),
        spec.ExchangeBind(exchange="e.direct", queue="q.limited", binding_key="key"),
        spec.ExchangeBind(exchange="e.topic", queue="q.0-10", binding_key="a.*.#"),
        spec.ExchangeBind(exchange="e.headers", queue="q.1.0", binding_key="b", arguments=match),
        spec.ExchangeBind(exchange="e.fanout", queue="q.alternate", binding_key=""),
    )
    assert all(isinstance(each, str) and each.startswith("completed") for each in heard), heard


def publish(client, body, message=None, **where):
    delivery = spec.DeliveryProperties(delivery_mode=spec.DeliveryMode.PERSISTENT, priority=7)
    client.publishes(body, delivery=delivery, message=message, **where)
    client.hears()


def publish_0_10(client):
    properties = spec.MessageProperties(
        message_id=bytes(range(16)),
        content_type="text/plain",
        reply_to=spec.ReplyTo(exchange="e.direct", routing_key="key"),
        application_headers=[("colour", Tagged(STR16, "blue")), ("size", Tagged(UINT16, 5))],
    )
    publish(client, b"with properties", properties, key="q.0-10")
    publish(client, b"", key="q.0-10")
    publish(client, bytes(range(256)) * 1000, key="q.0-10")
    publish(client, b"to a limited queue", to="e.direct", key="key")
    publish(client, b"to a fanout", to="e.fanout", key="")
    for number in range(3):
        publish(client, b"spooled %d" % number, key="spool.1")


def publish_1_0(client):
    link = client.sender("q.1.0")
    properties = spec_1_0.Properties(
        message_id=Tagged(types.STRING, "an id"), subject="a subject", content_type="text/plain"
    )
    payloads = [
        message(
            b"with properties",
            header=spec_1_0.Header(durable=True, priority=3),
            properties=properties,
            application={"colour": Tagged(types.STRING, "blue")},
            annotations=[(Tagged(types.SYMBOL, "x-opt-note"), Tagged(types.STRING, "kept"))],
        ),
        message(b"", header=HEADER),
        message(b"foreign", header=HEADER),
    ]
    for number, payload in enumerate(payloads):
        tag = b"%d" % number
        assert client.send(link, payload, tag=tag) == spec_1_0.Accepted()
    to_spool = client.sender("spool.2")
    assert client.send(to_spool, message(b"spooled", header=HEADER)) == spec_1_0.Accepted()


def selector():
    """A source's filters."""
    described = types.Described(
        Tagged(types.SYMBOL, spec_1_0.SELECTOR_FILTER), Tagged(types.STRING, "colour = 'blue'")
    )
    return {"s": Tagged(types.DESCRIBED, described)}


def subscribe(client):
    """Durable subscriptions."""
    forever = {"durable": spec_1_0.DURABLE_UNSETTLED_STATE, "expiry_policy": "never"}
    plain = client.receiver("amq.topic/news.#", name="plain", credit=0, **forever)
    chosen = client.receiver(
        "amq.fanout", name="with/selector", credit=0, filter=selector(), **forever
    )
    assert plain.attached and chosen.attached
    plain.send_detach(closed=False)
    chosen.send_detach(closed=False)
    client.step()


def publish_to_topics(client, hub):
    publish(client, b"news", to="amq.topic", key="news.today")
    blue = spec.MessageProperties(application_headers=[("colour", Tagged(STR16, "blue"))])
    publish(client, b"blue", blue, to="amq.fanout", key="")
    other = hub.client("elsewhere", hostname="vhost:other")
    link = other.sender("amq.topic/news.today")
    assert other.send(link, message(b"other news", header=HEADER)) == spec_1_0.Accepted()


def request(responder, client):
    """A durable request that a 0-10 client has got: by the reply table it can be answered."""
    link = client.sender("q.requests")
    properties = spec_1_0.Properties(
        message_id=Tagged(types.STRING, "request-1"), reply_to="q.replies"
    )
    client.send(link, message(b"what?", header=HEADER, properties=properties))
    responder.subscribes("q.requests")
    assert len(responder.gets()) == 1
    responder.completes(0, 0)
    responder.does(spec.MessageAccept(transfers=[(0, 0)]))


def escrow(old, new):
    """What each protocol's client has got from the other comes back with what it cannot say."""
    old.subscribes("q.to-0-10", accept=0)
    link = new.sender("q.to-0-10")
    annotations = [(Tagged(types.SYMBOL, "x-opt-note"), Tagged(types.STRING, "kept"))]
    properties = spec_1_0.Properties(message_id=Tagged(types.ULONG, 77), group_id="g")
    payload = message(
        b"there and back", header=HEADER, properties=properties, annotations=annotations
    )
    new.send(link, payload)
    ((_, head, body),) = [each for each in old.hears() if isinstance(each, tuple)]
    publish(old, body, head[2], key="q.0-10")
    old.completes(0, 0)
    old.does(spec.MessageAccept(transfers=[(0, 0)]))
    properties = spec.MessageProperties(
        content_encoding="utf-16", application_headers=[("list", Tagged(LIST, [Tagged(INT8, 1)]))]
    )
    new.receiver("q.to-1.0")
    publish(old, b"back and there", properties, key="q.to-1.0")
    new.step()
    (delivery,) = new.take_all(events.DeliveryReceived)
    assert b"x-opt-amqp-0-10" in delivery.payload
    back = new.sender("q.1.0")
    assert new.send(back, delivery.payload) == spec_1_0.Accepted()
    delivery.link.session.settle_incoming(delivery.delivery_id, spec_1_0.Accepted())
    new.step()


def deliver(gateway):
    """What is with a consumer when the gateway is killed."""
    client = gateway.session()
    publish(client, b"seen", key="q.seen")
    publish(client, b"in the same queue", key="q.seen")
    publish(client, b"of a deleted queue", key="q.deleted")
    client.subscribes("q.seen", "seen", credit=1)
    client.subscribes("q.deleted", "deleted", credit=1)
    assert len(client.gets()) == 2
    gateway.session().does(spec.QueueDelete(queue="q.deleted"))


def make(name):
    """The data directory, as a tar file beside this program."""
    with tempfile.TemporaryDirectory() as temporary:
        data = pathlib.Path(temporary) / "data"
        gateway = WholeGateway(data, *CONFIGURATION).start()
        first_life(gateway)
        gateway.stop()
        gateway = WholeGateway(data, *CONFIGURATION).start()
        second_life(gateway)
        with tarfile.open(HERE / f"{name}.tar.xz", "w:xz") as archive:
            archive.add(data, name, filter=_anonymous)
        gateway.stop()


def _anonymous(member):
    member.uid = member.gid = 0
    member.uname = member.gname = ""
    return member


if __name__ == "__main__":
    make(sys.argv[1])
