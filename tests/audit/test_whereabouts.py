from pathlib import Path

import pytest

from gateway.audit.whereabouts import Whereabouts


def test_a_file_that_is_written_and_cut_stays_the_same(tmp_path: Path) -> None:
    path = tmp_path / "a"
    path.write_text("one")
    where = Whereabouts(path)
    with path.open("a") as file:
        file.write("two")
    path.write_text("")
    where.look()


def test_one_that_is_removed_moved_or_replaced_is_gone_until_it_is_back(tmp_path: Path) -> None:
    path = tmp_path / "folder" / "a"
    path.parent.mkdir()
    path.write_text("one")
    where = Whereabouts(path)
    path.rename(tmp_path / "b")
    with pytest.raises(FileNotFoundError, match="a has been removed or moved"):
        where.look()
    path.write_text("another")
    with pytest.raises(FileNotFoundError):
        where.look()
    (tmp_path / "b").rename(path)
    where.look()
    path.parent.rename(tmp_path / "moved")
    with pytest.raises(FileNotFoundError):
        where.look()


def test_one_that_was_not_there_is_not_missed(tmp_path: Path) -> None:
    Whereabouts(tmp_path / "a").look()
