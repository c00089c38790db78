"""A 0-10 client on a socket that says single commands and waits for what is told of each.

It completes a transfer only when the test says so: windows, accepts and releases are the test's.
"""

import select
import socket
import time
import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from gateway.amqp_0_10 import _spec as spec
from gateway.amqp_0_10.connection import Connection
from gateway.amqp_0_10.events import (
    Attached,
    CommandReceived,
    CommandsCompleted,
    ConnectionClosed,
    ControlReceived,
    ExceptionReceived,
    ResultReceived,
    SessionEnded,
    Tuned,
    Violation,
)
from gateway.amqp_0_10.session import Session
from gateway.amqp_0_10.states import Role
from gateway.amqp_0_10.structs import open_struct, read_header, write_header
from gateway.amqp_0_10.types import Command, FieldTable
from gateway.wire.limits import Limits

PATIENCE_S = 60.0
SHORTLY_S = 0.3  # how long to listen for what must not come
UNLIMITED = 0xFFFFFFFF
EXPLICIT, NONE = spec.AcceptMode.EXPLICIT, spec.AcceptMode.NONE
ACQUIRED, BROWSE = spec.AcquireMode.PRE_ACQUIRED, spec.AcquireMode.NOT_ACQUIRED


class RefusedError(Exception):
    """The session, or the connection, was ended for an error: its code."""

    def __init__(self, code: int, text: str) -> None:
        super().__init__(f"{code} {text}")
        self.code = code


class Got:
    """A message.transfer that came.

    Attributes:
        id: its command id.
        to: the subscription that it came to.
    """

    def __init__(self, event: CommandReceived) -> None:
        assert isinstance(event.command, spec.MessageTransfer)
        self.id = event.command_id
        self.to = event.command.destination
        delivery, _, properties = read_header(event.payload, event.body_at)
        self.delivery = delivery or spec.DeliveryProperties()
        self.properties = properties or spec.MessageProperties()
        self.body = event.payload[event.body_at :]

    @property
    def ids(self) -> list[tuple[int, int]]:
        return [(self.id, self.id)]


