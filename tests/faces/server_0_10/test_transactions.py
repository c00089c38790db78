"""tx over 0-10: all of it or nothing, and what stays with the client."""

import pytest
from support.rules import rule
from support.talk_0_10 import Gateway
from support.transactions_0_10 import (
    COMMITTED,
    DURABLE,
    ROLLED_BACK,
    accept,
    check,
    ended,
    gateway_with,
    release,
    selected,
)

from gateway.amqp_0_10 import _spec as spec
from gateway.audit.schema import Kind
from gateway.bridge.limits import BridgeLimits

# Publishing.


@rule("0-10", "message.transfer", "transactional-publish")
def test_transfers_are_done_at_once_and_enter_their_queues_at_the_commit() -> None:
    gateway = gateway_with()
    client = selected(gateway)
    client.publishes(b"1")
    client.publishes(b"2")
    assert client.hears() == ["completed 1-2"]
    assert gateway.world.depth() == 0
    assert client.does(spec.TxCommit()) == ["completed 3-3"]
    assert gateway.world.depth() == 2
    assert ended(gateway) == [(COMMITTED, 1)]
    check(gateway)


def test_a_rollback_drops_what_was_published() -> None:
    gateway = gateway_with()
    client = selected(gateway)
    client.publishes(b"1")
    assert client.does(spec.TxRollback()) == ["completed 1-2"]
    assert client.does(spec.TxCommit()) == ["completed 3-3"]
    assert gateway.world.depth() == 0
    assert ended(gateway) == [(ROLLED_BACK, 1)]
    assert check(gateway).kinds[Kind.ROLLED_BACK] == 1
    assert gateway.world.bridge.pressure.octets == 0


def test_a_new_transaction_begins_behind_each_commit() -> None:
    gateway = gateway_with()
    client = selected(gateway)
    client.publishes(b"1")
    client.says(spec.TxCommit())
    client.publishes(b"2")
    client.says(spec.TxRollback())
    client.publishes(b"3")
    client.says(spec.TxCommit())
    client.hears()
    consumer, _ = gateway.world.subscribe()
    gateway.world.turn()
    assert [body[-1:] for body in consumer.bodies()] == [b"1", b"3"]
    assert [outcome for outcome, _ in ended(gateway)] == [COMMITTED, ROLLED_BACK, COMMITTED]


def test_the_end_of_the_session_rolls_back() -> None:
    gateway = gateway_with()
    client = selected(gateway)
    client.publishes(b"1")
    client.hears()
    assert not client.face.drained()
    assert client.face.owed() > 0
    client.loses_transport()
    assert gateway.world.depth() == 0
    assert ended(gateway) == [(ROLLED_BACK, 1)]
    check(gateway)


def test_a_commit_is_done_when_all_of_it_is_on_disk_in_one_commit() -> None:
    gateway = gateway_with(durable=True)
    gateway.world.send(b"old", durable=True)
    gateway.world.turn()
    client = selected(gateway)
    client.subscribes()
    client.hears()
    gateway.world.auto_commit = False
    client.publishes(b"1", delivery=spec.DeliveryProperties(delivery_mode=DURABLE))
    client.publishes(b"2", delivery=spec.DeliveryProperties(delivery_mode=DURABLE))
    client.says(accept((0, 0)), spec.TxCommit())
    heard = [one for one in client.hears() if isinstance(one, str)]
    assert heard == ["completed 4-5"]  # the transfers
    assert len(gateway.world.calls) == 1
    gateway.world.commit()
    assert client.hears() == ["completed 6-7"]


def test_a_crash_before_the_commit_leaves_nothing_and_one_behind_it_everything() -> None:
    gateway = gateway_with(durable=True)
    gateway.world.turn()
    client = selected(gateway)
    delivery = spec.DeliveryProperties(delivery_mode=DURABLE)
    client.publishes(b"1", delivery=delivery)
    client.does(spec.TxCommit())
    client.publishes(b"2", delivery=delivery)
    client.hears()
    gateway.world.crash()
    assert gateway.world.depth() == 1


def test_a_message_to_several_queues_counts_as_one_copy_in_each() -> None:
    gateway = gateway_with()
    gateway.world.queue("p")
    for name in ("q", "p"):
        gateway.world.host.bindings.bind(name, "amq.fanout", "", {}, b"")
    client = selected(gateway)
    client.publishes(b"1", to="amq.fanout")
    client.hears()
    exchange = gateway.world.host.topology.find_exchange("amq.fanout")
    assert exchange is not None
    assert exchange.pending == 2
    client.does(spec.TxRollback())
    assert exchange.pending == 0
    assert check(gateway).kinds[Kind.ROLLED_BACK] == 2


def test_an_unroutable_transfer_is_told_at_once_and_is_no_part_of_it() -> None:
    gateway = gateway_with()
    client = selected(gateway)
    client.publishes(b"x", key="nowhere", explicit=True)
    reject, done = client.hears()
    assert (reject.transfers, done) == ([(1, 1)], "completed 1-1")
    assert client.does(spec.TxCommit()) == ["completed 2-2"]
    assert ended(gateway) == []
    check(gateway)


