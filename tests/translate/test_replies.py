"""The reply table: bounded by number and by age, and kept for durable requests."""

from gateway.translate.replies import ReplyTable


def uuid(number: int) -> bytes:
    return number.to_bytes(16, "big")


def test_an_id_is_found_until_it_is_too_old() -> None:
    table = ReplyTable(age_max_ms=100)
    table.remember(uuid(1), b"id", 1000)
    assert table.find(uuid(1), 1100) == b"id"
    assert table.find(uuid(1), 1101) is None
    assert table.find(uuid(2), 1000) is None


def test_the_oldest_makes_room() -> None:
    table = ReplyTable(entries_max=2)
    for number in (1, 2):
        table.remember(uuid(number), b"id", 0)
    table.remember(uuid(1), b"again", 0)
    table.remember(uuid(3), b"id", 0)
    assert table.find(uuid(2), 0) is None
    assert (table.find(uuid(1), 0), table.find(uuid(3), 0)) == (b"again", b"id")
    assert (len(table), table.evicted) == (2, 1)


def test_the_outdated_are_dropped_as_new_ones_come() -> None:
    table = ReplyTable(age_max_ms=100)
    table.remember(uuid(1), b"id", 0)
    table.remember(uuid(2), b"id", 101)
    assert len(table) == 1


def test_entries_of_durable_requests_survive_a_restart() -> None:
    table = ReplyTable(keep_new=True)
    table.remember(uuid(1), b"one", 1, durable=True)
    table.remember(uuid(2), b"two", 2)
    kept = table.take_new()
    assert kept == [(uuid(1), 1, b"one")]
    assert table.take_new() == []
    again = ReplyTable()
    again.restore(kept)
    assert again.find(uuid(1), 5) == b"one"


def test_large_ids_make_the_oldest_go_too() -> None:
    table = ReplyTable(octets_max=10)
    table.remember(uuid(1), b"123456", 0)
    table.remember(uuid(2), b"1234", 0)
    assert (len(table), table.octets) == (2, 10)
    table.remember(uuid(2), b"12345", 0)
    assert (len(table), table.octets, table.find(uuid(1), 0)) == (1, 5, None)


def test_what_is_delivered_again_is_handed_over_again_only_when_it_has_aged() -> None:
    table = ReplyTable(age_max_ms=2400, keep_new=True)
    for at_ms in (0, 100, 101, 201, 202):
        table.remember(uuid(1), b"id", at_ms, durable=True)
    assert [at_ms for _uuid, at_ms, _id in table.take_new()] == [0, 101, 202]
    again = ReplyTable(age_max_ms=2400, keep_new=True)
    again.restore([(uuid(1), 202, b"id")])
    again.remember(uuid(1), b"id", 302, durable=True)
    assert again.take_new() == []
    again.remember(uuid(1), b"another", 302, durable=True)
    assert again.take_new() == [(uuid(1), 302, b"another")]


def test_a_durable_request_is_handed_over_even_if_a_transient_one_was_shown_before() -> None:
    table = ReplyTable(keep_new=True)
    table.remember(uuid(1), b"id", 0)
    table.remember(uuid(1), b"id", 1, durable=True)
    assert table.take_new() == [(uuid(1), 1, b"id")]


def test_what_is_restored_is_bounded_and_ages() -> None:
    table = ReplyTable(entries_max=2, age_max_ms=100)
    table.restore([(uuid(3), 130, b"3"), (uuid(1), 10, b"1"), (uuid(2), 120, b"2")])
    assert (len(table), table.find(uuid(1), 130)) == (2, None)
    assert (table.find(uuid(2), 220), table.find(uuid(2), 221)) == (b"2", None)
    table.restore([(uuid(3), 140, b"later"), (uuid(3), 135, b"earlier")])
    assert table.find(uuid(3), 140) == b"later"
