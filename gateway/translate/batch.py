"""The batch: a 1.0 delivery of a message-format of its own that holds many messages.

Each data section of a batch holds one whole encoded message; Azure's clients send them. A batch is
opened on arrival, and what it held are messages like any other. The sections that stand around the
data describe the batch, not a message, and end with it.
"""

from __future__ import annotations

from typing import Final

from gateway.amqp_1_0 import _spec, sections
from gateway.errors import DecodeError, LimitError

BATCH_FORMAT: Final = 0x80013700


def messages_in(payload: bytes, messages_max: int) -> list[bytes]:
    """The encoded messages of a batch, in its order.

    Raises:
        LimitError: more than `messages_max` of them.
        DecodeError: not the sections of a batch, or none that holds a message.
    """
    found = sections.scan(payload)
    if found.body_kind != _spec.DATA:
        raise DecodeError("a batch without data sections")
    if found.body_count > messages_max:
        raise LimitError(f"a batch of more than {messages_max} messages")
    return sections.data(payload, found)
