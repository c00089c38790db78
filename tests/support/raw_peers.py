"""Clients on blocking sockets that say what no library would say; each is one connection.

They speak frames of their own making. Who does not read what it is answered just does not call
`hear`; what cannot be written within `PATIENCE_S` is the gateway's answer: it does not read.
"""

from __future__ import annotations

import contextlib
import socket
from collections.abc import Iterable
from types import TracebackType
from typing import Self

from support.frames_1_0 import octets_of

from gateway.amqp_0_10 import _spec as spec
from gateway.amqp_0_10.connection import Connection
from gateway.amqp_0_10.frames import BODY, FIRST_SEGMENT, HEADER, LAST_SEGMENT, FrameWriter
from gateway.amqp_0_10.session import Session
from gateway.amqp_0_10.states import Role
from gateway.amqp_0_10.types import Command
from gateway.amqp_1_0 import _spec
from gateway.amqp_1_0._spec import Performative
from gateway.wire.limits import Limits

PATIENCE_S = 1.0
HEADER_0_10 = b"AMQP\x01\x01\x00\x0a"
HEADER_1_0 = b"AMQP\x00\x01\x00\x00"
READ = 65536
TRANSFER_OCTETS = 60_000  # of a message, in one frame


class Raw:
    """A socket to the gateway.

    Attributes:
        ended: the gateway has closed the connection, or does not read any more.
    """

    def __init__(
        self,
        port: int,
        *,
        patience_s: float = PATIENCE_S,
        address: str = "",
        host: str = "127.0.0.1",
        receives: int = 0,
    ) -> None:
        """`receives`: octets that the system takes for it unread; 0: as many as is usual."""
        self.socket = socket.socket()
        if receives:
            self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, receives)
        self.socket.settimeout(30)
        if address:
            self.socket.bind((address, 0))
        self.socket.connect((host, port))
        self.socket.settimeout(patience_s)
        self.ended = False

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def close(self) -> None:
        """Go away without a word."""
        self.socket.close()

    def say(self, octets: bytes) -> bool:
        """Write; whether all of it was taken."""
        if not self.ended:
            try:
                self.socket.sendall(octets)
            except OSError:
                self.ended = True
        return not self.ended

    def hear(self) -> bytes:
        """What comes next; nothing when the connection ends, or nothing comes in time."""
        with contextlib.suppress(OSError):
            return self.socket.recv(READ)
        return b""


class Raw010(Raw):
    """A 0-10 client; `log_in` speaks properly, what comes after is the attack's."""

    def __init__(
        self,
        port: int,
        *,
        patience_s: float = PATIENCE_S,
        address: str = "",
        host: str = "127.0.0.1",
    ) -> None:
        super().__init__(port, patience_s=patience_s, address=address, host=host)
        self.connection = Connection(Role.CLIENT, Limits(), 0)
        self.host = ""

    def log_in(self, user: str = "", password: str = "") -> Self:
        """Up to open-ok."""
        self._send()
        while not self.connection.open:
            heard = self.hear()
            assert heard, "the gateway does not let the client in"
            self.go_on(heard, user, password)
        return self

    def go_on(self, heard: bytes = b"", user: str = "", password: str = "") -> bool:
        """One more step of logging in; whether that was the last."""
        for event in self.connection.receive_data(heard, 0) if heard else ():
            self._answer(type(event).__name__, event, user, password)
        self._send()
        return self.connection.open

    def _answer(self, kind: str, event: object, user: str, password: str) -> None:
        if kind == "ControlReceived" and isinstance(
            getattr(event, "control", None), spec.ConnectionStart
        ):
            plain = b"\0" + user.encode() + b"\0" + password.encode()
            mechanism = "PLAIN" if user else "ANONYMOUS"
            self.connection.send_start_ok([], mechanism, plain if user else b"", "en_US")
        elif kind == "Tuned":
            self.connection.send_open(self.host)

    def attach(self, channel: int = 0, name: bytes = b"") -> Session:
        """A session, attached."""
        session = self.connection.attach(name or f"s{id(self)}.{channel}".encode(), channel)
        self._send()
        while session.machine.state != _ATTACHED and self._receive():
            pass
        return session

    def _receive(self) -> bool:
        heard = self.hear()
        if heard:
            self.connection.receive_data(heard, 0)
        return bool(heard)

    def asks(self, session: Session, commands: Iterable[Command]) -> bool:
        """Send commands, not waited for."""
        for command in commands:
            session.send_command(command)
        return self._send()

    def does(self, session: Session, commands: Iterable[Command]) -> bool:
        """Send commands and wait until all are completed; whether they were."""
        for command in commands:
            session.send_command(command, sync=True)
            self._send()
        while session.in_doubt() and not session.ended:
            if not self._receive():
                return False
            self._send()
        return not session.ended

    def publish(self, session: Session, header: bytes, body: bytes, *, to: str = "") -> bool:
        """One transfer, not waited for."""
        session.send_command(spec.MessageTransfer(destination=to), header=header, body=body)
        return self._send()

    def _send(self) -> bool:
        """All that there is to say, piece by piece; whether it was taken."""
        while octets := self.connection.data_to_send():
            self.say(octets)
        return not self.ended


