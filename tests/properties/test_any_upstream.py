"""After any script of publishers, consumers, a container and its connections all is accounted for.

Every publisher is told once; what it was told is accepted is at the container or in the queue of
what was rejected; what came twice, either way, came marked; nothing overtakes; and when all is
quiet nothing is left of anything, in the gateway or at the upstream.
"""

from __future__ import annotations

from functools import partial

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule
from support.bridge_world import Producer
from support.container import Container, Peer, Reader
from support.examples import examples
from support.upstream_world import UpstreamWorld

from gateway.amqp_1_0 import _spec
from gateway.audit.schema import Reason
from gateway.bridge.limits import BridgeLimits
from gateway.bridge.queues.subscription import UNLIMITED, Subscription
from gateway.bridge.remote.moving import Resting
from gateway.bridge.seams import DeliverStatus, PublishStatus, SubscribeOptions
from gateway.faces.upstream_1_0.receiving.receiver import Receiver
from gateway.message import (
    ACCEPTED,
    MODIFIED_FAILED,
    REJECTED,
    RELEASED,
    Flag,
    Outcome,
    OutcomeKind,
)
from gateway.translate.profiles.profile import Profile
from gateway.wire.limits import Limits

PREFETCH = 5
BACK_OFF_ROUNDS = 40  # of settling at the end: then every back-off is over
PICK = st.integers(0, 100)
SELDOM = st.integers(0, 3).map(lambda number: number == 3)
QUEUES = st.sampled_from(["q", "q", "q", "r"])
ELSEWHERE = Outcome(OutcomeKind.MODIFIED, delivery_failed=True, undeliverable_here=True)
OUTCOMES = st.sampled_from(
    [ACCEPTED, ACCEPTED, ACCEPTED, RELEASED, MODIFIED_FAILED, REJECTED, ELSEWHERE]
)
STATES = [
    (_spec.Accepted(), OutcomeKind.ACCEPTED),
    (_spec.Accepted(), OutcomeKind.ACCEPTED),
    (_spec.Released(), OutcomeKind.RELEASED),
    (_spec.Modified(), OutcomeKind.MODIFIED),
    (_spec.Modified(delivery_failed=True), OutcomeKind.MODIFIED),
    (_spec.Rejected(error=_spec.Error(condition="amqp:not-allowed")), OutcomeKind.REJECTED),
]
ERRORS = [
    None,
    _spec.Error(condition="amqp:link:detach-forced"),
    _spec.Error(condition="amqp:internal-error"),
    _spec.Error(condition="amqp:not-found", description="no such node"),
]
PROFILES = {
    "plain": {},
    "sessions end": {"errors_end_session": True},
    "resuming": {"resume": True},
    "poor": {"modified": False, "annotations": False, "drain": False},
}


class World(UpstreamWorld):
    """One whose octets can be held back: a step then ends turns, and nothing more."""

    held = False

    def step(self):
        if self.held and self.face is not None:
            for _ in range(3):
                self.world.turn()
        else:
            super().step()


