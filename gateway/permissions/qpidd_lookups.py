"""What qpidd looks up in its rules: for which action on which object, by which properties.

A rule with a property that none of these sets has can never match, and qpidd leaves it out; so does
the gateway. Transcribed from what qpidd 1.40 does, and compared with it
(`tests/interop/record_access.py`).
"""

from __future__ import annotations

from typing import Final

NAME: Final = "name"
ROUTING_KEY: Final = "routingkey"

ACTIONS: Final = (
    "consume",
    "publish",
    "create",
    "access",
    "bind",
    "unbind",
    "delete",
    "purge",
    "update",
    "move",
    "redirect",
    "reroute",
)
OBJECTS: Final = ("queue", "exchange", "broker", "link", "method", "query", "connection")

# Limits: (the property that is looked up, whether it is an upper limit).
LIMITS: Final[dict[str, tuple[str, bool]]] = {
    "queuemaxsizelowerlimit": ("maxqueuesize", False),
    "queuemaxsizeupperlimit": ("maxqueuesize", True),
    "queuemaxcountlowerlimit": ("maxqueuecount", False),
    "queuemaxcountupperlimit": ("maxqueuecount", True),
    "filemaxsizelowerlimit": ("maxfilesize", False),
    "filemaxsizeupperlimit": ("maxfilesize", True),
    "filemaxcountlowerlimit": ("maxfilecount", False),
    "filemaxcountupperlimit": ("maxfilecount", True),
    "pageslowerlimit": ("maxpages", False),
    "pagesupperlimit": ("maxpages", True),
    "pagefactorlowerlimit": ("maxpagefactor", False),
    "pagefactorupperlimit": ("maxpagefactor", True),
}
# Short for the upper limits.
SYNONYMS: Final = {
    "maxqueuesize": "queuemaxsizeupperlimit",
    "maxqueuecount": "queuemaxcountupperlimit",
}
PROPERTIES: Final = frozenset(
    (
        *(NAME, "durable", "owner", ROUTING_KEY, "autodelete", "exclusive", "type", "alternate"),
        *("queuename", "exchangename", "schemapackage", "schemaclass", "policytype", "paging"),
        *("host", *LIMITS),
    )
)
POLICY_TYPES: Final = ("ring", "self-destruct", "reject")

_ACCESSED: Final = (
    "alternate durable exclusive autodelete policytype"
    " queuemaxcountlowerlimit queuemaxcountupperlimit"
    " queuemaxsizelowerlimit queuemaxsizeupperlimit"
)
_CREATED: Final = " ".join(["alternate durable exclusive autodelete policytype paging", *LIMITS])

# Besides the name, which each may have.
LOOKUPS: Final[dict[tuple[str, str], list[frozenset[str]]]] = {
    (action, object): [frozenset(properties.split()) for properties in sets]
    for action, object, sets in (
        ("access", "broker", ("",)),
        (
            "access",
            "exchange",
            ("queuename routingkey", "type alternate durable autodelete", "type durable"),
        ),
        ("access", "method", ("schemapackage schemaclass",)),
        ("access", "query", ("schemaclass",)),
        ("access", "queue", (_ACCESSED,)),
        ("bind", "exchange", ("queuename routingkey",)),
        ("consume", "queue", ("",)),
        ("create", "connection", ("host",)),
        ("create", "exchange", ("type alternate durable autodelete",)),
        ("create", "link", ("",)),
        ("create", "queue", (_CREATED,)),
        ("delete", "exchange", ("type alternate durable",)),
        ("delete", "queue", ("alternate durable exclusive autodelete policytype",)),
        ("move", "queue", ("queuename",)),
        ("publish", "exchange", ("routingkey",)),
        ("purge", "queue", ("",)),
        ("redirect", "queue", ("queuename",)),
        ("reroute", "queue", ("exchangename",)),
        ("unbind", "exchange", ("queuename routingkey",)),
        ("update", "broker", ("",)),
    )
}
# What the gateway does not have: who may do it makes no difference.
ABSENT: Final = frozenset(
    (
        ("access", "broker"),
        ("access", "method"),
        ("access", "query"),
        ("create", "link"),
        ("move", "queue"),
        ("redirect", "queue"),
        ("reroute", "queue"),
        ("update", "broker"),
    )
)


def can_match(action: str, object: str, properties: list[tuple[str, str]]) -> bool:
    """Whether qpidd ever looks up what such a rule is about."""
    given = {key for key, _value in properties if key != NAME}
    return any([given <= one for one in LOOKUPS.get((action, object), [])])
