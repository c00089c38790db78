"""Values as plain data that compares by type and content, not by the width of a length prefix."""

from __future__ import annotations

from typing import Final

from gateway.amqp_0_10 import _spec_constants as old
from gateway.amqp_0_10.types import Array as Array010
from gateway.amqp_0_10.types import Struct32
from gateway.amqp_1_0 import types as new
from gateway.wire.tagged import Tagged

SAME_0_10: Final = {
    old.STR8: old.STR16,
    old.VBIN8: old.VBIN16,
    old.VBIN32: old.VBIN16,
    old.STR8_LATIN: old.STR16_LATIN,
    old.STR8_UTF16: old.STR16_UTF16,
}


def neutral_0_10(value: Tagged) -> object:
    """A 0-10 value."""
    return SAME_0_10.get(value.code, value.code), _bare_0_10(value.value)


def _bare_0_10(value: object) -> object:
    if isinstance(value, Array010):
        code = SAME_0_10.get(value.code, value.code)
        return code, tuple([_bare_0_10(each) for each in value.values])
    if isinstance(value, Struct32):
        return value.code, value.octets
    if isinstance(value, list):
        return tuple([_item_0_10(each) for each in value])
    return repr(value) if isinstance(value, float) else value  # as for NaN, which equals nothing


def _item_0_10(item: object) -> object:
    """One of a list, or the key and the value of one of a map."""
    if isinstance(item, Tagged):
        return neutral_0_10(item)
    if isinstance(item, tuple):
        return tuple([_item_0_10(each) for each in item])
    return item


def neutral_1_0(value: Tagged) -> object:
    """A 1.0 value."""
    return value.code, _bare_1_0(value.value)


def _bare_1_0(value: object) -> object:
    if isinstance(value, Tagged):
        return neutral_1_0(value)
    if isinstance(value, new.Array):
        items = tuple([_bare_1_0(each) for each in value.items])
        return value.code, items, tuple([_bare_1_0(each) for each in value.descriptors])
    if isinstance(value, new.Described):
        return neutral_1_0(value.descriptor), neutral_1_0(value.value)
    if isinstance(value, (list, tuple)):
        return tuple([_bare_1_0(each) for each in value])
    return repr(value) if isinstance(value, float) else value
