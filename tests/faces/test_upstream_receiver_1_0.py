import pytest
from support.face_1_0 import body_of, message
from support.upstream_world import UpstreamWorld

from gateway.amqp_1_0 import _spec, events, types
from gateway.bridge.limits import BridgeLimits
from gateway.bridge.seams import DeliverStatus
from gateway.bridge.subscription import UNLIMITED
from gateway.faces.receiver_1_0 import SETTLED_CREDIT_MAX
from gateway.faces.sources_1_0 import SELECTOR
from gateway.message import (
    ACCEPTED,
    MODIFIED_FAILED,
    RELEASED,
    Condition,
    Flag,
    Outcome,
    OutcomeKind,
)
from gateway.translate.outcomes import ROW_REJECTED
from gateway.translate.profile import Profile
from gateway.wire.limits import Limits
from gateway.wire.tagged import Tagged

NOT_FOUND = _spec.Error(condition="amqp:not-found", description="no such node")
FORCED = _spec.Error(condition="amqp:link:detach-forced")
BROKEN = _spec.Error(condition="amqp:internal-error", description="oops")


def world(**profile):
    return UpstreamWorld(profile=Profile(**profile)).place("q", "r")


def bodies(consumer):
    return [body_of(payload) for payload in consumer.bodies()]


def asked(broker, address="q"):
    """The source that we asked for, and the attach."""
    for event in broker.attached:
        if event.attach.role == _spec.SENDER:
            continue
        if event.attach.source.address == address:
            return event.attach.source, event.attach
    raise AssertionError("nothing was asked for")


def test_a_subscription_is_in_force_when_the_upstream_has_attached():
    w = world()
    consumer, subscription = w.subscribe()
    assert subscription.attaching
    assert consumer.attached == 0
    w.connect()
    assert consumer.attached == 1
    assert not subscription.attaching


def test_the_source_asks_for_unsettled_deliveries_and_failed_ones_by_default():
    w = world(queue_capabilities=["queue"])
    broker = w.connect()
    w.subscribe()
    source, attach = asked(broker)
    assert attach.snd_settle_mode == _spec.SND_UNSETTLED
    assert source.default_outcome == _spec.Modified(delivery_failed=True)
    assert "amqp:modified:list" in source.outcomes
    assert source.capabilities == ["queue"]
    assert source.distribution_mode is None


def test_where_modified_is_not_taken_the_default_outcome_is_released():
    w = world(modified=False)
    broker = w.connect()
    w.subscribe()
    source, _ = asked(broker)
    assert source.default_outcome == _spec.Released()
    assert "amqp:modified:list" not in source.outcomes


def test_a_message_comes_through_and_its_outcome_goes_back():
    w = world()
    broker = w.connect()
    consumer, _ = w.subscribe()
    broker.deliver("q", message(b"one"))
    broker.deliver("q", message(b"two"))
    w.step()
    assert bodies(consumer) == [b"one", b"two"]
    assert broker.states() == []
    first, second = consumer.take()
    w.settle(second, ACCEPTED)
    w.settle(first, Outcome(OutcomeKind.REJECTED, condition=Condition.NOT_ALLOWED))
    assert broker.states() == [
        _spec.Accepted(),
        _spec.Rejected(error=_spec.Error(condition="amqp:not-allowed")),
    ]
    assert w.counts.received == 2
    assert w.counts.settled_received[OutcomeKind.ACCEPTED] == 1
    w.check()


@pytest.mark.parametrize(
    ("profile", "state"),
    [
        ({}, _spec.Modified(delivery_failed=True)),
        ({"modified": False}, _spec.Released()),
    ],
)
def test_modified_goes_as_released_where_it_is_not_taken(profile, state):
    w = world(**profile)
    broker = w.connect()
    consumer, _ = w.subscribe()
    broker.deliver("q", message())
    w.step()
    w.settle(consumer.take()[0], MODIFIED_FAILED)
    assert broker.states() == [state]


