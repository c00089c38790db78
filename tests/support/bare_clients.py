"""Clients without manners: each says what a test has it say, and writes down what it hears.

They implement the driver surface of `clients.client.Client`, for `WholeGateway.seat`. What they
know of their subscriptions and links is what the peer has told, so that a test can compare it with
what the gateway has.
"""

from __future__ import annotations

from collections.abc import Callable

from gateway.amqp_0_10 import _spec as spec
from gateway.amqp_0_10 import events as events_0_10
from gateway.amqp_0_10.connection import Connection as Connection010
from gateway.amqp_0_10.session import Session as Session010
from gateway.amqp_0_10.states import Role
from gateway.amqp_0_10.structs import write_header
from gateway.amqp_0_10.types import Command
from gateway.amqp_1_0 import _spec, events
from gateway.amqp_1_0.connection import Connection as Connection10
from gateway.amqp_1_0.link import Link
from gateway.amqp_1_0.session import Session as Session10
from gateway.wire.limits import Limits
from gateway.wire.sasl import anonymous


class Talk010:
    """One 0-10 session of a bare client.

    Attributes:
        subscriptions: destinations that live, as far as the client knows.
        deliveries: ids of transfers that it has not settled.
        completed: ids of its commands that the gateway has completed.
        exceptions: error codes.
        selected: it is transactional, as far as the client knows.
        ended: it has detached, or was told that the session is over.
        told: how often it was told so.
    """

    def __init__(self, client: Bare010, session: Session010) -> None:
        self._client = client
        self.session = session
        self.attached = False
        self.subscriptions: dict[str, str] = {}
        self.deliveries: list[tuple[int, bytes]] = []
        self.completed: set[int] = set()
        self.results: dict[int, object] = {}
        self.exceptions: list[int | None] = []
        self.selected = False
        self.ended = False
        self.told = 0

    def says(self, command: Command, header: bytes | None = None, body: bytes = b"") -> int:
        self._client.flush()
        return self.session.send_command(command, sync=True, header=header, body=body)

    def publishes(self, body: bytes, *, exchange: str = "", key: str = "") -> int:
        delivery = spec.DeliveryProperties(routing_key=key)
        return self.says(
            spec.MessageTransfer(destination=exchange), write_header(delivery, None), body
        )

    def subscribes(self, queue: str, destination: str, *, accept: int = 0, acquire: int = 0) -> int:
        number = self.says(
            spec.MessageSubscribe(
                queue=queue, destination=destination, accept_mode=accept, acquire_mode=acquire
            )
        )
        for unit in (0, 1):
            self.says(spec.MessageFlow(destination=destination, unit=unit, value=0xFFFFFFFF))
        self.subscriptions[destination] = queue
        return number

    def detaches(self) -> None:
        self.session.detach()
        self.over()
        self._client.flush()

    def cancels(self, destination: str) -> None:
        self.says(spec.MessageCancel(destination=destination))
        self.subscriptions.pop(destination, None)

    def over(self) -> None:
        """It has ended, by whomever."""
        self.ended = True
        self.subscriptions.clear()
        self.deliveries.clear()


