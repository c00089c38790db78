"""Targets of 1.0 clients that outlive their links; what came by them (2.6.13, 3.4.6)."""

import pytest
from support.face_1_0 import Hub, body_of, message
from support.rules import rule

from gateway.amqp_1_0 import _spec, events
from gateway.bridge.queues.discipline import Discipline, FlowLimits
from gateway.faces.leaving import DELIVERY_OCTETS
from gateway.faces.server_1_0.suspended import SUSPENDED_OCTETS
from gateway.wire.limits import Limits

ACCEPTED = _spec.Accepted()
NAME = "lasting"


@pytest.fixture
def hub():
    hub = Hub()
    hub.world.queue("q", durable=True)
    yield hub
    hub.world.auto_commit = True
    hub.settings.kept.end_all()
    hub.end()


def lasting(client, *, timeout=60, queue="q", name=NAME, session=None, **more):
    """A sender whose target outlives it: its link, and the gateway's attach."""
    session = session or client.session()
    link = session.attach(name, _spec.SENDER)
    target = _spec.Target(address=queue, timeout=timeout)
    link.send_attach(source=_spec.Source(address="here"), target=target, **more)
    client.step()
    answer = client.take(events.AttachReceived).attach
    client.take_all(events.FlowReceived)
    return link, answer


def durable(body):
    return message(body, header=_spec.Header(durable=True))


def lose(client):
    client.face.receive_eof(client.hub.world.now_ms)
    client.hub.clients.remove(client)
    client.hub.world.turn()


def in_doubt(hub, *bodies, **more):
    """A client has sent these, and is lost before they are on disk, and so before it is told."""
    client = hub.client()
    link, _ = lasting(client, **more)
    hub.world.auto_commit = False
    for number, body in enumerate(bodies):
        assert client.send(link, durable(body), tag=bytes([number])) is None
    lose(client)


def again(hub, unsettled, **more):
    client = hub.client()
    link, answer = lasting(client, unsettled=unsettled, **more)
    return client, link, answer


def resent(client, link, tag, body=b"", **more):
    return client.send(link, durable(body), tag=tag, resume=True, **more)


def absent(hub):
    return list(hub.settings.kept.absent.values())


def queued(hub):
    """What is in the queue; it is consumed."""
    other = hub.client("other")
    other.receiver("q", credit=100)
    return [body_of(each) for each in other.received()]


# What is granted.


@rule("1.0", "2.6.3", "terminus-as-created-is-told")
@rule("1.0", "3.5.6", "expiry-policies")
@pytest.mark.parametrize(
    ("asked", "granted"),
    [
        ({"timeout": 30}, (30, _spec.EXPIRY_SESSION_END)),
        ({"timeout": 61}, (60, _spec.EXPIRY_SESSION_END)),
        ({"timeout": 9, "expiry_policy": "link-detach"}, (9, _spec.EXPIRY_LINK_DETACH)),
        ({"timeout": 9, "expiry_policy": "never"}, (9, _spec.EXPIRY_SESSION_END)),
        ({}, (None, _spec.EXPIRY_LINK_DETACH)),
        ({"timeout": 9, "dynamic": True, "address": None}, (None, _spec.EXPIRY_LINK_DETACH)),
    ],
)
def test_a_target_is_told_how_long_it_lasts(hub, asked, granted):
    client = hub.client()
    link = client.session().attach(NAME, _spec.SENDER)
    target = _spec.Target(**({"address": "q"} | asked))
    link.send_attach(source=_spec.Source(address="here"), target=target)
    client.step()
    told = client.take(events.AttachReceived).attach.target
    assert (told.timeout, told.expiry_policy) == granted


def test_without_a_timeout_nothing_is_known_of_what_came(hub):
    in_doubt(hub, b"1", timeout=None)
    assert absent(hub) == []
    hub.world.auto_commit = True
    _, _, answer = again(hub, {b"\0": None})
    assert answer.unsettled is None


