"""Packs audit records on the reactor's thread: one fixed-width record a step, one block a turn.

`AuditLog` never touches a file. `take_block` yields what a turn wrote, complete with headers and
checksums; the store keeps it in the turn's own transaction and copies it to a segment afterwards,
so that a record is as durable as its step.

log           `AuditLog`: messages and their copies, upon
connections   connections, and what is done on them, upon
incarnation   start and end, clock, rules, checkpoints

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
    `confirmed` once a turn for each range of a publisher's messages that it is told of: all that
    came by its link from the first to the last, and how it is told that they ended. Of what is to
    be safe before that, it stands in the turn that makes it so, behind the records of the copies,
    and its publisher is told when that is on disk; else in the turn at the end of which it is told,
    which may be before that is on disk. What was sent settled, what is part of a transaction, and
    what came from an upstream has none: nobody waits, `transaction` says it, `settled` does.
    Alternate exchange of an exchange: `unroutable(ALTERNATE_EXCHANGE)` ends the copy, then
    `routed` names the alternate exchange and its copies, which end as above (REROUTED).
    A shadow of a queue gets a copy beside those of the route: `routed(SHADOW)` of one copy, which
    is `entered` (REROUTED) in the node "QUEUE shadow to UPSTREAM", or, if that has no room for it,
    `entered` and `evicted` at once. What is part of a transaction has it with the commit.

Queues (bridge)
    `entered` begins a copy; DURABLE when the store has it. It ends by exactly one of
    `settled` with REMOVED | `sent` with SETTLED and without COPY | `expired` | `dead_lettered` |
    `evicted` | `replaced` | `purged` | `moved` | `returned`.
    After `dead_lettered` a `routed` (alternate exchange) tells how many copies follow, each
    `entered` with REROUTED; without alternate a rejected copy is `settled(REJECTED, REMOVED)`.
    After `moved` comes one `entered` with REROUTED in the other queue, preceded by a `routed` of
    one copy. Purge and queue.delete write one `purged` per available copy; a copy that is acquired
    then ends by its own settlement.

Branches of distributed transactions (bridge)
    What a session has accepted in a branch goes over to the branch when the session ends its work
    in it: `requeued(BRANCH)`, then `sent` to a link of the branch's own, by which it is settled, or
    `requeued(ROLLBACK)`. When a branch is prepared, each copy that it is to put into a queue is
    `entered` in the node "branch XID", with TRANSIT; DURABLE if the store has it. It leaves that by
    `moved(BRANCH)` and, once a message, `routed(BRANCH)`, which ends as any route (REROUTED); or by
    `purged(ROLLBACK)`, or `purged(QUEUE_DELETED)` after a restart. `transaction` with PREPARED
    names the branch as `node`. In each later run what is on its shelf is `recovered` as all copies
    are; then a `transaction` with RECOVERED, which gives it the number that it has in this run, and
    `sent` again what it has accepted. An operator's decision is a `transaction` with COMMITTED or
    ROLLED_BACK and OPERATOR, in front of its end; FORGOTTEN says that its manager knows.

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
    `dead_lettered`, in the same turn unless that has had very many of them. Sent settled (SETTLED):
    nothing follows. Browsed (COPY): `sent` and its `settled` or `requeued` carry COPY and never
    REMOVED; when such a delivery is acquired later, write `settled(RELEASED, COPY)` and a new
    `sent` without COPY.
    A settlement of a delivery that had ended before is no record.

Ids
    `id_digest` is of the message-id that the message's first publisher gave it, as a value of 1.0,
    whichever protocol it came or leaves by: of a 0-10 uuid with escrow, of what the escrow has. It
    is read of what came (`received`) and of what was made to be sent (`sent`), so that the `sent`
    of one gateway and the `received` of the next have one digest. The two of one gateway differ
    where the id is a declared loss: with escrow off or full, a uuid stands for it from there on.

Bodies
    `body_digest` is of the body's content, in a form that both protocols share: of a 0-10 body or
    the joined content of 1.0 data sections, and of the encoded sections of any other 1.0 body;
    a footer does not count. `received` and `entered` have that of the arrival, `recovered` that of
    what the store handed over, `sent` that of the octets which the outlet gave to its connection
    (0: of what a branch has again after a restart, which nobody is sent). They are equal for one
    message, whatever protocol it leaves by; a difference is MUTATED. TRANSLATED on `sent` says that
    the translation made a body of another form, as the mapping has it (a map or list, text that was
    a value): such a digest is compared with nothing.

Translation
    `translated_with_loss` once per Loss, in front of the `sent` that it is of. Of one message in
    64, by its number, each translation that is sent is translated back: `translation_checked`,
    without a row where all that came is there again but for those losses, else once for each row
    by which more is missing (UNDECLARED_LOSS); with TOO_LARGE where it is not looked at for that.

Restart
    First `incarnation_started`, always the first record, which names the last incarnation before it
    in the log, by all that store and log know; then what was found: `store_accepted` when
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
    What an import has put into the store has not been recovered but comes in, at the first start
    that finds it: `link_attached` with PUBLISHER and the `actor` "operator by store import",
    `received` from the exchange "import DIGEST" with one copy, and `entered`; then `link_detached`.
    In order: `queue_checkpoint`, `outlet_checkpoint`, `route_checkpoint` of all, then
    `incarnation_stopped`, the last record.

Periodically (`Bridge.checkpoint`)
    The same three checkpoints of every living node with something to say, over several turns if
    those are very many, each true of its place in the log; and `clock` with the drift. Deleted
    queues that hold copies still are among them, all at its beginning, and routes come last: what
    no record ended and no checkpoint names any more is LOST. `entered`, `sent` and `routed` count
    such records of one queue, outlet or exchange in this incarnation: what comes again by the same
    name counts anew. `checksum` is the XOR of `entry_mix(message, position)` over the copies in the
    queue: keep it per queue, XOR at entering and XOR at leaving. None is due while the disk is
    full.

Faces and net
    Each connection has a number, which is that of the gateway's log lines, too; numbers begin anew
    in each incarnation. Where it came from is `address` (HOST:PORT), and its user the `actor`.
    Every connection that said what protocol it speaks is either `connection_opened` and later
    `connection_closed`, or `connection_refused`: closed before it was open, with the SASL
    mechanisms that were asked for, the user whose name was given, and why.
    `access_refused` whenever a user was not let do something: the action, its object and the line
    that said so. A *message* that is refused is `received` and `refused` like any other, whatever
    the reason: also one that went nowhere known, could not be decoded or was said to be somebody
    else's, and whether or not its sender hears of it; where it was not allowed, `access_refused`
    follows with its number, and the exchange and key, or the user-id that it claimed (WRONG_USER).
    `session_attached` / `session_detached`,
    `link_attached` / `link_detached` (a subscription's number, or a publisher's with PUBLISHER;
    detached when nothing of it is unsettled any more).
    `transaction` with COMMITTED, ROLLED_BACK or IN_DOUBT; `topology` with QUEUE_DECLARED,
    QUEUE_DELETED, EXCHANGE_DECLARED, EXCHANGE_DELETED, BOUND, UNBOUND, ASSIGNED or PURGE (with the
    number of `copies` that it took) as reason; its connection and actor are those of whoever asked
    for it, and nobody where the gateway did by itself (bridge).
    `rules_changed` when access rules, users or the configuration are read at start, and whenever
    they are others later.
    `let_go` before segments of the log are removed, since they are old or too many, or an operator
    has asked for it (service).
    An operator has no connection: what one asks for has no number of a connection, but an `actor`
    all the same, how he did it: "operator by ctl" with his `address`, "operator by SIGHUP" without.
    `feature_used` when a connection ends, and before checkpoints, for what the gateway does not
    offer and it has used since its last such record.

Names (`name`) are interned once by whoever owns the thing and passed as numbers; `forget` when it
is gone. Two nodes never share a text, and one has the same in all incarnations: outside of the
virtual host that was the default at the first start, the host is put before it.
"""
