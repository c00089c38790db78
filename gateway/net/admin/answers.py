"""Long answers of the admin port while they are read: each text once, however many read it.

A text is handed over as its readers take it; they begin in turn, with the share of work that
requests have. All texts together have `UNREAD_MAX` octets; beyond that the readers of the oldest
are cut off, as is who takes longer than `channel.READ_S`. They are on the account of everybody.
"""

# twisted.web has no annotations.
# mypy: disallow-untyped-calls=False

from __future__ import annotations

from collections.abc import Iterator
from typing import Final, final

from twisted.internet.interfaces import IPushProducer
from twisted.web.http import Request
from zope.interface import implementer

from gateway.net.admin.channel import AdminChannel
from gateway.net.admin.pieces import Pieces
from gateway.wire.accounts import Account
from gateway.wire.work import ANSWERED, OCTETS_COPIED, WORK

UNREAD_MAX: Final = 32 * 1024 * 1024
PIECE: Final = 64 * 1024


@final
@implementer(IPushProducer)
class Reading:
    """One who reads a text."""

    def __init__(self, text: Text, request: Request) -> None:
        self._text = text
        self._request = request
        channel = request.channel
        self._channel = channel if isinstance(channel, AdminChannel) else None
        self._next = 0
        self._paused = True
        self._over = False
        request.notifyFinish().addErrback(lambda _failure: self.stopProducing())

    def begin(self) -> None:
        """Hand over what is taken at once."""
        if self._over:
            return
        if self._channel is not None:
            self._channel.is_answered()
        self._request.registerProducer(self, True)
        self.resumeProducing()

    def resumeProducing(self) -> None:
        """There is room for more."""
        self._paused = False
        octets = self._text.octets
        while not (self._paused or self._over):
            self._request.write(octets[self._next : self._next + PIECE])
            self._next += PIECE
            if self._next >= len(octets):
                self._end()
                self._request.unregisterProducer()
                self._request.finish()

    def pauseProducing(self) -> None:
        """There is none."""
        self._paused = True

    def stopProducing(self) -> None:
        """The connection is gone."""
        self._end()

    def cut_off(self) -> None:
        """It has had its time."""
        self._end()
        if self._channel is not None:
            self._channel.give_way()

    def _end(self) -> None:
        if not self._over:
            self._over = True
            self._text.left(self)


@final
class Text:
    """One answer and who reads it."""

    def __init__(self, answers: Answers, octets: bytes) -> None:
        self._answers = answers
        self.octets = octets
        self.readers: dict[Reading, None] = {}

    def begin(self) -> Iterator[None]:
        """Hand over to one reader after another."""
        for reading in list(self.readers):
            WORK.units += ANSWERED + min(len(self.octets), PIECE) // OCTETS_COPIED
            reading.begin()
            yield

    def left(self, reading: Reading) -> None:
        """One reader fewer."""
        del self.readers[reading]
        if not self.readers:
            self._answers.forget(self)


@final
class Answers:
    """Those of one admin port.

    Attributes:
        unread: octets of all texts that somebody still reads.
    """

    def __init__(self, requests: Pieces, kept: Account) -> None:
        self.unread = 0
        self._requests = requests
        self._kept = kept
        self._texts: dict[Text, None] = {}

    def give(self, octets: bytes, requests: list[Request]) -> None:
        """Answer all these with one text, each in its turn; their heads are made."""
        if not requests:
            return
        self.make_room(len(octets))
        text = Text(self, octets)
        for request in requests:
            request.setHeader(b"content-length", b"%d" % len(octets))
            text.readers[Reading(text, request)] = None
        self._texts[text] = None
        self.unread += len(octets)
        self._kept.note(len(octets))
        self._requests.gather(text.begin())

    def make_room(self, octets: int) -> None:
        """For so many more; who has been reading longest goes."""
        while self._texts and self.unread + octets > UNREAD_MAX:
            for reading in list(next(iter(self._texts)).readers):
                reading.cut_off()

    def forget(self, text: Text) -> None:
        """Nobody reads it any more."""
        del self._texts[text]
        self.unread -= len(text.octets)
        self._kept.give(len(text.octets))
