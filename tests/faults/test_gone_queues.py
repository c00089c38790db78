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


def hold_and_delete(lines: Lines, alternate: str | None) -> None:
    """A client has all messages of the queue "old", and wants no more, as another deletes it."""
    holder, other = lines.connect_0_10(), lines.connect_0_10()
    lines.wait_for(other.declare_queue("dead", durable=True))
    lines.wait_for(other.bind("dead", "amq.fanout", ""))
    declared = spec.QueueDeclare(queue="old", durable=True, alternate_exchange=alternate)
    lines.wait_for(other.command(declared))
    publish(lines, other, "old")
    held: list[Delivered] = []
    lines.wait_for(holder.receive(Subscription("old"), held.append))
    lines.run_until(lambda: len(held) == COPIES)
    lines.wait_for(holder.command(spec.MessageCancel(destination="0-old")))
    lines.wait_for(other.command(spec.QueueDelete(queue="old")))


@pytest.mark.parametrize(
    ("alternate", "left"), [(None, 0), ("amq.fanout", COPIES)], ids=["purged", "dead_lettered"]
)
def test_what_a_client_had_of_a_deleted_queue_is_accounted_for(
    tmp_path: Path, reconcile: Reconcile, alternate: str | None, left: int
) -> None:
    gateway = GatewayProcess(tmp_path, {"anonymous": True}).start()
    lines = Lines(gateway.amqp_port)
    hold_and_delete(lines, alternate)
    gateway.kill()
    lines.hang_up()
    assert gateway.start().recovered == COPIES
    assert depth(Lines(gateway.amqp_port), "dead") == left
    gateway.kill()
    assert gateway.start().recovered == left
    assert gateway.stop() == 0
    reconcile(gateway.audit)


def test_what_a_virtual_host_holds_that_is_not_configured_is_accounted_for(
    tmp_path: Path, reconcile: Reconcile
) -> None:
    gateway = GatewayProcess(tmp_path, {"anonymous": True, "virtual_hosts": BOTH}).start()
    login = Login(virtual_host="two")
    lines = Lines(gateway.amqp_port, login)
    client = lines.connect_0_10()
    lines.wait_for(client.declare_queue("q", durable=True))
    publish(lines, client, "q")
    gateway.kill()
    lines.hang_up()
    for hosts in (BOTH[:1], BOTH, BOTH[1:], BOTH[:1]):
        gateway.config["virtual_hosts"] = hosts
        gateway.start()
        assert gateway.recovered == COPIES
        if BOTH[1] in hosts:
            assert depth(Lines(gateway.amqp_port, login), "q") == COPIES
        gateway.kill()
    gateway.start()
    assert gateway.said("'two' is not configured; what it holds is kept")
    assert gateway.stop() == 0
    reconcile(gateway.audit)