@pytest.mark.parametrize(
    ("forgets", "node", "outcome", "counts"),
    [
        (True, "q", MODIFIED_FAILED, [1, 0]),
        (True, "q", RELEASED, [0, 0]),
        (True, "other", MODIFIED_FAILED, [0, 0]),
        (False, "q", MODIFIED_FAILED, [0, 0]),
    ],
)
def test_what_came_back_as_failed_is_marked_once_at_its_node_where_that_forgets_it(
    forgets, node, outcome, counts
):
    w = UpstreamWorld(profile=Profile(forgets_failed=forgets)).place("q").place("other")
    broker = w.connect()
    consumers = {name: w.subscribe(name)[0] for name in ("q", "other")}
    broker.deliver("q", message(b"one"))
    w.step()
    w.settle(consumers["q"].take()[0], outcome)
    broker.deliver(node, message(b"one"))
    broker.deliver(node, message(b"one"))
    w.step()
    assert [each.delivery_count for each in consumers[node].take()] == counts


def test_undeliverable_here_is_left_out_where_it_is_not_taken():
    w = world(undeliverable_here=False)
    broker = w.connect()
    consumer, _ = w.subscribe()
    broker.deliver("q", message())
    w.step()
    w.settle(
        consumer.take()[0],
        Outcome(OutcomeKind.MODIFIED, delivery_failed=True, undeliverable_here=True),
    )
    assert broker.states() == [_spec.Modified(delivery_failed=True)]


def test_the_upstreams_delivery_count_says_redelivered():
    w = world()
    broker = w.connect()
    consumer, _ = w.subscribe()
    broker.deliver("q", message(header=_spec.Header(delivery_count=2)))
    w.step()
    assert consumer.take()[0].delivery_count == 2


@pytest.mark.parametrize(
    ("header", "marked", "unmarked"),
    [
        (_spec.Header(first_acquirer=False), 1, 0),
        (_spec.Header(first_acquirer=True), 0, 0),
        (_spec.Header(), 0, 0),
        (_spec.Header(first_acquirer=False, delivery_count=3), 3, 3),
    ],
)
def test_first_acquirer_says_redelivered_where_the_profile_says_so(header, marked, unmarked):
    for said, count in ((True, marked), (False, unmarked)):
        w = UpstreamWorld(profile=Profile(first_acquirer=said)).place("q")
        broker = w.connect()
        consumer, _ = w.subscribe()
        broker.deliver("q", message(b"one", header=header))
        w.step()
        (delivery,) = consumer.take()
        assert delivery.message.delivery_count == count
        assert bool(delivery.message.flags & Flag.REDELIVERED) == (count > 0)


def test_credit_follows_the_subscription():
    w = world()
    broker = w.connect()
    consumer, subscription = w.subscribe(credit=0)
    assert broker.link("q").credit == 0
    subscription.grant(8)
    w.step()
    assert broker.link("q").credit == 8
    subscription.stop()
    w.step()
    assert broker.link("q").credit == 0
    assert consumer.cancelled == []


def test_credit_is_refilled_as_the_client_grants_more():
    w = world()
    broker = w.connect()
    consumer, subscription = w.subscribe(credit=4)
    for number in range(20):
        assert broker.link("q").credit > 0
        broker.deliver("q", message(b"%d" % number))
        w.step()
        w.settle(consumer.take()[0], ACCEPTED)
        subscription.add(1)
        w.step()
    assert len(broker.states()) == 20


def test_a_drain_is_the_upstreams_to_answer():
    w = world()
    broker = w.connect()
    consumer, subscription = w.subscribe(credit=5)
    subscription.drain()
    w.step()
    link = broker.link("q")
    assert link.drain
    assert consumer.drained == 0
    broker.deliver("q", message(b"last"))
    link.send_drained()
    w.step()
    assert bodies(consumer) == [b"last"]
    assert consumer.drained == 1
    subscription.grant(3)
    w.step()
    assert not link.drain
    assert link.credit == 3


def test_a_drain_that_is_never_answered_ends_with_its_link():
    w = world()
    broker = w.connect()
    consumer, subscription = w.subscribe()
    broker.deliver("q", message(b"one"))
    subscription.drain()
    w.step()
    link = broker.link("q")
    w.pass_time(29_000)
    broker.deliver("q", message(b"two"))
    w.step()
    w.pass_time(29_000)
    assert consumer.drained == 0
    w.pass_time(1_000)
    assert consumer.drained == 1
    assert not link.attached
    assert w.upstream.last_error == "no answer to a drain of 'q'"
    assert consumer.cancelled == []
    subscription.grant(5)
    w.pass_time(2_000)
    assert broker.link("q").credit == 5
    assert [w.host.settle(delivery, ACCEPTED) for delivery in consumer.take()] == [False, False]
    w.check()


