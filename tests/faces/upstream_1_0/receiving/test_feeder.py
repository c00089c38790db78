import pytest
from support.face_1_0 import body_of, message
from support.rules import rule
from support.upstream_world import UpstreamWorld

from gateway.amqp_1_0 import _spec, events, types
from gateway.faces.upstream_1_0.receiving.sources import SELECTOR, TOPIC_BINDING
from gateway.message import Condition, Kind, Refusal
from gateway.translate.profiles.profile import Profile
from gateway.translate.profiles.templates import Template, Wildcards
from gateway.translate.routing_key import ANNOTATION
from gateway.wire.tagged import Tagged


def profile(**more):
    return Profile(
        exchange=Template("{exchange|plain}/{key}"),
        subscriptions=more.pop("subscriptions", "address"),
        wildcards=Wildcards("*", "#"),
        subscription_capabilities=["topic"],
        **more,
    )


def world(*, queue="here", key="a.#", durable=False, **more):
    """An upstream whose exchange x a queue of ours is bound to."""
    w = UpstreamWorld(group=more.pop("group", ""), profile=profile(**more))
    w.place(exchange="x")
    answer = w.host.declaring.declare_exchange("x", "topic")
    assert not isinstance(answer, Refusal), answer
    w.world.queue(queue, durable=durable)
    answer = w.host.bindings.bind(queue, "x", key, {}, b"")
    assert answer is None
    w.world.turn()
    return w


def source_of(broker):
    return [event.attach for event in broker.attached if event.attach.role == _spec.RECEIVER]


def test_a_binding_is_a_subscription_at_the_upstream():
    w = world()
    broker = w.connect()
    (attach,) = source_of(broker)
    assert attach.source.address == "x/a.#"
    assert attach.source.capabilities == ["topic"]
    assert attach.source.durable is None
    assert attach.target.address == "here"
    assert broker.link("x/a.#").credit > 0


def test_what_comes_is_put_into_the_queue_and_accepted():
    w = world()
    broker = w.connect()
    broker.deliver("x/a.#", message(b"one", properties=_spec.Properties(subject="a.b")))
    w.step()
    assert w.world.depth("here") == 1
    assert broker.states() == [_spec.Accepted()]
    consumer, _ = w.world.subscribe("here")
    w.step()
    (delivery,) = consumer.take()
    assert body_of(delivery.message.payload) == b"one"
    assert (delivery.message.exchange, delivery.message.routing_key) == ("x", "a.b")
    w.check()


def test_it_is_accepted_only_when_it_is_safe():
    w = world(durable=True)
    broker = w.connect()
    w.world.auto_commit = False
    broker.deliver("x/a.#", message(b"one", header=_spec.Header(durable=True)))
    w.step()
    assert broker.states() == []
    w.world.commit()
    w.step()
    assert broker.states() == [_spec.Accepted()]


def test_what_the_upstream_settles_before_it_is_safe_stays_and_is_marked_if_it_comes_again():
    w = world(durable=True)
    broker = w.connect()
    w.world.auto_commit = False
    text = message(b"one", header=_spec.Header(durable=True))
    delivery = broker.deliver("x/a.#", text)
    w.step()
    delivery.link.session.settle_outgoing(delivery, _spec.Released())
    w.step()
    w.world.auto_commit = True
    w.world.commit()
    broker.deliver("x/a.#", text)
    w.step()
    assert broker.states() == [_spec.Accepted()]
    consumer, _ = w.world.subscribe("here")
    w.step()
    assert [delivery.delivery_count for delivery in consumer.take()] == [0, 1]
    w.check()


def test_a_durable_queue_has_a_durable_subscription_of_a_name_that_stays():
    w = world(durable=True, durable_subscriptions=True)
    first = source_of(w.connect())[0]
    assert first.source.durable == _spec.DURABLE_UNSETTLED_STATE
    assert first.source.expiry_policy == "never"
    w.lose()
    again = source_of(w.connect())[0]
    assert again.name == first.name
    assert "here" in first.name


def test_gateways_of_a_group_share_a_durable_subscription_by_one_name():
    names = []
    for container in ("orders-0", "orders-1"):
        w = world(durable=True, durable_subscriptions=True, shared=True, group="orders")
        w.upstream.context.settings.container_id = container
        [attach] = source_of(w.connect())
        assert attach.source.capabilities == ["topic", "shared", "global"]
        names.append(attach.name)
    assert names[0] == names[1]
    assert names[0].startswith("orders.here.")
    assert "|" not in names[0]


def test_a_group_refuses_a_binding_that_its_gateways_cannot_share():
    w = world(durable=True, durable_subscriptions=True)
    w.upstream.context.settings.group = "orders"
    answer = w.host.bindings.bind("here", "x", "another", {}, b"")
    assert answer.condition == Condition.NOT_IMPLEMENTED
    assert "share" in answer.description


