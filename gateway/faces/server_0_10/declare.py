"""The `exchange` and `queue` classes of a 0-10 session, in the bridge's topology verbs.

Owns what their fields mean (0-10 XML, classes exchange and queue); knows nothing of sessions: it
answers a command with a result struct, a refusal, or nothing.
"""

from __future__ import annotations

from typing import Final, final

from gateway.amqp_0_10._spec import (
    ExchangeBind,
    ExchangeBound,
    ExchangeBoundResult,
    ExchangeDeclare,
    ExchangeDelete,
    ExchangeQuery,
    ExchangeQueryResult,
    ExchangeUnbind,
    QueueDeclare,
    QueueDelete,
    QueuePurge,
    QueueQuery,
    QueueQueryResult,
)
from gateway.amqp_0_10.types import Command, FieldTable, Struct, kept_map
from gateway.bridge.exchanges.bindings import EXCLUSIVE, may_be_alone
from gateway.bridge.exchanges.exchange import HEADERS
from gateway.bridge.exchanges.filters import SELECTOR_ARGUMENTS
from gateway.bridge.host import VirtualHost
from gateway.bridge.remote.remote import LookUpWaiter
from gateway.bridge.seams import Owner, QueueSettings
from gateway.faces.arguments.of_exchanges import AskedOfExchange
from gateway.faces.arguments.of_queues import Asked, encoded
from gateway.faces.feature_uses import FeatureUses
from gateway.faces.features import (
    ARGUMENTS,
    EXCHANGES,
    FEDERATION_PREFIX,
    XML_TYPE,
    Feature,
)
from gateway.faces.placed import is_remote_exchange, is_remote_queue, selector_of
from gateway.faces.room import LITTLE
from gateway.message import Condition, Refusal
from gateway.translate.view import neutral_0_10
from gateway.wire.accounts import Account
from gateway.wire.tagged import Tagged
from gateway.wire.work import OCTETS_COPIED, WORK

Answer = Struct | Refusal | None

# A binding with this argument, of this value, ends with the session.
SCOPE: Final = "x-scope"
SESSION: Final = "session"
# What arguments of a binding mean beside what a headers exchange looks for, or are counted by now.
OF_BINDINGS: Final = frozenset({SCOPE, *SELECTOR_ARGUMENTS, *ARGUMENTS})

RESERVED_PREFIX: Final = "amq."
NAME_REQUIRED: Final = "a name is required"
UNREAD: Final = Refusal(
    Condition.RESOURCE_LIMIT_EXCEEDED, "the user has too much that it has not read"
)


