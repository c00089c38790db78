"""Access rules in force, and what they mean for one client: what it may, counted and told.

One `AccessBook`, shared by all server faces; each client has its `ClientAccess`. Other rules count
from the moment that they are adopted: what clients have that they may have no longer, ends then.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final, Protocol, final

from gateway.audit.schema import Reason
from gateway.bridge.bridge import Bridge
from gateway.bridge.exchanges.exchange import Exchange
from gateway.bridge.host import VirtualHost
from gateway.bridge.queues.queue import Queue
from gateway.bridge.remote.remote import REJECTED_QUEUE
from gateway.faces import asking
from gateway.faces.counts import FaceCounts
from gateway.faces.leaving import GONE
from gateway.message import Condition, Message, Refusal
from gateway.permissions.actions import Action, ObjectKind
from gateway.permissions.asked import ITSELF, NO, UNKNOWN, YES, Asked, publishing
from gateway.permissions.own_rules import OwnRules
from gateway.permissions.permits import Permits
from gateway.permissions.quotas import Quotas
from gateway.permissions.rules import TOO_LONG, TOO_MUCH, AccessRules, Decision
from gateway.wire.work import COMMAND, WORK

CONNECT: Final = Asked(Action.CONNECT, ObjectKind.NOTHING)
REALM: Final = "QPID"  # what a qpidd gives everybody, unless it is told otherwise
NOTHING: Final = Permits(OwnRules([]), "", "", "")  # no rule fits
NOBODY_NOW: Final = Decision(False, 0, "nobody knows whose it is by now")
ANOTHERS: Final = "being a durable subscription of another user"
NOBODY: Final = "anonymous"  # what clients without a login are called, and users where none come


class Reviewed(Protocol):
    """A client's connection, as far as other rules concern it."""

    def on_rules_changed(self, now_ms: int) -> None:
        """End what the client has and may not have any longer."""


class Spreading(Protocol):
    """Who does over several turns what is too much for one: `bridge.spread.spread.Spread`."""

    def begin(self, work: Review) -> bool:
        """Do it, or what this turn has room for."""


class DecisionTeller(Protocol):
    """Who writes the operators' log."""

    def tell_decision(
        self, user: str, connection: int, address: str, what: str, decision: str
    ) -> None:
        """A user was refused something, or has done what is to be told of."""


@final
class AccessBook:
    """What all clients share.

    Attributes:
        rules: those in force; `None`: everybody may everything.
        file: where they stand.
        realm: of users whose names have none.
        quotas: how much of what each user has.
        teller: `None`: nobody is told.
    """

    __slots__ = ("_clients", "file", "quotas", "realm", "rules", "teller")

    def __init__(self) -> None:
        self.rules: AccessRules | None = None
        self.file = ""
        self.realm = REALM
        self.quotas = Quotas()
        self.teller: DecisionTeller | None = None
        self._clients: dict[int, ClientAccess] = {}

    def adopt(self, rules: AccessRules | None, file: str, spread: Spreading) -> None:
        """From now on these rules count, also for who is connected.

        What clients have and may have no longer ends at once, or, of very many, soon.
        """
        self.rules = rules
        self.file = file
        for client in self._clients.values():
            client.renew()
        spread.begin(Review(self, list(self._clients.values())))

    def queues_max(self, user: str) -> int:
        """How many queues a user may have made; below 0 there is no limit."""
        return -1 if self.rules is None else self.rules.queues_max(user)

    def count_queue(self, host: str, queue: Queue) -> None:
        """A queue is there: its maker's, who may have only so many."""
        maker = queue.settings.maker
        if maker and self.queues_max(maker) >= 0:
            self.quotas.made(maker, host, queue.name, queue.number)

    def count_queues(self, hosts: Iterable[VirtualHost]) -> None:
        """The queues that there are by now; those that were made under other rules, too."""
        for host in hosts:
            for queue in host.topology.queues.values():
                self.count_queue(host.name, queue)

    def add(self, client: ClientAccess) -> None:
        """A client has opened its virtual host."""
        self._clients[client.connection] = client

    def drop(self, client: ClientAccess) -> bool:
        """It has gone; whether it was there."""
        if self.client(client.connection) is not client:
            return False
        del self._clients[client.connection]
        return True

    def vacate(self, connection: int) -> None:
        """Its transport is gone, though it is not over: its user may have another one."""
        client = self.client(connection)
        if client is not None:
            client.vacate()

    def client(self, connection: int) -> ClientAccess | None:
        """The client that has that connection, if it is there and has a virtual host."""
        return self._clients.get(connection)


