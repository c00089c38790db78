"""What every kind of access rules answers."""

from __future__ import annotations

from typing import Final, Protocol, final

from gateway.permissions.asked import Asked
from gateway.wire.work import WORDS_MAX


@final
class Decision:
    """An answer, and what decided.

    Attributes:
        allowed: yes, or no.
        line: the line of the rules' file that decided; 0: none did.
        rule: what stands there, or in words why there is none.
        logged: whoever asks is to be told of in the log, whatever the answer is.
        named: the rule says for which names it is.
    """

    __slots__ = ("allowed", "line", "logged", "named", "rule")

    def __init__(
        self, allowed: bool, line: int, rule: str, *, logged: bool = False, named: bool = False
    ) -> None:
        self.allowed = allowed
        self.line = line
        self.rule = rule
        self.logged = logged
        self.named = named

    def __str__(self) -> str:
        """As `check --may` and the log have it."""
        where = f"line {self.line}: {self.rule}" if self.line else self.rule
        return f"{'allowed' if self.allowed else 'denied'} by {where}"


UNRESTRICTED: Final = Decision(True, 0, "no rules: everybody may do everything")
# What is not decided, and so is not done; `work` says what is too much.
TOO_LONG: Final = Decision(False, 0, f"the routing key has more than {WORDS_MAX} words")
TOO_MUCH: Final = Decision(False, 0, "to ask the access rules about it is too much work")


class AccessRules(Protocol):
    """The rules that are in force."""

    def may(self, user: str, host: str, address: str, asked: Asked) -> Decision:
        """Whether a user may do that in a virtual host, coming from an address.

        `user`: "" for a client without a login.
        """

    def may_publish_any(self, user: str, host: str, address: str) -> Decision:
        """Whether there may be anything that a user may publish: a no is one to every message."""

    def asks_access(self) -> bool:
        """Whether to attach a link is a question of its own: for access to its node."""

    def hides(self) -> bool:
        """Whether nobody gets round them, which no qpidd minds.

        By an answer that says what is there, by an alternate exchange.
        """

    def publish_unchecked(self) -> bool:
        """Nobody needs to be asked for what is published."""

    def connections_max(self, user: str) -> int:
        """How many connections a user may have at a time; -1: any number."""

    def queues_max(self, user: str) -> int:
        """How many queues that a user has made there may be at a time; -1: any number."""
