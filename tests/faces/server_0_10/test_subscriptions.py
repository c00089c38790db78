"""Subscriptions, credit, deliveries and their settlement, as conversations."""

import pytest
from support.rules import rule
from support.talk_0_10 import Client, Gateway

from gateway.amqp_0_10 import _spec as spec
from gateway.amqp_0_10._spec_constants import BOOLEAN, INT32, STR16
from gateway.amqp_0_10.structs import write_header
from gateway.bridge.seams import QueueSettings
from gateway.wire.limits import Limits
from gateway.wire.tagged import Tagged

CREDIT, WINDOW = spec.FlowMode.CREDIT, spec.FlowMode.WINDOW
INFINITE = 0xFFFFFFFF


def gateway_with(*bodies: bytes, limits: Limits | None = None, **queue: object) -> Gateway:
    """A gateway with queue q, and these messages in it, published by a 0-10 client."""
    gateway = Gateway(limits=limits)
    gateway.world.queue(**queue)
    if bodies:
        producer = gateway.session()
        for body in bodies:
            producer.publishes(body)
            producer.hears()
    return gateway


def transfers(client: Client) -> list[tuple]:
    return [one for one in client.hears() if isinstance(one, tuple) and len(one) == 3]


def accepted(*ranges: tuple[int, int]) -> spec.MessageAccept:
    return spec.MessageAccept(transfers=list(ranges))


def with_headers(**headers: Tagged) -> spec.MessageProperties:
    return spec.MessageProperties(application_headers=list(headers.items()))


def stop() -> spec.MessageStop:
    return spec.MessageStop(destination="d")


def flush() -> spec.MessageFlush:
    return spec.MessageFlush(destination="d")


def test_a_transfer_carries_all_that_clients_need() -> None:
    gateway = Gateway()
    gateway.world.queue()
    client = gateway.session()
    client.says(spec.ExchangeBind(queue="q", exchange="amq.direct", binding_key="k"))
    client.publishes(b"body", to="amq.direct", key="k")
    client.subscribes()
    [(transfer, (delivery, _, _), body)] = transfers(client)
    assert transfer == spec.MessageTransfer(destination="d", accept_mode=0, acquire_mode=0)
    assert (delivery.exchange, delivery.routing_key) == ("amq.direct", "k")
    assert not delivery.redelivered
    assert body == b"body"


@rule("0-10", "message.subscribe", "initial-credit")
def test_nothing_comes_without_credit_in_both_units() -> None:
    gateway = gateway_with(b"1", b"2")
    client = gateway.session()
    client.subscribes(credit=None)
    assert client.gets() == []
    client.flows(5)
    assert client.gets() == []
    client.flows(INFINITE, unit=spec.CreditUnit.BYTE)
    assert client.gets() == [b"1", b"2"]


@rule("0-10", "message.subscribe", "default-flow-mode")
@rule("0-10", "message.set-flow-mode", "default-flow-mode")
def test_in_window_mode_completion_gives_credit_back_and_acceptance_does_not() -> None:
    gateway = gateway_with(*(b"%d" % n for n in range(6)))
    client = gateway.session()
    client.subscribes(credit=2)
    assert client.gets() == [b"0", b"1"]
    client.says(accepted((0, 1)))
    assert client.gets() == []
    client.completes(0, 0)
    assert client.gets() == [b"2"]
    client.completes(1, 2)
    assert client.gets() == [b"3", b"4"]
    client.flows(1)
    assert client.gets() == [b"5"]
    gateway.world.check()


def test_in_credit_mode_only_flow_gives_credit() -> None:
    gateway = gateway_with(*(b"%d" % n for n in range(4)))
    client = gateway.session()
    client.subscribes(credit=2, mode=CREDIT)
    assert client.gets() == [b"0", b"1"]
    client.completes(0, 1)
    client.says(accepted((0, 1)))
    assert client.gets() == []
    client.flows(1)
    assert client.gets() == [b"2"]


