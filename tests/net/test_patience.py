"""Time of a handshake in which the gateway has not got to what came is not its peer's."""

from gateway.net.patience import AGAIN_MS, MOST, Patience

LIMIT = 10_000


def test_who_says_nothing_has_its_limit_and_no_more() -> None:
    patience = Patience(0, LIMIT)
    assert patience.until(LIMIT - 1, 0, behind=False) == LIMIT - 1  # perhaps by another limit
    assert patience.until(LIMIT, 0, behind=False) == LIMIT


def test_so_has_who_says_little_by_little() -> None:
    patience = Patience(0, LIMIT)
    for at_ms in range(1000, LIMIT + 1, 1000):
        patience.step(at_ms, 0, at_ms)
    assert patience.until(LIMIT, 0, behind=False) == LIMIT


def test_what_waits_for_us_is_waited_for_but_not_for_ever() -> None:
    patience = Patience(0, LIMIT)
    assert patience.until(LIMIT, 0, behind=True) == LIMIT + AGAIN_MS
    end = MOST * LIMIT
    assert patience.until(end - 1, 0, behind=True) == end
    assert patience.until(end, 0, behind=True) == end


def test_the_peers_time_is_from_our_octets_until_its_own() -> None:
    patience = Patience(0, LIMIT)
    patience.step(8000, 0, 1000)  # a second of its own: what came waited for seven
    patience.step(15_000, 9000, 11_000)  # two: our answer was not written at once
    assert patience.until(15_500, 9000, behind=False) == 15_000 + LIMIT - 3000
    assert patience.until(16_000, 15_900, behind=False) == 15_900 + LIMIT - 3000
    assert patience.until(22_900, 15_900, behind=False) == 22_900


def test_who_waits_to_be_let_in_has_as_much_more() -> None:
    patience = Patience(0, LIMIT)
    patience.wait(5000)
    assert patience.until(LIMIT + 4999, 0, behind=True) == LIMIT + 4999
    assert patience.until(LIMIT + 5000, 0, behind=False) == LIMIT + 5000
    assert patience.until(MOST * LIMIT + 4000, 0, behind=True) == MOST * LIMIT + 5000
