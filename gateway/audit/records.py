"""Packs audit records on the reactor's thread: one fixed-width record a step, one block a turn.

`AuditLog` never touches a file. `take_block` yields
what a turn wrote, complete with headers and checksums; the store keeps it in the turn's own
transaction and copies it to a segment afterwards, so that a record is as durable as its step.

The contract
============

A *copy* is one entry of a message in one queue: (message, node, position). Each line below is one
record; the record of a step is written in the turn in which the step happens, after the records of
the steps before it. The `size`, digests and `time_ms` are given wherever the call takes them.

Publishing (bridge)
    `received` once per message, when routing is known: `exchange` it was published to, `link` the
    publisher's number, `copies` = what the route makes, **never 0**: a message that no queue took,
    or that was refused as a whole, counts as one copy. Each of these copies then ends the route in
    exactly one way, in this turn or (transaction, no credit upstream) a later one:
    `entered` (a queue holds it) | `sent` with UNQUEUED and without REDELIVERED (a remote node) |
    `unroutable` | `refused` (queue full, not allowed, expired on arrival ...) | `rolled_back`.
    All of them name the same `exchange`. A message from an upstream has the node
    "upstream NAME" for its exchange, and one copy; a link that brings messages has a number of its
    own, as publishers have.
    Alternate exchange of an exchange: `unroutable(ALTERNATE_EXCHANGE)` ends the copy, then
    `routed` names the alternate exchange and its copies, which end as above (REROUTED).

Queues (bridge)
    `entered` begins a copy; DURABLE when the store has it. It ends by exactly one of
    `settled` with REMOVED | `sent` with SETTLED and without COPY | `expired` | `dead_lettered` |
    `evicted` | `replaced` | `purged` | `moved` | `returned`.
    After `dead_lettered` a `routed` (alternate exchange) tells how many copies follow, each
    `entered` with REROUTED; without alternate a rejected copy is `settled(REJECTED, REMOVED)`.
    After `moved` comes one `entered` with REROUTED in the other queue, preceded by a `routed` of
    one copy. Purge and queue.delete write one `purged` per available copy; a copy that is acquired
    then ends by its own settlement.

Remote nodes (bridge)
    What is on its way is in transit queues, which are queues like all others; `entered` has
    TRANSIT, and the copy's end is what its publisher or its upstream is told. In front of an
    upstream the queue is named as its clients name it, "NAME to UPSTREAM" when it stands for an
    exchange or for addresses; behind one, "NAME from UPSTREAM" for all subscriptions together, so
    that message, node *and* position tell copies apart. `sent` and `settled` are of the relay's
    link or of the client's; an outcome that is not known is `requeued(UPSTREAM_LOST)`, and the copy
    is sent again (REDELIVERED when it counts as failed). A copy that was sent in a transaction
    there is settled when that has ended, REMOVED, with its number: ACCEPTED, ROLLED_BACK or
    IN_DOUBT; one that was not sent is `returned(ROLLBACK)`, or `rolled_back` before it entered.
    What an upstream rejected, or its node's link cannot send (UPSTREAM_REFUSED: because the
    upstream refuses that), has the name of the upstream as `peer` of `dead_lettered` or `returned`.
    A copy goes back to where it came from, its upstream or its publisher, by
    `settled(RELEASED | MODIFIED)` with REMOVED or, when no outlet had it, by `returned`. When a
    link from an upstream is lost, what waits is `returned(UPSTREAM_LOST)`; what a client has ends
    by `settled(SETTLED_TOO_LATE)` with REMOVED when the client settles it. A browser's delivery of
    a remote queue is no COPY: its entry ends with it.
    A copy whose publisher does not wait (a dead letter: the gateway's own) has DURABLE if the
    message is durable, and then outlives the process. The others went with it when it died: they
    are in doubt, since nobody was told anything, and not LOST.

Outlets (bridge)
    `sent` when an outlet has taken a delivery; it ends by exactly one of `settled` (the peer said
    so) or `requeued` (we took it back: session, link or connection ended; `outcome` says whether it
    counts as a failed delivery). `settled(RELEASED | MODIFIED)` without REMOVED returns the entry
    to its place; so does `requeued`. `settled(REJECTED)` without REMOVED is followed by
    `dead_lettered` in the same turn. Sent settled (SETTLED): nothing follows. Browsed (COPY):
    `sent` and its `settled` or `requeued` carry COPY and never REMOVED; when such a delivery is
    acquired later, write `settled(RELEASED, COPY)` and a new `sent` without COPY.
    A settlement of a delivery that had ended before is no record.

Bodies
    `body_digest` is of the body's content, in a form that both protocols share: of a 0-10 body or
    the joined content of 1.0 data sections, and of the encoded sections of any other 1.0 body;
    a footer does not count. `received` and `entered` have that of the arrival, `recovered` that of
    what the store handed over, `sent` that of the octets which the outlet gave to its connection
    (0: not computed). They are equal for one message, whatever protocol it leaves by; a difference
    is MUTATED. TRANSLATED on `sent` says that the translation made a body of another form, as the
    mapping has it (a map or list, text that was a value): such a digest is compared with nothing.

Restart
    First `incarnation_started`, always the first record; then what was found: `store_accepted` when
    an operator said that a store without the log's copies is meant, and one `log_differs` for each
    way in which the log is not what the store remembers of it. Then one `recovered` per entry that
    the store handed over (digest computed anew from what it handed over), then `queue_checkpoint`
    of each queue. Depth starts at 0 in each incarnation: `recovered` re-opens it. Copies without
    DURABLE that were in a queue when an incarnation ended, in order or not, went with the process:
    accounting derives them, nobody writes records for them. The same holds for deliveries that were
    unsettled and route copies that were pending at that time. A durable copy that is not recovered
    is LOST. Copies that were with subscribers of a deleted queue are recovered under its name, and
    end as they would have if they had been given back: `purged` or `dead_lettered`, both with
    QUEUE_DELETED. What a queue holds that cannot be made - its virtual host is not configured, its
    row in the store cannot be read - is kept there: recovered at each start, with a checkpoint,
    until it is back. Only where not even the queue's name can be read, nothing is recovered: the
    log of the gateway says how many copies are kept so, and they are called LOST.
    In order: `queue_checkpoint`, `outlet_checkpoint`, `route_checkpoint` of all, then
    `incarnation_stopped`, the last record.

Periodically (`Bridge.checkpoint`)
    The same three checkpoints of every living node with something to say, in one turn, and `clock`
    with the drift. `checksum` is the XOR of `entry_mix(message, position)` over the copies in the
    queue: keep it per queue, XOR at entering and XOR at leaving.

Faces and net
    Each connection has a number, which is that of the gateway's log lines, too; numbers begin anew
    in each incarnation. Where it came from is `address` (HOST:PORT), and its user the `actor`.
    Every connection that said what protocol it speaks is either `connection_opened` and later
    `connection_closed`, or `connection_refused`: closed before it was open, with the SASL
    mechanisms that were asked for, the user whose name was given, and why.
    `access_refused` whenever a user was not let do something that is no message's arrival: the
    action, its object and the line that said so; a *message* that is refused is `received` and
    `refused` like any other, whatever the reason: also one that went nowhere known, could not be
    decoded or was said to be somebody else's, and whether or not its sender hears of it.
    `session_attached` / `session_detached`,
    `link_attached` / `link_detached` (a subscription's number, or a publisher's with PUBLISHER;
    detached when nothing of it is unsettled any more), `translated_with_loss` once per Loss.
    `transaction` with COMMITTED, ROLLED_BACK or IN_DOUBT; `topology` with QUEUE_DECLARED,
    QUEUE_DELETED, EXCHANGE_DECLARED, EXCHANGE_DELETED, BOUND, UNBOUND, ASSIGNED or PURGE (with the
    number of `copies` that it took) as reason; its connection and actor are those of whoever asked
    for it, and nobody where the gateway did by itself (bridge).
    `rules_changed` when access rules or users are read at start or again.
    `feature_used` when a connection ends, and before checkpoints, for what the gateway does not
    offer and it has used since its last such record.

Names (`name`) are interned once by whoever owns the thing and passed as numbers; `forget` when it
is gone. Two nodes never share a text, and one has the same in all incarnations: outside of the
virtual host that was the default at the first start, the host is put before it.
"""

