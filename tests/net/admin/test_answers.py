"""Long answers: handed over as they are taken, each text once, within a limit for all."""

from typing import Any

import pytest
from support.net import Loop
from support.work import units_of

from gateway.net.admin import answers as module
from gateway.net.admin.answers import PIECE
from gateway.net.admin.answers import Answers as Real
from gateway.net.admin.pieces import Pieces
from gateway.wire.accounts import Account
from gateway.wire.work import ANSWERED, SHARE


class Request:
    """A request whose peer takes so many pieces at once."""

    channel = None

    def __init__(self, takes: int = 1 << 30) -> None:
        self.takes = takes
        self.written: list[bytes] = []
        self.headers: dict[bytes, bytes] = {}
        self.producer: Any = None
        self.finished = False
        self.on_gone: Any = None

    def notifyFinish(self) -> "Request":
        return self

    def addErrback(self, call: Any) -> None:
        self.on_gone = call

    def setHeader(self, name: bytes, value: bytes) -> None:
        self.headers[name] = value

    def registerProducer(self, producer: Any, streaming: bool) -> None:
        assert streaming
        self.producer = producer

    def unregisterProducer(self) -> None:
        self.producer = None

    def write(self, octets: bytes) -> None:
        self.written.append(octets)
        self.takes -= 1
        if self.takes == 0 and self.producer is not None:
            self.producer.pauseProducing()

    def finish(self) -> None:
        self.finished = True

    def take(self, pieces: int) -> None:
        self.takes = pieces
        self.producer.resumeProducing()


class Answers(Real):  # type: ignore[misc]  # it is final
    """With a loop of its own."""

    def __init__(self) -> None:
        self.loop = Loop()
        self.kept = Account()
        super().__init__(Pieces(self.loop), self.kept)


TEXT = b"x" * (3 * PIECE + 1)


def give(made: Answers, *requests: Request, text: bytes = TEXT) -> None:
    made.give(text, list(requests))  # type: ignore[arg-type]  # fakes
    while made.loop.turn():
        pass


def test_a_text_is_written_in_pieces_as_it_is_taken() -> None:
    made, slow, fast = Answers(), Request(1), Request()
    give(made, slow, fast)
    assert fast.finished
    assert b"".join(fast.written) == b"".join(slow.written) + TEXT[PIECE:] == TEXT
    assert slow.headers == {b"content-length": b"%d" % len(TEXT)}
    assert max(map(len, fast.written)) == PIECE
    assert not slow.finished
    assert made.unread == made.kept.held == len(TEXT)
    slow.take(2)
    assert not slow.finished
    slow.take(2)
    assert slow.finished
    assert b"".join(slow.written) == TEXT
    assert made.unread == made.kept.held == 0


def test_whoever_goes_leaves_nothing_behind() -> None:
    made, one, other = Answers(), Request(1), Request(1)
    give(made, one, other)
    one.on_gone(None)
    assert made.unread == len(TEXT)
    other.producer.stopProducing()
    other.on_gone(None)
    assert made.unread == 0
    assert not (one.finished or other.finished)


def test_beyond_the_limit_who_has_been_reading_longest_is_cut_off(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(module, "UNREAD_MAX", 2 * len(TEXT))
    made = Answers()
    requests = [Request(1) for _ in range(5)]
    give(made, *requests[:2])
    give(made, requests[2])
    assert made.unread == 2 * len(TEXT)
    give(made, requests[3], requests[4])
    assert made.unread == 2 * len(TEXT)
    for each in requests[:2]:
        each.take(1)
        assert len(each.written) == 1
    requests[2].take(9)
    assert requests[2].finished


def test_readers_begin_with_a_share_of_work_a_pass() -> None:
    made = Answers()
    requests = [Request() for _ in range(1000)]
    made.give(TEXT, list(requests))  # type: ignore[arg-type]  # fakes
    passes = 0
    while not all(each.finished for each in requests):
        assert units_of(made.loop.turn) <= SHARE + 2 * ANSWERED
        passes += 1
    assert passes >= 20


def test_who_has_gone_before_its_turn_is_not_answered() -> None:
    made = Answers()
    gone, there = Request(), Request()
    made.give(TEXT, [gone, there])  # type: ignore[list-item]  # fakes
    gone.on_gone(None)
    while made.loop.turn():
        pass
    assert (gone.written, there.finished) == ([], True)
    assert made.unread == 0


def test_an_answer_for_nobody_is_nothing() -> None:
    made = Answers()
    give(made)
    assert made.unread == 0