class Script(RuleBasedStateMachine):
    def __init__(self):
        super().__init__()
        self.container = Container()
        self.had = {}
        self.readers = []
        self.producer = Producer()
        self.pending = {}  # by token: the body
        self.token = 0
        self.resting = None
        self.problems = self.container.problems

    @initialize(
        profile=st.sampled_from(sorted(PROFILES)),
        channel_max=st.sampled_from([1023, 2, 0]),
        window=st.sampled_from([2048, 3]),
        unsettled=st.sampled_from([10_000, 4]),
        readers=st.integers(0, 2),
    )
    def begin(self, profile, channel_max, window, unsettled, readers):
        if channel_max < 1023:
            unsettled *= 10  # links that share a session share what it may hold
        self.unsettled_max = unsettled
        self.their_limits = Limits(channel_max=channel_max, session_window=window)
        self.w = World(
            profile=Profile(**PROFILES[profile]),
            limits=Limits(unsettled_max=unsettled, link_credit=PREFETCH),
            bridge_limits=BridgeLimits(remote_prefetch=PREFETCH),
            attach_timeout_ms=600_000,
            patience_ms=600_000,
            window=4,
        ).place("q", "r")
        self.refused = False
        if readers:
            self.connect()
        for _ in range(readers):
            self.subscribe("q", UNLIMITED, False)

    # Publishers.

    @rule(
        queue=QUEUES,
        count=st.integers(1, 3),
        flags=st.sampled_from([0, 0, Flag.OUTCOMES, Flag.TELL_UNROUTABLE]),
    )
    def publish(self, queue, count, flags):
        for _ in range(count):
            self.token += 1
            body = b"p%d" % self.token
            made = self.w.world.message(body, key=queue, flags=flags)
            published = self.w.host.publishing.publish(made, self.producer, self.token)
            assert published.status == PublishStatus.PENDING
            self.pending[self.token] = body
        self.w.step()

    # Consumers.

    @rule(queue=QUEUES, credit=st.sampled_from([0, 1, 3, UNLIMITED, UNLIMITED]), settled=SELDOM)
    def subscribe(self, queue, credit, settled):
        if len(self.readers) > 4:
            return
        reader = Reader(self.had, self.problems)
        reader.owner = self.w.world.owner()
        found = self.w.host.subscribing.subscribe(
            queue,
            reader,
            reader.owner,
            SubscribeOptions(settled=settled),
        )
        assert isinstance(found, Subscription)
        reader.subscription = found
        if credit:
            found.grant(credit)
        self.readers.append(reader)
        self.w.step()

    def _holding(self):
        return [reader for reader in self.readers if reader.unsettled()]

    def _reader(self, pick):
        return self.readers[pick % len(self.readers)] if self.readers else None

    @precondition(lambda self: self.readers)
    @rule(pick=PICK, which=PICK, outcome=OUTCOMES)
    def settle(self, pick, which, outcome):
        holding = self._holding()
        if holding:
            reader = holding[pick % len(holding)]
            unsettled = reader.unsettled()
            self._settle(reader, unsettled[which % len(unsettled)], outcome)

    def _settle(self, reader, delivery, outcome):
        reader.note(delivery, outcome)
        in_time = self.w.host.settlement.settle(delivery, outcome)
        assert not in_time or self.peer, "nobody can have heard of it"
        self.w.step()

    @precondition(lambda self: self.readers and self.peer)
    @rule(pick=PICK, count=st.integers(1, 3))
    def settle_unheard(self, pick, count):
        """The transport is gone before the container has heard of it."""
        holding = self._holding()
        if holding:
            self.w.held = True
            reader = holding[pick % len(holding)]
            for delivery in reader.unsettled()[:count]:
                self._settle(reader, delivery, ACCEPTED)
            self.cut([], False)

    @precondition(lambda self: self.readers)
    @rule(
        pick=PICK,
        what=st.sampled_from(["add", "add", "grant", "lower", "stop", "drain", "resume", "full"]),
    )
    def flow(self, pick, what):
        reader = self._reader(pick)
        if reader is None or reader.subscription.cancelled:
            return
        subscription = reader.subscription
        if what == "add":
            subscription.add(2)
        elif what == "grant":
            subscription.grant(UNLIMITED)
        elif what == "lower":
            subscription.grant(1)
        elif what == "stop":
            subscription.stop()
        elif what == "drain":
            subscription.drain()
        elif what == "resume":
            subscription.resume()
        else:
            reader.answers.append(DeliverStatus.BLOCKED)
        self.w.step()

    @precondition(lambda self: self.readers)
    @rule(pick=PICK, whole=st.booleans())
    def leave(self, pick, whole):
        reader = self._reader(pick)
        if reader is None:
            return
        reader.subscription.cancel()
        if whole:
            for delivery in reader.unsettled():
                reader.note(delivery, MODIFIED_FAILED)
                self.w.host.settlement.settle(delivery, MODIFIED_FAILED, Reason.SESSION_ENDED)
            self.w.host.owners.release(reader.owner)
        self.w.step()

    # The container.

    @property
    def peer(self):
        return self.w.broker if self.w.face is not None else None

    @precondition(lambda self: self.peer)
    @rule(pick=PICK, count=st.integers(1, 4))
    def deliver(self, pick, count):
        links = self.peer.ours(sends=True) if self.peer else []
        if links:
            link = links[pick % len(links)]
            for _ in range(count):
                self.container.supply(link.attach.source.address)
                self.peer.send(link)
            self.w.step()

    @precondition(lambda self: self.peer)
    @rule()
    def answer_drains(self):
        self.peer.answer_drains()
        self.w.step()

    @precondition(lambda self: self.peer)
    @rule(pick=PICK)
    def abort(self, pick):
        """A delivery is begun, and given up."""
        links = self.peer.ours(sends=True)
        if links:
            self.peer.abort(links[pick % len(links)])
            self.w.step()

    @precondition(lambda self: self.peer)
    @rule(pick=PICK, state=st.sampled_from([_spec.Released(), _spec.Modified()]))
    def take_back(self, pick, state):
        """A delivery that nobody has settled is settled by the container."""
        if self.peer and self.peer.out and not self.w.held:
            self.w.step()
            out = list(self.peer.out)
            if out:
                self.peer.take_back(out[pick % len(out)], state)
                self.w.step()

    @precondition(lambda self: self.peer and self.peer.came)
    @rule(pick=PICK, verdict=st.sampled_from(STATES))
    def decide(self, pick, verdict):
        came = self.peer.came if self.peer else []
        if came:
            self.peer.decide(came[pick % len(came)], *verdict)
            self.w.step()

    @precondition(lambda self: self.peer)
    @rule(count=st.sampled_from([0, 1, 5, 100]))
    def give_credit(self, count):
        for link in self.peer.ours(sends=False) if self.peer else []:
            link.send_flow(credit=count)
        self.w.step()

    @precondition(lambda self: self.peer)
    @rule(pick=PICK, sends=st.booleans(), error=st.sampled_from(ERRORS), seldom=SELDOM)
    def detach(self, pick, sends, error, seldom):
        links = self.peer.ours(sends=sends) if self.peer and seldom else []
        if links:
            self.peer.detach(links[pick % len(links)], error)
            self.w.step()

    @precondition(lambda self: self.peer)
    @rule(pick=PICK, error=st.sampled_from(ERRORS[1:3]), seldom=SELDOM)
    def end(self, pick, error, seldom):
        sessions = self.peer.connection.sessions() if self.peer and seldom else []
        if sessions:
            self.peer.end(sessions[pick % len(sessions)], error)
            self.w.step()

    @precondition(lambda self: self.peer)
    @rule(error=st.sampled_from(ERRORS))
    def refuse(self, error):
        """Attaches to r are refused from now on, or are not."""
        self.refused = error is not None and not self.refused
        self.refusal = error
        self._tell_refusals(self.w.broker)

    def _tell_refusals(self, peer):
        if peer is not None:
            peer.refusals = {"r": self.refusal} if self.refused else {}

    # The connection.

    @precondition(lambda self: self.w.face is None)
    @rule()
    def connect(self):
        if self.w.face is None:
            make = partial(Peer, container=self.container, limits=self.their_limits, credit=3)
            self.w.held = False
            self.w.connect(kind=make, prepare=self._tell_refusals)

    @precondition(lambda self: self.peer)
    @rule(keeps=st.lists(st.booleans(), max_size=4), arrives=st.booleans())
    def cut(self, keeps, arrives):
        """The transport is gone; some of what came is kept, but nobody hears of that."""
        peer = self.peer
        if peer is None:
            return
        if arrives:
            self.to_peer()
        for event, kept in zip(list(peer.came), keeps, strict=False):
            peer.came.remove(event)
            if kept:
                self.container.keep(event)
        peer.end_all()
        self.w.lose()

    @precondition(lambda self: self.peer)
    @rule(error=st.sampled_from(ERRORS[:3]), seldom=SELDOM)
    def close(self, error, seldom):
        if self.peer and seldom:
            self.peer.close(error)
            self.w.held = False
            self.w.step()
            self.w.lose()

    @rule(held=st.booleans())
    def hold(self, held):
        self.w.held = held
        self.w.step()

    @precondition(lambda self: self.peer)
    @rule()
    def to_peer(self):
        """What we have to send arrives, without an answer."""
        if self.peer:
            self.w.world.turn()
            self.peer.receive(self.w.face.data_to_send(), self.w.now_ms)

    @precondition(lambda self: self.peer)
    @rule()
    def to_us(self):
        """What the container has to send arrives, without an answer."""
        if self.peer:
            self.w.face.receive_data(self.peer.connection.data_to_send(), self.w.now_ms)
            self.w.world.turn()

    # The gateway.

    @rule()
    def rest(self):
        if self.resting is None:
            self.resting = Resting(self.w.bridge, self.w.upstream)
            self.resting.hold()
        else:
            self.resting.release()
            self.resting = None
        self.w.step()

    @rule(queue=QUEUES, seldom=SELDOM)
    def delete(self, queue, seldom):
        if seldom and self.resting is None:
            self.w.host.declaring.delete_queue(queue)
            self.w.step()

    @rule(ms=st.sampled_from([1, 300, 2_000, 70_000]))
    def pass_time(self, ms):
        self.w.pass_time(ms)

    @invariant()
    def whoever_wants_messages_has_asked_for_them(self):
        if not self._quiet():
            return
        credits = {link.name: link.credit for link in self.peer.ours(sends=True)}
        for receiver in self.w.upstream.context.takers.standing:
            if isinstance(receiver, Receiver) and self._wants(receiver.inlet.subscription):
                assert credits.get(receiver.name, 1) > 0, "no credit, and it is wanted"

    def _quiet(self):
        return (
            self.peer
            and not self.w.held
            and not self.resting
            and self.unsettled_max > 40
            and self.w.upstream.health.connected
        )

    def _wants(self, subscription):
        credit = PREFETCH if subscription.credit == UNLIMITED else subscription.credit
        return (
            not subscription.cancelled
            and subscription.allowance.some()
            and min(credit, PREFETCH) > subscription.queue.available
        )

    # The end.

    def teardown(self):
        if not hasattr(self, "w"):
            return
        if self.resting is not None:
            self.rest()
        self.refused = False
        self._tell_refusals(self.w.broker)
        self.w.held = False
        if self.peer and self.peer.connection.closed:
            self.w.lose()
        self.connect()
        for _ in range(BACK_OFF_ROUNDS + self._under_way()):
            self._settle_everything()
        self._check_credit()
        for reader in self.readers:
            reader.subscription.cancel()
        self.w.pass_time(100_000)
        self._check()

    def _under_way(self):
        """How many messages have yet to get anywhere, of clients and of the container."""
        container = self.container
        told = len(self.producer.published)
        return len(self.pending) - told + len(self.peer.out) + container.waiting()

    def _settle_everything(self):
        """One round: everybody takes what came, and asks for a little more."""
        peer = self.peer
        for event in list(peer.came):
            peer.decide(event, _spec.Accepted(), OutcomeKind.ACCEPTED)
        for link in peer.ours(sends=False):
            link.send_flow(credit=10)
        self.w.step()
        for reader in self.readers:
            for delivery in reader.unsettled():
                self._settle(reader, delivery, ACCEPTED)
            if not reader.subscription.cancelled:
                reader.answers.clear()
                reader.subscription.resume()
                reader.subscription.grant(2)
        self.w.step()
        for link in peer.ours(sends=True):
            while peer.send(link):
                pass
        peer.answer_drains()
        self.w.step()
        self.w.pass_time(5_000)

    def _check_credit(self):
        """Whoever could take a message has asked for it."""
        living = [each for each in self.readers if not each.subscription.cancelled]
        links = self.peer.ours(sends=True)
        assert len(links) == len(living), "a link too many, or one too few"
        assert not [link for link in links if link.credit <= 0], "no credit, and it is wanted"
        for address, node in self.container.nodes.items():
            fed = [each for each in living if each.subscription.queue_name == address]
            assert not (fed and node), "messages wait although somebody wants them"

    def _check(self):
        w = self.w
        w.check()
        told = dict(self.producer.published)
        assert len(told) == len(self.producer.published), "told twice"
        assert told.keys() == self.pending.keys(), "not told"
        rejected = w.host.topology.find_queue("gateway.rejected")
        kept = set(self.container.stored())
        if rejected is not None:
            entry = rejected.places.next_at(0)
            while entry is not None:
                kept.add(entry.message.payload)
                entry = rejected.places.next_at(entry.position + 1)
        for token, outcome in told.items():
            if outcome.kind == OutcomeKind.ACCEPTED:
                assert self.pending[token] in kept, f"{self.pending[token]!r} is lost"
        assert not self.problems, "\n".join(self.problems)
        for reader in self.readers:
            self._check_order(reader)
        self._check_nothing_is_left(rejected)

    def _check_order(self, reader):
        """What came by its link was delivered in the order in which it was sent."""
        if reader.log:
            assert any(_within(reader.log, sent) for sent in self.container.sent.values())

    def _check_nothing_is_left(self, rejected):
        w = self.w
        held = 0 if rejected is None else rejected.depth
        assert w.bridge.pressure.messages == held, "copies are left"
        assert w.bridge.idle(), "somebody waits"
        assert not w.upstream.outstanding()
        assert not self.peer.ours(sends=True), "a receiver is left"
        senders = self.peer.ours(sends=False)
        assert len(senders) == len({link.name for link in senders})
        assert len(senders) <= 2
        sessions = self.peer.connection.sessions()
        assert len(sessions) <= max(1, len(senders)), "a session is left"
        for connection in (self.peer.connection, w.face.connection):
            attached = [len(each.handles.links) for each in connection.sessions()]
            assert sum(attached) == len(senders)
        assert w.upstream.next_deadline() is None, "somebody is to be woken"


