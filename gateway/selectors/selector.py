"""Selectors: from their text to a filter of messages.

The language is that of JMS 2.0, 3.8.1. A selector accepts the messages of which its condition is
true; one that is false or unknown does not. What a text may cost is bounded: its length, the parts
of its expression and how deep they are nested; one message costs at most a look at each part, and
what these look at in long texts is work that has an end: a selector that would need more than a
verb may cost is given up on that message, and does not accept it.
"""

from __future__ import annotations

from typing import Final, cast, final

from gateway.errors import TooMuchWorkError
from gateway.message import Condition, Kind, Message, Refusal
from gateway.selectors.pattern import read_pattern
from gateway.selectors.tokens import SelectorError, Sort, Token, error, tokens_of
from gateway.selectors.tree import (
    Arithmetic,
    Between,
    Comparison,
    Every,
    Expression,
    Identifier,
    In,
    IsNull,
    Like,
    Literal,
    Not,
    Some,
)
from gateway.selectors.values import FALSE, TRUE, UNKNOWN, Operator
from gateway.wire.accounts import weigh
from gateway.wire.tagged import Tagged
from gateway.wire.work import CHARACTER, PART, WORK

LENGTH_MAX: Final = 16 * 1024  # characters
PARTS_MAX: Final = 2000
DEPTH_MAX: Final = 40
PATTERN_MAX: Final = 1024  # characters
WORD_OCTETS: Final = 128  # of memory that what is made of a word takes, beside its text
SIGN_OCTETS: Final = 128  # and more of the sign of a number

COMPARISONS: Final = {
    "=": Operator.EQUAL,
    "<>": Operator.NOT_EQUAL,
    "<": Operator.LESS,
    "<=": Operator.LESS_OR_EQUAL,
    ">": Operator.GREATER,
    ">=": Operator.GREATER_OR_EQUAL,
}
SUMS: Final = {"+": Operator.PLUS, "-": Operator.MINUS}
PRODUCTS: Final = {"*": Operator.TIMES, "/": Operator.DIVIDED_BY}
ZERO: Final = Tagged(Kind.INTEGER, 0)


@final
class Selector:
    """Implements `seams.Filter`.

    Attributes:
        text: as it was given.
        octets: that it takes.
    """

    __slots__ = ("_condition", "_units", "octets", "text")

    def __init__(
        self, text: str, condition: Expression, parts: int = 1, octets: int = WORD_OCTETS
    ) -> None:
        self.text = text
        self.octets = octets
        self._condition = condition
        self._units = parts * PART

    def accepts(self, message: Message) -> bool:
        """Whether the condition is true of it."""
        work = WORK
        work.units += self._units
        work.begin()
        try:
            return self._condition.evaluate(message) is TRUE
        except TooMuchWorkError:
            work.given_up += 1
            return False


def read_selector(text: str) -> Selector | Refusal:
    """The selector that `text` is; refused as an invalid argument, with place and expectation."""
    if len(text) > LENGTH_MAX:
        return _refused(f"it is longer than {LENGTH_MAX} characters")
    WORK.units += len(text) * CHARACTER
    try:
        tokens = tokens_of(text)
        parser = _Parser(tokens)
        condition = parser.selector()
        # What is made of it has the text in it once more.
        octets = 2 * weigh(text) + WORD_OCTETS * len(tokens) + parser.octets
        return Selector(text, condition, parser.parts + parser.inversions, octets)
    except SelectorError as problem:
        return _refused(str(problem))


def _refused(why: str) -> Refusal:
    return Refusal(Condition.INVALID_ARGUMENT, f"the selector cannot be understood: {why}")


