"""What was sent is confirmed by its completion and a look at its queue behind it."""

from support.bridge_world import World

from gateway.faces.upstream_0_10.unconfirmed import Unconfirmed
from gateway.message import Condition, Delivery, Outcome, OutcomeKind, Refusal

REFUSED = Outcome(OutcomeKind.REJECTED)
MISSING = Refusal(Condition.NOT_FOUND, "gone")


def sent(*ids, queue="q"):
    """Deliveries whose positions are their command ids."""
    unconfirmed = Unconfirmed()
    message = World().message()
    for command_id in ids:
        unconfirmed.add(command_id, Delivery(message, 1, command_id, 1, 0, True), queue)
    return unconfirmed


def which(deliveries):
    return [each.position for each in deliveries]


def told(ended):
    return [(each.delivery.position, each.outcome.kind) for each in ended]


def test_a_transfer_to_an_exchange_ends_with_its_completion():
    unconfirmed = sent(1, 2, queue="")
    assert told(unconfirmed.on_completed([(0, 1)])) == [(1, OutcomeKind.ACCEPTED)]
    assert len(unconfirmed) == 1


def test_one_to_a_queue_waits_for_a_question_behind_it():
    unconfirmed = sent(1, 2)
    assert told(unconfirmed.on_completed([(1, 2)])) == []
    assert told(unconfirmed.on_seen("q", 2)) == [(1, OutcomeKind.ACCEPTED)]
    assert told(unconfirmed.on_seen("other", 9)) == []
    assert told(unconfirmed.on_seen("q", 3)) == [(2, OutcomeKind.ACCEPTED)]
    assert len(unconfirmed) == 0


def test_the_answer_may_come_before_the_completion():
    unconfirmed = sent(0xFFFFFFFF)  # ids are serial numbers
    assert told(unconfirmed.on_seen("q", 0)) == []
    ended = unconfirmed.on_completed([(0xFFFFFFFF, 0)])
    assert told(ended) == [(4294967295, OutcomeKind.ACCEPTED)]


def test_what_may_have_gone_with_its_queue_is_not_confirmed():
    unconfirmed = sent(1, 2, 5)
    unconfirmed.on_completed([(1, 1)])
    ended = unconfirmed.on_missing("q", 3, MISSING)
    assert told(ended) == [(1, OutcomeKind.REJECTED), (2, OutcomeKind.REJECTED)]
    assert ended[0].outcome.condition == Condition.NOT_FOUND
    assert which(unconfirmed.deliveries()) == [5]


def test_a_rejection_counts_when_the_transfer_is_completed():
    unconfirmed = sent(1, 2, 3, queue="")
    unconfirmed.on_rejected([(2, 900_000_000)], REFUSED)  # a wide range costs no more
    assert told(unconfirmed.on_completed([(1, 3)])) == [
        (1, OutcomeKind.ACCEPTED),
        (2, OutcomeKind.REJECTED),
        (3, OutcomeKind.REJECTED),
    ]


def test_what_an_exception_names_is_taken_out_and_the_rest_is_in_doubt_in_order():
    unconfirmed = sent(1, 2, 3)
    unconfirmed.on_completed([(1, 1)])
    assert unconfirmed.take(2).position == 2
    assert unconfirmed.take(2) is None
    assert which(unconfirmed.take_all()) == [1, 3]
    assert len(unconfirmed) == 0