def test_the_gateways_stop_leaves_a_durable_subscription_alone():
    w = world(durable=True, durable_subscriptions=True)
    broker = w.connect()
    w.face.drain(w.now_ms)
    w.face.force_close(w.now_ms)
    w.step()
    assert broker.take_all(events.DetachReceived) == []


@rule("1.0", "2.6.4", "detach-is-answered")
@pytest.mark.parametrize("closed", [True, False])
def test_a_durable_subscription_that_is_only_detached_there_is_not_closed_by_us(closed):
    w = world(durable=True, durable_subscriptions=True)
    broker = w.connect()
    [before] = source_of(broker)
    broker.link("x/a.#").send_detach(closed=closed)
    w.step()
    [answer] = broker.take_all(events.DetachReceived)
    assert bool(answer.detach.closed) == closed
    w.pass_time(3_000)
    assert source_of(broker)[-1].name == before.name
    assert broker.link("x/a.#").credit > 0


def test_an_unbind_closes_the_subscription_after_its_last_outcome():
    w = world(durable_subscriptions=True)
    broker = w.connect()
    assert w.host.bindings.unbind("here", "x", "a.#") is None
    w.step()
    (detached,) = broker.take_all(events.DetachReceived)
    assert detached.detach.closed


def test_a_refused_subscription_is_tried_again():
    w = world()
    error = _spec.Error(condition="amqp:not-found")
    broker = w.connect(prepare=lambda b: b.refusals.update({"x/a.#": error}))
    assert broker.links("x/a.#", sends=True) == []
    broker.refusals.clear()
    w.pass_time(3_000)
    assert broker.link("x/a.#").credit > 0


def test_a_key_that_goes_as_a_filter_must_be_in_the_answer():
    w = world(subscriptions="filter", subscription=Template("{exchange|plain}"))
    broker = w.connect()
    (attach,) = source_of(broker)
    described = attach.source.filter[TOPIC_BINDING].value
    assert described.value == Tagged(types.STRING, "a.#")
    assert broker.link("x").credit > 0

    w = world(subscriptions="filter", subscription=Template("{exchange|plain}"))

    def prepare(peer):
        peer.answers["x"] = lambda event: peer.accept(event, source=_spec.Source(address="x"))

    broker = w.connect(prepare=prepare)
    assert broker.links("x", sends=True) == []
    assert "ignored" in w.upstream.health.last_error


@pytest.mark.parametrize(
    ("keys_in", "payload"),
    [
        ("subject", message(properties=_spec.Properties(subject="a.b"))),
        ("to", message(properties=_spec.Properties(to="x/a.b"))),
        (
            "annotations",
            message(
                annotations=[
                    (
                        Tagged(types.SYMBOL, "x-routing-key"),
                        Tagged(types.STRING, "a.b"),
                    )
                ]
            ),
        ),
    ],
)
def test_the_routing_key_is_where_the_profile_says(keys_in, payload):
    w = world(keys_in=keys_in)
    broker = w.connect()
    consumer, _ = w.world.subscribe("here")
    broker.deliver("x/a.#", payload)
    w.step()
    (delivery,) = consumer.take()
    assert delivery.message.routing_key == "a.b"


KEY = [(Tagged(types.SYMBOL, ANNOTATION), Tagged(types.STRING, "a.c"))]
BROKERS_KEY = [(Tagged(types.SYMBOL, "x-routing-key"), Tagged(types.STRING, "a.b"))]


def key_of(keys_in, payload, *, key="a.#"):
    """The routing key of what comes, and the message that goes on."""
    w = world(keys_in=keys_in, key=key)
    broker = w.connect()
    consumer, _ = w.world.subscribe("here")
    broker.deliver(f"x/{key}", payload)
    w.step()
    (delivery,) = consumer.take()
    w.check()
    return delivery.message.routing_key, delivery.message.payload


@pytest.mark.parametrize("subject", [None, "what it is about"])
def test_a_key_that_another_gateway_annotated_is_believed_and_taken_away(subject):
    properties = _spec.Properties(subject=subject)
    key, payload = key_of("subject", message(properties=properties, annotations=KEY))
    assert (key, payload) == ("a.c", message(properties=properties))


def test_a_broker_that_annotates_keys_itself_knows_better():
    key, payload = key_of("annotations", message(annotations=KEY + BROKERS_KEY))
    assert (key, payload) == ("a.b", message(annotations=BROKERS_KEY))


@pytest.mark.parametrize(
    ("to", "bound", "key"),
    [
        ("x/a.b", "a.#", "a.b"),
        ("y/a.b", "a.#", ""),  # of another exchange
        (None, "a.#", ""),
        (None, "*.b", ""),
        (None, "a.b#", "a.b#"),  # no wildcard: it stands for itself
        (None, "a.b", "a.b"),
    ],
)
def test_without_a_subject_the_address_may_have_the_key_but_the_pattern_is_none(to, bound, key):
    assert key_of("subject", message(properties=_spec.Properties(to=to)), key=bound)[0] == key


