"""A 0-10 client: one connection, one session, publishing and subscribing.

An address is a queue, or ``exchange/key``; which one the part before the slash is, the client asks
with exchange.query, as the deployed clients do. A subscription to an exchange gets a queue of its
own, which ends with the session.
"""

from __future__ import annotations

import sys
import uuid
from collections.abc import Callable
from typing import Any, Final, final

from twisted.internet.defer import Deferred, inlineCallbacks

from gateway import __version__
from gateway.amqp_0_10 import _spec as spec
from gateway.amqp_0_10._spec_constants import STR16
from gateway.amqp_0_10.connection import Connection
from gateway.amqp_0_10.events import (
    Attached,
    CommandReceived,
    CommandsCompleted,
    ConnectionClosed,
    ControlReceived,
    Event,
    ExceptionReceived,
    ResultReceived,
    SessionEnded,
    Tuned,
    Violation,
)
from gateway.amqp_0_10.session import Session
from gateway.amqp_0_10.states import Role
from gateway.amqp_0_10.structs import open_struct
from gateway.amqp_0_10.types import Command, Struct
from gateway.clients import codec_0_10
from gateway.clients.client import Login, Subscription, Take, Waiting, login_needed
from gateway.clients.letter import Letter
from gateway.errors import DecodeError
from gateway.wire.limits import Limits
from gateway.wire.sasl import ClientMechanism, choose
from gateway.wire.tagged import Tagged

UNLIMITED: Final = 0xFFFFFFFF
EXCHANGE_TYPES_WITHOUT_KEY: Final = ("fanout", "headers")
"""Binding to these needs no key."""
BODIES: Final = ("string", "binary")
"""Of these types is a body that may be empty without being absent."""


@final
class Delivered010:
    """A letter that arrived as a message.transfer."""

    def __init__(
        self, client: Client010, command_id: int, letter: Letter, *, settled: bool
    ) -> None:
        self._client = client
        self._command_id = command_id
        self._settled = settled
        self.letter = letter

    def settle(self, outcome: str) -> None:
        """Settle it, and complete the transfer, which renews the window."""
        if self._settled:
            return
        self._settled = True
        ids = [(self._command_id, self._command_id)]
        command: Command = spec.MessageAccept(transfers=ids)
        if outcome == "reject":
            command = spec.MessageReject(transfers=ids, code=spec.RejectCode.UNSPECIFIED, text="")
        elif outcome == "release":
            command = spec.MessageRelease(transfers=ids, set_redelivered=True)
        self._client.issue(command)
        self._client.complete(self._command_id)


