"""After a kill a queue is gone, deleted or not configured: the ledger says where each copy is."""

from pathlib import Path

import pytest
from support.gateway_process import GatewayProcess
from support.lines import Lines
from support.reconciling import Reconcile

from gateway.amqp_0_10 import _spec as spec
from gateway.clients.client import Delivered, Login, Subscription
from gateway.clients.client_0_10 import Client010
from gateway.clients.letter import Letter, Typed

pytestmark = pytest.mark.alone
COPIES = 3
BOTH = [{"name": "one"}, {"name": "two"}]


def publish(lines: Lines, client: Client010, queue: str) -> None:
    for number in range(COPIES):
        letter = Letter(body=Typed("string", str(number)), durable=True)
        assert lines.wait_for(client.send(queue, letter)) == "accepted"


def depth(lines: Lines, queue: str) -> int:
    client = lines.connect_0_10()
    found = lines.wait_for(client.query(spec.QueueQuery(queue=queue)))
    lines.hang_up()
    return int(found.message_count)


def hold_and_delete(lines: Lines, queue: str, alternate: str | None) -> None:
    """A client has all messages of the queue, and wants no more, as another deletes it."""
    holder, other = lines.connect_0_10(), lines.connect_0_10()
    declared = spec.QueueDeclare(queue=queue, durable=True, alternate_exchange=alternate)
    lines.wait_for(other.command(declared))
    publish(lines, other, queue)
    held: list[Delivered] = []
    lines.wait_for(holder.receive(Subscription(queue), held.append))
    lines.run_until(lambda: len(held) == COPIES)
    lines.wait_for(holder.command(spec.MessageCancel(destination=f"0-{queue}")))
    lines.wait_for(other.command(spec.QueueDelete(queue=queue)))


def filled(lines: Lines, queue: str) -> None:
    client = lines.connect_0_10()
    lines.wait_for(client.declare_queue(queue, durable=True))
    publish(lines, client, queue)


def with_dead_letters(lines: Lines) -> None:
    client = lines.connect_0_10()
    lines.wait_for(client.declare_queue("dead", durable=True))
    lines.wait_for(client.bind("dead", "amq.fanout", ""))


def test_what_a_queue_had_that_is_gone_is_accounted_for(
    tmp_path: Path, reconcile: Reconcile
) -> None:
    """What a client had of deleted queues, and what a virtual host holds that is not configured.

    All in one log, since to reconcile one takes longest.
    """
    gateway = GatewayProcess(tmp_path, {"anonymous": True, "virtual_hosts": BOTH}).start()
    one, two = (Login(virtual_host=host["name"]) for host in BOTH)
    here, there = (Lines(gateway.amqp_port, login) for login in (one, two))
    with_dead_letters(here)
    hold_and_delete(here, "purged", None)
    hold_and_delete(here, "dead-lettered", "amq.fanout")
    filled(there, "q")
    gateway.kill()
    for lines in (here, there):
        lines.hang_up()
    gateway.config["virtual_hosts"] = BOTH[:1]
    assert gateway.start().recovered == 2 * COPIES  # those of "purged" are no more
    assert depth(Lines(gateway.amqp_port, one), "dead") == COPIES
    gateway.kill()
    for hosts in (BOTH, BOTH[1:], BOTH[:1]):
        gateway.config["virtual_hosts"] = hosts
        assert gateway.start().recovered == 2 * COPIES
        if BOTH[1] in hosts:
            assert depth(Lines(gateway.amqp_port, two), "q") == COPIES
        gateway.kill()
    gateway.start()
    assert gateway.said("'two' is not configured; what it holds is kept")
    assert gateway.stop() == 0
    reconcile(gateway.audit)
