"""A message that came is in the books, whatever is wrong with it, and whoever hears of it."""

import pytest
from support import drive_0_10, talk_0_10
from support.controller_1_0 import ROLLED_BACK, Controller, error_of
from support.face_1_0 import Hub, message
from support.upstream_world import UpstreamWorld

from gateway.amqp_0_10 import _spec as spec
from gateway.amqp_1_0 import _spec, events, sections
from gateway.amqp_1_0.primitives.encoding import to_bytes
from gateway.amqp_1_0.types import BINARY, ULONG
from gateway.audit.digests import digest
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
def test_a_message_that_says_no_address_is_told_so_by_the_anonymous_terminus(settled):
    hub, client = hub_with_user()
    state = client.send(client.sender(None), message(), settled=settled)
    error = client.take(events.DetachReceived).detach.error if settled else state.error
    assert (error.condition, error.info) == ("amqp:not-found", TAG)
    assert error.description == "the message has no address in `to`"
    assert books(hub.world) == (1, [Reason.NOT_FOUND])


@pytest.mark.parametrize("settled", [False, True])
def test_what_was_read_behind_an_error_of_the_anonymous_terminus_is_refused(settled):
    hub, client = hub_with_user()
    sender = client.sender(None)
    good = message(properties=_spec.Properties(to="q"))
    bad = message(properties=_spec.Properties(to="nowhere"))
    sender.send_delivery(b"1", b"", good, settled=True)
    sender.send_delivery(b"2", b"", bad, settled=True)
    for tag in (b"3", b"4"):
        sender.send_delivery(tag, b"", good, settled=settled)
    client.step()
    error = client.take(events.DetachReceived).detach.error
    assert error.info["delivery-tag"].value == b"2"
    assert books(hub.world) == (4, [Reason.NOT_FOUND, *[Reason.LINK_DETACHED] * 2])
    assert hub.world.depth() == 1
    hub.end()


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
    behind = [Reason.LINK_DETACHED] * 2
    assert books(hub.world) == (3, [Reason.UNDECODABLE, *behind])
    assert hub.world.depth() == 0
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


@pytest.mark.parametrize("settled", [False, True])
@pytest.mark.parametrize("octets", [5_000, 100_000], ids=["one frame", "many frames"])
def test_a_message_that_is_too_large_is_in_the_books_and_told_by_its_tag(octets, settled):
    hub = Hub(limits=Limits(message_size_max=4096))
    hub.world.queue("q")
    client = hub.client()
    sender = client.sender("q")
    sender.send_delivery(b"t", b"", message(body=b"x" * octets), settled=settled)
    client.step()
    error = client.take(events.DetachReceived).detach.error
    assert (error.condition, error.info) == ("amqp:link:message-size-exceeded", TAG)
    assert books(hub.world) == (1, [Reason.OVER_LIMIT])
    assert hub.world.bridge.counts.refusals == {Reason.OVER_LIMIT: 1}
    (record,) = [each for each in hub.world.blocks.records() if each.kind == Kind.RECEIVED]
    assert 4096 < record.size <= octets + 100


@pytest.mark.parametrize("batched", [False, True])
@pytest.mark.parametrize(
    ("address", "condition", "refusals"),
    [
        ("small", "amqp:resource-limit-exceeded", {Reason.QUEUE_FULL: 1}),
        ("amq.direct/nothing", "amqp:not-found", {}),
    ],
)
def test_who_sent_settled_what_no_queue_took_hears_it_by_the_end_of_the_link(
    address, condition, refusals, batched
):
    hub = Hub()
    hub.world.queue("small", max_count=1)
    client = hub.client()
    client.send(client.sender("small"), message())
    sender = client.sender(address)
    payload = batch(message()) if batched else message()
    more = {"message_format": BATCH_FORMAT} if batched else {}
    client.send(sender, payload, settled=True, **more)
    error = client.take(events.DetachReceived).detach.error
    assert (error.condition, error.info) == (condition, TAG)
    assert hub.world.bridge.counts.refusals == refusals
    hub.end()


def test_what_no_queue_took_of_a_topic_is_accepted_and_its_link_goes_on():
    hub = Hub()
    client = hub.client()
    sender = client.sender("amq.topic/nothing")
    client.send(sender, message(), settled=True)
    assert client.send(sender, message()) == _spec.Accepted()


