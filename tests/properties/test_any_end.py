"""Whatever anybody deletes, unbinds, closes, cancels or ends, and when: others go on.

Clients of both protocols do what they like with one another's nodes, in one turn or in several, on
a whole gateway. Each of them hears once that something of its own has ended, knows what it still
has, and is never cut off for what another did; and the ledger balances.
"""

from __future__ import annotations

import tempfile
from collections import Counter
from contextlib import ExitStack
from pathlib import Path

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, rule
from support.bare_clients import Bare010, Bare10, Talk010
from support.examples import examples
from support.face_1_0 import message
from support.net import counting_defects
from support.whole_gateway import Guest, WholeGateway

from gateway.amqp_0_10 import _spec as spec
from gateway.amqp_0_10._spec_constants import STR16
from gateway.amqp_1_0 import _spec
from gateway.amqp_1_0.link import Link
from gateway.amqp_1_0.session import Session as Session10
from gateway.amqp_1_0.transactions import (
    control_source,
    coordinator,
    declare_payload,
    declared,
    discharge_payload,
)
from gateway.bridge.topology import Topology
from gateway.faces.arguments.of_nodes import policy_properties
from gateway.wire.tagged import Tagged

PICK = st.integers(0, 63)
QUEUES = st.sampled_from(["a", "b", "c"])
EXCHANGES = st.sampled_from(["x", "y", "amq.fanout"])
SELDOM = st.integers(0, 5).map(lambda number: number == 5)
SCOPED = [("x-scope", Tagged(STR16, "session"))]
OUTCOMES = st.sampled_from(
    [
        _spec.Accepted(),
        _spec.Rejected(),
        _spec.Released(),
        _spec.Modified(delivery_failed=True, undeliverable_here=True),
        None,
    ]
)
POLICIES = st.sampled_from(
    [
        _spec.DELETE_ON_CLOSE,
        _spec.DELETE_ON_NO_LINKS,
        _spec.DELETE_ON_NO_MESSAGES,
        _spec.DELETE_ON_NO_LINKS_OR_MESSAGES,
    ]
)


