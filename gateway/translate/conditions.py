"""Errors: conditions <-> 0-10 codes (execution, connection, message.reject) <-> 1.0 symbols.

Both protocols' tables are in `mappings/errors.yaml`; a test holds this code against it.
"""

from __future__ import annotations

from typing import Final

from gateway.amqp_1_0 import _spec_conditions as symbols
from gateway.message import Condition
from gateway.translate.mapping_rows import number

INTERNAL_ERROR: Final = 541
INVALID_PATH: Final = 402

# Condition, its row, its 0-10 execution or connection error code, its 1.0 symbol.
TABLE: Final = (
    (
        Condition.UNAUTHORIZED_ACCESS,
        number("errors.unauthorized-access"),
        403,
        symbols.UNAUTHORIZED_ACCESS,
    ),
    (Condition.NOT_FOUND, number("errors.not-found"), 404, symbols.NOT_FOUND),
    (Condition.RESOURCE_LOCKED, number("errors.resource-locked"), 405, symbols.RESOURCE_LOCKED),
    (
        Condition.PRECONDITION_FAILED,
        number("errors.precondition-failed"),
        406,
        symbols.PRECONDITION_FAILED,
    ),
    (Condition.RESOURCE_DELETED, number("errors.resource-deleted"), 408, symbols.RESOURCE_DELETED),
    (Condition.ILLEGAL_STATE, number("errors.illegal-state"), 409, symbols.ILLEGAL_STATE),
    (Condition.DECODE_ERROR, number("errors.command-invalid"), 503, symbols.DECODE_ERROR),
    (
        Condition.RESOURCE_LIMIT_EXCEEDED,
        number("errors.resource-limit-exceeded"),
        506,
        symbols.RESOURCE_LIMIT_EXCEEDED,
    ),
    (Condition.NOT_ALLOWED, number("errors.not-allowed"), 530, symbols.NOT_ALLOWED),
    (Condition.ILLEGAL_ARGUMENT, number("errors.illegal-argument"), 531, symbols.INVALID_FIELD),
    (Condition.INVALID_ARGUMENT, number("errors.invalid-argument"), 542, symbols.INVALID_FIELD),
    (Condition.NOT_IMPLEMENTED, number("errors.not-implemented"), 540, symbols.NOT_IMPLEMENTED),
    (
        Condition.INTERNAL_ERROR,
        number("errors.internal-error"),
        INTERNAL_ERROR,
        symbols.INTERNAL_ERROR,
    ),
    (
        Condition.CONNECTION_FORCED,
        number("errors.connection-forced"),
        320,
        symbols.CONNECTION_FORCED,
    ),
    (Condition.UNROUTABLE, number("errors.reject-unroutable"), 404, symbols.NOT_FOUND),
    (Condition.IMMEDIATE, number("errors.reject-immediate"), 406, symbols.PRECONDITION_FAILED),
    (
        Condition.MESSAGE_SIZE_EXCEEDED,
        number("errors.message-size-exceeded"),
        506,
        symbols.MESSAGE_SIZE_EXCEEDED,
    ),
)

# 0-10 codes beside those of the conditions above, which only one side can say.
FRAMING_ERROR: Final = 501
FRAMING_ROW: Final = number("errors.framing-error")
INVALID_PATH_ROW: Final = number("errors.invalid-path")
REJECT_UNSPECIFIED: Final = 0
REJECT_UNROUTABLE: Final = 1
REJECT_IMMEDIATE: Final = 2
REJECT_UNSPECIFIED_ROW: Final = number("errors.reject-unspecified")

# 1.0 symbols that only an upstream says.
UNKNOWN_ID_ROW: Final = number("errors.transaction-unknown-id")
ROLLBACK_ROW: Final = number("errors.transaction-rollback")
PASSING_ROW: Final = number("errors.passing")


def _codes() -> dict[int, int]:
    return {int(condition): code for condition, _, code, _ in TABLE}


def _symbols() -> dict[int, str]:
    return {int(condition): symbol for condition, _, _, symbol in TABLE}


def _from_codes() -> dict[int, Condition]:
    found = {FRAMING_ERROR: Condition.DECODE_ERROR, INVALID_PATH: Condition.NOT_FOUND}
    for condition, _, code, _ in TABLE:
        found.setdefault(code, condition)
    return found


def _from_symbols() -> dict[str, Condition]:
    # Where two conditions have one symbol, these are what the symbol means on the way back.
    found = {
        symbols.INVALID_FIELD: Condition.INVALID_ARGUMENT,
        symbols.FRAMING_ERROR: Condition.DECODE_ERROR,
        symbols.UNKNOWN_ID: Condition.ILLEGAL_STATE,
        symbols.TRANSACTION_ROLLBACK: Condition.INTERNAL_ERROR,
        symbols.TRANSACTION_TIMEOUT: Condition.INTERNAL_ERROR,
    }
    for condition, _, _, symbol in TABLE:
        found.setdefault(symbol, condition)
    return found


CODES: Final = _codes()
SYMBOLS: Final = _symbols()
FROM_CODES: Final = _from_codes()
FROM_SYMBOLS: Final = _from_symbols()


def to_code(condition: Condition) -> int:
    """The 0-10 error code of a condition."""
    return CODES.get(condition, INTERNAL_ERROR)


def to_symbol(condition: Condition) -> str:
    """The 1.0 error condition of a condition."""
    return SYMBOLS.get(condition, symbols.INTERNAL_ERROR)


def from_code(code: int) -> Condition:
    """The condition of a 0-10 error code; internal error for one that is unknown."""
    return FROM_CODES.get(code, Condition.INTERNAL_ERROR)


def from_symbol(symbol: str) -> Condition:
    """The condition of a 1.0 error condition.

    One of an upstream that has no place in 0-10 (``amqp:session:*`` and such) is an internal error.
    """
    return FROM_SYMBOLS.get(symbol, Condition.INTERNAL_ERROR)


def to_reject_code(condition: Condition) -> int:
    """The code of message.reject: unspecified, unroutable or immediate."""
    if condition == Condition.UNROUTABLE or condition == Condition.NOT_FOUND:
        return REJECT_UNROUTABLE
    if condition == Condition.IMMEDIATE:
        return REJECT_IMMEDIATE
    return REJECT_UNSPECIFIED


def from_reject_code(code: int, text: str) -> Condition:
    """The condition of a message.reject."""
    if code == REJECT_UNROUTABLE:
        return Condition.UNROUTABLE
    if code == REJECT_IMMEDIATE:
        return Condition.IMMEDIATE
    return Condition.PRECONDITION_FAILED if text else Condition.NONE
