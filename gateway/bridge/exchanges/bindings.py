"""The bindings of one virtual host: what may be bound, for how long, and what is asked of them.

The rules are those of 0-10 exchange.bind, unbind and bound; a durable binding has a row in the
store. Which exchanges and queues there are, `topology` knows.
"""

from __future__ import annotations

from typing import Final, Protocol, final

from gateway.audit.schema import Reason
from gateway.bridge.durable.topology_rows import BindingRow, RowKind, row_key, row_span
from gateway.bridge.exchanges.exchange import DIRECT, HEADERS, Binding, Exchange
from gateway.bridge.exchanges.filters import binding_selector
from gateway.bridge.exchanges.headers import MATCH_ARGUMENT, match_of
from gateway.bridge.exchanges.scopes import Scopes
from gateway.bridge.exchanges.unbinding import Parts, Unbinding
from gateway.bridge.limits import BridgeLimits
from gateway.bridge.node_names import NodeNames
from gateway.bridge.queues.queue import Queue
from gateway.bridge.refusals import OCTETS, homeless, locked, not_found, reserved, too_many
from gateway.bridge.seams import Bound, Owner
from gateway.bridge.turns import TurnBook
from gateway.message import Condition, Refusal
from gateway.wire.accounts import Account
from gateway.wire.tagged import Tagged
from gateway.wire.work import BINDING, LOOK, MATCH, STEP, VERB, WORK, too_many_words

EXCLUSIVE: Final = "qpid.exclusive-binding"  # of a direct exchange: no other queue has the key
CLEARED_AT: Final = 64  # so many rows or more are removed from the store as one


class Named(Protocol):
    """What there is to bind: the host's topology."""

    queues: dict[str, Queue]
    keeping_out: int

    def find_queue(self, name: str) -> Queue | None:
        """The queue of that name, made now if a rule knows it."""

    def find_exchange(self, name: str) -> Exchange | None:
        """The exchange of that name, made now if a rule knows it."""

    def remove_exchange(self, exchange: Exchange) -> None:
        """Delete an exchange, which has no bindings any more."""


class Feeding(Protocol):
    """What fills queues that are bound to remote exchanges: see `nodes`."""

    def on_bound(self, exchange: Exchange, binding: Binding) -> None:
        """A queue is bound to a remote exchange."""

    def on_unbound(self, exchange: Exchange, binding: Binding) -> None:
        """It no longer is."""


class Repeating(Protocol):
    """Who sends once more what an exchange remembers: a virtual host's publishing."""

    def repeat(self, exchange: Exchange) -> None:
        """A queue is bound to it: whoever is bound gets what came last, if the binding matches."""