@final
class Declarations:
    """Answers the exchange and queue commands of one session, its owner."""

    def __init__(
        self,
        host: VirtualHost,
        owner: Owner,
        uses: FeatureUses,
        account: Account,
        *,
        strict: bool,
    ) -> None:
        """Make it; `account`: of what is kept for the client, answers that it has not read, too."""
        self.host = host
        self.owner = owner
        self.uses = uses
        self.account = account
        self.strict = strict

    def move(self, uses: FeatureUses, account: Account) -> None:
        """The session has another connection, or none."""
        self.uses = uses
        self.account = account

    def carry_out(self, command: Command) -> Answer:
        """Carry out one command of class exchange or queue; the result is for execution.result."""
        if isinstance(command, (ExchangeDeclare, ExchangeDelete, ExchangeQuery)):
            return self._exchange(command)
        if isinstance(command, (ExchangeBind, ExchangeUnbind, ExchangeBound)):
            return self._binding(command)
        if isinstance(command, QueueDeclare):
            return self.on_queue_declare(command)
        if isinstance(command, QueueDelete):
            return self.on_queue_delete(command)
        if isinstance(command, QueuePurge):
            return self.on_queue_purge(command)
        if isinstance(command, QueueQuery):
            return self.on_queue_query(command)
        return Refusal(Condition.NOT_IMPLEMENTED, f"command {command.CODE:#06x}")

    def carry_out_upstream(
        self, command: Command, waiter: LookUpWaiter, command_id: int
    ) -> bool | Refusal:
        """Whether an upstream has been asked to do it first: `waiter` is told, by the id."""
        host = self.host
        if isinstance(command, QueueDelete):
            return host.declaring.delete_at_upstream(
                command.queue or "",
                waiter,
                command_id,
                self.owner,
                if_unused=command.if_unused,
                if_empty=command.if_empty,
            )
        if isinstance(command, QueuePurge):
            return host.declaring.purge_at_upstream(
                command.queue or "", waiter, command_id, self.owner
            )
        return False

    def must_reach(self, command: Command, waiter: LookUpWaiter, command_id: int) -> bool:
        """Whether what was carried out takes effect, or is done, later: `waiter` is told."""
        if isinstance(command, (QueueDelete, ExchangeDelete)):
            return self.host.bindings.unbinding.tell(waiter, command_id)
        if not isinstance(command, ExchangeBind):
            return False
        if self._excludes(command):
            return self.host.bindings.unbinding.tell(waiter, command_id)
        return self.host.reaching.reach_binding(
            command.queue or "",
            command.exchange or "",
            command.binding_key or "",
            waiter,
            command_id,
        )

    def refused(self, command: Command, refusal: Refusal) -> Answer:
        """The answer when an upstream does not have the queue, or cannot be asked about it."""
        if refusal.condition == Condition.NOT_FOUND:
            if isinstance(command, QueueQuery):
                return QueueQueryResult()
            if isinstance(command, ExchangeBound):
                no_exchange = self.host.topology.find_exchange(command.exchange or "") is None
                return ExchangeBoundResult(exchange_not_found=no_exchange, queue_not_found=True)
        return refusal

    def _exchange(self, command: Command) -> Answer:
        if isinstance(command, ExchangeDeclare):
            self._count_exchange(command.exchange)
            return self.on_exchange_declare(command)
        if isinstance(command, ExchangeDelete):
            return self.on_exchange_delete(command)
        assert isinstance(command, ExchangeQuery)
        self._count_exchange(command.name)
        return self.on_exchange_query(command)

    def _binding(self, command: Command) -> Answer:
        if isinstance(command, ExchangeBind):
            self._count_exchange(command.exchange)
            return self.on_exchange_bind(command)
        if isinstance(command, ExchangeUnbind):
            return self.on_exchange_unbind(command)
        assert isinstance(command, ExchangeBound)
        return self.on_exchange_bound(command)

    def _count_exchange(self, name: str | None) -> None:
        feature = EXCHANGES.get(name or "")
        if feature is not None:
            self.uses.count(feature)

    def on_exchange_declare(self, command: ExchangeDeclare) -> Refusal | None:
        """exchange.declare: reserved names and types are the bridge's to judge."""
        name = command.exchange or ""
        if not name:
            return Refusal(Condition.INVALID_ARGUMENT, NAME_REQUIRED)
        asked = AskedOfExchange(command.arguments or [])
        local = not is_remote_exchange(self.host, name)
        ignored = asked.ignored(local=local)
        if not command.passive and ignored:
            if self.strict:
                return unknown_argument(ignored[0])
            self.uses.ignore(ignored)
        if command.type == XML_TYPE and not command.passive:
            self.uses.count(Feature.XML_EXCHANGE)
        answer = self.host.declaring.declare_exchange(
            name,
            command.type or "",
            durable=command.durable,
            auto_delete=command.auto_delete,
            alternate_exchange=command.alternate_exchange or "",
            arguments=encoded(asked.told()),
            passive=command.passive,
            numbers=asked.numbers and local,
            remembers=asked.remembers and local,
        )
        return answer if isinstance(answer, Refusal) else None

    def on_exchange_delete(self, command: ExchangeDelete) -> Refusal | None:
        """exchange.delete."""
        if not command.exchange:
            return Refusal(Condition.INVALID_ARGUMENT, NAME_REQUIRED)
        return self.host.declaring.delete_exchange(command.exchange, if_unused=command.if_unused)

    def _may_tell(self, arguments: bytes) -> bool:
        """Very large ones only while not very much is unread by the user; else that is counted."""
        octets = len(arguments)
        if octets <= LITTLE or self.account.has_half(octets, 4 * octets):
            return True
        self.account.refuse()
        return False

    def on_exchange_query(self, command: ExchangeQuery) -> ExchangeQueryResult | Refusal:
        """exchange.query: a name that is not there is an answer, not an exception."""
        found = self.host.topology.find_exchange(command.name or "")
        if found is None:
            return ExchangeQueryResult(type="", not_found=True, arguments=[])
        if not self._may_tell(found.arguments):
            return UNREAD
        WORK.units += len(found.arguments) // OCTETS_COPIED
        return ExchangeQueryResult(
            type=found.type, durable=found.durable, arguments=kept_map(found.arguments)
        )

    def on_exchange_bind(self, command: ExchangeBind) -> Refusal | None:
        """exchange.bind: what a binding's arguments mean is the exchange type's to know."""
        if not command.queue or not command.exchange:
            return Refusal(Condition.INVALID_ARGUMENT, NAME_REQUIRED)
        arguments = command.arguments or []
        keys = [key for key, _ in arguments]
        if any([key.startswith(FEDERATION_PREFIX) for key in keys]):
            self.uses.refuse(Feature.FEDERATION)
            return Refusal(Condition.NOT_IMPLEMENTED, "federation is not offered here")
        alone = self._excludes(command)
        self.uses.arguments([key for key in keys if key != EXCLUSIVE or not alone])
        if self.host.bindings.lack_match(command.queue, command.exchange, neutral(arguments)):
            return Refusal(Condition.INTERNAL_ERROR, "a headers binding needs x-match: all or any")
        if self._selects_otherwise(command, neutral(arguments)):
            text = "it is bound there with another selector"
            return Refusal(Condition.PRECONDITION_FAILED, text)
        refusal = self.host.bindings.bind(
            command.queue,
            command.exchange,
            command.binding_key or "",
            neutral(arguments),
            encoded(arguments),
            self.owner,
            scoped=any([key == SCOPE and tagged.value == SESSION for key, tagged in arguments]),
        )
        if refusal is None and not self._matches(command.exchange):
            self.uses.ignore([key for key in keys if key not in OF_BINDINGS])
        return refusal

    def _matches(self, exchange: str) -> bool:
        """Whether any argument of a binding there is held against headers."""
        found = self.host.topology.find_exchange(exchange)
        return found is not None and found.type == HEADERS

    def _excludes(self, command: ExchangeBind) -> bool:
        """Whether it is to be the only binding by its key, as far as that is done here."""
        exchange = self.host.topology.find_exchange(command.exchange or "")
        if exchange is None or not may_be_alone(exchange):
            return False
        return any([key == EXCLUSIVE for key, _ in command.arguments or []])

    def _selects_otherwise(self, command: ExchangeBind, arguments: dict[str, Tagged]) -> bool:
        """Whether there is the binding, and a second one would get what the client excludes."""
        if not is_remote_exchange(self.host, command.exchange or ""):
            return False
        exchange = self.host.topology.find_exchange(command.exchange or "")
        assert exchange is not None
        bound = exchange.find(command.queue or "", command.binding_key or "")
        return bound is not None and selector_of(bound.arguments) != selector_of(arguments)

    def on_exchange_unbind(self, command: ExchangeUnbind) -> Refusal | None:
        """exchange.unbind."""
        if not command.exchange:
            return Refusal(Condition.INVALID_ARGUMENT, NAME_REQUIRED)
        if not command.queue:
            return Refusal(Condition.ILLEGAL_ARGUMENT, NAME_REQUIRED)
        key = command.binding_key or ""
        return self.host.bindings.unbind(command.queue, command.exchange, key, self.owner)

    def on_exchange_bound(
        self, command: ExchangeBound, no_exchange: bool = False, no_queue: bool = False
    ) -> ExchangeBoundResult | Refusal:
        """exchange.bound: answers for names that do not exist (C++ clients resolve names so).

        `no_exchange`, `no_queue`: the client must not hear whether there is that one.
        """
        queue, exchange = command.queue or "", command.exchange or ""
        if no_exchange or no_queue:
            topology = self.host.topology
            return ExchangeBoundResult(
                exchange_not_found=no_exchange or topology.find_exchange(exchange) is None,
                queue_not_found=no_queue or (bool(queue) and topology.find_queue(queue) is None),
            )
        # What is empty is not asked about, as deployed clients know it.
        arguments = neutral(command.arguments) if command.arguments else None
        bound = self.host.bindings.bound(
            exchange, queue or None, command.binding_key or None, arguments
        )
        if isinstance(bound, Refusal):
            return bound
        return ExchangeBoundResult(
            exchange_not_found=bound.exchange_not_found,
            queue_not_found=bound.queue_not_found,
            queue_not_matched=bound.queue_not_matched,
            key_not_matched=bound.key_not_matched,
            args_not_matched=bound.args_not_matched,
        )

    def on_queue_declare(self, command: QueueDeclare) -> Refusal | None:
        """queue.declare: limits are read from the arguments, which are all kept."""
        name = command.queue or ""
        if not name:
            return Refusal(Condition.ILLEGAL_ARGUMENT, NAME_REQUIRED)
        if self.strict and not command.passive and name.startswith(RESERVED_PREFIX):
            return Refusal(Condition.NOT_ALLOWED, f"queue name {name} is reserved")
        arguments = command.arguments or []
        settings = QueueSettings(
            durable=command.durable,
            exclusive=command.exclusive,
            auto_delete=command.auto_delete,
            alternate_exchange=command.alternate_exchange or "",
            arguments=encoded(arguments),
        )
        if not command.passive:
            refusal = self._apply(name, arguments, settings)
            if refusal is not None:
                return refusal
        if settings.no_local and not self._is_local(name):
            # A consumer must never get what it excluded.
            self.uses.refuse(Feature.NO_LOCAL)
            return Refusal(Condition.NOT_IMPLEMENTED, "no-local needs a queue of ours")
        answer = self.host.declaring.declare_queue(
            name, settings, self.owner, passive=command.passive
        )
        return answer if isinstance(answer, Refusal) else None

    def _is_local(self, queue: str) -> bool:
        return not is_remote_queue(self.host, queue)

    def _apply(self, name: str, arguments: FieldTable, settings: QueueSettings) -> Refusal | None:
        """Read them; under `strict` all of them must be understood."""
        asked = Asked(remote=not self._is_local(name))
        refusal = asked.read(arguments)
        if refusal is None and self.host.topology.find_queue(name) is None:
            refusal = asked.apply(settings)
        if refusal is None and asked.ignored:
            if self.strict:
                return unknown_argument(asked.ignored[0])
            self.uses.ignore([each.partition("=")[0] for each in asked.ignored])
        return refusal

    def on_queue_delete(self, command: QueueDelete) -> Refusal | None:
        """queue.delete."""
        if not command.queue:
            return Refusal(Condition.INVALID_ARGUMENT, NAME_REQUIRED)
        return self.host.declaring.delete_queue(
            command.queue, self.owner, if_unused=command.if_unused, if_empty=command.if_empty
        )

    def on_queue_purge(self, command: QueuePurge) -> Refusal | None:
        """queue.purge: what has been sent and is not settled yet stays."""
        if not command.queue:
            return Refusal(Condition.INVALID_ARGUMENT, NAME_REQUIRED)
        answer = self.host.declaring.purge_queue(command.queue, self.owner)
        return answer if isinstance(answer, Refusal) else None

    def on_queue_query(self, command: QueueQuery) -> QueueQueryResult | Refusal:
        """queue.query: a queue that is not there is a result without fields, not an exception.

        Its messages are those that nobody has acquired, as a qpidd counts them.
        """
        found = self.host.topology.find_queue(command.queue or "")
        if found is None:
            return QueueQueryResult()
        settings = found.settings
        if not self._may_tell(settings.arguments):
            return UNREAD
        WORK.units += len(settings.arguments) // OCTETS_COPIED
        return QueueQueryResult(
            queue=found.name,
            alternate_exchange=settings.alternate_exchange or None,
            durable=settings.durable,
            exclusive=settings.exclusive,
            auto_delete=settings.auto_delete,
            arguments=kept_map(settings.arguments),
            message_count=found.shown - found.unsettled,
            subscriber_count=found.users.subscriptions,
        )


def queue_asked_for(command: Command) -> str:
    """The queue that has to exist for the command's answer; "" if it depends on none."""
    if isinstance(command, QueueDeclare):
        return (command.queue or "") if command.passive else ""
    if isinstance(command, (QueueQuery, QueueDelete, QueuePurge, ExchangeBound)):
        return command.queue or ""
    return ""


def unknown_argument(key: str) -> Refusal:
    """What the 0-10 XML wants for an argument that the server does not understand."""
    return Refusal(Condition.NOT_IMPLEMENTED, f"argument {key} is not understood")


def neutral(arguments: FieldTable) -> dict[str, Tagged]:
    """Arguments as the bridge compares them."""
    return {key: neutral_0_10(tagged) for key, tagged in arguments}
