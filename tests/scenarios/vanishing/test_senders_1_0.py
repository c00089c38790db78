"""A message that came by 1.0 is in the books, whatever is wrong with it and whoever hears."""

import pytest
from support.books import NO_MESSAGE, books, identities
from support.controller_1_0 import ROLLED_BACK, Controller, error_of
from support.face_1_0 import Hub, message

from gateway.amqp_1_0 import _spec, events, sections
from gateway.amqp_1_0.primitives.encoding import to_bytes
from gateway.amqp_1_0.types import BINARY, ULONG
from gateway.audit.digests import digest
from gateway.audit.schema import Kind, Reason
from gateway.faces.face import Ending
from gateway.translate.batch import BATCH_FORMAT
from gateway.wire.buffers import Writer
from gateway.wire.limits import Limits
from gateway.wire.tagged import Tagged

TAG = {"delivery-tag": Tagged(BINARY, b"t")}


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
    client.face.force_close(hub.world.now_ms, Ending("moved", Reason.OPERATOR))
    for number in (1, 2):
        sender.send_delivery(b"%d" % number, b"", named(number), settled=True)
    client.step()
    assert books(hub.world) == (2, [Reason.SESSION_ENDED] * 2)
    assert identities(hub.world) == expected(1, 2)
    hub.end()


def test_what_nobody_could_take_is_no_message_where_it_is_for_a_coordinator():
    controller = Controller()
    controller.client.face.force_close(
        controller.hub.world.now_ms, Ending("moved", Reason.OPERATOR)
    )
    controller.commits(b"none")
    assert books(controller.hub.world) == (0, [])
