import pytest
from support.face_1_0 import Hub, body_of, message
from support.rules import rule

from gateway.amqp_1_0 import _spec, events, types
from gateway.message import Refusal
from gateway.wire.tagged import Tagged

ACCEPTED = _spec.Accepted()
SUB = "subscription.anonymous.app.sub"  # the queue of container app, link sub, without a login
FILTERS = {
    "direct": (_spec.LEGACY_AMQP_DIRECT_BINDING, _spec.LEGACY_AMQP_DIRECT_BINDING_CODE),
    "topic": (_spec.LEGACY_AMQP_TOPIC_BINDING, _spec.LEGACY_AMQP_TOPIC_BINDING_CODE),
    "headers": (_spec.LEGACY_AMQP_HEADERS_BINDING, _spec.LEGACY_AMQP_HEADERS_BINDING_CODE),
    "no-local": (_spec.NO_LOCAL_FILTER, _spec.NO_LOCAL_FILTER_CODE),
    "selector": (_spec.SELECTOR_FILTER, _spec.SELECTOR_FILTER_CODE),
}


def filters(kind, value, *, numeric=False):
    symbol, code = FILTERS[kind]
    descriptor = Tagged(types.ULONG, code) if numeric else Tagged(types.SYMBOL, symbol)
    return {kind: Tagged(types.DESCRIBED, types.Described(descriptor, value))}


def text(value):
    return Tagged(types.STRING, value)


@pytest.fixture
def hub():
    hub = Hub()
    hub.world.queue("q")
    yield hub
    hub.end()


def subject(key, body=b"body", **application):
    properties = _spec.Properties(subject=key)
    return message(body, properties=properties, application=application or None)


def bodies(client):
    return [body_of(payload) for payload in client.received()]


# Addresses.


@pytest.mark.parametrize("role", [_spec.SENDER, _spec.RECEIVER])
def test_an_address_that_names_nothing_is_not_found(hub, role):
    client = hub.client()
    terminus = {"target": _spec.Target(address="nowhere")}
    if role == _spec.RECEIVER:
        terminus = {"source": _spec.Source(address="nowhere")}
    link = client.attach(role, **terminus)
    assert client.refused() == "amqp:not-found"
    assert (link.attach.source if role else link.attach.target) is None


def test_a_sender_to_an_exchange_routes_by_subject(hub):
    client = hub.client()
    client.receiver("amq.direct", filter=filters("direct", text("k")))
    sender = client.sender("amq.direct")
    client.send(sender, subject("k", b"yes"), tag=b"1")
    client.send(sender, subject("other", b"no"), tag=b"2")
    assert bodies(client) == [b"yes"]


def test_a_key_in_the_address_is_the_key_for_sender_and_receiver(hub):
    client = hub.client()
    client.receiver("amq.direct/k")
    client.send(client.sender("amq.direct/k"), subject("ignored", b"1"))
    client.send(client.sender("amq.direct/l"), subject("k", b"2"))
    assert bodies(client) == [b"1"]


@pytest.mark.parametrize("numeric", [True, False])
def test_a_topic_filter_binds_with_its_pattern(hub, numeric):
    client = hub.client()
    link = client.receiver("amq.topic", filter=filters("topic", text("a.*"), numeric=numeric))
    assert list(link.attach.source.filter) == ["topic"]
    sender = client.sender("amq.topic")
    for number, key in enumerate(["a.b", "a.b.c", "b"]):
        assert client.send(sender, subject(key, key.encode()), tag=bytes([number])) == ACCEPTED
    assert bodies(client) == [b"a.b"]


@pytest.mark.parametrize("exchange", ["amq.topic", "amq.fanout", "amq.match"])
def test_without_a_filter_a_receiver_gets_all(hub, exchange):
    client = hub.client()
    client.receiver(exchange)
    client.send(client.sender(exchange), subject("any.key"))
    assert bodies(client) == [b"body"]


