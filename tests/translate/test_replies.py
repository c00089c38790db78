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
