"""Rules of the gateway's own file: the first that fits decides; where none does, the answer is no.

To ask about a node (`ACCESS`) may who may do anything with it: whoever sends to a queue also asks
whether it is there. What such a question does not say - of which kind the node is, by which key
somebody is going to publish - does not keep a rule that allows from fitting, and one that denies
does not fit then. What is not there is like nothing yet: it could only be made, or be bound to.

A rule with a key decides about a binding by the keys of the messages that it brings: one that
allows has to be for all of them, and one that denies for any (`binding_keys`).
"""

from __future__ import annotations

from typing import Final, final

from mypy_extensions import i64 as int64

from gateway.permissions.actions import Action, ObjectKind
from gateway.permissions.asked import ALL, ITSELF, UNKNOWN, YES, Asked
from gateway.permissions.binding_keys import EVERY_KEY, covers, is_pattern, meets
from gateway.permissions.hosts import Hosts, Numbered, among
from gateway.permissions.patterns import fits_key, fits_name
from gateway.permissions.rules import TOO_LONG, TOO_MUCH, Decision
from gateway.wire.work import MATCH, RULE, VERB, WORK, too_many_words

USER: Final = "${user}"
ALL_KEYS: Final = ["#"]
WILDCARDS: Final = ("*", "#")
# What whoever may do one of them with a node may also ask about it.
USES: Final = (
    Action.PUBLISH,
    Action.CONSUME,
    Action.BROWSE,
    Action.CREATE,
    Action.DELETE,
    Action.BIND,
    Action.UNBIND,
    Action.PURGE,
)


@final
class OwnRule:
    """One rule. What is `None` is not looked at.

    Attributes:
        decision: its answer, with its line.
        actions: what it is for, a bit each; users: for whom, groups taken apart.
        hosts: patterns of virtual hosts, each as what stands between its `*`.
        addresses: where connections come from.
        queue, exchange: patterns of names, the same; key: the words of one for keys.
        durable, exclusive, temporary: what the object is to be; own: whose.
        login: whether whoever asks has logged in; those who have not are no users.
        work: what it costs to look at it, in units, beside its patterns of names and keys.
    """

    __slots__ = (
        "actions",
        "addresses",
        "decision",
        "durable",
        "exchange",
        "exclusive",
        "hosts",
        "key",
        "login",
        "own",
        "queue",
        "temporary",
        "users",
        "work",
    )

    def __init__(
        self,
        decision: Decision,
        actions: int,
        *,
        users: frozenset[str] | None = None,
        hosts: list[list[str]] | None = None,
        addresses: list[Hosts] | None = None,
        queue: list[str] | None = None,
        exchange: list[str] | None = None,
        key: list[str] | None = None,
        durable: int = UNKNOWN,
        exclusive: int = UNKNOWN,
        temporary: int = UNKNOWN,
        own: int = UNKNOWN,
        login: int = UNKNOWN,
    ) -> None:
        self.decision = decision
        self.actions = actions
        self.users = users
        self.hosts = hosts
        self.addresses = addresses
        self.queue = queue
        self.exchange = exchange
        self.key = key
        self.durable = durable
        self.exclusive = exclusive
        self.temporary = temporary
        self.own = own
        self.login = login
        self.work = RULE + MATCH * (len(hosts or []) + len(addresses or []))

    def fits(self, user: str, host: str, address: Numbered, asked: Asked, *, about: bool) -> bool:
        """Whether it decides this; `about`: the question is only about the node."""
        return (
            self.is_for(asked.action, user, host, address)
            and self._fits_object(user, asked)
            and self._fits_properties(asked, about)
        )

    def is_for(self, action: Action, user: str, host: str, address: Numbered) -> bool:
        """Whether it is about that action of whoever asks, whatever that is to be done to."""
        if not self.actions & (1 << action):
            return False
        if self.users is not None and user not in self.users:
            return False
        if self.login != UNKNOWN and (self.login == YES) != (user != ""):
            return False
        hosts = self.hosts
        if hosts is not None and not any([fits_name(parts, host) for parts in hosts]):
            return False
        addresses = self.addresses
        return addresses is None or among(addresses, address.version, address.number)

    def is_for_all(self) -> bool:
        """Whether what is done is done to does not matter to it."""
        named = self.queue is not None or self.exchange is not None or self.key is not None
        wanted = (self.durable, self.exclusive, self.temporary, self.own)
        return not named and all([each == UNKNOWN for each in wanted])

    def _fits_object(self, user: str, asked: Asked) -> bool:
        if self.queue is not None:
            name = asked.name if asked.kind == ObjectKind.QUEUE else asked.queue
            if asked.kind == ObjectKind.EXCHANGE and not asked.queue:
                return False
            if not _fits_name(self.queue, user, name):
                return False
        if self.exchange is not None:
            if asked.kind != ObjectKind.EXCHANGE:
                return False
            if not _fits_name(self.exchange, user, asked.name):
                return False
        return self.key is None or self._fits_key(self.key, user, asked)

    def _fits_key(self, words: list[str], user: str, asked: Asked) -> bool:
        if asked.key is None:
            if asked.kind != ObjectKind.EXCHANGE:
                return False
            if asked.every_key:
                return words == ALL_KEYS or not self.decision.allowed
            return self.decision.allowed
        filled: list[str] = []
        for word in words:
            if USER in word:
                # Its name must not allow as a pattern, and without a login it has none.
                if not user or (
                    self.decision.allowed and any([each in user for each in WILDCARDS])
                ):
                    return False
                filled.extend(word.replace(USER, user).split("."))
            else:
                filled.append(word)
        key = EVERY_KEY if asked.meant == ALL else asked.key
        if asked.meant == ITSELF or not is_pattern(key):
            return fits_key(filled, key)
        return covers(filled, key) if self.decision.allowed else meets(filled, key)

    def _fits_properties(self, asked: Asked, about: bool) -> bool:
        return (
            self._has(self.durable, asked.durable, asked, about)
            and self._has(self.exclusive, asked.exclusive, asked, about)
            and self._has(self.temporary, asked.temporary, asked, about)
            and self._has(self.own, asked.own, asked, about)
        )

    def _has(self, wanted: int, given: int, asked: Asked, about: bool) -> bool:
        if wanted == UNKNOWN:
            return True
        asked.looked = True
        if given != UNKNOWN or not about:
            return wanted == given
        to_bind = asked.action in (Action.BIND, Action.UNBIND) and not asked.queue
        could_be = asked.action == Action.CREATE or (to_bind and asked.kind == ObjectKind.EXCHANGE)
        return could_be and self.decision.allowed


