"""What comes back after a stop in order, and after any other."""

from hypothesis import given
from hypothesis import strategies as st
from support.bridge_world import World, recover
from support.remotes import FakeRules
from support.rules import rule

from gateway.audit.digests import digest
from gateway.audit.schema import Kind as AuditKind
from gateway.audit.schema import Reason
from gateway.bridge.durable.topology_rows import BindingRow, RowKind, binding_row
from gateway.bridge.exchanges.exchange import Exchange
from gateway.bridge.seams import QueueSettings
from gateway.message import (
    ACCEPTED,
    MODIFIED_FAILED,
    REJECTED,
    RELEASED,
    Kind,
    Outcome,
    OutcomeKind,
    Refusal,
)
from gateway.store.interface import Recovered, TopologyRow
from gateway.wire.tagged import Tagged


def test_durable_messages_come_back_in_order_and_transient_ones_do_not() -> None:
    world = World()
    world.queue("q", durable=True)
    world.queue("brief")
    world.turn()
    world.send(b"1", b"2", durable=True)
    world.send(b"3")
    world.send(b"4", key="brief", durable=True)
    world.crash()
    assert world.host.topology.find_queue("brief") is None
    consumer, _ = world.subscribe()
    world.turn()
    assert consumer.bodies() == []  # nothing was submitted: the turn had not ended
    world.send(b"5", b"6", durable=True)
    world.turn()
    world.crash()
    consumer, _ = world.subscribe()
    world.turn()
    assert consumer.bodies() == [b"5", b"6"]
    assert consumer.deliveries[0].message.reader is world.reader
    world.check()


def test_who_made_an_exchange_comes_back_with_it_where_the_row_tells() -> None:
    world = World()
    for name, maker in (("made", "ann"), ("old", "")):
        made = world.host.declaring.declare_exchange(name, "topic", durable=True)
        assert isinstance(made, Exchange)
        made.maker = maker
        world.host.topology.rows.store_exchange(made)
    world.turn()
    world.crash()
    makers = [world.host.topology.exchanges[name].maker for name in ("made", "old")]
    assert makers == ["ann", ""]


def test_a_copy_that_may_have_been_seen_is_redelivered_and_no_other() -> None:
    world = World()
    world.queue("read", durable=True)
    world.queue("unread", durable=True)
    world.send(b"1", key="read", durable=True)
    world.send(b"2", key="unread", durable=True)
    world.subscribe("read")
    world.turn()
    world.crash()
    seen, _ = world.subscribe("read")
    unseen, _ = world.subscribe("unread")
    world.turn()
    assert seen.deliveries[0].delivery_count == 1
    assert unseen.deliveries[0].delivery_count == 0
    world.check()


def test_the_record_of_a_copy_that_is_back_has_the_digest_of_what_is_stored_now() -> None:
    world = World()
    world.queue("q", durable=True)
    world.send(b"1", durable=True)
    world.turn()
    world.crash()
    world.turn()
    found = [one for one in world.blocks.records() if one.kind == AuditKind.RECOVERED]
    assert [one.body_digest for one in found] == [digest(b"1")]


def test_after_a_stop_in_order_only_failed_deliveries_count() -> None:
    world = World()
    world.queue("q", durable=True)
    consumer, _ = world.subscribe(credit=2)
    world.send(b"1", b"2", durable=True)
    world.turn()
    world.host.settlement.settle(consumer.deliveries[0], MODIFIED_FAILED)
    for delivery in consumer.take():
        if not delivery.settled:
            world.host.settlement.settle(delivery, ACCEPTED)
    world.send(b"3", durable=True)
    world.restart()
    world.crash()
    consumer, _ = world.subscribe()
    world.turn()
    assert [delivery.delivery_count for delivery in consumer.deliveries] == [1, 0]
    world.check()


def test_a_mark_outlives_a_stop_in_order_and_goes_with_its_last_copy() -> None:
    world = World()
    world.queue("q", durable=True)
    world.subscribe()
    world.send(b"1", durable=True)
    world.turn()
    world.crash()
    world.send(b"2", durable=True)
    world.restart()
    consumer, subscription = world.subscribe()
    world.turn()
    assert [delivery.delivery_count for delivery in consumer.deliveries] == [1, 0]
    world.host.settlement.settle(consumer.deliveries[0], ACCEPTED)
    world.host.settlement.settle(consumer.deliveries[1], RELEASED)
    subscription.cancel()
    world.restart()
    consumer, _ = world.subscribe()
    world.turn()
    assert [delivery.delivery_count for delivery in consumer.deliveries] == [0]
    assert RowKind.SEEN not in stored_rows(world)
    world.check()


