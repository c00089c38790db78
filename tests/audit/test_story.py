"""The story of a message, from the records of an audit log."""

import shlex

import pytest

from gateway.audit.story import Record, Story, command

WANTED = "17a3"


def story_of(records: list[Record], *messages: int) -> list[str]:
    """By their numbers, else by a message-id."""
    story = Story(messages=set(messages)) if messages else Story({WANTED})
    return [line.text for line in story.lines(records)]


def record(kind: str, **fields: object) -> Record:
    return {"time_ms": 1_700_000_000_123, "kind": kind, **fields}


def test_its_steps_are_told_with_the_names_of_both_sides() -> None:
    ours = {"message": 7, "node": "orders"}
    lines = story_of(
        [
            record("incarnation-started", incarnation=1),
            record("connection-opened", connection=1, peer="main", protocol="AMQP 1.0"),
            record("connection-opened", connection=2, peer="alice", protocol="AMQP 0-10"),
            record("link-attached", link=1, connection=1, peer="link 1: orders at main"),
            record("received", message=6, connection=2, exchange="amq.topic"),
            record("received", message=7, connection=2, exchange="amq.topic", id_digest=WANTED),
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
    lines = story_of(
        [
            record("received", message=7, exchange="", id_digest=WANTED),
            record("returned", message=7, node="orders", peer="main", reason="upstream-refused"),
        ]
    )
    assert lines[-1].endswith("7  returned      orders, for main, upstream-refused")


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
        record("received", message=7, exchange="", id_digest=WANTED),
        record("entered", flags=flags, **ours),
        *(record(step, **ours) for step in steps),
        record("incarnation-started", incarnation=2),
    ]
    last = story_of(records)[-1]
    assert last.endswith(f"7  gone          orders, {told}") if told else "gone" not in last


def test_messages_are_found_by_the_gateways_own_number() -> None:
    lines = story_of([record("received", message=number, exchange="x") for number in (7, 8, 9)], 8)
    assert [line.split("  ")[1] for line in lines] == ["8"]


def test_a_name_does_not_forge_a_line() -> None:
    (line,) = story_of([record("entered", message=7, node="q\n\x1b[1A")], 7)
    assert line.endswith(r"entered       q\n\x1b[1A")


def numbered(*records: Record | None, first: int = 1) -> list[Record]:
    """`None`: five records are missing."""
    shown, sequence = [], first
    for each in records:
        if each is not None:
            shown.append({"sequence": sequence, **each})
        sequence += 1 if each is not None else 5
    return shown


STEPS = [
    record("received", message=7, exchange="x", copies=1),
    record("entered", message=7, node="q", position=3, flags=["durable"]),
    record("sent", message=7, node="q", position=3, link=1),
    record("settled", message=7, node="q", position=3, link=1, outcome="accepted"),
]
OTHER = record("received", message=8, exchange="x")


def gaps(records: list[Record]) -> list[int]:
    """Where in the story something is missing."""
    lines = story_of(records, 7)
    return [place for place, line in enumerate(lines) if "missing in the log" in line]


@pytest.mark.parametrize(
    ("records", "places"),
    [
        (numbered(*STEPS), []),
        (numbered(*STEPS[:2], None, *STEPS[2:]), [2]),
        (numbered(*STEPS[:2], None, OTHER), [2]),
        (numbered(*STEPS, None, OTHER), []),  # it had ended
        (numbered(OTHER, None, *STEPS), []),  # it had not begun
        (numbered(OTHER, None, *STEPS[1:]), [0]),  # where it began is not there
        (numbered(*STEPS[:3], None, OTHER, None, OTHER), [3, 4]),
    ],
)
def test_records_that_are_missing_are_told_where_they_may_be_steps_of_it(
    records: list[Record], places: list[int]
) -> None:
    assert gaps(records) == places


def test_a_gap_is_told_with_its_numbers_and_counted() -> None:
    story = Story(messages={7})
    lines = [line.text for line in story.lines(numbered(*STEPS[:2], None, *STEPS[2:]))]
    assert lines[2].endswith("-- records 3 to 7 missing in the log: steps may be among them --")
    assert (story.gaps, story.holes) == (1, [(3, 7)])


def test_what_is_older_than_the_log_is_said_to_be() -> None:
    (first, *_) = story_of(numbered(*STEPS[2:], first=100), 7)
    assert first.endswith("the log begins with record 100: what was before is not in it")


def test_a_command_is_what_a_shell_gives_to_trace() -> None:
    text = command("/a log", message=[7, 8], queue="it's", since=None, until="")
    assert shlex.split(text) == [
        *("amqp-gateway", "audit", "trace", "--message", "7", "--message", "8"),
        *("--queue", "it's", "/a log"),
    ]
    assert command("log", queue="q\n'\x1b") == (
        "amqp-gateway audit trace --queue $'q\\n\\'\\x1b' log"
    )