class Script(RuleBasedStateMachine):
    def __init__(self) -> None:
        super().__init__()
        self.directory = tempfile.TemporaryDirectory()
        self.whole = WholeGateway(Path(self.directory.name)).start()
        self.counting = ExitStack()
        self.counting.enter_context(counting_defects(self.whole.service.counts))
        self.old: list[tuple[Bare010, Guest]] = []
        self.new: list[tuple[Bare10, Guest]] = []
        self.closing: set[int] = set()  # guests that leave, by identity
        self.controls: dict[Link, list[bytes]] = {}
        self.names = 0

    @initialize()
    def begin(self) -> None:
        for _ in range(2):
            self.come(old=True)
            self.come(old=False)
        talk = self.talk(0)
        talk.says(spec.ExchangeDeclare(exchange="x", type="fanout"))
        for queue in ("a", "b", "c"):
            self.declare(0, queue, auto_delete=False, exclusive=False)
            self.whole.run()
            self.bind(0, queue, "amq.fanout", scoped=False)
            self.bind(0, queue, "x", scoped=False)
        self.whole.run()

    def teardown(self) -> None:
        for _, guest in [*self.old, *self.new]:
            if not guest.over:
                guest.hang_up()
        self.whole.stop()
        self.counting.close()
        assert self.whole.service.counts.defects == 0
        self.whole.ledger().assert_balanced()
        self.directory.cleanup()

    def name(self, what: str) -> str:
        self.names += 1
        return f"{what}{self.names}"

    @property
    def topology(self) -> Topology:
        return self.whole.service.bridge.default_host.topology

    def come(self, *, old: bool) -> None:
        now_ms = self.whole.service.clock.now_ms()
        if old:
            client = Bare010(now_ms)
            self.old.append((client, self.whole.seat(client)))
        else:
            newer = Bare10(self.name("container"), now_ms)
            self.new.append((newer, self.whole.seat(newer)))

    # Who does something.

    def talk(self, pick: int) -> Talk010:
        """A session of some 0-10 client, attached if there is none."""
        client = self.old[pick % len(self.old)][0]
        present = [talk for talk in client.talks if not talk.ended]
        at = pick == 63  # seldom another one
        while len(present) <= at:
            present.append(client.attach(self.name("s").encode()))
            self.whole.run()
        return present[at]

    def client(self, pick: int) -> tuple[Bare10, Session10]:
        """Some 1.0 client, and a session of it."""
        client = self.new[pick % len(self.new)][0]
        at = pick == 63
        while len(client.sessions) <= at:
            client.begin()
            self.whole.run()
        return client, client.sessions[at]

    # What is ended.

    @rule(pick=PICK, which=PICK)
    def delete_queue(self, pick: int, which: int) -> None:
        """Mostly one that there is, as in what follows: refusals end the session."""
        queues = [*self.topology.queues, "none"]
        self.talk(pick).says(spec.QueueDelete(queue=queues[which % len(queues)]))

    @rule(pick=PICK, exchange=EXCHANGES)
    def delete_exchange(self, pick: int, exchange: str) -> None:
        if exchange in self.topology.exchanges and exchange != "amq.fanout":
            self.talk(pick).says(spec.ExchangeDelete(exchange=exchange))

    @rule(pick=PICK, which=PICK)
    def unbind(self, pick: int, which: int) -> None:
        bindings = [
            (queue.name, exchange, key)
            for queue in self.topology.queues.values()
            for exchange, key in queue.bound_to()
        ]
        if bindings:
            queue, exchange, key = bindings[which % len(bindings)]
            self.talk(pick).says(
                spec.ExchangeUnbind(queue=queue, exchange=exchange, binding_key=key)
            )

    @rule(pick=PICK)
    def cancel(self, pick: int) -> None:
        talk = self.talk(pick)
        if talk.subscriptions:
            talk.cancels(list(talk.subscriptions)[pick % len(talk.subscriptions)])

    @rule(pick=PICK)
    def detach_session(self, pick: int) -> None:
        self.talk(pick).detaches()

    @rule(pick=PICK, closed=st.booleans(), sender=SELDOM)
    def detach_link(self, pick: int, closed: bool, sender: bool) -> None:
        client, _ = self.client(pick)
        links = list(client.senders if sender else client.receivers)
        if links:
            client.detach(links[pick % len(links)], closed=closed)

    @rule(pick=PICK)
    def end_session(self, pick: int) -> None:
        client, session = self.client(pick)
        client.end(session)

    @rule(pick=PICK, old=st.booleans(), politely=st.booleans())
    def leave(self, pick: int, old: bool, politely: bool) -> None:
        present: list[tuple[Bare010, Guest]] | list[tuple[Bare10, Guest]]
        present = self.old if old else self.new
        client, guest = present.pop(pick % len(present))
        if politely:
            client.close(self.whole.service.clock.now_ms())
        else:
            guest.hang_up()
        self.come(old=old)

    # What there is to end.

    @rule(pick=PICK, queue=QUEUES, auto_delete=SELDOM, exclusive=SELDOM)
    def declare(self, pick: int, queue: str, auto_delete: bool, exclusive: bool) -> None:
        if queue not in self.topology.queues:
            self.talk(pick).says(
                spec.QueueDeclare(
                    queue=queue,
                    alternate_exchange="amq.fanout" if queue == "a" else None,
                    durable=queue == "b",
                    auto_delete=auto_delete,
                    exclusive=exclusive,
                )
            )

    @rule(pick=PICK, exchange=st.sampled_from(["x", "y"]), auto_delete=st.booleans())
    def declare_exchange(self, pick: int, exchange: str, auto_delete: bool) -> None:
        self.talk(pick).says(
            spec.ExchangeDeclare(exchange=exchange, type="fanout", auto_delete=auto_delete)
        )

    @rule(pick=PICK, queue=QUEUES, exchange=EXCHANGES, scoped=st.booleans())
    def bind(self, pick: int, queue: str, exchange: str, scoped: bool) -> None:
        if queue in self.topology.queues and exchange in self.topology.exchanges:
            arguments = SCOPED if scoped else None
            self.talk(pick).says(
                spec.ExchangeBind(
                    queue=queue, exchange=exchange, binding_key="", arguments=arguments
                )
            )

    @rule(pick=PICK, queue=QUEUES, accept=SELDOM, browse=SELDOM, many=st.integers(1, 3))
    def subscribe(self, pick: int, queue: str, accept: bool, browse: bool, many: int) -> None:
        if queue in self.topology.queues:
            for _ in range(many):
                self.talk(pick).subscribes(queue, self.name("d"), accept=accept, acquire=browse)

    @rule(pick=PICK, address=st.one_of(QUEUES, EXCHANGES), settled=SELDOM, durable=SELDOM)
    def receive(self, pick: int, address: str, settled: bool, durable: bool) -> None:
        client, session = self.client(pick)
        source = _spec.Source(address=address)
        if durable:
            source.durable = _spec.DURABLE_CONFIGURATION
            source.expiry_policy = _spec.EXPIRY_NEVER
        client.receive(session, self.name("r"), source, settled=settled)

    @rule(pick=PICK, policy=POLICIES)
    def make_node(self, pick: int, policy: int) -> None:
        client, session = self.client(pick)
        client.receive(
            session,
            self.name("n"),
            _spec.Source(dynamic=True, dynamic_node_properties=policy_properties(policy)),
        )

    @rule(pick=PICK, other=PICK, send=st.booleans())
    def join_node(self, pick: int, other: int, send: bool) -> None:
        """Somebody else uses a node that was made for a link."""
        nodes = [
            address
            for client, _ in self.new
            for address in client.receivers.values()
            if "container" in address
        ]
        if not nodes:
            return
        address = nodes[other % len(nodes)]
        client, session = self.client(pick)
        if send:
            client.send_to(session, self.name("s"), _spec.Target(address=address))
        elif pick % 3:
            client.receive(session, self.name("r"), _spec.Source(address=address))
        else:
            self.talk(pick).subscribes(address, self.name("d"))

    # Messages.

    @rule(pick=PICK, queue=QUEUES, many=st.integers(1, 3))
    def publish(self, pick: int, queue: str, many: int) -> None:
        for _ in range(many):
            self.talk(pick).publishes(b"body", key=queue)

    @rule(pick=PICK)
    def send(self, pick: int) -> None:
        client, session = self.client(pick)
        for link in list(client.senders):
            if link not in self.controls:
                client.sends(link, message(b"body"))
        if not client.senders:
            client.send_to(session, self.name("s"), _spec.Target(address="amq.fanout"))

    @rule(pick=PICK, how=st.sampled_from([spec.MessageAccept, spec.MessageRelease]))
    def settle_old(
        self, pick: int, how: type[spec.MessageAccept] | type[spec.MessageRelease]
    ) -> None:
        talk = self.talk(pick)
        taken, talk.deliveries = talk.deliveries, []
        ranges = [(number, number) for number, _ in taken]
        if ranges:
            talk.says(how(transfers=ranges))

    @rule(pick=PICK, outcome=OUTCOMES, settled=st.booleans())
    def settle_new(self, pick: int, outcome: _spec.DeliveryState | None, settled: bool) -> None:
        client, _ = self.client(pick)
        taken, client.deliveries = client.deliveries, []
        for event in taken:
            client.settle(event, outcome, settled=settled)

    # Transactions.

    @rule(pick=PICK, commit=st.booleans())
    def transact_old(self, pick: int, commit: bool) -> None:
        talk = self.talk(pick)
        if talk.selected:
            talk.says(spec.TxCommit() if commit else spec.TxRollback())
        else:
            talk.selected = True
            talk.says(spec.TxSelect())

    @rule(pick=PICK)
    def begin_transaction(self, pick: int) -> None:
        client, session = self.client(pick)
        link = session.attach(self.name("c"), _spec.SENDER)
        link.send_attach(source=control_source(), target=coordinator())
        self.controls[link] = []
        client.flush()
        self.whole.run()
        client.sends(link, declare_payload(), what=link)
        self.whole.run()
        state = client.states.get(link)
        txn_id = declared(state) if isinstance(state, _spec.Declared) else b""
        if isinstance(txn_id, bytes) and txn_id:
            self.controls[link].append(txn_id)

    def transactions(self, client: Bare10) -> list[tuple[Link, bytes]]:
        return [
            (link, txn_id)
            for link, txn_ids in self.controls.items()
            if link in client.senders
            for txn_id in txn_ids
        ]

    @rule(pick=PICK, outcome=OUTCOMES, settled=st.booleans())
    def retire(self, pick: int, outcome: _spec.DeliveryState | None, settled: bool) -> None:
        client, _ = self.client(pick)
        found = self.transactions(client)
        if found:
            state = _spec.TransactionalState(txn_id=found[pick % len(found)][1])
            if isinstance(outcome, _spec.Accepted | _spec.Rejected | _spec.Released):
                state.outcome = outcome
            for event in client.deliveries:
                client.settle(event, state, settled=settled)

    @rule(pick=PICK, fail=st.booleans())
    def discharge(self, pick: int, fail: bool) -> None:
        client, _ = self.client(pick)
        found = self.transactions(client)
        if found:
            link, txn_id = found[pick % len(found)]
            self.controls[link].remove(txn_id)
            client.sends(link, discharge_payload(txn_id, fail=fail))

    # What must hold.

    @rule()
    def run_turns(self) -> None:
        self.whole.run()
        assert self.whole.service.counts.defects == 0
        mine: Counter[str] = Counter()
        for client, guest in self.old:
            assert not client.violations, client.violations
            assert not guest.over and not client.closed
            for talk in client.talks:
                assert talk.told <= 1
                mine.update(talk.subscriptions.values())
        for newer, guest in self.new:
            assert not newer.violations, newer.violations
            assert not guest.over and not newer.closed
            assert max(newer.detaches.values(), default=0) <= 1
            assert set(newer.ends) <= newer.ended
            mine["1.0"] += len(newer.receivers)
        theirs = sum([len(line.subscriptions) for line in self.topology.lines.values()])
        assert theirs == mine.total()


TestAnyEnd = Script.TestCase
TestAnyEnd.settings = settings(max_examples=examples(50), stateful_step_count=100)