# What both sides say.


@rule("1.0", "2.6.3", "unsettled-state-is-told")
@rule("1.0", "2.7.5", "resumed-only-if-unsettled")
def test_what_became_of_a_delivery_is_told_and_it_enters_once(hub):
    in_doubt(hub, b"1", b"2")
    hub.world.commit()
    hub.world.auto_commit = True
    client, link, answer = again(hub, {b"\0": None, b"\1": None})
    assert answer.unsettled == {b"\0": ACCEPTED, b"\1": ACCEPTED}
    assert resent(client, link, b"\0", b"1") == ACCEPTED
    assert resent(client, link, b"\1", b"2") == ACCEPTED
    assert queued(hub) == [b"1", b"2"]


def test_a_sender_that_has_understood_the_map_settles_without_a_payload(hub):
    in_doubt(hub, b"1")
    hub.world.commit()
    hub.world.auto_commit = True
    client, link, _ = again(hub, {b"\0": None})
    resent(client, link, b"\0", settled=True, state=ACCEPTED)
    assert client.send(link, durable(b"2"), tag=b"\0") == ACCEPTED, "the tag is free again"
    assert queued(hub) == [b"1", b"2"]


def test_what_has_no_outcome_yet_is_told_of_when_it_has(hub):
    in_doubt(hub, b"1")
    client, link, answer = again(hub, {b"\0": None})
    assert answer.unsettled == {b"\0": None}
    assert resent(client, link, b"\0", b"1") is None
    hub.world.commit()
    client.step()
    assert client.take(events.DispositionReceived).state == ACCEPTED
    hub.world.auto_commit = True
    assert queued(hub) == [b"1"]


def test_what_is_lost_again_while_it_waits_is_told_of_the_next_time(hub):
    in_doubt(hub, b"1")
    client, link, _ = again(hub, {b"\0": None})
    assert resent(client, link, b"\0", b"1") is None
    lose(client)
    hub.world.commit()
    hub.world.auto_commit = True
    _, _, answer = again(hub, {b"\0": None})
    assert answer.unsettled == {b"\0": ACCEPTED}
    assert queued(hub) == [b"1"]


@rule("1.0", "2.6.13", "resumed-and-unknown-is-ignored")
def test_what_did_not_come_is_not_in_the_map_and_is_taken_as_new(hub):
    in_doubt(hub, b"1")
    hub.world.commit()
    hub.world.auto_commit = True
    client, link, answer = again(hub, {b"\0": None, b"\1": None})
    assert answer.unsettled == {b"\0": ACCEPTED}
    assert resent(client, link, b"\1", b"ignored") is None
    assert client.send(link, durable(b"2"), tag=b"\1") == ACCEPTED
    assert queued(hub) == [b"1", b"2"]


def test_what_a_client_was_told_and_may_not_have_heard_is_known(hub):
    client = hub.client()
    link, _ = lasting(client)
    assert client.send(link, durable(b"1"), tag=b"1") == ACCEPTED
    lose(client)
    _, _, answer = again(hub, {b"1": None})
    assert answer.unsettled == {b"1": ACCEPTED}
    assert queued(hub) == [b"1"]


def test_what_a_client_leaves_out_of_its_map_is_known_no_more(hub):
    in_doubt(hub, b"1", b"2")
    hub.world.commit()
    hub.world.auto_commit = True
    client, _, answer = again(hub, {b"\1": None})
    assert answer.unsettled == {b"\1": ACCEPTED}
    lose(client)
    _, _, answer = again(hub, {b"\0": None, b"\1": None})
    assert answer.unsettled == {b"\1": ACCEPTED}


def test_a_map_of_the_client_that_is_not_complete_leaves_the_rest_known(hub):
    in_doubt(hub, b"1", b"2")
    hub.world.commit()
    hub.world.auto_commit = True
    client, link, answer = again(hub, {b"\1": None}, incomplete_unsettled=True)
    assert answer.unsettled == {b"\1": ACCEPTED, b"\0": ACCEPTED}
    resent(client, link, b"\1", settled=True, state=ACCEPTED)
    link.send_detach(closed=False)
    client.step()
    _, _, answer = again(hub, {b"\0": None})
    assert answer.unsettled == {b"\0": ACCEPTED}


