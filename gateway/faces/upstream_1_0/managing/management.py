"""Requests to the management node of RabbitMQ 4: HTTP's methods, paths and statuses in messages.

They go over a pair of links of one name in one session, a sender and a receiver, both of the node
`/management`. A request has its method as subject, its path as `to`, its body as amqp-value; the
response has the status as subject and the request's message-id as correlation-id. What is asked
may be asked twice, so that what a connection leaves without an answer is asked again.
"""

from __future__ import annotations

from collections import deque
from typing import Final, Protocol, final

from gateway.amqp_1_0 import _spec, sections, types
from gateway.amqp_1_0._spec import Accepted, DeliveryState, Error, Properties, Source, Target
from gateway.amqp_1_0.events import AttachReceived, DeliveryReceived
from gateway.amqp_1_0.link import Link
from gateway.amqp_1_0.session import Session
from gateway.amqp_1_0.transfers.outgoing import Outgoing
from gateway.errors import DecodeError, RemoteProtocolError
from gateway.faces.upstream_1_0.context import UpstreamContext
from gateway.faces.upstream_1_0.errors import text_of
from gateway.faces.upstream_1_0.slot import LinkSlot
from gateway.wire.buffers import Writer
from gateway.wire.tagged import Tagged

NODE: Final = "/management"
PAIRED: Final = "paired"
REPLY_TO: Final = "$me"
CREDIT: Final = 20
TRIES_MAX: Final = 2  # the peer ends the session for a request that it cannot read
UNANSWERED: Final = 0
NOTHING: Final = Tagged(types.NULL, None)


@final
class Answer:
    """What became of a request.

    Attributes:
        status: as in HTTP; `UNANSWERED`: there is no answer, and `text` says why.
        text: what the peer says of a failure.
        body: of the response.
    """

    __slots__ = ("body", "status", "text")

    def __init__(self, status: int, text: str, body: Tagged = NOTHING) -> None:
        self.status = status
        self.text = text
        self.body = body

    @property
    def done(self) -> bool:
        """It was carried out."""
        return 200 <= self.status < 300


class Asker(Protocol):
    """Whoever asks."""

    def on_answer(self, token: int, answer: Answer) -> None:
        """The answer to what was asked with `token`; never from inside `Management.ask`."""


@final
class Request:
    """One request: implements `Sleeper`.

    Attributes:
        tries: how often it was sent.
    """

    __slots__ = ("_management", "asker", "body", "method", "path", "token", "tries")

    def __init__(
        self,
        management: Management,
        method: str,
        path: str,
        body: Tagged,
        asker: Asker,
        token: int,
    ) -> None:
        self._management = management
        self.method = method
        self.path = path
        self.body = body
        self.asker = asker
        self.token = token
        self.tries = 0

    def encoded(self, number: int) -> bytes:
        """The message."""
        writer = Writer()
        Properties(
            message_id=Tagged(types.ULONG, number),
            to=self.path,
            subject=self.method,
            reply_to=REPLY_TO,
        ).encode(writer)
        sections.write_value(writer, self.body)
        return writer.getvalue()

    def handle_deadline(self, now_ms: int) -> None:
        """There was no answer in time."""
        self._management.on_late(self)


@final
class Half:
    """One link of the pair: implements `UpstreamLink`.

    Attributes:
        link: from the peer's attach to its end.
        slot: its place.
    """

    __slots__ = ("_management", "_role", "link", "slot")

    def __init__(self, management: Management, role: bool) -> None:
        self._management = management
        self._role = role
        self.link: Link | None = None
        self.slot: LinkSlot | None = None

    def attach(self, session: Session) -> Link:
        """Both have one name, and say that they are a pair."""
        link = session.attach(self._management.name, self._role)
        link.send_attach(
            source=Source(address=NODE),
            target=Target(address=NODE),
            snd_settle_mode=_spec.SND_SETTLED,
            properties={PAIRED: Tagged(types.BOOLEAN, True)},
        )
        return link

    def on_attach(self, event: AttachReceived) -> None:
        """It is attached; both links of the pair may be now."""
        self.link = event.link
        self._management.on_half(self)

    def on_flow(self) -> None:
        """Sender: there is credit."""
        self._management.say()

    def on_room(self) -> None:
        """Sender: there is room. Receiver: a response was given up, and its credit with it."""
        if self._role == _spec.RECEIVER:
            self.give_credit()
        self._management.say()

    def give_credit(self) -> None:
        """Receiver: let responses come, if half of the credit is used up."""
        link = self.link
        if link is not None and link.credit * 2 <= CREDIT:
            link.send_flow(credit=CREDIT)

    def on_delivery(self, event: DeliveryReceived) -> None:
        """Receiver: a response."""
        self._management.on_response(event)

    def on_disposition(
        self, delivery: Outgoing, state: DeliveryState | None, settled: bool
    ) -> None:
        """Requests are settled when they are sent."""

    def on_settled(self, delivery_ids: set[int], state: DeliveryState | None) -> None:
        """Responses are read at once."""

    def on_detach(self, error: Error | None, closed: bool) -> None:
        """The peer does not offer it, or not any more."""
        self._management.on_end(self, text_of(error))

    def on_failed(self, error: RemoteProtocolError) -> None:
        """The peer broke the link's rules, or did not answer."""
        self._management.on_end(self, str(error))

    def on_lost(self) -> None:
        """The session or the connection is gone."""
        self._management.on_end(self, "the session ended", lost=True)