def test_absent_and_all_ones_are_infinite_until_stop() -> None:
    for absent in (False, True):
        gateway = gateway_with(*(b"%d" % n for n in range(5)))
        client = gateway.session()
        client.subscribes(absent=absent)
        assert len(client.gets()) == 5
        client.does(stop())
        client.completes(0, 4)
        gateway.world.send(b"more")
        assert client.gets() == []


def test_stop_ends_the_flow_until_there_is_new_credit() -> None:
    gateway = gateway_with(b"1", b"2", b"3")
    client = gateway.session()
    client.subscribes(credit=1)
    assert client.gets() == [b"1"]
    assert client.does(stop()) == ["completed 3-3"]
    client.completes(0, 0)
    assert client.gets() == []
    client.flows(1)
    client.flows(INFINITE, unit=1)
    assert client.gets() == [b"2"]


def test_after_a_stop_what_is_not_completed_counts_against_new_credit() -> None:
    gateway = gateway_with(b"1", b"2", b"3", b"4")
    client = gateway.session()
    client.subscribes(credit=2)
    assert client.gets() == [b"1", b"2"]
    client.says(stop())
    client.flows(3)
    client.flows(INFINITE, unit=1)
    assert client.gets() == [b"3"]
    client.completes(0, 1)
    assert client.gets() == [b"4"]


def test_flush_is_completed_when_all_there_is_has_been_sent_and_zeroes_the_credit() -> None:
    gateway = gateway_with(b"1", b"2")
    client = gateway.session()
    client.subscribes(credit=None, mode=CREDIT)
    client.hears()
    client.flows(10)
    client.flows(INFINITE, unit=1)
    client.says(flush())
    heard = client.hears()
    assert [one[2] for one in heard if isinstance(one, tuple)] == [b"1", b"2"]
    assert heard[-1] == "completed 2-4"
    gateway.world.send(b"3")
    assert client.gets() == []


def test_flush_without_credit_or_messages_is_completed_at_once() -> None:
    client = gateway_with().session()
    client.subscribes(credit=None)
    client.hears()
    assert client.does(flush()) == ["completed 1-1"]
    client.flows(5)
    client.hears()
    assert client.does(flush()) == ["completed 3-3"]


def test_flush_waits_for_a_full_transport() -> None:
    gateway = gateway_with(b"1")
    client = gateway.session()
    client.face.write_blocked(True)
    client.subscribes(credit=5)
    client.hears()
    assert client.does(flush()) == []
    client.face.write_blocked(False)
    heard = client.hears()
    assert heard[0][2] == b"1"
    assert heard[1] == "completed 3-3"


def octets_of(body: bytes) -> int:
    """Header and body octets of the transfer of a message in q."""
    gateway = gateway_with(body)
    client = gateway.session()
    client.subscribes()
    [delivered] = transfers(client)
    return len(write_header(delivered[1][0], delivered[1][2])) + len(body)


@rule("0-10", "message.set-flow-mode", "byte-accounting")
def test_byte_credit_counts_header_and_body_and_a_larger_message_blocks() -> None:
    size = octets_of(b"x" * 50)
    gateway = gateway_with(b"a" * 50, b"b" * 50, b"c" * 60, b"d")
    client = gateway.session()
    client.subscribes(credit=None)
    client.flows(INFINITE)
    client.flows(2 * size + size - 1, unit=1)
    assert client.gets() == [b"a" * 50, b"b" * 50]
    client.flows(10, unit=1)
    assert client.gets() == []
    client.flows(1, unit=1)
    assert client.gets() == [b"c" * 60]
    client.completes(0, 0)
    assert client.gets() == [b"d"]


def test_a_flush_is_over_when_the_next_message_does_not_fit() -> None:
    gateway = gateway_with(b"a" * 500)
    client = gateway.session()
    client.subscribes(credit=None)
    client.flows(INFINITE)
    client.flows(100, unit=1)
    client.hears()
    assert client.does(flush()) == ["completed 3-3"]
    client.flows(1)
    client.flows(INFINITE, unit=1)
    assert client.gets() == [b"a" * 500]


