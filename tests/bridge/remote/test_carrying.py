"""What an upstream's queue holds is carried elsewhere: at least once, and what is refused stays."""

from __future__ import annotations

from support.bridge_world import World
from support.remotes import FakeRelay, FakeRemote, FakeRules, FakeSource

from gateway.audit.schema import Kind, Reason
from gateway.bridge.limits import BridgeLimits
from gateway.bridge.remote.carrying import REFUSED_MAX, Carrier
from gateway.bridge.seams import DeliverStatus
from gateway.message import ACCEPTED, MODIFIED_FAILED, REJECTED, Condition, OutcomeKind

OLD, NEW = "old", "new"


class Way:
    """ "far" of upstream "old", and where what it holds goes: to "new", or here."""

    def __init__(self, *, to: str = NEW, limits: BridgeLimits | None = None) -> None:
        rules = FakeRules()
        rules.remotes = {OLD: FakeRemote(OLD), NEW: FakeRemote(NEW)}
        self.old, self.new = rules.remotes[OLD], rules.remotes[NEW]
        self.world = World(rules=rules, limits=limits or BridgeLimits(remote_prefetch=10))
        self.new.stops_relays = True
        if not to:
            self.world.queue("far", durable=True)
        self.carriers = self.world.host.nodes.carriers
        self.carrier: Carrier = self.carriers.begin(
            self.old, "far", self.new if to else None, "far"
        )
        self.carrier.on_attached()
        self.tokens = 0

    @property
    def source(self) -> FakeSource:
        return self.old.inlets[-1][1]

    @property
    def relay(self) -> FakeRelay:
        return self.new.relays["far"]

    def bring(self, *bodies: bytes, times: int = 0, durable: bool = True) -> None:
        for body in bodies:
            self.tokens += 1
            message = self.world.message(body, key="far", durable=durable)
            message.delivery_count = times
            self.carrier.receive(message, self.tokens)

    def sent(self) -> list[bytes]:
        self.world.turn()
        return [delivery.message.payload for delivery in self.relay.deliveries]

    def answer(self, outcome: object = ACCEPTED) -> None:
        """The new place settles what it has."""
        self.world.turn()
        for delivery in self.relay.take():
            self.world.host.settlement.settle(delivery, outcome, Reason.NONE)  # type: ignore[arg-type]
        self.world.turn()

    def told(self) -> list[tuple[int, OutcomeKind]]:
        self.world.turn()
        return [(token, outcome.kind) for token, outcome in self.source.published]


def test_the_old_place_hears_that_a_message_is_accepted_when_the_new_one_has_it() -> None:
    way = Way()
    way.bring(b"1", b"2")
    assert way.sent() == [b"1", b"2"]
    assert (way.told(), way.carrier.moved, way.carrier.open) == ([], 0, 2)
    way.answer()
    assert way.told() == [(1, OutcomeKind.ACCEPTED), (2, OutcomeKind.ACCEPTED)]
    assert (way.carrier.moved, way.carrier.open) == (2, 0)
    way.world.check()


def test_what_comes_here_is_accepted_when_it_is_on_disk() -> None:
    way = Way(to="")
    way.world.auto_commit = False
    way.bring(b"1")
    assert (way.told(), way.world.depth("far")) == ([], 1)
    way.world.commit()
    assert way.told() == [(1, OutcomeKind.ACCEPTED)]
    way.world.check()


def test_no_more_is_wanted_than_may_be_open_and_than_the_rate_allows() -> None:
    way = Way()
    assert way.carrier.wanted() == 10
    way.bring(b"1", b"2")
    assert way.carrier.wanted() == 8
    way.carrier.allowance = 3
    assert way.carrier.wanted() == 3
    way.bring(b"3", b"4", b"5")
    assert (way.carrier.wanted(), way.carrier.is_handing_over()) == (0, True)


def test_what_the_new_place_refuses_stays_with_the_old_one_and_is_told() -> None:
    way = Way()
    way.bring(b"1")
    way.answer(REJECTED)
    assert (way.told(), way.carrier.refused, way.carrier.open) == ([], 1, 0)
    assert way.carrier.problem
    way.bring(b"2")
    way.answer()
    way.carrier.leave()
    assert way.told() == [(2, OutcomeKind.ACCEPTED), (1, OutcomeKind.RELEASED)]
    assert way.carrier.ended()
    assert way.world.host.topology.queues.get("gateway.rejected") is None
    way.world.check()