def test_a_drain_is_over_when_the_credit_was_used_up():
    w = world()
    broker = w.connect()
    consumer, subscription = w.subscribe(credit=1)
    subscription.drain()
    w.step()
    broker.deliver("q", message(b"last"))
    w.step()
    assert bodies(consumer) == [b"last"]
    assert consumer.drained == 1


def test_where_drain_is_not_answered_credit_is_taken_back_after_a_while():
    w = world(drain=False)
    broker = w.connect()
    consumer, subscription = w.subscribe(credit=5)
    subscription.drain()
    w.step()
    assert not broker.link("q").drain
    broker.deliver("q", message(b"one"))
    w.step()
    assert consumer.drained == 0
    w.pass_time(200)
    assert broker.link("q").credit == 0
    assert bodies(consumer) == [b"one"]
    assert consumer.drained == 1


@pytest.mark.parametrize("credit", [7, UNLIMITED])
def test_a_drain_goes_on_beyond_what_a_link_may_bring_at_a_time(credit):
    w = UpstreamWorld(
        bridge_limits=BridgeLimits(remote_prefetch=3), limits=Limits(link_credit=3)
    ).place("q")
    broker = w.connect()
    consumer, subscription = w.subscribe(credit=credit)
    subscription.drain()
    for number in range(6):
        w.step()
        link = broker.link("q")
        assert link.drain
        assert link.credit
        link.send_delivery(b"%d" % number, b"", message(b"%d" % number), settled=False)
    w.step()
    assert consumer.drained == 0
    broker.link("q").send_drained()
    w.step()
    assert bodies(consumer) == [b"%d" % number for number in range(6)]
    assert consumer.drained == 1


def test_a_node_that_is_not_there_refuses_the_subscription():
    w = world()
    broker = w.connect()
    broker.refusals["q"] = NOT_FOUND
    consumer, _ = w.subscribe()
    assert consumer.attached == 0
    assert consumer.cancelled == [Condition.NOT_FOUND]
    assert consumer.why == ["no such node"]
    assert w.counts.links_refused >= 1
    w.check()


def test_an_error_that_passes_is_tried_again_until_the_time_is_over():
    w = world()
    broker = w.connect()
    broker.refusals["q"] = BROKEN
    consumer, _ = w.subscribe()
    assert consumer.cancelled == []
    w.pass_time(29_000)
    assert consumer.cancelled == []
    assert len([e for e in broker.attached if e.attach.role == _spec.RECEIVER]) > 2
    w.pass_time(2_000)
    assert consumer.cancelled == [Condition.INTERNAL_ERROR]
    assert "oops" in consumer.why[0]


def test_an_error_that_has_passed_is_not_told():
    w = world()
    broker = w.connect()
    broker.refusals["q"] = BROKEN
    consumer, _ = w.subscribe()
    broker.refusals.clear()
    w.pass_time(5_000)
    assert consumer.attached == 1
    assert consumer.cancelled == []


def test_an_upstream_that_is_down_refuses_after_a_while():
    w = world()
    consumer, _ = w.subscribe()
    w.pass_time(30_000)
    assert consumer.cancelled == [Condition.INTERNAL_ERROR]
    w.check()


def test_a_selector_is_passed_on_and_must_be_in_the_answer():
    w = world(selector=True)
    broker = w.connect()
    consumer, _ = w.subscribe(selector="colour = 'red'")
    source, _ = asked(broker)
    described = source.filter[SELECTOR].value
    assert described.descriptor == Tagged(types.ULONG, 0x0000468C00000004)
    assert described.value == Tagged(types.STRING, "colour = 'red'")
    assert consumer.attached == 1


def test_a_selector_that_is_ignored_refuses_the_subscription():
    w = world(selector=True)
    broker = w.connect()
    broker.answers["q"] = lambda event: broker.accept(event, source=_spec.Source(address="q"))
    consumer, _ = w.subscribe(selector="colour = 'red'")
    assert consumer.cancelled == [Condition.NOT_IMPLEMENTED]
    assert consumer.attached == 0
    assert broker.links("q", sends=True) == []


def test_where_selectors_are_known_to_be_ignored_nothing_is_asked():
    w = world(selector=False)
    broker = w.connect()
    consumer, _ = w.subscribe(selector="colour = 'red'")
    assert consumer.cancelled == [Condition.NOT_IMPLEMENTED]
    assert [e for e in broker.attached if e.attach.role == _spec.RECEIVER] == []
    w.check()


