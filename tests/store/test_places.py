import random

from hypothesis import given
from hypothesis import strategies as st

from gateway.store.places import Places

EVERYTHING = 2**62


def test_an_entry_is_in_the_row_where_it_was_put_last_until_it_is_taken() -> None:
    places = Places()
    assert places.put(300, 7) == 0
    assert places.put(300, 9) == 7
    assert (places.get(300), places.count) == (9, 1)
    assert places.take(300) == 9
    assert (places.take(300), places.get(300), places.count) == (0, 0, 0)


def test_what_never_lived_is_in_no_row() -> None:
    places = Places()
    places.put(3, 1)
    for position in (0, 2, 200, 10**12):
        assert (places.get(position), places.take(position)) == (0, 0)
    assert places.count == 1


def test_a_part_of_a_queue_is_named_by_position_however_far_the_neighbours_are() -> None:
    places = Places()
    for position in (10**15, 5, 255, 256, 1000):
        places.put(position, position + 1)
    assert places.living(0, EVERYTHING, 99) == [
        (position, position + 1) for position in (5, 255, 256, 1000, 10**15)
    ]
    assert [position for position, _row in places.living(255, 1000, 99)] == [255, 256]
    assert places.living(6, 255, 99) == []


def test_no_more_pages_are_looked_at_than_have_what_is_wanted_at_most() -> None:
    places = Places()
    for position in range(2000):
        places.put(position, 1)
    assert [position for position, _row in places.living(100, 2000, 200)] == list(range(100, 512))


@given(st.integers(0, 2**32))
def test_whatever_comes_and_goes_the_rows_are_those_of_a_dict(seed: int) -> None:
    chance = random.Random(seed)
    places = Places()
    model: dict[int, int] = {}
    for _ in range(chance.randrange(300)):
        position = chance.choice([chance.randrange(20), chance.randrange(2000), 2**50])
        if chance.random() < 0.6:
            row = chance.randrange(1, 2**40)
            assert places.put(position, row) == model.get(position, 0)
            model[position] = row
        else:
            assert places.take(position) == model.pop(position, 0)
        assert places.count == len(model)
        assert places.get(position) == model.get(position, 0)
    assert places.living(0, EVERYTHING, EVERYTHING) == sorted(model.items())
    first, behind = chance.randrange(2000), chance.randrange(2000)
    part = [(at, model[at]) for at in sorted(model) if first <= at < behind]
    assert places.living(first, behind, EVERYTHING) == part
