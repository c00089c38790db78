"""message.transfer from clients: routed, completed, accepted, rejected, refused."""

import pytest
from support import drive_0_10 as drive
from support.rules import rule
from support.talk_0_10 import Gateway

from gateway.amqp_0_10 import _spec as spec
from gateway.amqp_0_10._spec_constants import STR16
from gateway.amqp_0_10.events import CommandReceived
from gateway.amqp_0_10.structs import write_header
from gateway.bridge.limits import BridgeLimits
from gateway.bridge.seams import QueueSettings
from gateway.wire.limits import Limits
from gateway.wire.tagged import Tagged

PERSISTENT = spec.DeliveryMode.PERSISTENT


def gateway_with_queue(**settings: int) -> Gateway:
    gateway = Gateway()
    gateway.world.queue(**settings)
    return gateway


def durable() -> spec.DeliveryProperties:
    return spec.DeliveryProperties(delivery_mode=PERSISTENT)


def accept(first: int, last: int) -> spec.MessageAccept:
    return spec.MessageAccept(transfers=[(first, last)])


@rule("0-10", "message.transfer.destination", "blank-destination")
def test_transfers_of_a_turn_are_completed_together() -> None:
    gateway = gateway_with_queue()
    client = gateway.session()
    for body in (b"1", b"2", b"3"):
        client.publishes(body)
    assert client.hears() == ["completed 0-2"]
    assert gateway.world.depth() == 3
    gateway.world.check()


def test_a_durable_transfer_is_completed_when_it_is_on_disk() -> None:
    gateway = gateway_with_queue(durable=True)
    gateway.world.commit()
    gateway.world.auto_commit = False
    client = gateway.session()
    client.publishes(b"kept", delivery=durable())
    client.publishes(b"not kept")
    assert client.hears() == ["completed 1-1"]
    gateway.world.commit()
    assert client.hears() == ["completed 0-0"]


def test_transfers_are_completed_with_the_commit_of_their_own_turn() -> None:
    gateway = gateway_with_queue(durable=True)
    gateway.world.commit()
    gateway.world.auto_commit = False
    client = gateway.session()
    for body in (b"first", b"second"):
        client.publishes(body, delivery=durable())
        assert client.hears() == []
    heard: list[object] = []
    while not heard:
        gateway.world.calls.pop(0)()
        heard = client.hears()
    assert heard == ["completed 0-0"]
    gateway.world.commit()
    assert client.hears() == ["completed 1-1"]


def test_execution_sync_completes_behind_all_before_it() -> None:
    gateway = gateway_with_queue(durable=True)
    gateway.world.commit()
    gateway.world.auto_commit = False
    client = gateway.session()
    client.publishes(b"kept", delivery=durable())
    client.says(spec.ExecutionSync(), sync=True)
    assert client.hears() == []
    gateway.world.commit()
    assert client.hears() == ["completed 0-1"]


def test_explicit_accept_mode_is_answered_with_accept_and_others_are_not() -> None:
    gateway = gateway_with_queue(durable=True)
    client = gateway.session()
    client.publishes(b"1", explicit=True)
    client.publishes(b"2")
    client.publishes(b"3", explicit=True, delivery=durable())
    assert client.hears() == [
        spec.MessageAccept(transfers=[(0, 0), (2, 2)]),
        "completed 0-2",
    ]
    client.publishes(b"4")
    assert client.hears() == ["completed 3-3"]


@rule("0-10", "exchange.declare.alternate-exchange", "empty-name")
def test_an_unroutable_message_is_dropped_and_completed() -> None:
    client = Gateway().session()
    client.publishes(b"x", key="nowhere")
    assert client.hears() == ["completed 0-0"]
    client.gateway.world.check()


@pytest.mark.parametrize(
    ("delivery", "code"),
    [
        (spec.DeliveryProperties(), spec.RejectCode.UNROUTABLE),
        (spec.DeliveryProperties(immediate=True), spec.RejectCode.UNROUTABLE),
    ],
)
def test_an_unroutable_message_is_rejected_where_the_client_asked(
    delivery: spec.DeliveryProperties, code: int
) -> None:
    client = Gateway().session()
    client.publishes(b"x", key="nowhere", explicit=True, delivery=delivery)
    reject, completed = client.hears()
    assert (reject.transfers, reject.code) == ([(0, 0)], code)
    assert completed == "completed 0-0"


def test_an_unroutable_message_that_may_be_discarded_is_accepted() -> None:
    client = Gateway().session()
    delivery = spec.DeliveryProperties(discard_unroutable=True)
    client.publishes(b"x", key="nowhere", explicit=True, delivery=delivery)
    assert client.hears() == [accept(0, 0), "completed 0-0"]


