"""Sources of 1.0 clients that outlive their links; what is unsettled of them (2.6.13, 3.5.6)."""

import pytest
from support.face_1_0 import Hub, body_of, message
from support.rules import rule

from gateway.amqp_1_0 import _spec, events
from gateway.amqp_1_0._spec_conditions import RESOURCE_DELETED
from gateway.audit.schema import Reason
from gateway.faces.face import Ending
from gateway.faces.leaving import DELIVERY_OCTETS
from gateway.faces.server_1_0.suspended import SUSPENDED_OCTETS
from gateway.wire.limits import Limits

ACCEPTED = _spec.Accepted()
NAME = "lasting"


@pytest.fixture
def hub():
    hub = Hub()
    hub.world.queue("q")
    yield hub
    hub.settings.kept.end_all()
    hub.end()


def received(client):
    """What has come: by its tag the body, whether it is resumed and settled, and the state."""
    return {
        event.tag: (body_of(event.payload) if event.payload else b"", event.resume, event.state)
        for event in client.take_all(events.DeliveryReceived)
    }


def lasting(client, *, credit=10, timeout=60, name=NAME, queue="q", unsettled=None, **more):
    """A receiver whose source outlives it; its link."""
    asked = {} if unsettled is None else {"unsettled": unsettled}
    return client.receiver(queue, credit=credit, timeout=timeout, name=name, **asked, **more)


def with_messages(hub, *bodies):
    """A client that has been sent these, has settled none, and has just these tags."""
    client = hub.client()
    sender = client.sender("q")
    for number, body in enumerate(bodies):
        client.send(sender, message(body), tag=bytes([number]))
    link = lasting(client)
    tags = list(received(client))
    assert len(tags) == len(bodies)
    return client, link, tags


def again(hub, unsettled, **more):
    """Another connection of the same container attaches the link again."""
    client = hub.client()
    return client, lasting(client, unsettled=unsettled, **more)


def lose(client):
    client.face.receive_eof(client.hub.world.now_ms)
    client.hub.clients.remove(client)
    client.hub.world.turn()


def absent(hub):
    return list(hub.settings.kept.absent.values())


# What is granted.


@rule("1.0", "2.6.3", "terminus-as-created-is-told")
@rule("1.0", "3.5.6", "expiry-policies")
@pytest.mark.parametrize(
    ("asked", "granted"),
    [
        ({"timeout": 30}, (30, _spec.EXPIRY_SESSION_END)),
        ({"timeout": 61}, (60, _spec.EXPIRY_SESSION_END)),
        ({"timeout": 9, "expiry_policy": "link-detach"}, (9, _spec.EXPIRY_LINK_DETACH)),
        ({"timeout": 9, "expiry_policy": "connection-close"}, (9, _spec.EXPIRY_SESSION_END)),
        ({}, (None, _spec.EXPIRY_LINK_DETACH)),
        ({"timeout": 0}, (None, _spec.EXPIRY_LINK_DETACH)),
        ({"timeout": 9, "distribution_mode": "copy"}, (None, _spec.EXPIRY_LINK_DETACH)),
    ],
)
def test_a_source_is_told_how_long_it_lasts(hub, asked, granted):
    client = hub.client()
    source = _spec.Source(address="q", **asked)
    session = client.session()
    link = session.attach(NAME, _spec.RECEIVER)
    link.send_attach(source=source, target=_spec.Target(address="here"))
    client.step()
    told = client.take(events.AttachReceived).attach.source
    assert (told.timeout, told.expiry_policy) == granted


def test_without_a_timeout_all_goes_back_with_the_link(hub):
    client = hub.client()
    client.send(client.sender("q"), message(b"1"))
    client.receiver("q", name=NAME)
    client.received()
    lose(client)
    assert absent(hub) == []
    other = hub.client("other")
    other.receiver("q")
    assert [body_of(each) for each in other.received()] == [b"1"]


# What becomes of what is unsettled.


@rule("1.0", "2.7.6", "live-until-closed")
def test_while_a_link_is_suspended_nobody_else_gets_what_is_unsettled(hub):
    client, link, _ = with_messages(hub, b"1")
    link.send_detach(closed=False)
    client.step()
    other = hub.client("other")
    other.receiver("q")
    assert other.received() == []
    assert len(absent(hub)) == 1


