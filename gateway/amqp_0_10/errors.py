"""What a 0-10 peer can do wrong, by the scope and code that the specification gives it.

Three scopes: the connection (``connection.close``, or just the transport), the attachment of a
session (``session.detached``) and a command (``execution.exception``, which ends its session). The
code that goes on the wire is the class's `code`.
"""

from __future__ import annotations

from typing import ClassVar

from gateway.amqp_0_10._spec_constants import CloseCode, DetachCode, ErrorCode
from gateway.errors import RemoteProtocolError


class TransportError(RemoteProtocolError):
    """Answered by closing the transport, without a word or after the protocol header."""


class CloseError(RemoteProtocolError):
    """Answered by connection.close (class connection, domain close-code)."""

    code: ClassVar[int] = CloseCode.FRAMING_ERROR


class FramingError(CloseError):
    """501: octets or controls that cannot be made sense of."""


class DetachError(RemoteProtocolError):
    """Answered by session.detached (class session, domain detach-code)."""

    code: ClassVar[int] = DetachCode.NOT_ATTACHED


class UnknownIdsError(DetachError):
    """4: a command came before session.command-point."""

    code: ClassVar[int] = DetachCode.UNKNOWN_IDS


class ExecutionError(RemoteProtocolError):
    """Answered by execution.exception (class execution, domain error-code), then session.detach."""

    code: ClassVar[int] = ErrorCode.INTERNAL_ERROR


class UnauthorizedAccessError(ExecutionError):
    """403."""

    code: ClassVar[int] = ErrorCode.UNAUTHORIZED_ACCESS


class NotFoundError(ExecutionError):
    """404."""

    code: ClassVar[int] = ErrorCode.NOT_FOUND


class ResourceLockedError(ExecutionError):
    """405."""

    code: ClassVar[int] = ErrorCode.RESOURCE_LOCKED


class PreconditionFailedError(ExecutionError):
    """406."""

    code: ClassVar[int] = ErrorCode.PRECONDITION_FAILED


class ResourceDeletedError(ExecutionError):
    """408."""

    code: ClassVar[int] = ErrorCode.RESOURCE_DELETED


class IllegalStateError(ExecutionError):
    """409."""

    code: ClassVar[int] = ErrorCode.ILLEGAL_STATE


class CommandInvalidError(ExecutionError):
    """503: the segments of the command cannot be decoded."""

    code: ClassVar[int] = ErrorCode.COMMAND_INVALID


class ResourceLimitExceededError(ExecutionError):
    """506."""

    code: ClassVar[int] = ErrorCode.RESOURCE_LIMIT_EXCEEDED


class NotAllowedError(ExecutionError):
    """530."""

    code: ClassVar[int] = ErrorCode.NOT_ALLOWED


class IllegalArgumentError(ExecutionError):
    """531: a value outside of its domain."""

    code: ClassVar[int] = ErrorCode.ILLEGAL_ARGUMENT


class NotImplementedHereError(ExecutionError):
    """540."""

    code: ClassVar[int] = ErrorCode.NOT_IMPLEMENTED


class InternalError(ExecutionError):
    """541."""


class InvalidArgumentError(ExecutionError):
    """542: a legal value that makes no sense here."""

    code: ClassVar[int] = ErrorCode.INVALID_ARGUMENT