_ATTACHED = 3


class Raw10(Raw):
    """A 1.0 client without SASL."""

    def log_in(self, **fields: object) -> Self:
        """Header and open, and the gateway's; `fields` are the open's."""
        self.say(HEADER_1_0)
        fields = {"container_id": f"raw-{id(self)}"} | fields
        self.performs(_spec.Open(**fields))  # type: ignore[arg-type]  # as given
        heard = b""
        while len(heard) < 20:
            more = self.hear()
            assert more, "the gateway does not let the client in"
            heard += more
        return self

    def performs(
        self, *performatives: Performative, channel: int = 0, payload: bytes = b""
    ) -> bool:
        """A frame for each."""
        return self.say(octets_of(*performatives, channel=channel, payload=payload))

    def transfer(self, number: int, octets: bytes) -> bool:
        """A settled delivery on the link with handle 0, in as many frames as it takes."""
        for at in range(0, len(octets), TRANSFER_OCTETS):
            transfer = _spec.Transfer(
                handle=0,
                delivery_id=number,
                delivery_tag=b"t",
                settled=True,
                more=at + TRANSFER_OCTETS < len(octets),
            )
            if not self.performs(transfer, payload=octets[at : at + TRANSFER_OCTETS]):
                return False
        return True

    def begin(self, channel: int = 0, **fields: object) -> bool:
        """A session of the client's."""
        begin = _spec.Begin(
            next_outgoing_id=0,
            incoming_window=2**31 - 1,
            outgoing_window=2**31 - 1,
            **fields,  # type: ignore[arg-type]  # as given
        )
        return self.performs(begin, channel=channel)


def frame_0_10(flags: int, kind: int, channel: int, payload: bytes) -> bytes:
    """One frame, whatever it is."""
    size = (len(payload) + 12).to_bytes(2, "big")
    head = bytes((flags, kind)) + size + bytes((0, 1 if kind else 0))
    return head + channel.to_bytes(2, "big") + bytes(4) + payload


def unfinished_transfer(channel: int, octets: int) -> Iterable[bytes]:
    """The frames of a transfer whose body goes on behind them."""
    frames = FrameWriter()
    frames.max_frame_size = 65535
    frames.command(channel, spec.MessageTransfer(destination=""), False, b"", b"")
    whole = frames.take()
    size = int.from_bytes(whole[2:4], "big")
    yield frame_0_10(FIRST_SEGMENT | 3, 1, channel, whole[12:size])
    yield frame_0_10(3, HEADER, channel, b"")
    flags = LAST_SEGMENT | 2
    for _ in range(0, octets, 60_000):
        yield frame_0_10(flags, BODY, channel, bytes(60_000))
        flags = LAST_SEGMENT
