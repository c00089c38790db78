"""How much of a class may be sent ahead, and how fast: of a session, and of a connection.

Both windows have to allow a message. A file counts until it is acknowledged, a stream's message
until the client has completed its delivery. A message that is larger than a window is not sent.
Source: 0-10 XML, file.qos and stream.qos.
"""

from __future__ import annotations

from typing import final


@final
class Window:
    """One window.

    Attributes:
        size_max, count_max: octets and messages that may be ahead; 0: any number.
        rate: octets a second; 0: any number.
        octets, count: how much is ahead.
        next_ms: when the next message may be sent, by the rate.
    """

    __slots__ = ("count", "count_max", "next_ms", "octets", "rate", "size_max")

    def __init__(self) -> None:
        self.size_max: int = 0
        self.count_max: int = 0
        self.rate: int = 0
        self.octets: int = 0
        self.count: int = 0
        self.next_ms: int = 0

    def set(self, size: int, count: int, rate: int) -> None:
        """qos: what counts from now on, of what is ahead already, too."""
        self.size_max = size
        self.count_max = count
        self.rate = rate
        self.next_ms = 0

    def covers(self, size: int) -> bool:
        """Whether a message of that size may be ahead, too."""
        if self.count_max and self.count >= self.count_max:
            return False
        return self.size_max == 0 or self.octets + size <= self.size_max

    def sent(self, size: int, now_ms: int) -> None:
        """It is ahead."""
        self.octets += size
        self.count += 1
        if self.rate:
            self.next_ms = max(self.next_ms, now_ms) + 1000 * size // self.rate

    def back(self, size: int) -> None:
        """It is not any more."""
        self.octets -= size
        self.count -= 1


@final
class Windows:
    """Those of one session, for one class. Implements `Windowed`.

    Attributes:
        own: the session's.
        shared: its connection's.
        due: some of what was ahead is not any more.
    """

    __slots__ = ("due", "own", "shared")

    def __init__(self, shared: Window) -> None:
        self.own = Window()
        self.shared = shared
        self.due = False

    def move(self, shared: Window) -> None:
        """The session has another connection, or none: what is ahead counts there."""
        self.shared.octets -= self.own.octets
        self.shared.count -= self.own.count
        shared.octets += self.own.octets
        shared.count += self.own.count
        self.shared = shared

    def leave(self) -> None:
        """The session is over."""
        self.shared.octets -= self.own.octets
        self.shared.count -= self.own.count

    def covers(self, size: int) -> bool:
        """Whether a message of that size may be sent ahead."""
        return self.own.covers(size) and self.shared.covers(size)

    def next_ms(self) -> int:
        """When the next message may be sent, by the rates."""
        return max(self.own.next_ms, self.shared.next_ms)

    def sent(self, size: int, now_ms: int) -> None:
        """A message of that size was sent."""
        self.own.sent(size, now_ms)
        self.shared.sent(size, now_ms)

    def back(self, size: int) -> None:
        """It is acknowledged, or came to nothing."""
        self.own.back(size)
        self.shared.back(size)
        self.due = True

    def completed(self, octets: int, era: int) -> None:
        """See `Windowed`."""
        self.back(octets)


@final
class SharedWindows:
    """What the sessions of one connection share: windows, and consumer-tags, which are its own.

    Attributes:
        files, streams: the window of each class.
        file_tags, stream_tags: of its consumers.
        paced_ms: when the first that waits for its rate may go on; 0: none does.
    """

    __slots__ = ("file_tags", "files", "paced_ms", "stream_tags", "streams")

    def __init__(self) -> None:
        self.files = Window()
        self.streams = Window()
        self.file_tags: set[str] = set()
        self.stream_tags: set[str] = set()
        self.paced_ms = 0

    def pace(self, at_ms: int) -> None:
        """A consumer waits for that time."""
        if self.paced_ms == 0 or at_ms < self.paced_ms:
            self.paced_ms = at_ms
