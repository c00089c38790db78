"""A connection that is over leaves nothing behind that only the cycle collector could give back.

Of sessions and links alone `test_ended` says so.
"""

from __future__ import annotations

import gc
import pathlib
import queue
from collections.abc import Callable
from contextlib import suppress

import pytest
from support.bridge_world import World
from support.controller_1_0 import Controller
from support.face_1_0 import Client as Client10
from support.face_1_0 import Hub, message
from support.garbage import by_hand, garbage_of
from support.net import Wire
from support.own_rules import own_rules
from support.talk_0_10 import Client as Client010
from support.talk_0_10 import Gateway
from support.whole_gateway import WholeGateway
from twisted.internet.address import IPv4Address

from gateway.amqp_0_10 import _spec as spec
from gateway.amqp_1_0 import _spec
from gateway.audit.schema import Reason
from gateway.bridge.queues.discipline import Discipline, FlowLimits
from gateway.clients.client import Client, Login, Subscription
from gateway.clients.letter import Letter, Typed
from gateway.faces.face import Ending, Face
from gateway.faces.server_0_10.transfers import Transfers
from gateway.faces.server_1_0.producer import Producer
from gateway.net.listening.first_octets import HEADER_1_0_SASL
from gateway.net.listening.users import make_user, write_users

__all__ = ["by_hand"]  # a fixture

MANY = 5
RULES = ("deny: connect, users: eve", "allow: all")
PERSISTENT = spec.DeliveryProperties(delivery_mode=spec.DeliveryMode.PERSISTENT)


def leaves(face: Face, world: object) -> None:
    """Its transport is gone; what it leaves behind is done, and on disk."""
    face.receive_eof(world.now_ms)  # type: ignore[attr-defined]  # a World
    while face.behind:
        face.data_to_send()
    world.auto_commit = True  # type: ignore[attr-defined]
    world.commit()  # type: ignore[attr-defined]
    world.turn()  # type: ignore[attr-defined]


# 1.0.


def did_nothing(client: Client10) -> None:
    """It vanishes without a word."""


def closed(client: Client10) -> None:
    client.connection.send_close()
    client.step()


def worked(client: Client10) -> None:
    """It has all sorts of things when it goes."""
    sender = client.sender("q")
    client.receiver("q", session=sender.session)
    client.receiver("amq.topic/a.#")
    client.attach(_spec.RECEIVER, source=_spec.Source(dynamic=True))
    for _ in range(3):
        client.send(sender, message(b"x"), settled=True)


def transacted(client: Client10) -> None:
    controller = Controller(hub=client.hub, client=client)
    sender = controller.sender()
    txn_id = controller.declares()
    controller.posts(sender, txn_id)
    controller.posts(sender, controller.declares())
    controller.commits(txn_id)


def retired(client: Client10) -> None:
    """Outcomes wait for a discharge that never comes."""
    controller = Controller(hub=client.hub, client=client)
    controller.puts(b"x", b"y")
    first, second = controller.gets(controller.receiver())
    txn_id = controller.declares()
    controller.retires(first, txn_id, settled=True)
    controller.retires(second, txn_id)


def retired_for_ever(client: Client10) -> None:
    """The same, and the store has not answered yet."""
    controller = Controller(hub=client.hub, client=client)
    controller.puts(b"x")
    receiver = controller.receiver()
    [delivery] = controller.gets(receiver)
    txn_id = controller.declares()
    controller.retires(delivery, txn_id)
    controller.posts(controller.sender("d"), txn_id, durable=True)
    client.hub.world.auto_commit = False
    controller.commits(txn_id)


def waited(client: Client10) -> None:
    """The store has not answered yet."""
    client.hub.world.auto_commit = False
    client.send(client.sender("d"), message(b"x", header=_spec.Header(durable=True)))


def broke(client: Client10) -> None:
    client.face.receive_data(b"\x00\x00\x00\x03nonsense", client.hub.world.now_ms)
    client.step()


def was_forced(client: Client10) -> None:
    client.sender("q")
    client.face.force_close(client.hub.world.now_ms, Ending("away", Reason.OPERATOR))
    client.step()


def was_told_other_rules(client: Client10) -> None:
    client.receiver("q")
    client.hub.settings.access.adopt(
        own_rules("deny: connect"), "f", client.hub.world.bridge.turns.spread
    )
    client.step()
    client.hub.settings.access.adopt(own_rules(*RULES), "f", client.hub.world.bridge.turns.spread)


def visits_1_0(
    hub: Hub, does: Callable[[Client10], None], kept: list[object], **how: object
) -> None:
    client = hub.client(**how)
    does(client)
    leaves(client.face, hub.world)
    hub.clients.remove(client)
    hub.turns.touched.clear()
    for name in ("q", "d"):
        hub.host.declaring.purge_queue(name)
    hub.world.turn()
    client.events.clear()
    kept.append(client.connection)