class Bare010:
    """A 0-10 connection; `talks` are all its sessions, each on a channel of its own."""

    def __init__(self, now_ms: int) -> None:
        self.flush: Callable[[], None] = lambda: None
        self.connection = Connection010(Role.CLIENT, Limits(), now_ms)
        self.talks: list[Talk010] = []
        self.closed_with: list[int] = []
        self.violations: list[object] = []
        self.over = False

    @property
    def closed(self) -> bool:
        return self.connection.closed

    def receive_data(self, data: bytes, now_ms: int) -> None:
        for event in self.connection.receive_data(data, now_ms):
            self._take(event)
        self.flush()

    def receive_eof(self, reason: str) -> None:
        self.connection.receive_eof()
        self.over = True
        for talk in self.talks:
            talk.over()

    def data_to_send(self) -> bytes:
        return self.connection.data_to_send()

    def next_deadline(self) -> int | None:
        return None

    def handle_deadline(self, now_ms: int) -> None:
        raise AssertionError("it asked for none")

    def attach(self, name: bytes) -> Talk010:
        talk = Talk010(self, self.connection.attach(name, len(self.talks)))
        self.talks.append(talk)
        self.flush()
        return talk

    def close(self, now_ms: int) -> None:
        self.connection.send_close(spec.CloseCode.NORMAL, "", now_ms)
        self.flush()

    def _of(self, session: Session010) -> Talk010:
        (talk,) = [each for each in self.talks if each.session is session]
        return talk

    def _take(self, event: events_0_10.Event) -> None:
        if isinstance(event, events_0_10.ControlReceived):
            if isinstance(event.control, spec.ConnectionStart):
                self.connection.send_start_ok([], "ANONYMOUS", b"", "en_US")
        elif isinstance(event, events_0_10.Tuned):
            self.connection.send_open("")
        elif isinstance(event, events_0_10.Attached):
            self._of(event.session).attached = True
        elif isinstance(event, events_0_10.CommandsCompleted):
            for first, last in event.ranges:
                self._of(event.session).completed.update(range(first, last + 1))
        elif isinstance(event, events_0_10.ResultReceived):
            self._of(event.session).results[event.command_id] = event.value
        elif isinstance(event, events_0_10.CommandReceived):
            self._on_command(event)
        elif isinstance(event, events_0_10.ExceptionReceived):
            self._of(event.session).exceptions.append(event.exception.error_code)
        elif isinstance(event, events_0_10.SessionEnded):
            self._of(event.session).over()
            self._of(event.session).told += 1
        elif isinstance(event, events_0_10.ConnectionClosed):
            self.closed_with.append(event.code)
        elif isinstance(event, events_0_10.Violation):
            self.violations.append(event.error)

    def _on_command(self, event: events_0_10.CommandReceived) -> None:
        talk = self._of(event.session)
        command = event.command
        event.session.complete(event.command_id, event.command_id)
        if isinstance(command, spec.MessageTransfer):
            body = event.payload[event.body_at :]
            if command.accept_mode == spec.AcceptMode.EXPLICIT:
                talk.deliveries.append((event.command_id, body))


