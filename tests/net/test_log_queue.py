"""Whoever logs goes on, whatever becomes of the lines; what is missing is counted, and told."""

import fcntl
import os
import pty
import termios
import threading
from collections.abc import Iterator

import pytest

from gateway.net.log_queue import CRITICAL_OCTETS, LINE_OCTETS, LogQueue

PIPE_OCTETS = 4096  # the least that the kernel gives one
LINE = b"x" * 99 + b"\n"
ROOM = 20 * (len(LINE) + LINE_OCTETS)


def gap(count: int) -> bytes:
    return b"%d are missing\n" % count


@pytest.fixture
def pipe() -> Iterator[tuple[int, int]]:
    """One that takes no octet more, until somebody reads."""
    reader, writer = os.pipe()
    fcntl.fcntl(writer, fcntl.F_SETPIPE_SZ, PIPE_OCTETS)
    os.write(writer, b"." * PIPE_OCTETS)
    yield reader, writer
    os.close(reader)


def queue_on(descriptor: int) -> LogQueue:
    queue = LogQueue(descriptor, gap, octets_max=ROOM)
    queue.start()
    return queue


def told(reader: int, *last: bytes) -> list[bytes]:
    """What comes until lines like these have, in any order."""
    octets = b""
    while not (octets.endswith(last) and all(line in octets for line in last)):
        octets += os.read(reader, 65536)
    return octets.removeprefix(b"." * PIPE_OCTETS).splitlines(keepends=True)


def test_lines_are_written_in_their_order() -> None:
    reader, writer = os.pipe()
    queue = queue_on(writer)
    lines = [b"%d\n" % number for number in range(100)]
    for line in lines:
        queue.put(line, critical=True)
    assert told(reader, lines[-1]) == lines
    assert queue.dropped == 0


def test_what_nobody_reads_fills_the_queue_and_then_is_dropped(pipe: tuple[int, int]) -> None:
    reader, writer = pipe
    queue = queue_on(writer)
    for _ in range(1000):
        queue.put(LINE)
    assert queue.dropped == 980
    assert told(reader, gap(980)) == [LINE] * 20 + [gap(980)]
    queue.put(b"on it goes\n")
    assert told(reader, b"goes\n") == [b"on it goes\n"]


def test_whoever_has_read_of_a_gap_finds_room_behind_it(pipe: tuple[int, int]) -> None:
    reader, writer = pipe

    def gap_and_more(count: int) -> bytes:
        queue.put(b"on it goes\n")  # as somebody does before its line is out
        return gap(count)

    queue = LogQueue(writer, gap_and_more, octets_max=ROOM)
    queue.start()
    for _ in range(30):
        queue.put(LINE)
    assert told(reader, b"goes\n") == [LINE] * 20 + [gap(10), b"on it goes\n"]
    assert queue.dropped == 10


def test_one_gap_is_told_where_it_is_however_slowly_it_flows_again(pipe: tuple[int, int]) -> None:
    reader, writer = pipe
    queue = queue_on(writer)
    for _ in range(30):
        queue.put(LINE)
    os.read(reader, PIPE_OCTETS)
    queue.put(b"ends here\n", critical=True)
    came = told(reader, b"missing\n", b"ends here\n")
    came.remove(b"ends here\n")  # before the gap or behind it, as the thread was quick or slow
    assert came == [LINE] * (30 - queue.dropped) + [gap(queue.dropped)]


def test_a_line_of_any_size_finds_room_in_an_empty_queue() -> None:
    reader, writer = os.pipe()
    queue = queue_on(writer)
    queue.put(b"y" * (10 * ROOM) + b"\n")
    assert len(told(reader, b"\n")[0]) == 10 * ROOM + 1


def test_last_words_find_room_behind_all_the_others(pipe: tuple[int, int]) -> None:
    reader, writer = pipe
    queue = queue_on(writer)
    for _ in range(50):
        queue.put(LINE)
    for _ in range(CRITICAL_OCTETS):
        queue.put(b"last words\n", critical=True)
    came = told(reader, b"missing\n")
    said = came.count(b"last words\n")
    assert said == CRITICAL_OCTETS // (len(b"last words\n") + LINE_OCTETS)
    assert queue.dropped == 30 + CRITICAL_OCTETS - said


def test_the_end_waits_for_a_reader_who_reads(pipe: tuple[int, int]) -> None:
    reader, writer = pipe
    queue = queue_on(writer)
    queue.put(LINE)
    came: list[bytes] = []
    thread = threading.Thread(target=lambda: came.extend(told(reader, LINE)))
    thread.start()
    queue.flush()
    thread.join()
    assert came == [LINE]


def test_the_end_does_not_wait_for_ever_for_who_does_not(pipe: tuple[int, int]) -> None:
    reader, writer = pipe
    queue = queue_on(writer)
    queue.put(LINE)
    queue.flush()
    queue.flush()
    assert told(reader, LINE) == [LINE]


def test_what_cannot_be_written_is_counted_and_told_when_it_can() -> None:
    reader, writer = os.pipe()
    descriptor = os.open("/dev/full", os.O_WRONLY)
    queue = queue_on(descriptor)
    for _ in range(3):
        queue.put(LINE)
    queue.flush()
    assert queue.dropped == 3
    os.dup2(writer, descriptor)
    queue.put(b"there is room\n")
    assert told(reader, b"missing\n") == [b"there is room\n", gap(3)]


def test_a_descriptor_that_others_have_made_non_blocking_is_waited_for(
    pipe: tuple[int, int],
) -> None:
    reader, writer = pipe
    os.set_blocking(writer, False)
    queue = queue_on(writer)
    for _ in range(20):
        queue.put(LINE)
    assert told(reader, LINE * 20) == [LINE] * 20
    assert not os.get_blocking(writer)


def test_a_terminal_that_was_stopped_holds_nobody() -> None:
    screen, terminal = pty.openpty()
    termios.tcflow(terminal, termios.TCOOFF)
    queue = queue_on(terminal)
    for _ in range(30):
        queue.put(LINE)
    assert queue.dropped == 10
    termios.tcflow(terminal, termios.TCOON)
    octets = b""
    while b"missing" not in octets:
        octets += os.read(screen, 65536)
    assert octets.count(b"x") == 20 * 99
    assert b"10 are missing" in octets


def test_the_thread_does_not_keep_the_process(pipe: tuple[int, int]) -> None:
    queue = queue_on(pipe[1])
    assert queue._thread.daemon