def hub_with_rules() -> Hub:
    hub = Hub()
    hub.world.queue("q")
    hub.world.queue("d", durable=True)
    hub.settings.access.adopt(own_rules(*RULES), "f", hub.world.bridge.turns.spread)
    return hub


@pytest.mark.parametrize(
    ("does", "how"),
    [
        (did_nothing, {}),
        (did_nothing, {"sasl": False}),
        (did_nothing, {"user": ("user", "wrong")}),
        (did_nothing, {"user": ("eve", "own")}),
        (did_nothing, {"hostname": "vhost:nowhere"}),
        (closed, {"user": ("user", "pass")}),
        (worked, {}),
        (transacted, {}),
        (retired, {}),
        (retired_for_ever, {}),
        (waited, {}),
        (broke, {}),
        (was_forced, {}),
        (was_told_other_rules, {}),
    ],
)
def test_a_connection_of_1_0(
    by_hand: None, does: Callable[[Client10], None], how: dict[str, object]
) -> None:
    hub, kept = hub_with_rules(), list[object]()
    visits_1_0(hub, does, kept, **how)  # what is made once is made

    def again() -> None:
        for _ in range(MANY):
            visits_1_0(hub, does, kept, **how)

    assert garbage_of(again) == []


# 0-10.


def opened(client: Client010, user: str = "") -> None:
    client.open(user)


def orderly(client: Client010) -> None:
    client.open("ann")
    client.attach()
    client.connection.send_close(spec.CloseCode.NORMAL, "", client.gateway.world.now_ms)
    client.hears()


def busy(client: Client010) -> None:
    """It has all sorts of things when it goes."""
    client.open()
    client.attach()
    client.does(spec.QueueDeclare(queue="own", exclusive=True, auto_delete=True))
    client.does(spec.ExchangeBind(queue="own", exchange="amq.topic", binding_key="a.#"))
    client.subscribes("q")
    client.publishes(b"x")
    client.publishes(b"y")
    client.gets()
    client.attach()
    client.does(spec.TxSelect())
    client.publishes(b"x")
    client.does(spec.TxCommit())
    client.publishes(b"z")
    client.hears()


def withheld(client: Client010) -> None:
    """The store has not answered yet."""
    client.open()
    client.attach()
    client.gateway.world.auto_commit = False
    client.publishes(b"x", key="d", delivery=PERSISTENT)
    client.hears()


def did_not_log_in(client: Client010) -> None:
    client.hears()
    client.connection.send_start_ok([], "PLAIN", b"\0ann\0wrong", "en_US")
    client.hears()
    client.authenticated(None)
    client.hears()


def left_while_it_was_asked(client: Client010) -> None:
    client.hears()
    client.connection.send_start_ok([], "PLAIN", b"\0ann\0secret", "en_US")
    client.hears()
    client.authenticator.asked.clear()


def knew_no_mechanism(client: Client010) -> None:
    client.hears()
    client.connection.send_start_ok([], "GSSAPI", b"", "en_US")
    client.hears()


def was_not_let_in(client: Client010) -> None:
    client.hears()
    client.connection.send_start_ok([], "PLAIN", b"\0eve\0secret", "en_US")
    client.hears()
    client.authenticated("eve")
    client.hears()
    client.connection.send_open("")
    client.hears()


def broke_0_10(client: Client010) -> None:
    client.open()
    client.face.receive_data(b"\xff" * 100, client.gateway.world.now_ms)
    client.hears()


def visits_0_10(gateway: Gateway, does: Callable[[Client010], None], kept: list[object]) -> None:
    client = Client010(gateway)
    does(client)
    leaves(client.face, gateway.world)
    gateway.touched.clear()
    for name in ("q", "d"):
        gateway.world.host.declaring.purge_queue(name)
    gateway.world.turn()
    kept.append((client.connection, client.session))


@pytest.mark.parametrize(
    "does",
    [
        *(opened, orderly, busy, withheld, did_not_log_in, left_while_it_was_asked),
        *(knew_no_mechanism, was_not_let_in, broke_0_10),
    ],
)
def test_a_connection_of_0_10(by_hand: None, does: Callable[[Client010], None]) -> None:
    gateway, kept = Gateway(), list[object]()
    gateway.world.queue("q")
    gateway.world.queue("d", durable=True)
    gateway.settings.access.adopt(own_rules(*RULES), "f", gateway.world.bridge.turns.spread)
    visits_0_10(gateway, does, kept)

    def again() -> None:
        for _ in range(MANY):
            visits_0_10(gateway, does, kept)

    assert garbage_of(again) == []


# Who is held back by a queue, which keeps what was published.


def flowing(world: World) -> None:
    world.queue("full", discipline=Discipline(flow=FlowLimits(stop_count=1, resume_count=1)))
    world.send(b"before", key="full")


def alive(*kinds: type) -> list[object]:
    gc.collect()
    return [each for each in gc.get_objects() if isinstance(each, kinds)]