def test_it_fetches_no_more_when_too_much_is_refused() -> None:
    way = Way()
    for _ in range(REFUSED_MAX // 10):
        way.bring(*[b"x"] * 10)
        way.answer(REJECTED)
    assert (way.carrier.refused, way.carrier.wanted()) == (REFUSED_MAX, 0)


def test_a_lost_link_takes_back_what_was_not_sent_on_and_what_was_comes_again() -> None:
    way = Way()
    way.bring(b"1")
    way.world.turn()
    way.relay.answers = [DeliverStatus.BLOCKED]
    way.bring(b"2", b"3")
    way.world.turn()
    way.carrier.lost()
    assert way.carrier.queue.depth == 1
    way.world.turn()
    assert way.carrier.open == 1
    way.carrier.on_attached()
    way.relay.subscription.resume()
    way.bring(b"1", b"2", b"3", times=1)
    way.answer()
    way.answer()
    assert way.carrier.redelivered == 3
    assert way.carrier.open == 0
    way.world.check()


def test_whether_the_old_place_is_empty_is_asked_when_nothing_comes() -> None:
    way = Way()
    way.bring(b"1")
    way.carrier.look()
    assert not way.carrier.draining
    way.answer()
    way.carrier.look()
    assert way.carrier.draining
    way.carrier.on_drained()
    assert way.carrier.empty
    way.carrier.look_again()
    assert not way.carrier.empty
    way.carrier.look()
    assert way.carrier.draining


def test_what_comes_behind_the_answer_is_no_more_empty_till_it_is_settled() -> None:
    way = Way()
    way.carrier.look()
    way.carrier.on_drained()
    way.bring(b"1")
    assert not way.carrier.empty
    way.answer()
    assert not way.carrier.empty
    way.carrier.look()
    way.carrier.look()
    way.carrier.on_drained()
    assert way.carrier.empty


def test_who_is_stopped_gives_back_what_waits_and_ends_with_what_is_under_way() -> None:
    way = Way()
    way.bring(b"1")
    way.world.turn()
    way.relay.answers = [DeliverStatus.BLOCKED]
    way.bring(b"2", b"3")
    way.world.turn()
    way.carrier.leave()
    assert way.told() == [(3, OutcomeKind.RELEASED), (2, OutcomeKind.RELEASED)]
    assert (way.source.left, way.carrier.ended()) == (1, False)
    way.answer()
    assert way.told()[-1] == (1, OutcomeKind.ACCEPTED)
    assert way.carrier.ended()
    assert (way.carriers.standing, "far" in way.new.relays) == ([], False)
    assert way.world.host.nodes.outbound.keys() == {"upstream.old", "upstream.new"}
    way.world.check()


def test_what_the_new_place_lost_goes_back_marked_when_it_is_stopped() -> None:
    way = Way()
    way.bring(b"1")
    way.world.turn()
    way.carrier.leave()
    assert not way.carrier.ended()
    way.relay.subscription.stop()
    [delivery] = way.relay.take()
    way.world.host.settlement.settle(delivery, MODIFIED_FAILED, Reason.UPSTREAM_LOST)
    assert not way.carrier.ended()
    assert way.told() == [(1, OutcomeKind.MODIFIED)]
    assert way.carrier.ended()
    way.world.check()


def test_what_comes_late_goes_back() -> None:
    way = Way()
    way.carrier.leave()
    way.bring(b"1")
    assert way.told() == [(1, OutcomeKind.RELEASED)]
    assert way.carrier.ended()
    way.world.check()


def test_what_the_old_place_has_forgotten_is_stored_here_until_it_is_sent() -> None:
    way = Way()
    message = way.world.message(b"1", key="far", durable=True)
    way.carrier.receive(message, -1, settled=True)
    assert way.sent() == [b"1"]
    way.carrier.leave()
    assert not way.carrier.ended()
    way.answer()
    assert way.carrier.ended()
    way.world.check()


def test_a_refusal_is_told_and_another_link_may_be_asked_for() -> None:
    way = Way()
    way.carrier.lost()
    way.carrier.on_refused(Condition.NOT_FOUND, "no such queue")
    assert way.carrier.refusal is not None
    way.carrier.connect(way.old)
    assert way.carrier.refusal is None
    assert len(way.old.inlets) == 2


def test_a_stop_of_the_gateway_gives_everything_back() -> None:
    way = Way()
    way.bring(b"1")
    way.answer(REJECTED)
    way.world.bridge.drain()
    assert way.told() == [(1, OutcomeKind.RELEASED)]
    assert way.carrier.wanted() == 0
    way.world.check()


def test_the_audit_log_has_each_step_of_what_is_carried() -> None:
    way = Way()
    way.bring(b"1")
    way.answer()
    way.world.check()
    kinds = {record.kind for record in way.world.blocks.records()}
    assert kinds >= {Kind.RECEIVED, Kind.ENTERED, Kind.SETTLED}