@final
class Client010:
    """Implements `client.Client`."""

    def __init__(self, login: Login, now_ms: int, limits: Limits | None = None) -> None:
        self.flush: Callable[[], None] = lambda: None
        self._login = login
        self._connection = Connection(Role.CLIENT, limits or Limits(), now_ms)
        self._mechanism: ClientMechanism | None = None
        self._session: Session | None = None
        self._waiting = Waiting()
        self._ready = self._waiting.make()
        self._closed = self._waiting.make()
        self._completions: dict[int, Deferred[Any]] = {}
        self._results: dict[int, Deferred[Any]] = {}
        self._outcomes: dict[int, Deferred[Any]] = {}
        self._takers: dict[str, tuple[Subscription, Take]] = {}
        self._routes: dict[str, tuple[str, str]] = {}
        self._failure = ""

    # The driver surface.

    @property
    def closed(self) -> bool:
        """The transport is to be closed."""
        return self._connection.closed

    def receive_data(self, data: bytes, now_ms: int) -> None:
        """Octets from the server, and all that they answer."""
        for event in self._connection.receive_data(data, now_ms):
            self._take(event)

    def receive_eof(self, reason: str) -> None:
        """The transport is gone."""
        self._connection.receive_eof()
        self._end(self._failure or reason)

    def data_to_send(self) -> bytes:
        """Octets for the server."""
        return self._connection.data_to_send()

    def next_deadline(self) -> int | None:
        """When `handle_deadline` wants to be called."""
        return self._connection.next_deadline()

    def handle_deadline(self, now_ms: int) -> None:
        """Heartbeats; a server that is late."""
        for event in self._connection.handle_deadline(now_ms):
            self._take(event)

    # What a caller does.

    def ready(self) -> Deferred[None]:
        """Fires when the session is attached."""
        return self._ready

    def command(self, command: Command) -> Deferred[None]:
        """Send any command; fires when the server has completed it."""
        done: Deferred[None] = self._waiting.make()
        if self._session is not None and not self._session.ended:
            self._completions[self._session.send_command(command, sync=True)] = done
            self.flush()
        return done

    def issue(self, command: Command) -> None:
        """Send a command that nobody waits for."""
        if self._session is not None and not self._session.ended:
            self._session.send_command(command)
            self.flush()

    def query(self, command: Command) -> Deferred[Struct]:
        """Send a command that has a result; fires with it."""
        done: Deferred[Struct] = self._waiting.make()
        if self._session is not None and not self._session.ended:
            self._results[self._session.send_command(command, sync=True)] = done
            self.flush()
        return done

    def complete(self, command_id: int) -> None:
        """A command of the server's is done."""
        if self._session is not None:
            self._session.complete(command_id, command_id)
            self.flush()

    @inlineCallbacks
    def send(self, address: str, letter: Letter) -> Any:
        """Publish with accept-mode explicit, so that the outcome is told."""
        exchange, key = yield self._route(address)
        outcome = self._publish(exchange, key or letter.subject or "", letter)
        return (yield outcome)

    @inlineCallbacks
    def receive(self, subscription: Subscription, take: Take) -> Any:
        """Subscribe to a queue, or to one of its own that is bound to an exchange."""
        exchange, key = yield self._route(subscription.address)
        queue = subscription.address
        if exchange:
            queue = f"receive-{uuid.uuid4()}"
            yield self.command(spec.QueueDeclare(queue=queue, exclusive=True, auto_delete=True))
            yield self.bind(queue, exchange, key)
        destination = f"{len(self._takers)}-{queue}"[:255]
        self._takers[destination] = (subscription, take)
        yield self.command(
            spec.MessageSubscribe(
                queue=queue,
                destination=destination,
                accept_mode=spec.AcceptMode.NONE
                if subscription.settled
                else spec.AcceptMode.EXPLICIT,
                acquire_mode=spec.AcquireMode.NOT_ACQUIRED
                if subscription.browse
                else spec.AcquireMode.PRE_ACQUIRED,
            )
        )
        mode = spec.FlowMode.CREDIT if subscription.once else spec.FlowMode.WINDOW
        self.issue(spec.MessageSetFlowMode(destination=destination, flow_mode=mode))
        for unit, value in (
            (spec.CreditUnit.BYTE, UNLIMITED),
            (spec.CreditUnit.MESSAGE, subscription.credit),
        ):
            self.issue(spec.MessageFlow(destination=destination, unit=unit, value=value))

    def declare_queue(self, queue: str, *, durable: bool = False) -> Deferred[None]:
        """Make a queue unless it exists."""
        return self.command(spec.QueueDeclare(queue=queue, durable=durable))

    def bind(
        self, queue: str, exchange: str, key: str, headers: dict[str, str] | None = None
    ) -> Deferred[None]:
        """Bind a queue; with `headers`, to what has all of them."""
        arguments = None
        if headers is not None:
            match = {"x-match": "all", **headers}
            arguments = [(name, Tagged(STR16, value)) for name, value in match.items()]
        return self.command(
            spec.ExchangeBind(queue=queue, exchange=exchange, binding_key=key, arguments=arguments)
        )

    def lost(self) -> Deferred[None]:
        """Never fires; fails with the reason when the connection is over."""
        return self._waiting.make()

    def close(self, now_ms: int) -> Deferred[None]:
        """Detach, close, and fire when the server has agreed."""
        if not self._connection.closed:
            if self._connection.open:
                self._connection.send_close(spec.CloseCode.NORMAL, "", now_ms)
            else:
                self._connection.drop()  # nobody has answered yet
            self.flush()
        return self._closed

    # Publishing.

    def _publish(self, exchange: str, key: str, letter: Letter) -> Deferred[str]:
        done: Deferred[str] = self._waiting.make()
        if self._session is None or self._session.ended:
            return done
        header, body = codec_0_10.encode(letter, key)
        transfer = spec.MessageTransfer(
            destination=exchange,
            accept_mode=spec.AcceptMode.EXPLICIT,
            acquire_mode=spec.AcquireMode.PRE_ACQUIRED,
        )
        command_id = self._session.send_command(
            transfer, header=header, body=body, empty_body=letter.body.type in BODIES
        )
        self._outcomes[command_id] = done
        self.flush()
        return done

    @inlineCallbacks
    def _route(self, address: str) -> Any:
        """Exchange and key of an address, asked once."""
        known = self._routes.get(address)
        if known is None:
            name, _, key = address.partition("/")
            found = yield self.query(spec.ExchangeQuery(name=name))
            is_exchange = isinstance(found, spec.ExchangeQueryResult) and not found.not_found
            if is_exchange and name and not key and found.type == "topic":
                key = "#"
            known = (name, key) if is_exchange and name else ("", address)
            self._routes[address] = known
        return known

    # Events.

    def _take(self, event: Event) -> None:
        if isinstance(event, ControlReceived):
            self._on_control(event.control)
        elif isinstance(event, Tuned) and not self._is_proved():
            self._failure = "the server did not prove that it knows the user"
            self._connection.drop()
        elif isinstance(event, Tuned):
            self._connection.send_open(self._login.virtual_host)
        elif isinstance(event, Attached):
            self._waiting.fire(self._ready)
        elif isinstance(event, CommandsCompleted):
            self._on_completed(event.ranges)
        elif isinstance(event, ResultReceived):
            self._on_result(event)
        elif isinstance(event, CommandReceived):
            self._on_command(event)
        else:
            self._on_end(event)
        self.flush()

    def _on_control(self, control: object) -> None:
        if isinstance(control, spec.ConnectionStart):
            self._on_start(control)
        elif isinstance(control, spec.ConnectionSecure):
            self._on_secure(control.challenge or b"")
        elif isinstance(control, spec.ConnectionOpenOk):
            self._session = self._connection.attach(uuid.uuid4().hex.encode(), 0)

    def _on_secure(self, challenge: bytes) -> None:
        mechanism = self._mechanism
        answer = None if mechanism is None else mechanism.respond(challenge)
        derivation = None if mechanism is None else mechanism.derivation()
        if mechanism is not None and derivation is not None:
            derivation.run()  # here: nobody else waits
            answer = mechanism.derived()
        if mechanism is None or answer is None:
            self._failure = mechanism.problem() if mechanism is not None else "a challenge unasked"
            self._connection.drop()
            return
        self._connection.send_secure_ok(answer)

    def _is_proved(self) -> bool:
        """Whether the server that lets us in has proved what the mechanism has it prove."""
        mechanism = self._mechanism
        return mechanism is not None and mechanism.complete(None)

    def _on_start(self, start: spec.ConnectionStart) -> None:
        able = self._login.mechanisms()
        mechanism = choose(start.mechanisms or [], able)
        if mechanism is None:
            offered = ", ".join(start.mechanisms or [])
            wanted = ", ".join(each.name() for each in able)
            self._failure = f"the server does not offer {wanted}, but {offered}"
            if self._login.username is None:
                self._failure = login_needed([str(each) for each in start.mechanisms or []])
            self._connection.drop()
            return
        self._mechanism = mechanism
        properties = [
            ("product", Tagged(STR16, "amqp-gateway")),
            ("version", Tagged(STR16, __version__)),
            ("platform", Tagged(STR16, sys.platform)),
            ("information", Tagged(STR16, "the gateway's own client")),
        ]
        initial = mechanism.initial() or b""
        self._connection.send_start_ok(properties, mechanism.name(), initial, "en_US")

    def _on_completed(self, ranges: list[tuple[int, int]]) -> None:
        for first, last in ranges:
            for command_id in range(first, last + 1):
                done = self._completions.pop(command_id, None)
                if done is not None:
                    self._waiting.fire(done)

    def _on_result(self, event: ResultReceived) -> None:
        done = self._results.pop(event.command_id, None)
        if done is not None and event.value is not None:
            self._waiting.fire(done, open_struct(event.value))

    def _on_command(self, event: CommandReceived) -> None:
        command = event.command
        if isinstance(command, spec.MessageTransfer):
            self._on_transfer(event, command)
            return
        if isinstance(command, spec.MessageAccept):
            self._on_outcome(command.transfers or [], "accepted")
        elif isinstance(command, spec.MessageReject):
            names = {
                spec.RejectCode.UNROUTABLE: "unroutable",
                spec.RejectCode.IMMEDIATE: "immediate",
            }
            why = command.text or names.get(spec.RejectCode(command.code or 0), "unspecified")
            self._on_outcome(command.transfers or [], f"rejected: {why}")
        self.complete(event.command_id)

    def _on_outcome(self, ranges: list[tuple[int, int]], outcome: str) -> None:
        for first, last in ranges:
            for command_id in range(first, last + 1):
                done = self._outcomes.pop(command_id, None)
                if done is not None:
                    self._waiting.fire(done, outcome)

    def _on_transfer(self, event: CommandReceived, transfer: spec.MessageTransfer) -> None:
        taker = self._takers.get(transfer.destination or "")
        if taker is None:
            return
        subscription, take = taker
        try:
            letter = codec_0_10.decode(event.payload, event.body_at)
        except DecodeError as error:
            self._end(f"a message that cannot be read: {error}")
            return
        delivered = Delivered010(self, event.command_id, letter, settled=subscription.settled)
        if subscription.settled:
            self.complete(event.command_id)
        take(delivered)

    def _on_end(self, event: Event) -> None:
        if isinstance(event, ExceptionReceived):
            exception = event.exception
            self._end(f"{exception.description or 'refused'} ({exception.error_code})")
        elif isinstance(event, SessionEnded):
            why = f"code {event.code}" if event.error is None else str(event.error)
            self._end(f"the session ended: {why}")
        elif isinstance(event, Violation):
            self._end(f"the server broke the protocol: {event.error}")
        elif isinstance(event, ConnectionClosed):
            self._failure = f"the server closed: {event.text} ({event.code})"
            self._waiting.fire(self._closed)
            self._end(self._failure)

    def _end(self, reason: str) -> None:
        self._waiting.fire(self._closed)
        self._waiting.fail(reason)
