"""The stories of breaks, from the records around them."""

from support.results import broken

from gateway.accounting.telling.stories import STEPS, stories
from gateway.audit.schema import Flag, Kind, Outcome

COPY = {"message": 7, "node": "q", "position": 3}


def test_a_break_has_the_steps_of_its_message_with_both_sides(frames) -> None:
    records = frames.records(
        {"kind": Kind.INCARNATION_STARTED, "message": 7, "position": -1},
        {
            "kind": Kind.CONNECTION_OPENED,
            "connection": 4,
            "exchange": "AMQP 1.0",
            "actor": "alice",
            "peer": "shop",
        },
        {"kind": Kind.LINK_ATTACHED, "link": 9, "connection": 4, "node": "q"},
        {"kind": Kind.RECEIVED, "message": 7, "exchange": "x", "connection": 4, "copies": 1},
        {"kind": Kind.ENTERED, **COPY, "flags": Flag.DURABLE},
        {"kind": Kind.ENTERED, "message": 8, "node": "q", "position": 4},
        {"kind": Kind.SENT, **COPY, "link": 9},
        {"kind": Kind.SETTLED, **COPY, "link": 9, "outcome": Outcome.RELEASED},
    )
    (told,) = stories(records, [broken(message=7, sequence=7)], "/log")
    assert [line.split("  ", 2)[2].split(None, 1) for line in told.lines] == [
        ["received", "for x, from alice (AMQP 1.0)"],
        ["entered", "q, durable"],
        ["sent", "q, to alice (AMQP 1.0)"],
        ["settled", "q, by alice (AMQP 1.0), released"],
    ]
    assert told.command == "amqp-gateway audit trace --message 7 /log"


def test_of_a_long_story_what_is_nearest_to_the_break_is_told(frames) -> None:
    steps = [{"kind": Kind.ENTERED, **COPY}]
    for _ in range(60):
        steps += [{"kind": Kind.SENT, **COPY}, {"kind": Kind.REQUEUED, **COPY}]
    (told,) = stories(frames.records(*steps), [broken(message=7, sequence=100)], "/log")
    assert len(told.lines) == STEPS
    assert "entered" not in told.lines[0]


def test_of_a_message_of_which_the_log_has_no_step_there_is_nothing_to_type(frames) -> None:
    records = frames.records({"kind": Kind.ENTERED, **COPY})
    there, nowhere = stories(records, [broken(message=7), broken(message=9)], "/log")
    assert there.command == "amqp-gateway audit trace --message 7 /log"
    assert nowhere == ([], "")


def test_a_break_of_a_queue_is_asked_for_by_queue_and_time(frames) -> None:
    records = frames.records(
        *({"kind": Kind.QUEUE_CHECKPOINT, "node": "q", "time_ms": at} for at in (1000, 61_500))
    )
    rows = [broken(node="it's", since=1, sequence=2), broken("LOG_GAP", sequence=None)]
    by_queue, gap = stories(records, rows, "/log")
    assert by_queue.command == (
        "amqp-gateway audit trace --queue 'it'\"'\"'s' --since 1970-01-01T00:00:01.000Z "
        "--until 1970-01-01T00:01:01.500Z /log"
    )
    assert (gap.lines, gap.command) == ([], "")


def test_where_the_clock_went_back_in_between_all_of_that_time_is_asked_for(frames) -> None:
    records = frames.records(
        *({"kind": Kind.QUEUE_CHECKPOINT, "node": "q", "time_ms": at} for at in (61_500, 1000))
    )
    (told,) = stories(records, [broken(node="q", since=1, sequence=2)], "/log")
    assert "--since 1970-01-01T00:00:01.000Z --until 1970-01-01T00:01:01.500Z" in told.command


def test_without_breaks_nothing_is_read() -> None:
    assert stories(None, [], "/log") == []