@final
class Review:
    """Whether clients may have what they have, by other rules. Implements `Piecework`."""

    __slots__ = ("_book", "_clients")

    def __init__(self, book: AccessBook, clients: list[ClientAccess]) -> None:
        self._book = book
        self._clients = clients

    def who(self) -> str:
        """See `Piecework`."""
        return "connections, by other access rules"

    def go_on(self, end: int) -> bool:
        """See `Piecework`."""
        while self._clients:
            if WORK.units > end:
                return False
            client = self._clients.pop()
            WORK.units += COMMAND
            if self._book.client(client.connection) is client:  # it may have gone meanwhile
                client.on_rules_changed()
        return True


@final
class Denied:
    """Why a message is not published, until it is in the books and has a number."""

    __slots__ = ("action", "object", "reason", "rule")

    def __init__(self, object: str, rule: str, reason: Reason) -> None:
        self.action = Action.PUBLISH.name.lower()
        self.object = object
        self.rule = rule
        self.reason = reason


@final
class ClientAccess:
    """What one client may. Implements `LivingQueues`, `Nodes`.

    Attributes:
        permits: decisions about it. Before it has opened a virtual host, it may all.
        connection: its number; 0: nobody's.
        user: what it is called, login or not; login: see `open`.
    """

    __slots__ = (
        "_address",
        "_book",
        "_bridge",
        "_counted",
        "_counts",
        "_denied",
        "_face",
        "_host",
        "_making",
        "_reason",
        "connection",
        "login",
        "permits",
        "user",
    )

    def __init__(
        self,
        book: AccessBook,
        counts: FaceCounts,
        bridge: Bridge,
        connection: int,
        address: str,
        face: Reviewed,
    ) -> None:
        self._book = book
        self._counts = counts
        self._bridge = bridge
        self.connection = connection
        self._address = address
        self._face: Reviewed = face
        self.user = ""
        self.login = ""
        self._host: VirtualHost = bridge.default_host
        self._making: Asked | None = None
        self._reason = Reason.NOT_ALLOWED
        self._denied: Denied | None = None
        self._counted = False  # among those of its user
        self.permits = Permits(None, "", "", "")

    # The connection.

    def open(self, user: str, login: str, host: VirtualHost) -> Refusal | None:
        """A user wants to open a virtual host; why it may not.

        `login`: who it has proved to be; "" for a client without a login, whatever it is called.
        """
        book = self._book
        self.user = user
        self.login = login
        self._host = host
        self.renew()
        refusal = self.refusal(CONNECT)
        if refusal is None:
            refusal = self._over_quota(book.quotas.connections(user) + 1)
        if refusal is None:
            book.quotas.connected(user)
            self._counted = True
            book.add(self)
        return refusal

    def renew(self) -> None:
        """Decide by the rules that are in force now."""
        rules = self._book.rules
        self.permits = Permits(rules, self.login, self._host.name, self._address, self)

    def _over_quota(self, connections: int) -> Refusal | None:
        rules = self._book.rules
        limit = -1 if rules is None else rules.connections_max(self.user)
        if limit < 0 or connections <= limit:
            return None
        return self._over(CONNECT, f"{self.user!r} may have {limit} connections at a time")

    def _over(self, asked: Asked, text: str) -> Refusal:
        self._count(asked, f"denied by a quota: {text}")
        self._record(asked, Decision(False, 0, "a quota"), Reason.OVER_LIMIT)
        return Refusal(Condition.UNAUTHORIZED_ACCESS, text)

    def stand_in(self, host: VirtualHost, user: str, login: str) -> ClientAccess:
        """Who decides as it would, also when it has gone; where it has, of whom is to be said."""
        other = ClientAccess(
            self._book, self._counts, self._bridge, self.connection, self._address, GONE
        )
        other.user = user
        other.login = login
        other._host = host
        other.renew()
        return other

    def close(self) -> None:
        """The connection is over."""
        if self._book.drop(self):
            self.vacate()

    def vacate(self) -> None:
        """It is none of those that its user has."""
        if self._counted:
            self._counted = False
            self._book.quotas.disconnected(self.user)

    def leave(self) -> None:
        """The connection is gone, and may nothing any more."""
        self._face = GONE
        self.permits = NOTHING

    def on_rules_changed(self) -> None:
        """Other rules are in force."""
        self._reason = Reason.RULES_CHANGED
        self._face.on_rules_changed(self._bridge.now_ms)
        self._reason = Reason.NOT_ALLOWED

    def may_stay(self) -> Refusal | None:
        """Whether the connection may go on, by other rules; quotas are for those that come."""
        return self.refusal(CONNECT)

    # What it asks to do.

    def refusal(self, asked: Asked) -> Refusal | None:
        """Why it may not do that; `None`: it may."""
        decision = self.permits.may(asked)
        if decision.allowed:
            if self._is_anothers(asked):
                return self._refused_by(asked, ANOTHERS)
            if decision.logged:
                self._tell(str(asked), str(decision))
            return None
        undecided = _undecided(decision)
        if undecided is not None:
            return undecided
        self._record(asked, decision, self._reason)
        return self._refused(asked, decision)

    def publish_refusal(self, exchange: str, key: str, address: str = "") -> Refusal | None:
        """The same for a message, unless the exchange is not there and others are to say that.

        Whoever asks has the message in the books as refused, then `record_denied`. `address`: the
        message names the node so, and must not hear what it is.
        """
        decision = self.permits.may_publish(exchange, key)
        if decision.allowed:
            if decision.logged:
                self._tell(str(publishing(exchange, key)), str(decision))
            return None
        undecided = _undecided(decision)
        if undecided is not None:
            return undecided
        if not self.permits.hides and self._host.topology.find_exchange(exchange) is None:
            return None
        asked = publishing(exchange, key)
        queue = "" if exchange else key
        if address and self.permits.hides and not self.sees(address, queue, exchange):
            asked = Asked(Action.PUBLISH, ObjectKind.QUEUE, address)
        return self._denied_message(asked, decision)

    def lost_refusal(self, address: str) -> Refusal | None:
        """The same for a message that names no node; `None`: others say that there is none."""
        if not self.permits.hides or self.sees(address):
            return None
        asked = Asked(Action.PUBLISH, ObjectKind.QUEUE, address)
        decision = self.permits.may(asked)
        return _undecided(decision) or self._denied_message(asked, decision)

    def closed_refusal(self, queue: Queue, message: int = 0) -> Refusal:
        """Why it may not publish to a durable subscription by its name, whatever the rules say.

        To another user's that is refused as access is. `message`: its number in the books.
        """
        if self._owns_queue(queue):
            text = f"queue {queue.name!r} is a subscription, to which nobody sends"
            return Refusal(Condition.NOT_ALLOWED, text)
        return self._refused_by(publishing("", queue.name), ANOTHERS, message)

    def _is_anothers(self, asked: Asked) -> bool:
        """Whether it is about a durable subscription of another user: that is by no rule."""
        name = asked.name if asked.kind == ObjectKind.QUEUE else asked.queue
        queue = self._host.topology.queues.get(name) if name else None
        if queue is None or queue.settings.subscriber is None:
            return False
        return not self._owns_queue(queue)

    def _refused_by(self, asked: Asked, why: str, message: int = 0) -> Refusal:
        """Refused whatever the rules say: told, counted and recorded."""
        self._write(asked.action.name.lower(), asked.object_text(), why, self._reason, message)
        return self._refused(asked, Decision(False, 0, why))

    def bridge_refusal(self, refusal: Refusal, message: Message) -> Refusal:
        """Why a message was not published, by the bridge, which does not know who is who."""
        if refusal.condition != Condition.UNAUTHORIZED_ACCESS:
            return refusal
        queue = self._host.topology.queues.get(message.routing_key)
        return refusal if queue is None else self.closed_refusal(queue, message.id)

    def deny_claim(self, user_id: str) -> None:
        """A message carries another's user-id: told, and recorded with the message."""
        text = f"user-id {user_id!r}"
        self._denied = Denied(text, "", Reason.WRONG_USER)
        self._tell(f"publish as {text}", "denied: it is not the connection's user")

    def unasked(self) -> bool:
        """Whether nobody is asked for what is published."""
        rules = self._book.rules
        return rules is None or rules.publish_unchecked()

    def may_be_answered(self, exchange: str, key: str) -> bool:
        """Whether answers to its messages may be published there, on its behalf.

        Who may publish there itself may have it done. What comes into a temporary queue of its own,
        which it may consume from, is for nobody else.
        """
        if self.permits.rules is not self._book.rules:
            self.renew()
        permits = self.permits
        if permits.open or permits.may_publish(exchange, key).allowed:
            return True
        if exchange:
            return False
        asked = Asked(Action.CONSUME, ObjectKind.QUEUE, key)
        return permits.may(asked).allowed and asked.own == YES and asked.temporary == YES

    def deny_answers(self, exchange: str, key: str, message: int) -> Refusal:
        """They may not: told, counted and recorded, with the message that would be one, or asks."""
        asked = publishing(exchange, key)
        decision = self.permits.may_publish(exchange, key)
        if decision.allowed:  # to others: nobody knows who this one is, or it is no user any more
            decision = NOBODY_NOW
        self._count(asked, f"as an answer: {decision}")
        action = Action.PUBLISH.name.lower()
        rule = self._rule(decision)
        self._write(action, asked.object_text(), rule, Reason.NOT_ALLOWED, message)
        who = repr(self.login) if self.login else "a client without a login"
        return Refusal(Condition.UNAUTHORIZED_ACCESS, f"{who} may not {asked}")

    def record_denied(self, message: int) -> None:
        """What was denied last was a message, which has this number in the books."""
        denied = self._denied
        if denied is not None:
            self._denied = None
            self._write(denied.action, denied.object, denied.rule, denied.reason, message)

    def _denied_message(self, asked: Asked, decision: Decision) -> Refusal:
        self._denied = Denied(asked.object_text(), self._rule(decision), Reason.NOT_ALLOWED)
        return self._refused(asked, decision)

    def sees(self, address: str, queue: str = "", exchange: str = "") -> bool:
        """Whether it may hear of the queue or exchange of an address; of neither: that none is."""
        if queue:
            return self.may(Asked(Action.ACCESS, ObjectKind.QUEUE, queue))
        if exchange:
            return self.may(Asked(Action.ACCESS, ObjectKind.EXCHANGE, exchange))
        return (
            self.may(Asked(Action.ACCESS, ObjectKind.QUEUE, address))
            or self.may(Asked(Action.ACCESS, ObjectKind.EXCHANGE, address))
            or self.may(Asked(Action.ACCESS, ObjectKind.EXCHANGE, address.partition("/")[0]))
        )

    def may(self, asked: Asked) -> bool:
        """Whether it may do that, for whoever has other questions, too: nobody is told."""
        return self.permits.may(asked).allowed and not self._is_anothers(asked)

    def alternate_refusal(self, exchange: str) -> Refusal | None:
        """Why it may not have its nodes send on to an exchange: it must not publish there.

        What they send on has any key. A qpidd does not ask.
        """
        if not exchange or not self.permits.hides:
            return None
        return self.refusal(Asked(Action.PUBLISH, ObjectKind.EXCHANGE, exchange, every_key=True))

    def _refused(self, asked: Asked, decision: Decision) -> Refusal:
        self._count(asked, str(decision))
        who = repr(self.login) if self.login else "a client without a login"
        return Refusal(Condition.UNAUTHORIZED_ACCESS, f"{who} may not {asked}")

    def _count(self, asked: Asked, why: str) -> None:
        self._counts.access_refused[asked.action] += 1
        self._tell(str(asked), why)

    def _record(self, asked: Asked, decision: Decision, reason: Reason) -> None:
        what = asked.object_text() or f"virtual host {self._host.name!r}"
        self._write(asked.action.name.lower(), what, self._rule(decision), reason, 0)

    def _rule(self, decision: Decision) -> str:
        return f"{self._book.file}:{decision.line}" if decision.line else decision.rule

    def _write(self, action: str, object: str, rule: str, reason: Reason, message: int) -> None:
        audit = self._bridge.audit
        audit.access_refused(
            self._bridge.now_ms,
            actor=audit.passing(self.user) if self.user else 0,
            action=audit.passing(action),
            object=audit.passing(object),
            reason=reason,
            rule=audit.passing(rule) if rule else 0,
            connection=self.connection,
            address=audit.passing(self._address) if self._address else 0,
            message=message,
        )

    def _tell(self, what: str, decision: str) -> None:
        teller = self._book.teller
        if teller is not None:
            teller.tell_decision(self.login, self.connection, self._address, what, decision)

    # Nodes: whose they are, and those that it makes.

    def look_up(self, asked: Asked) -> None:
        """See `Nodes`. What is to be made will be its own."""
        topology = self._host.topology
        if asked.meant != ITSELF:
            asking.look_up_binding(asked, topology.exchanges.get(asked.name))
        known = asked.durable != UNKNOWN and asked.action != Action.ACCESS and not asked.exists
        if asked.kind == ObjectKind.QUEUE or asked.queue:
            queue = topology.queues.get(asked.queue or asked.name)
            if queue is not None:
                asked.own = YES if self._owns_queue(queue) else NO
                if not known and asked.kind == ObjectKind.QUEUE:
                    asking.look_up_queue(asked, queue)
                return
        elif asked.kind == ObjectKind.EXCHANGE:
            exchange = topology.exchanges.get(asked.name)
            if exchange is not None:
                asked.own = YES if self._owns_exchange(exchange) else NO
                if not known:
                    asking.look_up_exchange(asked, exchange)
                return
        if asked.action == Action.CREATE:
            rejected = asked.name == REJECTED_QUEUE and asked.kind == ObjectKind.QUEUE
            asked.own = NO if rejected else YES  # the gateway's, whoever is first
        elif asked.action == Action.ACCESS:
            asked.durable = asked.exclusive = asked.temporary = UNKNOWN

    def _owns_queue(self, queue: Queue) -> bool:
        settings = queue.settings
        if queue.name == REJECTED_QUEUE:
            return False
        if settings.subscriber is not None:
            return settings.subscriber.user == self.login
        owner = queue.owner
        if owner is not None and self.connection and owner.connection_id() == self.connection:
            return True
        return self._made(settings.maker, settings.made_by)

    def _owns_exchange(self, exchange: Exchange) -> bool:
        return self._made(exchange.maker, exchange.made_by)

    def _made(self, maker: str, connection: int) -> bool:
        """Clients without a login have what they made by the same connection, and no more."""
        if connection and connection == self.connection:
            return True
        return maker != "" and maker == self.login and maker != NOBODY

    def create_refusal(self, asked: Asked) -> Refusal | None:
        """Why it may not declare a node; `None`: it may, and `created` follows if it does."""
        refusal = self.refusal(asked)
        if refusal is not None or asked.exists:
            return refusal
        topology = self._host.topology
        if asked.kind == ObjectKind.EXCHANGE:
            self._making = None if asked.name in topology.exchanges else asked
            return None
        if asked.name in topology.queues:
            self._making = None
            return None
        limit = self._book.queues_max(self.user)
        if limit >= 0 and not self._book.quotas.has_room(self.user, limit, self):
            return self._over(asked, f"{self.user!r} may have made {limit} queues at a time")
        self._making = asked
        return None

    def created(self) -> None:
        """What it was allowed to declare last has been declared, or was not."""
        asked = self._making
        if asked is None:
            return
        self._making = None
        if asked.kind == ObjectKind.EXCHANGE:
            self._created_exchange(asked.name)
        else:
            self._created_queue(asked.name)

    def created_again(self, name: str) -> None:
        """A queue of its own was deleted and, for something else, made under the same name."""
        self._created_queue(name)

    def _created_queue(self, name: str) -> None:
        queue = self._host.topology.queues.get(name)
        if queue is None or queue.placement is not None or queue.settings.maker:
            return
        queue.settings.maker = self.user
        queue.settings.made_by = self.connection
        self._host.topology.rows.store_queue(queue)
        self._book.count_queue(self._host.name, queue)

    def _created_exchange(self, name: str) -> None:
        exchange = self._host.topology.exchanges.get(name)
        if exchange is None or exchange.placement is not None or exchange.maker:
            return
        exchange.maker = self.user
        exchange.made_by = self.connection
        self._host.topology.rows.store_exchange(exchange)

    def lives(self, host: str, name: str, number: int) -> bool:
        """Whether a queue is there still."""
        found = self._bridge.hosts.get(host)
        queue = None if found is None else found.topology.queues.get(name)
        return queue is not None and queue.number == number


def _undecided(decision: Decision) -> Refusal | None:
    """Why the rules have not been asked, or not all of them: that is no decision of theirs."""
    if decision is TOO_LONG:
        return Refusal(Condition.INVALID_ARGUMENT, decision.rule)
    return (
        Refusal(Condition.RESOURCE_LIMIT_EXCEEDED, decision.rule) if decision is TOO_MUCH else None
    )


def reason_of(refusal: Refusal) -> Reason:
    """Why a message is not published that may not be, for the books."""
    denied = refusal.condition == Condition.UNAUTHORIZED_ACCESS
    return Reason.NOT_ALLOWED if denied else Reason.TOO_LARGE