def test_the_mode_can_change_and_old_completions_then_give_nothing() -> None:
    gateway = gateway_with(*(b"%d" % n for n in range(6)))
    client = gateway.session()
    client.subscribes(credit=2)
    assert client.gets() == [b"0", b"1"]
    client.says(stop(), spec.MessageSetFlowMode(destination="d", flow_mode=CREDIT))
    client.says(spec.MessageSetFlowMode(destination="d", flow_mode=CREDIT))
    client.flows(1)
    client.flows(INFINITE, unit=1)
    assert client.gets() == [b"2"]
    client.says(stop(), spec.MessageSetFlowMode(destination="d", flow_mode=WINDOW))
    client.flows(1)
    client.flows(INFINITE, unit=1)
    assert client.gets() == [b"3"]
    client.completes(0, 2)
    assert client.gets() == []
    client.completes(3, 3)
    assert client.gets() == [b"4"]


def test_accepted_messages_leave_the_queue_and_ids_unknown_are_nothing() -> None:
    gateway = gateway_with(b"1", b"2")
    client = gateway.session()
    client.subscribes()
    assert len(client.gets()) == 2
    assert client.does(accepted((0, 0), (7, 4000))) == ["completed 3-3"]
    assert gateway.world.depth() == 1
    assert client.does(accepted((0, 1))) == ["completed 4-4"]
    assert gateway.world.depth() == 0
    gateway.world.check()


def test_a_settlement_is_completed_when_it_is_on_disk() -> None:
    gateway = gateway_with(durable=True)
    producer, client = gateway.session(), gateway.session()
    producer.publishes(b"kept", delivery=spec.DeliveryProperties(delivery_mode=2))
    producer.hears()
    client.subscribes()
    assert client.gets() == [b"kept"]
    gateway.world.auto_commit = False
    client.says(accepted((0, 0)))
    assert client.hears() == []
    gateway.world.commit()
    assert client.hears() == ["completed 3-3"]


@pytest.mark.parametrize("redelivered", [False, True])
def test_a_released_message_comes_again(redelivered: bool) -> None:
    gateway = gateway_with(b"1", b"2")
    client = gateway.session()
    client.subscribes(credit=1)
    assert client.gets() == [b"1"]
    client.says(spec.MessageRelease(transfers=[(0, 0)], set_redelivered=redelivered))
    client.completes(0, 0)
    [(_, (delivery, _, _), body)] = transfers(client)
    assert body == b"1"
    assert delivery.redelivered == redelivered


@rule("0-10", "message.reject", "alternate-exchange")
def test_a_rejected_message_goes_to_the_alternate_exchange_or_away() -> None:
    gateway = gateway_with(b"1", alternate_exchange="amq.fanout")
    gateway.world.queue("dead")
    client = gateway.session()
    client.says(spec.ExchangeBind(queue="dead", exchange="amq.fanout"))
    client.subscribes()
    assert client.gets() == [b"1"]
    client.does(spec.MessageReject(transfers=[(0, 0)], code=0, text="bad"))
    assert gateway.world.depth() == 0
    assert gateway.world.depth("dead") == 1
    client.subscribes("dead", "dead")
    assert client.gets() == [b"1"]
    client.does(spec.MessageReject(transfers=[(1, 1)], code=0))
    assert gateway.world.depth("dead") == 0
    gateway.world.check()


def test_without_acceptance_a_message_is_gone_when_it_is_sent() -> None:
    gateway = gateway_with(b"1")
    client = gateway.session()
    client.subscribes(accept=spec.AcceptMode.NONE)
    [(transfer, _, _)] = transfers(client)
    assert transfer.accept_mode == spec.AcceptMode.NONE
    assert gateway.world.depth() == 0
    assert client.does(accepted((0, 0))) == ["completed 3-3"]
    gateway.world.check()