@final
class Bindings:
    """What binds the queues of a host to its exchanges. Implements `Unbound`.

    Attributes:
        feeding: told of bindings to remote exchanges; `None`: there are no such.
        kept: octets that the host's queues, exchanges and bindings take.
        unbinding: bindings that go together.
        repeating: told of bindings to exchanges that remember; set as soon as there is one.
    """

    __slots__ = (
        "_host",
        "_limits",
        "_names",
        "_number",
        "_scopes",
        "_topology",
        "_turns",
        "feeding",
        "kept",
        "repeating",
        "unbinding",
    )

    def __init__(
        self,
        host: str,
        topology: Named,
        names: NodeNames,
        turns: TurnBook,
        limits: BridgeLimits,
    ) -> None:
        self._host = host
        self._topology = topology
        self._names = names
        self._turns = turns
        self._limits = limits
        self._number = 0
        self._scopes = Scopes()
        self.feeding: Feeding | None = None
        self.kept = Account(limits.topology_octets_max)
        self.unbinding = Unbinding(self, turns.spread)
        self.repeating: Repeating | None = None

    def bind(
        self,
        queue: str,
        exchange: str,
        key: str,
        arguments: dict[str, Tagged],
        encoded: bytes,
        owner: Owner | None = None,
        *,
        scoped: bool = False,
    ) -> Refusal | None:
        """Bind; a second binding of the same queue, exchange and key changes nothing.

        `scoped`: it is not stored, and ends with `owner`, unless somebody binds the same otherwise.
        With `EXCLUSIVE`, whatever its value, a direct exchange unbinds all others by that key.
        `arguments` have codes of `Kind` (the match of a headers exchange), `encoded` is how they
        came. Refused: not-found, resource-locked, invalid-argument (default exchange, empty queue
        name, unknown x-match), resource-limit-exceeded.
        """
        refusal = self._check(queue, exchange, owner)
        if refusal is not None:
            return refusal
        bound = self._topology.find_queue(queue)
        source = self._topology.find_exchange(exchange)
        assert bound is not None and source is not None
        if source.placement is None and not self._limits.local_nodes:
            return homeless("exchange", exchange)
        if owner is not None:
            refusal = reserved(f"exchange {exchange!r}", source.serves, owner)
            if refusal is not None:
                return refusal
        is_new = source.is_new_to(bound, key)
        refusal = self._add(bound, source, key, arguments, encoded, owner if scoped else None)
        if refusal is not None:
            return refusal
        if EXCLUSIVE in arguments and may_be_alone(source):
            is_new = True
            others = [each for each in source.bound_by(key) if each.queue is not bound]
            self.unbinding.exclude(source, others)
        if is_new and source.marks is not None and self.repeating is not None:
            self.repeating.repeat(source)
        return None

    def lack_match(self, queue_name: str, exchange_name: str, arguments: dict[str, Tagged]) -> bool:
        """Whether a binding of the two would be to a headers exchange, and not say how to match.

        Deployed brokers of 0-10 end a session for that; filters of 1.0 may leave it out.
        """
        exchange = self._topology.find_exchange(exchange_name)
        if exchange is None or exchange.type != HEADERS:
            return False
        if self._topology.find_queue(queue_name) is None:
            return False
        return MATCH_ARGUMENT not in arguments or not match_of(arguments)

    def unbind(
        self, queue: str, exchange: str, key: str, owner: Owner | None = None
    ) -> Refusal | None:
        """Unbind. Refused: not-found (queue, exchange or binding), invalid-argument."""
        refusal = self._check(queue, exchange, owner)
        if refusal is not None:
            return refusal
        found = self._topology.find_exchange(exchange)
        assert found is not None
        binding = found.find(queue, key)
        if binding is None:
            return not_found("binding", key)
        self.remove(found, binding)
        return None

    def _check(self, queue_name: str, exchange_name: str, owner: Owner | None) -> Refusal | None:
        """Why nothing can be bound or unbound between the two."""
        if not exchange_name:
            return Refusal(Condition.INVALID_ARGUMENT, "the default exchange's bindings are fixed")
        if not queue_name:
            return Refusal(Condition.INVALID_ARGUMENT, "a binding needs a queue name")
        queue = self._topology.find_queue(queue_name)
        if queue is None:
            return not_found("queue", queue_name)
        if self._topology.find_exchange(exchange_name) is None:
            return not_found("exchange", exchange_name)
        return locked(queue, owner)

    def _add(
        self,
        queue: Queue,
        exchange: Exchange,
        key: str,
        arguments: dict[str, Tagged],
        encoded: bytes,
        scope: Owner | None,
    ) -> Refusal | None:
        """Bind what `_check` has passed, for the life of `scope` if there is one."""
        selector = binding_selector(arguments)
        if isinstance(selector, Refusal):
            return selector
        binding = Binding(queue, key, arguments, encoded, selector)
        existing = exchange.find(queue.name, key)
        if existing is not None:
            return self._bind_again(exchange, existing, binding, scope)
        if exchange.type == HEADERS and not match_of(arguments):
            return Refusal(Condition.INVALID_ARGUMENT, "x-match is neither all nor any")
        if len(key.encode()) > self._limits.key_max or too_many_words(key):
            return Refusal(Condition.INVALID_ARGUMENT, "the binding key is too long")
        if self._number >= self._limits.bindings_max:
            return too_many("bindings")
        if not self.kept.has_room(binding.octets):
            return too_many(OCTETS)
        placement = exchange.placement
        if placement is not None:
            refusal = placement.remote.can_feed(
                self._host, exchange.name, queue.name, key, arguments
            )
            if refusal is not None:
                return refusal
        if scope is not None:
            binding.owners = set()
        self.put(exchange, binding)
        if scope is None:
            self._store(exchange, binding)
        else:
            self._scopes.add(scope.owner_id(), exchange.name, binding)
        return None

    def _bind_again(
        self, exchange: Exchange, binding: Binding, wanted: Binding, scope: Owner | None
    ) -> Refusal | None:
        if exchange.placement is None and not binding.selects_as(wanted):
            if not self.kept.has_room(wanted.octets - binding.octets):
                return too_many(OCTETS)
            self._select_anew(exchange, binding, wanted)
        if scope is not None:
            self._scopes.add(scope.owner_id(), exchange.name, binding)
        elif binding.owners is not None:
            self._scopes.forget(exchange.name, binding)
            self._store(exchange, binding)
            self._tell_unbound(exchange, binding)
            self._tell_bound(exchange, binding)
        return None

    def _select_anew(self, exchange: Exchange, binding: Binding, wanted: Binding) -> None:
        """A binding is made again with another selector: from now on that one counts."""
        exchange.remove(binding)
        binding.arguments = wanted.arguments
        binding.encoded = wanted.encoded
        binding.selector = wanted.selector
        self.kept.note(wanted.octets - binding.octets)
        binding.octets = wanted.octets
        exchange.add(binding)
        if binding.owners is None:
            self._store(exchange, binding)

    def _store(self, exchange: Exchange, binding: Binding) -> None:
        queue = binding.queue
        if queue.kept and exchange.durable:
            row = BindingRow(
                self._host,
                exchange.name,
                queue.name,
                binding.key,
                binding.arguments,
                binding.encoded,
            )
            self._turns.writes.topology(RowKind.BINDING, row.row_key(), row.encoded())

    def end_scope(self, owner: Owner) -> None:
        """An owner is gone: so are the bindings that were for its life only."""
        number = owner.owner_id()
        owned = self._scopes.end(number)
        if owned:
            self.unbinding.disown(number, owned)

    def disown(self, exchange: str, binding: Binding, owner: int) -> None:
        """`owner`, who is gone, wants a binding no longer."""
        owners = binding.owners
        if owners is None:
            return
        owners.discard(owner)
        found = None if owners else self._topology.find_exchange(exchange)
        if found is not None and found.find(binding.queue.name, binding.key) is binding:
            self.remove(found, binding)

    def put(self, exchange: Exchange, binding: Binding) -> None:
        """Add a binding that does not exist yet."""
        WORK.units += _worth(binding) + MATCH * len(binding.arguments)
        exchange.add(binding)
        self._number += 1
        self.kept.note(binding.octets)
        self._tell_bound(exchange, binding)
        self._names.record(Reason.BOUND, binding.queue.node, exchange.node, False)

    def remove(self, exchange: Exchange, binding: Binding) -> None:
        """Remove a binding that exists; the last one takes an auto-delete exchange with it."""
        WORK.units += _worth(binding)
        queue = binding.queue
        stored = queue.kept and exchange.durable and binding.owners is None
        self._tell_unbound(exchange, binding)
        self._scopes.forget(exchange.name, binding)
        exchange.remove(binding)
        self._number -= 1
        self.kept.give(binding.octets)
        self._names.record(Reason.UNBOUND, queue.node, exchange.node, False)
        if stored:
            key = row_key(self._host, exchange.name, queue.name, binding.key)
            self._turns.writes.topology_removed(RowKind.BINDING, key)
        self._delete_unbound(exchange)

    def remove_all_of_queue(self, queue: Queue) -> None:
        """A queue is deleted: all that leads to it goes (`unbinding`)."""
        parts: Parts = []
        for name in list(queue.bindings):
            exchange = self._topology.find_exchange(name)
            assert exchange is not None
            parts.append((exchange, self._detach(exchange, queue)))
        for exchange, keys in parts:
            self._remove_rows(exchange, queue, list(keys.values()))
            self._delete_unbound(exchange)
        if not self.unbinding.remove(parts, queue):
            self._topology.keeping_out += 1

    def remove_all_of_exchange(self, exchange: Exchange) -> None:
        """An exchange is deleted, and so is all that leads from it."""
        parts: Parts = []
        many = exchange.durable and exchange.bound >= CLEARED_AT
        if many:
            first, behind = row_span(self._host, exchange.name)
            self._turns.writes.topology_cleared(RowKind.BINDING, first, behind)
        for each in list(exchange.bindings.values()):
            queue = next(iter(each.values())).queue
            keys = self._detach(exchange, queue)
            parts.append((exchange, keys))
            if not many:
                self._remove_rows(exchange, queue, list(keys.values()))
        self.unbinding.remove(parts, None)

    def _detach(self, exchange: Exchange, queue: Queue) -> dict[str, Binding]:
        """What binds the two is in no book any more; it is still to be let go."""
        WORK.units += LOOK
        keys = exchange.bindings[queue.name]
        for binding in keys.values() if exchange.placement is not None else ():
            self._tell_unbound(exchange, binding)
        exchange.detach(queue)
        self._names.record(Reason.UNBOUND, queue.node, exchange.node, False, len(keys))
        return keys

    def _remove_rows(self, exchange: Exchange, queue: Queue, bindings: list[Binding]) -> None:
        if not (queue.kept and exchange.durable):
            return
        if len(bindings) >= CLEARED_AT:
            first, behind = row_span(self._host, exchange.name, queue.name)
            self._turns.writes.topology_cleared(RowKind.BINDING, first, behind)
            return
        for binding in bindings:
            if binding.owners is None:
                key = row_key(self._host, exchange.name, queue.name, binding.key)
                self._turns.writes.topology_removed(RowKind.BINDING, key)

    def _delete_unbound(self, exchange: Exchange) -> None:
        if exchange.auto_delete and not exchange.bindings and not exchange.alternate_of:
            self._topology.remove_exchange(exchange)

    def let_go(self, exchange: Exchange, binding: Binding) -> None:
        """A binding is in no book any more: the router and the totals are to forget it."""
        WORK.units += _worth(binding)
        self._scopes.forget(exchange.name, binding)
        exchange.disconnect(binding)
        self._number -= 1
        self.kept.give(binding.octets)

    def unbind_found(self, exchange: Exchange, binding: Binding) -> None:
        """See `Unbound`."""
        if exchange.find(binding.queue.name, binding.key) is binding:
            self.remove(exchange, binding)

    def on_let_go(self, queue: Queue | None) -> None:
        """All those of a deleted queue, or of an exchange, have been let go, in a later turn."""
        if queue is not None:
            self._topology.keeping_out -= 1

    def _tell_bound(self, exchange: Exchange, binding: Binding) -> None:
        if exchange.placement is not None and self.feeding is not None:
            self.feeding.on_bound(exchange, binding)

    def _tell_unbound(self, exchange: Exchange, binding: Binding) -> None:
        if exchange.placement is not None and self.feeding is not None:
            self.feeding.on_unbound(exchange, binding)

    def bound(
        self,
        exchange_name: str,
        queue_name: str | None = None,
        key: str | None = None,
        arguments: dict[str, Tagged] | None = None,
    ) -> Bound | Refusal:
        """The five facts of exchange.bound: is there a binding with the parts that are given?

        `None` is "any". Where no binding has all of them, each that no binding has is told,
        whatever the others are; if there is none such, the first that no binding has with those
        before it. Where too many bindings would have to be looked at for that, the first is told
        alone; where they would for the answer itself it is refused: resource-limit-exceeded.
        """
        exchange = self._topology.find_exchange(exchange_name)
        queue = None if queue_name is None else self._topology.find_queue(queue_name)
        no_queue = queue_name is not None and queue is None
        if exchange is None or no_queue:
            return Bound(exchange_not_found=exchange is None, queue_not_found=no_queue)
        if not exchange_name:
            return self._bound_by_default(queue_name, key)
        if key is None and arguments is None and queue is None:
            return Bound()
        keys = None if queue is None else exchange.bindings.get(queue.name)
        among = exchange.bound if queue is None else 0 if keys is None else len(keys)
        if not _look_at(among, arguments):
            WORK.refused += 1
            text = "there are too many bindings to look at"
            return Refusal(Condition.RESOURCE_LIMIT_EXCEEDED, text)
        found = exchange.every() if queue is None else [] if keys is None else list(keys.values())
        keyed = _with_key(found, key)
        if _with_arguments(keyed, arguments):
            return Bound()
        told = Bound(
            queue_not_matched=queue is not None and not found,
            key_not_matched=bool(found) and not keyed,
            args_not_matched=bool(keyed),
        )
        if _look_at(exchange.bound, arguments):
            every = exchange.every()
            if key is not None:
                told.key_not_matched |= not _with_key(every, key)
            if arguments is not None:
                told.args_not_matched |= not _with_arguments(every, arguments)
        return told

    def _bound_by_default(self, queue_name: str | None, key: str | None) -> Bound:
        if key is None:
            return Bound()
        if queue_name is None:
            return Bound(key_not_matched=key not in self._topology.queues)
        return Bound(key_not_matched=key != queue_name)


def may_be_alone(exchange: Exchange) -> bool:
    """Whether a binding to it may be the only one by its key, as the gateway sees to that."""
    return exchange.type == DIRECT and exchange.placement is None


def _worth(binding: Binding) -> int:
    """Units that it takes when it comes, and when it goes."""
    return BINDING + STEP * binding.key.count(".")


def _look_at(count: int, arguments: dict[str, Tagged] | None) -> bool:
    """Whether so many bindings may be looked at, which then counts as work."""
    units = count * (MATCH if arguments is None else MATCH * (1 + len(arguments)))
    if units > VERB:
        return False
    WORK.units += units
    return True


def _with_key(bindings: list[Binding], key: str | None) -> list[Binding]:
    return [binding for binding in bindings if key is None or binding.key == key]


def _with_arguments(bindings: list[Binding], arguments: dict[str, Tagged] | None) -> list[Binding]:
    return [each for each in bindings if arguments is None or each.arguments == arguments]