def test_what_goes_by_an_alternate_exchange_waits_for_the_commit_too() -> None:
    gateway = gateway_with()
    host = gateway.world.host
    host.bindings.bind("q", "amq.fanout", "", {}, b"")
    host.declaring.declare_exchange("x", "direct", alternate_exchange="amq.fanout")
    client = selected(gateway)
    client.publishes(b"1", to="x", key="none")
    client.hears()
    assert gateway.world.depth() == 0
    client.does(spec.TxCommit())
    assert gateway.world.depth() == 1
    check(gateway)


def test_an_unknown_exchange_ends_the_session_and_rolls_back() -> None:
    gateway = gateway_with()
    client = selected(gateway)
    client.publishes(b"1")
    client.publishes(b"2", to="nowhere")
    assert client.hears()[-2:] == [(404, 2), "ended 0"]
    assert gateway.world.depth() == 0
    assert ended(gateway) == [(ROLLED_BACK, 1)]
    check(gateway)


def test_a_queue_without_room_for_all_of_it_fails_the_commit_and_gets_none_of_it() -> None:
    gateway = gateway_with(max_count=2)
    client = selected(gateway)
    for body in (b"1", b"2", b"3"):
        client.publishes(body)
    client.hears()
    assert client.does(spec.TxCommit()) == [(506, 4), "ended 0"]
    assert gateway.world.depth() == 0
    assert ended(gateway) == [(ROLLED_BACK, 1)]
    check(gateway)


def test_a_transaction_that_holds_too_much_is_refused_more() -> None:
    gateway = Gateway(bridge_limits=BridgeLimits(transaction_octets_max=1000))
    gateway.world.queue()
    client = selected(gateway)
    client.publishes(bytes(500))
    client.publishes(bytes(500))
    assert client.hears()[-2:] == [(506, 2), "ended 0"]
    check(gateway)


def test_a_commit_fails_when_the_queue_of_a_message_in_it_has_been_deleted() -> None:
    gateway = gateway_with()
    gateway.world.queue("other")
    client, other = selected(gateway), gateway.session()
    client.publishes(b"1", key="other")
    client.publishes(b"2")
    client.hears()
    other.does(spec.QueueDelete(queue="q"), spec.QueueDeclare(queue="q"))
    assert client.does(spec.TxCommit()) == [(408, 3), "ended 0"]
    assert (gateway.world.depth(), gateway.world.depth("other")) == (0, 0)
    assert ended(gateway) == [(ROLLED_BACK, 1)]
    assert check(gateway).kinds[Kind.ROLLED_BACK] == 2


def test_a_message_loses_only_its_copy_for_a_queue_that_is_deleted() -> None:
    gateway = gateway_with()
    gateway.world.queue("other")
    for queue in ("q", "other"):
        gateway.world.host.bindings.bind(queue, "amq.direct", "k", {}, b"")
    client = selected(gateway)
    client.publishes(b"1", to="amq.direct", key="k")
    client.does(spec.QueueDelete(queue="q"))
    assert client.does(spec.TxCommit()) == ["completed 3-3"]
    assert gateway.world.depth("other") == 1
    assert check(gateway).kinds[Kind.REFUSED] == 1


@pytest.mark.parametrize("exchange", ["amq.topic", "amq.fanout"])
def test_a_commit_does_not_fail_because_a_listener_has_left(exchange: str) -> None:
    gateway = gateway_with()
    gateway.world.host.bindings.bind("q", exchange, "k", {}, b"")
    client = selected(gateway)
    client.publishes(b"1", to=exchange, key="k")
    client.does(spec.QueueDelete(queue="q"))
    assert client.does(spec.TxCommit()) == ["completed 3-3"]
    assert check(gateway).kinds[Kind.REFUSED] == 1


def test_a_commit_is_held_back_while_the_queues_hold_too_much() -> None:
    limits = BridgeLimits(octets_high=1000, octets_low=500)
    gateway = Gateway(bridge_limits=limits)
    gateway.world.queue()
    client = selected(gateway)
    client.publishes(bytes(2000))
    client.says(spec.TxCommit())
    client.publishes(b"behind")
    assert client.hears() == ["completed 1-1"]
    assert gateway.world.depth() == 1
    consumer, _ = gateway.world.subscribe(settled=True)
    assert client.hears() == ["completed 2-3"]
    assert len(consumer.take()) == 1
    client.loses_transport()
    check(gateway)


# Accepting.


def test_accepts_take_effect_at_the_commit() -> None:
    gateway = gateway_with(b"1", b"2")
    client = selected(gateway)
    client.subscribes()
    assert client.gets() == [b"1", b"2"]
    assert client.does(accept((0, 1))) == ["completed 4-4"]
    assert gateway.world.depth() == 2
    assert client.does(spec.TxCommit()) == ["completed 5-5"]
    assert gateway.world.depth() == 0
    check(gateway)


