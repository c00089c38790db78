"""Guessing is made slow, and nobody is locked out by what somebody else does."""

from gateway.net.listening import throttle
from gateway.net.listening.throttle import Throttle


class Guard:
    """A throttle, and logins that fail or succeed when they may begin."""

    def __init__(self) -> None:
        self.throttle = Throttle()
        self.now_ms = 1_000_000

    def guess(self, address: str, user: str) -> int | None:
        wait_ms = self.throttle.begin(address, user, self.now_ms)
        if wait_ms is not None:
            self.now_ms += wait_ms
            self.throttle.failed(address, user, self.now_ms)
        return wait_ms

    def wait_ms(self, address: str, user: str) -> int | None:
        return self.throttle.begin(address, user, self.now_ms)


def test_a_few_failures_are_free_and_then_each_try_waits_longer() -> None:
    guard = Guard()
    waits = [guard.guess("a", "alice") for _ in range(10)]
    assert waits == [0, 0, 0, 250, 500, 1000, 1000, 1000, 1000, 1000]


def test_tries_at_once_do_not_wait_for_one_another_until_there_were_many() -> None:
    guard = Guard()
    for _ in range(throttle.PAIR_AT_ONCE - 1):
        guard.guess("a", "alice")
    assert [guard.wait_ms("a", "alice") for _ in range(100)] == [2000] * 100  # the address's
    guard.throttle.failed("a", "alice", guard.now_ms)
    assert [guard.wait_ms("a", "alice") for _ in range(3)] == [4000, None, None]
    assert guard.wait_ms("a", "bob") is not None


def test_an_address_floods_while_all_that_it_tries_is_wrong() -> None:
    guard = Guard()
    guard.throttle.succeeded("a", "known", guard.now_ms)
    for number in range(throttle.FLOOD):
        assert not guard.throttle.floods("a", "alice", guard.now_ms)
        guard.guess("a", f"name {number}")
    assert guard.throttle.floods("a", "alice", guard.now_ms)
    assert not guard.throttle.floods("a", "known", guard.now_ms)
    assert not guard.throttle.floods("b", "alice", guard.now_ms)
    guard.throttle.succeeded("a", "bob", guard.now_ms)
    assert not guard.throttle.floods("a", "alice", guard.now_ms)
    for _ in range(throttle.FLOOD):
        guard.guess("a", "known")
    assert guard.throttle.floods("a", "known", guard.now_ms)
    guard.now_ms += throttle.FORGOTTEN_MS
    assert not guard.throttle.floods("a", "alice", guard.now_ms)


def test_a_right_password_ends_the_waiting_of_its_pair() -> None:
    guard = Guard()
    for _ in range(6):
        guard.guess("a", "alice")
    guard.throttle.succeeded("a", "alice", guard.now_ms)
    assert guard.wait_ms("a", "alice") == 0


def test_who_guesses_a_name_from_elsewhere_does_not_lock_its_owner_out() -> None:
    guard = Guard()
    guard.throttle.succeeded("home", "alice", guard.now_ms)
    for number in range(1000):
        guard.guess(f"bot {number % 50}", "alice")
    assert guard.wait_ms("home", "alice") == 0
    assert guard.wait_ms("a new place", "alice") == throttle.USER_DELAY_MS
    assert guard.wait_ms("a new place", "bob") == 0


def test_many_names_from_one_address_wait_but_not_those_who_have_been_there() -> None:
    guard = Guard()
    guard.throttle.succeeded("balancer", "alice", guard.now_ms)
    waits = [guard.guess("balancer", f"name {number}") for number in range(40)]
    assert waits[: throttle.ADDRESS_FREE] == [0] * throttle.ADDRESS_FREE
    assert waits[throttle.ADDRESS_FREE :] == [50, 100, 200, 400, 800, 1600, *[2000] * 4]
    assert [guard.wait_ms("balancer", f"other {number}") for number in range(100)] == [2000] * 100
    assert guard.wait_ms("balancer", "alice") == 0
    assert guard.wait_ms("elsewhere", "name 1") == 0


def test_what_is_old_is_forgotten() -> None:
    guard = Guard()
    for _ in range(8):
        guard.guess("a", "alice")
    guard.now_ms += throttle.FORGOTTEN_MS
    assert [guard.guess("a", "alice") for _ in range(3)] == [0, 0, 0]
    assert len(guard.throttle) == 3


def test_the_tables_are_bounded_whatever_comes() -> None:
    guard = Guard()
    for number in range(throttle.ENTRIES_MAX + 500):
        guard.throttle.failed(f"address {number}", f"name {number}" * 100, guard.now_ms)
        guard.throttle.succeeded(f"other {number}", "alice\udc80", guard.now_ms)
    assert len(guard.throttle) == 4 * throttle.ENTRIES_MAX
    guard.now_ms += throttle.FORGOTTEN_MS
    guard.throttle.failed("a", "b", guard.now_ms)
    assert len(guard.throttle) == throttle.ENTRIES_MAX + 3
