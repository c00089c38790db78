"""On whose behalf answers are published that come back by an upstream, and whether they may be.

A request that goes to an upstream may name a node of the gateway in its reply-to. Clients of the
upstream reach that by a reply node, and what they send there the gateway publishes: for the user
who asked, who must be one who might publish it. That is asked when the request is sent, since other
rules may be in force by then, and of each answer.

A message says by which connection it came. Once that is gone only its user-id tells whose it is,
which was compared when it came (`Client.may_claim`); of one that says none nobody knows it.
"""

from __future__ import annotations

from typing import Final, final

from gateway.bridge.bridge import Bridge
from gateway.bridge.host import VirtualHost
from gateway.errors import DecodeError
from gateway.faces.access.client_access import ClientAccess
from gateway.faces.access.who import NOBODY
from gateway.faces.face import FaceSettings, Logins
from gateway.faces.leaving import GONE
from gateway.message import Encoding, Message, Refusal
from gateway.permissions.actions import Action, ObjectKind
from gateway.permissions.asked import YES, Asked, publishing
from gateway.permissions.rules import Decision
from gateway.translate.facts import arrival_0_10

NOBODY_NOW: Final = Decision(False, 0, "nobody knows whose it is by now")


@final
class Asker:
    """Who has sent a request.

    Attributes:
        access: what it may; it stays when the client has gone.
    """

    __slots__ = ("_known", "_logins", "access")

    def __init__(self, access: ClientAccess, logins: Logins | None, *, known: bool) -> None:
        self.access = access
        self._logins = logins
        self._known = known

    def stay(self, host: VirtualHost) -> Asker:
        """The same, for when the client has gone."""
        access = self.access
        stand_in = access.stand_in(host, access.who.user, access.who.login)
        return Asker(stand_in, self._logins, known=self._known)

    def whose(self) -> tuple[str, int]:
        """The same for whoever has the same rights: a user, or a connection without a login."""
        access = self.access
        login = access.who.login
        nobody = login == "" and access.permits.rules is not None
        return login, access.who.connection if nobody else 0

    def may_be_answered(self, exchange: str, key: str) -> bool:
        """Whether answers may be published there, by the rules that are in force now.

        Who may publish there itself may have it done. What comes into a temporary queue of its own,
        which it may consume from, is for nobody else.
        """
        access = self.access
        login, logins = access.who.login, self._logins
        if login and logins is not None and not logins.has(login):
            return False
        access.keep_up()
        permits = access.permits
        if permits.open:
            return True
        if not self._known:
            return False
        if permits.may_publish(exchange, key).allowed:
            return True
        if exchange:
            return False
        asked = Asked(Action.CONSUME, ObjectKind.QUEUE, key)
        return permits.may(asked).allowed and asked.own == YES and asked.temporary == YES

    def deny(self, exchange: str, key: str, message: int) -> Refusal:
        """They may not; `message`: an answer, or the request."""
        decision = self.access.permits.may_publish(exchange, key)
        if decision.allowed:  # to others: nobody knows who this one is, or it is no user any more
            decision = NOBODY_NOW
        return self.access.denials.deny_answer(publishing(exchange, key), decision, message)


@final
class Askers:
    """Those of the messages in one virtual host."""

    __slots__ = ("_absent", "_bridge", "_host", "_settings")

    def __init__(self, settings: FaceSettings, bridge: Bridge, host: VirtualHost) -> None:
        self._settings = settings
        self._bridge = bridge
        self._host = host
        self._absent: Asker | None = None  # the last one who had gone

    def of(self, message: Message) -> Asker:
        """Who has sent it."""
        settings = self._settings
        book = settings.access
        client = book.client(message.publisher)
        if client is not None:
            return Asker(client, settings.logins, known=True)
        login = "" if book.in_force.rules is None else self._user_of(message)
        absent = self._absent
        if absent is None or absent.access.who.login != login:
            if absent is not None:
                absent.access.leave()
            gone = ClientAccess(book.in_force, settings.counts, self._bridge, 0, "", GONE)
            stand_in = gone.stand_in(self._host, login or NOBODY, login)
            absent = Asker(stand_in, settings.logins, known=login != "")
            self._absent = absent
        return absent

    def _user_of(self, message: Message) -> str:
        """Whose user-id it has; "": it has none, or nobody needed to prove it."""
        logins = self._settings.logins
        if logins is None or message.encoding != Encoding.AMQP_0_10:
            return ""
        try:
            claimed = arrival_0_10(message.payload, message.body_at).user_id or b""
        except DecodeError:
            return ""
        name = claimed.decode("utf-8", "replace")
        if not name or logins.has(name):
            return name
        user, _at, realm = name.partition("@")
        return user if realm == self._settings.access.in_force.realm and logins.has(user) else ""
