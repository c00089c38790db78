"""What charts are drawn from."""

import pytest

from gateway.accounting.telling import figures
from gateway.accounting.telling.figures import DAY_MS, SPANS, Spans, part_ms, span_ms
from gateway.audit.schema import Flag, Kind, Outcome, Reason

QUEUED = {"message": 1, "position": 1, "node": "q", "exchange": "x"}
SECONDS = Spans(0, 9_999, 1000)


@pytest.mark.parametrize("whole_ms", [0, 1, 199, 200, 5_000, 3_600_000, 90 * DAY_MS, 9000 * DAY_MS])
def test_there_are_never_too_many_spans_whenever_they_begin(whole_ms: int) -> None:
    for first in (0, 1, 1_790_000_000_123):
        length = span_ms(first, first + whole_ms)
        assert (first + whole_ms) // length - first // length < SPANS


def rows(frame, *names: str) -> list[tuple]:
    return sorted((tuple(row[name] for name in names) for row in frame.collect()), key=str)


def whole_life(**said: object) -> list[dict]:
    copy = QUEUED | said
    return [
        {"kind": Kind.RECEIVED, "message": copy["message"], "exchange": "x", "copies": 1},
        {"kind": Kind.ENTERED, **copy},
        {"kind": Kind.SENT, "time_ms": 500, **copy},
        {
            "kind": Kind.SETTLED,
            "time_ms": 1000,
            "outcome": Outcome.ACCEPTED,
            "flags": Flag.REMOVED,
            **copy,
        },
    ]


def test_flow_counts_what_came_entered_and_left_in_each_span(frames) -> None:
    records = frames.records(
        *whole_life(),
        {"kind": Kind.RECOVERED, "incarnation": 2, "time_ms": 1200, **QUEUED},
        # Of clocks that were wrong; the others are from 0 to 9 s.
        {"kind": Kind.RECOVERED, "incarnation": 3, "time_ms": -(1 << 50), **QUEUED},
        {"kind": Kind.RECOVERED, "incarnation": 3, "time_ms": 1 << 50, **QUEUED},
    )
    told = figures.figures(records, SECONDS).where("figure = 'flow'")
    assert rows(told, "run", "at_ms", "count", "entered", "left", "change") == [
        (1, 0, 1, 1, 0, 1),
        (1, 1000, 0, 0, 1, -1),
        (2, 1000, 0, 0, 0, 1),
        (3, 0, 0, 0, 0, 1),
        (3, 9000, 0, 0, 0, 1),
    ]


def test_waits_are_exact_to_a_tenth_and_the_longest_exactly(frames) -> None:
    copies = [
        *whole_life(),
        *whole_life(message=2, position=2, node="r"),
        {"kind": Kind.ENTERED, "message": 3, "position": 3, "node": "q"},  # is still there
        {"kind": Kind.SENT, "flags": Flag.COPY, "message": 3, "position": 3, "node": "q"},
    ]
    told = figures.waits(frames.records(*copies))
    by_queue = told.where("figure = 'waits by queue'")
    assert rows(by_queue, "name", "count", "worst_ms") == [("q", 1, 1000), ("r", 1, 1000)]
    (whole,) = told.where("figure = 'waits'").collect()
    assert (whole["count"], whole["worst_ms"]) == (2, 1000)
    assert 900 <= whole["p50_ms"] <= whole["p99_ms"] <= 1000
    assert rows(told.where("figure = 'waits by route'"), "name", "count") == [("x", 2)]


def test_where_nothing_was_settled_nobody_has_waited(frames) -> None:
    assert figures.waits(frames.records(*whole_life()[:3])).collect() == []


def connection(protocol: str, client: str, **said: object) -> dict:
    line = {"kind": Kind.CONNECTION_OPENED, "exchange": protocol, "peer": client, "actor": "alice"}
    return line | said


def test_clients_are_one_whatever_is_random_in_their_names(frames) -> None:
    random = ("8c79d4bf-09b3-350a-9cd3-127a4be2ac36", "00000000-09b3-350a-9cd3-127a4be2ac36")
    records = frames.records(
        *(connection("AMQP 1.0", f"shop {each}", time_ms=7) for each in random),
        connection("AMQP 0-10", "old", time_ms=1500),
        connection("AMQP 1.0", "main", actor=None),  # an upstream
        {
            "kind": Kind.FEATURE_USED,
            "exchange": "dtx",
            "node": "old",
            "peer": "alice",
            "copies": 5,
            "position": 100,
            "message": 900,
        },
    )
    told = figures.figures(records, SECONDS)
    assert rows(told.where("figure = 'clients'"), "name", "of", "client", "count") == [
        ("AMQP 0-10", "alice", "old", 1),
        ("AMQP 1.0", "alice", "shop *", 2),
    ]
    assert rows(told.where("figure = 'protocols'"), "name", "at_ms", "count") == [
        ("AMQP 0-10", 1000, 1),
        ("AMQP 1.0", 0, 2),
    ]
    used = told.where("figure = 'features'")
    assert rows(used, "name", "of", "client", "count", "first_ms", "last_ms") == [
        ("dtx", "alice", "old", 5, 100, 900)
    ]


def test_of_very_many_queues_those_with_most_are_taken(frames, monkeypatch) -> None:
    monkeypatch.setattr(figures, "MOST", 2)
    copies = [
        line
        for number in range(1, 10)
        for line in whole_life(message=number, position=number, node=f"q{number % 4}")
    ]
    told = figures.figures(frames.records(*copies), SECONDS).where("figure = 'waits by queue'")
    assert rows(told, "name", "count") == [("q0", 2), ("q1", 3)]


def test_a_loss_is_of_the_queue_and_the_client_that_it_was_translated_for(frames) -> None:
    records = frames.records(
        connection("AMQP 1.0", "shop", connection=4),
        {"kind": Kind.LINK_ATTACHED, "link": 7, "node": "q", "connection": 4},
        {"kind": Kind.LINK_ATTACHED, "link": 8, "node": "r", "connection": 4},
        connection("AMQP 1.0", "another run", connection=4, incarnation=2),
    )
    summed = frames.table(
        "incarnation bigint, kind tinyint, link bigint, exchange string, reason smallint, "
        "`count` bigint",
        (1, int(Kind.TRANSLATED_WITH_LOSS), 7, "body.unread", int(Reason.DROP), 3),
        (1, int(Kind.TRANSLATED_WITH_LOSS), 9, "body.unread", int(Reason.DROP), 1),
    )
    lost = figures.losses_by_client(records, summed)
    assert rows(lost, "row", "node", "actor", "client", "count") == [
        ("body.unread", "q", "alice", "shop", 3),
        ("body.unread", None, None, None, 1),
    ]


@pytest.mark.parametrize("seconds", [0.01, 3, 200, 7000, 86_400, 9e6])
def test_a_part_of_spans_is_one_of_all_longer_ones(seconds):
    part = part_ms(span_ms(0, int(seconds * 1000)))
    for longer in (seconds * 1.5, seconds * 7, seconds * 40):
        assert span_ms(0, int(longer * 1000)) % part == 0
