"""A connection with a heartbeat of two seconds stays up, idle or beside load, whose ever it is."""

import threading
from collections.abc import Iterator

import pytest
from interop.foreign import Client
from support.lines import Lines

from gateway.clients.client import Delivered, Subscription
from gateway.clients.letter import Letter, Typed

# Longer than the two delays after which a silent peer is taken for dead.
IDLE_MS = 5_500


@pytest.fixture
def queue(qpid_python: Client, port: int, name: str) -> str:
    """A queue that the Python client has declared."""
    address = f"{name}; {{create: always, node: {{type: queue}}}}"
    qpid_python.run("send", port, [], address=address)
    return name


def test_an_idle_connection_of_the_python_client_stays_up(
    qpid_python: Client, port: int, queue: str
) -> None:
    said = qpid_python.start(
        "receive", port, address=queue, heartbeat_s=2, timeout_ms=IDLE_MS
    ).finish()
    assert [line["event"] for line in said.events] == ["ready", "timeout", "closed"], str(said)
    assert said.exit_code == 0


def test_an_idle_connection_of_the_java_client_stays_up(jms: Client, port: int, queue: str) -> None:
    said = jms.start(
        "consume", port, destination=f"ADDR:{queue}", heartbeat_s=2, timeout_ms=IDLE_MS
    ).finish()
    assert said.named("timeout"), str(said)
    assert not said.errors
    assert said.exit_code == 0


LARGE = Letter(body=Typed("binary", bytes(1_000_000)))


@pytest.fixture
def flood(port: int, name: str) -> Iterator[list[int]]:
    """Large messages cross all the while, in and out; how many have."""
    over = threading.Event()
    crossed: list[int] = []

    def took(delivered: Delivered) -> None:
        crossed.append(1)
        delivered.settle("accept")

    def work() -> None:
        lines = Lines(port)
        client = lines.connect_0_10()
        queue = f"{name}-large"
        lines.wait_for(client.declare_queue(queue))
        lines.wait_for(client.receive(Subscription(queue), took))
        while not over.is_set():
            lines.wait_for(client.send(queue, LARGE))
        lines.hang_up()

    thread = threading.Thread(target=work)
    thread.start()
    yield crossed
    over.set()
    thread.join()


def test_connections_of_both_protocols_stay_up_while_others_send_large_messages(
    qpid_python: Client, jms: Client, proton: Client, port: int, queue: str, flood: list[int]
) -> None:
    waits = {"heartbeat_s": 2, "timeout_ms": IDLE_MS}
    idle = [
        qpid_python.start("receive", port, address=queue, **waits),
        jms.start("consume", port, destination=f"ADDR:{queue}", **waits),
        proton.start("receive", port, address=queue, **waits),
    ]
    for client in idle:
        said = client.finish()
        assert said.named("timeout"), str(said)
        assert not said.errors, str(said)
    assert flood


def test_a_client_that_sends_and_receives_large_messages_keeps_its_heartbeat(
    jms: Client, qpid_python: Client, port: int, queue: str
) -> None:
    octets = "00" * 400_000
    messages = [{"body": ["binary", octets]}] * 40
    receiver = jms.start(
        "consume", port, destination=f"ADDR:{queue}", heartbeat_s=2, count=len(messages)
    )
    receiver.until("ready")
    qpid_python.run("send", port, messages, address=queue, heartbeat_s=2)
    said = receiver.finish().without_error()
    assert len(said.received) == len(messages)