def test_no_local_is_refused_since_all_clients_are_one_there():
    w = world(no_local=True)
    w.connect()
    consumer, _ = w.subscribe(no_local=True)
    assert consumer.cancelled == [Condition.NOT_IMPLEMENTED]


def test_a_browser_asks_for_copies():
    w = world()
    broker = w.connect()
    consumer, _ = w.subscribe(acquire=False)
    source, _ = asked(broker)
    assert source.distribution_mode == "copy"
    broker.deliver("q", message(b"seen"))
    w.step()
    delivery = consumer.take()[0]
    assert not delivery.acquired
    w.settle(delivery, RELEASED)
    assert broker.states() != []
    w.check()


def test_a_browser_that_would_take_is_refused_before_any_credit():
    w = world()
    broker = w.connect()
    broker.answers["q"] = lambda event: broker.accept(event, source=_spec.Source(address="q"))
    consumer, _ = w.subscribe(acquire=False)
    assert consumer.cancelled == [Condition.NOT_IMPLEMENTED]
    receivers = [e.link for e in broker.attached if e.attach.role == _spec.RECEIVER]
    assert [link.credit for link in receivers] == [0]


def test_where_browsing_is_known_to_take_nothing_is_asked():
    w = world(browse="none")
    broker = w.connect()
    consumer, _ = w.subscribe(acquire=False)
    assert consumer.cancelled == [Condition.NOT_IMPLEMENTED]
    assert [e for e in broker.attached if e.attach.role == _spec.RECEIVER] == []


def test_a_peer_that_settles_by_itself_is_refused_where_outcomes_count():
    w = world()
    broker = w.connect()
    broker.answers["q"] = lambda event: broker.accept(event, snd_settle_mode=_spec.SND_SETTLED)
    consumer, _ = w.subscribe()
    assert consumer.cancelled == [Condition.NOT_IMPLEMENTED]


def test_what_the_client_need_not_settle_is_accepted_when_it_was_sent_to_it():
    w = world()
    broker = w.connect()
    consumer, _ = w.subscribe(settled=True, credit=1)
    broker.deliver("q", message(b"one"))
    w.step()
    assert bodies(consumer) == [b"one"]
    assert broker.states() == [_spec.Accepted()]
    w.check()


def test_what_comes_settled_is_passed_on():
    w = world()
    broker = w.connect()
    consumer, _ = w.subscribe()
    broker.deliver("q", message(b"one"), settled=True)
    w.step()
    w.settle(consumer.take()[0], ACCEPTED)
    assert broker.states() == []
    w.check()


def settling(*, credit=10, limits=None, **profile):
    """A client without acceptance, at an upstream that is asked to settle; who is asked."""
    w = UpstreamWorld(profile=Profile(**profile), bridge_limits=limits).place("q", settled=True)
    broker = w.connect()
    consumer, subscription = w.subscribe(settled=True, credit=credit)
    return w, broker, consumer, subscription


def test_settled_deliveries_are_asked_for_where_a_rule_wants_it_and_the_client_does_not_settle():
    w, broker, consumer, _ = settling()
    assert asked(broker)[1].snd_settle_mode == _spec.SND_SETTLED
    broker.deliver("q", message(b"one"), settled=True)
    w.step()
    assert bodies(consumer) == [b"one"]
    assert broker.states() == []
    w.check()


def test_who_settles_is_not_sent_settled_deliveries():
    w = UpstreamWorld().place("q", settled=True)
    broker = w.connect()
    w.subscribe()
    assert asked(broker)[1].snd_settle_mode == _spec.SND_UNSETTLED


def test_a_broker_that_does_not_settle_is_not_asked_to():
    _, broker, _, _ = settling(settled=False)
    assert asked(broker)[1].snd_settle_mode == _spec.SND_UNSETTLED


@pytest.mark.parametrize("mode", [_spec.SND_UNSETTLED, _spec.SND_MIXED])
def test_a_broker_that_answers_with_another_mode_is_told_of_each_delivery(mode):
    w = UpstreamWorld().place("q", settled=True)
    broker = w.connect()
    broker.answers["q"] = lambda event: broker.accept(event, snd_settle_mode=mode)
    consumer, subscription = w.subscribe(settled=True, credit=UNLIMITED)
    assert broker.link("q").credit > SETTLED_CREDIT_MAX
    broker.deliver("q", message(b"one"))
    w.step()
    assert broker.states() == [_spec.Accepted()]
    subscription.cancel()
    assert bodies(consumer) == [b"one"]
    w.check()


