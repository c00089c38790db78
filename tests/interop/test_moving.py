"""What a real old broker holds is moved to a new one and back, through a gateway that is killed."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from interop import installed
from interop.needed import without
from interop.record_access import Qpidd
from support.gateway_process import GatewayProcess
from support.lines import Lines

from gateway.amqp_0_10 import _spec as spec
from gateway.clients.client import Delivered, Subscription
from gateway.clients.client_0_10 import Client010
from gateway.clients.letter import Letter, Typed

# For the gateway what docs/migration.md says, and no more.
RULES = """
acl allow anonymous all all
acl allow gateway@QPID access queue name=orders
acl allow gateway@QPID consume queue name=orders
acl allow gateway@QPID access exchange name=amq.default
acl allow gateway@QPID publish exchange name=amq.default routingkey=orders
acl deny all all
"""
ORDERS = [f"order {number}".encode() for number in range(120)]
MOVED = 'gateway_moved_messages_total{result="moved",source="old",target="new"}'


@pytest.fixture
def old(tmp_path: Path) -> Iterator[int]:
    """The port of a qpidd with rules, and with all orders in its queue."""
    lacking = installed.qpidd_missing()
    if lacking is not None:
        without(lacking)
    broker = Qpidd(installed.qpidd(), RULES, tmp_path)
    lines = Lines(broker.port)
    client = lines.connect_0_10()
    client.declare_queue("orders", durable=True)
    for body in ORDERS:
        client.send("orders", Letter(Typed("binary", body), durable=True))
    while depth_of(lines, client) < len(ORDERS):  # it completes a transfer only when asked
        lines.turn()
    lines.hang_up()
    yield broker.port
    broker.stop()


def depth_of(lines: Lines, client: Client010) -> int:
    found: int = lines.wait_for(client.query(spec.QueueQuery(queue="orders"))).message_count or 0
    return found


def takes(port: int) -> list[bytes]:
    """All that is in the queue there, taken."""
    lines = Lines(port)
    got: list[Delivered] = []
    lines.wait_for(lines.connect_0_10().receive(Subscription("orders", credit=1000), got.append))
    lines.run_until(lambda: len(got) >= len(ORDERS))
    bodies = [bytes(each.letter.body.value) for each in got]
    lines.hang_up()
    return bodies


@pytest.mark.qpidd
def test_a_queue_is_moved_and_moved_back_through_a_kill_in_its_order(
    old: int, tmp_path: Path
) -> None:
    secret = tmp_path / "secret"
    secret.write_text("secret-of-the-operator-and-at-the-broker")
    with GatewayProcess(tmp_path / "new", {}) as new:
        lines = Lines(new.amqp_port)
        maker = lines.connect_0_10()
        maker.declare_queue("orders", durable=True)
        lines.turn()
        lines.hang_up()
        upstreams = {
            "old": {
                "hosts": [f"amqp://127.0.0.1:{old}"],
                "profile": "qpid-0-10",
                "username": "gateway",
                "password_file": str(secret),
            },
            "new": {"hosts": [f"amqp://127.0.0.1:{new.amqp_port}"]},
        }
        config = {
            "upstreams": upstreams,
            "nodes": [{"queue": "orders", "upstream": "new"}],
            "admin_token_file": str(secret),
        }
        with GatewayProcess(tmp_path / "between", config) as between:

            def move(*more: str) -> str:
                admin = f"http://127.0.0.1:{between.admin_port}"
                asked = ("--admin", admin, "--token-file", str(secret), "--from", "old")
                done = between.tool("migrate", "move", "orders", *asked, "--to", "new", *more)
                assert done.returncode == 0, done.stdout + done.stderr + between.log()
                return done.stdout

            move("--rate", "40", "--no-wait")
            lines = Lines(new.amqp_port)
            lines.run_until(lambda: between.metrics().get(MOVED, 0) > 20)
            lines.hang_up()
            between.kill()
            between.start()
            assert "\ndone: " in move()
            assert between.metrics()[MOVED] < len(ORDERS)
            assert "\ndone: " in move("--back")
        bodies = takes(old)
    assert list(dict.fromkeys(bodies)) == ORDERS
