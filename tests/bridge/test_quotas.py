"""What one user or one virtual host has of the queues: its publishers wait, others do not."""

from support.bridge_world import Producer, World
from support.talk_0_10 import Client, Gateway

from gateway.amqp_0_10 import _spec as spec
from gateway.bridge.limits import BridgeLimits
from gateway.bridge.pressure import COPY_OCTETS
from gateway.bridge.quotas import Quota, Quotas
from gateway.bridge.seams import PublishStatus
from gateway.message import ACCEPTED, Condition, Message

KIB = 1024


def message_of(world: World, connection: int, octets: int = KIB) -> Message:
    """One that counts as so many octets."""
    message = world.message(bytes(octets - COPY_OCTETS), key="q")
    message.publisher = connection
    return message


def test_a_quota_is_high_until_three_quarters_are_left_and_full_at_twice_as_much() -> None:
    quota = Quota(100)
    seen = []
    for difference in (100, 1, 100, -125, -1, -75):
        quota.change(difference)
        seen.append((quota.octets, quota.high, quota.full))
    assert seen == [
        (100, False, False),
        (101, True, False),
        (201, True, True),
        (76, True, False),
        (75, False, False),
        (0, False, False),
    ]


def test_connections_of_one_user_have_one_share_in_each_virtual_host() -> None:
    quotas = Quotas(100, 200)
    quotas.join(1, "alice", "a")
    quotas.join(2, "alice", "b")
    quotas.join(3, "bob", "a")
    alice, elsewhere, bob = (quotas.of_connection(number) for number in (1, 2, 3))
    assert alice is not elsewhere
    assert alice.user is elsewhere.user
    assert alice.host is bob.host
    quotas.leave(1)
    assert quotas.of_connection(1) is quotas.of_connection(99)
    assert quotas.of_host("a").host is bob.host


def test_who_has_used_up_its_quota_waits_and_nobody_else() -> None:
    world = World(limits=BridgeLimits(user_octets=4 * KIB))
    world.queue()
    pressure = world.bridge.pressure
    pressure.join(1, "alice", "/")
    pressure.join(2, "bob", "/")
    alice, bob = Producer(), Producer()
    publish = world.host.publishing.publish
    for token in range(5):
        publish(message_of(world, 1), alice, token)
    world.turn()
    assert publish(message_of(world, 1), alice, 5).status is PublishStatus.PENDING
    assert publish(message_of(world, 2), bob, 0).status is PublishStatus.DONE
    world.turn()
    assert (alice.published, pressure.waiting) == ([], 1)
    assert pressure.quotas.users["alice"].octets == 6 * KIB
    world.host.declaring.purge_queue("q")
    world.turn()
    assert (alice.published, pressure.waiting) == ([(5, ACCEPTED)], 0)
    assert pressure.quotas.users["alice"].held_back == 1
    assert [quota.octets for quota in pressure.quotas.users.values()] == [0, 0]
    world.check()


def test_who_does_not_wait_is_refused_at_twice_its_quota() -> None:
    world = World(limits=BridgeLimits(user_octets=4 * KIB))
    world.queue()
    world.bridge.pressure.join(1, "alice", "/")
    world.bridge.pressure.join(2, "bob", "/")
    publish = world.host.publishing.publish
    publish(message_of(world, 1, 9 * KIB), None, 0)
    world.turn()
    refused = publish(message_of(world, 1), None, 0)
    assert refused.status is PublishStatus.REFUSED
    assert refused.refusal is not None
    assert refused.refusal.condition == Condition.RESOURCE_LIMIT_EXCEEDED
    assert publish(message_of(world, 2), None, 0).status is PublishStatus.DONE
    world.check()


def test_a_virtual_host_has_a_quota_for_all_of_its_users() -> None:
    world = World(limits=BridgeLimits(host_octets=4 * KIB), hosts=["/", "other"])
    world.queue()
    for number, (user, host) in enumerate([("alice", "/"), ("bob", "/"), ("carol", "other")], 1):
        world.bridge.pressure.join(number, user, host)
    producer = Producer()
    publish = world.host.publishing.publish
    publish(message_of(world, 1, 5 * KIB), producer, 0)
    world.turn()
    assert publish(message_of(world, 2), producer, 1).status is PublishStatus.PENDING
    assert publish(message_of(world, 3), producer, 2).status is PublishStatus.DONE
    world.turn()