def test_little_credit_is_given_where_nothing_can_be_given_back():
    w, broker, _, subscription = settling(credit=3)
    assert broker.link("q").credit == 3
    subscription.grant(UNLIMITED)
    w.step()
    assert broker.link("q").credit == SETTLED_CREDIT_MAX
    w.check()


def test_what_came_settled_and_was_not_sent_goes_back_to_its_node():
    w, broker, consumer, subscription = settling()
    for number in range(3):
        broker.deliver("q", message(b"%d" % number), settled=True)
    octets = broker.connection.data_to_send()
    w.face.receive_data(octets, w.now_ms)
    subscription.stop()
    w.step()
    assert consumer.bodies() == []
    again = broker.received()
    assert [body_of(each.payload) for each in again] == [b"0", b"1", b"2"]
    for each in again:
        broker.settle(each)
    w.step()
    assert w.host.queue("q").depth == 0
    w.check()


def test_what_comes_settled_after_the_client_left_goes_back_too():
    w, broker, consumer, subscription = settling()
    broker.link("q").send_delivery(b"late", b"", message(b"late"), settled=True)
    late = broker.connection.data_to_send()
    subscription.cancel()
    w.face.receive_data(late, w.now_ms)
    w.step()
    assert consumer.bodies() == []
    assert [body_of(each.payload) for each in broker.received()] == [b"late"]
    assert broker.links("q", sends=True) == []  # the broker has answered that nothing more comes
    w.check()


def test_a_link_that_may_still_bring_settled_deliveries_is_kept_longer():
    w, broker, _, subscription = settling()
    link = broker.link("q")
    subscription.cancel()
    w.face.data_to_send()  # the flow is lost on the broker
    w.pass_time(4_900)
    assert link.attached
    w.pass_time(200)
    assert not link.attached


def test_what_a_mixed_sender_settled_survives_its_connection():
    w = world()
    broker = w.connect()
    broker.answers["q"] = lambda event: broker.accept(event, snd_settle_mode=_spec.SND_MIXED)
    consumer, _ = w.subscribe()
    broker.deliver("q", message(b"one"), settled=True)
    w.step()
    w.lose()
    w.settle(consumer.take()[0], RELEASED)
    broker = w.connect()
    assert [body_of(each.payload) for each in broker.received()] == [b"one"]
    w.check()


def test_what_is_no_message_is_rejected():
    w = world()
    broker = w.connect()
    consumer, _ = w.subscribe()
    broker.deliver("q", b"\x00\x01rubbish")
    w.step()
    assert consumer.bodies() == []
    (state,) = broker.states()
    assert state.error.condition == "amqp:decode-error"
    assert w.counts.undecodable == 1


def test_after_the_connection_is_lost_the_link_comes_back_and_what_is_held_is_too_late():
    w = world()
    broker = w.connect()
    consumer, _ = w.subscribe(credit=5)
    broker.deliver("q", message(b"one"))
    w.step()
    held = consumer.take()[0]
    w.lose()
    assert w.counts.unsettled_lost == 1
    broker = w.connect()
    assert consumer.attached == 1
    broker.deliver("q", message(b"one", header=_spec.Header(delivery_count=1)))
    w.step()
    w.settle(held, ACCEPTED)
    assert broker.states() == []
    again = consumer.take()[0]
    w.settle(again, ACCEPTED)
    assert broker.states() == [_spec.Accepted()]
    w.check()


def test_a_detach_that_passes_is_followed_by_another_attach_of_the_same_name():
    w = world()
    broker = w.connect()
    consumer, _ = w.subscribe()
    name = broker.link("q").name
    broker.link("q").send_detach(error=FORCED)
    w.step()
    assert broker.links("q", sends=True) == []
    w.pass_time(1_000)
    assert broker.link("q").name == name
    assert broker.link("q").credit == 10
    assert consumer.attached == 1
    assert consumer.cancelled == []


def test_a_node_that_goes_away_ends_the_subscription():
    w = world()
    broker = w.connect()
    consumer, _ = w.subscribe()
    broker.deliver("q", message(b"held"))
    w.step()
    broker.link("q").send_detach(error=_spec.Error(condition="amqp:resource-deleted"))
    w.step()
    assert consumer.cancelled == [Condition.RESOURCE_DELETED]
    w.settle(consumer.take()[0], ACCEPTED)
    w.check()


