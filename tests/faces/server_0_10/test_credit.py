"""The credit of a subscription, in both modes and both units."""

from __future__ import annotations

from gateway.bridge.queues.subscription import UNLIMITED
from gateway.faces.server_0_10.credit import INFINITE, Allowance, Credit


def credit(messages: int | None, octets: int | None) -> Credit:
    made = Credit()
    made.messages.add(messages)
    made.octets.add(octets)
    return made


def test_what_is_infinite_stays_so() -> None:
    allowance = Allowance()
    allowance.add(INFINITE)
    allowance.add(5)
    allowance.spend(1_000, window=False)
    assert allowance.left() == UNLIMITED
    assert allowance.covers(10**12)


def test_credit_that_is_absent_is_infinite() -> None:
    assert credit(None, None).left() == UNLIMITED


def test_without_octets_no_message_may_be_sent() -> None:
    assert credit(10, 0).left() == 0


def test_in_window_mode_completion_gives_back_what_was_sent() -> None:
    made = credit(2, 100)
    made.sent(60)
    assert (made.left(), made.octets.left()) == (1, 40)
    assert not made.octets.covers(41)
    made.completed(60, made.era)
    assert (made.left(), made.octets.left()) == (2, 100)
    assert made.due


def test_in_credit_mode_what_was_sent_is_used_up() -> None:
    made = credit(2, 100)
    made.set_window(False)
    made.sent(60)
    assert (made.left(), made.octets.left()) == (1, 40)


def test_a_change_of_mode_keeps_what_is_left_and_forgets_what_is_uncompleted() -> None:
    made = credit(2, 100)
    era = made.era
    made.sent(60)
    made.set_window(False)
    made.set_window(True)
    assert (made.left(), made.octets.left()) == (1, 40)
    made.completed(60, era)
    assert (made.left(), made.octets.left()) == (1, 40)
    assert not made.due


def test_the_same_mode_again_changes_nothing() -> None:
    made = credit(2, 100)
    made.sent(60)
    made.set_window(True)
    made.completed(60, 0)
    assert made.left() == 2


def test_at_its_end_it_is_zero_in_both_units() -> None:
    made = credit(None, None)
    made.end()
    assert made.left() == 0
    assert not made.octets.covers(1)
