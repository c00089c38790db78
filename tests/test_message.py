"""The values that the middle speaks."""

from gateway.message import (
    ACCEPTED,
    MODIFIED_FAILED,
    RELEASED,
    Delivery,
    Kind,
    Message,
    Outcome,
    OutcomeKind,
)
from gateway.wire.tagged import Tagged


class Reader:
    def header(self, message: Message, name: str) -> Tagged | None:
        return Tagged(Kind.STRING, "v") if name == "n" else None

    def headers(self, message: Message) -> dict[str, Tagged]:
        return {"n": Tagged(Kind.STRING, "v")}

    def selectable(self, message: Message, name: str) -> Tagged | None:
        return Tagged(Kind.STRING, "s") if name == "n" else None

    def body_digest(self, message: Message) -> int:
        return 0


def message(reader: Reader | None) -> Message:
    return Message(7, 0, b"headbody", 4, 0, True, -1, -1, 0, 1, "x", "k", 0, 0, 3, 0, 0, reader)


def test_the_body_is_what_lies_behind_the_head_and_the_size_is_of_both() -> None:
    assert message(None).body() == b"body"
    assert message(None).size() == 8


def test_a_message_is_asked_for_headers_through_its_reader() -> None:
    assert message(None).header("n") is None
    assert message(Reader()).header("n") == Tagged(Kind.STRING, "v")
    assert message(Reader()).header("m") is None


def test_the_constant_outcomes_are_what_they_say() -> None:
    assert Outcome(OutcomeKind.ACCEPTED) == ACCEPTED
    assert Outcome(OutcomeKind.MODIFIED, delivery_failed=True) == MODIFIED_FAILED
    assert RELEASED != MODIFIED_FAILED


def test_a_new_delivery_is_not_settled() -> None:
    delivery = Delivery(message(None), 1, 2, 3, 4, True)
    assert not delivery.settled
    assert (delivery.queue, delivery.position, delivery.subscription) == (1, 2, 3)