def test_a_lock_that_is_met_while_coming_back_is_waited_for():
    w = world()
    w.connect()
    consumer, _ = w.subscribe()
    w.lose()
    locked = _spec.Error(condition="amqp:resource-locked")
    broker = w.connect(prepare=lambda b: b.refusals.update(q=locked))
    assert consumer.cancelled == []
    broker.refusals.clear()
    w.pass_time(2_000)
    assert broker.link("q").credit == 10


def test_a_client_that_leaves_keeps_the_link_until_its_last_outcome():
    w = world()
    broker = w.connect()
    consumer, subscription = w.subscribe()
    broker.deliver("q", message(b"held"))
    w.step()
    subscription.cancel()
    w.step()
    assert broker.link("q").credit == 0
    w.settle(consumer.take()[0], ACCEPTED)
    assert broker.states() == [_spec.Accepted()]
    assert broker.links("q", sends=True) == []
    (detached,) = broker.take_all(events.DetachReceived)
    assert detached.detach.closed
    w.check()


def test_what_comes_after_the_client_left_is_released():
    w = world()
    broker = w.connect()
    consumer, subscription = w.subscribe()
    link = broker.link("q")
    link.send_delivery(b"late", b"", message(b"late"), settled=False)
    late = broker.connection.data_to_send()
    subscription.cancel()
    w.face.receive_data(late, w.now_ms)
    w.step()
    assert consumer.bodies() == []
    assert broker.states() == [_spec.Released()]
    w.check()


def test_what_was_fetched_and_not_sent_is_released_when_the_client_stops():
    w = world()
    broker = w.connect()
    consumer, subscription = w.subscribe(credit=10)
    for number in range(3):
        broker.deliver("q", message(b"%d" % number))
    octets = broker.connection.data_to_send()
    w.face.receive_data(octets, w.now_ms)
    subscription.stop()
    w.step()
    assert consumer.bodies() == []
    assert broker.states() == [_spec.Released()] * 3
    w.check()


def test_a_delivery_over_which_the_link_ends_twice_is_poison():
    w = world()
    broker = w.connect()
    consumer, _ = w.subscribe()
    for _ in range(2):
        broker.deliver("q", message(b"bad"))
        w.step()
        consumer.take()
        broker.link("q").send_detach(error=BROKEN)
        w.step()
        w.pass_time(5_000)
    broker.deliver("q", message(b"bad"))
    broker.deliver("q", message(b"good"))
    w.step()
    assert bodies(consumer) == [b"good"]
    (state,) = broker.states()
    assert isinstance(state, _spec.Rejected)
    assert w.counts.poison == 1
    w.check()


def test_two_subscriptions_have_links_of_their_own():
    w = world()
    broker = w.connect()
    first, _ = w.subscribe(credit=1)
    second, _ = w.subscribe(credit=1)
    links = broker.links("q", sends=True)
    assert len({link.name for link in links}) == 2
    for link in links:
        link.send_delivery(b"t", b"", message(link.name.encode()), settled=False)
    w.step()
    assert bodies(first) == [links[0].name.encode()]
    assert bodies(second) == [links[1].name.encode()]


def test_a_transfer_beyond_the_credit_ends_the_link_and_nothing_else():
    w = world()
    broker = w.connect()
    consumer, _ = w.subscribe(credit=1)
    other, _ = w.subscribe("r", credit=1)
    link = broker.link("q")
    link.credit = 5
    link.send_delivery(b"1", b"", message(b"one"), settled=False)
    link.send_delivery(b"2", b"", message(b"two"), settled=False)
    w.step()
    broker.deliver("r", message(b"other"))
    w.step()
    assert bodies(other) == [b"other"]
    assert consumer.cancelled == []
    w.pass_time(2_000)
    assert broker.link("q").name == link.name


def test_where_credit_is_counted_anew_it_is_given_only_when_it_was_used_up():
    w = world(credit="when-used-up")
    broker = w.connect()
    consumer, subscription = w.subscribe(credit=4)
    link = broker.link("q")
    for number, left in ((1, 3), (2, 2), (3, 1), (4, 3)):
        broker.deliver("q", message(b"%d" % number))
        w.step()
        w.settle(consumer.take()[0], ACCEPTED)
        subscription.add(1)
        w.step()
        assert link.credit == left