def test_a_receiver_on_a_direct_exchange_needs_a_key(hub):
    client = hub.client()
    client.receiver("amq.direct")
    assert client.refused() == "amqp:invalid-field"


def test_a_headers_filter_binds_with_its_map(hub):
    client = hub.client()
    arguments = Tagged(
        types.MAP, [(text("x-match"), text("any")), (text("n"), Tagged(types.INT, 5))]
    )
    client.receiver("amq.match", filter=filters("headers", arguments))
    sender = client.sender("amq.match")
    client.send(sender, subject("", b"yes", n=Tagged(types.INT, 5)), tag=b"1")
    client.send(sender, subject("", b"no", n=Tagged(types.INT, 6)), tag=b"2")
    assert bodies(client) == [b"yes"]


def test_a_topic_name_that_is_no_exchange_is_a_key_of_amq_topic(hub):
    client = hub.client()
    client.receiver("prices", capabilities=["topic"])
    sender = client.sender("prices", capabilities=["topic"])
    assert sender.attach.target.capabilities == ["topic"]
    client.send(sender, message())
    assert bodies(client) == [b"body"]


@pytest.mark.parametrize("capability", ["queue", "temporary-queue"])
def test_a_key_of_an_exchange_takes_answers_though_the_sender_calls_it_a_queue(hub, capability):
    client = hub.client()
    client.receiver("amq.direct/answers")
    sender = client.sender("amq.direct/answers", capabilities=[capability])
    assert sender.attach.target.capabilities is None
    client.send(sender, message())
    assert bodies(client) == [b"body"]


@pytest.mark.parametrize("address", ["amq.direct", "amq.direct/k", "nowhere"])
def test_what_is_no_queue_is_not_found_as_one(hub, address):
    client = hub.client()
    client.receiver(address, capabilities=["queue"])
    error = client.take(events.DetachReceived).detach.error
    assert error.condition == "amqp:not-found"
    assert error.description == f"there is no queue {address!r}"


def test_no_local_keeps_the_own_messages_away(hub):
    one, two = hub.client(), hub.client()
    one.receiver("amq.fanout", filter=filters("no-local", Tagged(types.LIST, [])))
    one.send(one.sender("amq.fanout"), message(b"mine"))
    two.send(two.sender("amq.fanout"), message(b"theirs"))
    assert bodies(one) == [b"theirs"]


def numbered(number):
    body = str(number).encode()
    return message(body, application={"a": Tagged(types.INT, number)})


@rule("1.0", "3.5.3", "filters-in-place-are-told")
@pytest.mark.parametrize("address", ["q", "amq.fanout"])
@pytest.mark.parametrize("numeric", [False, True])
def test_a_selector_is_applied_and_answered(hub, address, numeric):
    client = hub.client()
    wanted = filters("selector", text("a > 1"), numeric=numeric)
    link = client.receiver(address, filter=wanted)
    assert link.attach.source.filter == wanted
    sender = client.sender(address)
    for number in (1, 2, 3):
        client.send(sender, numbered(number), tag=b"%d" % number)
    assert bodies(client) == [b"2", b"3"]


def test_what_a_selector_of_a_receiver_on_an_exchange_excludes_enters_no_queue(hub):
    client = hub.client()
    client.receiver("amq.fanout", filter=filters("selector", text("a > 1")))
    (queue,) = [each for name, each in hub.world.host.topology.queues.items() if name != "q"]
    client.send(client.sender("amq.fanout"), numbered(1))
    assert queue.depth == 0


def test_a_selector_and_no_local_are_applied_together(hub):
    one, two = hub.client(), hub.client()
    both = filters("selector", text("a > 1")) | filters("no-local", Tagged(types.LIST, []))
    one.receiver("q", filter=both)
    one.send(one.sender("q"), numbered(2))
    sender = two.sender("q")
    two.send(sender, numbered(1), tag=b"1")
    two.send(sender, numbered(3), tag=b"2")
    assert bodies(one) == [b"3"]


