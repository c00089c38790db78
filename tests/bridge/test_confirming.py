"""What publishers are told is in the log by ranges, not message by message."""

from support.bridge_ledger import BlockLog, Record

from gateway.audit.records.log import AuditLog
from gateway.audit.schema import Kind
from gateway.bridge.confirming import ACCEPTED, REJECTED, Confirming, Part, Told, outcome_of
from gateway.message import OutcomeKind


class Desk:
    """A log, and publishers whose messages are numbered as they come."""

    def __init__(self) -> None:
        self.audit = AuditLog(1)
        self.confirming = Confirming(self.audit)
        self.log = BlockLog()
        self.number = 0

    def publisher(self, link: int) -> Told:
        return Told(self.confirming, link, 7)

    def publishes(self, told: Told) -> Part:
        self.number += 1
        told.came(self.number)
        return told.part()

    def turn(self) -> list[tuple[int, int, int, int, int]]:
        """Link, first, last, count and outcome of what the turn tells."""
        before = len(self.log.records())
        self.confirming.record(1)
        self.log.append(self.audit.take_block(1))
        made: list[Record] = self.log.records()[before:]
        assert all(record.kind == Kind.CONFIRMED for record in made)
        return [
            (each.link, each.message, each.position, each.copies, each.outcome) for each in made
        ]


def test_a_turn_of_one_publisher_is_one_record() -> None:
    desk = Desk()
    told = desk.publisher(5)
    for _ in range(100):
        desk.publishes(told)
        told.tell_last(ACCEPTED)
    assert desk.turn() == [(5, 1, 100, 100, ACCEPTED)]
    assert desk.turn() == []


def test_messages_of_others_in_between_are_not_in_its_range() -> None:
    desk = Desk()
    one, two = desk.publisher(5), desk.publisher(6)
    for told in (one, two, one, two, one):
        desk.publishes(told)
        told.tell_last(ACCEPTED)
    assert desk.turn() == [(5, 1, 5, 3, ACCEPTED), (6, 2, 4, 2, ACCEPTED)]


def test_what_waits_ends_a_range_and_is_told_by_itself() -> None:
    desk = Desk()
    told = desk.publisher(5)
    desk.publishes(told)
    told.tell_last(ACCEPTED)
    waits = desk.publishes(told)
    desk.publishes(told)
    told.tell_last(ACCEPTED)
    assert desk.turn() == [(5, 1, 1, 1, ACCEPTED), (5, 3, 3, 1, ACCEPTED)]
    told.tell(waits, REJECTED)
    assert desk.turn() == [(5, 2, 2, 1, REJECTED)]


def test_so_does_another_outcome() -> None:
    desk = Desk()
    told = desk.publisher(5)
    parts = [desk.publishes(told) for _ in range(4)]
    for part, kind in zip(
        parts,
        (OutcomeKind.RELEASED, OutcomeKind.RELEASED, OutcomeKind.MODIFIED, OutcomeKind.ACCEPTED),
        strict=True,
    ):
        told.tell(part, outcome_of(kind))
    assert [(first, last) for _, first, last, _, _ in desk.turn()] == [(1, 2), (3, 3), (4, 4)]


def test_a_batch_is_as_many_messages_as_it_has() -> None:
    desk = Desk()
    told = desk.publisher(5)
    desk.publishes(told)
    told.tell_last(ACCEPTED)
    told.tell(Part(1, 2, 11, 10), ACCEPTED)
    assert desk.turn() == [(5, 1, 11, 11, ACCEPTED)]
