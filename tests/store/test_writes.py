from hypothesis import given
from hypothesis import strategies as st
from support.stores import message

from gateway.message import Message
from gateway.store.log_rows import read_message, walk
from gateway.store.writes import TurnWriter

I64 = st.integers(-(2**63), 2**63 - 1)
U32 = st.integers(0, 2**32 - 1)
TEXT = st.text(st.characters(codec="utf-8"), max_size=40)


class Told:
    """Everything that a walk tells, in order."""

    def __init__(self) -> None:
        self.records: list[tuple[object, ...]] = []

    def on_message(self, message_id: int, octets: bytes, start: int, end: int) -> None:
        self.records.append(("message", message_id, read_message(octets, start, end)))

    def on_enqueue(self, queue_id: int, position: int, message_id: int) -> None:
        self.records.append(("enqueue", queue_id, position, message_id))

    def on_dequeue(self, queue_id: int, position: int) -> None:
        self.records.append(("dequeue", queue_id, position))

    def on_redelivered(self, queue_id: int, position: int, count: int, annotations: bytes) -> None:
        self.records.append(("redelivered", queue_id, position, count, annotations))

    def on_topology(self, kind: int, key: str, value: bytes) -> None:
        self.records.append(("topology", kind, key, value))

    def on_topology_removed(self, kind: int, key: str) -> None:
        self.records.append(("topology_removed", kind, key))

    def on_topology_cleared(self, kind: int, first: str, behind: str) -> None:
        self.records.append(("topology_cleared", kind, first, behind))


def told(writes: bytes) -> list[tuple[object, ...]]:
    listener = Told()
    walk(writes, listener)
    return listener.records


@st.composite
def messages(draw: st.DrawFn) -> Message:
    payload = draw(st.binary(max_size=60))
    return Message(
        draw(I64),
        draw(st.integers(0, 255)),
        payload,
        draw(st.integers(0, len(payload))),
        draw(U32),
        draw(st.booleans()),
        draw(st.integers(-1, 255)),
        draw(I64),
        draw(I64),
        draw(I64),
        draw(TEXT),
        draw(TEXT),
        draw(U32),
        draw(U32),
        0,
        draw(I64),
        draw(I64),
        None,
    )


@given(messages())
def test_every_fact_of_a_message_comes_back(sent: Message) -> None:
    writer = TurnWriter()
    writer.message(sent)
    writer.enqueue(7, 8, sent.id)
    assert told(writer.take()) == [("message", sent.id, sent), ("enqueue", 7, 8, sent.id)]


@given(I64, I64, U32, TEXT, st.binary(max_size=40))
def test_the_other_records_come_back_in_order(
    queue_id: int, position: int, count: int, key: str, value: bytes
) -> None:
    writer = TurnWriter()
    writer.dequeue(queue_id, position)
    writer.redelivered(queue_id, position, count)
    writer.redelivered(queue_id, position, count, value)
    writer.topology(count, key, value)
    writer.topology_removed(count, key)
    writer.topology_cleared(count, key, "behind")
    assert told(writer.take()) == [
        ("dequeue", queue_id, position),
        ("redelivered", queue_id, position, count, b""),
        ("redelivered", queue_id, position, count, value),
        ("topology", count, key, value),
        ("topology_removed", count, key),
        ("topology_cleared", count, key, "behind"),
    ]


def test_the_publisher_and_the_reader_are_not_kept() -> None:
    writer = TurnWriter()
    writer.message(message(1, publisher=9, reader=object()))
    ((_what, _number, kept),) = told(writer.take())
    assert isinstance(kept, Message)
    assert (kept.publisher, kept.reader) == (0, None)


def test_a_turn_without_durable_effects_is_empty() -> None:
    assert TurnWriter().take() == b""


def test_a_writer_starts_anew_after_take() -> None:
    writer = TurnWriter()
    writer.dequeue(1, 1)
    writer.take()
    assert writer.take() == b""
    writer.dequeue(1, 2)
    assert told(writer.take()) == [("dequeue", 1, 2)]


def test_turns_can_be_put_one_after_another() -> None:
    writer = TurnWriter()
    writer.dequeue(1, 1)
    first = writer.take()
    writer.topology(2, "key", b"value")
    assert told(first + writer.take()) == [("dequeue", 1, 1), ("topology", 2, "key", b"value")]