def test_a_mark_outlives_two_crashes() -> None:
    world = World()
    world.queue("q", durable=True)
    world.subscribe()
    world.send(b"1", durable=True)
    world.turn()
    world.crash()
    world.crash()
    consumer, _ = world.subscribe()
    world.turn()
    assert consumer.deliveries[0].delivery_count >= 1


def failed_once(world: World) -> int:
    """Deliver the one message there is, as another failed delivery; those that it shows."""
    consumer, _ = world.subscribe(credit=1)
    world.turn()
    (delivery,) = consumer.take()
    world.host.settlement.settle(delivery, MODIFIED_FAILED)
    world.turn()
    return delivery.delivery_count


def test_what_may_have_been_seen_counts_once_however_often_the_gateway_starts() -> None:
    world = World()
    world.queue("q", durable=True)
    world.subscribe()
    world.send(b"1", durable=True)
    world.turn()
    world.crash()
    shown = [failed_once(world), failed_once(world)]
    for clean in (True, True, False, False, True):
        world.restart() if clean else world.crash()
        shown.append(failed_once(world))
    assert shown == [1, 2, 3, 4, 5, 6, 7]
    world.turn()
    recovered = [one for one in world.blocks.records() if one.kind == AuditKind.RECOVERED]
    assert [one.delivery_count for one in recovered] == [1, 3, 4, 5, 6, 7]
    world.check()


def test_annotations_do_not_add_what_may_have_been_seen_to_the_stored_count() -> None:
    world = World()
    world.queue("q", durable=True)
    world.subscribe()
    world.send(b"1", durable=True)
    world.turn()
    world.crash()
    consumer, _ = world.subscribe(credit=1)
    world.turn()
    annotated = Outcome(OutcomeKind.MODIFIED, annotations=b"noted")
    world.host.settlement.settle(consumer.take()[0], annotated)
    world.turn()
    world.restart()
    assert failed_once(world) == 1


@rule("0-10", "exchange.bind", "durable-exchange")
@rule("0-10", "queue.declare.durable", "persistence")
def test_the_durable_topology_comes_back_whole_and_the_rest_does_not() -> None:
    world = World()
    host = world.host
    host.declaring.declare_exchange("alt", "fanout", durable=True)
    host.declaring.declare_exchange(
        "x", "topic", durable=True, alternate_exchange="alt", arguments=b"args"
    )
    host.declaring.declare_exchange("brief", "topic", alternate_exchange="alt")
    world.queue("q", durable=True, alternate_exchange="alt", max_count=7, max_size=700)
    host.bindings.bind("q", "x", "a.#", {}, b"encoded")
    host.bindings.bind("q", "brief", "a.#", {}, b"")
    host.bindings.bind("q", "amq.match", "k", {"a": Tagged(Kind.INTEGER, 2**64 - 1)}, b"")
    host.bindings.bind("q", "x", "gone", {}, b"")
    host.bindings.unbind("q", "x", "gone")
    world.turn()
    world.crash()
    host = world.host
    exchange, queue = host.topology.find_exchange("x"), host.topology.find_queue("q")
    assert exchange is not None and queue is not None
    assert (exchange.type, exchange.alternate_exchange, exchange.arguments) == (
        "topic",
        "alt",
        b"args",
    )
    [binding] = exchange.every()
    assert (binding.queue.name, binding.key, binding.encoded) == ("q", "a.#", b"encoded")
    assert (queue.settings.max_count, queue.settings.max_size) == (7, 700)
    assert host.topology.find_exchange("brief") is None
    assert isinstance(host.declaring.delete_exchange("alt"), Refusal)
    message = world.message(exchange="amq.match", headers={"a": Tagged(Kind.INTEGER, 2**64 - 1)})
    host.publishing.publish(message, None, 0)
    assert world.depth() == 1
    for name in ("x", "alt"):
        host.declaring.delete_queue("q")
        assert host.declaring.delete_exchange(name) is None
    world.turn()
    world.crash()
    assert (
        world.host.topology.find_queue("q") is None
        and world.host.topology.find_exchange("x") is None
    )


def test_the_selector_of_a_binding_comes_back_with_it() -> None:
    world = World()
    world.queue(durable=True)
    arguments = {"x-filter-jms-selector": Tagged(Kind.STRING, "n = 1")}
    world.host.bindings.bind("q", "amq.topic", "#", arguments, b"")
    world.turn()
    for again in (world.crash, world.restart):
        again()
        for number in (1, 2):
            headers = {"n": Tagged(Kind.INTEGER, number)}
            message = world.message(exchange="amq.topic", key="k", headers=headers)
            world.host.publishing.publish(message, None, 0)
        queue = world.host.topology.find_queue("q")
        assert queue is not None and queue.depth == 1