@pytest.mark.parametrize("address", ["q", "amq.fanout"])
@pytest.mark.parametrize("value", [text("a >"), Tagged(types.INT, 1)])
def test_what_is_no_selector_refuses_the_link(hub, address, value):
    client = hub.client()
    client.receiver(address, filter=filters("selector", value))
    assert client.refused() == "amqp:invalid-field"


def test_an_empty_selector_selects_everything(hub):
    client = hub.client()
    client.receiver("q", filter=filters("selector", text("")))
    client.send(client.sender("q"), numbered(1))
    assert bodies(client) == [b"1"]


def test_a_durable_subscription_with_another_selector_begins_anew(hub):
    client = hub.client()
    for selector, expected in (("a = 1", []), ("a = 1", [b"1"]), ("a > 0", [])):
        link = client.receiver(
            "amq.fanout",
            name="sub",
            filter=filters("selector", text(selector)),
            durable=_spec.DURABLE_UNSETTLED_STATE,
        )
        assert bodies(client) == expected
        link.send_detach(closed=False)
        client.step()
        client.send(client.sender("amq.fanout"), numbered(1), tag=b"%d" % len(expected))


def test_a_durable_subscription_to_another_topic_begins_anew(hub):
    client = hub.client()
    durable = {"durable": _spec.DURABLE_UNSETTLED_STATE}
    link = client.receiver("amq.topic/a", name="sub", **durable)
    link.send_detach(closed=False)
    client.step()
    topics = client.sender("amq.topic")
    client.send(topics, subject("a", b"before"), tag=b"1")
    link = client.receiver("amq.topic/b", name="sub", **durable)
    client.send(topics, subject("a", b"elsewhere"), tag=b"2")
    client.send(topics, subject("b", b"here"), tag=b"3")
    assert bodies(client) == [b"here"]


def test_what_else_was_bound_to_a_durable_subscription_takes_nothing_along(hub):
    client = hub.client(name="app")
    durable = {"durable": _spec.DURABLE_UNSETTLED_STATE}
    link = client.receiver("amq.topic/a", name="sub", **durable)
    link.send_detach(closed=False)
    client.step()
    hub.host.bindings.bind(SUB, "amq.fanout", "", {}, b"")
    topics = client.sender("amq.topic")
    client.send(topics, subject("a", b"waits"))
    client.receiver("amq.topic/a", name="sub", **durable)
    assert bodies(client) == [b"waits"]
    assert hub.host.bindings.bound("amq.fanout", SUB).queue_not_matched


@pytest.mark.parametrize(
    ("address", "kind", "value", "condition"),
    [
        ("q", "topic", text("a"), "amqp:not-implemented"),
        ("amq.direct", "topic", text("a"), "amqp:not-implemented"),
        ("amq.topic", "topic", Tagged(types.INT, 1), "amqp:invalid-field"),
        ("amq.match", "headers", text("a"), "amqp:invalid-field"),
    ],
)
def test_a_filter_that_cannot_be_applied_refuses_the_link(hub, address, kind, value, condition):
    client = hub.client()
    client.receiver(address, filter=filters(kind, value))
    assert client.refused() == condition


def described(symbol, value, code=None):
    descriptor = Tagged(types.SYMBOL, symbol) if code is None else Tagged(types.ULONG, code)
    return Tagged(types.DESCRIBED, types.Described(descriptor, value))


@rule("1.0", "3.5.3", "filters-in-place-are-told")
@pytest.mark.parametrize("address", ["q", "amq.fanout"])
@pytest.mark.parametrize(("symbol", "code"), [("example:filter", None), ("", 0xABC), ("", 0x23)])
def test_a_filter_that_nobody_knows_is_not_among_those_that_are_answered(
    hub, address, symbol, code
):
    client = hub.client()
    wanted = filters("selector", text("a > 1"))
    more = {"mine": described(symbol, Tagged(types.INT, 1), code)}
    link = client.receiver(address, filter=wanted | more)
    assert link.attach.source.filter == wanted
    alone = client.receiver(address, filter=more)
    assert alone.attach.source.filter is None


