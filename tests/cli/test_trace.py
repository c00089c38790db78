"""Where one message went, from the records of an audit log."""

from uuid import UUID

import pytest

from gateway.amqp_1_0 import types
from gateway.amqp_1_0.primitives.encoding import to_bytes
from gateway.audit.digests import digest
from gateway.cli.trace import Record, Trace, digests_of, messages_at
from gateway.wire.tagged import Tagged

ID = "8c79d4bf-09b3-350a-9cd3-127a4be2ac36"
OCTETS = UUID(ID).bytes


def spelled(octets: bytes) -> str:
    return f"{digest(octets) % (1 << 64):016x}"


@pytest.mark.parametrize(
    ("given", "octets"),
    [
        (ID, OCTETS),
        (f"ID:{ID}", OCTETS),
        (ID, to_bytes(Tagged(types.UUID, OCTETS))),
        (ID, to_bytes(Tagged(types.STRING, ID))),
        (f"ID:{ID}", to_bytes(Tagged(types.STRING, f"ID:{ID}"))),
        (f"ID:{ID}", to_bytes(Tagged(types.STRING, ID))),
        ("17", to_bytes(Tagged(types.ULONG, 17))),
        ("17", to_bytes(Tagged(types.STRING, "17"))),
    ],
)
def test_a_message_id_is_found_as_either_protocol_may_have_had_it(
    given: str, octets: bytes
) -> None:
    assert spelled(octets) in digests_of(given)


def test_a_number_too_large_for_a_message_id_is_a_text() -> None:
    assert digests_of(str(1 << 64)) == {spelled(to_bytes(Tagged(types.STRING, str(1 << 64))))}


def record(kind: str, **fields: object) -> Record:
    return {"time_ms": 1_700_000_000_123, "kind": kind, **fields}


def test_its_steps_are_told_with_the_names_of_both_sides() -> None:
    ours = {"message": 7, "node": "orders"}
    lines = Trace(digests_of(ID)).lines(
        [
            record("incarnation-started", incarnation=1),
            record("connection-opened", connection=1, peer="main", protocol="AMQP 1.0"),
            record("connection-opened", connection=2, peer="alice", protocol="AMQP 0-10"),
            record("link-attached", link=1, connection=1, peer="link 1: orders at main"),
            record("received", message=6, connection=2, exchange="amq.topic"),
            record(
                "received", message=7, connection=2, exchange="amq.topic", id_digest=spelled(OCTETS)
            ),
            record("sent", link=1, **ours),
            record("sent", link=1, message=6, node="orders"),
            record("requeued", link=1, reason="upstream-lost", delivery_count=1, **ours),
            record("incarnation-started", incarnation=2),
            record("link-attached", link=1, connection=9),
            record("settled", link=1, outcome="accepted", flags=["removed", "durable"], **ours),
            record("sent", link=5, **ours),
        ]
    )
    assert [line.split("  ", 1)[1] for line in lines] == [
        "7  received      for amq.topic, from alice (AMQP 0-10)",
        "7  sent          orders, to orders at main",
        "7  requeued      orders, by orders at main, upstream-lost, failed 1 times",
        "7  settled       orders, by a connection that the log does not show, accepted, removed,"
        " durable",
        "7  sent          orders, to link 5",
    ]


def test_what_an_upstream_refused_is_told_with_its_name() -> None:
    lines = Trace(digests_of(ID)).lines(
        [
            record("received", message=7, exchange="", id_digest=spelled(OCTETS)),
            record("returned", message=7, node="orders", peer="main", reason="upstream-refused"),
        ]
    )
    assert list(lines)[-1].endswith("7  returned      orders, for main, upstream-refused")


@pytest.mark.parametrize(
    ("flags", "steps", "told"),
    [
        (["transit"], [], "not in the gateway's store when it ended"),
        (["transit"], ["sent"], "not in the gateway's store when it ended, the peer may have it"),
        (["transit"], ["sent", "settled"], ""),
        (["durable"], [], ""),
    ],
)
def test_what_a_killed_gateway_had_in_memory_alone_is_gone(
    flags: list[str], steps: list[str], told: str
) -> None:
    ours = {"message": 7, "node": "orders"}
    records = [
        record("received", message=7, exchange="", id_digest=spelled(OCTETS)),
        record("entered", flags=flags, **ours),
        *(record(step, **ours) for step in steps),
        record("incarnation-started", incarnation=2),
    ]
    last = list(Trace(digests_of(ID)).lines(records))[-1]
    assert last.endswith(f"7  gone          orders, {told}") if told else "gone" not in last


def test_messages_are_found_by_the_gateways_own_number() -> None:
    lines = Trace(messages={8}).lines(
        [record("received", message=number, exchange="x") for number in (7, 8, 9)]
    )
    assert [line.split("  ")[1] for line in lines] == ["8"]


def test_messages_are_found_by_what_they_had_to_do_with_and_when() -> None:
    steps = [
        record("received", message=7, exchange="x"),
        record("entered", message=7, node="orders"),
        record("entered", message=8, node="other"),
        record("queue-checkpoint", node="orders", depth=1),
        record("entered", message=9, node="orders") | {"time_ms": 2_000_000_000_000},
    ]
    assert messages_at(steps, "orders") == {7, 9}
    assert messages_at(steps, "orders", 1_700_000_000_124) == {9}
    assert messages_at(steps, "orders", None, 1_700_000_000_123) == {7}


def test_a_name_does_not_forge_a_line() -> None:
    (line,) = Trace(messages={7}).lines([record("entered", message=7, node="q\n\x1b[1A")])
    assert line.endswith(r"entered       q\n\x1b[1A")
