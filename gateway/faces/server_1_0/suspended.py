"""Links that may be attached again: what is known of one meanwhile, and how long (2.6.3, 3.5.6).

A client asks for it by the timeout of its terminus (3.5.3), which is granted up to a limit; it
counts from the detach, or from the end of the session, as the expiry-policy says (3.5.6). What is
kept is on the account of the client's user: of a source what is unsettled (`lasting_source`), of a
target what came by it (`lasting_target`). It is in memory only (3.5.5).
"""

from __future__ import annotations

from typing import Final, Protocol, final

from gateway.amqp_1_0 import _spec
from gateway.amqp_1_0._spec import Source, Target
from gateway.audit.schema import Reason
from gateway.faces.client import Client
from gateway.faces.leaving import NOT_YET, AbsentStatus, Key

SUSPENDED_OCTETS: Final = 4_096  # what it takes, apart from what it has left
SENDER: Final = "sender"
RECEIVER: Final = "receiver"


def key_of(client: Client, name: str, role: bool) -> Key:
    """Whose link it is, and which; `role`: ours."""
    clients = SENDER if role else RECEIVER
    return (client.host.name, client.identity, client.container, clients, name)


def granted_s(client: Client, terminus: Source | Target) -> int:
    """So long what is known of a terminus is kept; 0: it is not."""
    return min(terminus.timeout or 0, client.settings.limits.session_timeout_s)


def policy_of(terminus: Source | Target) -> str:
    """When that time begins: as the client wants, or with the end of the session."""
    detach = terminus.expiry_policy == _spec.EXPIRY_LINK_DETACH
    return _spec.EXPIRY_LINK_DETACH if detach else _spec.EXPIRY_SESSION_END


class Left(Protocol):
    """What a link leaves behind."""

    @property
    def octets(self) -> int:
        """What it takes."""

    @property
    def node(self) -> str:
        """The name of its queue or exchange."""

    def __len__(self) -> int:
        """How many deliveries."""

    def end(self, client: Client, reason: Reason) -> None:
        """The client has not come back for it."""


@final
class Suspended:
    """What is kept of a link that is not attached. Implements `Absent`, `Reviewed`.

    Attributes:
        left: by the link.
    """

    __slots__ = (
        "_client",
        "_deadline_ms",
        "_detaches",
        "_key",
        "_number",
        "_since_ms",
        "_timeout_s",
        "left",
    )

    def __init__(self, client: Client, key: Key, timeout_s: int, policy: str, left: Left) -> None:
        """`timeout_s`, `policy`: as they were granted."""
        self.left = left
        self._key = key
        self._timeout_s = timeout_s
        self._detaches = policy == _spec.EXPIRY_LINK_DETACH
        self._deadline_ms = NOT_YET
        self._since_ms = client.bridge.now_ms
        self._number = client.bridge.numbers.next_owner()
        self._client: Client = client.absent(self)

    @property
    def deadline_ms(self) -> int:
        """See `Absent`."""
        return self._deadline_ms

    @property
    def octets(self) -> int:
        """See `Absent`."""
        return self._client.account.held

    def status(self) -> AbsentStatus:
        """See `Absent`."""
        kind, name = self._key[3:]
        left = self.left
        return self._client.absence(AbsentStatus(kind, name, left.node, len(left), self._since_ms))

    def begin(self) -> None:
        """Keep it; where that is too much for its user it is over at once."""
        kept = self._client.settings.kept
        kept.absent[self._number] = self
        kept.links[self._key] = self
        kept.detached += 1
        if not self._client.account.take(SUSPENDED_OCTETS + self.left.octets):
            self.end(Reason.OVER_LIMIT)

    @property
    def over(self) -> bool:
        """It was resumed, or its time is over."""
        return self._number not in self._client.settings.kept.absent

    @property
    def counts_from_detach(self) -> bool:
        """Its time begins at once, and not with the end of its session."""
        return self._detaches

    def start(self, now_ms: int) -> None:
        """Its time begins."""
        self._deadline_ms = now_ms + 1000 * self._timeout_s

    def take(self) -> Left:
        """The link is attached again: what it left is its."""
        self._client.settings.kept.resumed += 1
        self._close()
        return self.left

    def leave(self) -> None:
        """See `Absent`."""

    def end(self, reason: Reason) -> None:
        """See `Absent`."""
        self.left.end(self._client, reason)
        self._close()

    def _close(self) -> None:
        client = self._client
        kept = client.settings.kept
        if kept.absent.pop(self._number, None) is None:
            return
        if kept.links.get(self._key) is self:
            del kept.links[self._key]
        client.account.close()
        client.settings.access.forget(client.access)
        client.leave()

    def on_rules_changed(self, now_ms: int) -> None:
        """See `Reviewed`."""
        if self._client.access.may_stay() is not None:
            self.end(Reason.RULES_CHANGED)
