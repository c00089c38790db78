"""Which messages are followed, in which trace, and what is told of each."""

from translate.cases import Seen, annotation, in_1_0, new_message, old_message, prop, s, sym
from translate.messages import context

from gateway.amqp_0_10 import _spec_constants as old
from gateway.amqp_1_0 import types as new
from gateway.audit.schema import Kind, Outcome, Reason
from gateway.message import Delivery, Flag, Message
from gateway.translate.tracing.spans import Span, Step
from gateway.translate.tracing.traces import Traces
from gateway.wire.tagged import Tagged

TRACE = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
UNRECORDED = f"{TRACE[:-2]}00"
SALT = b"one gateway"


class Told:
    """What a `Spans` is told; each look at the clock is a microsecond later."""

    def __init__(self, room: int = 100) -> None:
        self.spans: list[Span] = []
        self.room = room
        self.at_us = 1000

    def now_us(self) -> int:
        self.at_us += 1
        return self.at_us

    def has_room(self) -> bool:
        return len(self.spans) < self.room

    def put(self, span: Span) -> None:
        self.spans.append(span)

    def steps(self) -> dict[Step, Span]:
        return {Step(span.step): span for span in self.spans}


def traces(told: Told, ratio: float = 1.0, per_second: int = 100, salt: bytes = SALT) -> Traces:
    return Traces(told, ratio, per_second, salt)


def come(following: Traces, message: Message) -> Message:
    following.arrives(message)
    following.received(message, "amq.topic", 2, 7, 900)
    return message


def delivery_of(message: Message) -> Delivery:
    return Delivery(message, 5, 40, 9, 0, True)


def with_header(text: str) -> Message:
    return old_message(headers=[("traceparent", Tagged(old.STR16, text))])


def test_a_publishers_trace_is_followed_if_it_is_recorded_whatever_the_ratio() -> None:
    told = Told()
    assert come(traces(told, 0.0), with_header(TRACE)).flags & Flag.TRACED
    receive = told.steps()[Step.RECEIVE]
    assert (f"{receive.trace_id:032x}", f"{receive.parent_id:016x}") == tuple(TRACE.split("-")[1:3])
    silent = Told()
    assert not come(traces(silent, 1.0), with_header(UNRECORDED)).flags & Flag.TRACED
    assert silent.spans == []


def test_of_messages_without_a_trace_a_share_is_followed() -> None:
    told = Told(10_000)
    following = traces(told, 0.25, 10_000)
    for number in range(1, 2001):
        message = old_message()
        message.id = number
        come(following, message)
    assert 400 < following.followed < 600
    assert len({span.trace_id for span in told.spans}) == following.followed
    assert not come(traces(told, 0.0), old_message()).flags & Flag.TRACED


def test_no_more_than_so_many_are_followed_in_a_second() -> None:
    following = traces(Told(), per_second=2)
    flags = []
    for number, arrived_ms in enumerate((5000, 5100, 5999, 6000), 1):
        message = with_header(TRACE)
        message.id, message.arrived_ms = number, arrived_ms
        flags.append(come(following, message).flags & Flag.TRACED != 0)
    assert flags == [True, True, False, True]
    assert (following.followed, following.passed_over) == (3, 1)


def test_steps_belong_to_one_another_and_last_as_long_as_they_took() -> None:
    told = Told()
    following = traces(told)
    message = come(following, new_message(to="q"))
    began_us = following.now_us()
    following.translated(message, began_us)
    delivery = delivery_of(message)
    following.sent(message, "orders", delivery, 950)
    following.settled(delivery, Kind.SETTLED, Outcome.REJECTED, Reason.NONE)
    steps = told.steps()
    assert set(steps) == set(Step) - {Step.END}
    receive, deliver = steps[Step.RECEIVE], steps[Step.DELIVER]
    parents = {step: span.parent_id for step, span in steps.items()}
    assert parents == {
        Step.RECEIVE: 0,
        Step.ROUTE: receive.span_id,
        Step.DELIVER: receive.span_id,
        Step.TRANSLATE: deliver.span_id,
        Step.SETTLE: deliver.span_id,
    }
    assert (
        len({span.span_id for span in told.spans})
        == len({span.trace_id for span in told.spans}) * 5
    )
    assert (receive.began_us, deliver.began_us) == (900, 950)
    assert steps[Step.TRANSLATE].began_us == began_us
    assert steps[Step.SETTLE].began_us == deliver.ended_us == delivery.sent_us
    assert all(span.began_us <= span.ended_us for span in told.spans)
    assert (receive.node, receive.copies, receive.link) == ("amq.topic", 2, 7)
    assert (deliver.node, deliver.position, deliver.link) == ("orders", 40, 9)
    assert steps[Step.SETTLE].outcome == Outcome.REJECTED
    assert {span.message for span in told.spans} == {message.id}


