"""What a unit of work is in time: each primitive of `wire.work`, in this form of the gateway.

    PYTHONPATH=tests python tests/bench/work.py

Each line has one primitive, what it was tried with, the units that it was charged and the time that
it took, for one and for all that a verb may cost: 20 ms are too much where the gateway is compiled,
and what stands far above the others is charged too little. The best of three rounds counts.
"""

from __future__ import annotations

import gc
import pathlib
import tempfile
import time
from collections.abc import Callable
from contextlib import suppress
from typing import cast

from OpenSSL import SSL
from support.bridge_world import World, bind
from support.certificates import Authority
from support.face_1_0 import Hub, message
from support.net import Loop, Net
from support.talk_0_10 import Client, Gateway
from support.tls_visit import Renewing, Visit
from twisted.internet.task import Clock
from twisted.internet.testing import StringTransport

from gateway.amqp_0_10 import _spec as spec
from gateway.amqp_0_10._spec_constants import STR16, VBIN32
from gateway.amqp_0_10.decoding import read_list
from gateway.amqp_0_10.encoding import write_list
from gateway.amqp_0_10.structs import write_header
from gateway.amqp_1_0 import _spec as _spec_1_0
from gateway.amqp_1_0 import events, sections, types
from gateway.amqp_1_0.link import Link
from gateway.amqp_1_0.transactions import (
    control_source,
    coordinator,
    declare_payload,
    discharge_payload,
)
from gateway.bridge.exchanges.topic import TopicRouter
from gateway.bridge.queues.queue import Queue
from gateway.bridge.seams import QueueSettings
from gateway.config import Settings
from gateway.faces.face import Face
from gateway.message import Kind, Message
from gateway.metrics import Collector
from gateway.net.admin.answers import Answers
from gateway.net.admin.http import admin_site
from gateway.net.admin.pieces import Pieces
from gateway.net.admin.tokens import Tokens
from gateway.net.counts import AdminCounts
from gateway.net.listening.first_octets import HEADER_1_0_SASL
from gateway.net.tls.files import tls_context
from gateway.net.tls.layer import TlsLayer
from gateway.permissions.asked import publishing
from gateway.permissions.own_rules import OwnRule, OwnRules
from gateway.permissions.rules import Decision
from gateway.selectors.selector import Selector, read_selector
from gateway.translate.context import Context, Counts
from gateway.translate.facts import arrival_0_10, message_from_0_10
from gateway.translate.message import to_1_0
from gateway.translate.replies import ReplyTable
from gateway.translate.view import READER
from gateway.wire import buffers
from gateway.wire.accounts import Account
from gateway.wire.buffers import Reader, Writer
from gateway.wire.tagged import Tagged
from gateway.wire.work import VERB, WORK

ROUNDS = 3
Trial = Callable[[], Callable[[], object]]


def checkpoint() -> Callable[[], object]:
    """The audit log's checkpoint, of 2,000 queues."""
    world = World()
    owner = world.owner()
    for number in range(2_000):
        world.queue(f"q{number}", owner)
    world.turn()
    return lambda: world.bridge.checkpoint(world.now_ms, last=True)


def commands() -> Callable[[], object]:
    """0-10 commands of one read: queue.declare."""
    client = Gateway().session()
    for number in range(240):
        client.says(spec.QueueDeclare(queue=f"q{number}"))
    return _read(client)


def queries() -> Callable[[], object]:
    """Answers of 960 KB."""
    client = Gateway().session()
    blob = [("blob", Tagged(VBIN32, bytes(960_000)))]
    client.does(spec.ExchangeDeclare(exchange="x", type="fanout", arguments=blob))
    for _ in range(3):
        client.says(spec.ExchangeQuery(name="x"))
    read = _read(client)

    def answer() -> None:
        read()
        client.face.data_to_send()

    return answer


class Link10:
    """A client of 1.0 with a control link, what of it is read, and what it has told."""

    def __init__(self) -> None:
        self.hub = Hub()
        self.hub.world.queue("q")
        self.client = self.hub.client(sasl=False)
        self.session = self.client.session()

    def reads(self) -> Callable[[], object]:
        """The face takes what the client has told so far, and answers."""
        octets = self.client.connection.data_to_send()
        face, now_ms = self.client.face, self.hub.world.now_ms

        def read() -> None:
            face.receive_data(octets, now_ms)
            while face.behind:
                face.data_to_send()

        return read


