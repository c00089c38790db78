"""What is counted of each row of the log."""

from hypothesis import given
from hypothesis import strategies as st

from gateway.store.tallies import COUNTS, FIELDS, LIVE, SHARE, SIZE, SUPERSEDING, Tallies

NUMBERS = st.integers(1, 60)
STEPS = st.lists(st.tuples(st.sampled_from("apr"), NUMBERS, st.integers(1, 4), st.integers(0, 9)))


@given(STEPS)
def test_each_row_has_its_own_numbers_whatever_comes_and_goes_beside_it(
    steps: list[tuple[str, int, int, int]],
) -> None:
    tallies = Tallies()
    model: dict[int, list[int]] = {}
    for step, number, field, value in steps:
        if step == "a" and number not in model:
            tallies.add(number, value)
            model[number] = [value + 1, 0, 0, 0, 0]
        elif step == "p" and number in model:
            tallies.put(number, field, value)
            model[number][field] = value
        elif step == "r" and number in model:
            tallies.remove(number)
            del model[number]
    assert tallies.count == len(model)
    for number in range(70):
        expected = model.get(number, [0] * FIELDS)
        assert [tallies.get(number, field) for field in range(FIELDS)] == expected
        assert tallies.size(number) == expected[SIZE] - 1
    for number, numbers in model.items():
        missed = numbers[LIVE] or numbers[COUNTS] or numbers[SUPERSEDING]
        assert tallies.is_dead(number) == (not missed)


def test_rows_that_have_gone_leave_nothing() -> None:
    tallies = Tallies()
    for number in range(1, 1000):
        tallies.add(number, 10)
        tallies.put(number, SHARE, 5)
    for number in range(1, 1000):
        tallies.remove(number)
    assert (tallies.count, tallies._pages) == (0, {})
