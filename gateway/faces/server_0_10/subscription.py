"""One 0-10 subscription: where the bridge's deliveries become message.transfer commands.

Owns the credit of message.flow in both modes, in both units. In window mode what may be sent is the
allowance - the sum of the grants since the last stop or flush - less what the peer has not
completed; completion, not acceptance, gives it back. In credit mode only another flow does. The
bridge is told of messages only: how many octets a transfer has is known here, after translation.
Source: 0-10 XML, message.set-flow-mode, flow, flush and stop.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, final

from gateway.bridge.queues.subscription import UNLIMITED, Subscription
from gateway.bridge.seams import DeliverStatus
from gateway.message import Condition, Delivery, Refusal

if TYPE_CHECKING:
    from gateway.faces.server_0_10.session import ServerSession

INFINITE: Final = 0xFFFFFFFF
NOTHING_REFUSED: Final = Refusal(Condition.NONE, "")


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

    def covers(self, amount: int) -> bool:
        """Whether `amount` may be sent now."""
        return self.granted == UNLIMITED or amount <= self.granted - self.uncompleted

    def spend(self, amount: int, *, window: bool) -> None:
        """So much was sent: in window mode it is uncompleted, in credit mode used up."""
        if window:
            self.uncompleted += amount
        elif self.granted != UNLIMITED:
            self.granted -= amount

    def restart(self) -> None:
        """The mode changes: what is left stays, what is uncompleted is of no account any more."""
        self.granted = self.left()
        self.uncompleted = 0


@final
class ServerSubscription:
    """An outlet of the bridge, named by its destination within its session.

    Attributes:
        bridged: the bridge's side of it; set right after construction.
        window: window mode, in which a subscription begins; else credit mode.
        era: how often the mode has changed: completions of an earlier era give nothing back.
        attaching: an upstream has to attach it before it is one.
    """

    __slots__ = (
        "accept_explicit",
        "acquire",
        "attaching",
        "blocked",
        "bridged",
        "destination",
        "era",
        "flushes",
        "messages",
        "octets",
        "session",
        "stuck",
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
        self.attaching = False
        self.window = True
        self.era = 0
        self.messages = Allowance()
        self.octets = Allowance()
        # Command ids of flushes that are not done.
        self.flushes: list[int] = []
        # `deliver` refused; and that until the client does something about it.
        self.blocked = False
        self.stuck = False

    # What the bridge calls.

    def deliver(self, delivery: Delivery) -> DeliverStatus:
        """Send one transfer."""
        status = self.session.deliveries.send(self, delivery)
        if status == DeliverStatus.BLOCKED:
            self.blocked = True
        return status

    def on_drained(self) -> None:
        """The flush is done: nothing is left to send, and credit is zero in both units."""
        self.messages.granted = 0
        self.octets.granted = 0
        flushes = self.flushes
        self.flushes = []
        for command_id in flushes:
            self.session.complete(command_id)

    def refusal(self) -> Refusal:
        """As an `Outlet`: it refuses nothing on everybody's behalf."""
        return NOTHING_REFUSED

    def on_attached(self) -> None:
        """The upstream has attached it."""
        if self.attaching:
            self.attaching = False
            self.session.on_attached(None)

    def on_cancelled(self, condition: Condition, description: str) -> None:
        """The queue went away under it: the specification closes the session for that."""
        refusal = Refusal(condition, description)
        if self.attaching:
            self.attaching = False
            self.session.on_attached(refusal)
        else:
            self.session.end_with(refusal)

    # What the session calls, for the client.

    def set_window(self, window: bool) -> None:
        """message.set-flow-mode; what may be sent stays what it is."""
        if window != self.window:
            self.window = window
            self.era += 1
            self.messages.restart()
            self.octets.restart()

    def flow(self, octets: bool, value: int | None) -> None:
        """message.flow, in one unit."""
        (self.octets if octets else self.messages).add(value)
        self.grant()

    def flush(self, command_id: int) -> None:
        """message.flush: complete it when all that can be sent has been."""
        self.flushes.append(command_id)
        if self.stuck:
            self.stop()
        else:
            self._bridged().drain()

    def stop(self) -> None:
        """message.stop: nothing more after this; a flush under way is over, too."""
        self._bridged().stop()
        self.on_drained()

    def cancel(self) -> None:
        """message.cancel, or the session's end: no more deliveries."""
        self._bridged().cancel()
        self.on_drained()

    # What the session calls, around a transfer.

    def sent(self, octets: int) -> None:
        """A transfer of so many octets of header and body went out."""
        self.messages.spend(1, window=self.window)
        self.octets.spend(octets, window=self.window)

    def completed(self, octets: int, era: int) -> bool:
        """The peer completed such a transfer, sent in `era`; whether `grant` is due."""
        if era != self.era:
            return False
        self.messages.uncompleted -= 1
        self.octets.uncompleted -= octets
        return True

    def exhausted(self) -> None:
        """The next message cannot be sent before the client gives more credit, or settles.

        A flush has nothing more to wait for.
        """
        self.stuck = True
        if self.flushes:
            self.stop()

    def grant(self) -> None:
        """Tell the bridge what may be sent now."""
        bridged = self._bridged()
        if not bridged.cancelled:
            bridged.grant(0 if self.octets.left() == 0 else self.messages.left())
            self.resume()

    def resume(self) -> None:
        """There is room again for what `deliver` refused."""
        if self.blocked:
            self.blocked = False
            self.stuck = False
            self._bridged().resume()

    def number(self) -> int:
        """Its number in the bridge and in the audit log."""
        return self._bridged().number

    def unsettled(self) -> int:
        """How many of its deliveries have not ended."""
        return self._bridged().unsettled

    def _bridged(self) -> Subscription:
        bridged = self.bridged
        assert bridged is not None
        return bridged