def _controlling() -> tuple[Link10, Link]:
    link = Link10()
    control = link.client.attach(
        _spec_1_0.SENDER, session=link.session, source=control_source(), target=coordinator()
    )
    return link, control


def declared() -> Callable[[], object]:
    """Transactions of 1.0 that are declared."""
    link, control = _controlling()
    for number in range(90):
        control.send_delivery(str(number).encode(), b"", declare_payload(), settled=False)
    return link.reads()


def discharged() -> Callable[[], object]:
    """Empty transactions of 1.0 that are discharged."""
    link, control = _controlling()
    for number in range(90):
        control.send_delivery(str(number).encode(), b"", declare_payload(), settled=False)
    link.client.step()
    told = link.client.take_all(events.DispositionReceived)
    for number, event in enumerate(told):
        payload = discharge_payload(event.state.txn_id, fail=True)
        control.send_delivery(b"d" + str(number).encode(), b"", payload, settled=False)
    return link.reads()


def attached() -> Callable[[], object]:
    """Links of 1.0 that come and go."""
    link = Link10()
    for number in range(50):
        one = link.session.attach(f"link-{number}", _spec_1_0.SENDER)
        source, target = _spec_1_0.Source(address="x"), _spec_1_0.Target(address="q")
        one.send_attach(source=source, target=target)
        one.send_detach(closed=True)
    return link.reads()


def selecting() -> Callable[[], object]:
    """Links of 1.0 with a selector of 2,400 characters that come and go."""
    text = "a LIKE '%a%a%a%a%b' OR " * 20
    text += "a IN (" + ",".join(f"'v{number}'" for number in range(300)) + ")"
    code = Tagged(types.SYMBOL, "apache.org:selector-filter:string")
    link = Link10()
    for number in range(20):
        one = link.session.attach(f"link-{number}", _spec_1_0.RECEIVER)
        source = _spec_1_0.Source(
            address="amq.topic/news.#",
            filter={
                "s": Tagged(types.DESCRIBED, types.Described(code, Tagged(types.STRING, text)))
            },
        )
        one.send_attach(source=source, target=_spec_1_0.Target(address="x"))
        one.send_detach(closed=True)
    return link.reads()


def _posted(payload: bytes) -> Callable[[], object]:
    link = Link10()
    sender = link.client.sender("q", session=link.session)
    for number in range(200):
        sender.send_delivery(str(number).encode(), b"", payload, settled=True)
    return link.reads()


def posted() -> Callable[[], object]:
    """Small messages of 1.0."""
    return _posted(message(b"x"))


def nested() -> Callable[[], object]:
    """Messages of 1.0 with a list of lists of 512 nulls."""
    value = Tagged(types.NULL, None)
    for level in range(28):
        value = Tagged(types.LIST, [value] * (2 if level < 9 else 1))
    writer = Writer()
    sections.write_value(writer, value)
    return _posted(writer.getvalue())


def _read(client: Client) -> Callable[[], object]:
    octets = client.connection.data_to_send()
    return lambda: client.face.receive_data(octets, client.gateway.world.now_ms)


def settled() -> Callable[[], object]:
    """Deliveries that are accepted, one command each."""
    client = Gateway().session()
    client.does(spec.QueueDeclare(queue="q"))
    client.subscribes()
    for _ in range(500):
        client.publishes(b"x")
    client.hears()
    for number in range(500):
        client.says(spec.MessageAccept(transfers=[(number, number)]))
    return _read(client)


def copies() -> Callable[[], object]:
    """Messages into a hundred queues."""
    world = World()
    for number in range(100):
        world.queue(f"q{number}")
        bind(world, f"q{number}", "amq.fanout")
    messages = [world.message(exchange="amq.fanout") for _ in range(20)]
    return lambda: [world.host.publishing.publish(each, None, 0) for each in messages]


def _filled(durable: bool) -> World:
    world = World()
    world.queue(durable=durable)
    for _ in range(2000):
        message = world.message(key="q", durable=durable)
        world.host.publishing.publish(message, None, 0)
    world.turn()
    return world


