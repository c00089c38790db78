import pytest
from support.face_1_0 import message
from support.upstream_receivers import BROKEN, NOT_FOUND, asked, bodies, world
from support.upstream_world import RemoteConsumer, UpstreamWorld

from gateway.amqp_1_0 import _spec, events, types
from gateway.bridge.seams import KeptThere, SubscribeOptions
from gateway.faces.upstream_1_0.receiving.sources import SELECTOR
from gateway.message import (
    ACCEPTED,
    MODIFIED_FAILED,
    RELEASED,
    Condition,
    Flag,
    Outcome,
    OutcomeKind,
    Refusal,
)
from gateway.translate.outcomes import ROW_REJECTED
from gateway.translate.profiles.profile import Profile
from gateway.translate.profiles.templates import Template
from gateway.wire.limits import Limits
from gateway.wire.tagged import Tagged


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


def test_a_footer_in_front_of_the_body_is_put_behind_it():
    w = world()
    broker = w.connect()
    consumer, _ = w.subscribe()
    body, footer = b"\x00\x53\x75\xa0\x01x", b"\x00\x53\x78\xc1\x01\x00"
    broker.deliver("q", footer + body)
    w.step()
    assert [delivery.message.payload for delivery in consumer.deliveries] == [body + footer]
    assert w.counts.undecodable == 0


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
    assert w.upstream.health.connected


def test_what_is_told_in_short_where_frames_are_small_is_a_counted_loss():
    w = world()
    broker = w.connect(limits=Limits(max_frame_size=512))
    consumer, _ = w.subscribe()
    for body in (b"one", b"two"):
        broker.deliver("q", message(body))
    w.step()
    why = Outcome(OutcomeKind.REJECTED, condition=Condition.NOT_ALLOWED, description="x" * 600)
    for delivery in consumer.take():
        w.host.settlement.settle(delivery, why)
    w.step()
    assert [len(state.error.description) for state in broker.states()] == [200, 200]
    assert w.faces.translated.lost[ROW_REJECTED] == 2


@pytest.mark.parametrize("over", [True, False])
def test_a_durable_subscription_of_a_group_is_closed_when_its_client_has_ended_it(over):
    profile = Profile(
        exchange=Template("{exchange|word}.{key|percent}"),
        subscriptions="address",
        shared=True,
        durable_subscriptions=True,
        subscription_capabilities=["topic"],
    )
    w = UpstreamWorld(profile=profile, group="orders").place(exchange="x")
    assert not isinstance(w.host.declaring.declare_exchange("x", "topic"), Refusal)
    broker = w.connect()
    kept = KeptThere("x", "news", {}, "app sub")
    exchange = w.host.topology.find_exchange("x")
    consumer = RemoteConsumer()
    subscription = w.host.subscribing.subscribe_there(
        exchange, consumer, w.world.owner(), SubscribeOptions(kept_there=kept)
    )
    subscription.grant(10)
    w.step()
    source, attach = asked(broker, "x.news")
    assert source.capabilities == ["topic", "global"]
    assert (source.durable, source.expiry_policy) == (_spec.DURABLE_UNSETTLED_STATE, "never")
    assert attach.name.startswith("orders.app sub.")
    kept.over = over
    subscription.cancel()
    w.step()
    w.pass_time(1_000)
    [detached] = broker.take_all(events.DetachReceived)
    assert bool(detached.detach.closed) is over


def test_a_durable_subscription_of_a_group_is_refused_where_the_upstream_cannot_keep_it():
    profile = Profile(exchange=Template("{exchange|word}.{key|percent}"), subscriptions="address")
    w = UpstreamWorld(profile=profile, group="orders").place(exchange="x")
    w.host.declaring.declare_exchange("x", "topic")
    w.connect()
    consumer = RemoteConsumer()
    exchange = w.host.topology.find_exchange("x")
    options = SubscribeOptions(kept_there=KeptThere("x", "news", {}, "app sub"))
    w.host.subscribing.subscribe_there(exchange, consumer, w.world.owner(), options)
    w.step()
    assert "several gateways" in consumer.why[0]
