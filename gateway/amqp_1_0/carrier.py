"""What carries the sessions of one connection: where frames are written, what all of them share.

It knows how far the connection is, but not the connection: that is told what fails.
"""

from __future__ import annotations

from typing import Final, Protocol, final

from gateway.amqp_1_0 import _spec, frames
from gateway.amqp_1_0._spec import Disposition, Performative
from gateway.amqp_1_0.errors import ConnectionScopeError, FrameSizeTooSmallError
from gateway.amqp_1_0.states import ConnectionState
from gateway.wire.accounts import Account
from gateway.wire.buffers import Writer
from gateway.wire.limits import Limits
from gateway.wire.machine import Machine
from gateway.wire.work import WORK

_OPENED: Final = int(ConnectionState.OPENED)  # a plain number: it compares at no cost
_OPEN_OUT: Final = (
    ConnectionState.OPEN_SENT,
    ConnectionState.OPEN_PIPE,
    ConnectionState.CLOSE_RCVD,
)


class Failing(Protocol):
    """A connection, as far as its endpoints can end it."""

    def fail(self, error: ConnectionScopeError) -> None:
        """End the connection for a frame that cannot be written, or a limit."""


@final
class Lost:
    """A connection whose transport is gone: it has failed already."""

    def fail(self, error: ConnectionScopeError) -> None:
        """Nobody is to be told."""


LOST: Final = Lost()


@final
class Carrier:
    """The connection, as its sessions and links need it.

    Attributes:
        strict: see `Connection`.
        machine: the connection's.
        peer_max_frame_size: the largest frame that the peer takes.
        account: what is kept on the peer's behalf.
        end: units of work, up to which the peer's frames that are read now may look at deliveries.
        full: the transport takes no more for now: what is `unfinished` waits until it does.
        unfinished: outgoing channels of sessions that have more to write than fits one flush, in
            the order in which they go on.
        shortened: outcomes that were told in short since the driver took them.
    """

    __slots__ = (
        "_connection",
        "account",
        "end",
        "full",
        "limits",
        "machine",
        "peer_max_frame_size",
        "shortened",
        "strict",
        "unfinished",
        "writer",
    )

    def __init__(
        self,
        writer: Writer,
        machine: Machine,
        connection: Failing,
        *,
        limits: Limits,
        account: Account,
        strict: bool,
    ) -> None:
        self.writer = writer
        self.machine = machine
        self.limits = limits
        self.strict = strict
        self.peer_max_frame_size = _spec.MIN_MAX_FRAME_SIZE
        self.end = 0
        self.account = account
        self.full = False
        self.unfinished: dict[int, None] = {}
        self.shortened: list[Disposition] = []
        self._connection: Failing = connection

    def take_apart(self, units: int) -> None:
        """A frame that begins or ends a session or link has come: that alone is work."""
        WORK.units += units
        self.end += units  # which is for what deliveries cost

    @property
    def can_send(self) -> bool:
        """Our open has been sent and our close has not."""
        state = self.machine.state
        return state == _OPENED or state in _OPEN_OUT

    def takes(self, performative: Performative) -> bool:
        """Whether the peer's frames are large enough for it."""
        return frames.fits(performative, self.peer_max_frame_size)

    def write(self, channel: int, performative: Performative) -> None:
        """Write a frame for a session; one that the peer cannot take ends the connection."""
        if self.can_send:
            try:
                frames.write_frame(self.writer, channel, performative, self.peer_max_frame_size)
            except FrameSizeTooSmallError as error:
                self._connection.fail(error)

    def fail(self, error: ConnectionScopeError) -> None:
        """End the connection, which is told so at once."""
        self._connection.fail(error)

    def lose(self) -> None:
        """The connection is gone, and nothing holds it any more that it holds."""
        self._connection = LOST