def purged() -> Callable[[], object]:
    """Durable copies that are purged."""
    world = _filled(True)
    return lambda: world.host.declaring.purge_queue("q")


def sent_to_0_10() -> Callable[[], object]:
    """Messages of 0-10 that a client of it browses."""
    client = Gateway().session()
    client.does(spec.QueueDeclare(queue="q"))
    for _ in range(1000):
        client.publishes(bytes(60))
    client.hears()
    client.subscribes(accept=1, acquire=1, mode=0)
    client.face.receive_data(client.connection.data_to_send(), client.gateway.world.now_ms)
    return _turns(client.gateway.world, client.face)


def sent_to_1_0() -> Callable[[], object]:
    """Messages of 1.0 that a client of it browses."""
    link = Link10()
    sender = link.client.sender("q", session=link.session)
    for number in range(1000):
        link.client.send(sender, message(bytes(60)), tag=str(number).encode(), settled=True)
    browser = link.client.receiver("q", credit=0, distribution_mode="copy", session=link.session)
    browser.send_flow(credit=1000)
    link.reads()()
    return _turns(link.hub.world, link.client.face)


def _turns(world: World, face: Face) -> Callable[[], object]:
    def turns() -> None:
        while world.bridge.end_turn(world.now_ms):
            face.data_to_send()
        face.data_to_send()

    return turns


def bindings() -> Callable[[], object]:
    """Bindings that come."""
    world = World()
    world.queue()
    bound = world.host.bindings
    return lambda: [bound.bind("q", "amq.direct", f"{n}", {}, b"") for n in range(1000)]


def unbound() -> Callable[[], object]:
    """Bindings that go with their queue."""
    world = World()
    world.queue()
    for number in range(800):
        world.host.bindings.bind("q", "amq.topic", f"a.{number}", {}, b"")
    return lambda: world.host.declaring.delete_queue("q")


def ended() -> Callable[[], object]:
    """Subscriptions that end with their connection."""
    client = Gateway().session()
    client.does(spec.QueueDeclare(queue="q"))
    for number in range(400):
        client.subscribes(destination=str(number))
    client.hears()
    return client.loses_transport


def given_back() -> Callable[[], object]:
    """Deliveries that go back with their connection."""
    client = Gateway().session()
    client.does(spec.QueueDeclare(queue="q"))
    client.subscribes()
    for _ in range(2000):
        client.publishes(b"x")
    client.hears()
    return client.loses_transport


def rolled_back() -> Callable[[], object]:
    """Publishes that are rolled back."""
    world = World()
    world.queue()
    transaction = world.host.transacting.begin(1)
    for _ in range(1600):
        world.host.transacting.publish(transaction, world.message(key="q"), None, 0)
    return lambda: world.host.transacting.rollback(transaction)


def asked() -> Callable[[], object]:
    """Bindings that exchange.bound looks at."""
    world = World()
    world.queue()
    for number in range(10_000):
        world.host.bindings.bind("q", "amq.direct", str(number), {}, b"")
    return lambda: world.host.bindings.bound("amq.direct", None, "7")


def steps() -> Callable[[], object]:
    """Words of routing keys and nodes of the tree."""
    router = TopicRouter(cache_max=1, cached=Account())
    router.bind(Queue(1, "/", "q", "", QueueSettings(), 0), ".".join(["#.w"] * 60), {})
    world = World()
    message = world.message(key=".".join(["w"] * 1000))
    return lambda: router.route(message)


def _selects(text: str, content: str) -> Callable[[], object]:
    world = World()
    selector = read_selector(text)
    assert isinstance(selector, Selector)
    message = world.message(headers={"a": Tagged(Kind.STRING, content)})
    return lambda: selector.accepts(message)


def parts() -> Callable[[], object]:
    """Parts of selectors."""
    return _selects(" OR ".join(["a = 'x'"] * 600), "y")


def headers() -> Callable[[], object]:
    """Headers of 0-10 messages that an exchange looks at."""
    table = [(f"h{number}", Tagged(STR16, f"{number}")) for number in range(1_000)]
    message = _message(spec.MessageProperties(application_headers=table), b"")
    return lambda: READER.headers(message)


