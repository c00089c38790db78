"""Copies by position, against a sorted list."""

from hypothesis import given
from hypothesis import strategies as st
from support.bridge_world import World

from gateway.bridge.queues.places import Entry, Places

MESSAGE = World().message()


@given(
    st.lists(st.integers(1, 700), max_size=40),
    st.lists(st.integers(0, 60), max_size=60),
    st.lists(st.integers(0, 30_000), max_size=10),
)
def test_finds_what_a_sorted_list_would_find(
    gaps: list[int], removals: list[int], asked: list[int]
) -> None:
    places = Places()
    held: dict[int, Entry] = {}
    position = 0
    for gap in gaps:
        position += gap
        held[position] = Entry(position, MESSAGE, 0, False)
        places.append(held[position])
    for index in removals:
        if index < len(held):
            gone = sorted(held)[index]
            places.remove(held.pop(gone))
    position += 1
    held[position] = Entry(position, MESSAGE, 0, False)
    places.append(held[position])
    assert places.count == len(held)
    for wanted in [*asked, *held, 0]:
        assert places.get(wanted) is held.get(wanted)
        behind = [at for at in sorted(held) if at >= wanted]
        found = places.next_at(wanted)
        assert (found.position if found else None) == (behind[0] if behind else None)


def test_one_copy_left_at_the_head_does_not_keep_the_places_behind_it() -> None:
    places = Places()
    first = Entry(0, MESSAGE, 0, False)
    places.append(first)
    for position in range(1, 100_000):
        entry = Entry(position, MESSAGE, 0, False)
        places.append(entry)
        places.remove(entry)
    assert len(places._pages) <= 2
    assert places.next_at(0) is first
    assert places.next_at(1) is None