@pytest.mark.parametrize("unsettled", [None, {}])
def test_a_client_that_resumes_nothing_begins_anew(hub, unsettled):
    in_doubt(hub, b"1")
    client, link, answer = again(hub, unsettled)
    assert not answer.unsettled
    assert client.send(link, durable(b"2"), tag=b"\0") is None, "by a tag that was another's"
    hub.world.commit()
    client.step()
    assert [each.state for each in client.take_all(events.DispositionReceived)] == [ACCEPTED]
    hub.world.auto_commit = True
    assert queued(hub) == [b"1", b"2"]


def test_a_rejection_is_told_again_without_its_words():
    hub = Hub()
    hub.world.queue("q", max_size=1)
    client = hub.client()
    link, _ = lasting(client)
    assert isinstance(client.send(link, message(b"too much"), tag=b"1"), _spec.Rejected)
    lose(client)
    _, _, answer = again(hub, {b"1": None})
    assert answer.unsettled == {b"1": _spec.Rejected()}
    hub.settings.kept.end_all()
    hub.end()


def test_what_a_queue_holds_back_is_resumed_and_told_of_when_there_is_room():
    hub = Hub()
    hub.world.queue("q", discipline=Discipline(flow=FlowLimits(stop_count=1, resume_count=1)))
    client = hub.client()
    link, _ = lasting(client)
    assert client.send(link, message(b"1"), tag=b"1") == ACCEPTED
    assert client.send(link, message(b"2"), tag=b"2") is None
    lose(client)
    client, link, answer = again(hub, {b"2": None})
    assert answer.unsettled == {b"2": None}
    assert resent(client, link, b"2", b"2") is None
    reader = client.receiver("q", credit=100)
    for each in client.take_all(events.DeliveryReceived):
        reader.session.settle_incoming(each.delivery_id, ACCEPTED)
    client.step()
    assert [each.state for each in client.take_all(events.DispositionReceived)] == [ACCEPTED]
    assert hub.world.depth() == 0
    hub.end()


# How long, how much, and whose.


@pytest.mark.parametrize("how", ["closed", "error"])
def test_a_link_that_is_closed_or_detached_for_an_error_leaves_nothing(hub, how):
    client = hub.client()
    link, _ = lasting(client)
    assert client.send(link, durable(b"1"), tag=b"1") == ACCEPTED
    error = _spec.Error(condition="amqp:internal-error") if how == "error" else None
    link.send_detach(closed=how == "closed", error=error)
    client.step()
    assert absent(hub) == []


def test_a_link_that_is_only_detached_is_answered_at_once_whatever_is_in_doubt(hub):
    client = hub.client()
    link, _ = lasting(client)
    hub.world.auto_commit = False
    assert client.send(link, durable(b"1"), tag=b"1") is None
    link.send_detach(closed=False)
    client.step()
    assert client.take(events.DetachReceived).detach.closed is not True
    hub.world.commit()
    client.step()
    assert client.take_all(events.DispositionReceived) == []
    _, answer = lasting(client, unsettled={b"1": None})
    assert answer.unsettled == {b"1": ACCEPTED}


def test_after_its_time_nothing_is_known_and_nobody_waits_for_outcomes(hub):
    in_doubt(hub, b"1", timeout=5)
    kept = hub.settings.kept
    assert not kept.look(hub.world.now_ms + 4_999)
    assert kept.look(hub.world.now_ms + 5_000)
    assert absent(hub) == []
    hub.world.commit()
    hub.world.auto_commit = True
    _, _, answer = again(hub, {b"\0": None})
    assert answer.unsettled is None
    assert queued(hub) == [b"1"]


