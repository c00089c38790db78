"""What a client of 1.0 wants a dynamic node to be: the properties of its terminus.

Beside those of the specification (part 3.5.9 ff.) they are a qpidd's: the alternate exchange, the
type of an exchange, exclusive, and arguments as in 0-10, as `qpid.max_count`.
"""

from __future__ import annotations

from typing import Final, cast, final

from gateway.amqp_0_10.types import FieldTable
from gateway.amqp_1_0 import _spec, types
from gateway.amqp_1_0.primitives.fields import Fields
from gateway.bridge.exchanges.exchange import FANOUT, TYPES
from gateway.bridge.seams import QueueSettings
from gateway.faces.arguments.of_exchanges import AskedOfExchange
from gateway.faces.arguments.of_queues import Asked, encoded, invalid
from gateway.message import Refusal
from gateway.translate.values import Conversion, short_enough
from gateway.wire.tagged import Tagged

LIFETIME: Final = "lifetime-policy"
MODES: Final = "supported-dist-modes"
ALTERNATE: Final = "alternate-exchange"
TYPE: Final = "exchange-type"
EXCLUSIVE: Final = "exclusive"
ELSEWHERE: Final = (LIFETIME, MODES, ALTERNATE, TYPE, EXCLUSIVE)
WITHOUT_EFFECT: Final = ("durable", "auto-delete")  # of what the lifetime policy says
POLICIES: Final = (
    _spec.DELETE_ON_CLOSE,
    _spec.DELETE_ON_NO_LINKS,
    _spec.DELETE_ON_NO_MESSAGES,
    _spec.DELETE_ON_NO_LINKS_OR_MESSAGES,
)


def policy_of(properties: Fields | None) -> int:
    """The lifetime policy that a terminus asks for; delete-on-close when it asks for none."""
    tagged = (properties or {}).get(LIFETIME)
    if tagged is not None and tagged.code == types.DESCRIBED:
        descriptor = cast(types.Described, tagged.value).descriptor
        code = -1
        if descriptor.code == types.ULONG:
            code = cast(int, descriptor.value)
        elif descriptor.code == types.SYMBOL:
            code = _spec.SYMBOLS.get(cast(str, descriptor.value), -1)
        if code in POLICIES:
            return code
    return _spec.DELETE_ON_CLOSE


def policy_properties(policy: int) -> Fields:
    """The properties that tell of a node made by that policy."""
    described = types.Described(Tagged(types.ULONG, policy), Tagged(types.LIST, []))
    return {LIFETIME: Tagged(types.DESCRIBED, described)}


@final
class NodeWish:
    """What one terminus wants of its node.

    Attributes:
        topic: it is to be an exchange, else a queue.
        policy: its lifetime policy's descriptor.
        settings: of a queue; of an exchange its alternate.
        type: of an exchange; `marks`: what else it is to do.
        arguments: those of 0-10.
        ignored: what has no effect.
    """

    __slots__ = ("arguments", "ignored", "marks", "policy", "settings", "topic", "type")

    def __init__(self, policy: int, *, topic: bool) -> None:
        self.topic = topic
        self.policy = policy
        self.settings = QueueSettings()
        self.type = FANOUT
        self.arguments: FieldTable = []
        self.marks = AskedOfExchange([])
        self.ignored: list[str] = []

    def read(self, properties: Fields) -> Refusal | None:
        """Each property; why there can be no such node."""
        alternate = properties.get(ALTERNATE)
        if alternate is not None:
            if not isinstance(alternate.value, str):
                return invalid(f"{ALTERNATE} is no text")
            self.settings.alternate_exchange = alternate.value
        kind = properties.get(TYPE)
        if kind is not None and self.topic:
            if kind.value not in TYPES:
                return invalid(f"{TYPE} is none of {', '.join(TYPES)}")
            self.type = kind.value
        exclusive = properties.get(EXCLUSIVE)
        self.settings.exclusive = exclusive is not None and exclusive.value is True
        for name, tagged in properties.items():
            if name in WITHOUT_EFFECT:
                self.ignored.append(name)
            elif name not in ELSEWHERE:
                self._argue(name, tagged)
        return self._read_arguments()

    def _argue(self, name: str, tagged: Tagged) -> None:
        conversion = Conversion()
        value = conversion.to_0_10(tagged)
        if conversion.possible and short_enough(name):
            self.arguments.append((name, value))
        else:
            self.ignored.append(name)

    def _read_arguments(self) -> Refusal | None:
        if self.topic:
            self.marks = AskedOfExchange(self.arguments)
            self.ignored += self.marks.ignored(local=True)
            return None
        asked = Asked(remote=False)
        refusal = asked.read(self.arguments) or asked.apply(self.settings)
        self.ignored += [each.partition("=")[0] for each in asked.ignored]
        self.settings.arguments = encoded(self.arguments)
        return refusal

    def in_place(self, asked: Fields) -> Fields:
        """Of the properties that were asked for, those that the node has."""
        told = policy_properties(self.policy)
        if MODES in asked:
            mode = _spec.DISTRIBUTION_COPY if self.topic else _spec.DISTRIBUTION_MOVE
            told[MODES] = Tagged(types.SYMBOL, mode)
        for name, tagged in asked.items():
            in_place = name not in self.ignored and (self.topic or name != TYPE)
            if in_place and name != LIFETIME and name != MODES:
                told[name] = tagged
        return told


def wish_of(properties: Fields | None, *, topic: bool) -> NodeWish | Refusal:
    """What a terminus wants of its node."""
    wish = NodeWish(policy_of(properties), topic=topic)
    return wish.read(properties or {}) or wish
