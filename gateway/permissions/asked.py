"""What somebody asks for: an action, the object, and what is known of that.

One value for all kinds of rules: the gateway's own look at the fields, qpidd's at `properties`,
which are its words for what it looks up (`qpidd_lookups` says which it has when).
"""

from __future__ import annotations

from typing import Final, final

from gateway.permissions.actions import Action, ObjectKind

UNKNOWN: Final = -1
NO: Final = 0
YES: Final = 1
DEFAULT_EXCHANGE: Final = ""
# Which messages a key is for: those of that key; of all that fit it; all that there are.
ITSELF: Final = 0
PATTERN: Final = 1
ALL: Final = 2
TOLD_MAX: Final = 1000  # characters of a name or a key, wherever people are told of it


@final
class Asked:
    """One question.

    Attributes:
        name: the object's; a queue that is published to by the default exchange is a queue.
        key: the routing or binding key; `None` where the action has none.
        meant: which messages the key is for: a binding key is a pattern at a topic exchange, and
            of any other kind but a direct one all messages go to whatever is bound.
        queue: of bind, unbind and bound: the queue.
        durable, exclusive, temporary: of the object: `YES`, `NO`, or `UNKNOWN`. A temporary one
            goes with its client, or with its last consumer. An exchange is never exclusive.
        own: whoever asks made the object, or has it for itself; of bind and unbind: the queue.
        exists: create: the object is there already, and is only declared again.
        every_key: of an exchange, where the key is `None`: by whatever key; else by any one.
        looked: a rule has looked at what the object is like, which may be otherwise tomorrow.
        properties: qpidd's properties, with values as it writes them; `None`: it gives none, and
            does not compare those of rules.
    """

    __slots__ = (
        "action",
        "durable",
        "every_key",
        "exclusive",
        "exists",
        "key",
        "kind",
        "looked",
        "meant",
        "name",
        "own",
        "properties",
        "queue",
        "temporary",
    )

    def __init__(
        self,
        action: Action,
        kind: ObjectKind,
        name: str = "",
        *,
        key: str | None = None,
        meant: int = ITSELF,
        queue: str = "",
        durable: int = UNKNOWN,
        exclusive: int = UNKNOWN,
        temporary: int = UNKNOWN,
        own: int = UNKNOWN,
        exists: bool = False,
        every_key: bool = False,
        properties: dict[str, str] | None = None,
    ) -> None:
        self.action = action
        self.kind = kind
        self.name = name
        self.key = key
        self.meant = meant
        self.queue = queue
        self.durable = durable
        self.exclusive = NO if kind == ObjectKind.EXCHANGE and not queue else exclusive
        self.temporary = temporary
        self.own = own
        self.exists = exists
        self.every_key = every_key
        self.looked = False
        self.properties = properties

    def as_(self, action: Action) -> Asked:
        """The same object, asked for another action.

        Whether a queue is somebody's own, the question about an exchange does not say, nor the
        other way round.
        """
        bound = self.kind == ObjectKind.EXCHANGE and action in (Action.BIND, Action.UNBIND)
        known = bound == bool(self.queue)
        return Asked(
            action,
            self.kind,
            self.name,
            key=self.key,
            meant=self.meant,
            queue=self.queue,
            durable=self.durable,
            exclusive=self.exclusive,
            temporary=self.temporary,
            own=self.own if known else UNKNOWN,
            properties=self.properties,
        )

    def facts(self) -> int:
        """What is known of what the object is like, in one number: each is one of three."""
        return 27 * self.durable + 9 * self.exclusive + 3 * self.temporary + self.own

    def object_text(self) -> str:
        """What the action is to be done to; "" where that is nothing."""
        if self.kind == ObjectKind.NOTHING:
            return ""
        text = f"{self.kind.name.lower()} {self.name[:TOLD_MAX]!r}"
        if self.queue:
            text += f", queue {self.queue[:TOLD_MAX]!r}"
        return text if self.key is None else f"{text}, key {self.key[:TOLD_MAX]!r}"

    def __str__(self) -> str:
        """As the log and the client are told."""
        return f"{self.action.name.lower()} {self.object_text()}".rstrip()


def publishing(exchange: str, key: str) -> Asked:
    """To publish to an exchange by a key; by the default exchange: to the queue of that name."""
    if exchange == DEFAULT_EXCHANGE:
        return Asked(Action.PUBLISH, ObjectKind.QUEUE, key)
    return Asked(Action.PUBLISH, ObjectKind.EXCHANGE, exchange, key=key)


def binding(action: Action, exchange: str, queue: str, key: str) -> Asked:
    """To bind, or unbind, a queue; or to ask about a binding (`ACCESS`).

    The key is taken for a pattern, unless the exchange is looked up.
    """
    return Asked(
        action,
        ObjectKind.EXCHANGE,
        exchange,
        key=key,
        meant=PATTERN,
        queue=queue,
        properties={"queuename": queue, "routingkey": key},
    )


def flag(value: bool) -> str:
    """A property that is true or false, as qpidd writes it."""
    return "true" if value else "false"
