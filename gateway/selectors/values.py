"""Comparison and arithmetic of neutral values, as selectors have them.

Source: JMS 2.0, 3.8.1.1 and 3.8.1.2. `UNKNOWN` is what a header that is not there, a comparison
with one, and what cannot be computed are: a division by zero, an exact number beyond 64 bits.
"""

from __future__ import annotations

from enum import IntEnum
from typing import Final, cast

from gateway.message import Kind, plain
from gateway.wire.tagged import Tagged
from gateway.wire.work import CHARACTERS_SEARCHED, WORK

UNKNOWN: Final = Tagged(Kind.NULL, None)
TRUE: Final = Tagged(Kind.BOOLEAN, True)
FALSE: Final = Tagged(Kind.BOOLEAN, False)
EXACT_MAX: Final = (1 << 64) - 1


class Operator(IntEnum):
    """Of comparisons and of arithmetic."""

    EQUAL = 0
    NOT_EQUAL = 1
    LESS = 2
    LESS_OR_EQUAL = 3
    GREATER = 4
    GREATER_OR_EQUAL = 5
    PLUS = 6
    MINUS = 7
    TIMES = 8
    DIVIDED_BY = 9


def selected(value: Tagged | None) -> Tagged:
    """A header as selectors see it: text, number or truth value; anything else is unknown."""
    if value is None:
        return UNKNOWN
    if value.code == Kind.BINARY:
        value = plain(value)
    code = value.code
    if code == Kind.STRING or code == Kind.INTEGER or code == Kind.REAL:
        return value
    if code == Kind.BOOLEAN:
        return TRUE if value.value else FALSE
    if code == Kind.TIMESTAMP:
        return Tagged(Kind.INTEGER, value.value)
    return UNKNOWN


def _is_number(value: Tagged) -> bool:
    return value.code == Kind.INTEGER or value.code == Kind.REAL


def compare(left: Tagged, operator: Operator, right: Tagged) -> Tagged:
    """Values of unlike type are neither equal nor unequal; only numbers have an order."""
    if left.code == Kind.NULL or right.code == Kind.NULL:
        return UNKNOWN
    if _is_number(left) and _is_number(right):
        return TRUE if _stands(_order(left, right), operator) else FALSE
    if left.code != right.code:
        return FALSE
    if left.code == Kind.STRING:
        text = cast(str, left.value)
        if len(text) >= CHARACTERS_SEARCHED:
            WORK.look(len(text) // CHARACTERS_SEARCHED)
    if operator == Operator.EQUAL:
        return TRUE if left.value == right.value else FALSE
    if operator == Operator.NOT_EQUAL:
        return TRUE if left.value != right.value else FALSE
    return FALSE


UNORDERED: Final = 2


def _order(left: Tagged, right: Tagged) -> int:
    """-1, 0 or 1; `UNORDERED` where one is not a number (IEEE 754)."""
    if left.code == Kind.INTEGER and right.code == Kind.INTEGER:
        exact = cast(int, left.value)
        other = cast(int, right.value)
        return -1 if exact < other else 1 if exact > other else 0
    near = _real(left)
    far = _real(right)
    if near < far:
        return -1
    if near > far:
        return 1
    return 0 if near == far else UNORDERED


def _stands(order: int, operator: Operator) -> bool:
    if operator == Operator.EQUAL:
        return order == 0
    if operator == Operator.NOT_EQUAL:
        return order != 0
    if order == UNORDERED:
        return False
    if operator == Operator.LESS:
        return order < 0
    if operator == Operator.LESS_OR_EQUAL:
        return order <= 0
    if operator == Operator.GREATER:
        return order > 0
    return order >= 0


def _real(value: Tagged) -> float:
    if value.code == Kind.INTEGER:
        return float(cast(int, value.value))
    return cast(float, value.value)


def calculate(left: Tagged, operator: Operator, right: Tagged) -> Tagged:
    """Exact where both numbers are, else approximate; unknown where one is no number."""
    if not (_is_number(left) and _is_number(right)):
        return UNKNOWN
    if left.code == Kind.INTEGER and right.code == Kind.INTEGER:
        return _exact(cast(int, left.value), operator, cast(int, right.value))
    return _approximate(_real(left), operator, _real(right))


def _exact(left: int, operator: Operator, right: int) -> Tagged:
    if operator == Operator.PLUS:
        result = left + right
    elif operator == Operator.MINUS:
        result = left - right
    elif operator == Operator.TIMES:
        result = left * right
    elif right == 0:
        return UNKNOWN
    else:
        result = abs(left) // abs(right)  # towards zero
        if (left < 0) != (right < 0):
            result = -result
    if result > EXACT_MAX or result < -EXACT_MAX:
        return UNKNOWN
    return Tagged(Kind.INTEGER, result)


def _approximate(left: float, operator: Operator, right: float) -> Tagged:
    if operator == Operator.PLUS:
        result = left + right
    elif operator == Operator.MINUS:
        result = left - right
    elif operator == Operator.TIMES:
        result = left * right
    elif right == 0.0:
        return UNKNOWN
    else:
        result = left / right
    return Tagged(Kind.REAL, result)