@rule("0-10", "message.acquire", "one-to-one")
def test_a_browser_sees_messages_and_may_acquire_them_if_they_are_free() -> None:
    gateway = gateway_with(b"1", b"2", b"3")
    browser, consumer = gateway.session(), gateway.session()
    browser.subscribes(acquire=spec.AcquireMode.NOT_ACQUIRED)
    seen = transfers(browser)
    assert [one[2] for one in seen] == [b"1", b"2", b"3"]
    assert seen[0][0].acquire_mode == spec.AcquireMode.NOT_ACQUIRED
    consumer.subscribes(credit=1)
    assert consumer.gets() == [b"1"]
    assert browser.does(spec.MessageAcquire(transfers=[(0, 2)])) == [
        spec.Acquired(transfers=[(1, 2)]),
        "completed 3-3",
    ]
    browser.does(accepted((1, 1)), spec.MessageRelease(transfers=[(0, 0), (2, 2)]))
    assert gateway.world.depth() == 2
    gateway.world.check()


@rule("0-10", "message.accept", "acquisition")
@rule("0-10", "message.reject", "acquisition")
def test_settling_what_was_only_browsed_leaves_it_where_it_is() -> None:
    gateway = gateway_with(b"1", b"2", b"3")
    browser = gateway.session()
    browser.subscribes(acquire=1)
    assert len(browser.gets()) == 3
    browser.does(
        accepted((0, 0)),
        spec.MessageReject(transfers=[(1, 1)], code=0),
        spec.MessageRelease(transfers=[(2, 2)]),
    )
    assert gateway.world.depth() == 3
    gateway.world.check()


@rule("0-10", "message.cancel", "post-cancel-transfer-resolution")
def test_after_cancel_nothing_comes_and_what_came_can_be_settled() -> None:
    gateway = gateway_with(b"1", b"2")
    client = gateway.session()
    client.subscribes(credit=1)
    assert client.gets() == [b"1"]
    assert client.does(spec.MessageCancel(destination="d")) == ["completed 3-3"]
    client.completes(0, 0)
    assert client.gets() == []
    client.does(accepted((0, 0)))
    assert gateway.world.depth() == 1
    assert gateway.settings.counts.links_closed == [1, 0]
    client.subscribes()
    assert client.gets() == [b"2"]
    gateway.world.check()


def test_cancel_ends_a_flush() -> None:
    gateway = gateway_with(b"1")
    client = gateway.session()
    client.face.write_blocked(True)
    client.subscribes()
    client.says(flush())
    client.hears()
    assert client.does(spec.MessageCancel(destination="d")) == ["completed 3-4"]


@rule("0-10", "message.delivery-properties.redelivered", "implementation")
def test_the_end_of_a_session_gives_everything_back_marked_redelivered() -> None:
    gateway = gateway_with(b"1", b"2")
    first, second = gateway.session(), gateway.session()
    first.subscribes()
    assert len(first.gets()) == 2
    first.does(accepted((0, 0)))
    first.session.detach()
    first.hears()
    second.subscribes()
    [(_, (delivery, _, _), body)] = transfers(second)
    assert body == b"2"
    assert delivery.redelivered
    gateway.world.check()


def test_the_end_of_a_connection_does_too() -> None:
    gateway = gateway_with(b"1", b"2")
    first, second = gateway.session(), gateway.session()
    first.subscribes()
    assert len(first.gets()) == 2
    first.loses_transport()
    second.subscribes()
    assert second.gets() == [b"1", b"2"]
    gateway.world.check()


@rule("0-10", "message.subscribe", "queue-deletion")
def test_deleting_the_queue_ends_the_sessions_that_are_subscribed() -> None:
    gateway = gateway_with(b"1")
    client, other = gateway.session(), gateway.session()
    client.subscribes()
    assert client.gets() == [b"1"]
    assert other.does(spec.QueueDelete(queue="q")) == ["completed 0-0"]
    assert client.hears() == [(408, None), "ended 0"]
    gateway.world.check()


def test_deleting_ones_own_queue_ends_ones_session() -> None:
    gateway = gateway_with()
    client = gateway.session()
    client.subscribes()
    client.hears()
    assert client.does(spec.QueueDelete(queue="q")) == [(408, None), "ended 0"]


