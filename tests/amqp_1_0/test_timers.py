from support.rules import rule

from gateway.amqp_1_0.timers import CLOSE_TIMEOUT_MS, Timers


def test_the_handshake_comes_before_everything_else():
    timers = Timers(1000, 100, 50)
    assert timers.next_deadline() == 1100
    assert not timers.overdue(1099)
    assert timers.overdue(1100)


def test_an_open_connection_has_the_earlier_of_its_two_deadlines():
    timers = Timers(1000, 100, 500)
    timers.opened(400)
    assert timers.next_deadline() == 1200
    assert timers.must_speak(1200)
    timers.sent(1450)
    assert timers.next_deadline() == 1500
    assert timers.overdue(1500)
    timers.received(1500)
    assert timers.next_deadline() == 1650


def test_what_is_heard_and_not_read_counts_as_of_when_it_came():
    timers = Timers(1000, 100, 500)
    timers.opened(0)
    timers.heard(1200)
    timers.heard(1100)
    assert timers.next_deadline() == 1700
    assert not timers.overdue(1699)
    assert timers.overdue(1700)


def test_without_time_outs_there_is_no_deadline():
    timers = Timers(1000, 100, 0)
    timers.opened(0)
    assert timers.next_deadline() is None
    assert not timers.overdue(10**12)
    assert not timers.must_speak(10**12)


@rule("1.0", "2.4.3", "close-is-awaited-in-time")
def test_a_close_is_waited_for_once():
    timers = Timers(1000, 100, 500)
    timers.opened(100)
    timers.closing(2000)
    timers.closing(3000)
    assert timers.next_deadline() == 2000 + CLOSE_TIMEOUT_MS
    assert timers.given_up(2000 + CLOSE_TIMEOUT_MS)
    assert not timers.must_speak(10**9)


def test_in_the_handshake_the_time_that_we_take_does_not_count():
    timers = Timers(1000, 100, 0)
    timers.hold(1050)
    assert timers.next_deadline() is None
    assert not timers.overdue(10**9)
    timers.go_on(5050)
    timers.go_on(6000)
    assert timers.next_deadline() == 5100
    assert timers.overdue(5100)
    timers.hold(5060)
    timers.opened(0)
    timers.go_on(5070)
    assert not timers.overdue(5071)
