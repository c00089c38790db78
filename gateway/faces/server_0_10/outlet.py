"""What a 0-10 session is sent messages by: a subscription, or a consumer of file or stream.

How a message is sent, and how many may be, is each class's own. What happens when the queue goes,
the session loses its connection, or there is room again, is the same of all of them.
"""

from __future__ import annotations

from typing import Final, final

from gateway.bridge.exchanges.filters import NoLocal
from gateway.bridge.queues.subscription import UNLIMITED, Subscription
from gateway.bridge.seams import DeliverStatus
from gateway.faces.client import Client
from gateway.faces.server_0_10.answers import Answers
from gateway.faces.server_0_10.parking import Parking
from gateway.faces.server_0_10.unsettled import Unsettled
from gateway.message import Condition, Delivery, Refusal

NOTHING_REFUSED: Final = Refusal(Condition.NONE, "")


class SessionOutlet:
    """An outlet of the bridge, of one session.

    Attributes:
        bridged: the bridge's side of it; from right after construction until it is over.
        attaching: an upstream has to attach it before it is one.
        kept: octets of it on the connection's account.
        no_local: leaves out what its own connection published.
        paused: its session has no connection, and it no credit.
        blocked: `deliver` refused for want of room.
        takes: messages, or the queue from others: it is no looking on.
    """

    __slots__ = (
        "_answers",
        "_client",
        "_gone",
        "_parking",
        "_session",
        "_unsettled",
        "attaching",
        "blocked",
        "bridged",
        "kept",
        "no_local",
        "paused",
        "takes",
    )

    def __init__(
        self,
        answers: Answers,
        unsettled: Unsettled,
        parking: Parking,
        *,
        kept: int,
        no_local: NoLocal | None,
        takes: bool = True,
    ) -> None:
        self._answers = answers
        self._client = answers.client
        self._session = answers.session
        self._unsettled = unsettled
        self._parking = parking
        self.bridged: Subscription | None = None
        self.attaching = False
        self.kept = kept
        self.no_local = no_local
        self.takes = takes
        self.paused = False
        self.blocked = False
        self._gone: Refusal | None = None  # its queue was deleted while it had no credit

    # What the bridge calls.

    def deliver(self, delivery: Delivery) -> DeliverStatus:
        """See `Outlet`."""
        raise NotImplementedError

    def on_drained(self) -> None:
        """Nobody has asked for it."""

    @final
    def refusal(self) -> Refusal:
        """Nothing: `deliver` never refuses on everybody's behalf."""
        return NOTHING_REFUSED

    @final
    def on_attached(self) -> None:
        """The upstream has attached it."""
        if self.attaching:
            self._on_attached(None)

    def on_cancelled(self, condition: Condition, description: str) -> None:
        """The queue went away under it: the specification closes the session for that.

        As qpidd does: where the client waits for messages, now or as soon as it does.
        """
        refusal = Refusal(condition, description)
        if self.attaching:
            self._on_attached(refusal)
        elif self._waits(condition):
            self._answers.fail(refusal)
        else:
            self._gone = refusal

    def _waits(self, condition: Condition) -> bool:
        """Whether the client waits for messages, which will not come for that reason."""
        return not self.paused

    def _on_attached(self, refusal: Refusal | None) -> None:
        self.attaching = False
        self._parking.answer_waiting(refusal)
        self._client.touch()

    @final
    def _has_room(self, octets: int) -> bool:
        """Whether a message of that size may be written, and one more command be in doubt."""
        client, session = self._client, self._session
        if client.draining or not client.room.has(octets):
            return False
        if session.replay is not None and not session.has_room(octets):
            return False
        return session.in_doubt() < client.settings.limits.commands_in_doubt_max

    # What the session calls.

    def left(self) -> int:
        """How many messages it may be sent now."""
        return UNLIMITED

    def grant(self) -> None:
        """Tell the bridge what may be sent now."""
        bridged, gone, left = self._bridged(), self._gone, self.left()
        if gone is not None and left != 0:
            self._answers.fail(gone)
        elif not bridged.cancelled:
            bridged.grant(left)
            self.resume()

    def pause(self) -> None:
        """The session has no connection: nothing is sent."""
        self.paused = True
        self._bridged().stop()

    @final
    def go_on(self) -> None:
        """It has one again."""
        self.paused = False
        self.grant()

    @final
    def move(self, client: Client) -> None:
        """The session has another connection, or none: what is kept is on its account."""
        self._client.account.give(self.kept)
        client.account.note(self.kept)
        self._client = client
        if self.no_local is not None:
            self.no_local.also(client.peer.connection_id)

    def cancel(self) -> None:
        """Its client has cancelled it, or the session is over: no more deliveries."""
        self._client.account.give(self.kept)
        self.kept = 0
        self._bridged().cancel()

    def resume(self) -> None:
        """There is room again for what `deliver` refused."""
        if self.blocked:
            self.blocked = False
            self._bridged().resume()

    @final
    def number(self) -> int:
        """Its number in the bridge and in the audit log."""
        return self._bridged().number

    @final
    def unsettled(self) -> int:
        """How many of its deliveries have not ended."""
        return self._bridged().unsettled

    @final
    def queue_name(self) -> str:
        """The queue that it is for."""
        return self._bridged().queue_name

    @final
    def _bridged(self) -> Subscription:
        bridged = self.bridged
        assert bridged is not None
        return bridged