def test_positions_and_queue_numbers_go_on_above_what_was() -> None:
    world = World()
    world.queue("q", durable=True)
    world.send(b"1", durable=True)
    world.turn()
    world.crash()
    world.send(b"2", durable=True)
    world.queue("p", durable=True)
    q, p = world.host.topology.find_queue("q"), world.host.topology.find_queue("p")
    assert q is not None and p is not None and p.number > q.number
    consumer, _ = world.subscribe()
    world.turn()
    one, two = consumer.deliveries
    assert (one.message.payload, two.message.payload) == (b"1", b"2")
    assert one.position < two.position and one.message.id < two.message.id


def test_an_exclusive_auto_delete_queue_does_not_outlive_its_owner() -> None:
    world = World()
    world.queue("q", durable=True, exclusive=True, auto_delete=True)
    world.send(b"1", durable=True)
    world.turn()
    world.crash()
    assert world.host.topology.find_queue("q") is None
    world.check()


def test_an_exclusive_queue_can_be_claimed_by_anybody_after_a_restart() -> None:
    world = World()
    world.queue("q", durable=True, exclusive=True)
    world.turn()
    world.crash()
    world.queue("q", durable=True, exclusive=True)


def stored_rows(world: World) -> set[int]:
    """Kinds of what there is, besides the one row that is always there."""
    return {row.kind for row in world.store.topology()} - {RowKind.PLAIN_HOST}


def test_a_copy_that_was_with_a_subscriber_of_a_deleted_queue_ends_after_a_crash() -> None:
    world = World()
    world.queue(durable=True)
    world.subscribe(credit=1)
    world.send(b"1", b"2", durable=True)
    world.turn()
    assert world.host.declaring.delete_queue("q") is None
    world.turn()
    assert stored_rows(world) == {RowKind.DELETED}
    world.crash()
    assert world.host.topology.find_queue("q") is None
    assert stored_rows(world) == set()
    records = [one for one in world.blocks.records() if one.kind == AuditKind.PURGED]
    assert [one.reason for one in records] == [Reason.QUEUE_DELETED, Reason.QUEUE_DELETED]
    assert world.check().kinds[AuditKind.RECOVERED] == 1
    world.crash()
    assert world.check().kinds[AuditKind.RECOVERED] == 1
    assert (world.bridge.counts.recovered, world.bridge.pressure.messages) == (0, 0)


def test_a_copy_of_a_deleted_queue_goes_to_the_alternate_exchange_after_a_crash() -> None:
    world = World()
    world.host.declaring.declare_exchange("dead", "fanout", durable=True)
    world.queue("letters", durable=True)
    world.host.bindings.bind("letters", "dead", "", {}, b"")
    world.queue(durable=True, alternate_exchange="dead")
    world.subscribe()
    world.send(b"1", durable=True)
    world.turn()
    world.host.declaring.delete_queue("q")
    world.turn()
    assert world.depth("letters") == 0
    for _ in range(2):
        world.crash()
        assert world.depth("letters") == 1
        world.check()
    assert RowKind.DELETED not in stored_rows(world)


def test_a_deleted_queue_is_forgotten_with_its_last_settlement() -> None:
    for outcome in (ACCEPTED, RELEASED, MODIFIED_FAILED):
        world = World()
        world.queue(durable=True)
        consumer, _ = world.subscribe()
        world.send(b"1", b"2", durable=True)
        world.turn()
        world.host.declaring.delete_queue("q")
        for delivery in consumer.take():
            assert stored_rows(world) != set()
            world.host.settlement.settle(delivery, outcome)
            world.turn()
        assert stored_rows(world) == set()
        world.crash()
        assert world.check().kinds[AuditKind.RECOVERED] == 0


def test_deleted_queues_of_one_name_end_apart_from_the_one_that_has_it_now() -> None:
    world = World()
    for body in (b"1", b"2", b"3"):
        world.queue(durable=True)
        world.subscribe()
        world.send(body, durable=True)
        world.turn()
        if body != b"3":
            world.host.declaring.delete_queue("q")
    world.check()
    world.crash()
    consumer, _ = world.subscribe()
    world.turn()
    assert consumer.bodies() == [b"3"]
    assert world.check().kinds[AuditKind.PURGED] == 2


def test_what_a_deleted_queue_holds_in_memory_only_leaves_no_row() -> None:
    world = World()
    world.queue(durable=True)
    world.subscribe()
    world.send(b"1")
    world.turn()
    world.host.declaring.delete_queue("q")
    world.turn()
    assert stored_rows(world) == set()
    world.crash()
    world.check()


