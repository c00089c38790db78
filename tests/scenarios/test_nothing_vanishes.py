"""A message that came whole is in the books, whatever is wrong with it, and whoever hears of it."""

import pytest
from support import talk_0_10
from support.face_1_0 import Hub, message
from support.upstream_world import UpstreamWorld

from gateway.amqp_0_10 import _spec as spec
from gateway.amqp_1_0 import _spec, events, sections
from gateway.amqp_1_0.types import BINARY
from gateway.audit.schema import Kind, Reason
from gateway.bridge.limits import BridgeLimits
from gateway.translate.batch import BATCH_FORMAT
from gateway.wire.buffers import Writer
from gateway.wire.limits import Limits
from gateway.wire.tagged import Tagged

NO_MESSAGE = b"\x00\x53\x75\xa0"
TAG = {"delivery-tag": Tagged(BINARY, b"t")}


def books(world):
    """What came, and which reason each refusal had; they are of the same messages."""
    records = world.blocks.records()
    came = [each.message for each in records if each.kind == Kind.RECEIVED]
    refused = [each for each in records if each.kind == Kind.REFUSED]
    assert set(each.message for each in refused) <= set(came)
    world.check()
    return len(came), [Reason(each.reason) for each in refused]


def hub_with_user():
    hub = Hub(limits=Limits(batch_max=4))
    hub.world.queue("q")
    return hub, hub.client(user=("user", "pass"))


def batch(*messages):
    writer = Writer()
    for octets in messages:
        sections.write_data(writer, octets)
    return writer.getvalue()


def of(user):
    return message(properties=_spec.Properties(user_id=user))


WRONG = [
    pytest.param(NO_MESSAGE, Reason.UNDECODABLE, "amqp:decode-error", id="no message"),
    pytest.param(of(b"somebody"), Reason.WRONG_USER, "amqp:not-allowed", id="not the user"),
]
NOWHERE = pytest.param(
    message(properties=_spec.Properties(to="nowhere")),
    Reason.NOT_FOUND,
    "amqp:not-found",
    id="no node",
)


@pytest.mark.parametrize("settled", [False, True])
@pytest.mark.parametrize(("payload", "reason", "condition"), [*WRONG, NOWHERE])
def test_the_anonymous_terminus_tells_by_the_tag_what_it_did_not_take(
    payload, reason, condition, settled
):
    hub, client = hub_with_user()
    sender = client.sender(None)
    state = client.send(sender, payload, settled=settled)
    if settled:
        error = client.take(events.DetachReceived).detach.error
    else:
        assert sender.attached
        error = state.error
    assert (error.condition, error.info) == (condition, TAG)
    assert books(hub.world) == (1, [reason])
    assert hub.world.bridge.counts.refusals == {reason: 1}


@pytest.mark.parametrize(("payload", "reason", "condition"), [*WRONG, NOWHERE])
def test_where_the_source_knows_no_rejection_the_anonymous_terminus_detaches_with_the_tag(
    payload, reason, condition
):
    hub, client = hub_with_user()
    sender = client.sender(None, source=_spec.Source(outcomes=["amqp:accepted:list"]))
    client.send(sender, payload)
    error = client.take(events.DetachReceived).detach.error
    assert (error.condition, error.info) == (condition, TAG)
    assert books(hub.world) == (1, [reason])


@pytest.mark.parametrize("settled", [False, True])
@pytest.mark.parametrize(("payload", "reason", "condition"), WRONG)
def test_what_a_link_to_a_queue_does_not_take_is_in_the_books(payload, reason, condition, settled):
    hub, client = hub_with_user()
    state = client.send(client.sender("q"), payload, settled=settled)
    told = client.take(events.DetachReceived).detach.error if settled else state.error
    assert told.condition == condition
    assert books(hub.world) == (1, [reason])
    hub.end()


def test_what_follows_a_message_that_ended_its_link_is_in_the_books_as_well():
    hub, client = hub_with_user()
    sender = client.sender("q")
    for tag, payload in ((b"1", NO_MESSAGE), (b"2", NO_MESSAGE), (b"3", message())):
        sender.send_delivery(tag, b"", payload, settled=True)
    client.step()
    assert books(hub.world) == (3, [Reason.UNDECODABLE] * 2)
    assert hub.world.depth() == 1
    assert len(client.take_all(events.DetachReceived)) == 1


def test_a_message_of_a_transaction_that_is_not_there_is_in_the_books():
    hub, client = hub_with_user()
    state = _spec.TransactionalState(txn_id=b"none")
    client.send(client.sender("q"), message(), state=state)
    assert client.refused() == "amqp:transaction:unknown-id"
    assert books(hub.world) == (1, [Reason.ROLLBACK])


