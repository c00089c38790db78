"""What expires next, against a list of everything that does."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st
from support.bridge_world import World

from gateway.bridge.queues.expiring import Expiring
from gateway.bridge.queues.places import AVAILABLE, Entry, Places
from gateway.message import NEVER, Message

WORLD = World()


def expiring_at(expires_ms: int) -> Message:
    message = WORLD.message()
    message.expires_ms = expires_ms
    return message


@given(
    st.lists(st.tuples(st.integers(1, 300), st.integers(0, 50)), max_size=40),
    st.lists(st.tuples(st.sampled_from(["hold", "give", "leave", "expire"]), st.integers(0, 60))),
)
def test_everything_expires_in_its_time_and_nothing_else(
    copies: list[tuple[int, int]], steps: list[tuple[str, int]]
) -> None:
    places = Places()
    expiring = Expiring(places)
    held: list[Entry] = []
    there: list[Entry] = []
    position = 0
    for gap, expires_ms in copies:
        position += gap
        entry = Entry(position, expiring_at(expires_ms or NEVER), 0, False)
        places.append(entry)
        there.append(entry)
        if expires_ms:
            expiring.came(position, expires_ms)
    now_ms = 0
    for what, number in steps:
        if what == "hold" and number < len(there):
            entry = there.pop(number)
            entry.holder = 1
            held.append(entry)
        elif what == "give" and number < len(held):
            entry = held.pop(number)
            entry.holder = AVAILABLE
            there.append(entry)
            if entry.message.expires_ms != NEVER:
                expiring.came(entry.position, entry.message.expires_ms)
        elif what == "leave" and number < len(there):
            places.remove(there.pop(number))
        elif what == "expire":
            now_ms = max(now_ms, number)
            over = [each for each in there if 0 < each.message.expires_ms <= now_ms]
            found = []
            while (due := expiring.next(now_ms)) is not None:
                places.remove(due)
                found.append(due)
            assert sorted(each.position for each in found) == sorted(each.position for each in over)
            there = [each for each in there if each not in over]
        times = [each.message.expires_ms for each in there if each.message.expires_ms > now_ms]
        next_ms = expiring.next_ms()
        assert not times or (next_ms is not None and next_ms <= min(times))


def test_copies_that_expire_one_after_the_other_have_one_time_a_page() -> None:
    places = Places()
    expiring = Expiring(places)
    for position in range(10_000):
        places.append(Entry(position, expiring_at(position + 1), 0, False))
        expiring.came(position, position + 1)
    assert len(expiring._heap) == 40


def test_times_that_were_superseded_do_not_pile_up() -> None:
    places = Places()
    expiring = Expiring(places)
    for position in range(10_000):
        places.append(Entry(position, expiring_at(20_000 - position), 0, False))
        expiring.came(position, 20_000 - position)
    assert len(expiring._heap) <= 2 * 40 + 64
