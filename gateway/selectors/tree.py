"""What a selector is made of: expressions that say what they are of one message.

Every expression has a neutral value, its code a `Kind`; a condition's is true, false or unknown,
with the three-valued logic of SQL-92. Source: JMS 2.0, 3.8.1.
"""

from __future__ import annotations

from typing import cast, final

from gateway.message import Kind, Message
from gateway.selectors.pattern import Pattern
from gateway.selectors.values import (
    FALSE,
    TRUE,
    UNKNOWN,
    Operator,
    calculate,
    compare,
    selected,
)
from gateway.wire.tagged import Tagged
from gateway.wire.work import CHARACTERS_SEARCHED, WORK


class Expression:
    """One node of the tree.

    Attributes:
        conditional: it may stand where something is true, false or unknown.
    """

    __slots__ = ("conditional",)

    def __init__(self, *, conditional: bool) -> None:
        self.conditional = conditional

    def evaluate(self, message: Message) -> Tagged:
        """Its value for `message`; a condition's is `TRUE`, `FALSE` or `UNKNOWN`."""
        raise NotImplementedError


@final
class Literal(Expression):
    """A value that is written out."""

    __slots__ = ("value",)

    def __init__(self, value: Tagged) -> None:
        super().__init__(conditional=value.code in (Kind.BOOLEAN, Kind.NULL))
        self.value = value

    def evaluate(self, message: Message) -> Tagged:
        """The value that is written out, whatever the message."""
        return self.value


@final
class Identifier(Expression):
    """A header or property of the message, by its name."""

    __slots__ = ("name",)

    def __init__(self, name: str) -> None:
        super().__init__(conditional=True)
        self.name = name

    def evaluate(self, message: Message) -> Tagged:
        """What selectors see of it; `UNKNOWN` where the message has nothing by that name."""
        return selected(message.selectable(self.name))


@final
class Comparison(Expression):
    """Two values; texts and truth values are equal or not, only numbers have an order."""

    __slots__ = ("left", "operator", "right")

    def __init__(self, left: Expression, operator: Operator, right: Expression) -> None:
        super().__init__(conditional=True)
        self.left = left
        self.operator = operator
        self.right = right

    def evaluate(self, message: Message) -> Tagged:
        """`UNKNOWN` where either value is; values of unlike type are not equal: `FALSE`."""
        return compare(self.left.evaluate(message), self.operator, self.right.evaluate(message))


@final
class Between(Expression):
    """A number and its bounds, both included."""

    __slots__ = ("greatest", "least", "operand")

    def __init__(self, operand: Expression, least: Expression, greatest: Expression) -> None:
        super().__init__(conditional=True)
        self.operand = operand
        self.least = least
        self.greatest = greatest

    def evaluate(self, message: Message) -> Tagged:
        """`FALSE` where one bound rules it out, else `UNKNOWN` where a value is missing."""
        value = self.operand.evaluate(message)
        above = compare(value, Operator.GREATER_OR_EQUAL, self.least.evaluate(message))
        if above is FALSE:
            return FALSE
        below = compare(value, Operator.LESS_OR_EQUAL, self.greatest.evaluate(message))
        if below is FALSE:
            return FALSE
        return UNKNOWN if above is UNKNOWN else below


@final
class Like(Expression):
    """A text and a pattern."""

    __slots__ = ("operand", "pattern")

    def __init__(self, operand: Expression, pattern: Pattern) -> None:
        super().__init__(conditional=True)
        self.operand = operand
        self.pattern = pattern

    def evaluate(self, message: Message) -> Tagged:
        """Whether the text fits; `UNKNOWN` without a value, `FALSE` for one that is no text."""
        value = self.operand.evaluate(message)
        if value.code == Kind.NULL:
            return UNKNOWN
        if value.code != Kind.STRING:
            return FALSE
        return TRUE if self.pattern.matches(cast(str, value.value)) else FALSE


@final
class In(Expression):
    """A text and those that it may be."""

    __slots__ = ("operand", "texts")

    def __init__(self, operand: Expression, texts: frozenset[str]) -> None:
        super().__init__(conditional=True)
        self.operand = operand
        self.texts = texts

    def evaluate(self, message: Message) -> Tagged:
        """Whether it is one of them; `UNKNOWN` without a value, `FALSE` for one that is no text."""
        value = self.operand.evaluate(message)
        if value.code == Kind.NULL:
            return UNKNOWN
        if value.code != Kind.STRING:
            return FALSE
        text = cast(str, value.value)
        if len(text) >= CHARACTERS_SEARCHED:
            WORK.look(len(text) // CHARACTERS_SEARCHED)
        return TRUE if text in self.texts else FALSE


@final
class IsNull(Expression):
    """Whether a value is unknown; this is never unknown itself."""

    __slots__ = ("operand",)

    def __init__(self, operand: Expression) -> None:
        super().__init__(conditional=True)
        self.operand = operand

    def evaluate(self, message: Message) -> Tagged:
        """`TRUE` where there is no value, else `FALSE`; never `UNKNOWN`."""
        return TRUE if self.operand.evaluate(message).code == Kind.NULL else FALSE


@final
class Not(Expression):
    """The contrary; of unknown, unknown."""

    __slots__ = ("operand",)

    def __init__(self, operand: Expression) -> None:
        super().__init__(conditional=True)
        self.operand = operand

    def evaluate(self, message: Message) -> Tagged:
        """The other truth value; `UNKNOWN` for what is neither true nor false."""
        value = self.operand.evaluate(message)
        if value.code != Kind.BOOLEAN:
            return UNKNOWN
        return FALSE if value.value else TRUE


@final
class Every(Expression):
    """Conditions joined by AND: one that is false decides, then one that is unknown."""

    __slots__ = ("operands",)

    def __init__(self, operands: list[Expression]) -> None:
        super().__init__(conditional=True)
        self.operands = operands

    def evaluate(self, message: Message) -> Tagged:
        """`FALSE` if an operand is; else `UNKNOWN`, if one is not true either; else `TRUE`."""
        result = TRUE
        for operand in self.operands:
            value = operand.evaluate(message)
            if value.code != Kind.BOOLEAN:
                result = UNKNOWN
            elif not value.value:
                return FALSE
        return result


@final
class Some(Expression):
    """Conditions joined by OR: one that is true decides, then one that is unknown."""

    __slots__ = ("operands",)

    def __init__(self, operands: list[Expression]) -> None:
        super().__init__(conditional=True)
        self.operands = operands

    def evaluate(self, message: Message) -> Tagged:
        """`TRUE` if an operand is; else `UNKNOWN`, if one is not false either; else `FALSE`."""
        result = FALSE
        for operand in self.operands:
            value = operand.evaluate(message)
            if value.code != Kind.BOOLEAN:
                result = UNKNOWN
            elif value.value:
                return TRUE
        return result


@final
class Arithmetic(Expression):
    """Operands of one precedence, from left to right."""

    __slots__ = ("first", "steps")

    def __init__(self, first: Expression, steps: list[tuple[Operator, Expression]]) -> None:
        super().__init__(conditional=False)
        self.first = first
        self.steps = steps

    def evaluate(self, message: Message) -> Tagged:
        """A number; `UNKNOWN` where an operand is none, or it cannot be computed."""
        result = self.first.evaluate(message)
        for operator, operand in self.steps:
            result = calculate(result, operator, operand.evaluate(message))
        return result