@pytest.mark.parametrize("octets", [10, 100_000], ids=["one frame", "many frames"])
@pytest.mark.parametrize("settled", [False, True])
@pytest.mark.parametrize("kind", ["queue", "exchange"])
def test_what_was_under_way_when_a_link_was_detached_is_in_the_books(kind, octets, settled):
    hub = Hub()
    delete = declared(hub, kind)
    client = hub.client()
    sender = client.sender("q")
    delete()
    for tag in (b"1", b"2"):
        sender.send_delivery(tag, b"", message(body=b"x" * octets), settled=settled)
    client.step()
    assert client.take(events.DetachReceived).detach.error.condition == "amqp:resource-deleted"
    assert books(hub.world) == (2, [Reason.LINK_DETACHED] * 2)
    hub.end()


@pytest.mark.parametrize("octets", [10, 100_000], ids=["one frame", "many frames"])
@pytest.mark.parametrize("settled", [False, True])
def test_a_commit_fails_whose_message_came_when_its_link_had_been_detached(settled, octets):
    controller = Controller()
    hub = controller.hub
    hub.world.queue("other")
    gone, staying = controller.sender(), controller.sender("other")
    txn_id = controller.declares()
    delete = hub.host.declaring.delete_queue
    delete("q")
    # The client has not heard of it.
    state = _spec.TransactionalState(txn_id=txn_id)
    gone.send_delivery(b"1", b"", message(b"x" * octets), settled=settled, state=state)
    controller.posts(staying, txn_id, settled=settled)
    assert controller.client.take(events.DetachReceived).link is gone
    controller.told()
    assert error_of(controller.commits(txn_id)) == "amqp:transaction:rollback"
    assert books(hub.world) == (2, [Reason.LINK_DETACHED])
    assert hub.world.bridge.counts.refusals == {Reason.LINK_DETACHED: 1}
    assert controller.ended() == [ROLLED_BACK]
    assert controller.depth("other") == 0
    controller.end()


def test_a_commit_fails_whose_message_was_too_large():
    controller = Controller(limits=Limits(message_size_max=4096))
    sender = controller.sender()
    txn_id = controller.declares()
    controller.posts(sender, txn_id, b"x" * 5_000, settled=True)
    assert error_of(controller.commits(txn_id)) == "amqp:transaction:rollback"
    assert books(controller.hub.world) == (1, [Reason.OVER_LIMIT])
    controller.end()


def test_a_commit_fails_whose_message_came_behind_the_end_of_its_session():
    controller = Controller()
    sender = controller.client.sender("q")
    txn_id = controller.declares()
    session = controller.client.face.connection.sessions()[-1]
    session.send_end(error=_spec.Error(condition="amqp:internal-error"))
    controller.posts(sender, txn_id, settled=True)
    assert error_of(controller.commits(txn_id)) == "amqp:transaction:rollback"
    assert books(controller.hub.world) == (1, [Reason.SESSION_ENDED])
    controller.end()


def identities(world):
    """The digests of the message-ids of what came."""
    return [each["id_digest"] for each in world.blocks.raw() if each["kind"] == Kind.RECEIVED]


def named(number, body=b"body", **more):
    return message(body, properties=_spec.Properties(message_id=Tagged(ULONG, number), **more))


def expected(*numbers):
    return [digest(to_bytes(Tagged(ULONG, number))) for number in numbers]


def test_what_comes_behind_an_error_is_found_by_its_message_id():
    hub = Hub()
    client = hub.client()
    sender = client.sender(None)
    sender.send_delivery(b"1", b"", named(1, to="nowhere"), settled=True)
    sender.send_delivery(b"2", b"", named(2), settled=True)
    client.face.receive_data(client.connection.data_to_send(), hub.world.now_ms)
    # The client has not heard of the end of the link.
    sender.send_delivery(b"3", b"", named(3, b"x" * 100_000), settled=False)
    client.step()
    assert books(hub.world) == (3, [Reason.NOT_FOUND, *[Reason.LINK_DETACHED] * 2])
    assert identities(hub.world) == expected(1, 2, 3)


@pytest.mark.parametrize("octets", [5_000, 100_000], ids=["one frame", "many frames"])
def test_what_is_too_large_is_found_by_its_message_id_and_so_is_what_comes_behind_it(octets):
    hub = Hub(limits=Limits(message_size_max=4096))
    hub.world.queue("q")
    client = hub.client()
    sender = client.sender("q")
    sender.send_delivery(b"1", b"", named(1, b"x" * octets), settled=False)
    sender.send_delivery(b"2", b"", named(2), settled=False)
    sender.send_delivery(b"3", b"", named(3), settled=True)
    client.step()
    assert books(hub.world) == (3, [Reason.OVER_LIMIT, *[Reason.LINK_DETACHED] * 2])
    assert identities(hub.world) == expected(1, 2, 3)
    hub.end()


