"""What was sent is confirmed by its completion and a look at its queue behind it."""

from gateway.faces.upstream_0_10.unconfirmed import Unconfirmed
from gateway.message import Condition, Outcome, OutcomeKind, Refusal

REFUSED = Outcome(OutcomeKind.REJECTED)
MISSING = Refusal(Condition.NOT_FOUND, "gone")


def sent(*ids, queue="q"):
    unconfirmed = Unconfirmed()
    for command_id in ids:
        unconfirmed.add(command_id, f"d{command_id}", queue)
    return unconfirmed


def told(ended):
    return [(each.delivery, each.outcome.kind) for each in ended]


def test_a_transfer_to_an_exchange_ends_with_its_completion():
    unconfirmed = sent(1, 2, queue="")
    assert told(unconfirmed.on_completed([(0, 1)])) == [("d1", OutcomeKind.ACCEPTED)]
    assert len(unconfirmed) == 1


def test_one_to_a_queue_waits_for_a_question_behind_it():
    unconfirmed = sent(1, 2)
    assert told(unconfirmed.on_completed([(1, 2)])) == []
    assert told(unconfirmed.on_seen("q", 2)) == [("d1", OutcomeKind.ACCEPTED)]
    assert told(unconfirmed.on_seen("other", 9)) == []
    assert told(unconfirmed.on_seen("q", 3)) == [("d2", OutcomeKind.ACCEPTED)]
    assert len(unconfirmed) == 0


def test_the_answer_may_come_before_the_completion():
    unconfirmed = sent(0xFFFFFFFF)  # ids are serial numbers
    assert told(unconfirmed.on_seen("q", 0)) == []
    ended = unconfirmed.on_completed([(0xFFFFFFFF, 0)])
    assert told(ended) == [("d4294967295", OutcomeKind.ACCEPTED)]


def test_what_may_have_gone_with_its_queue_is_not_confirmed():
    unconfirmed = sent(1, 2, 5)
    unconfirmed.on_completed([(1, 1)])
    ended = unconfirmed.on_missing("q", 3, MISSING)
    assert told(ended) == [("d1", OutcomeKind.REJECTED), ("d2", OutcomeKind.REJECTED)]
    assert ended[0].outcome.condition == Condition.NOT_FOUND
    assert unconfirmed.deliveries() == ["d5"]


def test_a_rejection_counts_when_the_transfer_is_completed():
    unconfirmed = sent(1, 2, 3, queue="")
    unconfirmed.on_rejected([(2, 900_000_000)], REFUSED)  # a wide range costs no more
    assert told(unconfirmed.on_completed([(1, 3)])) == [
        ("d1", OutcomeKind.ACCEPTED),
        ("d2", OutcomeKind.REJECTED),
        ("d3", OutcomeKind.REJECTED),
    ]


def test_what_an_exception_names_is_taken_out_and_the_rest_is_in_doubt_in_order():
    unconfirmed = sent(1, 2, 3)
    unconfirmed.on_completed([(1, 1)])
    assert unconfirmed.take(2) == "d2"
    assert unconfirmed.take(2) is None
    assert unconfirmed.take_all() == ["d1", "d3"]
    assert len(unconfirmed) == 0