def test_deleting_a_queue_ends_a_session_with_several_subscriptions_once_and_all_others() -> None:
    gateway = gateway_with(b"1", b"2")
    clients = [gateway.session() for _ in range(3)]
    for client in clients:
        for destination in ("d", "e", "f"):
            client.subscribes(destination=destination, credit=1)
        client.hears()
    deleter = gateway.session()
    assert deleter.does(spec.QueueDelete(queue="q")) == ["completed 0-0"]
    for client in clients:
        assert client.hears() == [(408, None), "ended 0"]
    assert deleter.does(spec.QueueDeclare(queue="q")) == ["completed 1-1"]
    gateway.world.check()


def test_a_session_may_delete_the_queue_of_several_of_its_own_subscriptions() -> None:
    gateway = gateway_with(b"1")
    client, other = gateway.session(), gateway.session()
    for each in (client, other):
        each.subscribes(destination="d")
        each.subscribes(destination="e")
        each.hears()
    assert client.does(spec.QueueDelete(queue="q")) == [(408, None), "ended 0"]
    assert other.hears() == [(408, None), "ended 0"]
    gateway.world.check()


def subscribe(**fields: object) -> spec.MessageSubscribe:
    return spec.MessageSubscribe(**{"queue": "q", "destination": "d", **fields})


@pytest.mark.parametrize(
    ("commands", "code"),
    [
        pytest.param(
            [subscribe(queue="none")],
            404,
            marks=rule("0-10", "message.subscribe", "queue-not-found"),
        ),
        pytest.param(
            [subscribe(), subscribe()],
            530,
            marks=rule("0-10", "message.subscribe.destination", "unique-subscriber-destination"),
        ),
        pytest.param(
            [subscribe(), subscribe(destination="e", exclusive=True)],
            405,
            marks=rule("0-10", "message.subscribe.exclusive", "in-use"),
        ),
        ([subscribe(exclusive=True), subscribe(destination="e")], 405),
        ([subscribe(accept_mode=2)], 531),
        ([subscribe(acquire_mode=2)], 531),
        ([subscribe(arguments=[("x-apache-selector", Tagged(STR16, "a ="))])], 542),
        ([subscribe(arguments=[("x-filter-jms-selector", Tagged(INT32, 1))])], 542),
        pytest.param(
            [spec.MessageCancel(destination="d")],
            404,
            marks=rule("0-10", "message.cancel.destination", "subscription-not-found"),
        ),
        ([spec.MessageFlow(destination="d", unit=0, value=1)], 404),
        ([spec.MessageSetFlowMode(destination="d", flow_mode=0)], 404),
        ([stop()], 404),
        ([flush()], 404),
        ([subscribe(), spec.MessageFlow(destination="d", unit=2, value=1)], 531),
        ([subscribe(), spec.MessageSetFlowMode(destination="d", flow_mode=2)], 531),
        ([spec.MessageReject(transfers=[], code=3)], 531),
        ([spec.MessageResume(destination="d", resume_id="r")], 540),
        ([spec.DtxSelect()], 540),
        ([spec.FileQos()], 540),
        ([spec.StreamQos()], 540),
    ],
)
def test_what_cannot_be_done_ends_the_session(commands: list, code: int) -> None:
    client = gateway_with().session()
    heard = client.does(*commands)
    assert heard[-2:] == [(code, len(commands) - 1), "ended 0"]
    client.gateway.world.check()


@pytest.mark.parametrize("name", ["x-apache-selector", "x-filter-jms-selector"])
def test_a_selector_leaves_in_the_queue_what_it_does_not_accept(name: str) -> None:
    gateway = gateway_with()
    client = gateway.session()
    client.says(subscribe(arguments=[(name, Tagged(STR16, "colour = 'red'"))]))
    client.flows(INFINITE)
    client.flows(INFINITE, unit=1)
    for body, colour in ((b"1", "red"), (b"2", "blue"), (b"3", "red")):
        client.publishes(body, message=with_headers(colour=Tagged(STR16, colour)))
    client.publishes(b"4")
    assert client.gets() == [b"1", b"3"]
    queue = gateway.world.host.topology.find_queue("q")
    assert queue is not None and queue.depth == 4  # the two that were sent are not settled
    gateway.world.check()


