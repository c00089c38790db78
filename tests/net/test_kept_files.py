"""Files of the configuration as they were read last, and what counts while a disk says nothing."""

import pathlib
from collections.abc import Callable

import pytest
from twisted.internet.defer import Deferred
from twisted.internet.task import Clock
from twisted.logger import capturedLogs, formatEvent

from gateway.net.kept_files import LOOK_S, TOLD_S, VALID_S, Found, KeptFiles, read_all


class Disks:
    """Threads that read when the test lets them: a directory that is gone never does."""

    def __init__(self, *paths: pathlib.Path) -> None:
        self.clock = Clock()
        self.paths = [*paths]
        self.under_way: list[tuple[Callable[[], Found], Deferred[Found]]] = []
        self.files = KeptFiles(self.named, in_thread=self.ask, clock=self.clock)
        self.files.keep(read_all(self.named()))

    def named(self) -> list[tuple[pathlib.Path, int]]:
        return [(path, 10) for path in self.paths]

    def ask(self, read: Callable[[], Found]) -> Deferred[Found]:
        answer: Deferred[Found] = Deferred()
        self.under_way.append((read, answer))
        return answer

    def answer(self, which: int = 0) -> None:
        read, answer = self.under_way.pop(which)
        answer.callback(read())

    def pass_time(self, seconds: float) -> None:
        for _ in range(round(seconds / LOOK_S)):
            self.clock.advance(LOOK_S)
            self.files.look()


@pytest.fixture
def token(tmp_path: pathlib.Path) -> pathlib.Path:
    path = tmp_path / "token"
    path.write_bytes(b"one")
    return path


def test_what_is_in_a_file_counts_once_it_has_been_read(token: pathlib.Path) -> None:
    disks = Disks(token)
    token.write_bytes(b"two")
    disks.pass_time(LOOK_S)
    assert disks.files.read(token, 10) == b"one"
    disks.answer()
    assert disks.files.read(token, 10) == b"two"
    token.write_bytes(b"x" * 11)
    disks.pass_time(LOOK_S)
    disks.answer()
    with pytest.raises(OSError, match="is larger than 10 octets"):
        disks.files.read(token, 10)
    token.unlink()
    disks.pass_time(LOOK_S)
    disks.answer()
    with pytest.raises(OSError, match="No such file"):
        disks.files.read(token, 10)


def test_of_a_silent_disk_one_look_waits_and_what_was_read_counts_for_a_while(
    token: pathlib.Path,
) -> None:
    disks = Disks(token)
    with capturedLogs() as captured:
        disks.pass_time(VALID_S)
        assert len(disks.under_way) == 1
        assert disks.files.read(token, 10) == b"one"
        disks.pass_time(LOOK_S)
        with pytest.raises(OSError, match="its disk does not answer"):
            disks.files.read(token, 10)
        (told,) = [formatEvent(event) for event in captured]
        assert told is not None and f"have not been read for {TOLD_S:.0f} s" in told
        disks.answer()
        disks.pass_time(LOOK_S)
        disks.answer()
    assert disks.files.read(token, 10) == b"one"
    assert [formatEvent(event) for event in captured[1:]] == [
        f"files of {token.parent} are read again"
    ]


def test_one_silent_directory_does_not_keep_others_from_being_read(
    token: pathlib.Path, tmp_path: pathlib.Path
) -> None:
    (tmp_path / "other").mkdir()
    other = tmp_path / "other" / "password"
    other.write_bytes(b"a")
    disks = Disks(token, other)
    other.write_bytes(b"b")
    disks.pass_time(LOOK_S)
    disks.answer(1)
    disks.pass_time(VALID_S)
    disks.answer(1)
    assert disks.files.read(other, 10) == b"b"
    with pytest.raises(OSError, match="does not answer"):
        disks.files.read(token, 10)


def test_an_older_look_does_not_undo_what_other_settings_were_read_with(
    token: pathlib.Path,
) -> None:
    disks = Disks(token)
    disks.pass_time(LOOK_S)
    ((read, answer),) = disks.under_way
    older = read()
    token.write_bytes(b"two")
    disks.clock.advance(1)
    disks.files.keep(read_all(disks.named()))
    answer.callback(older)
    assert disks.files.read(token, 10) == b"two"


def test_what_is_not_named_is_not_read_and_is_forgotten(token: pathlib.Path) -> None:
    disks = Disks(token)
    disks.paths.clear()
    disks.pass_time(LOOK_S)
    assert disks.under_way == []
    assert disks.files.read(token, 10) == b"one"  # of settings that will count
    disks.pass_time(VALID_S + LOOK_S)
    with pytest.raises(OSError, match="has not been read yet"):
        disks.files.read(token, 10)