@rule("1.0", "3.5.1", "filters-hold")
@pytest.mark.parametrize("address", ["q", "amq.fanout"])
@pytest.mark.parametrize(
    ("name", "symbol", "code"),
    [
        ("jms-selector", "example:filter", None),
        ("mine", "example:Selector", None),
        ("no-local", "example:filter", None),
        ("apache.org:selector-filter:string", "", 0xABC),
        ("sql-filter", "amqp:sql-filter", None),
        ("sql-filter", "", 0x120),
        ("mine", "amqp:properties-filter", None),
        ("mine", "", 0x174),
    ],
)
def test_what_chooses_messages_in_a_way_that_is_not_offered_refuses_the_link(
    hub, address, name, symbol, code
):
    client = hub.client()
    client.receiver(address, filter={name: described(symbol, text("a = 1"), code)})
    assert client.refused() == "amqp:not-implemented"


def test_a_selector_may_be_called_a_jms_selector(hub):
    client = hub.client()
    link = client.receiver("q", filter={"mine": described("jms-selector", text("a > 1"))})
    assert list(link.attach.source.filter) == ["mine"]
    sender = client.sender("q")
    for number in (1, 2):
        client.send(sender, numbered(number), tag=b"%d" % number)
    assert bodies(client) == [b"2"]


@pytest.mark.parametrize("name", ["jms-selector", "apache.org:selector-filter:string", "mine"])
def test_a_selector_without_descriptor_refuses_the_link(hub, name):
    client = hub.client()
    client.receiver("q", filter={name: text("a > 1")})
    assert client.refused() == "amqp:invalid-field"


@rule("1.0", "3.5.8", "filters-are-described")
def test_a_null_filter_is_no_filter(hub):
    client = hub.client()
    link = client.receiver("q", filter={"x": Tagged(types.NULL, None)})
    assert link.attached
    assert link.attach.source.filter is None


@rule("1.0", "3.5.6", "expiry-policies")
def test_a_subscription_queue_lives_as_long_as_its_link(hub):
    client = hub.client()
    before = set(hub.host.topology.queues)
    link = client.receiver("amq.fanout")
    assert len(set(hub.host.topology.queues) - before) == 1
    link.send_detach()
    client.step()
    assert set(hub.host.topology.queues) == before


@rule("1.0", "2.6.3", "terminus-as-created-is-told")
@rule("1.0", "3.5.6", "expiry-policies")
@rule("1.0", "2.6.3", "unsettled-state-is-told")
def test_a_durable_subscription_outlives_its_link_until_it_is_closed(hub):
    client = hub.client(name="app")
    durable = {"durable": _spec.DURABLE_UNSETTLED_STATE, "expiry_policy": "never"}
    link = client.receiver("amq.fanout", name="sub", **durable)
    assert link.attach.source.expiry_policy == "never"
    assert link.attach.unsettled is None
    link.send_detach(closed=False)
    client.step()
    client.send(client.sender("amq.fanout"), message(b"meanwhile"))
    link = client.receiver("amq.fanout", name="sub", **durable)
    assert link.attach.unsettled == {}
    assert bodies(client) == [b"meanwhile"]
    link.send_detach(closed=True)
    client.step()
    assert hub.host.topology.find_queue(SUB) is None


def test_a_durable_subscription_is_found_again_by_its_name_alone(hub):
    client = hub.client(name="app")
    durable = {"durable": _spec.DURABLE_CONFIGURATION, "expiry_policy": "never"}
    link = client.receiver("amq.topic/a.b", name="sub", **durable)
    link.send_detach(closed=False)
    client.step()
    session = client.session()
    again = session.attach("sub", _spec.RECEIVER)
    again.send_attach(source=None, target=_spec.Target())
    client.step()
    client.take_all(events.AttachReceived)
    assert again.attach.source.address == "amq.topic/a.b"
    assert again.attach.unsettled == {}
    again.send_detach(closed=True)
    client.step()
    assert hub.host.topology.find_queue(SUB) is None