def test_what_is_no_message_is_found_by_its_message_id():
    hub = Hub()
    hub.world.queue("q")
    client = hub.client()
    client.send(client.sender("q"), named(1) + b"\x00\x53\x99\x40")
    assert books(hub.world) == (1, [Reason.UNDECODABLE])
    assert identities(hub.world) == expected(1)


def test_what_comes_when_its_connection_has_been_closed_is_in_the_books():
    hub = Hub()
    hub.world.queue("q")
    client = hub.client()
    sender = client.sender("q")
    client.face.force_close(hub.world.now_ms)
    for number in (1, 2):
        sender.send_delivery(b"%d" % number, b"", named(number), settled=True)
    client.step()
    assert books(hub.world) == (2, [Reason.SESSION_ENDED] * 2)
    assert identities(hub.world) == expected(1, 2)
    hub.end()


def test_what_nobody_could_take_is_no_message_where_it_is_for_a_coordinator():
    controller = Controller()
    controller.client.face.force_close(controller.hub.world.now_ms)
    controller.commits(b"none")
    assert books(controller.hub.world) == (0, [])


# 0-10


@pytest.mark.parametrize("octets", [5_000, 100_000], ids=["one frame", "many frames"])
def test_a_transfer_that_is_too_large_is_in_the_books(octets):
    gateway = talk_0_10.Gateway(limits=Limits(message_size_max=4096))
    gateway.world.queue()
    client = gateway.session()
    client.publishes(b"x" * octets)
    assert (506, 0) in client.hears()
    assert books(gateway.world) == (1, [Reason.OVER_LIMIT])
    (record,) = [each for each in gateway.world.blocks.records() if each.kind == Kind.RECEIVED]
    assert 4096 < record.size <= octets + 100


def test_a_transfer_with_too_large_a_header_is_in_the_books():
    gateway = talk_0_10.Gateway(limits=Limits(table_size_max=4096))
    client = gateway.session()
    client.says(spec.MessageTransfer(), header=b"h" * 5_000, body=b"x")
    client.hears()
    assert books(gateway.world) == (1, [Reason.OVER_LIMIT])


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


MESSAGE_ID = bytes(range(16))


def ends_by_exception(gateway, client):
    client.publishes(b"x", to="no exchange")
    return Reason.NOT_FOUND


def ends_by_detached(gateway, client):
    """Another transport takes its name."""
    gateway.session().attach(client.session.name, force=True)


def ends_with_the_connection(gateway, client):
    client.face.force_close(gateway.world.now_ms)


@pytest.mark.parametrize("octets", [1, 100_000], ids=["one frame", "many frames"])
@pytest.mark.parametrize("end", [ends_by_exception, ends_by_detached, ends_with_the_connection])
def test_transfers_behind_the_end_of_their_session_are_in_the_books(end, octets):
    gateway = talk_0_10.Gateway()
    gateway.world.queue()
    client = gateway.session()
    first = end(gateway, client)
    if first is not None:
        client.face.receive_data(client.connection.data_to_send(), gateway.world.now_ms)
    # The client has not heard of it.
    for _ in range(3):
        identity = spec.MessageProperties(message_id=MESSAGE_ID)
        client.publishes(b"x" * octets, message=identity)
    client.hears()
    reasons = [Reason.SESSION_ENDED] * 3
    if first is not None:
        reasons.insert(0, first)
    assert books(gateway.world) == (len(reasons), reasons)
    assert identities(gateway.world)[-3:] == [digest(MESSAGE_ID)] * 3
    assert gateway.world.bridge.counts.refusals[Reason.SESSION_ENDED] == 3
    assert gateway.world.depth() == 0


def test_a_transfer_that_was_under_way_when_its_session_ended_is_in_the_books_once():
    gateway = talk_0_10.Gateway(limits=Limits(message_size_max=4096))
    gateway.world.queue()
    client = gateway.session()
    client.publishes(b"x" * 200_000)
    client.publishes(b"y")
    octets = client.connection.data_to_send()
    for at in range(0, len(octets), 10_000):
        client.face.receive_data(octets[at : at + 10_000], gateway.world.now_ms)
    client.hears()
    assert books(gateway.world) == (2, [Reason.OVER_LIMIT, Reason.SESSION_ENDED])


