"""What `Connection.receive_data` tells: what came that somebody above has to decide or to know.

What the specification makes automatic (headers, tuning, heartbeats, the bookkeeping of completions,
flush, gap, known-completed, detach) is done before the event is seen. Events keep the order of the
octets.
A session in an event may have ended by the time it is read: `Session.ended` tells.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import final

from gateway.amqp_0_10._spec_commands import ExecutionException
from gateway.amqp_0_10.primitives import Ranges
from gateway.amqp_0_10.session import Session
from gateway.amqp_0_10.types import Command, Control, Struct32
from gateway.errors import RemoteProtocolError


class Event:
    """Any event."""

    __slots__ = ()


@final
@dataclass(init=False, slots=True)
class HeaderReceived(Event):
    """The peer's protocol header is that of 0-10. Server: answer with `send_start`."""


@final
class ControlReceived(Event):
    """A control of class connection that waits for an answer.

    Server: start-ok (`send_secure`, `send_tune` or `send_close`), secure-ok (the same), open
    (`send_open_ok`, `send_redirect` or `send_close`). Client: start (`send_start_ok`), secure
    (`send_secure_ok`), open-ok, redirect.
    """

    __slots__ = ("control",)

    def __init__(self, control: Control) -> None:
        self.control = control


@final
@dataclass(init=False, slots=True)
class Tuned(Event):
    """tune and tune-ok agree. Client: answer with `send_open`. `heartbeat_s` 0 means none."""

    channel_max: int
    max_frame_size: int
    heartbeat_s: int

    def __init__(self, channel_max: int, max_frame_size: int, heartbeat_s: int) -> None:
        self.channel_max = channel_max
        self.max_frame_size = max_frame_size
        self.heartbeat_s = heartbeat_s


@final
class AttachReceived(Event):
    """The peer wants `session` attached: answer with `session.accept()` or `session.refuse(code)`.

    Commands may follow in the same octets, before the answer; their events come after this one.
    """

    __slots__ = ("force", "session")

    def __init__(self, session: Session, force: bool) -> None:
        self.session = session
        self.force = force


@final
class Attached(Event):
    """The peer attached the session that we asked for; commands may be sent."""

    __slots__ = ("session",)

    def __init__(self, session: Session) -> None:
        self.session = session


@final
class TimeoutRequested(Event):
    """session.request-timeout: answer with `session.send_timeout`; `None` asks for no limit."""

    __slots__ = ("session", "timeout_s")

    def __init__(self, session: Session, timeout_s: int | None) -> None:
        self.session = session
        self.timeout_s = timeout_s


@final
class TimeoutGranted(Event):
    """session.timeout: what the peer grants, `None` for no limit."""

    __slots__ = ("session", "timeout_s")

    def __init__(self, session: Session, timeout_s: int | None) -> None:
        self.session = session
        self.timeout_s = timeout_s


@final
class CommandReceived(Event):
    """A whole command. When it has been done, `session.complete(command_id, command_id)`.

    Not for execution.sync (done inside), execution.result and execution.exception (other events).

    Attributes:
        command_id: its number in the session.
        command: one of the generated classes.
        sync: the peer waits for its completion.
        payload: header segment's content, then body segment's content; empty without them.
        body_at: where the body begins in `payload`.
        octets: of the command, as it came, without its content.
        empty_body: there is a body segment, without octets; else an empty body is an absent one.
    """

    __slots__ = (
        "body_at",
        "command",
        "command_id",
        "empty_body",
        "octets",
        "payload",
        "session",
        "sync",
    )

    def __init__(
        self,
        session: Session,
        command_id: int,
        command: Command,
        sync: bool,
        payload: bytes,
        body_at: int,
        octets: int = 0,
        empty_body: bool = False,
    ) -> None:
        self.session = session
        self.command_id = command_id
        self.command = command
        self.octets = octets
        self.sync = sync
        self.payload = payload
        self.body_at = body_at
        self.empty_body = empty_body


@final
class PartReceived(Event):
    """Some of the body of a file.stage, in front of the command, which brings the rest.

    Attributes:
        header: the header segment's content.
        octets: what has come since the last part.
    """

    __slots__ = ("header", "octets", "session")

    def __init__(self, session: Session, header: bytes, octets: bytes) -> None:
        self.session = session
        self.header = header
        self.octets = octets


@final
class CommandsCompleted(Event):
    """Local commands that the peer completed, each told once, as ``(first, last)`` ranges."""

    __slots__ = ("ranges", "session")

    def __init__(self, session: Session, ranges: Ranges) -> None:
        self.session = session
        self.ranges = ranges


@final
class ResultReceived(Event):
    """execution.result of our command `command_id`; `structs.open_struct` opens the value."""

    __slots__ = ("command_id", "session", "value")

    def __init__(self, session: Session, command_id: int, value: Struct32 | None) -> None:
        self.session = session
        self.command_id = command_id
        self.value = value


@final
class ExceptionReceived(Event):
    """execution.exception from the peer; it detaches the session next."""

    __slots__ = ("exception", "session")

    def __init__(self, session: Session, exception: ExecutionException) -> None:
        self.session = session
        self.exception = exception


@final
class SessionEnded(Event):
    """The session is over, for whatever it held; told once, unless the connection ends first.

    Attributes:
        code: the detach code of either side; 0 is normal.
        error: what the peer did wrong, when we ended it for that. A session that was ended by
            `session.fail` gets no event: the caller knows.
        refused: the message that was too much for us or cannot be read, with what has come of it.
    """

    __slots__ = ("code", "error", "refused", "session")

    def __init__(
        self,
        session: Session,
        code: int,
        error: RemoteProtocolError | None,
        refused: CommandReceived | None = None,
    ) -> None:
        self.session = session
        self.code = code
        if error is not None:
            error.keep()
        self.error = error
        self.refused = refused


@final
@dataclass(init=False, slots=True)
class ConnectionClosed(Event):
    """The connection is over, and all its sessions: the last event, unless `Violation` is.

    Attributes:
        code: the close code of either side; 0 when the transport ended or fell silent.
        text: the reason, for people.
        by_peer: whose decision it was.
    """

    code: int
    text: str
    by_peer: bool

    def __init__(self, code: int, text: str, by_peer: bool) -> None:
        self.code = code
        self.text = text
        self.by_peer = by_peer


@final
class Violation(Event):
    """The peer broke the protocol: the last event, all sessions are over with it.

    The connection has queued what the specification wants said, and is `closed` when that has been
    answered or it is too late.
    """

    __slots__ = ("error",)

    def __init__(self, error: RemoteProtocolError) -> None:
        error.keep()
        self.error = error
