"""Transactions of 1.0 clients on queues of the gateway."""

import uuid
from collections.abc import Iterator
from typing import Any

import pytest
from support.serve_1_0 import Serving

proton = pytest.importorskip("proton", reason="Proton is missing: tests/interop/install proton")
from interop.controllers import Controlled  # noqa: E402
from interop.upstream.links import Receiving, Sending, body_of, durable  # noqa: E402
from proton import Delivery  # noqa: E402
from proton.utils import BlockingConnection  # noqa: E402

TIMEOUT_S = 180


@pytest.fixture(scope="module")
def serving(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Serving]:
    serving = Serving(tmp_path_factory.mktemp("data"))
    yield serving
    assert serving.stop() == 0


@pytest.fixture
def connection(serving: Serving) -> Iterator[Any]:
    connection = BlockingConnection(f"127.0.0.1:{serving.port}", timeout=TIMEOUT_S)
    yield connection
    connection.close()


def left(connection: Any, queue: str = "durable") -> list[bytes]:
    """What is in the queue, which is empty then."""
    receiving = Receiving(connection, queue, name=uuid.uuid4().hex)
    receiving.drains(100)
    found = receiving.gets(receiving.waiting())
    for _, delivery in found:
        receiving.ends(delivery)
    receiving.link.close()
    return [body_of(message) for message, _ in found]


def test_what_is_committed_is_there_and_what_is_aborted_is_not(connection: Any) -> None:
    sender = Sending(connection, "durable").link.link
    aborted = Controlled(connection)
    aborted.presumes(*aborted.sends(sender, durable(b"1"), durable(b"2")))
    assert aborted.aborts() == "aborted"
    assert left(connection) == []
    committed = Controlled(connection)
    posted = committed.sends(sender, durable(b"3"), durable(b"4"))
    committed.presumes(*posted)
    assert committed.commits() == "committed"
    assert left(connection) == [b"3", b"4"]


def test_several_transactions_at_a_time_do_not_mix(connection: Any) -> None:
    sender = Sending(connection, "durable").link.link
    all_of_them = [Controlled(connection) for _ in range(10)]
    for round_ in range(5):
        for number, each in enumerate(all_of_them):
            each.sends(sender, durable(b"%d.%d" % (number, round_)))
    ends = [
        each.commits() if number % 2 else each.aborts() for number, each in enumerate(all_of_them)
    ]
    assert ends == ["aborted", "committed"] * 5
    expected = [b"%d.%d" % (number, round_) for number in (1, 3, 5, 7, 9) for round_ in range(5)]
    assert left(connection) == expected


@pytest.mark.parametrize("settles", [False, True])
def test_what_is_accepted_goes_with_the_commit_alone(connection: Any, settles: bool) -> None:
    sending = Sending(connection, "durable")
    for delivery in sending.sends(durable(b"1"), durable(b"2")):
        assert sending.outcome(delivery) == "accepted"
    receiving = Receiving(connection, "durable")
    receiving.flows(2)
    found = receiving.gets(2)
    aborted = Controlled(connection, settles=settles)
    aborted.accepts(*[delivery for _, delivery in found])
    assert aborted.aborts() == "aborted"
    receiving.flows(2)  # Proton has released them, or they have the default-outcome
    found = receiving.gets(2)
    assert [body_of(message) for message, _ in found] == [b"1", b"2"]
    committed = Controlled(connection, settles=settles)
    committed.accepts(*[delivery for _, delivery in found])
    assert committed.commits() == "committed"
    assert left(connection) == []


def test_one_transaction_receives_and_sends(connection: Any) -> None:
    sending = Sending(connection, "durable")
    assert sending.outcome(sending.sends(durable(b"in"))[0]) == "accepted"
    receiving = Receiving(connection, "durable")
    receiving.flows(1)
    _, delivery = receiving.get()
    sender = Sending(connection, "q").link.link
    transaction = Controlled(connection)
    transaction.accepts(delivery)
    transaction.sends(sender, durable(b"out"))
    assert transaction.commits() == "committed"
    assert left(connection) == []
    assert left(connection, "q") == [b"out"]


def test_a_thousand_messages_of_one_transaction_arrive_in_order(connection: Any) -> None:
    sending = Sending(connection, "durable")
    transaction = Controlled(connection)
    bodies = [b"%d" % number for number in range(1000)]
    for start in range(0, 1000, 100):
        posted = transaction.sends(
            sending.link.link, *[durable(body) for body in bodies[start : start + 100]]
        )
        transaction.presumes(*posted)
    assert transaction.commits() == "committed"
    receiving = Receiving(connection, "durable")
    receiving.flows(1000)
    found = receiving.gets(1000)
    assert [body_of(message) for message, _ in found] == bodies
    for _, delivery in found:
        delivery.update(Delivery.ACCEPTED)
        delivery.settle()


def test_a_client_that_goes_has_rolled_back(serving: Serving, connection: Any) -> None:
    other = BlockingConnection(f"127.0.0.1:{serving.port}", timeout=TIMEOUT_S)
    transaction = Controlled(other)
    transaction.presumes(*transaction.sends(Sending(other, "durable").link.link, durable()))
    other.close()
    assert left(connection) == []