def test_no_local_leaves_in_the_queue_what_the_same_connection_published() -> None:
    gateway = gateway_with()
    client, other = gateway.session(), gateway.session()
    client.says(subscribe(arguments=[("no-local", Tagged(BOOLEAN, True))]))
    client.flows(INFINITE)
    client.flows(INFINITE, unit=1)
    client.publishes(b"own")
    other.publishes(b"another's")
    other.hears()
    assert client.gets() == [b"another's"]
    assert gateway.settings.counts.arguments_ignored == 0


def test_an_empty_selector_selects_everything() -> None:
    gateway = gateway_with(b"1")
    client = gateway.session()
    arguments = [("x-filter-jms-selector", Tagged(STR16, "")), ("other", Tagged(STR16, "x"))]
    client.says(subscribe(arguments=arguments))
    client.flows(INFINITE)
    client.flows(INFINITE, unit=1)
    assert client.gets() == [b"1"]
    assert gateway.settings.counts.arguments_ignored == 1


def test_the_number_of_subscriptions_is_limited() -> None:
    gateway = gateway_with(limits=Limits(links_max=1))
    client = gateway.session()
    heard = client.does(subscribe(), subscribe(destination="e"))
    assert heard[-2:] == [(506, 1), "ended 0"]


def test_unsettled_deliveries_are_limited_and_settling_makes_room() -> None:
    gateway = gateway_with(b"1", b"2", b"3", limits=Limits(unsettled_max=2))
    client = gateway.session()
    client.subscribes()
    assert client.gets() == [b"1", b"2"]
    client.says(flush())
    assert client.hears() == ["completed 3-3"]  # nothing more can be sent for now
    client.flows(INFINITE)
    client.flows(INFINITE, unit=1)
    assert client.gets() == []
    client.says(accepted((0, 0)))
    assert client.gets() == [b"3"]


def test_transfers_that_are_not_completed_are_limited() -> None:
    bodies = [b"%d" % n for n in range(7)]
    gateway = gateway_with(*bodies, limits=Limits(commands_in_doubt_max=5))
    client = gateway.session()
    client.subscribes(accept=1)
    assert client.gets() == bodies[:5]
    client.completes(1, 1)
    assert client.gets() == bodies[5:6]


def test_a_full_transport_holds_deliveries_back() -> None:
    gateway = gateway_with(b"1")
    client = gateway.session()
    client.face.write_blocked(True)
    client.subscribes()
    assert client.gets() == []
    client.face.write_blocked(False)
    assert client.gets() == [b"1"]


def test_a_stopping_face_delivers_no_more() -> None:
    gateway = gateway_with(b"1", b"2")
    client = gateway.session()
    client.subscribes(credit=1)
    assert client.gets() == [b"1"]
    client.face.drain(gateway.world.now_ms)
    client.completes(0, 0)
    assert client.gets() == []
    assert not client.face.drained()
    client.does(accepted((0, 0)))
    assert client.face.drained()


def test_consumers_share_a_queue() -> None:
    gateway = gateway_with(*(b"%d" % n for n in range(4)))
    first, second = gateway.session(), gateway.session()
    first.subscribes(credit=2)
    assert first.gets() == [b"0", b"1"]
    second.subscribes()
    assert second.gets() == [b"2", b"3"]


@rule("0-10", "queue.declare.exclusive", "in-use")
def test_an_exclusive_queue_is_for_its_session() -> None:
    gateway = Gateway()
    owner, other = gateway.session(), gateway.session()
    owner.does(spec.QueueDeclare(queue="mine", exclusive=True, auto_delete=True))
    assert other.does(subscribe(queue="mine"))[-2:] == [(405, 0), "ended 0"]
    owner.session.detach()
    owner.hears()
    assert gateway.world.host.topology.find_queue("mine") is None


def test_settings_of_a_queue_do_not_change_what_is_sent() -> None:
    gateway = Gateway()
    gateway.world.host.declaring.declare_queue(
        "q", QueueSettings(durable=True, max_size=10_000), gateway.world.owner()
    )
    client = gateway.session()
    client.publishes(b"1")
    client.subscribes()
    assert client.gets() == [b"1"]