@rule("1.0", "2.6.3", "unsettled-state-is-told")
@rule("1.0", "2.6.13", "known-to-both-is-resumed")
@rule("1.0", "2.6.13", "resume-flag")
def test_what_both_sides_know_is_resumed_by_its_tag_and_can_be_settled_then(hub):
    client, _, tags = with_messages(hub, b"1", b"2")
    lose(client)
    client = hub.client()
    link = client.session().attach(NAME, _spec.RECEIVER)
    link.send_attach(
        source=_spec.Source(address="q", timeout=60),
        target=_spec.Target(address="here"),
        unsettled=dict.fromkeys(tags),
    )
    client.step()
    assert client.take(events.AttachReceived).attach.unsettled == dict.fromkeys(tags)
    link.send_flow(credit=10)
    client.step()
    deliveries = client.take_all(events.DeliveryReceived)
    assert [(each.tag, body_of(each.payload), each.resume) for each in deliveries] == [
        (tags[0], b"1", True),
        (tags[1], b"2", True),
    ]
    for each in deliveries:
        link.session.settle_incoming(each.delivery_id, ACCEPTED)
    client.step()
    assert hub.world.depth() == 0
    assert absent(hub) == []


@rule("1.0", "3.4.6", "outcomes-do-not-change")
def test_what_the_client_has_given_an_outcome_is_settled_by_that(hub):
    client, _, tags = with_messages(hub, b"1", b"2")
    lose(client)
    client, _ = again(hub, {tags[0]: ACCEPTED, tags[1]: _spec.Released()})
    found = received(client)
    assert found.pop(tags[0]) == (b"", True, ACCEPTED)
    assert found.pop(tags[1]) == (b"", True, _spec.Released())
    assert [body for body, _, _ in found.values()] == [b"2"], "released, it came again"
    assert hub.world.depth() == 1


@rule("1.0", "2.6.13", "unknown-to-the-target-may-be-sent-again")
@rule("1.0", "3.4.6", "not-received-is-sent-without-resume")
def test_what_the_client_does_not_know_goes_back_and_comes_as_another_delivery(hub):
    client, _, tags = with_messages(hub, b"1", b"2")
    lose(client)
    client, _ = again(hub, {tags[1]: None})
    found = received(client)
    assert found.pop(tags[1]) == (b"2", True, None)
    ((tag, delivery),) = found.items()
    assert tag not in tags
    assert delivery == (b"1", False, None)


@rule("1.0", "2.6.12", "delivery-tags-are-unique")
def test_new_deliveries_have_tags_that_none_had_before(hub):
    client, _, tags = with_messages(hub, b"1")
    client.send(client.sender("q"), message(b"2"), tag=b"2")
    tags += received(client)
    lose(client)
    client, _ = again(hub, dict.fromkeys(tags))
    received(client)
    client.send(client.sender("q"), message(b"3"), tag=b"3")
    ((tag, (body, resume, _)),) = received(client).items()
    assert (body, resume) == (b"3", False)
    assert tag not in tags


def test_what_is_resumed_takes_credit_and_comes_first(hub):
    client, _, tags = with_messages(hub, b"1", b"2")
    lose(client)
    client, link = again(hub, dict.fromkeys(tags), credit=0)
    client.send(client.sender("q"), message(b"3"), tag=b"3")
    assert received(client) == {}
    link.send_flow(credit=1)
    client.step()
    assert received(client) == {tags[0]: (b"1", True, None)}
    link.send_flow(credit=2)
    client.step()
    assert [body for body, _, _ in received(client).values()] == [b"2", b"3"]


def test_a_link_may_be_suspended_again_and_again(hub):
    client, _, tags = with_messages(hub, b"1", b"2", b"3")
    for _ in range(3):
        lose(client)
        client, link = again(hub, dict.fromkeys(tags), credit=2)
        assert set(received(client)) == set(tags[:2])
    link.send_detach(closed=True)
    client.step()
    assert absent(hub) == []
    other = hub.client("other")
    other.receiver("q")
    assert [body_of(each) for each in other.received()] == [b"1", b"2", b"3"]


@pytest.mark.parametrize("how", ["closed", "error"])
def test_a_link_that_is_closed_or_detached_for_an_error_leaves_nothing(hub, how):
    client, link, _ = with_messages(hub, b"1")
    error = _spec.Error(condition=RESOURCE_DELETED) if how == "error" else None
    link.send_detach(closed=how == "closed", error=error)
    client.step()
    assert absent(hub) == []