def test_an_immediate_message_without_a_ready_consumer_is_rejected_as_such() -> None:
    gateway = gateway_with_queue()
    client = gateway.session()
    client.publishes(b"x", explicit=True, delivery=spec.DeliveryProperties(immediate=True))
    reject, completed = client.hears()
    assert reject.code == spec.RejectCode.IMMEDIATE
    assert completed == "completed 0-0"
    assert gateway.world.depth() == 0


@rule("0-10", "message.transfer.destination", "nonexistent-exchange")
def test_an_unknown_exchange_ends_the_session_and_what_follows_is_ignored() -> None:
    gateway = gateway_with_queue()
    client = gateway.session()
    client.publishes(b"1")
    client.publishes(b"2", to="nowhere")
    client.publishes(b"3")
    assert client.hears() == ["completed 0-0", (404, 1), "ended 0"]
    assert gateway.world.depth() == 1
    assert gateway.settings.counts.sessions_closed == [1, 0]
    assert client.attach() == ["attached"]
    gateway.world.check()


def test_what_follows_a_failure_is_ignored_also_when_the_client_has_left() -> None:
    gateway = gateway_with_queue()
    client = gateway.session()
    client.publishes(b"1", to="nowhere")
    client.publishes(b"2")
    client.session.detach()
    client.hears()
    assert gateway.world.depth() == 0


def test_what_was_said_before_a_detach_is_done() -> None:
    gateway = gateway_with_queue()
    client = gateway.session()
    client.publishes(b"1")
    client.publishes(b"2", explicit=True)
    client.session.detach()
    assert client.hears() == ["ended 0"]
    assert gateway.world.depth() == 2
    gateway.world.check()


def test_what_was_said_before_a_close_is_done() -> None:
    gateway = gateway_with_queue()
    client = gateway.session()
    client.publishes(b"1", explicit=True)
    client.connection.send_close(200, "", 0)
    assert client.hears() == ["closed 200"]
    assert gateway.world.depth() == 1


@rule("0-10", "message.message-properties.user-id", "authentication")
@pytest.mark.parametrize(
    ("user", "claimed", "code"),
    [
        ("ann", b"ann", None),
        ("ann", b"ann@QPID", None),
        ("ann", b"ann@realm", 403),
        ("ann", b"", None),
        ("ann", b"bob", 403),
        ("", b"bob", None),
    ],
)
def test_the_user_id_must_be_the_connections_user(
    user: str, claimed: bytes, code: int | None
) -> None:
    gateway = gateway_with_queue()
    client = gateway.session(user)
    client.publishes(b"x", message=spec.MessageProperties(user_id=claimed))
    wanted = ["completed 0-0"] if code is None else [(code, 0), "ended 0"]
    assert client.hears() == wanted
    assert gateway.world.depth() == (code is None)


@rule("0-10", "message", "no-persistent-message-discard")
def test_a_full_queue_ends_the_session_with_506() -> None:
    gateway = gateway_with_queue(max_count=1)
    client = gateway.session()
    client.publishes(b"1")
    client.publishes(b"2")
    assert client.hears() == ["completed 0-0", (506, 1), "ended 0"]


def test_a_header_that_cannot_be_read_ends_the_session_with_503() -> None:
    client = Gateway().session()
    client.says(spec.MessageTransfer(), header=b"\x00\x00\x00\x05\x04\x03", body=b"x")
    assert client.hears() == [(503, 0), "ended 0"]


@pytest.mark.parametrize(
    "transfer", [spec.MessageTransfer(accept_mode=2), spec.MessageTransfer(acquire_mode=9)]
)
def test_a_mode_that_does_not_exist_is_an_illegal_argument(
    transfer: spec.MessageTransfer,
) -> None:
    client = Gateway().session()
    client.says(transfer, header=b"")
    assert client.hears() == [(531, 0), "ended 0"]


def pressed() -> Gateway:
    limits = BridgeLimits(messages_high=2, messages_low=1, messages_max=100)
    gateway = Gateway(bridge_limits=limits, limits=Limits(commands_in_doubt_max=8))
    gateway.world.queue()
    return gateway


def test_completions_are_held_back_while_the_queues_hold_too_much() -> None:
    gateway = pressed()
    client, consumer = gateway.session(), gateway.session()
    for body in (b"1", b"2", b"3"):
        client.publishes(body, explicit=True)
    assert client.hears() == [accept(0, 1), "completed 0-1"]
    assert not client.face.drained()
    assert client.face.owed() == 0  # it is our turn
    consumer.subscribes(accept=1)
    assert consumer.gets() == [b"1", b"2", b"3"]
    assert client.hears() == [accept(2, 2), "completed 2-2"]
    assert client.face.drained()


