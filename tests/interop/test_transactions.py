"""Transacted sessions of 0-10 clients on queues of the gateway."""

from typing import Any

from interop.addresses import jms_queue
from interop.foreign import Client, Said

MESSAGES: list[dict[str, Any]] = [{"body": ["text", text], "durable": True} for text in "abc"]


def consumed(
    jms: Client, port: int, name: str, sure: int, more: int = 0, **options: object
) -> Said:
    """So many messages, and what comes of so many more within a short time."""
    given = {"destination": jms_queue(name), "sure": sure, "count": sure + more, **options}
    return jms.start("consume", port, timeout_ms=500, **given).finish()


def texts(said: Said) -> list[str]:
    return [line["body"][1] for line in said.received]


def test_what_jms_commits_is_there_and_what_it_rolls_back_is_not(
    jms: Client, port: int, name: str
) -> None:
    there = jms_queue(name)
    rolled = jms.run("publish", port, MESSAGES, destination=there, ack="transacted", end="rollback")
    assert rolled.named("rolled-back")
    assert not consumed(jms, port, name, 0, 1).received
    committed = jms.run("publish", port, MESSAGES, destination=there, ack="transacted")
    assert committed.named("committed")
    assert texts(consumed(jms, port, name, 3, 1)) == ["a", "b", "c"]


def test_what_jms_consumes_and_rolls_back_comes_again_and_what_it_commits_does_not(
    jms: Client, port: int, name: str
) -> None:
    jms.run("publish", port, MESSAGES, destination=jms_queue(name))
    rolled = consumed(jms, port, name, 3, ack="transacted", end="rollback")
    assert (texts(rolled), bool(rolled.named("rolled-back"))) == (["a", "b", "c"], True)
    again = consumed(jms, port, name, 2, ack="transacted").without_error()
    assert [line["redelivered"] for line in again.received] == [True, True]
    assert again.named("committed")
    assert texts(consumed(jms, port, name, 1, 1)) == ["c"]


def test_a_thousand_messages_of_one_jms_transaction_arrive_in_order(
    jms: Client, proton: Client, port: int, name: str
) -> None:
    messages = [{"body": ["text", str(number)], "durable": True} for number in range(1000)]
    jms.run("publish", port, messages, destination=jms_queue(name), ack="transacted")
    received = proton.run("receive", port, address=name, count=1000).received
    numbers = [bytes.fromhex(line["body"][1]).decode() for line in received]
    assert numbers == [str(number) for number in range(1000)]