def test_what_is_rolled_back_stays_acquired_and_can_be_accepted_again() -> None:
    gateway = gateway_with(b"1", b"2")
    client = selected(gateway)
    client.subscribes()
    client.gets()
    client.does(accept((0, 1)), spec.TxRollback())
    assert client.gets() == []
    assert gateway.world.depth() == 2
    client.does(accept((1, 1)), spec.TxCommit())
    assert gateway.world.depth() == 1
    check(gateway)


@pytest.mark.parametrize("command", [release((0, 1)), spec.MessageReject(transfers=[(0, 1)])])
def test_release_and_reject_take_an_accepted_delivery_out_of_the_transaction(
    command: spec.MessageRelease | spec.MessageReject,
) -> None:
    gateway = gateway_with(b"1", b"2", b"3")
    client = selected(gateway)
    client.subscribes(credit=3)
    client.gets()
    client.does(accept((0, 2)), command, spec.TxCommit())
    rejected = isinstance(command, spec.MessageReject)
    assert gateway.world.depth() == (0 if rejected else 2)
    assert check(gateway).kinds[Kind.SETTLED] == 3


def test_a_client_that_releases_before_it_rolls_back_gets_its_messages_again() -> None:
    gateway = gateway_with(b"1")
    client = selected(gateway)
    client.subscribes(credit=2)
    client.gets()
    client.says(accept((0, 0)), release((0, 0)), spec.TxRollback())
    assert client.gets() == [b"1"]
    check(gateway)


def test_an_id_that_was_not_sent_yet_is_not_accepted() -> None:
    gateway = gateway_with(b"1")
    client = selected(gateway)
    client.does(accept((0, 9)))
    client.subscribes()
    client.gets()
    client.does(spec.TxCommit())
    assert gateway.world.depth() == 1


def test_accepted_and_not_committed_goes_back_with_the_session() -> None:
    gateway = gateway_with(b"1")
    client = selected(gateway)
    client.subscribes()
    client.gets()
    client.does(accept((0, 0)))
    client.loses_transport()
    consumer, _ = gateway.world.subscribe()
    gateway.world.turn()
    assert [each.delivery_count for each in consumer.take()] == [1]
    assert ended(gateway) == [(ROLLED_BACK, 1)]
    check(gateway)


def test_a_failed_commit_gives_deliveries_back() -> None:
    gateway = gateway_with(b"1")
    gateway.world.queue("small", max_count=1)
    client = selected(gateway)
    client.subscribes()
    client.gets()
    client.publishes(b"a", key="small")
    client.publishes(b"b", key="small")
    assert client.does(accept((0, 0)), spec.TxCommit())[-2:] == [(506, 7), "ended 0"]
    assert gateway.world.depth() == 1
    check(gateway)


def test_records_of_a_transaction_carry_its_number() -> None:
    gateway = gateway_with(b"1")
    client = selected(gateway)
    client.subscribes()
    client.gets()
    client.publishes(b"2")
    client.does(accept((0, 0)), spec.TxCommit())
    kinds = [each["kind"] for each in gateway.world.blocks.raw() if each["transaction"] == 1]
    assert kinds == [Kind.RECEIVED, Kind.SETTLED, Kind.ENTERED, Kind.TRANSACTION]


# The class itself.


@pytest.mark.parametrize(
    "command",
    [
        pytest.param(spec.TxCommit(), marks=rule("0-10", "tx.commit", "select-required")),
        pytest.param(spec.TxRollback(), marks=rule("0-10", "tx.rollback", "select-required")),
    ],
)
def test_nothing_can_be_ended_that_was_not_selected(
    command: spec.TxCommit | spec.TxRollback,
) -> None:
    client = gateway_with().session()
    assert client.does(command) == [(409, 0), "ended 0"]


@rule("0-10", "tx.select", "exactly-once")
def test_transactions_are_selected_once() -> None:
    client = selected(gateway_with())
    assert client.does(spec.TxSelect()) == [(409, 1), "ended 0"]


@rule("0-10", "tx.select", "explicit-accepts")
def test_accept_mode_none_is_taken_in_a_transactional_session() -> None:
    client = selected(gateway_with(b"1"))
    client.subscribes(accept=1)
    assert client.gets() == [b"1"]
    assert client.does(spec.TxCommit()) == ["completed 4-4"]


@rule("0-10", "tx.select", "explicit-accepts")
def test_accept_mode_none_is_refused_where_the_specification_counts() -> None:
    client = selected(gateway_with(strict=True))
    client.subscribes(accept=1)
    assert client.hears()[-2:] == [(530, 1), "ended 0"]
    other = gateway_with(strict=True).session()
    other.subscribes(accept=1)
    other.hears()
    assert other.does(spec.TxSelect()) == [(530, 3), "ended 0"]