def test_an_unknown_subscription_is_not_found_by_its_name(hub):
    client = hub.client()
    link = client.session().attach("sub", _spec.RECEIVER)
    link.send_attach(source=None, target=_spec.Target())
    client.step()
    assert client.refused() == "amqp:not-found"


@rule("1.0", "2.6.1", "stolen-link-is-detached")
def test_a_second_holder_of_a_durable_subscription_is_refused(hub):
    durable = {"durable": 2, "expiry_policy": "never", "name": "sub"}
    one, two = hub.client(name="app"), hub.client(name="app")
    one.receiver("amq.fanout", **durable)
    two.receiver("amq.fanout", **durable)
    assert two.refused() == "amqp:resource-locked"


# Publishing without a queue.


@pytest.mark.parametrize(
    ("address", "capabilities", "accepted"),
    [
        ("amq.topic", None, True),
        ("amq.fanout", None, True),
        ("amq.direct", None, False),
        ("amq.match", None, False),
        ("amq.direct", ["DISCARD_UNROUTABLE"], True),
        ("amq.direct/k", ["topic"], True),
        ("amq.topic", ["REJECT_UNROUTABLE"], False),
    ],
)
def test_what_no_queue_takes_is_accepted_or_rejected_by_rule(hub, address, capabilities, accepted):
    client = hub.client()
    state = client.send(client.sender(address, capabilities=capabilities), subject("k"))
    if accepted:
        assert state == ACCEPTED
    else:
        assert state.error.condition == "amqp:not-found"


@pytest.mark.parametrize(
    ("to", "accepted"), [("q", True), ("amq.topic", False), ("nowhere", False), (None, False)]
)
def test_the_anonymous_terminus_goes_by_to(hub, to, accepted):
    client = hub.client()
    state = client.send(client.sender(None), message(properties=_spec.Properties(to=to)))
    if accepted:
        assert state == ACCEPTED
        assert hub.host.topology.find_queue("q").depth == 1
    else:
        assert state.error.condition == "amqp:not-found"


def jms_message(to, kind, code=types.BYTE):
    annotations = [(Tagged(types.SYMBOL, "x-opt-jms-dest"), Tagged(code, kind))]
    return message(properties=_spec.Properties(to=to), annotations=annotations)


@pytest.mark.parametrize("kind", [1, 3])
def test_the_anonymous_terminus_takes_a_topics_name_as_an_own_sender_with_the_capability(hub, kind):
    hub.world.queue("prices")
    client = hub.client()
    client.receiver("prices", capabilities=["topic"])
    sender = client.sender(None)
    for to in ("prices", "amq.topic/prices"):
        assert client.send(sender, jms_message(to, kind)) == ACCEPTED
    assert bodies(client) == [b"body", b"body"]
    assert client.send(sender, jms_message("nobody.subscribes", kind)) == ACCEPTED
    assert hub.host.topology.find_queue("prices").depth == 0


@pytest.mark.parametrize(("kind", "code"), [(0, types.BYTE), (2, types.BYTE), (1, types.INT)])
def test_what_is_marked_for_no_topic_goes_by_its_address_alone(hub, kind, code):
    client = hub.client()
    sender = client.sender(None)
    assert client.send(sender, jms_message("q", kind, code)) == ACCEPTED
    for to in ("prices", "amq.topic/prices"):
        state = client.send(sender, jms_message(to, kind, code))
        assert state.error.condition == "amqp:not-found"


def test_who_wants_to_hear_of_no_route_hears_it_of_topics_too(hub):
    client = hub.client()
    sender = client.sender(None, capabilities=["REJECT_UNROUTABLE"])
    assert client.send(sender, jms_message("prices", 1)).error.condition == "amqp:not-found"