def test_where_credit_is_counted_anew_what_is_under_way_comes_on_top():
    w = world(credit="when-used-up")
    broker = w.connect()
    consumer, subscription = w.subscribe(credit=3)
    link = broker.link("q")
    subscription.stop()
    w.world.turn()
    w.face.data_to_send()  # credit 0, still under way while three messages come
    subscription.grant(2)
    link.credit = 5
    for number in range(5):
        broker.deliver("q", message(b"%d" % number))
    w.step()
    subscription.grant(5)
    w.step()
    assert bodies(consumer) == [b"0", b"1", b"2", b"3", b"4"]
    assert broker.link("q") is link


def test_the_credit_of_an_aborted_delivery_is_given_again():
    w = world()
    broker = w.connect()
    consumer, _ = w.subscribe(credit=1)
    link = broker.link("q")
    abort(link)
    w.step()
    assert link.credit == 1
    broker.deliver("q", message(b"whole"))
    w.step()
    assert bodies(consumer) == [b"whole"]


def abort(link):
    """Begin to send a delivery, then give it up."""
    session = link.session
    number = session.next_delivery_id
    first = _spec.Transfer(
        handle=link.handle_out, delivery_id=number, delivery_tag=b"t", message_format=0, more=True
    )
    session.connection.write(session.channel_out, first)
    session.connection.write(
        session.channel_out, _spec.Transfer(handle=link.handle_out, aborted=True)
    )
    session.next_delivery_id = number + 1
    session.sending.next_outgoing_id += 2
    link.delivery_count += 1
    link.credit -= 1


def test_after_a_client_has_left_a_lost_link_still_takes_back_what_it_holds():
    w = world()
    broker = w.connect()
    consumer, subscription = w.subscribe()
    broker.deliver("q", message(b"one"))
    w.step()
    delivery = consumer.take()[0]
    subscription.cancel()
    w.step()
    w.lose()
    assert w.host.settle(delivery, ACCEPTED) is False
    w.check()
    assert w.bridge.pressure.messages == 0


@pytest.mark.parametrize("end", ["stop", "cancel"])
def test_credit_is_taken_back_before_what_was_fetched_so_that_it_does_not_come_again_by_it(end):
    w = world()
    broker = w.connect()
    consumer, subscription = w.subscribe()
    consumer.answers.append(DeliverStatus.BLOCKED)
    broker.deliver("q", message(b"one"))
    w.step()
    before = len(broker.events)
    getattr(subscription, end)()
    w.step()
    first, second = broker.events[before : before + 2]
    assert (type(first), type(second)) == (events.FlowReceived, events.DispositionReceived)
    assert broker.states() == [_spec.Released()]


def test_what_is_under_way_when_a_client_stops_and_then_leaves_is_released():
    w = world()
    broker = w.connect()
    _consumer, subscription = w.subscribe()
    subscription.stop()
    w.world.turn()
    stopped = w.face.data_to_send()
    broker.deliver("q", message(b"late"))
    late = broker.connection.data_to_send()
    broker.receive(stopped, w.now_ms)
    subscription.cancel()
    w.world.turn()
    left = w.face.data_to_send()
    w.face.receive_data(late, w.now_ms)
    broker.receive(left, w.now_ms)
    w.step()
    assert broker.states() == [_spec.Released()]
    assert broker.links("q", sends=True) == []


def test_a_rejection_with_more_words_than_a_frame_holds_is_told_in_short():
    w = world()
    broker = w.connect(limits=Limits(max_frame_size=512))
    consumer, _ = w.subscribe()
    broker.deliver("q", message(b"one"))
    w.step()
    outcome = Outcome(
        OutcomeKind.REJECTED, condition=Condition.INTERNAL_ERROR, description="x" * 600
    )
    w.settle(consumer.take()[0], outcome)
    [state] = broker.states()
    assert state.error == _spec.Error(condition="amqp:internal-error", description="x" * 200)
    assert w.upstream.connected


