"""The arithmetic of connection.tune and tune-ok, for both roles.

A value out of the range that was offered closes the transport without negotiation, as the
specification demands. Deployed clients leave max-frame-size out of tune-ok: then the offer counts.
"""

from __future__ import annotations

from typing import Final, final

from gateway.amqp_0_10._spec_constants import MIN_MAX_FRAME_SIZE
from gateway.amqp_0_10._spec_controls import ConnectionTune, ConnectionTuneOk
from gateway.amqp_0_10.errors import TransportError
from gateway.amqp_0_10.events import Tuned
from gateway.amqp_0_10.states import Role
from gateway.wire.limits import Limits

UINT16_MAX: Final = 65535


@final
class Tuning:
    """Attributes.

    channel_max: the highest channel; deployed clients count from 0 or 1 up to it, inclusive.
    max_frame_size: the largest frame that may come, and after tuning, go.
    heartbeat_s: the delay; 0 is no heartbeats.
    """

    __slots__ = (
        "_heartbeat_max_s",
        "_heartbeat_min_s",
        "channel_max",
        "heartbeat_s",
        "max_frame_size",
    )

    def __init__(self, role: Role, limits: Limits) -> None:
        self.channel_max = min(limits.channel_max, UINT16_MAX)
        if role == Role.SERVER:
            self.channel_max = min(self.channel_max, limits.sessions_max)
        self.max_frame_size = max(min(limits.max_frame_size, UINT16_MAX), MIN_MAX_FRAME_SIZE)
        self._heartbeat_max_s = min(limits.heartbeat_s, UINT16_MAX)
        self._heartbeat_min_s = min(limits.heartbeat_min_s, self._heartbeat_max_s)
        self.heartbeat_s = 0

    def offer(self) -> ConnectionTune:
        """The server's tune."""
        return ConnectionTune(
            channel_max=self.channel_max,
            max_frame_size=self.max_frame_size,
            heartbeat_min=self._heartbeat_min_s,
            heartbeat_max=self._heartbeat_max_s,
        )

    def settle(self, chosen: ConnectionTuneOk) -> Tuned:
        """The server takes the client's choice."""
        channel_max = chosen.channel_max
        if channel_max is not None:
            if channel_max > self.channel_max:
                raise TransportError(
                    f"tune-ok: channel-max {channel_max} is above {self.channel_max}"
                )
            self.channel_max = channel_max
        size = chosen.max_frame_size
        if size:
            if size < MIN_MAX_FRAME_SIZE or size > self.max_frame_size:
                raise TransportError(
                    f"tune-ok: max-frame-size {size} is not within"
                    f" {MIN_MAX_FRAME_SIZE}..{self.max_frame_size}"
                )
            self.max_frame_size = size
        heartbeat_s = chosen.heartbeat or 0
        if heartbeat_s > self._heartbeat_max_s or heartbeat_s < self._heartbeat_min_s:
            raise TransportError(
                f"tune-ok: heartbeat {heartbeat_s} is not within"
                f" {self._heartbeat_min_s}..{self._heartbeat_max_s}"
            )
        self.heartbeat_s = heartbeat_s
        return self._tuned()

    def answer(self, offer: ConnectionTune) -> tuple[ConnectionTuneOk, Tuned]:
        """The client's choice: the smaller of both sides."""
        if offer.channel_max is not None:
            self.channel_max = min(self.channel_max, offer.channel_max)
        if offer.max_frame_size:
            if offer.max_frame_size < MIN_MAX_FRAME_SIZE:
                raise TransportError(f"tune: max-frame-size {offer.max_frame_size}")
            self.max_frame_size = min(self.max_frame_size, offer.max_frame_size)
        lowest = offer.heartbeat_min
        if lowest is not None:
            highest = UINT16_MAX if offer.heartbeat_max is None else offer.heartbeat_max
            if highest < lowest:
                raise TransportError(f"tune: heartbeat {lowest}..{highest}")
            self.heartbeat_s = max(lowest, min(highest, self._heartbeat_max_s))
        answer = ConnectionTuneOk(
            channel_max=self.channel_max,
            max_frame_size=self.max_frame_size,
            heartbeat=None if lowest is None else self.heartbeat_s,
        )
        return answer, self._tuned()

    def _tuned(self) -> Tuned:
        return Tuned(self.channel_max, self.max_frame_size, self.heartbeat_s)