def test_a_map_that_is_not_complete_leaves_the_rest_for_the_next_attach(hub):
    client, _, tags = with_messages(hub, b"1", b"2")
    lose(client)
    client, link = again(hub, {tags[0]: ACCEPTED}, incomplete_unsettled=True)
    assert received(client) == {tags[0]: (b"", True, ACCEPTED)}
    link.send_detach(closed=False)
    client.step()
    client, _ = again(hub, {tags[1]: None})
    assert received(client) == {tags[1]: (b"2", True, None)}


# Whose it is, and how long.


def test_another_container_and_another_queue_are_other_links(hub):
    hub.world.queue("other")
    client, _, tags = with_messages(hub, b"1")
    lose(client)
    stranger = hub.client("stranger")
    lasting(stranger, unsettled=dict.fromkeys(tags))
    assert received(stranger) == {}
    lose(stranger)
    client, _ = again(hub, dict.fromkeys(tags), queue="other")
    assert received(client) == {}
    assert absent(hub) == []
    client.receiver("q")
    assert [body_of(each) for each in client.received()] == [b"1"]


def test_the_time_of_a_detached_link_begins_at_once_or_with_the_end_of_its_session(hub):
    client = hub.client()
    client.send(client.sender("q"), message(b"1"))
    session = client.session()
    link = lasting(client, session=session, timeout=5)
    received(client)
    link.send_detach(closed=False)
    client.step()
    kept = hub.settings.kept
    assert not kept.look(hub.world.now_ms + 3_600_000)
    session.send_end()
    client.step()
    assert not kept.look(hub.world.now_ms + 4_999)
    assert kept.look(hub.world.now_ms + 5_000)
    hub.world.turn()
    assert absent(hub) == []
    client.receiver("q")
    assert [body_of(each) for each in client.received()] == [b"1"]


def test_by_the_policy_link_detach_it_begins_at_once(hub):
    client = hub.client()
    client.send(client.sender("q"), message(b"1"))
    link = lasting(client, timeout=5, expiry_policy=_spec.EXPIRY_LINK_DETACH)
    received(client)
    link.send_detach(closed=False)
    client.step()
    assert hub.settings.kept.look(hub.world.now_ms + 5_000)


def test_nothing_is_kept_where_the_configuration_says_so():
    hub = Hub(limits=Limits(session_timeout_s=0))
    hub.world.queue("q")
    client, _, _ = with_messages(hub, b"1")
    lose(client)
    assert absent(hub) == []
    hub.end()


def test_an_operator_who_closes_the_connection_leaves_nothing(hub):
    client, _, _ = with_messages(hub, b"1")
    client.face.force_close(hub.world.now_ms, Ending("go", Reason.OPERATOR))
    client.step()
    assert absent(hub) == []


def test_what_is_kept_is_on_the_account_of_its_user(hub):
    client, _, _ = with_messages(hub, b"1", b"2")
    lose(client)
    user = hub.settings.accounts.user("anonymous")
    assert user.held == SUSPENDED_OCTETS + 2 * DELIVERY_OCTETS
    hub.settings.kept.end_all()
    assert user.held == 0


# Durable subscriptions.


def subscribed(client, *, durable=_spec.DURABLE_UNSETTLED_STATE, credit=10, **more):
    return client.receiver(
        "amq.fanout", credit=credit, durable=durable, expiry_policy="never", name=NAME, **more
    )


def with_published(hub, *bodies, **more):
    """A durable subscriber that was sent these and is lost; their tags."""
    client = hub.client()
    subscribed(client, **more)
    sender = client.sender("amq.fanout")
    for number, body in enumerate(bodies):
        client.send(sender, message(body), tag=bytes([number]))
    tags = list(received(client))
    assert len(tags) == len(bodies)
    lose(client)
    return tags


@rule("1.0", "2.6.13", "known-to-both-is-resumed")
def test_what_is_unsettled_of_a_durable_subscription_is_resumed(hub):
    tags = with_published(hub, b"1", b"2")
    client = hub.client()
    client.send(client.sender("amq.fanout"), message(b"3"), tag=b"3")
    subscribed(client, unsettled=dict.fromkeys(tags))
    found = received(client)
    assert found.pop(tags[0]) == (b"1", True, None)
    assert found.pop(tags[1]) == (b"2", True, None)
    assert [body for body, _, _ in found.values()] == [b"3"], "it was kept for the subscription"


