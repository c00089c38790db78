"""The gateway, killed while it commits transactions of a 1.0 client: each is there whole or not."""

import random
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from interop.needed import needed
from support.gateway_process import GatewayProcess
from support.lines import Lines

proton = pytest.importorskip("proton", reason="Proton is missing: tests/interop/install proton")
from interop.controllers import Controlled  # noqa: E402
from interop.upstream.links import (  # noqa: E402
    Receiving,
    Sending,
    body_of,
    durable,
    goes_out,
)
from proton.utils import BlockingConnection  # noqa: E402

KILLS = 6
SIZE = 5  # messages of a transaction
TIMEOUT_S = 180
QUEUE = "q"


def connect(gateway: GatewayProcess) -> Any:
    return BlockingConnection(f"127.0.0.1:{gateway.amqp_port}", timeout=TIMEOUT_S)


def load(gateway: GatewayProcess, life: int, chance: random.Random) -> tuple[set[str], str]:
    """Commit transactions, until one is under way as the gateway dies: the others, and that one."""
    connection = connect(gateway)
    sender = Sending(connection, QUEUE).link.link
    committed = set()
    for number in range(chance.randint(1, 20)):
        name = f"{life}.{number}"
        transaction = Controlled(connection)
        transaction.sends(sender, *[durable(name.encode()) for _ in range(SIZE)])
        assert transaction.commits() == "committed"
        committed.add(name)
    last = f"{life}.last"
    transaction = Controlled(connection)
    transaction.presumes(*transaction.sends(sender, *[durable(last.encode())] * SIZE))
    transaction.begins_to_commit()
    goes_out(connection)
    gateway.kill()
    return committed, last


def found(gateway: GatewayProcess) -> Counter[str]:
    """What the queue has; it is taken, in one transaction that is rolled back."""
    connection = connect(gateway)
    receiving = Receiving(connection, QUEUE)
    receiving.drains(10_000)
    got = receiving.gets(receiving.waiting())
    transaction = Controlled(connection)
    transaction.accepts(*[delivery for _, delivery in got])
    assert transaction.aborts() == "aborted"
    connection.close()
    return Counter(body_of(message).decode() for message, _ in got)


def test_a_transaction_is_there_whole_or_not_at_all_after_a_kill(tmp_path: Path) -> None:
    needed("proton")
    chance = random.Random(7)
    gateway = GatewayProcess(tmp_path, {"anonymous": True}).start()
    lines = Lines(gateway.amqp_port)
    lines.wait_for(lines.connect_0_10().declare_queue(QUEUE, durable=True))
    lines.hang_up()
    committed: set[str] = set()
    doubtful: set[str] = set()
    for life in range(KILLS):
        done, last = load(gateway, life, chance)
        committed |= done
        doubtful.add(last)
        gateway.start()
        there = found(gateway)
        assert set(there.values()) == {SIZE}
        assert committed <= set(there) <= committed | doubtful
    assert gateway.stop() == 0
