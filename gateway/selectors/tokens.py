"""The words of a selector: literals, identifiers, operators, each with its place in the text.

Source: JMS 2.0, 3.8.1.1. Beyond it an identifier may hold dots, and one in double quotes anything,
since headers of other clients have such names.
"""

from __future__ import annotations

import math
import re
from enum import IntEnum
from typing import Final, final

from gateway.errors import GatewayError
from gateway.message import Kind
from gateway.selectors.values import EXACT_MAX
from gateway.wire.tagged import Tagged


class Sort(IntEnum):
    """What a token is."""

    END = 0
    WORD = 1  # a reserved one, in capitals
    NAME = 2
    LITERAL = 3
    SIGN = 4  # an operator, parenthesis or comma


RESERVED: Final = frozenset(
    ("NULL", "TRUE", "FALSE", "NOT", "AND", "OR", "BETWEEN", "LIKE", "IN", "IS", "ESCAPE")
)
SPACE: Final = re.compile(r"[ \t\n\r\f]*")
NAME: Final = re.compile(r"[^\W\d]|\$")  # how an identifier begins
NAME_REST: Final = re.compile(r"[\w$.]*")
NUMBER: Final = re.compile(
    r"(?P<hex>0[xX][0-9a-fA-F]+)[lL]?"
    r"|(?P<real>(?:[0-9]+\.[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?[fFdD]?"
    r"|[0-9]+(?:[eE][+-]?[0-9]+[fFdD]?|[fFdD]))"
    r"|(?P<exact>[0-9]+)[lL]?"
)
SIGNS: Final = re.compile(r"<>|<=|>=|[=<>+\-*/(),]")
QUOTED: Final = {
    "'": re.compile(r"'([^']*(?:''[^']*)*)'"),
    '"': re.compile(r'"([^"]*(?:""[^"]*)*)"'),
}


class SelectorError(GatewayError):
    """A text is no selector; says where, and what was expected there."""


@final
class Token:
    """One word.

    Attributes:
        at: where it begins, counted from 0.
        text: a reserved word, a sign, or an identifier's name.
        value: of a literal.
    """

    __slots__ = ("at", "sort", "text", "value")

    def __init__(self, sort: Sort, at: int, text: str, value: Tagged | None = None) -> None:
        self.sort = sort
        self.at = at
        self.text = text
        self.value = value

    def is_word(self, word: str) -> bool:
        """Whether it is that reserved word."""
        return self.sort == Sort.WORD and self.text == word

    def is_sign(self, sign: str) -> bool:
        """Whether it is that sign."""
        return self.sort == Sort.SIGN and self.text == sign


def error(at: int, expected: str) -> SelectorError:
    """What is not so at `at`."""
    return SelectorError(f"at character {at + 1}: {expected} expected")


def tokens_of(text: str) -> list[Token]:
    """The tokens of `text`, `END` last; `SelectorError`."""
    found: list[Token] = []
    at = _after_space(text, 0)
    while at < len(text):
        end = _take(found, text, at)
        at = _after_space(text, end)
    found.append(Token(Sort.END, at, ""))
    return found


def _after_space(text: str, at: int) -> int:
    space = SPACE.match(text, at)
    return at if space is None else space.end()


def _take(found: list[Token], text: str, at: int) -> int:
    """Add the token at `at`; where it ends."""
    first = text[at]
    if first in QUOTED:
        return _take_quoted(found, text, at, first)
    if NAME.match(first) is not None:
        return _take_name(found, text, at)
    number = NUMBER.match(text, at)
    if number is not None:
        end = number.end()
        if end < len(text) and NAME_REST.fullmatch(text[end]) is not None:
            raise error(at, "a number")
        found.append(Token(Sort.LITERAL, at, number.group(), _number(number, at)))
        return end
    sign = SIGNS.match(text, at)
    if sign is None:
        raise error(at, "an identifier, a literal or an operator")
    found.append(Token(Sort.SIGN, at, sign.group()))
    return sign.end()


def _take_quoted(found: list[Token], text: str, at: int, quote: str) -> int:
    quoted = QUOTED[quote].match(text, at)
    if quoted is None:
        raise error(len(text), f"a closing {quote}")
    content = quoted.group(1).replace(quote + quote, quote)
    if quote == "'":
        found.append(Token(Sort.LITERAL, at, "", Tagged(Kind.STRING, content)))
    else:
        found.append(Token(Sort.NAME, at, content))
    return quoted.end()


def _take_name(found: list[Token], text: str, at: int) -> int:
    rest = NAME_REST.match(text, at + 1)
    end = at + 1 if rest is None else rest.end()
    name = text[at:end]
    word = name.upper()
    if word in RESERVED:
        found.append(Token(Sort.WORD, at, word))
    else:
        found.append(Token(Sort.NAME, at, name))
    return end


def _number(number: re.Match[str], at: int) -> Tagged:
    digits = number.group("real")
    if digits is not None:
        real = float(digits.rstrip("fFdD"))
        if math.isinf(real):
            raise error(at, "a number of 64 bits")
        return Tagged(Kind.REAL, real)
    digits = number.group("hex")
    if digits is None:
        return Tagged(Kind.INTEGER, _decimal_or_octal(number.group("exact"), at))
    return Tagged(Kind.INTEGER, _exact(digits[2:], 16, at))


def _decimal_or_octal(digits: str, at: int) -> int:
    """The integer of these digits: octal where they begin with 0, as Java has it."""
    if digits[0] != "0":
        return _exact(digits, 10, at)
    if "8" in digits or "9" in digits:
        raise error(at, "an octal number")
    return _exact(digits, 8, at)


def _exact(digits: str, base: int, at: int) -> int:
    # Longer than any number of 64 bits: not converted, which would take long.
    significant = digits.lstrip("0")
    value = int(significant or "0", base) if len(significant) <= 22 else EXACT_MAX + 1
    if value > EXACT_MAX:
        raise error(at, "a number of 64 bits")
    return value
