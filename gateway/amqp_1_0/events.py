"""What a connection tells its driver: what the peer did that is not the protocol's own business.

Named after the performatives. Sessions and links are the endpoints themselves, on which the driver
answers. Events come in the order of the octets; the endpoints may already be further than the
event, so an answer to an endpoint that has ended meanwhile is dropped in silence.
"""

from __future__ import annotations

from typing import Union, final

from mypy_extensions import mypyc_attr

from gateway.amqp_1_0._spec import Attach, Begin, DeliveryState, Detach, Error, Open
from gateway.amqp_1_0.link import Link
from gateway.amqp_1_0.session import Session
from gateway.amqp_1_0.transfers.outgoing import Outgoing
from gateway.errors import RemoteProtocolError
from gateway.wire.sasl import Credentials, Derivation


@final
class AuthenticationRequested:
    """Server: verify these, then `Connection.send_verdict`."""

    __slots__ = ("credentials",)

    def __init__(self, credentials: Credentials) -> None:
        self.credentials = credentials


@final
class DerivationRequested:
    """Client: run this, in a thread if others are not to wait; then `Connection.send_derived`."""

    __slots__ = ("derivation",)

    def __init__(self, derivation: Derivation) -> None:
        self.derivation = derivation


@final
class Authenticated:
    """Client: the server is content; our open is on its way."""

    __slots__ = ()

    def __init__(self) -> None:
        pass


@final
class OpenReceived:
    """Answer with `Connection.send_open` (server), then perhaps `send_close`."""

    __slots__ = ("open",)

    def __init__(self, open: Open) -> None:
        self.open = open


@final
class BeginReceived:
    """A new session of the peer's, or the answer to a local one.

    A new one is answered with `Session.send_begin` or `Session.refuse`.

    Attributes:
        answer: it is the answer to a local one.
    """

    __slots__ = ("answer", "begin", "session")

    def __init__(self, session: Session, begin: Begin, answer: bool) -> None:
        self.session = session
        self.begin = begin
        self.answer = answer


@final
class AttachReceived:
    """A new link of the peer's, or the answer to a local one.

    A new one is answered with `Link.send_attach` or `Link.refuse`. An answer may have another
    terminus, settle mode or message size than we asked for: it is the driver who judges them, and
    detaches. One that is `Link.refused` is followed by `DetachReceived`, which says why; nothing is
    to be sent on the link in between. A peer that attaches with our link's name and *our* role has
    begun a link of its own: names count in each direction by themselves (2.6.1).

    Attributes:
        answer: it is the answer to a local one.
    """

    __slots__ = ("answer", "attach", "link")

    def __init__(self, link: Link, attach: Attach, answer: bool) -> None:
        self.link = link
        self.attach = attach
        self.answer = answer


@final
class FlowReceived:
    """Credit or drain of a link has changed: `Link.credit`, `Link.drain`, `Link.available`."""

    __slots__ = ("link",)

    def __init__(self, link: Link) -> None:
        self.link = link


@final
class WindowOpened:
    """The session window had blocked local transfers and does no longer; none are waiting."""

    __slots__ = ("session",)

    def __init__(self, session: Session) -> None:
        self.session = session


@final
@mypyc_attr(acyclic=True)
class DeliveryReceived:
    """One whole delivery.

    Attributes:
        delivery_id: to settle it by, when not `settled`.
        state: the state that the sender gave it (a transactional-state, for example).
        rcv_second: the receiver must wait for the sender's settlement.
        resume: it takes up a delivery of the unsettled map that we attached with (2.6.13): the
            payload may be missing, or begin where `state` says.
    """

    __slots__ = (
        "delivery_id",
        "link",
        "message_format",
        "payload",
        "rcv_second",
        "resume",
        "settled",
        "state",
        "tag",
    )

    def __init__(
        self,
        link: Link,
        delivery_id: int,
        tag: bytes,
        settled: bool,
        message_format: int,
        payload: bytes,
        state: DeliveryState | None,
        rcv_second: bool,
        resume: bool = False,
    ) -> None:
        self.link = link
        self.delivery_id = delivery_id
        self.tag = tag
        self.settled = settled
        self.message_format = message_format
        self.payload = payload
        self.state = state
        self.rcv_second = rcv_second
        self.resume = resume


@final
class DeliveryDropped:
    """A delivery that nobody takes: it came behind our detach, end or close, or was why we did so.

    There is nothing to answer: the peer finds it unsettled, or gone, when it sees that. It is told
    of once, perhaps before all of it has come.

    Attributes:
        link: by which it came; `None` where that is not known any more.
        payload: of what has come of it.
    """

    __slots__ = ("link", "message_format", "payload", "session", "state")

    def __init__(
        self,
        session: Session,
        link: Link | None,
        message_format: int,
        payload: bytes,
        state: DeliveryState | None,
    ) -> None:
        self.session = session
        self.link = link
        self.message_format = message_format
        self.payload = payload
        self.state = state


