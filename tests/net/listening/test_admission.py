"""Shares of addresses: how many connections, and how many of them are heard before their open."""

from collections.abc import Callable

import pytest

from gateway.net.counts import NetCounts
from gateway.net.listening.admission import Admission, share_of
from gateway.net.turn_shares import TurnShares


class Gate:
    """An admission, and who was let in late."""

    def __init__(self, *, per_address: int = 10, entering: int = 2) -> None:
        self.counts = NetCounts()
        self.let_in: list[int] = []
        self.admission = Admission(
            self.counts,
            self.at_once,
            TurnShares(),
            TurnShares(),
            per_address_max=per_address,
            entering_max=entering,
        )

    def at_once(self, let_in: Callable[[], None]) -> None:
        let_in()

    def enters(self, address: str, number: int) -> bool:
        assert self.admission.come(address)
        return self.admission.enter(address, number, lambda: self.let_in.append(number))

    def goes(self, address: str, number: int) -> None:
        self.admission.vacate(address, number)
        self.admission.gone(address)


@pytest.mark.parametrize(
    ("address", "share"),
    [
        ("192.0.2.1", "192.0.2.1"),
        ("::ffff:192.0.2.1", "192.0.2.1"),
        ("2001:db8::1", "2001:db8::/64"),
        ("2001:db8::ffff:1", "2001:db8::/64"),
        ("fe80::1%eth0", "fe80::/64"),
        ("unknown", "unknown"),
    ],
)
def test_an_ipv6_prefix_is_one_address(address: str, share: str) -> None:
    assert share_of(address) == share


def test_those_beyond_wait_in_their_order() -> None:
    gate = Gate()
    assert [gate.enters("a", number) for number in range(5)] == [True, True, False, False, False]
    assert gate.counts.waiting == 3
    gate.admission.entered("a", 1)
    assert gate.let_in == [2]
    gate.goes("a", 0)
    assert gate.let_in == [2, 3]
    gate.goes("a", 4)  # it waited
    gate.admission.entered("a", 2)
    assert gate.let_in == [2, 3]
    assert gate.counts.waiting == 0


def test_addresses_do_not_wait_for_one_another() -> None:
    gate = Gate()
    for number in range(5):
        gate.enters("a", number)
    assert gate.enters("b", 7)


def test_who_has_opened_and_goes_lets_nobody_in_twice() -> None:
    gate = Gate(entering=1)
    for number in range(3):
        gate.enters("a", number)
    gate.admission.entered("a", 0)
    gate.goes("a", 0)
    assert gate.let_in == [1]


def test_one_connection_too_many_is_not_let_in_until_another_one_goes() -> None:
    gate = Gate(per_address=2)
    gate.enters("a", 1)
    gate.enters("a", 2)
    assert not gate.admission.come("a")
    assert gate.admission.come("b")
    gate.goes("a", 1)
    assert gate.admission.come("a")
    assert gate.counts.refused["address_limit"] == 1


def test_whose_transport_is_gone_gives_its_place_back_before_its_end() -> None:
    gate = Gate(per_address=2, entering=1)
    for number in (1, 2):
        gate.enters("a", number)
    share = gate.admission.turn_share("a")
    gate.admission.vacate("a", 1)
    assert gate.let_in == [2]
    gate.admission.vacate("a", 2)
    for number in (3, 4):
        gate.enters("a", number)
    assert gate.let_in == [2]
    assert gate.counts.waiting == 1
    assert not gate.admission.come("a")
    assert gate.admission.turn_share("a") is share


def test_those_that_wait_for_their_end_are_no_more_than_there_may_be() -> None:
    gate = Gate(per_address=2)
    for number in range(4):
        gate.enters("a", number)
        gate.admission.vacate("a", number)
    assert not gate.admission.come("a")
    gate.admission.gone("a")
    assert gate.admission.come("a")
    assert not gate.admission.come("a")


def test_the_share_of_an_address_is_there_until_the_last_of_its_connections_is_over() -> None:
    gate = Gate()
    gate.enters("a", 1)
    share = gate.admission.turn_share("a")
    gate.admission.vacate("a", 1)
    gate.admission.entered("a", 1)  # what it had sent is read now
    gate.enters("a", 2)
    assert gate.admission.turn_share("a") is share
    gate.admission.gone("a")
    gate.goes("a", 2)
    gate.enters("a", 3)
    assert gate.admission.turn_share("a") is not share


def test_who_says_nothing_lends_its_place_on_where_others_wait() -> None:
    gate = Gate()
    for number in range(6):
        gate.enters("a", number)
    gate.enters("b", 7)
    gate.admission.lend_on(lambda number: number in (1, 7))
    assert gate.let_in == [2]
    assert gate.counts.waiting == 3
    gate.admission.entered("a", 1)  # it was heard all the same, and takes nobody along
    assert gate.let_in == [2]
    gate.admission.entered("a", 0)
    assert gate.let_in == [2, 3]
    for number in (8, 9):
        gate.enters("b", number)
    assert gate.let_in == [2, 3]  # 7 has kept its place, since nobody waited
    assert gate.counts.waiting == 3


def test_the_connections_of_an_address_have_one_share_of_a_turn() -> None:
    gate = Gate()
    for address in ("192.0.2.1", "192.0.2.1", "192.0.2.2"):
        gate.admission.come(address)
    share = gate.admission.turn_share("192.0.2.1")
    assert gate.admission.turn_share("::ffff:192.0.2.1") is share
    assert gate.admission.turn_share("192.0.2.2") is not share