def _within(part, whole):
    """Whether all of `part` is in `whole`, in that order."""
    rest = iter(whole)
    return all(each in rest for each in part)


TestAnyUpstream = Script.TestCase
TestAnyUpstream.settings = settings(
    max_examples=examples(80), stateful_step_count=50, deadline=None
)


@pytest.mark.parametrize("heard", [False, True])
@pytest.mark.parametrize("leaves", [False, True])
def test_what_a_client_settled_after_it_left_is_marked_if_the_container_had_not_heard(
    leaves, heard
):
    """Found by the script: the last outcome has the link detached, and nobody asks it any more."""
    script = Script()
    script.begin(profile="plain", channel_max=1023, window=2048, unsettled=10_000, readers=1)
    script.deliver(count=1, pick=0)
    if leaves:
        script.leave(pick=0, whole=False)
    if heard:
        script.settle(pick=0, which=0, outcome=ACCEPTED)
        script.cut([], False)
    else:
        script.settle_unheard(pick=0, count=1)
    script.subscribe(queue="q", credit=0, settled=False)
    script.teardown()


@pytest.mark.parametrize("count", [83, 84, 200])
def test_all_that_waits_at_the_container_is_had_in_the_end_however_much_it_is(count):
    """Found by the script, which ended with a client in the midst of what it was to have."""
    script = Script()
    script.begin(profile="plain", channel_max=1023, window=2048, unsettled=4, readers=1)
    for _ in range(count):
        script.deliver(count=1, pick=0)
    (reader,) = script.readers
    script.teardown()
    assert reader.log == [b"c%d" % (number + 1) for number in range(count)]
