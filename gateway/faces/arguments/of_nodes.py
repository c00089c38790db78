"""What a client of 1.0 wants a node to be that is made for it: the properties of its terminus.

Beside those of the specification (part 3.5.9 ff.) they are a qpidd's: the alternate exchange, the
type of an exchange, exclusive, and arguments as in 0-10, as `qpid.max_count`. A dynamic node lives
by its lifetime policy. One that the client names (`server_1_0.on_demand`) stays, and is durable if
it says so; it deletes itself, as a queue of 0-10 does, where a policy or `auto-delete` says that.
"""

from __future__ import annotations

from typing import Final, cast, final

from gateway.amqp_0_10.decoding import read_map
from gateway.amqp_0_10.types import FieldTable
from gateway.amqp_1_0 import _spec, types
from gateway.amqp_1_0.primitives.fields import Fields
from gateway.bridge.exchanges.exchange import FANOUT, TOPIC, TYPES, Exchange
from gateway.bridge.queues.discipline import Life
from gateway.bridge.seams import QueueSettings
from gateway.faces.arguments.of_exchanges import AskedOfExchange
from gateway.faces.arguments.of_queues import Asked, encoded, invalid
from gateway.message import Refusal
from gateway.translate.values import Conversion, short_enough
from gateway.wire.buffers import Reader
from gateway.wire.tagged import Tagged

LIFETIME: Final = "lifetime-policy"
MODES: Final = "supported-dist-modes"
ALTERNATE: Final = "alternate-exchange"
TYPE: Final = "exchange-type"
EXCLUSIVE: Final = "exclusive"
DURABLE: Final = "durable"
AUTO_DELETE: Final = "auto-delete"
BY_POLICY: Final = (DURABLE, AUTO_DELETE)  # without effect of a dynamic node
ELSEWHERE: Final = (LIFETIME, MODES, ALTERNATE, TYPE, EXCLUSIVE, *BY_POLICY)
# Of queues that clients name. There is none that goes when it is empty, whoever uses it.
LIVES: Final = {
    _spec.DELETE_ON_CLOSE: Life.CLOSED,
    _spec.DELETE_ON_NO_LINKS: Life.UNUSED,
    _spec.DELETE_ON_NO_LINKS_OR_MESSAGES: Life.UNUSED_AND_EMPTY,
}
OF_LIVES: Final = {life: policy for policy, life in LIVES.items()}
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
        named: by the client; else it is a dynamic node.
        policy: its lifetime policy's descriptor.
        settings: of a queue; of an exchange its alternate, and whether it is durable, and stays.
        type: of an exchange; `marks`: what else it is to do.
        arguments: those of 0-10.
        ignored: what has no effect.
    """

    __slots__ = ("arguments", "ignored", "marks", "named", "policy", "settings", "topic", "type")

    def __init__(self, policy: int, *, topic: bool, named: bool) -> None:
        self.topic = topic
        self.named = named
        self.policy = policy
        self.settings = QueueSettings()
        self.type = TOPIC if named else FANOUT
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
        self.settings.exclusive = _is_true(properties, EXCLUSIVE)
        if self.named:
            self._read_life(properties)
        else:
            self.ignored += [name for name in properties if name in BY_POLICY]
        for name, tagged in properties.items():
            if name not in ELSEWHERE:
                self._argue(name, tagged)
        return self._read_arguments()

    def _read_life(self, properties: Fields) -> None:
        settings = self.settings
        settings.durable = _is_true(properties, DURABLE)
        settings.auto_delete = _is_true(properties, AUTO_DELETE)
        if LIFETIME in properties and self.policy in LIVES:
            settings.auto_delete = True
            settings.life = LIVES[self.policy]
        elif LIFETIME in properties:
            self.ignored.append(LIFETIME)

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
            as_asked = asked[MODES].value == mode
            told[MODES] = asked[MODES] if as_asked else Tagged(types.SYMBOL, mode)
        for name, tagged in asked.items():
            in_place = name not in self.ignored and (self.topic or name != TYPE)
            if in_place and name != LIFETIME and name != MODES:
                told[name] = tagged
        return told


def wish_of(properties: Fields | None, *, topic: bool, named: bool = False) -> NodeWish | Refusal:
    """What a terminus wants of its node; `named`: that the client has named."""
    wish = NodeWish(policy_of(properties), topic=topic, named=named)
    return wish.read(properties or {}) or wish


def _is_true(properties: Fields, name: str) -> bool:
    tagged = properties.get(name)
    return tagged is not None and tagged.value is True


def told_of_queue(settings: QueueSettings, asked: Fields) -> Fields:
    """Of the properties that were asked for, those of a queue that is there."""
    facts: Fields = {
        MODES: Tagged(types.SYMBOL, _spec.DISTRIBUTION_MOVE),
        DURABLE: Tagged(types.BOOLEAN, settings.durable),
        AUTO_DELETE: Tagged(types.BOOLEAN, settings.auto_delete),
        EXCLUSIVE: Tagged(types.BOOLEAN, settings.exclusive),
        ALTERNATE: Tagged(types.STRING, settings.alternate_exchange),
    }
    if settings.auto_delete:
        facts |= policy_properties(OF_LIVES[settings.life])
    return _told(facts, settings.arguments, asked)


def told_of_exchange(exchange: Exchange, asked: Fields) -> Fields:
    """The same of an exchange."""
    facts: Fields = {
        MODES: Tagged(types.SYMBOL, _spec.DISTRIBUTION_COPY),
        TYPE: Tagged(types.STRING, exchange.type),
        DURABLE: Tagged(types.BOOLEAN, exchange.durable),
        AUTO_DELETE: Tagged(types.BOOLEAN, exchange.auto_delete),
        ALTERNATE: Tagged(types.STRING, exchange.alternate_exchange),
    }
    return _told(facts, exchange.arguments, asked)


def _told(facts: Fields, arguments: bytes, asked: Fields) -> Fields:
    """Facts that were asked for, and arguments if they are as asked.

    What is as asked has the type that it was asked in: clients of qpid::messaging compare it.
    """
    kept = dict(read_map(Reader(arguments))) if arguments else {}
    told: Fields = {}
    for name, tagged in asked.items():
        fact = facts.get(name)
        has = kept.get(name) if fact is None and name not in ELSEWHERE else fact
        if has is not None and str(has.value) == str(tagged.value):
            told[name] = tagged
        elif fact is not None:
            told[name] = fact
    return told