from __future__ import annotations

from typing import Final, final

from librt.strings import read_i64_be
from mypy_extensions import i16 as int16
from mypy_extensions import i32 as int32
from mypy_extensions import i64 as int64
from mypy_extensions import u8 as octet
from xxhash import xxh3_64_digest

from gateway.audit.packing import RecordPacker
from gateway.audit.schema import Flag, Kind, Reason

_INCARNATION_STARTED: Final[octet] = int(Kind.INCARNATION_STARTED)
_INCARNATION_STOPPED: Final[octet] = int(Kind.INCARNATION_STOPPED)
_CLOCK: Final[octet] = int(Kind.CLOCK)
_RECEIVED: Final[octet] = int(Kind.RECEIVED)
_ROUTED: Final[octet] = int(Kind.ROUTED)
_UNROUTABLE: Final[octet] = int(Kind.UNROUTABLE)
_REFUSED: Final[octet] = int(Kind.REFUSED)
_ROLLED_BACK: Final[octet] = int(Kind.ROLLED_BACK)
_ENTERED: Final[octet] = int(Kind.ENTERED)
_RECOVERED: Final[octet] = int(Kind.RECOVERED)
_EXPIRED: Final[octet] = int(Kind.EXPIRED)
_DEAD_LETTERED: Final[octet] = int(Kind.DEAD_LETTERED)
_EVICTED: Final[octet] = int(Kind.EVICTED)
_REPLACED: Final[octet] = int(Kind.REPLACED)
_PURGED: Final[octet] = int(Kind.PURGED)
_MOVED: Final[octet] = int(Kind.MOVED)
_RETURNED: Final[octet] = int(Kind.RETURNED)
_SENT: Final[octet] = int(Kind.SENT)
_SETTLED: Final[octet] = int(Kind.SETTLED)
_REQUEUED: Final[octet] = int(Kind.REQUEUED)
_TRANSLATED_WITH_LOSS: Final[octet] = int(Kind.TRANSLATED_WITH_LOSS)
_CONNECTION_OPENED: Final[octet] = int(Kind.CONNECTION_OPENED)
_CONNECTION_CLOSED: Final[octet] = int(Kind.CONNECTION_CLOSED)
_SESSION_ATTACHED: Final[octet] = int(Kind.SESSION_ATTACHED)
_SESSION_DETACHED: Final[octet] = int(Kind.SESSION_DETACHED)
_LINK_ATTACHED: Final[octet] = int(Kind.LINK_ATTACHED)
_LINK_DETACHED: Final[octet] = int(Kind.LINK_DETACHED)
_TRANSACTION: Final[octet] = int(Kind.TRANSACTION)
_TOPOLOGY: Final[octet] = int(Kind.TOPOLOGY)
_FEATURE_USED: Final[octet] = int(Kind.FEATURE_USED)
_CONNECTION_REFUSED: Final[octet] = int(Kind.CONNECTION_REFUSED)
_ACCESS_REFUSED: Final[octet] = int(Kind.ACCESS_REFUSED)
_RULES_CHANGED: Final[octet] = int(Kind.RULES_CHANGED)
_STORE_ACCEPTED: Final[octet] = int(Kind.STORE_ACCEPTED)
_LOG_DIFFERS: Final[octet] = int(Kind.LOG_DIFFERS)
_QUEUE_CHECKPOINT: Final[octet] = int(Kind.QUEUE_CHECKPOINT)
_OUTLET_CHECKPOINT: Final[octet] = int(Kind.OUTLET_CHECKPOINT)
_ROUTE_CHECKPOINT: Final[octet] = int(Kind.ROUTE_CHECKPOINT)
_DURABLE: Final[int16] = int(Flag.DURABLE)
_TTL: Final[int16] = int(Reason.TTL)
_QUEUE_FULL: Final[int16] = int(Reason.QUEUE_FULL)
_LAST_VALUE: Final[int16] = int(Reason.LAST_VALUE)