def test_a_sender_without_target_is_refused(hub):
    client = hub.client()
    link = client.session().attach("l", _spec.SENDER)
    link.send_attach(source=_spec.Source(), target=None)
    client.step()
    assert client.refused() == "amqp:invalid-field"


# Dynamic nodes.


def lifetime(code):
    described = types.Described(Tagged(types.ULONG, code), Tagged(types.LIST, []))
    return {"lifetime-policy": Tagged(types.DESCRIBED, described)}


def dynamic_receiver(client, properties=None, **more):
    link = client.attach(
        _spec.RECEIVER,
        source=_spec.Source(dynamic=True, dynamic_node_properties=properties, **more),
    )
    return link, link.attach.source.address


@rule("1.0", "3.5.3", "dynamic-source-has-an-address-in-the-answer")
@rule("1.0", "3.5.3", "dynamic-name-tells-whose-it-is")
def test_a_dynamic_source_is_a_queue_that_others_can_send_to(hub):
    one, two = hub.client(), hub.client()
    link, address = dynamic_receiver(one)
    assert link.attach.source.dynamic
    assert "client" in address
    link.send_flow(credit=1)
    two.send(two.sender(address), message(b"reply"))
    assert bodies(one) == [b"reply"]


@rule("1.0", "3.5.4", "dynamic-target-has-an-address-in-the-answer")
def test_a_dynamic_target_is_made_too(hub):
    client = hub.client()
    link = client.attach(_spec.SENDER, target=_spec.Target(dynamic=True))
    address = link.attach.target.address
    client.send(link, message(b"x"))
    client.receiver(address)
    assert bodies(client) == [b"x"]


@pytest.mark.parametrize("url", ["amqp://gateway.example/q", "amqps://10.0.0.1:5671/%71"])
def test_a_url_as_an_address_names_the_node_of_its_path(hub, url):
    client = hub.client()
    sender = client.sender(url)
    assert sender.attach.target.address == url
    assert client.send(sender, message(b"by link")) == ACCEPTED
    to = _spec.Properties(to=url)
    assert client.send(client.sender(None), message(b"by to", properties=to)) == ACCEPTED
    assert client.receiver(url).attach.source.address == url
    assert bodies(client) == [b"by link", b"by to"]


def test_a_url_that_names_no_node_is_not_found_by_its_path(hub):
    client = hub.client()
    client.receiver("amqp://gateway.example/none")
    error = client.take(events.DetachReceived).detach.error
    assert (error.condition, error.description) == ("amqp:not-found", "there is no node 'none'")


@rule("1.0", "3.5.6", "expiry-policies")
@pytest.mark.parametrize("asked", [None, _spec.EXPIRY_LINK_DETACH, _spec.EXPIRY_SESSION_END])
@pytest.mark.parametrize("policy", [_spec.DELETE_ON_CLOSE, _spec.DELETE_ON_NO_LINKS])
def test_a_dynamic_terminus_says_that_it_expires_with_its_link(hub, asked, policy):
    client = hub.client()
    wanted = {
        "dynamic": True,
        "expiry_policy": asked,
        "dynamic_node_properties": lifetime(policy),
    }
    sender = client.attach(_spec.SENDER, target=_spec.Target(**wanted))
    receiver = client.attach(_spec.RECEIVER, source=_spec.Source(**wanted))
    for answer in (sender.attach.target, receiver.attach.source):
        assert answer.expiry_policy == _spec.EXPIRY_LINK_DETACH
        assert answer.dynamic_node_properties == lifetime(policy)


def test_a_target_says_that_it_expires_with_its_link(hub):
    client = hub.client()
    asked = _spec.Target(address="q", expiry_policy=_spec.EXPIRY_NEVER)
    answer = client.attach(_spec.SENDER, target=asked).attach.target
    assert answer.expiry_policy == _spec.EXPIRY_LINK_DETACH