@final
class Management:
    """Implements `Sleeper`; all requests to one upstream, in order."""

    def __init__(self, upstream: UpstreamContext) -> None:
        self.upstream = upstream
        self.name = upstream.link_name("management")
        self._sender: Half | None = None
        self._receiver: Half | None = None
        self._queue: deque[Request] = deque()
        self._asked: dict[int, Request] = {}  # by message-id: sent, and not answered
        self._numbers = 0
        self._failures = 0

    def ask(
        self,
        method: str,
        path: str,
        body: Tagged,
        asker: Asker,
        token: int,
        *,
        patient: bool = False,
    ) -> None:
        """Send a request; `patient`: it may wait for a connection as long as that takes."""
        request = Request(self, method, path, body, asker, token)
        self._queue.append(request)
        if not patient:
            self._limit(request)
        if self._failures == 0:
            self._open()
        self.say()
        self.upstream.touch()

    def _limit(self, request: Request) -> None:
        upstream = self.upstream
        upstream.wake_in(request, upstream.settings.attach_timeout_ms)

    # The pair of links.

    def _open(self) -> None:
        if self._sender is not None:
            return
        links = self.upstream.links
        sender = Half(self, _spec.SENDER)
        receiver = Half(self, _spec.RECEIVER)
        self._sender = sender
        self._receiver = receiver
        sender.slot = links.add(sender, alone=True, stays=True)
        receiver.slot = links.add(receiver, beside=sender.slot, stays=True)

    def on_half(self, half: Half) -> None:
        """One link of the pair is attached."""
        if half is self._receiver:
            half.give_credit()
        self.say()

    def on_end(self, half: Half, problem: str, *, lost: bool = False) -> None:
        """One link has ended: so does the other. What was not answered is asked again, or fails."""
        if half is not self._sender and half is not self._receiver:
            return
        refused = half.link is None and not lost
        self._drop()
        unanswered = list(self._asked.values())
        self._asked.clear()
        failed = [each for each in unanswered if each.tries >= TRIES_MAX]
        self._queue.extendleft(reversed([each for each in unanswered if each.tries < TRIES_MAX]))
        if refused:
            failed += self._queue
            self._queue.clear()
        if not self._queue:
            self._failures = 0
        elif lost:
            self._open()
        else:
            self._failures += 1
            upstream = self.upstream
            upstream.wake_in(self, upstream.settings.back_off_ms(self._failures))
        for request in failed:
            self._answer(request, Answer(UNANSWERED, problem))

    def _drop(self) -> None:
        for each in (self._sender, self._receiver):
            if each is not None and each.slot is not None:
                each.slot.drop()
        self._sender = None
        self._receiver = None

    def handle_deadline(self, now_ms: int) -> None:
        """The back-off is over: try again."""
        if self._queue:
            self._open()

    # Requests and responses.

    def say(self) -> None:
        """Send what there is credit for."""
        sender, receiver = self._sender, self._receiver
        if sender is None or receiver is None or receiver.link is None:
            return
        link = sender.link
        if link is None or not link.attached:
            return
        if self._queue:
            # The peer must have credit for the answers before it is asked.
            link.session.channels.flush()
        while self._queue and link.credit > 0 and not link.session.blocked:
            request = self._queue.popleft()
            request.tries += 1
            self._numbers += 1
            self._asked[self._numbers] = request
            self._limit(request)
            tag = self._numbers.to_bytes(8, "big")
            link.send_delivery(tag, b"", request.encoded(self._numbers), settled=True)

    def on_response(self, event: DeliveryReceived) -> None:
        """Whose it is, says the correlation-id."""
        link = event.link
        if not event.settled:
            link.session.settle_incoming(event.delivery_id, Accepted())
        if self._receiver is not None:
            self._receiver.give_credit()
        number, answer = read_response(event.payload)
        request = self._asked.pop(number, None)
        if request is not None:
            self._failures = 0
            self._answer(request, answer)
        self.say()

    def on_late(self, request: Request) -> None:
        """It has waited too long."""
        if request in self._queue:
            self._queue.remove(request)
        for number, asked in list(self._asked.items()):
            if asked is request:
                del self._asked[number]
        self._answer(request, Answer(UNANSWERED, "its management does not answer"))

    def _answer(self, request: Request, answer: Answer) -> None:
        self.upstream.unwake(request)
        request.asker.on_answer(request.token, answer)
        self.upstream.touch()


def read_response(payload: bytes) -> tuple[int, Answer]:
    """The number of the request, and the answer; -1 for what is no response."""
    try:
        found = sections.scan(payload)
        properties = sections.properties(payload, found)
        values = sections.body_values(payload, found)
    except DecodeError:
        return -1, Answer(UNANSWERED, "")
    if properties is None or properties.correlation_id is None:
        return -1, Answer(UNANSWERED, "")
    number = properties.correlation_id.value
    status = properties.subject or ""
    if not isinstance(number, int) or not (status.isascii() and status.isdigit()):
        return -1, Answer(UNANSWERED, "")
    body = values[0] if values else NOTHING
    text = body.value if isinstance(body.value, str) else f"status {status}"
    return number, Answer(int(status), text, body)