def test_a_durable_subscriber_may_attach_without_its_source(hub):
    tags = with_published(hub, b"1")
    client = hub.client()
    link = client.session().attach(NAME, _spec.RECEIVER)
    target = _spec.Target(address="here")
    link.send_attach(source=None, target=target, unsettled=dict.fromkeys(tags))
    client.step()
    link.send_flow(credit=10)
    client.step()
    assert received(client) == {tags[0]: (b"1", True, None)}


def test_a_durable_subscriber_that_knows_nothing_gets_all_as_failed(hub):
    with_published(hub, b"1")
    client = hub.client()
    subscribed(client)
    assert list(received(client).values()) == [(b"1", False, None)]
    assert absent(hub) == []


def test_a_durable_subscription_of_which_just_the_configuration_lasts_keeps_nothing(hub):
    with_published(hub, b"1", durable=_spec.DURABLE_CONFIGURATION)
    assert absent(hub) == []


def test_what_is_unsettled_of_a_subscription_that_is_for_another_topic_now_goes(hub):
    tags = with_published(hub, b"1")
    client = hub.client()
    client.receiver(
        "amq.topic/other",
        durable=_spec.DURABLE_UNSETTLED_STATE,
        expiry_policy="never",
        name=NAME,
        unsettled=dict.fromkeys(tags),
    )
    assert received(client) == {}
    assert absent(hub) == []


# Frames in which a map has no room.


@rule("1.0", "2.7.3", "incomplete-unsettled-forbids-new-deliveries")
def test_a_map_that_does_not_fit_a_frame_is_told_in_parts(hub):
    bodies = [b"%d" % number for number in range(80)]
    client = hub.client()
    sender = client.sender("q")
    for number, body in enumerate(bodies):
        client.send(sender, message(body), tag=bytes([number]))
    lasting(client, credit=100)
    left = dict.fromkeys(received(client))
    assert len(left) == 80
    lose(client)
    attaches = 0
    came = []
    while left:
        attaches += 1
        client = hub.client(limits=Limits(max_frame_size=512))
        part = dict(list(left.items())[:20])
        link = client.session().attach(NAME, _spec.RECEIVER)
        link.send_attach(
            source=_spec.Source(address="q", timeout=60),
            target=_spec.Target(address="here"),
            unsettled=part,
            incomplete_unsettled=len(left) > 20,
        )
        client.step()
        answer = client.take(events.AttachReceived).attach
        assert answer.incomplete_unsettled or len(left) <= 20
        link.send_flow(credit=100)
        client.step()
        for event in client.take_all(events.DeliveryReceived):
            assert event.resume
            came.append(body_of(event.payload))
            link.session.settle_incoming(event.delivery_id, ACCEPTED)
            del left[event.tag]
        client.step()
        link.send_detach(closed=False)
        client.step()
    assert attaches == 4
    assert sorted(came) == sorted(bodies)
    assert hub.world.depth() == 0


def test_a_client_of_small_frames_is_sent_messages_of_such_a_link(hub):
    client = hub.client(limits=Limits(max_frame_size=512))
    client.send(client.sender("q"), message(b"1"))
    lasting(client)
    assert [body for body, _, _ in received(client).values()] == [b"1"]


@rule("1.0", "2.6.7", "drain-uses-up-the-credit")
def test_a_drain_is_answered_where_no_more_may_be_unsettled_and_goes_on_when_some_are_settled(hub):
    client = hub.client(limits=Limits(max_frame_size=512))
    sender = client.sender("q")
    for number in range(40):
        client.send(sender, message(b"%d" % number), tag=bytes([number]))
    link = lasting(client, credit=0)
    for _ in range(2):
        link.send_flow(credit=30, drain=True)
        client.step()
        came = client.take_all(events.DeliveryReceived)
        assert (0 < len(came) < 30, link.credit) == (True, 0)
        link.send_flow(credit=30, drain=True)
        client.step()
        assert (received(client), link.credit) == ({}, 0)
        for event in came:
            link.session.settle_incoming(event.delivery_id, ACCEPTED)
        client.step()


def test_a_link_that_is_attached_elsewhere_is_taken_from_where_it_was(hub):
    before, _, tags = with_messages(hub, b"1")
    client, _ = again(hub, dict.fromkeys(tags))
    assert received(client) == {tags[0]: (b"1", True, None)}
    detach = before.take(events.DetachReceived).detach
    assert detach.error.condition == "amqp:link:stolen"
    assert detach.closed is True, "as some clients hear of nothing else"
    lose(before)
    assert hub.settings.kept.attached, "the link is the other connection's"
