"""YAML that people write: no text breaks its reader, or holds it up by what a few octets stand for.

PyYAML's reader recurses as deep as a text is nested, repeats what aliases stand for wherever
somebody goes through it, and raises whatever its conversions raise. Here each of these is a
YAMLError with its line.
"""

from __future__ import annotations

import re
from collections.abc import Hashable
from typing import Any, Final

import yaml
from yaml.composer import ComposerError
from yaml.constructor import ConstructorError
from yaml.reader import ReaderError

from gateway.errors import ConfigurationError

DEPTH_MAX: Final = 64
ALIASED_MAX: Final = 10_000  # nodes
NUMBER_MAX: Final = 64  # characters; PyYAML's sums of sixties are quadratic
UNCONVERTED: Final = frozenset(("str", "binary", "null"))
LONE: Final = re.compile("[\ud800-\udfff]")


class UnreadableError(yaml.YAMLError):
    """A text that is none: its encoding is broken, or it has characters that YAML has not."""


class Loader(yaml.SafeLoader):
    """YAML where a key that stands twice in one mapping is a problem, not a silent choice.

    Attributes:
        problems: what was found so; it is told when all is read.
    """

    nul_allowed = False

    def __init__(self, text: str) -> None:
        super().__init__(text)
        self.problems: list[tuple[str, str]] = []
        self._depth = 0
        self._nodes = 0
        self._aliased = 0
        self._sizes: dict[int, int] = {}  # of anchored nodes, by their identity

    def compose_node(self, parent: yaml.Node | None, index: Any) -> yaml.Node | None:
        """A node with what is in it. Any: where it stands, as PyYAML has it."""
        # Any: events differ in what they have
        event: Any = self.peek_event()  # type: ignore[no-untyped-call]
        if self._depth == DEPTH_MAX:
            raise ComposerError(None, None, f"nested deeper than {DEPTH_MAX}", event.start_mark)
        before = self._nodes
        self._depth += 1
        node: yaml.Node | None = super().compose_node(parent, index)
        self._depth -= 1
        if isinstance(event, yaml.AliasEvent):
            self._count_alias(self._sizes.get(id(node)), event)
        else:
            self._nodes += 1
            if event.anchor is not None:
                self._sizes[id(node)] = self._nodes - before
        return node

    def _count_alias(self, size: int | None, event: Any) -> None:  # Any: as above
        if size is None:
            raise ComposerError(None, None, "an alias within what it means", event.start_mark)
        self._nodes += size
        self._aliased += size
        if self._aliased > ALIASED_MAX:
            text = f"aliases stand for more than {ALIASED_MAX} values"
            raise ComposerError(None, None, text, event.start_mark)

    def construct_object(self, node: yaml.Node, deep: bool = False) -> Any:
        """What a node means. Any: whatever YAML can say."""
        if not isinstance(node, yaml.ScalarNode):
            return super().construct_object(node, deep)
        kind = node.tag.rpartition(":")[2]
        if len(node.value) > NUMBER_MAX and kind not in UNCONVERTED:
            raise ConstructorError(None, None, f"too long for a value of {kind}", node.start_mark)
        try:
            value = super().construct_object(node, deep)
        except (ArithmeticError, AttributeError, LookupError, TypeError, ValueError):
            raise ConstructorError(None, None, f"no value of {kind}", node.start_mark) from None
        if isinstance(value, str):
            if LONE.search(value):
                text = "half a character (a lone surrogate)"
                raise ConstructorError(None, None, text, node.start_mark)
            if "\0" in value and not self.nul_allowed:
                raise ConstructorError(None, None, "a NUL character", node.start_mark)
        return value


def _mapping(loader: Loader, node: yaml.Node) -> dict[Hashable, Any]:
    """At once, with all that is in it: what it is merged into later must not change it."""
    if not isinstance(node, yaml.MappingNode):
        raise ConstructorError(None, None, "no mapping", node.start_mark)
    seen: set[str] = set()
    for key, _value in node.value:
        if not isinstance(key, yaml.ScalarNode):
            raise ConstructorError(None, None, "a key must be a word", key.start_mark)
        if key.value in seen:
            line = key.start_mark.line + 1
            loader.problems.append((key.value, f"stands twice (line {line})"))
        seen.add(key.value)
    return loader.construct_mapping(node, deep=True)


Loader.add_constructor(yaml.resolver.BaseResolver.DEFAULT_MAPPING_TAG, _mapping)


class BodyLoader(Loader):
    """Of bodies of messages, which may have any character."""

    nul_allowed = True


def load_yaml(given: str | bytes, loader: type[Loader] = Loader) -> Any:
    """What a text means; `None`: nothing. Any: whatever YAML can say.

    Raises:
        YAMLError: it cannot be read.
        ConfigurationError: with every key that stands twice.
    """
    return load_marked(given, loader)[0]


def load_marked(given: str | bytes, loader: type[Loader] = Loader) -> tuple[Any, yaml.Node | None]:
    """The same, and the node of which it was made, which knows its lines."""
    text = decoded(given) if isinstance(given, bytes) else given
    try:
        reader = loader(text)
    except ReaderError as error:
        told = f"the character U+{ord(text[error.position]):04X} is not allowed"
        raise UnreadableError(f"{told}, at {_place(text[: error.position])}") from None
    try:
        node = reader.get_single_node()
        # Any: PyYAML has no types for it
        value: Any = None if node is None else reader.construct_document(node)
    finally:
        reader.dispose()
    if reader.problems:
        raise ConfigurationError(reader.problems)
    return value, node


def decoded(octets: bytes) -> str:
    """The text, which is UTF-8, or with its mark UTF-16. Raises YAMLError."""
    encoding = "utf-16" if octets[:2] in (b"\xff\xfe", b"\xfe\xff") else "utf-8"
    try:
        return octets.decode(encoding)
    except UnicodeDecodeError as error:
        good = octets[: error.start].decode(encoding, "replace")
        raise UnreadableError(f"is no {encoding.upper()}, at {_place(good)}") from None


def _place(before: str) -> str:
    lines = before.split("\n")
    return f"line {len(lines)}, column {len(lines[-1]) + 1}"


def said(error: yaml.YAMLError) -> str:
    """In one line, without the parser's names for what it reads and its mark under the place."""
    text = re.sub(r' in "<(byte|unicode) string>",', " at", str(error))
    return " ".join(re.sub(r"\^\s*$", "", text, flags=re.MULTILINE).split())