@pytest.mark.parametrize("settled", [False, True])
def test_every_message_of_a_batch_that_is_refused_is_in_the_books(settled):
    hub, client = hub_with_user()
    payload = batch(message(), NO_MESSAGE, of(b"somebody"), message())
    client.send(client.sender("q"), payload, message_format=BATCH_FORMAT, settled=settled)
    count, reasons = books(hub.world)
    assert count == 4
    assert sorted(reasons) == sorted(
        [Reason.UNDECODABLE, Reason.WRONG_USER, Reason.REJECTED, Reason.REJECTED]
    )
    assert len(client.take_all(events.DetachReceived)) == settled


@pytest.mark.parametrize(
    ("payload", "reason"),
    [(b"no sections", Reason.UNDECODABLE), (batch(*[message()] * 5), Reason.OVER_LIMIT)],
    ids=["no batch", "too many"],
)
def test_a_batch_that_is_not_opened_is_in_the_books_as_one(payload, reason):
    hub, client = hub_with_user()
    client.send(client.sender("q"), payload, message_format=BATCH_FORMAT)
    assert books(hub.world) == (1, [reason])


def test_what_follows_the_message_of_a_batch_that_a_queue_refuses_is_in_the_books():
    hub, client = hub_with_user()
    hub.world.queue("small", max_count=1)
    payload = batch(*[message()] * 4)
    client.send(client.sender("small"), payload, message_format=BATCH_FORMAT)
    assert books(hub.world) == (4, [Reason.QUEUE_FULL, Reason.REJECTED, Reason.REJECTED])


# 0-10


def test_a_transfer_that_ends_its_session_is_in_the_books_and_so_is_what_came_behind_it():
    gateway = talk_0_10.Gateway()
    gateway.world.queue()
    client = gateway.session("ann")
    client.publishes(b"x", message=spec.MessageProperties(user_id=b"bob"))
    client.publishes(b"y")
    client.says(spec.MessageTransfer(), header=b"\x00\x00\x00\x05\x04\x03", body=b"z")
    client.hears()
    assert books(gateway.world) == (
        3,
        [Reason.WRONG_USER, Reason.SESSION_ENDED, Reason.SESSION_ENDED],
    )


@pytest.mark.parametrize(
    ("transfer", "header", "reason"),
    [
        (spec.MessageTransfer(), b"\x00\x00\x00\x05\x04\x03", Reason.UNDECODABLE),
        (spec.MessageTransfer(accept_mode=2), b"", Reason.BROKE_PROTOCOL),
    ],
)
def test_a_transfer_that_is_none_is_in_the_books(transfer, header, reason):
    gateway = talk_0_10.Gateway()
    client = gateway.session()
    client.says(transfer, header=header, body=b"x")
    client.hears()
    assert books(gateway.world) == (1, [reason])


@pytest.mark.parametrize("how", ["detach", "lose"])
def test_transfers_that_were_parked_when_their_session_ended_are_in_the_books(how):
    gateway = talk_0_10.Gateway(
        limits=Limits(octets_in_doubt_max=1000), bridge_limits=BridgeLimits(messages_high=1)
    )
    gateway.world.queue()
    client = gateway.session()
    for _ in range(9):
        client.publishes(b"x" * 400)
    client.hears()
    depth = gateway.world.depth()
    assert depth < 9
    if how == "detach":
        client.session.detach()
        client.hears()
    else:
        client.loses_transport()
    assert books(gateway.world) == (9, [Reason.SESSION_ENDED] * (9 - depth))


# Upstreams


def test_what_an_upstream_sends_and_nobody_can_read_is_in_the_books():
    w = UpstreamWorld().place("q")
    broker = w.connect()
    w.subscribe()
    broker.deliver("q", NO_MESSAGE)
    broker.deliver("q", NO_MESSAGE, settled=True)
    w.step()
    assert books(w.world) == (2, [Reason.UNDECODABLE] * 2)
    received = [each for each in w.world.blocks.records() if each.kind == Kind.RECEIVED]
    assert {each.exchange for each in received} == {"upstream broker"}


def test_what_an_upstream_sends_to_a_client_that_has_left_is_in_the_books():
    w = UpstreamWorld().place("q")
    broker = w.connect()
    _, subscription = w.subscribe()
    link = broker.link("q")
    subscription.cancel()
    link.send_delivery(b"late", b"", message(), settled=False)
    w.step()
    assert broker.states() == [_spec.Released()]
    assert books(w.world) == (1, [Reason.CANCELLED])