def test_a_copy_on_its_way_to_an_exchange_that_is_remote_no_more_ends_after_a_crash() -> None:
    rules = FakeRules()
    remote = rules.add_exchange("trades")
    world = World(rules=rules)
    world.queue("near", durable=True, alternate_exchange="trades")
    consumer, _ = world.subscribe("near")
    world.send(b"1", key="near", durable=True)
    world.turn()
    world.host.settlement.settle(consumer.deliveries[0], REJECTED)
    world.turn()
    assert len(remote.relays["trades"].deliveries) == 1
    exchange = world.host.topology.find_exchange("trades")
    assert exchange is not None
    world.host.nodes.unsend(exchange)
    world.turn()
    assert RowKind.DELETED in stored_rows(world)
    world.crash()
    assert world.check().kinds[AuditKind.PURGED] == 1
    assert RowKind.DELETED not in stored_rows(world)


def test_expiry_goes_on_after_a_restart() -> None:
    world = World()
    world.queue("q", durable=True)
    world.send(b"1", durable=True, ttl_ms=50)
    world.turn()
    world.crash()
    world.pass_time(100)
    assert world.depth() == 0
    world.check()


def test_what_cannot_be_used_is_reported_and_the_rest_comes_back() -> None:
    world = World()
    recovered = Recovered(
        topology=[
            TopologyRow(RowKind.QUEUE, "broken", b"\xff"),
            TopologyRow(
                RowKind.BINDING, "b", BindingRow("/", "amq.topic", "none", "k", {}, b"").encoded()
            ),
            TopologyRow(
                RowKind.BINDING, "c", BindingRow("gone", "amq.topic", "q", "k", {}, b"").encoded()
            ),
        ],
        held={},
        highest_message_id=2**62,
        incarnation=2,
        clean=True,
        damage=[],
        aside=[],
    )
    recover(world.bridge, recovered)
    assert len(world.bridge.problems) == 3
    assert world.bridge.numbers.next_message() > 2**62


@given(
    st.dictionaries(
        st.text(max_size=5),
        st.one_of(
            st.just(Tagged(Kind.NULL, None)),
            st.booleans().map(lambda value: Tagged(Kind.BOOLEAN, value)),
            st.integers().map(lambda value: Tagged(Kind.INTEGER, value)),
            st.floats(allow_nan=False).map(lambda value: Tagged(Kind.REAL, value)),
            st.text(max_size=5).map(lambda value: Tagged(Kind.STRING, value)),
            st.binary(max_size=5).map(lambda value: Tagged(Kind.BINARY, value)),
            st.uuids().map(lambda value: Tagged(Kind.UUID, value)),
        ),
        max_size=4,
    ),
    st.text(max_size=5),
)
def test_a_binding_row_decodes_to_what_was_encoded(arguments: dict[str, Tagged], key: str) -> None:
    row = BindingRow("/", "x", "q", key, arguments, b"encoded")
    back = binding_row(row.encoded())
    assert (back.host, back.exchange, back.queue, back.key) == ("/", "x", "q", key)
    assert back.arguments == arguments
    assert back.encoded_arguments == b"encoded"


def test_values_of_no_neutral_kind_are_kept_as_such() -> None:
    row = BindingRow("/", "x", "q", "k", {"a": Tagged(Kind.OTHER, [1])}, b"")
    assert binding_row(row.encoded()).arguments == {"a": Tagged(Kind.OTHER, None)}


def test_what_a_host_holds_that_is_not_configured_is_kept_until_it_is() -> None:
    world = World(hosts=["/", "other"])
    other = world.bridge.hosts["other"]
    answer = other.declaring.declare_queue("q", QueueSettings(durable=True), world.owner())
    assert not isinstance(answer, Refusal)
    other.declaring.declare_exchange("x", "fanout", durable=True)
    other.bindings.bind("q", "x", "", {}, b"")
    other.publishing.publish(world.message(exchange="x", durable=True), None, 0)
    world.turn()
    world.host_names = ["/"]
    world.restart()
    [problem] = world.bridge.problems
    assert "'other' is not configured" in problem
    assert world.bridge.counts.orphaned == 1
    world.check()
    world.queue("q", durable=True)  # a namesake elsewhere, with a number of its own
    world.host_names = ["/", "other"]
    world.restart()
    assert world.bridge.problems == []
    queue = world.bridge.hosts["other"].topology.find_queue("q")
    assert queue is not None and (queue.depth, world.depth()) == (1, 0)


def test_what_a_host_has_that_is_not_configured_any_more_is_there_when_it_is_again() -> None:
    world = World(hosts=["first", "second"])
    world.queue(durable=True)
    world.send(b"1", durable=True)
    world.turn()
    for names, depth in ((["second"], 0), (["second", "first"], 1)):
        world.host_names = names
        world.crash()
        queue = world.bridge.hosts[names[-1]].topology.find_queue("q")
        assert (0 if queue is None else queue.depth) == depth
        assert len(world.bridge.problems) == 1 - depth