def test_a_session_that_ends_meanwhile_is_not_told() -> None:
    gateway = pressed()
    client, consumer = gateway.session(), gateway.session()
    for body in (b"1", b"2", b"3"):
        client.publishes(body)
    client.hears()
    client.session.detach()
    client.hears()
    consumer.subscribes(accept=1)
    assert consumer.gets() == [b"1", b"2", b"3"]
    assert client.hears() == []


def test_reading_pauses_before_too_much_is_held_back() -> None:
    gateway = pressed()
    client = gateway.session()
    for _ in range(5):
        client.publishes(b"x")
    client.hears()
    assert not client.face.reading_paused
    client.publishes(b"x")
    client.hears()
    assert client.face.reading_paused


def test_commits_after_the_end_of_the_session_are_nothing() -> None:
    gateway = gateway_with_queue(durable=True)
    gateway.world.commit()
    gateway.world.auto_commit = False
    client = gateway.session()
    client.publishes(b"x", delivery=durable())
    client.hears()
    client.loses_transport()
    gateway.world.commit()
    gateway.world.turn()
    assert client.face.data_to_send() == b""
    gateway.world.auto_commit = True
    gateway.world.check()


@pytest.mark.parametrize("size", [0, 1, 70_000, 300_000])
def test_bodies_of_any_size_come_through_whole(size: int) -> None:
    gateway = gateway_with_queue()
    client = gateway.session()
    body = bytes(range(256)) * (size // 256 + 1)
    client.publishes(body[:size])
    client.subscribes()
    assert client.gets() == [body[:size]]


@pytest.mark.parametrize("kind", ["direct", "topic", "fanout", "headers"])
def test_a_message_goes_the_way_of_its_exchange(kind: str) -> None:
    gateway = Gateway()
    gateway.world.queue()
    client = gateway.session()
    exchange = {"headers": "amq.match"}.get(kind, f"amq.{kind}")
    assert gateway.world.host.declaring.declare_queue(
        "other", QueueSettings(), gateway.world.owner()
    )
    arguments = None if kind != "headers" else [("x-match", Tagged(STR16, "all"))]
    client.says(
        spec.ExchangeBind(queue="q", exchange=exchange, binding_key="k", arguments=arguments)
    )
    client.hears()
    client.publishes(b"x", to=exchange, key="k")
    assert client.hears() == ["completed 1-1"]
    assert gateway.world.depth() == 1
    assert gateway.world.depth("other") == 0


def test_a_transfer_without_any_content_is_a_message() -> None:
    gateway = gateway_with_queue()
    client = gateway.session()
    octets = drive.command(spec.MessageTransfer(destination="amq.fanout"), client.channel)
    client.face.receive_data(octets, gateway.world.now_ms)
    assert drive.values(client.face.data_to_send()) == [spec.SessionCompleted(commands=[(0, 0)])]


def test_a_message_is_routed_by_the_key_in_its_header() -> None:
    gateway = gateway_with_queue()
    client = gateway.session()
    header = write_header(spec.DeliveryProperties(routing_key="q"), None)
    client.says(spec.MessageTransfer(), header=header, body=b"x")
    client.hears()
    assert gateway.world.depth() == 1


def test_more_small_commands_than_the_limit_in_one_read_are_carried_out() -> None:
    gateway = Gateway(limits=Limits(commands_in_doubt_max=10))
    client = gateway.session()
    client.says(*[spec.ExchangeQuery(name="amq.topic")] * 3_000)
    client.says(spec.QueueDeclare(queue="last"))
    heard = client.hears()
    assert len([one for one in heard if isinstance(one, spec.ExchangeQueryResult)]) == 3_000
    assert gateway.world.host.topology.find_queue("last") is not None
    assert not client.face.reading_paused


@pytest.mark.parametrize("present", [True, False])
def test_an_empty_body_is_not_an_absent_one_through_store_and_queue(present: bool) -> None:
    gateway = Gateway()
    gateway.world.queue("q", durable=True)
    producer = gateway.session()
    delivery = spec.DeliveryProperties(routing_key="q", delivery_mode=spec.DeliveryMode.PERSISTENT)
    assert producer.session is not None
    producer.session.send_command(
        spec.MessageTransfer(), header=write_header(delivery, None), empty_body=present
    )
    producer.hears()
    gateway.world.crash()
    consumer = gateway.session()
    consumer.subscribes()
    events: list[CommandReceived] = []
    world = gateway.world
    for _ in range(5):
        consumer.face.receive_data(consumer.connection.data_to_send(), world.now_ms)
        world.turn()
        heard = consumer.connection.receive_data(consumer.face.data_to_send(), world.now_ms)
        events += [each for each in heard if isinstance(each, CommandReceived)]
    (event,) = events
    assert (event.empty_body, len(event.payload)) == (present, event.body_at)