class Bare10:
    """A 1.0 connection, which answers what ends.

    Attributes:
        receivers: links that live, as far as the client knows, with the addresses of their nodes.
        detaches: how often each link was detached by the gateway.
        ended, ends: sessions that it has ended, and those of which the gateway has told it the end.
        deliveries: what it has received and not settled.
        states: what the gateway has said of deliveries, by what the test has sent them with.
    """

    def __init__(self, name: str, now_ms: int) -> None:
        self.flush: Callable[[], None] = lambda: None
        self.connection = Connection10(
            server=False,
            container_id=name,
            limits=Limits(),
            now_ms=now_ms,
            able=[anonymous()],
        )
        self.connection.send_open(hostname=None)
        self.receivers: dict[Link, str] = {}
        self.senders: dict[Link, str] = {}
        self.detaches: dict[Link, int] = {}
        self.errors: list[str] = []
        self.ended: set[Session10] = set()
        self.ends: list[Session10] = []
        self.sessions: list[Session10] = []
        self.deliveries: list[events.DeliveryReceived] = []
        self.states: dict[object, object] = {}
        self.violations: list[object] = []
        self.over = False
        self.tags = 0

    @property
    def closed(self) -> bool:
        return self.connection.closed

    def receive_data(self, data: bytes, now_ms: int) -> None:
        for event in self.connection.receive_data(data, now_ms):
            self._take(event)
        self.flush()

    def receive_eof(self, reason: str) -> None:
        self.connection.receive_eof()
        self._forget(None)
        self.over = True

    def data_to_send(self) -> bytes:
        return self.connection.data_to_send()

    def next_deadline(self) -> int | None:
        return None

    def handle_deadline(self, now_ms: int) -> None:
        raise AssertionError("it asked for none")

    def begin(self) -> Session10:
        session = self.connection.session()
        session.send_begin()
        self.sessions.append(session)
        self.flush()
        return session

    def end(self, session: Session10) -> None:
        session.send_end()
        self.ended.add(session)
        self._forget(session)
        self.flush()

    def close(self, now_ms: int) -> None:
        self.connection.send_close()
        self._forget(None)
        self.flush()

    def receive(
        self, session: Session10, name: str, source: _spec.Source, *, settled: bool = False
    ) -> Link:
        """Attach a receiver; it gives credit when it is attached."""
        link = session.attach(name, _spec.RECEIVER)
        link.send_attach(
            source=source,
            target=_spec.Target(address="here"),
            snd_settle_mode=_spec.SND_SETTLED if settled else _spec.SND_UNSETTLED,
        )
        self.flush()
        return link

    def send_to(self, session: Session10, name: str, target: _spec.AnyTarget) -> Link:
        """Attach a sender."""
        link = session.attach(name, _spec.SENDER)
        link.send_attach(source=_spec.Source(address="here"), target=target)
        self.flush()
        return link

    def sends(
        self,
        link: Link,
        payload: bytes,
        *,
        what: object = None,
        settled: bool = False,
        state: _spec.DeliveryState | None = None,
    ) -> None:
        """Send one delivery, if there is credit; its outcome is told under `what`."""
        if link.credit > 0 and link.attached:
            self.tags += 1
            tag = self.tags.to_bytes(4, "big")
            link.send_delivery(tag, b"", payload, settled=settled, state=state, context=what)
            self.flush()

    def detach(self, link: Link, *, closed: bool = True) -> None:
        self._gone(link)
        link.send_detach(closed=closed)
        self.flush()

    def settle(
        self, event: events.DeliveryReceived, state: _spec.DeliveryState | None, *, settled: bool
    ) -> None:
        event.link.session.settle_incoming(event.delivery_id, state, settled=settled)
        self.flush()

    def _forget(self, session: Session10 | None) -> None:
        for link in [*self.receivers, *self.senders]:
            if session is None or link.session is session:
                self._gone(link)
        self.sessions = [each for each in self.sessions if session not in (None, each)]

    def _gone(self, link: Link) -> None:
        self.receivers.pop(link, None)
        self.senders.pop(link, None)
        self.deliveries = [each for each in self.deliveries if each.link is not link]

    def _take(self, event: events.Event) -> None:
        if isinstance(event, events.AttachReceived):
            self._on_attach(event)
        elif isinstance(event, events.DeliveryReceived):
            if not event.settled:
                self.deliveries.append(event)
        elif isinstance(event, events.DispositionReceived):
            for delivery in event.deliveries:
                self.states[delivery.context] = event.state
        elif isinstance(event, events.DetachReceived):
            self._gone(event.link)
            self.detaches[event.link] = self.detaches.get(event.link, 0) + 1
            if event.detach.error is not None:
                self.errors.append(event.detach.error.condition)
            event.link.send_detach(closed=event.detach.closed is True)
        elif isinstance(event, events.EndReceived):
            self.ends.append(event.session)
            self._forget(event.session)
            event.session.send_end()
        elif isinstance(event, events.CloseReceived):
            self.connection.send_close()
            self._forget(None)
        elif isinstance(event, events.Violation | events.SessionViolation | events.LinkViolation):
            self.violations.append(event.error)

    def _on_attach(self, event: events.AttachReceived) -> None:
        link = event.link
        if link.refused:
            return  # its detach follows
        if link.role == _spec.SENDER:
            target = event.attach.target
            address = target.address if isinstance(target, _spec.Target) else ""
            self.senders[link] = address or ""
            return
        source = event.attach.source
        self.receivers[link] = "" if source is None else source.address or ""
        link.send_flow(credit=100)