_LOW: Final = 0x7FFF_FFFF
_K1: Final = 0x5851_F42D
_K2: Final = 0x4C95_7F2D
_K3: Final = 0x6A09_E667


def digest(octets: bytes) -> int64:
    """xxh3-64 as a signed number, the form that messages and records carry."""
    return read_i64_be(xxh3_64_digest(octets), 0)


def _clamped(count: int64) -> int16:
    """A delivery count in the width that records have."""
    return int16(count) if count < 32767 else 32767


def entry_mix(message: int64, position: int64) -> int64:
    """A copy's share of its queue's checksum: order-free under XOR, below 2**62.

    Products stay within 62 bits, so that compiled code, plain Python and 64-bit columns agree.
    """
    mixed: int64 = ((message & _LOW) * _K1) ^ ((((message >> 31) ^ position) & _LOW) * _K2)
    mixed ^= mixed >> 31
    return ((mixed & _LOW) * _K3) ^ (mixed >> 16)


@final
class AuditLog(RecordPacker):
    """The audit log of one incarnation: one method a record kind, in the order of the contract."""

    __slots__ = ()

    def incarnation_started(self, now_ms: int64, version: str) -> None:
        """The first record of an incarnation."""
        self._record(
            _INCARNATION_STARTED, now_ms, message=self.incarnation, peer=self.name(version)
        )

    def incarnation_stopped(self, now_ms: int64) -> None:
        """The last record of an incarnation that ended in order."""
        self._record(_INCARNATION_STOPPED, now_ms, message=self.incarnation)

    def clock(self, now_ms: int64, drift_ms: int64) -> None:
        """How far the gateway clock is ahead of the system's wall clock."""
        self._record(_CLOCK, now_ms, position=drift_ms)

    def received(
        self,
        now_ms: int64,
        message: int64,
        *,
        link: int64,
        exchange: int32,
        copies: int32,
        id_digest: int64,
        body_digest: int64,
        size: int64,
        flags: int16 = 0,
        node: int32 = 0,
        connection: int32 = 0,
        transaction: int32 = 0,
    ) -> None:
        """A publisher's message was routed to `copies` (at least 1) places."""
        self._record(
            _RECEIVED,
            now_ms,
            message=message,
            link=link,
            exchange=exchange,
            copies=copies,
            id_digest=id_digest,
            body_digest=body_digest,
            size=size,
            flags=flags,
            node=node,
            connection=connection,
            transaction=transaction,
        )

    def routed(
        self, now_ms: int64, message: int64, *, exchange: int32, copies: int32, reason: int16
    ) -> None:
        """A message went on by another route: an alternate exchange, a move."""
        self._record(
            _ROUTED, now_ms, message=message, exchange=exchange, copies=copies, reason=reason
        )

    def unroutable(self, now_ms: int64, message: int64, *, exchange: int32, reason: int16) -> None:
        """No queue took it: this copy of the route has ended."""
        self._record(_UNROUTABLE, now_ms, message=message, exchange=exchange, reason=reason)

    def refused(
        self, now_ms: int64, message: int64, *, exchange: int32, reason: int16, node: int32 = 0
    ) -> None:
        """A copy of the route was not let in (`node`: by which queue)."""
        self._record(_REFUSED, now_ms, message=message, exchange=exchange, reason=reason, node=node)

    def rolled_back(
        self, now_ms: int64, message: int64, *, exchange: int32, node: int32, transaction: int32
    ) -> None:
        """A copy of the route ended with its transaction."""
        self._record(
            _ROLLED_BACK,
            now_ms,
            message=message,
            exchange=exchange,
            node=node,
            transaction=transaction,
        )

    def entered(
        self,
        now_ms: int64,
        message: int64,
        position: int64,
        *,
        node: int32,
        exchange: int32,
        body_digest: int64,
        size: int64,
        flags: int16,
        transaction: int32 = 0,
    ) -> None:
        """A copy is in its queue."""
        self._record(
            _ENTERED,
            now_ms,
            message=message,
            position=position,
            node=node,
            exchange=exchange,
            body_digest=body_digest,
            size=size,
            flags=flags,
            transaction=transaction,
        )

    def recovered(
        self,
        now_ms: int64,
        message: int64,
        position: int64,
        *,
        node: int32,
        id_digest: int64,
        body_digest: int64,
        size: int64,
        delivery_count: int64,
    ) -> None:
        """The store brought a copy back."""
        self._record(
            _RECOVERED,
            now_ms,
            message=message,
            position=position,
            node=node,
            id_digest=id_digest,
            body_digest=body_digest,
            size=size,
            flags=_DURABLE,
            delivery_count=_clamped(delivery_count),
        )

    def _left(
        self,
        kind: octet,
        now_ms: int64,
        message: int64,
        position: int64,
        node: int32,
        reason: int16,
        peer: int32 = 0,
    ) -> None:
        self._record(
            kind,
            now_ms,
            message=message,
            position=position,
            node=node,
            reason=reason,
            peer=peer,
        )

    def expired(
        self, now_ms: int64, message: int64, position: int64, *, node: int32, reason: int16 = _TTL
    ) -> None:
        """Its time to live was over."""
        self._left(_EXPIRED, now_ms, message, position, node, reason)

    def dead_lettered(
        self,
        now_ms: int64,
        message: int64,
        position: int64,
        *,
        node: int32,
        reason: int16,
        peer: int32 = 0,
    ) -> None:
        """It went to the alternate exchange of its queue (`peer`: the upstream it was for)."""
        self._left(_DEAD_LETTERED, now_ms, message, position, node, reason, peer)

    def evicted(
        self,
        now_ms: int64,
        message: int64,
        position: int64,
        *,
        node: int32,
        reason: int16 = _QUEUE_FULL,
    ) -> None:
        """A limit of its queue pushed it out."""
        self._left(_EVICTED, now_ms, message, position, node, reason)

    def replaced(
        self,
        now_ms: int64,
        message: int64,
        position: int64,
        *,
        node: int32,
        reason: int16 = _LAST_VALUE,
    ) -> None:
        """A newer message with its last-value key took its place."""
        self._left(_REPLACED, now_ms, message, position, node, reason)

    def purged(
        self, now_ms: int64, message: int64, position: int64, *, node: int32, reason: int16
    ) -> None:
        """queue.purge or queue.delete removed it."""
        self._left(_PURGED, now_ms, message, position, node, reason)

    def moved(
        self, now_ms: int64, message: int64, position: int64, *, node: int32, reason: int16
    ) -> None:
        """It was moved to another queue."""
        self._left(_MOVED, now_ms, message, position, node, reason)

    def returned(
        self,
        now_ms: int64,
        message: int64,
        position: int64,
        *,
        node: int32,
        reason: int16,
        peer: int32 = 0,
    ) -> None:
        """It went back to where it came from, unsent: to its upstream, or to its publisher.

        `peer`: the upstream that it was for.
        """
        self._left(_RETURNED, now_ms, message, position, node, reason, peer)

    def sent(
        self,
        now_ms: int64,
        message: int64,
        position: int64,
        *,
        node: int32,
        link: int64,
        body_digest: int64,
        size: int64,
        delivery_count: int64,
        flags: int16,
        exchange: int32 = 0,
    ) -> None:
        """An outlet has taken a delivery (`exchange`: of an unqueued copy, as in `received`)."""
        self._record(
            _SENT,
            now_ms,
            message=message,
            position=position,
            node=node,
            link=link,
            body_digest=body_digest,
            size=size,
            delivery_count=_clamped(delivery_count),
            flags=flags,
            exchange=exchange,
        )

    def settled(
        self,
        now_ms: int64,
        message: int64,
        position: int64,
        *,
        node: int32,
        link: int64,
        outcome: octet,
        flags: int16,
        reason: int16 = 0,
        transaction: int32 = 0,
    ) -> None:
        """The peer ended a delivery."""
        self._record(
            _SETTLED,
            now_ms,
            message=message,
            position=position,
            node=node,
            link=link,
            outcome=outcome,
            flags=flags,
            reason=reason,
            transaction=transaction,
        )

    def requeued(
        self,
        now_ms: int64,
        message: int64,
        position: int64,
        *,
        node: int32,
        link: int64,
        outcome: octet,
        reason: int16,
        flags: int16 = 0,
    ) -> None:
        """We ended a delivery; `outcome` is RELEASED, or MODIFIED when it counts as failed."""
        self._record(
            _REQUEUED,
            now_ms,
            message=message,
            position=position,
            node=node,
            link=link,
            outcome=outcome,
            reason=reason,
            flags=flags,
        )

    def translated_with_loss(
        self, now_ms: int64, message: int64, *, row: int32, policy: int16, link: int64
    ) -> None:
        """A value did not cross: mapping row (a name) and NARROW, DROP or REFUSE."""
        self._record(
            _TRANSLATED_WITH_LOSS, now_ms, message=message, exchange=row, reason=policy, link=link
        )

    def connection_opened(
        self,
        now_ms: int64,
        connection: int32,
        *,
        protocol: int32,
        peer: int32,
        mechanism: int32 = 0,
        actor: int32 = 0,
        address: int32 = 0,
    ) -> None:
        """A connection is open.

        Names of its protocol, of the other side (its product and container-id, or which upstream),
        of the SASL mechanism, of the user and of the address. Upstreams have no user.
        """
        self._record(
            _CONNECTION_OPENED,
            now_ms,
            connection=connection,
            exchange=protocol,
            peer=peer,
            node=mechanism,
            actor=actor,
            address=address,
        )

    def connection_refused(
        self,
        now_ms: int64,
        connection: int32,
        *,
        protocol: int32,
        reason: int16,
        peer: int32 = 0,
        mechanism: int32 = 0,
        actor: int32 = 0,
        address: int32 = 0,
    ) -> None:
        """A connection ended before it was open: names as of one that is, as far as it told them.

        `mechanism`: those that it asked for. `actor`: who it said that it is, which nobody proved.
        """
        self._record(
            _CONNECTION_REFUSED,
            now_ms,
            connection=connection,
            exchange=protocol,
            reason=reason,
            peer=peer,
            node=mechanism,
            actor=actor,
            address=address,
        )

    def connection_closed(
        self,
        now_ms: int64,
        connection: int32,
        *,
        reason: int16 = 0,
        actor: int32 = 0,
        address: int32 = 0,
    ) -> None:
        """An open connection has ended: in good order where there is no `reason`."""
        self._record(
            _CONNECTION_CLOSED,
            now_ms,
            connection=connection,
            reason=reason,
            actor=actor,
            address=address,
        )

    def session_attached(self, now_ms: int64, connection: int32, *, session: int32) -> None:
        """A session is attached (name of the session)."""
        self._record(_SESSION_ATTACHED, now_ms, connection=connection, peer=session)

    def session_detached(
        self, now_ms: int64, connection: int32, *, session: int32, reason: int16 = 0
    ) -> None:
        """A session is no longer attached."""
        self._record(_SESSION_DETACHED, now_ms, connection=connection, peer=session, reason=reason)

    def link_attached(
        self,
        now_ms: int64,
        link: int64,
        *,
        connection: int32,
        node: int32,
        peer: int32 = 0,
        flags: int16 = 0,
    ) -> None:
        """A subscription or (PUBLISHER) publisher exists; COPY: it browses."""
        self._record(
            _LINK_ATTACHED,
            now_ms,
            link=link,
            connection=connection,
            node=node,
            peer=peer,
            flags=flags,
        )

    def link_detached(
        self, now_ms: int64, link: int64, *, connection: int32, reason: int16 = 0
    ) -> None:
        """It is gone, and nothing of it is unsettled."""
        self._record(_LINK_DETACHED, now_ms, link=link, connection=connection, reason=reason)

    def transaction(
        self, now_ms: int64, transaction: int32, *, connection: int32, outcome: octet
    ) -> None:
        """A transaction ended: COMMITTED, ROLLED_BACK or IN_DOUBT."""
        self._record(
            _TRANSACTION, now_ms, transaction=transaction, connection=connection, outcome=outcome
        )

    def topology(
        self,
        now_ms: int64,
        *,
        reason: int16,
        node: int32 = 0,
        exchange: int32 = 0,
        connection: int32 = 0,
        flags: int16 = 0,
        actor: int32 = 0,
        copies: int32 = 0,
    ) -> None:
        """A queue, exchange or binding came or went, as `reason` says, and by whom.

        `copies`: of PURGE, how many were removed; of UNBOUND, how many bindings of a queue to an
        exchange went with one of them, or 0 for one that was unbound.
        """
        self._record(
            _TOPOLOGY,
            now_ms,
            node=node,
            exchange=exchange,
            connection=connection,
            reason=reason,
            flags=flags,
            actor=actor,
            copies=copies,
        )

    def feature_used(
        self,
        now_ms: int64,
        connection: int32,
        *,
        feature: int32,
        peer: int32,
        client: int32,
        uses: int32,
        first_ms: int64,
        last_ms: int64,
    ) -> None:
        """Something that is not offered was used (names of it, of the user and of the client)."""
        self._record(
            _FEATURE_USED,
            now_ms,
            connection=connection,
            exchange=feature,
            peer=peer,
            node=client,
            copies=uses,
            position=first_ms,
            message=last_ms,
        )

    def queue_checkpoint(
        self,
        now_ms: int64,
        node: int32,
        *,
        depth: int64,
        unsettled: int32,
        octets: int64,
        entered: int64,
        checksum: int64,
    ) -> None:
        """A queue as it is now: copies in it, of them with an outlet, and entered since start."""
        self._record(
            _QUEUE_CHECKPOINT,
            now_ms,
            node=node,
            position=depth,
            copies=unsettled,
            size=octets,
            message=entered,
            id_digest=checksum,
        )

    def outlet_checkpoint(
        self, now_ms: int64, link: int64, *, node: int32, sent: int64, unsettled: int32
    ) -> None:
        """An outlet as it is now: sent since it exists, and of them not ended."""
        self._record(
            _OUTLET_CHECKPOINT, now_ms, link=link, node=node, message=sent, copies=unsettled
        )

    def route_checkpoint(
        self, now_ms: int64, exchange: int32, *, routed: int64, pending: int32
    ) -> None:
        """An exchange as it is now: copies routed since start, and of them not ended."""
        self._record(_ROUTE_CHECKPOINT, now_ms, exchange=exchange, message=routed, copies=pending)

    def access_refused(
        self,
        now_ms: int64,
        *,
        actor: int32,
        action: int32,
        object: int32,
        reason: int16,
        rule: int32 = 0,
        connection: int32 = 0,
        address: int32 = 0,
    ) -> None:
        """Somebody was not let do something that is no message's arrival.

        Names of the user, of the action (publish, consume, create ...), of what it was to be done
        to, and of the rule that decided: FILE:LINE, or a few words where no line did.
        """
        self._record(
            _ACCESS_REFUSED,
            now_ms,
            actor=actor,
            exchange=action,
            node=object,
            reason=reason,
            peer=rule,
            connection=connection,
            address=address,
        )

    def rules_changed(
        self,
        now_ms: int64,
        *,
        rules: int32,
        sha256: int32,
        file: int32,
        actor: int32 = 0,
        reason: int16 = 0,
    ) -> None:
        """Rules were read, at start or again.

        Names of what they are ("access", "users"), of the SHA-256 of the file in hex digits, of the
        file, and of who asked for it (0: the gateway's own start). OPERATOR as `reason`: they were
        read again while the gateway ran.
        """
        self._record(
            _RULES_CHANGED,
            now_ms,
            exchange=rules,
            node=sha256,
            peer=file,
            actor=actor,
            reason=reason,
        )

    def store_accepted(self, now_ms: int64, *, store: int32, last_sequence: int64) -> None:
        """An operator said that a store which does not know this log is meant.

        Name of what the store is ("missing", "empty", "another's"), and the log's last record when
        the gateway started: durable copies that were in queues then are not coming back.
        """
        self._record(_STORE_ACCEPTED, now_ms, node=store, position=last_sequence)

    def log_differs(
        self, now_ms: int64, *, segment: int32, problem: int32, expected: int64 = 0
    ) -> None:
        """At start the log was not as the store remembers it.

        Names of the segment and of the problem; `expected`: the sequence number that was not found.
        """
        self._record(_LOG_DIFFERS, now_ms, node=segment, peer=problem, position=expected)
