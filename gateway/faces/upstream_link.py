"""What a link to an upstream is to the connection that carries it.

A link outlives connections: it has a place at its `Upstream` from `Upstream.add` to
`Upstream.drop`, and is attached again on each new connection, or when `Upstream.retry` says so.
Whoever uses it sees its performatives as calls; the answer to the peer's detach has been written
before `on_detach` is called.
"""

from __future__ import annotations

from typing import Final, Protocol, final

from gateway.amqp_1_0._spec import DeliveryState, Error
from gateway.amqp_1_0.events import AttachReceived, DeliveryReceived
from gateway.amqp_1_0.link import Link
from gateway.amqp_1_0.outgoing import Outgoing
from gateway.amqp_1_0.session import Session
from gateway.errors import RemoteProtocolError

NOT_WAITING: Final = -1


class Sleeper(Protocol):
    """Whoever asked, through `Upstream.wake`, to be called at a time."""

    def handle_deadline(self, now_ms: int) -> None:
        """The time has come; the wish is forgotten."""


class UpstreamLink(Protocol):
    """One sender or receiver of ours at an upstream.

    `attach` comes first, and again after each end. The ends are `on_detach`, `on_failed` and
    `on_lost`: nothing comes of the link behind one of them until it is attached again. After
    `on_detach` and `on_failed` it is for the user to ask for that (`Upstream.retry`) or to leave
    (`Upstream.drop`); after `on_lost` it happens by itself.
    """

    def attach(self, session: Session) -> Link:
        """Make the link with `session.attach(name, role)` and send its attach.

        `Link.context` is the caller's to set. Names are the same each time.
        """

    def on_attach(self, event: AttachReceived) -> None:
        """The peer answered. A refusal (`Link.refused`) is not told here but as `on_detach`."""

    def on_flow(self) -> None:
        """The peer's flow state: credit and drain of a sender, the end of a drain of a receiver."""

    def on_room(self) -> None:
        """Sender: the transport or the session window has room again (`Upstream.has_room`)."""

    def on_delivery(self, event: DeliveryReceived) -> None:
        """Receiver: a whole delivery."""

    def on_disposition(
        self, delivery: Outgoing, state: DeliveryState | None, settled: bool
    ) -> None:
        """Sender: what the peer says of one delivery; when `settled` it is forgotten already."""

    def on_detach(self, error: Error | None, closed: bool) -> None:
        """The peer detached, or refused to attach (then `on_attach` was not called)."""

    def on_failed(self, error: RemoteProtocolError) -> None:
        """The peer broke the link's rules or did not answer; it has been detached."""

    def on_lost(self) -> None:
        """The session or the connection is gone."""


@final
class LinkSlot:
    """The place of one link at its upstream; `Link.context` of the link that is attached.

    Attributes:
        user: whose link it is.
        alone: it has a session of its own where the peer ends sessions for a link's errors.
        session, link: while it is attached or attaching.
        attached: the peer has answered with an attach and has not detached.
        attach_at_ms: when it is attached again; `NOT_WAITING` when that is not planned.
        give_up_ms: when the peer must have answered; `NOT_WAITING` when nothing is asked.
        failures: ends in a row; the back-off grows with them. Progress resets it.
    """

    __slots__ = (
        "alone",
        "attach_at_ms",
        "attached",
        "failures",
        "give_up_ms",
        "link",
        "session",
        "user",
    )

    def __init__(self, user: UpstreamLink, *, alone: bool) -> None:
        self.user = user
        self.alone = alone
        self.session: Session | None = None
        self.link: Link | None = None
        self.attached = False
        self.attach_at_ms = NOT_WAITING
        self.give_up_ms = NOT_WAITING
        self.failures = 0

    def clear(self) -> None:
        """Nothing is attached or asked any more."""
        self.session = None
        self.link = None
        self.attached = False
        self.attach_at_ms = NOT_WAITING
        self.give_up_ms = NOT_WAITING
