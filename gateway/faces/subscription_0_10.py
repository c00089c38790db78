"""One 0-10 subscription: where the bridge's deliveries become message.transfer commands.

Owns the credit of message.flow in both modes, in both units. In window mode what may be sent is the
allowance - the sum of the grants since the last stop or flush - less what the peer has not
completed; completion, not acceptance, gives it back. In credit mode only another flow does. Source:
0-10 XML, message.set-flow-mode and message.flow.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, final

from gateway.bridge.seams import DeliverStatus
from gateway.bridge.subscription import UNLIMITED, Subscription
from gateway.message import Condition, Delivery, Refusal

if TYPE_CHECKING:
    from gateway.faces.session_0_10 import ServerSession

INFINITE: Final = 0xFFFFFFFF


@final
class Allowance:
    """What one unit of credit allows: the grants, and what the peer holds uncompleted of them."""

    __slots__ = ("granted", "uncompleted")

    def __init__(self) -> None:
        self.granted: int = 0
        self.uncompleted: int = 0

    def add(self, value: int | None) -> None:
        """message.flow: absent and 0xFFFFFFFF are infinite, and stay so until stop or flush."""
        if value is None or value == INFINITE:
            self.granted = UNLIMITED
        elif self.granted != UNLIMITED:
            self.granted += value

    def left(self) -> int:
        """What may be sent now."""
        if self.granted == UNLIMITED:
            return UNLIMITED
        return max(0, self.granted - self.uncompleted)


@final
class Subscription010:
    """An outlet of the bridge, named by its destination within its session.

    Attributes:
        bridged: the bridge's side of it; set right after construction.
        window: window mode, in which a subscription begins; else credit mode.
    """

    __slots__ = (
        "accept_explicit",
        "acquire",
        "blocked",
        "bridged",
        "destination",
        "flushes",
        "messages",
        "octets",
        "session",
        "window",
    )

    def __init__(
        self, session: ServerSession, destination: str, *, accept_explicit: bool, acquire: bool
    ) -> None:
        self.session = session
        self.destination = destination
        self.accept_explicit = accept_explicit
        self.acquire = acquire
        self.bridged: Subscription | None = None
        self.window = True
        self.messages = Allowance()
        self.octets = Allowance()
        self.flushes: list[int] = []
        self.blocked = False

    # What the bridge calls.

    def deliver(self, delivery: Delivery) -> DeliverStatus:
        """Send one transfer."""
        status, octets = self.session.send_transfer(self, delivery)
        if status == DeliverStatus.TAKEN:
            self._spend(1, octets)
        elif status == DeliverStatus.BLOCKED:
            self.blocked = True
        return status

    def on_drained(self) -> None:
        """The flush is done: nothing is left to send, and credit is zero in both units."""
        self._reset()
        flushes = self.flushes
        self.flushes = []
        for command_id in flushes:
            self.session.complete(command_id)

    def on_cancelled(self, condition: Condition, description: str) -> None:
        """The queue went away under it: the specification closes the session for that."""
        self.session.end_with(Refusal(condition, description))

    # What the session calls.

    def set_window(self, window: bool) -> None:
        """message.set-flow-mode: what may be sent stays what it is."""
        left_messages, left_octets = self.messages.left(), self.octets.left()
        self.window = window
        if not window:
            self.messages.granted, self.messages.uncompleted = left_messages, 0
            self.octets.granted, self.octets.uncompleted = left_octets, 0

    def flow(self, octets: bool, value: int | None) -> None:
        """message.flow, in one unit."""
        (self.octets if octets else self.messages).add(value)
        self._grant()

    def flush(self, command_id: int) -> None:
        """message.flush: complete it when all that can be sent has been."""
        self.flushes.append(command_id)
        self._bridged().drain()

    def stop(self) -> None:
        """message.stop: nothing more after this; a flush under way is over, too."""
        self._bridged().stop()
        self.on_drained()

    def completed(self, count: int, octets: int) -> None:
        """The peer completed transfers that were sent in window mode."""
        messages_held, octets_held = self.messages.uncompleted, self.octets.uncompleted
        self.messages.uncompleted = max(0, messages_held - count)
        self.octets.uncompleted = max(0, octets_held - octets)
        if self.window:
            self._grant()

    def resume(self) -> None:
        """There is room again for what `deliver` refused."""
        if self.blocked:
            self.blocked = False
            self._bridged().resume()

    def cancel(self) -> None:
        """message.cancel, or the session's end: no more deliveries."""
        self._bridged().cancel()

    def _bridged(self) -> Subscription:
        bridged = self.bridged
        assert bridged is not None
        return bridged

    def _grant(self) -> None:
        self._bridged().grant(self.messages.left(), self.octets.left())

    def _reset(self) -> None:
        self.messages.granted = 0
        self.octets.granted = 0

    def _spend(self, count: int, octets: int) -> None:
        """Account for what was sent: in window mode as uncompleted, in credit mode as used up."""
        if self.window:
            self.messages.uncompleted += count
            self.octets.uncompleted += octets
            return
        if self.messages.granted != UNLIMITED:
            self.messages.granted -= count
        if self.octets.granted != UNLIMITED:
            self.octets.granted = max(0, self.octets.granted - octets)
