"""Rings, priorities, last values and groups, over kills: what the audit log says balances."""

import random
from pathlib import Path

import pytest
from support.gateway_process import GatewayProcess
from support.lines import Lines
from support.reconciling import Reconcile

from gateway.amqp_0_10 import _spec as spec
from gateway.amqp_0_10._spec_constants import INT32, STR16
from gateway.clients.client import Client, Delivered, Subscription
from gateway.clients.letter import Letter, Typed
from gateway.wire.tagged import Tagged

pytestmark = pytest.mark.alone
ROUNDS, COPIES = 3, 30
OUTCOMES = ("accept",) * 5 + ("release", "reject")
ARGUMENTS: dict[str, dict[str, object]] = {
    "ring": {"qpid.policy_type": "ring", "qpid.max_count": 25},
    "priorities": {"qpid.priorities": 10, "qpid.fairshare": 3},
    "ring of priorities": {
        "qpid.priorities": 3,
        "qpid.policy_type": "ring",
        "qpid.max_count": 25,
    },
    "last values": {"qpid.last_value_queue_key": "key"},
    "ring of last values": {
        "qpid.last_value_queue_key": "key",
        "qpid.policy_type": "ring",
        "qpid.max_count": 4,
    },
    "groups": {"qpid.group_header_key": "key", "qpid.shared_msg_group": 1},
}


def declare(lines: Lines) -> None:
    """All of them, and a queue for what rings let go and consumers reject."""
    client = lines.connect_0_10()
    lines.wait_for(client.declare_queue("let go", durable=True))
    lines.wait_for(client.bind("let go", "amq.fanout", ""))
    for name, arguments in ARGUMENTS.items():
        table = [
            (key, Tagged(INT32 if isinstance(value, int) else STR16, value))
            for key, value in arguments.items()
        ]
        alternate = "amq.fanout" if "ring" in name else None
        declared = spec.QueueDeclare(
            queue=name, durable=True, alternate_exchange=alternate, arguments=table
        )
        lines.wait_for(client.command(declared))


def publish(lines: Lines, client: Client, chance: random.Random) -> None:
    """To each queue, with a key and a priority."""
    sent = []
    for number in range(COPIES):
        for queue in ARGUMENTS:
            letter = Letter(
                body=Typed("string", f"{queue} {number}"),
                durable=chance.random() < 0.9,
                priority=chance.choice((None, 0, 3, 4, 5, 9)),
                properties={"key": Typed("string", chance.choice("abcdefgh"))},
            )
            sent.append(client.send(queue, letter))
    for each in sent:
        lines.wait_for(each)


def consume(lines: Lines, clients: list[Client], chance: random.Random) -> None:
    """Some of each queue, by clients of both protocols; some is out when this ends."""
    had: list[Delivered] = []
    for queue in ARGUMENTS:
        for client in clients:
            lines.wait_for(client.receive(Subscription(queue, credit=5), had.append))
    lines.run_until(lambda: len(had) >= len(ARGUMENTS))
    chance.shuffle(had)
    for delivered in had[: len(had) * 3 // 4]:
        delivered.settle(chance.choice(OUTCOMES))
    lines.turn()


def test_what_queues_of_all_disciplines_had_is_accounted_for(
    tmp_path: Path, reconcile: Reconcile
) -> None:
    chance = random.Random(5)
    gateway = GatewayProcess(tmp_path, {"anonymous": True}).start()
    declare(Lines(gateway.amqp_port))
    for round_ in range(ROUNDS):
        lines = Lines(gateway.amqp_port)
        clients: list[Client] = [lines.connect_0_10(), lines.connect_1_0()]
        publish(lines, clients[round_ % 2], chance)
        consume(lines, [lines.connect_0_10(), lines.connect_1_0()], chance)
        gateway.kill()
        gateway.start()
    assert gateway.stop() == 0
    reconcile(gateway.audit)