class Talk:
    """One connection with one session."""

    def __init__(self, port: int, *, name: bytes = b"") -> None:
        self._socket = socket.create_connection(("127.0.0.1", port), timeout=PATIENCE_S)
        self._socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._connection = Connection(Role.CLIENT, Limits(), _now_ms())
        self._session: Session | None = None
        self._attached = False
        self._completed: set[int] = set()
        self._results: dict[int, Any] = {}
        self._refused: RefusedError | None = None
        self._got: list[Got] = []
        self.outcomes: dict[int, str] = {}  # of publishes with accept-mode explicit
        self._holds = False
        self._name = name or uuid.uuid4().hex.encode()
        self._until(lambda: self._attached)

    # Commands.

    def says(self, command: Command, header: bytes | None = None, body: bytes = b"") -> int:
        """Send a command without waiting; its id."""
        if self._refused is not None:
            raise self._refused
        assert self._session is not None
        sync = not isinstance(command, spec.MessageTransfer)
        command_id = self._session.send_command(command, sync=sync, header=header, body=body)
        self._write()
        return command_id

    @contextmanager
    def at_once(self) -> Iterator[None]:
        """What is sent meanwhile leaves with one write at its end."""
        self._holds = True
        try:
            yield
        finally:
            self._holds = False
        self._write()

    def does(self, *commands: Command) -> None:
        """Send commands; return when they are completed."""
        for command in commands:
            self.completes(self.says(command))

    def asks(self, command: Command) -> Any:
        """Send a command that has a result; the result."""
        command_id = self.says(command)
        self._until(lambda: command_id in self._results)
        return self._results[command_id]

    def publishes(
        self,
        key: str,
        body: bytes = b"x",
        *,
        to: str = "",
        explicit: bool = False,
        delivery: spec.DeliveryProperties | None = None,
        properties: spec.MessageProperties | None = None,
    ) -> int:
        """Send one message, durable unless `delivery` is given, without waiting; its id."""
        delivery = delivery or spec.DeliveryProperties(delivery_mode=2)
        delivery.routing_key = key
        mode = EXPLICIT if explicit else NONE
        transfer = spec.MessageTransfer(destination=to, accept_mode=mode, acquire_mode=ACQUIRED)
        return self.says(transfer, write_header(delivery, properties), body)

    def puts(self, key: str, *bodies: bytes, to: str = "") -> None:
        """Publish durable messages; return when all are completed."""
        for command_id in [self.publishes(key, body, to=to) for body in bodies]:
            self.completes(command_id)

    def completes(self, command_id: int, within_s: float = PATIENCE_S) -> None:
        """Wait until a command is completed."""
        self.says(spec.ExecutionSync())
        self._until(lambda: command_id in self._completed, within_s)

    def outcome(self, command_id: int) -> str:
        """Wait for what became of a message published with accept-mode explicit."""
        self._until(lambda: command_id in self.outcomes)
        return self.outcomes[command_id]

    def hears(self, command_id: int) -> bool:
        """Whether an outcome is told, by the time that a broker needs for one."""
        deadline = time.monotonic() + 10 * SHORTLY_S
        while command_id not in self.outcomes and time.monotonic() < deadline:
            self._turn(0.02)
        return command_id in self.outcomes

    # Subscriptions.

    def subscribes(
        self,
        queue: str,
        destination: str = "d",
        *,
        accept: int = EXPLICIT,
        acquire: int = ACQUIRED,
        credit: int | None = UNLIMITED,
        window: bool = False,
        octets: int = UNLIMITED,
        exclusive: bool = False,
        arguments: FieldTable | None = None,
    ) -> None:
        """Subscribe and wait for it; grant credit, by default without limits."""
        self.does(
            spec.MessageSubscribe(
                queue=queue,
                destination=destination,
                accept_mode=accept,
                acquire_mode=acquire,
                exclusive=exclusive,
                arguments=arguments,
            )
        )
        mode = spec.FlowMode.WINDOW if window else spec.FlowMode.CREDIT
        self.does(spec.MessageSetFlowMode(destination=destination, flow_mode=mode))
        if credit is not None:
            self.flows(octets, destination, unit=spec.CreditUnit.BYTE)
            self.flows(credit, destination)

    def flows(self, value: int, destination: str = "d", *, unit: int = 0) -> None:
        """Grant credit."""
        self.does(spec.MessageFlow(destination=destination, unit=unit, value=value))

    def gets(self, count: int = 1) -> list[Got]:
        """Wait for so many messages, and take them."""
        self._until(lambda: len(self._got) >= count)
        taken, self._got = self._got[:count], self._got[count:]
        return taken

    def get(self) -> Got:
        """Wait for one message."""
        return self.gets()[0]

    def waiting(self) -> int:
        """How many messages have come and were not taken."""
        return len(self._got)

    def quiet(self, seconds: float = SHORTLY_S) -> bool:
        """Whether no message is there, nor comes within a short time."""
        deadline = time.monotonic() + seconds
        while not self._got and time.monotonic() < deadline:
            self._turn(0.02)
        return not self._got

    def completed(self, command_id: int) -> bool:
        """Whether a command is completed, or gets so within a short time."""
        self.says(spec.ExecutionSync())
        deadline = time.monotonic() + SHORTLY_S
        while command_id not in self._completed and time.monotonic() < deadline:
            self._turn(0.02)
        return command_id in self._completed

    def takes(self, *gots: Got) -> None:
        """Complete transfers: what renews a window."""
        assert self._session is not None
        for got in gots:
            self._session.complete(got.id, got.id)
        self._session.flush()
        self._write()

    def accepts(self, *gots: Got) -> None:
        """Accept them, and wait for that."""
        self.takes(*gots)
        self.does(*[spec.MessageAccept(transfers=got.ids) for got in gots])

    def releases(self, *gots: Got, redelivered: bool = False) -> None:
        """Release them, and wait for that."""
        self.takes(*gots)
        release = spec.MessageRelease
        self.does(*[release(transfers=got.ids, set_redelivered=redelivered) for got in gots])

    def rejects(self, *gots: Got, text: str = "no") -> None:
        """Reject them, and wait for that."""
        self.takes(*gots)
        self.does(*[spec.MessageReject(transfers=got.ids, code=0, text=text) for got in gots])

    def detach(self) -> None:
        """End the session and the connection, as a client does that is done."""
        if self._session is not None and not self._session.ended and self._refused is None:
            self._session.detach()
            self._write()
        self._session = None
        self.hang_up()

    def hang_up(self) -> None:
        """Close the socket."""
        self._socket.close()

    # The transport.

    def _until(self, condition: Callable[[], bool], within_s: float = PATIENCE_S) -> None:
        deadline = time.monotonic() + within_s
        while not condition():
            if self._refused is not None:
                raise self._refused
            assert time.monotonic() < deadline, f"waited too long; {len(self._got)} messages came"
            self._turn(0.2)

    def _turn(self, seconds: float) -> None:
        self._write()
        if not select.select([self._socket], [], [], seconds)[0]:
            return
        octets = self._socket.recv(1 << 20)
        if not octets:
            self._refused = self._refused or RefusedError(0, "the gateway closed the connection")
            return
        for event in self._connection.receive_data(octets, _now_ms()):
            self._take(event)
        self._write()

    def _write(self) -> None:
        if not self._holds and (octets := self._connection.data_to_send()):
            self._socket.sendall(octets)

    def _take(self, event: object) -> None:
        if isinstance(event, ControlReceived):
            if isinstance(event.control, spec.ConnectionStart):
                self._connection.send_start_ok([], "ANONYMOUS", b"", "en_US")
            elif isinstance(event.control, spec.ConnectionOpenOk):
                self._session = self._connection.attach(self._name, 0)
        elif isinstance(event, Tuned):
            self._connection.send_open("")
        elif isinstance(event, Attached):
            self._attached = True
        elif isinstance(event, CommandsCompleted):
            for first, last in event.ranges:
                self._completed.update(range(first, last + 1))
        elif isinstance(event, ResultReceived):
            assert event.value is not None
            self._results[event.command_id] = open_struct(event.value)
        elif isinstance(event, CommandReceived):
            self._take_command(event)
        else:
            self._take_end(event)

    def _take_command(self, event: CommandReceived) -> None:
        command = event.command
        if isinstance(command, spec.MessageTransfer):
            self._got.append(Got(event))
            return
        if isinstance(command, spec.MessageAccept | spec.MessageReject):
            outcome = "accepted" if isinstance(command, spec.MessageAccept) else "rejected"
            for first, last in command.transfers or []:
                self.outcomes.update(dict.fromkeys(range(first, last + 1), outcome))
        event.session.complete(event.command_id, event.command_id)

    def _take_end(self, event: object) -> None:
        if isinstance(event, ExceptionReceived):
            exception = event.exception
            self._refused = RefusedError(exception.error_code, exception.description or "")
        elif isinstance(event, SessionEnded):
            self._refused = self._refused or RefusedError(event.code, "the session ended")
        elif isinstance(event, ConnectionClosed):
            self._refused = self._refused or RefusedError(event.code, event.text)
        elif isinstance(event, Violation):
            raise AssertionError(f"the gateway broke the protocol: {event.error}")


def _now_ms() -> int:
    return int(time.monotonic() * 1000)