def test_what_was_here_before_is_marked_until_it_has_ended():
    w = world()
    broker = w.connect()
    consumer, subscription = w.subscribe()
    broker.deliver("q", message(b"one"))
    w.step()
    consumer.take()
    w.lose()
    broker = w.connect()
    consumer.answers.append(DeliverStatus.BLOCKED)
    broker.deliver("q", message(b"one"))
    w.step()
    subscription.stop()
    w.step()
    assert broker.states() == [_spec.Released()]
    subscription.grant(10)
    subscription.resume()
    w.step()
    broker.deliver("q", message(b"one"))
    w.step()
    assert consumer.take()[0].delivery_count == 1


@pytest.mark.parametrize(
    "state", [_spec.Released(), _spec.Modified(delivery_failed=True), _spec.Rejected()]
)
def test_what_the_upstream_takes_back_by_itself_is_settled_too_late(state):
    w = world()
    broker = w.connect()
    consumer, subscription = w.subscribe(credit=1)
    delivery = broker.deliver("q", message(b"one"))
    w.step()
    delivery.link.session.settle_outgoing(delivery, state)
    w.step()
    assert not w.host.settle(consumer.take()[0], ACCEPTED)
    subscription.add(1)
    w.step()
    assert broker.states() == []
    assert w.bridge.counts.settled_too_late == 1
    broker.deliver("q", message(b"one"))
    w.step()
    assert consumer.take()[0].delivery_count == 1  # it may have been here before
    w.check()


def test_what_the_upstream_takes_back_is_not_sent_to_the_client_any_more():
    w = world()
    broker = w.connect()
    consumer, subscription = w.subscribe(credit=2)
    consumer.answers.append(DeliverStatus.BLOCKED)
    delivery = broker.deliver("q", message(b"one"))
    w.step()
    delivery.link.session.settle_outgoing(delivery, _spec.Released())
    w.step()
    subscription.resume()
    w.step()
    assert bodies(consumer) == []
    assert subscription.queue.depth == 0
    w.check()


@pytest.mark.parametrize("state", [None, _spec.Accepted()])
def test_what_the_upstream_forgets_with_the_client_is_ours_and_told_to_be_late(state):
    w = world()
    broker = w.connect()
    consumer, _ = w.subscribe(credit=2)
    first = broker.deliver("q", message(b"one"))
    second = broker.deliver("q", message(b"two"))
    w.step()
    for delivery in (first, second):
        delivery.link.session.settle_outgoing(delivery, state)
    w.step()
    one, two = consumer.take()
    assert not w.host.settle(one, ACCEPTED)
    assert w.bridge.counts.settled_too_late == 1
    assert w.host.settle(two, RELEASED)
    w.step()
    assert [body_of(event.payload) for event in broker.received()] == [b"two"]
    assert broker.states() == []
    w.check()


def test_what_the_upstream_forgets_before_the_client_has_it_is_as_if_it_had_come_settled():
    w = world()
    broker = w.connect()
    consumer, subscription = w.subscribe(credit=2)
    consumer.answers.append(DeliverStatus.BLOCKED)
    delivery = broker.deliver("q", message(b"one"))
    w.step()
    delivery.link.session.settle_outgoing(delivery, None)
    w.step()
    w.lose()
    subscription.resume()
    w.step()
    assert bodies(consumer) == [b"one"]
    assert w.host.settle(consumer.take()[0], ACCEPTED)
    assert w.bridge.counts.settled_too_late == 0
    w.check()


def test_octets_that_are_no_message_do_not_use_up_the_credit():
    w = UpstreamWorld().place("q")
    broker = w.connect()
    consumer, _ = w.subscribe(credit=2)
    for _ in range(2):
        broker.deliver("q", b"\x00\x53\x75\xa0")
    w.step()
    assert [state.error.condition for state in broker.states()] == ["amqp:decode-error"] * 2
    broker.deliver("q", message(b"one"))
    broker.deliver("q", message(b"two"))
    w.step()
    assert len(consumer.deliveries) == 2


def test_what_is_told_in_short_where_frames_are_small_is_a_counted_loss():
    w = world()
    broker = w.connect(limits=Limits(max_frame_size=512))
    consumer, _ = w.subscribe()
    for body in (b"one", b"two"):
        broker.deliver("q", message(body))
    w.step()
    why = Outcome(OutcomeKind.REJECTED, condition=Condition.NOT_ALLOWED, description="x" * 600)
    for delivery in consumer.take():
        w.host.settle(delivery, why)
    w.step()
    assert [len(state.error.description) for state in broker.states()] == [200, 200]
    assert w.faces.translated.lost[ROW_REJECTED] == 2