def test_another_delivery_of_the_copy_is_another_span() -> None:
    told = Told()
    following = traces(told)
    message = come(following, old_message())
    for _ in range(2):
        following.sent(message, "q", delivery_of(message), 950)
    first, second = [span for span in told.spans if span.step == Step.DELIVER]
    assert first.span_id != second.span_id


def test_a_message_that_was_on_disk_meanwhile_is_in_the_same_trace() -> None:
    told = Told()
    message = come(traces(told), old_message())
    later = Told()
    traces(later).sent(message, "q", delivery_of(message), 0)
    assert later.spans[0].trace_id == told.spans[0].trace_id
    assert later.spans[0].parent_id == told.steps()[Step.RECEIVE].span_id
    assert later.spans[0].began_us == message.arrived_ms * 1000
    other = Told()
    come(traces(other, salt=b"another gateway"), old_message())
    assert other.spans[0].trace_id != told.spans[0].trace_id


def test_what_is_not_delivered_has_a_last_span() -> None:
    told = Told()
    following = traces(told)
    message = come(following, with_header(TRACE))
    following.ended(message, Kind.EXPIRED, "orders", 40, Reason.TTL)
    end = told.spans[-1]
    assert (end.step, end.kind, end.reason, end.node) == (
        *(Step.END, Kind.EXPIRED, Reason.TTL, "orders"),
    )
    assert end.parent_id == told.steps()[Step.RECEIVE].span_id
    following.ended(message.hollow(), Kind.EXPIRED, "orders", 40, Reason.TTL)
    assert told.spans[-1] is end  # its trace would have to be read from the disk


def test_where_there_is_no_room_nothing_is_put() -> None:
    told = Told(0)
    following = traces(told)
    message = come(following, old_message())
    following.sent(message, "q", delivery_of(message), 950)
    following.settled(delivery_of(message), Kind.SETTLED, Outcome.ACCEPTED, Reason.NONE)
    following.ended(message, Kind.EXPIRED, "q", 1, Reason.TTL)
    assert told.spans == []


# What leaves.


def followed(message: Message, told: Told) -> Message:
    return come(traces(told), message)


def test_a_message_without_a_trace_leaves_with_the_gateways_where_it_is_translated() -> None:
    told = Told()
    message = followed(old_message(exchange="x"), told)
    receive = told.steps()[Step.RECEIVE]
    wanted = f"00-{receive.trace_id:032x}-{receive.span_id:016x}-01"
    there = in_1_0(message, context(traces=traces(told)))
    assert annotation(there, "traceparent") == (new.STRING, wanted)
    assert prop(there, "traceparent") is None
    assert Step.TRANSLATE not in told.steps()  # no outlet has taken it
    asked = Told()
    back = followed(new_message(to="q"), asked)
    receive = asked.steps()[Step.RECEIVE]
    headers = Seen(back, context(traces=traces(asked))).headers
    wanted = f"00-{receive.trace_id:032x}-{receive.span_id:016x}-01"
    assert headers["traceparent"] == Tagged(old.STR16, wanted)


def test_from_1_0_to_1_0_it_is_an_annotation_beside_the_same_bare_message() -> None:
    told = Told()
    message = followed(new_message(to="q", annotations=[(sym("x-opt-a"), s("1"))]), told)
    there = in_1_0(message, context(traces=traces(told)))
    assert annotation(there, "traceparent") is not None
    assert annotation(there, "x-opt-a") == (new.STRING, "1")
    without = in_1_0(message)
    assert {**there, "annotations": {}} == {**without, "annotations": {}}


def test_from_0_10_to_0_10_nothing_is_written() -> None:
    told = Told()
    message = followed(old_message(), told)
    assert Seen(message, context(traces=traces(told))).headers == {}


def test_a_publishers_own_is_all_that_there_is() -> None:
    told = Told()
    message = followed(with_header(TRACE), told)
    there = in_1_0(message, context(traces=traces(told)))
    assert prop(there, "traceparent") == (new.STRING, TRACE)
    assert there["annotations"] == {}


def test_a_message_that_is_not_followed_leaves_as_without_tracing() -> None:
    told = Told()
    message = come(traces(told, 0.0), old_message())
    assert in_1_0(message, context(traces=traces(told))) == in_1_0(message)


def test_a_message_of_a_foreign_format_is_left_alone() -> None:
    told = Told()
    message = new_message(to="q")
    message.message_format = 7
    followed(message, told)
    assert traces(told).with_own(message, b"") == b""