@final
class _Parser:
    """One pass over the tokens; a method for each level of precedence, lowest first.

    Attributes:
        parts: operands and comparisons so far.
        inversions: NOTs and signs of numbers, of which there is a look at each, too.
        octets: that signs and patterns take beside their words.
    """

    __slots__ = ("_at", "_depth", "_tokens", "inversions", "octets", "parts")

    def __init__(self, tokens: list[Token]) -> None:
        self._tokens = tokens
        self._at = 0
        self._depth = 0
        self.parts = 0
        self.inversions = 0
        self.octets = 0

    def selector(self) -> Expression:
        """All of it."""
        start = self._next()
        found = self._disjunction()
        end = self._next()
        if end.sort != Sort.END:
            raise error(end.at, "an operator or the end")
        return _condition(found, start)

    def _next(self) -> Token:
        return self._tokens[self._at]

    def _take_word(self, word: str) -> bool:
        if self._next().is_word(word):
            self._at += 1
            return True
        return False

    def _take_sign(self, sign: str) -> bool:
        if self._next().is_sign(sign):
            self._at += 1
            return True
        return False

    def _expect_word(self, word: str) -> None:
        if not self._take_word(word):
            raise error(self._next().at, word)

    def _expect_sign(self, sign: str) -> None:
        if not self._take_sign(sign):
            raise error(self._next().at, sign)

    def _count_part(self) -> None:
        self.parts += 1
        if self.parts > PARTS_MAX:
            raise error(self._next().at, f"the end after {PARTS_MAX} parts")

    def _enter(self) -> None:
        self._depth += 1
        if self._depth > DEPTH_MAX:
            raise error(self._next().at, f"no nesting deeper than {DEPTH_MAX}")

    def _disjunction(self) -> Expression:
        start = self._next()
        first = self._conjunction()
        if not self._next().is_word("OR"):
            return first
        operands = [_condition(first, start)]
        while self._take_word("OR"):
            start = self._next()
            operands.append(_condition(self._conjunction(), start))
        return Some(operands)

    def _conjunction(self) -> Expression:
        start = self._next()
        first = self._negation()
        if not self._next().is_word("AND"):
            return first
        operands = [_condition(first, start)]
        while self._take_word("AND"):
            start = self._next()
            operands.append(_condition(self._negation(), start))
        return Every(operands)

    def _negation(self) -> Expression:
        if not self._take_word("NOT"):
            return self._comparison()
        self._enter()
        self.inversions += 1
        start = self._next()
        operand = _condition(self._negation(), start)
        self._depth -= 1
        return Not(operand)

    def _comparison(self) -> Expression:
        left = self._sum()
        token = self._next()
        if token.sort == Sort.SIGN and token.text in COMPARISONS:
            self._at += 1
            self._count_part()
            return Comparison(left, COMPARISONS[token.text], self._sum())
        if self._take_word("IS"):
            negated = self._take_word("NOT")
            self._expect_word("NULL")
            return _negated(IsNull(left), negated)
        negated = self._take_word("NOT")
        if self._take_word("BETWEEN"):
            return _negated(self._between(left), negated)
        if self._take_word("LIKE"):
            return _negated(self._like(left), negated)
        if self._take_word("IN"):
            return _negated(self._in(left), negated)
        if negated:
            raise error(self._next().at, "BETWEEN, LIKE or IN")
        return left

    def _between(self, operand: Expression) -> Expression:
        least = self._sum()
        self._expect_word("AND")
        return Between(operand, least, self._sum())

    def _like(self, operand: Expression) -> Expression:
        place = self._next().at
        pattern = self._text()
        if len(pattern) > PATTERN_MAX:
            raise error(place, f"a pattern of at most {PATTERN_MAX} characters")
        escape = ""
        if self._take_word("ESCAPE"):
            at = self._next().at
            escape = self._text()
            if len(escape) != 1:
                raise error(at, "a text of one character")
        found = read_pattern(pattern, escape)
        if found is None:
            raise error(place, "a character behind the last escape")
        self.octets += found.octets
        return Like(operand, found)

    def _in(self, operand: Expression) -> Expression:
        self._expect_sign("(")
        texts = [self._text()]
        while self._take_sign(","):
            self._count_part()
            texts.append(self._text())
        self._expect_sign(")")
        return In(operand, frozenset(texts))

    def _text(self) -> str:
        token = self._next()
        value = token.value
        if value is None or value.code != Kind.STRING:
            raise error(token.at, "a text in single quotes")
        self._at += 1
        return cast(str, value.value)

    def _sum(self) -> Expression:
        first = self._product()
        steps: list[tuple[Operator, Expression]] = []
        while self._next().sort == Sort.SIGN and self._next().text in SUMS:
            operator = SUMS[self._next().text]
            self._at += 1
            steps.append((operator, self._product()))
        return Arithmetic(first, steps) if steps else first

    def _product(self) -> Expression:
        first = self._signed()
        steps: list[tuple[Operator, Expression]] = []
        while self._next().sort == Sort.SIGN and self._next().text in PRODUCTS:
            operator = PRODUCTS[self._next().text]
            self._at += 1
            steps.append((operator, self._signed()))
        return Arithmetic(first, steps) if steps else first

    def _signed(self) -> Expression:
        token = self._next()
        if token.sort != Sort.SIGN or token.text not in SUMS:
            return self._primary()
        self._at += 1
        self._enter()
        self.inversions += 1
        self.octets += SIGN_OCTETS
        operand = self._signed()
        self._depth -= 1
        return Arithmetic(Literal(ZERO), [(SUMS[token.text], operand)])

    def _primary(self) -> Expression:
        self._count_part()
        token = self._next()
        if self._take_sign("("):
            self._enter()
            found = self._disjunction()
            self._depth -= 1
            self._expect_sign(")")
            self.octets -= 2 * WORD_OCTETS  # nothing is made of brackets
            return found
        self._at += 1
        if token.value is not None:
            return Literal(token.value)
        if token.sort == Sort.NAME:
            return Identifier(token.text)
        if token.is_word("TRUE"):
            return Literal(TRUE)
        if token.is_word("FALSE"):
            return Literal(FALSE)
        if token.is_word("NULL"):
            return Literal(UNKNOWN)
        raise error(token.at, "an identifier, a literal or (")


def _condition(expression: Expression, start: Token) -> Expression:
    """`expression`, which has to be true, false or unknown."""
    if not expression.conditional:
        raise error(start.at, "a condition")
    return expression


def _negated(expression: Expression, negated: bool) -> Expression:
    return Not(expression) if negated else expression
