"""What can be done, and to what kind of thing, as the rules and the audit log name it."""

from __future__ import annotations

from enum import IntEnum
from typing import Final


class Action(IntEnum):
    """What a client asks to do.

    `ACCESS` is to ask about a node, without using it: a query, a declare of what is there; `DECIDE`
    is to do anything with a branch of a distributed transaction that another user has begun.
    """

    CONNECT = 0
    PUBLISH = 1
    CONSUME = 2
    BROWSE = 3
    CREATE = 4
    DELETE = 5
    BIND = 6
    UNBIND = 7
    PURGE = 8
    MANAGE = 9
    ACCESS = 10
    DECIDE = 11


class ObjectKind(IntEnum):
    """What it is done to."""

    NOTHING = 0  # connect: the virtual host, which is asked for apart
    QUEUE = 1
    EXCHANGE = 2
    METHOD = 3  # of management
    BRANCH = 4


ACTION_NAMES: Final = {action.name.lower(): action for action in Action}