def test_what_a_restart_brings_back_counts_for_its_virtual_host() -> None:
    world = World(limits=BridgeLimits(host_octets=4 * KIB))
    world.queue(durable=True)
    world.bridge.pressure.join(1, "alice", "/")
    message = message_of(world, 1, 5 * KIB)
    message.durable = True
    world.host.publishing.publish(message, None, 0)
    world.turn()
    world.restart()
    quota = world.bridge.pressure.quotas.hosts["/"]
    assert (quota.octets, quota.high) == (5 * KIB, True)


def test_a_transaction_holds_for_the_user_of_its_connection() -> None:
    gateway = Gateway(bridge_limits=BridgeLimits(user_octets=4 * KIB))
    alice = gateway.session("alice")
    alice.does(spec.QueueDeclare(queue="q"))
    alice.does(spec.TxSelect())
    alice.publishes(bytes(3 * KIB))
    alice.hears()
    users = gateway.world.bridge.pressure.quotas.users
    assert users["alice"].octets > 3 * KIB
    alice.does(spec.TxRollback())
    assert users["alice"].octets == 0


def test_small_messages_are_a_share_too_and_others_go_on() -> None:
    most = 100
    limits = BridgeLimits(
        octets_high=2 * most * COPY_OCTETS,
        octets_low=most * COPY_OCTETS,
        user_octets=most * COPY_OCTETS,
        messages_high=2 * most,
        messages_low=most,
    )
    world = World(limits=limits)
    world.queue()
    pressure = world.bridge.pressure
    pressure.join(1, "alice", "/")
    pressure.join(2, "bob", "/")
    alice, bob = Producer(), Producer()
    publish = world.host.publishing.publish
    refused = 0
    for token in range(3 * most):  # of one who does not wait
        answer = publish(message_of(world, 1, COPY_OCTETS + 1), alice, token)
        refused += answer.status is PublishStatus.REFUSED
        world.turn()
        assert not pressure.high
    assert pressure.quotas.users["alice"].held_back >= most // 2
    assert refused > 0
    assert pressure.messages >= 2 * most - 1
    for token in range(most // 2):
        assert publish(message_of(world, 2, COPY_OCTETS + 1), bob, token).status is (
            PublishStatus.DONE
        )
        world.turn()
    world.host.declaring.purge_queue("q")
    world.turn()
    assert (pressure.octets, pressure.payload, pressure.messages) == (0, 0, 0)
    assert pressure.quotas.beyond() == 0
    world.check()


def test_very_many_small_messages_of_nobody_in_particular_make_everybody_wait() -> None:
    world = World(limits=BridgeLimits(messages_high=10, messages_low=5))
    world.queue()
    producer = Producer()
    for token in range(11):
        world.host.publishing.publish(message_of(world, 1, COPY_OCTETS), producer, token)
    world.turn()
    assert world.bridge.pressure.high


def fills(client: Client) -> None:
    for _ in range(6):
        client.publishes(bytes(KIB))
    client.hears()
    client.publishes(bytes(KIB))


def test_one_user_fills_a_queue_and_other_users_are_confirmed() -> None:
    gateway = Gateway(bridge_limits=BridgeLimits(user_octets=4 * (KIB + COPY_OCTETS)))
    alice, bob = gateway.session("alice"), gateway.session("bob")
    bob.does(spec.QueueDeclare(queue="q"))
    fills(alice)
    assert not [heard for heard in alice.hears() if str(heard).startswith("completed")]
    bob.publishes(b"x")
    assert [heard for heard in bob.hears() if str(heard).startswith("completed")]
    bob.does(spec.QueuePurge(queue="q"))
    assert [heard for heard in alice.hears() if str(heard).startswith("completed")]


def test_what_is_beyond_a_quota_does_not_make_others_wait() -> None:
    limits = BridgeLimits(user_octets=8 * KIB, octets_high=10 * KIB, octets_low=9 * KIB)
    world = World(limits=limits)
    world.queue()
    pressure = world.bridge.pressure
    pressure.join(1, "alice", "/")
    pressure.join(2, "bob", "/")
    alice, bob = Producer(), Producer()
    publish = world.host.publishing.publish
    for token in range(14):
        publish(message_of(world, 1), alice, token)
        world.turn()
    assert pressure.octets > 10 * KIB
    assert not pressure.high
    assert publish(message_of(world, 2), bob, 0).status is PublishStatus.DONE
    publish(message_of(world, 2, 3 * KIB), bob, 1)
    world.turn()
    assert pressure.high  # eight of alice's, four of bob's
    world.host.declaring.purge_queue("q")
    world.turn()
    assert (pressure.high, pressure.quotas.beyond(), pressure.waiting) == (False, 0, 0)
    world.check()