def probed() -> Callable[[], object]:
    """Requests of one connection to the admin port."""
    loop = Loop()
    requests, kept = Pieces(loop), Account()
    tokens = Tokens(Settings, lambda: 0, AdminCounts())
    empty = Collector((), {})
    site = admin_site(
        empty,
        empty,
        lambda: None,
        tokens=tokens,
        pieces=requests,
        answers=Answers(requests, kept),
        requests=requests,
        kept=kept,
        reactor=Clock(),
    )
    channel = site.buildProtocol(None)
    channel.makeConnection(StringTransport())
    channel.dataReceived(b"GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n" * 400)

    def play() -> None:
        while loop.turn():
            pass

    return play


def searched() -> Callable[[], object]:
    """Texts that are searched."""
    return _selects("a LIKE '%" + "a" * 500 + "b%'", "a" * 1_000_000)


def tried() -> Callable[[], object]:
    """Texts in which a pattern is tried."""
    return _selects("a LIKE '%" + "a_" * 8 + "b%'", "a" * 500_000 + "b" + "a" * 500_000)


def read() -> Callable[[], object]:
    """Selectors that are read."""
    text = " OR ".join(["a = 'x'"] * 600)
    return lambda: read_selector(text)


def _texts(number: int) -> bytes:
    writer = Writer()
    write_list(writer, [Tagged(STR16, "text")] * number)
    return writer.getvalue()


def decoded() -> Callable[[], object]:
    """Texts in a list that is decoded."""
    octets = _texts(9_000)
    return lambda: read_list(Reader(octets))


def translated() -> Callable[[], object]:
    """Texts in a list that is translated."""
    message = _message(spec.MessageProperties(content_type="amqp/list"), _texts(5_000))
    context = Context(_Names(), ReplyTable(), Counts(), now_ms=0)
    return lambda: to_1_0(message, context)


def crossed() -> Callable[[], object]:
    """Small messages that are translated."""
    headers = [("a", Tagged(STR16, "x"))]
    message = _message(spec.MessageProperties(application_headers=headers), b"body")
    context = Context(_Names(), ReplyTable(), Counts(), now_ms=0)
    return lambda: [to_1_0(message, context) for _ in range(500)]


class _Names:
    def is_queue(self, name: str) -> bool:
        return True

    def is_exchange(self, name: str) -> bool:
        return False

    def upstream_of(self, exchange: str, key: str) -> str:
        return ""


def _message(properties: spec.MessageProperties, body: bytes) -> Message:
    header = write_header(spec.DeliveryProperties(routing_key="q"), properties)
    return message_from_0_10(
        arrival_0_10(header, len(header)),
        header + body,
        len(header),
        id=1,
        exchange="",
        now_ms=0,
        publisher=1,
        times_in_ms=False,
        reader=READER,
    )


def _ruled(rule: OwnRule, key: str) -> Callable[[], object]:
    rules = OwnRules([rule] * 100)
    asked = [publishing("e", f"{key}.{number}") for number in range(20)]
    return lambda: [rules.may("alice", "default", "127.0.0.1", each) for each in asked]


def ruled() -> Callable[[], object]:
    """Access rules that are for another exchange."""
    return _ruled(OwnRule(Decision(True, 1, ""), -1, exchange=["x"]), "k")


def ruled_by_keys() -> Callable[[], object]:
    """Access rules whose keys are compared with one of 20 words."""
    rule = OwnRule(Decision(True, 1, ""), -1, exchange=["e"], key=["#", "x", "#"])
    return _ruled(rule, ".".join(["w"] * 20))


def _net() -> Net:
    """One that clients come to over TLS."""
    with tempfile.TemporaryDirectory() as directory:
        files = Authority(pathlib.Path(directory)).issue("gateway")
        context = tls_context(*files, None, require_client_certificate=False)
    return Net(tls_context=context)


def _logged_in(net: Net) -> Visit:
    visit = Visit(net)
    visit.shakes_hands()
    visit.says(HEADER_1_0_SASL)
    visit.pump.entered = True
    visit.pump.turn_share = None
    return visit


def _visited(records: int) -> tuple[TlsLayer, bytes]:
    """A client over TLS, and what it says next: tiny records, or its hello where there are none."""
    visit = _logged_in(_net()) if records else Visit(_net())
    if not records:
        with suppress(SSL.WantReadError):
            visit.tls.do_handshake()
    for _ in range(records):
        visit.tls.send(b"x")
    said = b""
    with suppress(SSL.WantReadError):
        while True:
            said += visit.tls.bio_read(1 << 16)
    return cast(TlsLayer, visit.pump.transport), said


