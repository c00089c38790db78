"""Templates: names as addresses of an upstream, and the way back.

A template is an address with parts in braces: `/queues/{queue|percent}`. Every address that one
makes has one reading: a part ends with the address, or where the character comes that follows it in
the template and that its values never have. Which they never have depends on the part's form:

* bare, `{queue}`: any characters, so nothing but fixed text may follow;
* `percent`: percent-encoded but for letters, digits and "-._~" (RFC 3986, section 2.3);
* `word`: as `percent`, and "." as well: one word of a dotted name;
* `plain`: as it is; a name with a "/" has no address.
"""

from __future__ import annotations

from typing import Final, final
from urllib.parse import quote, unquote

from gateway.errors import ConfigurationError

PARTS: Final = ("queue", "exchange", "key", "name")
BARE: Final = ""
PERCENT: Final = "percent"
WORD: Final = "word"
PLAIN: Final = "plain"
FORMS: Final = (BARE, PERCENT, WORD, PLAIN)
PARTS_SAID: Final = "parts are {queue} or {exchange}, {key}, {name}"
FORMS_SAID: Final = "|percent, |word or |plain, or without"
# What a form never makes stands outside of these, and "%".
UNRESERVED: Final = frozenset("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~")
NOTHING: Final = ("", "")


@final
class Wildcards:
    """How a broker spells the wildcard words of topic keys.

    Attributes:
        one: for `*`, exactly one word.
        any: for `#`, any number of words.
        any_last_only: `any` may be the last word only.
    """

    __slots__ = ("any", "any_last_only", "one")

    def __init__(self, one: str = "*", any: str = "#", any_last_only: bool = False) -> None:
        self.one = one
        self.any = any
        self.any_last_only = any_last_only


@final
class Template:
    """One template.

    Raises:
        ConfigurationError: it is none, or an address of it could be read in two ways.
    """

    __slots__ = ("_after", "_forms", "_literals", "parts", "text")

    def __init__(self, text: str) -> None:
        self.text = text
        self.parts: list[str] = []
        self._forms: list[str] = []
        self._literals: list[str] = []  # before each part, and after the last
        self._after: list[str] = []
        self._parse()
        problem = self._ambiguity()
        if problem:
            raise ConfigurationError([("", problem)])

    def _parse(self) -> None:
        rest = self.text
        while True:
            literal, brace, rest = rest.partition("{")
            if "}" in literal:
                raise ConfigurationError([("", 'has a "}" without a "{"')])
            self._literals.append(literal)
            if not brace:
                break
            inside, closing, rest = rest.partition("}")
            part, _, form = inside.partition("|")
            if not closing or part not in PARTS or form not in FORMS:
                raise ConfigurationError(
                    [("", f"has no part {{{inside}}}: {PARTS_SAID}; with {FORMS_SAID}")]
                )
            if part in self.parts:
                raise ConfigurationError([("", f"has {{{part}}} twice")])
            self.parts.append(part)
            self._forms.append(form)

    def _ambiguity(self) -> str:
        if not self.text:
            return "must not be empty"
        for at, part in enumerate(self.parts):
            form = self._forms[at]
            following = self._literals[at + 1]
            if at == len(self.parts) - 1:
                self._after.append("")  # it ends where the address does
                continue
            self._after.append(following[:1])
            if not following:
                return f"nothing stands between {{{part}}} and what follows it"
            if form == BARE:
                return (
                    f'a value of {{{part}}} may have "{following[0]}", too: say {{{part}|percent}},'
                    f' or before "/" {{{part}|plain}}, where names with "/" have no address'
                )
            if _makes(form, following[0]):
                return f'a value of {{{part}|{form}}} may have "{following[0]}", too'
        return ""

    @property
    def identity(self) -> bool:
        """Whether the address is the name."""
        return len(self.parts) == 1 and self._literals == ["", ""] and self._forms[0] == BARE

    def make(
        self,
        *,
        queue: str = "",
        exchange: str = "",
        key: str = "",
        name: str = "",
        wildcards: Wildcards | None = None,
    ) -> str:
        """The address; "" if there is none for these names.

        With `wildcards` the key is a binding key of a topic exchange, whose wildcard words are
        spelled as the broker spells them.
        """
        address = self._literals[0]
        for at, part in enumerate(self.parts):
            if part == "key" and wildcards is not None:
                value = pattern(key, self._forms[at], wildcards)
                if not value and key:
                    return ""
            else:
                given = _value(part, queue, exchange, key, name)
                if not given and part != "key":
                    return ""
                value = encode(given, self._forms[at])
            if self._forms[at] == PLAIN and "/" in value:
                return ""
            address += value + self._literals[at + 1]
        return address

    def read(self, address: str) -> dict[str, str] | None:
        """The parts of an address; `None` if it is no address of this template."""
        if not address.startswith(self._literals[0]):
            return None
        found: dict[str, str] = {}
        rest = address[len(self._literals[0]) :]
        for at, part in enumerate(self.parts):
            literal = self._literals[at + 1]
            end = len(rest)
            if at == len(self.parts) - 1:
                if not rest.endswith(literal):
                    return None
                end -= len(literal)
            else:
                end = rest.find(self._after[at])
                if end < 0 or not rest.startswith(literal, end):
                    return None
            value = decode(rest[:end], self._forms[at])
            if value is None or (not value and part != "key"):
                return None
            found[part] = value
            rest = rest[end + len(literal) :]
        return None if rest else found

    def may_meet(self, other: Template) -> bool:
        """Whether both may make one address."""
        return _meet(self._steps(), other._steps())

    def _steps(self) -> list[tuple[str, str]]:
        """What an address is made of: ("", character), or (part, form)."""
        steps = [("", character) for character in self._literals[0]]
        for at, part in enumerate(self.parts):
            steps.append((part, self._forms[at]))
            steps += [("", character) for character in self._literals[at + 1]]
        return steps


