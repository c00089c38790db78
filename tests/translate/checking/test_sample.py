"""Which messages are looked at."""

from gateway.translate.checking.sample import KINDS_MAX, OF_EACH, ONE_IN, Kinds, is_sampled


def test_it_is_one_in_64_of_consecutive_messages_and_of_every_64th() -> None:
    first = 7 << 40
    for step in (1, 2, 64, 100):
        taken = sum(is_sampled(first + step * number) for number in range(64_000))
        assert 500 < taken * ONE_IN // 64 < 1500, step


def test_a_message_is_or_is_not_whenever_it_is_translated() -> None:
    assert [is_sampled(number) for number in range(500)] == [
        is_sampled(number) for number in range(500)
    ]
    assert any(is_sampled(number) for number in range(500))


def test_the_first_of_each_kind_are_however_they_come() -> None:
    kinds = Kinds()
    assert [kinds.is_rare(7) for _ in range(OF_EACH + 2)] == [True] * OF_EACH + [False] * 2
    mixed = [kinds.is_rare(kind) for _ in range(OF_EACH + 5) for kind in (7, 8, 9)]
    assert mixed.count(True) == 2 * OF_EACH
    assert not any(kinds.is_rare(kind) for kind in (9, 8, 7))


def test_who_makes_ever_new_kinds_takes_no_more_than_so_many() -> None:
    kinds = Kinds()
    assert sum(kinds.is_rare(kind) for kind in range(10 * KINDS_MAX)) == KINDS_MAX
    assert kinds.is_rare(0)  # of one that came in time
    assert not kinds.is_rare(KINDS_MAX)
