from pathlib import Path

from gateway.store.database import Database


def test_a_file_of_holes_is_shrunk_only_where_there_is_room_for_what_is_left(
    tmp_path: Path,
) -> None:
    path = tmp_path / "store.sqlite"
    database = Database(path)
    for number in range(1, 11):
        database.commit(number, b"x" * 100_000, {})
    database.delete(list(range(2, 11)))
    database.checkpoint()
    full = path.stat().st_size
    left = 2 * 100_000
    database.shrink(lambda: left)  # its copy would take all of that, and pages of its own
    assert path.stat().st_size == full
    database.shrink(lambda: 2 * left)
    assert path.stat().st_size < full // 4
    database.close()