@final
class OwnRules:
    """All of one file, in their order. Implements `AccessRules`."""

    __slots__ = ("_address", "_no", "_rules")

    def __init__(self, rules: list[OwnRule]) -> None:
        self._address = Numbered()
        self._rules = rules
        self._no = Decision(False, 0, "no rule fits")

    def may(self, user: str, host: str, address: str, asked: Asked) -> Decision:
        """Whether a user may do that."""
        if asked.key is not None and too_many_words(asked.key):
            return TOO_LONG
        self._address.read(address)
        end = WORK.units + VERB
        if asked.action == Action.ACCESS or (asked.action == Action.CREATE and asked.exists):
            return self._may_use(user, host, asked, end)
        return self._first(user, host, asked, end)

    def _may_use(self, user: str, host: str, asked: Asked, end: int64) -> Decision:
        """Whether it may do anything with the node."""
        answer = self._no
        for action in USES:
            decision = self._first(user, host, asked.as_(action), end, about=True)
            if decision.allowed or decision is TOO_MUCH:
                return decision
            if answer.line == 0:
                answer = decision
        return answer

    def _first(
        self, user: str, host: str, asked: Asked, end: int64, *, about: bool = False
    ) -> Decision:
        address = self._address
        for rule in self._rules:
            WORK.units += rule.work
            if WORK.units > end:
                WORK.refused += 1
                return TOO_MUCH
            if rule.fits(user, host, address, asked, about=about):
                return rule.decision
        return self._no

    def may_publish_any(self, user: str, host: str, address: str) -> Decision:
        """The first decides that lets it publish something, or forbids it to publish anything."""
        self._address.read(address)
        end = WORK.units + VERB
        for rule in self._rules:
            WORK.units += rule.work
            if WORK.units > end:
                WORK.refused += 1
                return TOO_MUCH
            decides = rule.decision.allowed or rule.is_for_all()
            if decides and rule.is_for(Action.PUBLISH, user, host, self._address):
                return rule.decision
        return self._no

    def asks_access(self) -> bool:
        """No: who may use a node may attach to it."""
        return False

    def hides(self) -> bool:
        """Yes: who may do nothing with a node does not hear whether it is there."""
        return True

    def publish_unchecked(self) -> bool:
        """Nobody needs to be asked: never so."""
        return False

    def connections_max(self, user: str) -> int:
        """Any number."""
        return -1

    def queues_max(self, user: str) -> int:
        """Any number."""
        return -1


def _fits_name(parts: list[str], user: str, name: str) -> bool:
    """Whether a name is that of a pattern, where the user's name is no pattern itself."""
    if not any([USER in part for part in parts]):
        return fits_name(parts, name)
    return bool(user) and fits_name([part.replace(USER, user) for part in parts], name)