def test_a_transfer_before_the_command_point_of_its_session_is_in_the_books():
    gateway = talk_0_10.Gateway()
    gateway.world.queue()
    client = gateway.client()
    attach = drive_0_10.control(spec.SessionAttach(name=b"s"), 1)
    transfer = drive_0_10.command(spec.MessageTransfer(), header=b"", body=b"x")
    client.face.receive_data(attach + transfer * 2, gateway.world.now_ms)
    client.hears()
    assert books(gateway.world) == (2, [Reason.SESSION_ENDED] * 2)


def test_a_command_that_cannot_be_read_is_in_the_books_if_it_is_a_transfer():
    gateway = talk_0_10.Gateway()
    client = gateway.session()
    client.publishes(b"x", to="a name")
    octets = client.connection.data_to_send().replace(b"\x06a name", b"\xffa name")
    client.face.receive_data(octets, gateway.world.now_ms)
    client.hears()
    assert books(gateway.world) == (1, [Reason.UNDECODABLE])


def test_who_has_not_opened_a_virtual_host_publishes_nothing():
    gateway = talk_0_10.Gateway()
    client = talk_0_10.Client(gateway)
    client.hears()
    transfer = drive_0_10.command(spec.MessageTransfer(), header=b"", body=b"x")
    client.face.receive_data(transfer * 2, gateway.world.now_ms)
    client.hears()
    assert books(gateway.world) == (0, [])


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


# Deleted nodes


def declared(hub, kind, durable=False):
    """A node of the name q; what deletes it."""
    declaring = hub.host.declaring
    if kind == "queue":
        hub.world.queue("q", durable=durable)
        return lambda: declaring.delete_queue("q")
    hub.world.queue("behind", durable=durable)
    declaring.declare_exchange("q", "fanout", durable=durable)
    assert hub.host.bindings.bind("behind", "q", "", {}, b"") is None
    return lambda: declaring.delete_exchange("q")


@pytest.mark.parametrize("kind", ["queue", "exchange"])
def test_the_links_that_send_to_a_node_are_detached_when_it_is_deleted(kind):
    hub = Hub()
    delete = declared(hub, kind)
    hub.world.queue("other")
    client, another = hub.client(), hub.client("another")
    gone = [client.sender("q"), client.sender("q"), another.sender("q")]
    staying = [client.sender("other"), another.sender(None)]
    delete()
    hub.step()
    told = client.take_all(events.DetachReceived) + another.take_all(events.DetachReceived)
    assert {event.link for event in told} == set(gone)
    for event in told:
        assert event.detach.closed
        assert event.detach.error.condition == "amqp:resource-deleted"
    assert all(link.attached for link in staying)
    declared(hub, "queue")
    assert client.send(client.sender("q"), message()) == _spec.Accepted()
    hub.end()


@pytest.mark.parametrize("kind", ["queue", "exchange"])
def test_what_waits_for_the_disk_has_its_outcome_before_the_link_of_a_deleted_node_ends(kind):
    hub = Hub()
    delete = declared(hub, kind, durable=True)
    client = hub.client()
    hub.world.auto_commit = False
    sender = client.sender("q")
    sent = message(header=_spec.Header(durable=True))
    sender.send_delivery(b"t", b"", sent, settled=False)
    client.step()
    delete()
    client.step()
    assert not client.take_all(events.DetachReceived)
    sender.send_delivery(b"late", b"", sent, settled=False)
    client.step()
    assert client.take(events.DispositionReceived).state.error.condition == "amqp:not-found"
    sender.send_delivery(b"later", b"", sent, settled=True)
    client.step()
    assert not client.take_all(events.DetachReceived)
    assert books(hub.world)[0] == 3
    hub.world.commit()
    client.step()
    hub.world.commit()
    client.step()
    assert client.take(events.DispositionReceived).state == _spec.Accepted()
    error = client.take(events.DetachReceived).detach.error
    assert error.condition == "amqp:resource-deleted"
    hub.world.auto_commit = True
    hub.end()


@pytest.mark.parametrize("kind", ["queue", "topic"])
def test_a_node_may_go_with_the_link_that_sends_to_it(kind):
    hub = Hub()
    client = hub.client()
    sender = client.attach(
        _spec.SENDER,
        target=_spec.Target(dynamic=True, capabilities=[kind]),
        source=_spec.Source(address="here"),
    )
    other = client.sender(sender.attach.target.address)
    sender.send_detach()
    client.step()
    told = {event.link: event.detach.error for event in client.take_all(events.DetachReceived)}
    assert told[sender] is None
    assert told[other].condition == "amqp:resource-deleted"
    hub.end()
