"""The disk is asked in a thread: whoever asks for metrics waits for it a moment, and no more."""

import pathlib
from collections.abc import Callable

import pytest
from twisted.internet.defer import Deferred
from twisted.internet.task import Clock
from twisted.logger import capturedLogs

from gateway.net.admin.disk import NOTHING_SEEN, PATIENCE_S, SILENT_S, Disk, Look


class Desk:
    """A disk that answers when the test says so."""

    def __init__(self, directory: pathlib.Path) -> None:
        self.clock = Clock()
        self.asked: list[tuple[Callable[[], Look], Deferred[Look]]] = []
        self.disk = Disk(directory, "audit", in_thread=self._ask, clock=self.clock)

    def _ask(self, look: Callable[[], Look]) -> Deferred[Look]:
        answer: Deferred[Look] = Deferred()
        self.asked.append((look, answer))
        return answer

    def look(self) -> list[Deferred[None]]:
        """For what one look waits."""
        return list(self.disk.look())

    def answer(self) -> None:
        look, answer = self.asked.pop()
        answer.callback(look())


@pytest.fixture
def desk(tmp_path: pathlib.Path) -> Desk:
    (tmp_path / "audit").mkdir()
    (tmp_path / "store.sqlite").write_bytes(b"x" * 7)
    for number in range(300):
        (tmp_path / "audit" / f"{number}.seg").write_bytes(b"xx")
    return Desk(tmp_path)


def test_all_files_are_counted_by_another_thread(desk: Desk) -> None:
    (waited,) = desk.look()
    assert desk.disk.seen == NOTHING_SEEN
    assert not waited.called
    desk.answer()
    assert waited.called
    assert desk.disk.seen.used == {"store": 7, "audit": 600}
    assert min(desk.disk.seen.free.values()) > 0
    assert not desk.clock.getDelayedCalls()


def test_nothing_is_said_of_a_part_that_is_gone(tmp_path: pathlib.Path) -> None:
    desk = Desk(tmp_path)
    desk.look()
    desk.answer()
    assert desk.disk.seen.used == {"store": 0}
    assert set(desk.disk.seen.free) == {"store"}


def test_a_disk_that_does_not_answer_is_not_waited_for_nor_believed_for_long(desk: Desk) -> None:
    desk.look()
    desk.answer()
    known = desk.disk.seen
    (waited,) = desk.look()
    desk.clock.advance(PATIENCE_S)
    assert waited.called
    assert (desk.look(), desk.disk.seen, len(desk.asked)) == ([], known, 1)
    desk.clock.advance(SILENT_S)
    assert (desk.look(), desk.disk.seen, len(desk.asked)) == ([], NOTHING_SEEN, 1)
    desk.answer()
    assert desk.disk.seen.used == known.used  # what is free may be other by now
    assert len(desk.look()) == 1


def test_what_breaks_off_in_the_thread_is_told_of(desk: Desk) -> None:
    (waited,) = desk.look()
    with capturedLogs() as captured:
        desk.asked.pop()[1].errback(RuntimeError("no thread"))
    assert [event["log_failure"].type for event in captured] == [RuntimeError]
    assert waited.called
    assert desk.disk.seen == NOTHING_SEEN
    assert len(desk.look()) == 1