def test_what_was_not_confirmed_when_the_link_was_lost_may_come_again():
    w = world(durable=True)
    broker = w.connect()
    w.world.auto_commit = False
    broker.deliver("x/a.#", message(b"one", header=_spec.Header(durable=True)))
    w.step()
    w.lose()
    w.world.auto_commit = True
    broker = w.connect()
    assert broker.states() == []
    assert w.counts.unsettled_lost == 1
    w.check()


SELECTED = {"x-filter-jms-selector": Tagged(Kind.STRING, "colour = 'red'")}


def selecting_world(*, arguments=SELECTED, prepare=None, **more):
    w = UpstreamWorld(profile=profile(selector=True, **more))
    w.place(exchange="x")
    w.host.declaring.declare_exchange("x", "topic")
    w.world.queue("here")
    assert w.host.bindings.bind("here", "x", "a.#", arguments, b"") is None
    w.world.turn()
    return w, w.connect(prepare=prepare)


def test_a_selector_of_a_binding_is_the_upstreams_to_apply():
    _, broker = selecting_world()
    (attach,) = source_of(broker)
    assert attach.source.filter[SELECTOR].value.value == Tagged(types.STRING, "colour = 'red'")
    assert broker.link("x/a.#").credit > 0


def test_a_selector_and_a_key_go_together():
    _, broker = selecting_world(subscriptions="filter", subscription=Template("{exchange|plain}"))
    (attach,) = source_of(broker)
    assert sorted(attach.source.filter) == sorted([SELECTOR, TOPIC_BINDING])
    assert broker.link("x").credit > 0


@rule("1.0", "2.6.3", "remote-terminus-is-verified")
@rule("1.0", "3.5.3", "filters-in-place-are-checked")
def test_nothing_is_fed_where_a_selector_is_not_applied():
    def prepare(peer):
        peer.answers["x/a.#"] = lambda event: peer.accept(event, source=_spec.Source(address="x"))

    w, broker = selecting_world(prepare=prepare)
    assert broker.links("x/a.#", sends=True) == []
    assert "ignored" in w.upstream.health.last_error
    assert w.counts.feeds_refused == 1


@pytest.mark.parametrize(
    ("made_of", "kind", "key", "arguments"),
    [
        ({"subscriptions": "none"}, "topic", "a", {}),
        ({"wildcards": Wildcards("*", "#", any_last_only=True)}, "topic", "#.a", {}),
        ({}, "topic", "a", SELECTED),
        ({"selector": True}, "fanout", "", {}),
        ({"fanout": Template("{exchange}")}, "headers", "", {"a": Tagged(Kind.STRING, "b")}),
        (
            {"fanout": Template("{exchange}")},
            "headers",
            "",
            {"x-match": Tagged(Kind.STRING, "any")},
        ),
    ],
)
def test_a_binding_that_cannot_be_a_subscription_there_is_refused(made_of, kind, key, arguments):
    made = {
        "exchange": Template("{exchange|plain}/{key}"),
        "subscriptions": "address",
        "wildcards": Wildcards("*", "#"),
        **made_of,
    }
    w = UpstreamWorld(profile=Profile(**made))
    w.place(exchange="x")
    w.host.declaring.declare_exchange("x", kind)
    w.world.queue("here")
    refusal = w.refusal(w.host.bindings.bind("here", "x", key, arguments, b""))
    assert refusal.condition == Condition.NOT_IMPLEMENTED
    assert w.host.topology.find_exchange("x").bindings == {}
    assert source_of(w.connect()) == []


def test_a_headers_binding_that_takes_everything_is_a_subscription():
    w = UpstreamWorld(
        profile=Profile(fanout=Template("{exchange}"), subscriptions="address")
    ).place(exchange="x")
    w.host.declaring.declare_exchange("x", "headers")
    w.world.queue("here")
    everything = {"x-match": Tagged(Kind.STRING, "all")}
    assert w.host.bindings.bind("here", "x", "", everything, b"") is None
    assert source_of(w.connect())[0].source.address == "x"


def test_a_lasting_refusal_is_counted_and_said():
    w = world()
    told = []
    w.upstream.health.on_change = lambda: told.append(w.upstream.health.last_error)
    error = _spec.Error(condition="amqp:unauthorized-access", description="not you")
    w.connect(prepare=lambda b: b.refusals.update({"x/a.#": error}))
    assert w.counts.feeds_refused == 1
    assert "key 'a.#' for queue 'here': amqp:unauthorized-access: not you" in told[-1]
    w.pass_time(1_000)
    assert w.counts.feeds_refused == 2


def test_octets_that_are_no_message_do_not_use_up_the_credit():
    w = world()
    broker = w.connect()
    credit = broker.link("x/a.#").credit
    for _ in range(credit):
        broker.deliver("x/a.#", b"\x00\x53\x75\xa0")
    w.step()
    assert {state.error.condition for state in broker.states()} == {"amqp:decode-error"}
    broker.deliver("x/a.#", message(b"one"))
    w.step()
    assert (w.world.depth("here"), w.counts.undecodable) == (1, credit)
