"""Transactions of 1.0 clients on queues that live at a broker: its coordinator's, or refused."""

import pytest
from interop.upstream.behind import Behind
from interop.upstream.conftest import Cell

proton = pytest.importorskip("proton", reason="Proton is missing: tests/interop/install proton")
from interop.controllers import Controlled  # noqa: E402
from interop.upstream.links import (  # noqa: E402
    OUTCOMES,
    Sending,
    body_of,
    durable,
    receive_at,
)


def _put(behind: Behind, queue: str, *bodies: bytes) -> None:
    sending = Sending(behind.at_gateway(), queue)
    for delivery in sending.sends(*[durable(body) for body in bodies]):
        assert sending.outcome(delivery) == "accepted"


def test_what_a_1_0_client_posts_is_there_after_its_commit_alone(
    behind: Behind, cell: Cell
) -> None:
    queue = behind.queue()
    connection = behind.at_gateway()
    sender = Sending(connection, queue).link.link
    aborted = Controlled(connection)
    posted = aborted.sends(sender, durable(b"1"), durable(b"2"))
    aborted.presumes(*posted)
    # The state that is presumed is in the transactional-state, which Proton leaves to us.
    assert all(each.remote_state not in OUTCOMES for each in posted)
    assert aborted.aborts() == "aborted"
    committed = Controlled(connection)
    committed.presumes(*committed.sends(sender, durable(b"3"), durable(b"4")))
    outcome = "yes" if committed.commits() == "committed" else "failed"
    receiving = receive_at(behind, queue)
    if outcome == "yes":
        found = receiving.gets(2)
        assert [body_of(message) for message, _ in found] == [b"3", b"4"]
        for _, delivery in found:
            receiving.ends(delivery)
    assert receiving.quiet()
    cell("1-0 tx publish", outcome)


def test_what_a_1_0_client_accepts_is_gone_after_its_commit_alone(
    behind: Behind, cell: Cell
) -> None:
    queue = behind.queue()
    _put(behind, queue, b"1", b"2")
    receiving = receive_at(behind, queue, credit=2)
    found = receiving.gets(2)
    connection = receiving.connection
    aborted = Controlled(connection)
    aborted.accepts(*[delivery for _, delivery in found])
    assert aborted.aborts() == "aborted"
    assert behind.comes_to(2, queue)
    receiving.flows(2)
    found = receiving.gets(2)
    committed = Controlled(connection)
    committed.accepts(*[delivery for _, delivery in found])
    outcome = "yes" if committed.commits() == "committed" else "failed"
    assert behind.comes_to(0 if outcome == "yes" else 2, queue)
    cell("1-0 tx accept", outcome)


def test_several_transactions_at_a_time_do_not_mix_at_the_broker(
    behind: Behind, cell: Cell
) -> None:
    queue = behind.queue()
    connection = behind.at_gateway()
    sender = Sending(connection, queue).link.link
    all_of_them = [Controlled(connection) for _ in range(6)]
    for round_ in range(3):
        for number, each in enumerate(all_of_them):
            each.sends(sender, durable(b"%d.%d" % (number, round_)))
    ends = [
        each.commits() if number % 2 else each.aborts() for number, each in enumerate(all_of_them)
    ]
    if "failed" in ends:
        cell("1-0 tx publish", "failed")
        return
    assert ends == ["aborted", "committed"] * 3
    receiving = receive_at(behind, queue, credit=20)
    found = sorted(body_of(message) for message, _ in receiving.gets(9))
    assert found == [b"%d.%d" % (number, round_) for number in (1, 3, 5) for round_ in range(3)]
    assert receiving.quiet()