def _value(part: str, queue: str, exchange: str, key: str, name: str) -> str:
    if part == "queue":
        return queue
    if part == "exchange":
        return exchange
    return key if part == "key" else name


def encode(value: str, form: str) -> str:
    """A value in a form."""
    if form in (BARE, PLAIN):
        return value
    encoded = quote(value, safe="")
    return encoded.replace(".", "%2E") if form == WORD else encoded


def decode(text: str, form: str) -> str | None:
    """The value that stands in an address in a form; `None` if it cannot stand there."""
    if form == BARE:
        return text
    if form == PLAIN:
        return None if "/" in text else text
    for character in text:
        if character != "%" and not _makes(form, character):
            return None
    try:
        return unquote(text, errors="strict")
    except UnicodeDecodeError:
        return None


def pattern(key: str, form: str, wildcards: Wildcards) -> str:
    """A binding key of a topic exchange as the broker's; "" if it cannot say that."""
    words = key.split(".")
    for at, word in enumerate(words):
        if word == "#":
            if not wildcards.any or (wildcards.any_last_only and at < len(words) - 1):
                return ""
            words[at] = wildcards.any
        elif word == "*":
            if not wildcards.one:
                return ""
            words[at] = wildcards.one
        elif (word == wildcards.any or word == wildcards.one) and encode(word, form) == word:
            return ""
        else:
            words[at] = encode(word, form)
    return ".".join(words)


def _makes(form: str, character: str) -> bool:
    """Whether a value in a form may have the character."""
    if form == BARE:
        return True
    if form == PLAIN:
        return character != "/"
    if form == WORD and character == ".":
        return False
    return character == "%" or character in UNRESERVED


def _meet(left: list[tuple[str, str]], right: list[tuple[str, str]]) -> bool:
    """Whether two sequences of characters and parts have an address in common.

    A walk over pairs of places: a part takes any number of characters that its form makes.
    """
    waiting = [(0, 0)]
    seen: set[tuple[int, int]] = set()
    while waiting:
        place = waiting.pop()
        if place in seen:
            continue
        seen.add(place)
        at, other_at = place
        if at == len(left) and other_at == len(right):
            return True
        part, form = left[at] if at < len(left) else NOTHING
        other_part, other_form = right[other_at] if other_at < len(right) else NOTHING
        if part:
            waiting.append((at + 1, other_at))
        if other_part:
            waiting.append((at, other_at + 1))
        # In `NOTHING` and in a single character the second of the pair is that character.
        if part and not other_part and other_form and _makes(form, other_form):
            waiting.append((at, other_at + 1))
        elif other_part and not part and form and _makes(other_form, form):
            waiting.append((at + 1, other_at))
        elif not part and not other_part and form == other_form:
            waiting.append((at + 1, other_at + 1))
    return False