@final
class DeliveryAborted:
    """The sender gives up a delivery: one that had begun, or one of the unsettled map that we
    attached with. Or it resumes one that is not in that map, which is ignored (2.6.13). It has used
    up its credit like any other.
    """

    __slots__ = ("link", "tag")

    def __init__(self, link: Link, tag: bytes) -> None:
        self.link = link
        self.tag = tag


@final
class DispositionReceived:
    """The receiver spoke of deliveries that we sent, in order of their ids; unknown ids are passed
    over.

    When `settled` they have been forgotten; else `Session.settle_outgoing` ends them.

    Attributes:
        ended: what it said in a transaction is also of deliveries that were unsettled when their
            link was detached; there may be no others.
    """

    __slots__ = ("deliveries", "ended", "session", "settled", "state")

    def __init__(
        self,
        session: Session,
        deliveries: list[Outgoing],
        settled: bool,
        state: DeliveryState | None,
        ended: bool = False,
    ) -> None:
        self.session = session
        self.deliveries = deliveries
        self.settled = settled
        self.state = state
        self.ended = ended


@final
class SenderDispositionReceived:
    """The sender spoke of deliveries that we received; when `settled` they have been forgotten.

    Attributes:
        links: by which each of them came.
    """

    __slots__ = ("delivery_ids", "links", "session", "settled", "state")

    def __init__(
        self,
        session: Session,
        delivery_ids: list[int],
        links: list[Link],
        settled: bool,
        state: DeliveryState | None,
    ) -> None:
        self.session = session
        self.delivery_ids = delivery_ids
        self.links = links
        self.settled = settled
        self.state = state


@final
class DetachReceived:
    """Answer with `Link.send_detach`, unless we had detached first.

    `detach.closed` is not true: the link is only suspended, and may be resumed (`resumption`).
    What we sent and is unsettled stays in `Session.sending` until we detach, too.
    """

    __slots__ = ("detach", "link")

    def __init__(self, link: Link, detach: Detach) -> None:
        self.link = link
        self.detach = detach


@final
class LinkViolation:
    """The peer broke a link's rules; the link is being detached with the error.

    The session goes on. There is nothing to answer: the driver lets go of the link and of what was
    unsettled on it, which is forgotten. The peer's `DetachReceived` follows, after which (or
    at once, by another name) the link may be attached anew, by `Session.attach`.

    Attributes:
        refused: the delivery that was given up since it is too large, with what has come of it.
    """

    __slots__ = ("error", "link", "refused")

    def __init__(
        self, link: Link, error: RemoteProtocolError, refused: DeliveryReceived | None = None
    ) -> None:
        self.link = link
        error.keep()
        self.error = error
        self.refused = refused


@final
class EndReceived:
    """Answer with `Session.send_end`, unless we had ended first.

    The session's links and everything unsettled are gone with it; no event says so of each.
    """

    __slots__ = ("error", "session")

    def __init__(self, session: Session, error: Error | None) -> None:
        self.session = session
        self.error = error


@final
class SessionViolation:
    """The peer broke a session's rules; the session is being ended with the error.

    The connection goes on. There is nothing to answer: links and deliveries of the session are
    gone, and new ones are made on a new `Connection.session`. The peer's `EndReceived` follows.
    """

    __slots__ = ("error", "session")

    def __init__(self, session: Session, error: RemoteProtocolError) -> None:
        self.session = session
        error.keep()
        self.error = error


@final
class CloseReceived:
    """Answer with `Connection.send_close`, unless we had closed first.

    Sessions, links and everything unsettled are gone with it; no event says so of each.
    """

    __slots__ = ("error",)

    def __init__(self, error: Error | None) -> None:
        self.error = error


@final
class ConnectionLost:
    """The transport ended, or a time-out did; no other event follows."""

    __slots__ = ()

    def __init__(self) -> None:
        pass


@final
class Violation:
    """The peer broke the connection's rules; what there is to say of it is written.

    No other event follows but `DeliveryDropped`. `error` is one of `errors`: to a client,
    `SaslRefusedError` and its kin say why there is no connection.
    """

    __slots__ = ("error",)

    def __init__(self, error: RemoteProtocolError) -> None:
        error.keep()
        self.error = error


Event = Union[  # noqa: UP007
    AuthenticationRequested,
    DerivationRequested,
    Authenticated,
    OpenReceived,
    BeginReceived,
    AttachReceived,
    FlowReceived,
    WindowOpened,
    DeliveryReceived,
    DeliveryAborted,
    DeliveryDropped,
    DispositionReceived,
    SenderDispositionReceived,
    DetachReceived,
    LinkViolation,
    EndReceived,
    SessionViolation,
    CloseReceived,
    ConnectionLost,
    Violation,
]