def test_another_target_is_another_link(hub):
    hub.world.queue("other")
    in_doubt(hub, b"1")
    hub.world.auto_commit = True
    _, _, answer = again(hub, {b"\0": None}, queue="other")
    assert answer.unsettled is None
    assert absent(hub) == []


def test_a_sender_and_a_receiver_of_one_name_are_two_links(hub):
    in_doubt(hub, b"1")
    hub.world.commit()
    hub.world.auto_commit = True
    client = hub.client()
    client.receiver("q", timeout=60, name=NAME)
    assert len(client.received()) == 1
    lose(client)
    assert len(absent(hub)) == 2
    _, _, answer = again(hub, {b"\0": None})
    assert answer.unsettled == {b"\0": ACCEPTED}


def test_what_is_known_is_on_the_account_of_the_user(hub):
    in_doubt(hub, b"1", b"2")
    user = hub.settings.accounts.user("anonymous")
    assert user.held == SUSPENDED_OCTETS + 2 * DELIVERY_OCTETS
    hub.settings.kept.end_all()
    assert user.held == 0


def test_what_was_told_is_forgotten_behind_credit_that_came_later():
    hub = Hub(limits=Limits(link_credit=4))
    hub.world.queue("q")
    client = hub.client()
    link, _ = lasting(client)
    for number in range(100):
        assert client.send(link, message(b"1"), tag=b"%d" % number) == ACCEPTED
    lose(client)
    held = hub.settings.accounts.user("anonymous").held
    assert held <= SUSPENDED_OCTETS + 9 * DELIVERY_OCTETS
    _, _, answer = again(hub, {b"%d" % number: None for number in range(100)})
    assert b"99" in answer.unsettled
    assert b"80" not in answer.unsettled
    hub.settings.kept.end_all()
    hub.end()


def test_a_client_of_which_too_much_would_be_known_is_told_so(hub):
    client = hub.client()
    link, _ = lasting(client)
    account = client.face.client.account
    account.limit = account.held + DELIVERY_OCTETS
    hub.world.auto_commit = False
    assert client.send(link, durable(b"1"), tag=b"1") is None
    assert client.send(link, durable(b"2"), tag=b"2") is None
    assert client.refused() == "amqp:resource-limit-exceeded"
    assert absent(hub) == []
    hub.world.commit()
    hub.world.auto_commit = True
    account.limit = 1 << 30
    assert queued(hub) == [b"1"]


def test_a_map_that_does_not_fit_a_frame_is_told_in_parts(hub):
    tags = [b"%032d" % number for number in range(40)]
    client = hub.client()
    link, _ = lasting(client)
    for tag in tags:
        assert client.send(link, durable(tag), tag=tag) == ACCEPTED
    lose(client)
    left = dict.fromkeys(tags)
    attaches = 0
    while left:
        attaches += 1
        client = hub.client(limits=Limits(max_frame_size=512))
        link, answer = lasting(
            client, unsettled=dict(list(left.items())[:9]), incomplete_unsettled=len(left) > 9
        )
        assert answer.unsettled
        for tag in answer.unsettled:
            if tag in left:
                assert resent(client, link, tag, tag) == ACCEPTED
                del left[tag]
        link.send_detach(closed=False)
        client.step()
    assert 4 < attaches < 20
    assert sorted(queued(hub)) == sorted(tags)


def test_a_link_that_is_attached_elsewhere_is_taken_from_where_it_was(hub):
    before = hub.client()
    link, _ = lasting(before)
    assert before.send(link, durable(b"1"), tag=b"1") == ACCEPTED
    _, _, answer = again(hub, {b"1": None})
    assert answer.unsettled == {b"1": ACCEPTED}
    detach = before.take(events.DetachReceived).detach
    assert detach.error.condition == "amqp:link:stolen"
    assert detach.closed is True, "as some clients hear of nothing else"
    lose(before)
    assert hub.settings.kept.attached, "the link is the other connection's"
