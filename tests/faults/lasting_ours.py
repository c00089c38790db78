"""The same client as `lasting_raw` by the gateway's own layer, in the role of a client."""

from __future__ import annotations

from faults.cut_line import CutLine

from gateway.amqp_0_10 import _spec as spec
from gateway.amqp_0_10.connection import Connection
from gateway.amqp_0_10.events import (
    CommandReceived,
    ConnectionClosed,
    ControlReceived,
    Event,
    ExceptionReceived,
    SessionEnded,
    TimeoutGranted,
    Tuned,
    Violation,
)
from gateway.amqp_0_10.session import Session
from gateway.amqp_0_10.states import Role, SessionState
from gateway.amqp_0_10.structs import write_header
from gateway.wire.limits import Limits


class LastingOurs:
    """One session, over as many connections as it takes; see `LastingRaw`."""

    def __init__(self, name: str) -> None:
        self.name = name.encode()
        self.bodies: list[bytes] = []
        self.granted_s = 0
        self.replayed = 0
        self._session: Session | None = None
        self._heard: list[int] = []

    @property
    def session(self) -> Session:
        assert self._session is not None
        return self._session

    def declare(self, queue: str) -> None:
        self.session.send_command(spec.QueueDeclare(queue=queue, durable=True))

    def publish(self, queue: str, body: bytes) -> None:
        header = write_header(spec.DeliveryProperties(routing_key=queue, delivery_mode=2), None)
        transfer = spec.MessageTransfer(destination="", accept_mode=spec.AcceptMode.EXPLICIT)
        self.session.send_command(transfer, header=header, body=body)

    def subscribe(self, queue: str) -> None:
        self.session.send_command(spec.MessageSubscribe(queue=queue, destination="d"))
        for unit in (0, 1):
            flow = spec.MessageFlow(destination="d", unit=unit, value=0xFFFFFFFF)
            self.session.send_command(flow)

    def settle(self) -> None:
        """Accept what has come since the last time."""
        for command_id in self._heard:
            ranges = [(command_id, command_id)]
            self.session.send_command(spec.MessageAccept(transfers=ranges))
        self._heard = []

    def in_doubt(self) -> int:
        """Commands that are not known to be completed."""
        return self.session.in_doubt()

    def connect(self, line: CutLine) -> None:
        """Attach the session; what is sent again the layer knows."""
        self._line = line
        if self._session is not None and self._session.channel:
            self._connection.receive_eof()
            self._connection.lose(self._session)
        self._connection = Connection(Role.CLIENT, Limits(max_frame_size=4096), 0)
        while not self._connection.open:
            self._step()
        if self._session is None:
            self._session = self._connection.attach(self.name, 1, True)
            self._session.keep_state()
        else:
            self.replayed += 1
            self._connection.attach_again(self._session, 1, True)
        while self.session.machine.state != SessionState.ATTACHED:
            self._step()
        if not self.granted_s:
            self.session.request_timeout(60)
            while not self.granted_s:
                self._step()

    def go_on(self) -> None:
        """Send what is to be sent, and hear something."""
        self._step()

    def _step(self) -> None:
        self._line.say(self._connection.data_to_send())
        for event in self._connection.receive_data(self._line.hear(), 0):
            self._take(event)
        self._line.say(self._connection.data_to_send())

    def _take(self, event: Event) -> None:
        if isinstance(event, ControlReceived) and isinstance(event.control, spec.ConnectionStart):
            self._connection.send_start_ok([], "ANONYMOUS", b"", "en_US")
        elif isinstance(event, Tuned):
            self._connection.send_open("")
        elif isinstance(event, TimeoutGranted):
            self.granted_s = event.timeout_s or 0
        elif isinstance(event, CommandReceived):
            self.session.complete(event.command_id, event.command_id)
            if isinstance(event.command, spec.MessageTransfer):
                self._heard.append(event.command_id)
                self.bodies.append(event.payload[event.body_at :])
        else:
            over = (ExceptionReceived, SessionEnded, ConnectionClosed, Violation)
            assert not isinstance(event, over), event
