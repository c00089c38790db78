"""The errors of AMQP 1.0: each class carries its condition, and says what it ends (2.8.15 -
2.8.18).

Raised inside the protocol; `Connection` catches them where bytes come in, tells the peer at the
scope that the class names, and reports an event. They do not cross its surface.
"""

from __future__ import annotations

from typing import ClassVar, Final

from gateway.amqp_1_0 import _spec
from gateway.amqp_1_0 import _spec_conditions as conditions
from gateway.errors import RemoteProtocolError

DELIVERY_TAG: Final = "delivery-tag"  # of an error's info: which delivery it is of
DESCRIPTION_MAX: Final = 200

_SASL_CODES: Final = {
    _spec.SASL_AUTH: "auth",
    _spec.SASL_SYS: "sys",
    _spec.SASL_SYS_PERM: "sys-perm",
    _spec.SASL_SYS_TEMP: "sys-temp",
}


def describe(error: RemoteProtocolError) -> str:
    """The text that a peer is told: short, so that it fits the smallest frame."""
    return str(error)[:DESCRIPTION_MAX]


class ConnectionScopeError(RemoteProtocolError):
    """Ends the connection."""

    condition: ClassVar[str] = conditions.NOT_ALLOWED


class FramingError(ConnectionScopeError):
    """No valid frame can be made of the octets, or it is larger than agreed."""

    condition: ClassVar[str] = conditions.FRAMING_ERROR


class FrameDecodeError(ConnectionScopeError):
    """A frame whose performative cannot be decoded."""

    condition: ClassVar[str] = conditions.DECODE_ERROR


class FrameSizeTooSmallError(ConnectionScopeError):
    """A performative to be sent does not fit the frames that the peer takes."""

    condition: ClassVar[str] = conditions.FRAME_SIZE_TOO_SMALL


class ConnectionStateError(ConnectionScopeError):
    """A frame that the connection's state does not permit."""

    condition: ClassVar[str] = conditions.ILLEGAL_STATE


class ConnectionLimitError(ConnectionScopeError):
    """More sessions than the gateway allows, or another of its limits."""

    condition: ClassVar[str] = conditions.RESOURCE_LIMIT_EXCEEDED


class IdleTimeoutError(ConnectionScopeError):
    """Nothing came for longer than our idle-time-out allows."""

    condition: ClassVar[str] = conditions.RESOURCE_LIMIT_EXCEEDED


class SaslError(ConnectionScopeError):
    """The SASL layer failed; there is no frame to say why but the outcome."""

    condition: ClassVar[str] = conditions.UNAUTHORIZED_ACCESS


class NoMechanismError(SaslError):
    """Client: the server offers no mechanism that we may use.

    Args:
        offered: what it does offer.
    """

    def __init__(self, offered: list[str]) -> None:
        super().__init__(f"no mechanism of ours among {', '.join(offered) or 'none at all'}")
        self.offered = offered


class SaslRefusedError(SaslError):
    """Client: the outcome is not ok.

    Args:
        code: the sasl-code, 1 (auth) to 4 (sys-temp).
        problem: what the mechanism knows of it, or "".
    """

    def __init__(self, code: int, problem: str) -> None:
        name = _SASL_CODES.get(code, "unknown")
        whom = "our credentials" if code == 1 else "us"
        super().__init__(
            f"the server refused {whom} ({name})" + (f": {problem}" if problem else "")
        )
        self.code = code


class ServerProofError(SaslError):
    """Client: the server says that all is well, but did not prove that it is who it should be."""


class ProtocolHeaderError(ConnectionScopeError):
    """The peer wants another protocol than this connection speaks, or allows.

    Args:
        header: the eight octets that came, or none.
    """

    condition: ClassVar[str] = conditions.NOT_IMPLEMENTED

    def __init__(self, message: str, header: bytes = b"") -> None:
        super().__init__(message)
        self.header = header


class SessionScopeError(RemoteProtocolError):
    """Ends the session."""

    condition: ClassVar[str] = conditions.NOT_ALLOWED


class WindowViolationError(SessionScopeError):
    """A transfer beyond our incoming-window."""

    condition: ClassVar[str] = conditions.WINDOW_VIOLATION


class UnattachedHandleError(SessionScopeError):
    """A frame for a handle that has no link."""

    condition: ClassVar[str] = conditions.UNATTACHED_HANDLE


class HandleInUseError(SessionScopeError):
    """An attach on a handle that has a link."""

    condition: ClassVar[str] = conditions.HANDLE_IN_USE


class ErrantLinkError(SessionScopeError):
    """Input for a link that was detached with an error."""

    condition: ClassVar[str] = conditions.ERRANT_LINK


class SessionFieldError(SessionScopeError):
    """A field of a session's frame that has an impossible value."""

    condition: ClassVar[str] = conditions.INVALID_FIELD


class SessionLimitError(SessionScopeError):
    """More unsettled deliveries than the gateway allows."""

    condition: ClassVar[str] = conditions.RESOURCE_LIMIT_EXCEEDED


class LinkScopeError(RemoteProtocolError):
    """Detaches the link."""

    condition: ClassVar[str] = conditions.NOT_ALLOWED


class TransferLimitExceededError(LinkScopeError):
    """A transfer without credit."""

    condition: ClassVar[str] = conditions.TRANSFER_LIMIT_EXCEEDED


class MessageSizeExceededError(LinkScopeError):
    """A message larger than our max-message-size."""

    condition: ClassVar[str] = conditions.MESSAGE_SIZE_EXCEEDED


class LinkFieldError(LinkScopeError):
    """A transfer whose fields contradict each other, the link, or what came before."""

    condition: ClassVar[str] = conditions.INVALID_FIELD


class LinkStateError(LinkScopeError):
    """A transfer that the state of the link does not permit."""

    condition: ClassVar[str] = conditions.NOT_ALLOWED


class StolenError(LinkScopeError):
    """The link has been attached again elsewhere."""

    condition: ClassVar[str] = conditions.STOLEN


class HandshakeTimeoutError(ConnectionScopeError):
    """No open in the time that the handshake is given."""

    condition: ClassVar[str] = conditions.RESOURCE_LIMIT_EXCEEDED


class ConnectionFieldError(ConnectionScopeError):
    """A field of open or begin that has an impossible value."""

    condition: ClassVar[str] = conditions.INVALID_FIELD


class LinkLimitError(LinkScopeError):
    """More octets of unfinished deliveries than the gateway keeps for one connection."""

    condition: ClassVar[str] = conditions.RESOURCE_LIMIT_EXCEEDED
