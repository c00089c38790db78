"""Messages per CPU-second through the faces and the bridge, without transport or disk.

    PYTHONPATH=tests python tests/bench/hot_path.py [ROUNDS] [--rules]

Octets of one protocol's client go in, octets for a client of either one come out; the
peers' own octets are made beforehand, so that only the gateway is measured. Transient messages of
300 octets, 100 in a turn, to one consumer that gets them settled; the best of the rounds counts.
Of these there are 5, or up to 6: then the listener's session has no room for more commands.
With `--rules` there are access rules, 20 of them before the one that fits; the cost of asking them
about a publish is told apart, once it has been decided and before.
"""

from __future__ import annotations

import sys
import time

from support.bridge_world import Session
from support.face_1_0 import Client as Client10
from support.face_1_0 import Hub, message
from support.talk_0_10 import Client as Client010
from support.talk_0_10 import Gateway

from gateway.amqp_0_10 import _spec as spec
from gateway.amqp_0_10.structs import write_header
from gateway.amqp_1_0 import _spec, types
from gateway.bridge.seams import QueueSettings
from gateway.permissions.permits import Permits
from gateway.permissions.qpidd_rules import QpiddRules
from gateway.wire import buffers
from gateway.wire.tagged import Tagged

BATCH = 100
TURNS = 100
BODY = bytes(range(200))
STR16 = 0x95


def numbered(number: int) -> bytes:
    return number.to_bytes(16, "big")


def header_0_10(number: int) -> bytes:
    delivery = spec.DeliveryProperties(routing_key="q", delivery_mode=1, priority=4)
    properties = spec.MessageProperties(
        message_id=numbered(number),
        content_type="application/octet-stream",
        application_headers=[("sequence", Tagged(STR16, str(number)))],
    )
    return write_header(delivery, properties)


class From010:
    """A 0-10 client that publishes."""

    def __init__(self, hub: Hub, gateway: Gateway) -> None:
        self.hub = hub
        self.client = gateway.session()
        self.number = 0

    def batch(self) -> bytes:
        session = self.client.session
        assert session is not None
        for _ in range(BATCH):
            self.number += 1
            transfer = spec.MessageTransfer(destination="")
            session.send_command(transfer, header=header_0_10(self.number), body=BODY)
        return self.client.connection.data_to_send()


class From10:
    """A 1.0 client that publishes."""

    def __init__(self, hub: Hub) -> None:
        self.hub = hub
        self.client = hub.client()
        self.link = self.client.sender("q")
        self.number = 0

    def batch(self) -> bytes:
        for _ in range(BATCH):
            self.number += 1
            properties = _spec.Properties(message_id=Tagged(types.UUID, numbered(self.number)))
            payload = message(
                BODY,
                properties=properties,
                header=_spec.Header(priority=4),
                application={"sequence": Tagged(types.STRING, str(self.number))},
            )
            self.link.send_delivery(numbered(self.number), b"", payload, settled=False)
        return self.client.connection.data_to_send()


def both() -> tuple[Hub, Gateway]:
    """1.0 and 0-10 clients of one bridge."""
    hub = Hub()
    gateway = Gateway()
    gateway.world = hub.world
    return hub, gateway


def measure(
    name: str, publisher: From010 | From10, consumer: Client010 | Client10, rounds: int
) -> None:
    bridge = publisher.hub.world.bridge
    best = 0.0
    sent = 0
    answers = b""
    for _ in range(rounds):
        spent = 0.0
        for _ in range(TURNS):
            octets = publisher.batch()
            now_ms = bridge.now_ms
            start = time.process_time()
            if answers:
                consumer.face.receive_data(answers, now_ms)
            publisher.client.face.receive_data(octets, now_ms)
            bridge.end_turn(now_ms)
            bridge.end_turn(now_ms)
            told = publisher.client.face.data_to_send()
            out = consumer.face.data_to_send()
            spent += time.process_time() - start
            sent = len(out)
            assert sent > BATCH * len(BODY), sent
            publisher.client.connection.receive_data(told, now_ms)
            consumer.connection.receive_data(out, now_ms)
            answers = consumer.connection.data_to_send()
            publisher.hub.world.commit()
        best = max(best, BATCH * TURNS / spent)
    print(f"{name:14} {best:10,.0f} messages/s {1e6 / best:8.2f} us, {sent // BATCH} octets out")


def consumer(protocol: str, hub: Hub, gateway: Gateway) -> Client010 | Client10:
    """A client that consumes, its deliveries settled as they are sent, with endless credit."""
    if protocol == "1.0":
        client = hub.client("consumer")
        client.receiver("q", credit=2**31 - 1, snd_settle_mode=1)
        return client
    listener = gateway.session()
    listener.subscribes(accept=1, mode=0)
    listener.hears()
    return listener


def access_rules() -> QpiddRules:
    """Rules that are asked for every publish, of which one of the last fits."""
    others = [f"acl deny other@QPID publish exchange name=e{number}" for number in range(10)]
    others += [f"acl deny all publish exchange name=f{number}" for number in range(10)]
    return QpiddRules("\n".join([*others, "acl allow all all"]) + "\n", "QPID")


def measure_rules() -> None:
    """What one question costs."""
    permits = Permits(access_rules(), "alice", "default", "127.0.0.1")
    keys = [f"orders.{number % 100}" for number in range(100_000)]
    for name in ("decided before", "decided now"):
        start = time.process_time()
        for key in keys:
            permits.may_publish("amq.topic", key)
            if name == "decided now":
                permits = Permits(permits.rules, "alice", "default", "127.0.0.1")
        spent = time.process_time() - start
        print(f"access rules, {name:14} {1e6 * spent / len(keys):8.2f} us a publish")


def run(rounds: int, *, ruled: bool) -> None:
    """All four ways through the gateway."""
    print("pure form" if buffers.__file__.endswith(".py") else "compiled form")
    for source in ("0-10", "1.0"):
        for target in ("1.0", "0-10"):
            hub, gateway = both()
            if ruled:
                rules = access_rules()
                hub.settings.access.in_force.rules = rules
                gateway.settings.access.in_force.rules = rules
            hub.world.host.declaring.declare_queue("q", QueueSettings(), Session(1))
            publisher = From010(hub, gateway) if source == "0-10" else From10(hub)
            measure(f"{source} to {target}", publisher, consumer(target, hub, gateway), rounds)

    if ruled:
        measure_rules()


if __name__ == "__main__":
    numbers = [argument for argument in sys.argv[1:] if argument.isdigit()]
    run(int(numbers[0]) if numbers else 5, ruled="--rules" in sys.argv)
