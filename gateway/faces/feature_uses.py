"""Who uses what the gateway does not offer: counted for each connection, and kept in the audit log.

Metrics know how often something was used; whoever migrates must know by whom. A connection keeps
one count for each feature, and for each argument or refusal by its text, up to a limit; they are
written when it ends and at checkpoints, and begin anew then.
"""

from __future__ import annotations

from typing import Final, final

from gateway.bridge.bridge import Bridge
from gateway.faces.counts import FaceCounts
from gateway.faces.features import ARGUMENTS, Feature
from gateway.message import Condition, Refusal

TEXTS_MAX: Final = 64  # of one connection between two checkpoints
TEXT_MAX: Final = 160
OTHERS: Final = "others"
ARGUMENT: Final = "argument "


@final
class Use:
    """How often something was used since it was last written, and when."""

    __slots__ = ("count", "first_ms", "last_ms")

    def __init__(self, now_ms: int) -> None:
        self.count = 0
        self.first_ms = now_ms
        self.last_ms = now_ms


@final
class FeatureUses:
    """The uses of one connection.

    Attributes:
        identity, client: who it is, as far as is known: its user; its process, product and host.
    """

    __slots__ = (
        "_book",
        "_bridge",
        "_connection",
        "_counts",
        "_told",
        "_uses",
        "client",
        "identity",
    )

    def __init__(
        self, bridge: Bridge, book: UsesBook, counts: FaceCounts, connection: int, host: str
    ) -> None:
        self.identity = ""
        self.client = client_text("", "", "", host)
        self._bridge = bridge
        self._book = book
        self._counts = counts
        self._connection = connection
        self._uses: dict[str, Use] = {}
        self._told = False

    def count(self, feature: Feature) -> None:
        """It is used; what is asked for may have no effect."""
        self._counts.unsupported[feature] += 1
        self._note(feature.name.lower())

    def refuse(self, feature: Feature) -> None:
        """It is used, and refused next: `on_refused` does not count that again."""
        self.count(feature)
        self._told = True

    def on_refused(self, refusal: Refusal) -> None:
        """The client is told `refusal`: of what it asked for somebody does not offer something."""
        told = self._told
        self._told = False
        if refusal.condition == Condition.NOT_IMPLEMENTED and not told:
            self._counts.unsupported[Feature.REFUSED] += 1
            self._note(refusal.description)

    def ignore(self, keys: list[str]) -> None:
        """Arguments have no effect."""
        self._counts.arguments_ignored += len(keys)
        self.arguments(keys, known=False)

    def arguments(self, keys: list[str], *, known: bool = True) -> None:
        """Count those that stand for a feature; `known`: the others have their effect."""
        for key in keys:
            feature = ARGUMENTS.get(key)
            if feature is not None:
                self._counts.unsupported[feature] += 1
            if feature is not None or not known:
                self._note(ARGUMENT + key)

    def _note(self, text: str) -> None:
        now_ms = self._bridge.now_ms
        uses = self._uses
        text = text[:TEXT_MAX]
        use = uses.get(text)
        if use is None:
            if len(uses) >= TEXTS_MAX:
                text = OTHERS
                use = uses.get(text)
            if use is None:
                use = Use(now_ms)
                uses[text] = use
                self._book.add(self)
        use.count += 1
        use.last_ms = now_ms

    def write(self) -> None:
        """Write what is not written yet."""
        uses = self._uses
        if not uses:
            return
        self._uses = {}
        audit = self._bridge.audit
        peer = audit.name(self.identity)
        client = audit.name(self.client)
        for text, use in uses.items():
            feature = audit.name(text)
            audit.feature_used(
                self._bridge.now_ms,
                self._connection,
                feature=feature,
                peer=peer,
                client=client,
                uses=use.count,
                first_ms=use.first_ms,
                last_ms=use.last_ms,
            )
            audit.forget(feature)
        audit.forget(client)

    def end(self) -> None:
        """The connection has ended."""
        self.write()
        self._book.drop(self)


@final
class UsesBook:
    """The connections with uses that are not written yet."""

    __slots__ = ("_owing",)

    def __init__(self) -> None:
        self._owing: dict[FeatureUses, None] = {}

    def add(self, uses: FeatureUses) -> None:
        """It has some."""
        self._owing[uses] = None

    def drop(self, uses: FeatureUses) -> None:
        """It has ended."""
        self._owing.pop(uses, None)

    def write(self) -> None:
        """Write all of them, with the turn under way."""
        owing = self._owing
        self._owing = {}
        for uses in owing:
            uses.write()


def client_text(process: str, product: str, version: str, host: str) -> str:
    """How a client is told from others: "PROCESS (PRODUCT VERSION) from HOST"."""
    what = f"{product} {version}".strip()[:TEXT_MAX]
    parts = [
        process[:TEXT_MAX],
        f"({what})" if what and process else what,
        f"from {host}" if host else "",
    ]
    return " ".join([part for part in parts if part])