def renewed() -> Callable[[], object]:
    """New keys 100 times, which are answered."""
    visit = _logged_in(_net())
    sealer = Renewing(visit)
    said = b"".join(sealer.key_update(asks=True) for _ in range(100)) + sealer.content(b"x")
    layer = cast(TlsLayer, visit.pump.transport)
    return lambda: layer.dataReceived(said)


def opened() -> Callable[[], object]:
    """1,000 records of one octet."""
    layer, said = _visited(1_000)
    return lambda: layer.dataReceived(said)


def shaken() -> Callable[[], object]:
    """The hello of a client, with a key of P-256."""
    layer, said = _visited(0)
    return lambda: layer.dataReceived(said)


def gone() -> Callable[[], object]:
    """10 clients that are over."""
    net, gateway = Net(), Gateway()
    pumps = [net.connect()[0] for _ in range(10)]
    for pump in pumps:
        pump.become(gateway.client().face, b"")
    return lambda: [pump.connectionLost() for pump in pumps]


def gone_within_tls() -> Callable[[], object]:
    """10 clients over TLS that are over."""
    net, gateway = _net(), Gateway()
    layers = []
    for _ in range(10):
        pump = _logged_in(net).pump
        pump.become(gateway.client().face, b"")
        layers.append(cast(TlsLayer, pump.transport))
        net.turn()
    return lambda: [layer.connectionLost() for layer in layers]


TRIALS: tuple[tuple[str, Trial], ...] = (
    ("CHECKPOINT", checkpoint),
    ("COMMAND", commands),
    ("SETTLING, DELIVERY", settled),
    ("PUBLISH, COPY: in", copies),
    ("COPY: purged", purged),
    ("OFFERED, SENDING", sent_to_0_10),
    ("OFFERED, SENDING", sent_to_1_0),
    ("ATTACHED", attached),
    ("ATTACHED, CHARACTER", selecting),
    ("DECLARED", declared),
    ("DISCHARGED", discharged),
    ("PUBLISH: 1.0", posted),
    ("PUBLISH: 1.0, ELEMENT", nested),
    ("BINDING", bindings),
    ("BINDING: gone", unbound),
    ("LINK", ended),
    ("DELIVERY: given back", given_back),
    ("COPY: rolled back", rolled_back),
    ("MATCH", asked),
    ("STEP", steps),
    ("PART", parts),
    ("CHARACTER", read),
    ("CHARACTERS_SEARCHED", searched),
    ("CHARACTERS_TRIED", tried),
    ("ELEMENT", decoded),
    ("HEADER_SEEN", headers),
    ("CONVERSION", translated),
    ("CROSSING", crossed),
    ("OCTETS_COPIED", queries),
    ("TLS_RECORD", opened),
    ("TLS_KEY_UPDATE", renewed),
    ("TLS_HANDSHAKE", shaken),
    ("ENDED", gone),
    ("ENDED, TLS_ENDED", gone_within_tls),
    ("ASKED", probed),
    ("RULE", ruled),
    ("RULE: by keys", ruled_by_keys),
)


def main() -> None:
    """The program."""
    form = "pure" if buffers.__file__.endswith(".py") else "compiled"
    print(
        f"{form}: {'primitive':22} {'tried with':44} {'units':>8} {'ms':>8} {'us/unit':>8} verb ms"
    )
    for name, trial in TRIALS:
        best = 1e9
        units = 0
        for _ in range(ROUNDS):
            play = trial()
            gc.collect()
            before = WORK.units
            began = time.process_time()
            play()
            best = min(best, time.process_time() - began)
            units = WORK.units - before
        told = (trial.__doc__ or "").rstrip(".")
        each_us = best * 1e6 / units
        verb_ms = each_us * VERB / 1000
        line = f"{units:8} {best * 1000:8.2f} {each_us:8.3f} {verb_ms:7.1f}"
        print(f"{'':{len(form)}}  {name:22} {told:44} {line}")


if __name__ == "__main__":
    main()