def test_a_session_of_0_10_that_a_full_queue_holds_back() -> None:
    gateway, before = Gateway(), alive(Transfers)
    flowing(gateway.world)
    client = gateway.session()
    client.publishes(b"x", key="full")
    assert client.hears() == []
    leaves(client.face, gateway.world)
    gateway.touched.clear()
    del client
    assert [each for each in alive(Transfers) if each not in before] == []
    assert gateway.world.depth("full") == 2
    assert gateway.world.host.declaring.purge_queue("full") == 2
    gateway.world.check()


def test_a_link_of_1_0_that_a_full_queue_holds_back() -> None:
    hub, before = Hub(), alive(Producer)
    flowing(hub.world)
    client = hub.client()
    client.send(client.sender("full"), message(b"x"))
    leaves(client.face, hub.world)
    hub.clients.remove(client)
    hub.turns.touched.clear()
    del client
    assert [each for each in alive(Producer) if each not in before] == []
    assert hub.world.depth("full") == 2
    assert hub.host.declaring.purge_queue("full") == 2
    hub.world.check()


# With listener, pump, login and turns: all but sockets.


class Visitors:
    """Clients of a whole gateway; they themselves are kept, what served them is not."""

    def __init__(self, directory: pathlib.Path) -> None:
        users = directory / "users.yaml"
        write_users(users, {"ann": make_user("secret", iterations=4096)})
        changes = [f"users_file={users}", "anonymous=true"]
        self.whole = WholeGateway(directory / "data", *changes).start()
        self.kept: list[object] = []

    def come(self, protocol: str, login: Login | None) -> Client:
        connect = self.whole.connect_0_10 if protocol == "0-10" else self.whole.connect_1_0
        client: Client = connect(login)
        done: list[object] = []
        client.ready().addBoth(done.append)
        while not done:
            with suppress(queue.Empty):  # a thread looks at the password, which takes no time here
                self.whole.reactor.from_threads.get(timeout=0.01)()
            if not self.whole.service.threads._pool.working:
                self.whole.pass_time(1)  # who has failed has to wait
            self.whole.run()
        return client

    def go(self) -> None:
        """The transport is gone, and lets go of its protocol, as Twisted's does."""
        whole = self.whole
        guest = whole.guests.pop()
        if not guest.over:
            guest.hang_up()
        whole.pass_time(1)
        guest.far.protocol = guest.far.producer = None
        assert whole.service.door.pumps == {}
        self.kept.append((guest.client, guest.protocol))

    def knock(self, octets: bytes) -> None:
        """Somebody who says no more than that, and goes."""
        listener, wire = self.whole.reactor.tcpServers[0][1], Wire()
        pump = wire.protocol = listener.buildProtocol(IPv4Address("TCP", "127.0.0.1", 40_000))
        pump.makeConnection(wire)
        pump.dataReceived(octets)
        self.whole.run()
        pump.connectionLost()
        self.whole.pass_time(1)
        wire.protocol = wire.producer = None


def used(visitors: Visitors, client: Client) -> None:
    whole = visitors.whole
    whole.result(client.receive(Subscription("amq.fanout", credit=10), lambda _delivered: None))
    whole.result(client.send("amq.fanout", Letter(body=Typed("string", "x"), durable=True)))


def done_with(visitors: Visitors, client: Client) -> None:
    used(visitors, client)
    client.close(visitors.whole.service.clock.now_ms())
    visitors.whole.run()


def as_it_is(visitors: Visitors, client: Client) -> None:
    """It opens, and is gone."""


@pytest.mark.parametrize("protocol", ["0-10", "1.0"])
@pytest.mark.parametrize(
    ("does", "login"),
    [
        (as_it_is, None),
        (as_it_is, Login("ann", "wrong")),
        (used, None),
        (used, Login("ann", "secret")),
        (done_with, Login("ann", "secret")),
    ],
)
def test_a_connection_with_its_pump(
    by_hand: None,
    tmp_path: pathlib.Path,
    protocol: str,
    does: Callable[[Visitors, Client], None],
    login: Login | None,
) -> None:
    visitors = Visitors(tmp_path)

    def visit() -> None:
        does(visitors, visitors.come(protocol, login))
        visitors.go()

    visit()

    def again() -> None:
        for _ in range(MANY):
            visit()

    assert garbage_of(again) == []
    visitors.whole.stop()


@pytest.mark.parametrize("octets", [b"", b"AMQ", b"GET / HTTP/1.1\r\n", HEADER_1_0_SASL])
def test_who_never_said_what_it_wants(by_hand: None, tmp_path: pathlib.Path, octets: bytes) -> None:
    visitors = Visitors(tmp_path)

    visitors.knock(octets)

    def again() -> None:
        for _ in range(MANY):
            visitors.knock(octets)

    assert garbage_of(again) == []
    visitors.whole.stop()