def test_a_dynamic_topic_is_an_exchange(hub):
    client = hub.client()
    link = client.attach(
        _spec.SENDER, target=_spec.Target(dynamic=True, capabilities=["temporary-topic"])
    )
    address = link.attach.target.address
    client.receiver(address)
    client.receiver(address)
    client.send(link, message(b"x"))
    assert bodies(client) == [b"x", b"x"]
    link.send_detach()
    client.step()
    assert hub.host.topology.find_exchange(address) is None


@rule("1.0", "3.5.3", "dynamic-source-is-asked-without-an-address")
def test_a_dynamic_terminus_must_not_have_an_address(hub):
    client = hub.client()
    client.attach(_spec.RECEIVER, source=_spec.Source(dynamic=True, address="mine"))
    assert client.refused() == "amqp:invalid-field"


@rule("1.0", "3.5.10", "delete-on-close")
@pytest.mark.parametrize("properties", [None, {}, lifetime(_spec.DELETE_ON_CLOSE), lifetime(99)])
def test_delete_on_close_follows_the_link_that_made_the_node(hub, properties):
    client = hub.client()
    link, address = dynamic_receiver(client, properties)
    sender = client.sender(address)
    client.send(sender, message())
    link.send_detach()
    client.step()
    assert hub.host.topology.find_queue(address) is None


@rule("1.0", "3.5.11", "delete-on-no-links")
def test_delete_on_no_links_waits_for_the_last_link(hub):
    client = hub.client()
    link, address = dynamic_receiver(client, lifetime(_spec.DELETE_ON_NO_LINKS))
    sender = client.sender(address)
    client.send(sender, message())
    link.send_detach()
    client.step()
    assert hub.host.topology.find_queue(address) is not None
    sender.send_detach()
    client.step()
    assert hub.host.topology.find_queue(address) is None


@rule("1.0", "3.5.12", "delete-on-no-messages")
def test_delete_on_no_messages_waits_for_the_last_message(hub):
    client = hub.client()
    link, address = dynamic_receiver(client, lifetime(_spec.DELETE_ON_NO_MESSAGES))
    client.send(client.sender(address), message())
    link.send_detach()
    client.step()
    receiver = client.receiver(address)
    event = client.take(events.DeliveryReceived)
    assert hub.host.topology.find_queue(address) is not None
    receiver.session.settle_incoming(event.delivery_id, ACCEPTED)
    client.step()
    assert hub.host.topology.find_queue(address) is None


@rule("1.0", "3.5.13", "delete-on-no-links-or-messages")
def test_delete_on_no_links_or_messages_waits_for_both(hub):
    client = hub.client()
    link, address = dynamic_receiver(client, lifetime(_spec.DELETE_ON_NO_LINKS_OR_MESSAGES))
    sender = client.sender(address)
    client.send(sender, message())
    link.send_detach()
    sender.send_detach()
    client.step()
    receiver = client.receiver(address)
    event = client.take(events.DeliveryReceived)
    receiver.session.settle_incoming(event.delivery_id, ACCEPTED)
    client.step()
    assert hub.host.topology.find_queue(address) is not None
    receiver.send_detach()
    client.step()
    assert hub.host.topology.find_queue(address) is None


def test_a_dynamic_node_goes_with_the_connection_that_made_it(hub):
    client = hub.client()
    _, address = dynamic_receiver(client)
    client.face.receive_eof(hub.world.now_ms)
    hub.step()
    assert hub.host.topology.find_queue(address) is None


def test_a_queue_exclusive_to_another_is_locked(hub):
    owner = hub.world.owner()
    hub.world.queue("mine", owner, exclusive=True)
    client = hub.client()
    client.receiver("mine")
    assert client.refused() == "amqp:resource-locked"
    assert not isinstance(hub.host.topology.find_queue("mine"), Refusal)


def test_a_receiver_whose_unsettled_map_is_incomplete_gets_nothing_new(hub):
    client = hub.client()
    client.send(client.sender("q"), message())
    receiver = client.receiver("q", unsettled={}, incomplete_unsettled=True)
    assert client.received() == []
    assert receiver.attached
