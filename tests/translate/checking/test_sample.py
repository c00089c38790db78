"""Which messages are looked at."""

from gateway.translate.checking.sample import ONE_IN, is_sampled


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
