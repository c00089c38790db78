"""The filters of a 1.0 source: bindings on exchanges, and no-local (3.5.8 and the filter registry).

A consumer must never get what it excluded: a filter that is known to choose messages and cannot be
applied to the node refuses the link. What nobody knows is not among the filters that are answered
(3.5.3), and a null filter is no filter. At a node of an upstream a selector is for that to apply;
one on an exchange goes into the binding.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, cast, final

from gateway.amqp_1_0 import _spec, types
from gateway.bridge.exchanges.exchange import DIRECT, HEADERS, TOPIC
from gateway.bridge.exchanges.filters import NoLocal, together
from gateway.bridge.seams import Filter
from gateway.message import Condition, Refusal
from gateway.selectors.selector import read_selector
from gateway.translate.view import neutral_1_0
from gateway.wire.tagged import Tagged

MATCH_ALL: Final = "#"
UNKNOWN: Final = -1
JMS_SELECTOR: Final = "jms-selector"  # what some clients call the descriptor, too
EXCLUDING: Final = ("selector", "no-local")  # what such a filter is for, its name says
KINDS: Final = (
    _spec.LEGACY_AMQP_DIRECT_BINDING_CODE,
    _spec.LEGACY_AMQP_TOPIC_BINDING_CODE,
    _spec.LEGACY_AMQP_HEADERS_BINDING_CODE,
    _spec.NO_LOCAL_FILTER_CODE,
    _spec.SELECTOR_FILTER_CODE,
    _spec.SQL_FILTER_CODE,
    _spec.PROPERTIES_FILTER_CODE,
    _spec.APPLICATION_PROPERTIES_FILTER_CODE,
)


@final
@dataclass(init=False, slots=True)
class Wanted:
    """What the filters of one source ask for.

    Attributes:
        key: of a direct or topic binding filter.
        arguments: of a headers binding filter, as the bridge compares them.
        filter: of a local queue, its selector included.
        selector: what an exchange's binding, or the upstream of a remote queue, is to apply.
        no_local: the same, of a remote queue only.
        in_place: the filters that are applied, for the attach reply.
        left_out: there are others, which nobody knows.
    """

    key: str | None
    arguments: dict[str, Tagged] | None
    filter: Filter | None
    selector: str
    no_local: bool
    in_place: dict[str, Tagged]
    left_out: bool

    def __init__(self) -> None:
        self.key = None
        self.arguments = None
        self.filter = None
        self.selector = ""
        self.no_local = False
        self.in_place = {}
        self.left_out = False


def read_filters(
    filters: dict[str, Tagged] | None,
    exchange_type: str | None,
    connection_id: int,
    *,
    remote: bool = False,
) -> Wanted | Refusal:
    """Understand the filters of a source on a queue (`None`) or an exchange of that type.

    `remote`: the node is an upstream's, which may refuse what is asked of it.
    """
    wanted = Wanted()
    for name, tagged in (filters or {}).items():
        if tagged.code == types.NULL:
            continue
        if tagged.code != types.DESCRIBED:
            return Refusal(Condition.INVALID_ARGUMENT, f"filter {name} has no descriptor")
        described = cast(types.Described, tagged.value)
        if _is_unknown(name, described.descriptor):
            wanted.left_out = True
            continue
        if remote:
            refusal = _apply_remote(wanted, name, described, exchange_type)
        else:
            refusal = _apply(wanted, name, described, exchange_type, connection_id)
        if refusal is not None:
            return refusal
        wanted.in_place[name] = tagged
    return wanted


def _kind(descriptor: Tagged) -> int:
    if descriptor.code == types.ULONG:
        return cast(int, descriptor.value)
    if descriptor.code == types.SYMBOL:
        symbol = cast(str, descriptor.value)
        if symbol == JMS_SELECTOR:
            return _spec.SELECTOR_FILTER_CODE
        return _spec.SYMBOLS.get(symbol, UNKNOWN)
    return UNKNOWN


def _is_unknown(name: str, descriptor: Tagged) -> bool:
    """Whether a filter may be left out: nobody knows it, and nothing says that it excludes."""
    if _kind(descriptor) in KINDS:
        return False
    called = f"{name} {descriptor.value}".lower()
    return not any([word in called for word in EXCLUDING])


def selects(filters: dict[str, Tagged] | None) -> bool:
    """Whether a selector is among them."""
    for tagged in (filters or {}).values():
        if tagged.code == types.DESCRIBED:
            descriptor = cast(types.Described, tagged.value).descriptor
            if _kind(descriptor) == _spec.SELECTOR_FILTER_CODE:
                return True
    return False


def _apply(
    wanted: Wanted,
    name: str,
    described: types.Described,
    exchange_type: str | None,
    connection_id: int,
) -> Refusal | None:
    kind = _kind(described.descriptor)
    value = described.value
    if kind == _spec.NO_LOCAL_FILTER_CODE:
        wanted.filter = together(wanted.filter, NoLocal(connection_id))
        return None
    if kind != _spec.SELECTOR_FILTER_CODE:
        return _apply_binding(wanted, name, kind, value, exchange_type)
    refusal = _take_selector(wanted, name, value)
    if refusal is not None or not wanted.selector:
        return refusal
    selector = read_selector(wanted.selector)
    if isinstance(selector, Refusal):
        return selector
    if exchange_type is None:
        wanted.filter = together(wanted.filter, selector)
    return None


def _apply_remote(
    wanted: Wanted,
    name: str,
    described: types.Described,
    exchange_type: str | None,
) -> Refusal | None:
    kind = _kind(described.descriptor)
    value = described.value
    if kind == _spec.SELECTOR_FILTER_CODE:
        return _take_selector(wanted, name, value)
    if kind == _spec.NO_LOCAL_FILTER_CODE and exchange_type is None:
        wanted.no_local = True
        return None
    return _apply_binding(wanted, name, kind, value, exchange_type)


def _take_selector(wanted: Wanted, name: str, value: Tagged) -> Refusal | None:
    if value.code != types.STRING or wanted.selector:
        return Refusal(Condition.INVALID_ARGUMENT, f"filter {name} is not one selector")
    wanted.selector = cast(str, value.value)
    return None


def _apply_binding(
    wanted: Wanted, name: str, kind: int, value: Tagged, exchange_type: str | None
) -> Refusal | None:
    if kind == _spec.LEGACY_AMQP_DIRECT_BINDING_CODE and exchange_type == DIRECT:
        return _take_key(wanted, name, value)
    if kind == _spec.LEGACY_AMQP_TOPIC_BINDING_CODE and exchange_type == TOPIC:
        return _take_key(wanted, name, value)
    if kind == _spec.LEGACY_AMQP_HEADERS_BINDING_CODE and exchange_type == HEADERS:
        return _take_arguments(wanted, name, value)
    return Refusal(Condition.NOT_IMPLEMENTED, f"filter {name} is not offered on this node")


def _take_key(wanted: Wanted, name: str, value: Tagged) -> Refusal | None:
    if value.code not in (types.STRING, types.SYMBOL) or wanted.key is not None:
        return Refusal(Condition.INVALID_ARGUMENT, f"filter {name} is not one binding key")
    wanted.key = cast(str, value.value)
    return None


def _take_arguments(wanted: Wanted, name: str, value: Tagged) -> Refusal | None:
    if value.code != types.MAP or wanted.arguments is not None:
        return Refusal(Condition.INVALID_ARGUMENT, f"filter {name} is not one map")
    arguments: dict[str, Tagged] = {}
    for key, item in cast(types.Map, value.value):
        if key.code not in (types.STRING, types.SYMBOL):
            return Refusal(Condition.INVALID_ARGUMENT, f"filter {name} has a key that is no string")
        arguments[cast(str, key.value)] = neutral_1_0(item)
    wanted.arguments = arguments
    return None


def binding_key(wanted: Wanted, exchange_type: str, address_key: str | None) -> str | Refusal:
    """The key that a receiver on an exchange is bound with: its filter's, the address', or all."""
    key = wanted.key if wanted.key is not None else address_key
    if key is not None:
        return key
    if exchange_type == TOPIC:
        return MATCH_ALL
    if exchange_type == DIRECT:
        return Refusal(
            Condition.INVALID_ARGUMENT, "a receiver on a direct exchange needs a key or a filter"
        )
    return ""
