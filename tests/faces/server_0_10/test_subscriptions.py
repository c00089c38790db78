"""Subscriptions: what they may be, what they select, and how they end, as conversations."""

import pytest
from support.rules import rule
from support.subscribed_0_10 import accepted, flush, gateway_with, stop, transfers, with_headers
from support.talk_0_10 import Gateway, completed

from gateway.amqp_0_10 import _spec as spec
from gateway.amqp_0_10._spec_constants import BOOLEAN, INT32, STR16
from gateway.bridge.seams import QueueSettings
from gateway.wire.limits import Limits
from gateway.wire.tagged import Tagged

INFINITE = 0xFFFFFFFF


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


@pytest.mark.parametrize("own", [True, False])
def test_a_session_that_waits_for_nothing_goes_on_without_its_queue(own: bool) -> None:
    gateway = gateway_with(b"1", b"2")
    client = gateway.session()
    client.subscribes(credit=1)
    assert client.gets() == [b"1"]
    if own:
        client.says(spec.QueueDelete(queue="q"))
    else:
        assert gateway.session().does(spec.QueueDelete(queue="q")) == ["completed 0-0"]
    client.says(spec.MessageAccept(transfers=[(0, 0)]), flush())
    client.says(spec.MessageCancel(destination="d"))
    last = 6 if own else 5
    assert client.hears() == [completed((3, last))]
    assert client.does(subscribe()) == [(404, last + 1), "ended 0"]
    gateway.world.check()


@pytest.mark.parametrize("mode", [spec.FlowMode.WINDOW, spec.FlowMode.CREDIT])
def test_a_session_ends_when_it_gives_credit_to_a_subscription_whose_queue_is_gone(
    mode: int,
) -> None:
    gateway = gateway_with(b"1")
    client = gateway.session()
    client.subscribes(credit=1, mode=mode)
    assert client.gets() == [b"1"]
    client.says(spec.QueueDelete(queue="q"))
    heard = client.hears()
    assert all("ended" not in str(one) for one in heard)
    if mode == spec.FlowMode.WINDOW:
        client.completes(0, 0)
    else:
        client.flows(1)
    assert client.hears()[-2:] == [(408, None), "ended 0"]
    gateway.world.check()


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
        ([spec.MessageResume(destination="d", resume_id="r")], 540),
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
    assert client.face.owed() == 1
    client.does(accepted((0, 0)))
    assert client.face.drained()
    assert client.face.owed() == 0


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
