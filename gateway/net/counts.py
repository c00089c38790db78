"""What the net layer counts, as plain numbers that `metrics` reads at scrape."""

from __future__ import annotations

from typing import Final, final

from gateway.wire.durations import Durations

PIECES: Final = ("read", "flush", "dispatch", "commit", "deadline", "request", "other", "machine")
REFUSALS: Final = ("limit", "address_limit", "files")
ADMIN_REFUSALS: Final = (
    "no_token",
    "wrong_token",
    "unread_token",
    "throttled",
    "body",
    "amqp",
    "clear",
)
HANDSHAKE_FAILURES: Final = ("timeout", "header", "tls", "closed", "proxy", "size", "keys")


@final
class NetCounts:
    """Connections, octets, handshakes, turns and the event loop's lag.

    Attributes:
        accepted, lost: connections that came, and those that are gone.
        refused: connections closed at once, by the limit that they passed.
        handshake_failures: connections that ended before a face took them over, by reason; later
            those that did nothing but renew the keys of TLS.
        octets_received, octets_sent: on all AMQP connections, inside TLS.
        start_messages, start_messages_recovered: that the store held at the start; of these, those
            that are back.
        turns: ends of turns.
        waiting: connections that wait until others of their address have opened.
        ending: those whose transports are gone, and whose end has not had its turn.
        defects: exceptions where none may come from: those in the log (`service.defects`), and
            those that are repeated too often to be told of.
        changes: of the settings while we run, done and refused; `paused_rules`: how many are.
        clock_steps: times that wall time has left the clock by a second more, or come back.
        refused_files: 1 while files have changed, and were refused.
        lag: how late a timer fired that was due every second.
        stalls: pieces of work that held the event loop too long.
    """

    __slots__ = (
        "accepted",
        "changes",
        "clock_steps",
        "defects",
        "ending",
        "handshake_failures",
        "lag",
        "lost",
        "octets_received",
        "octets_sent",
        "paused_rules",
        "refused",
        "refused_files",
        "stalls",
        "start_messages",
        "start_messages_recovered",
        "turns",
        "waiting",
    )

    def __init__(self) -> None:
        self.accepted = 0
        self.start_messages = 0
        self.start_messages_recovered = 0
        self.lost = 0
        self.refused = dict.fromkeys(REFUSALS, 0)
        self.handshake_failures = dict.fromkeys(HANDSHAKE_FAILURES, 0)
        self.octets_received = 0
        self.octets_sent = 0
        self.changes = {"done": 0, "refused": 0}
        self.paused_rules = 0
        self.refused_files = 0
        self.turns = 0
        self.waiting = 0
        self.ending = 0
        self.defects = 0
        self.clock_steps = 0
        self.lag = Durations()
        self.stalls = dict.fromkeys(PIECES, 0)


@final
class AdminCounts:
    """Connections to the admin port, and what was refused there.

    Attributes:
        open: connections; `gave_way`: those that were cut off for others.
        refused: requests, by reason.
    """

    __slots__ = ("gave_way", "open", "refused")

    def __init__(self) -> None:
        self.open = 0
        self.gave_way = 0
        self.refused = dict.fromkeys(ADMIN_REFUSALS, 0)
