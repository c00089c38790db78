"""Nodes that a client declares become its own, as many as it may have."""

from support.bridge_world import Session
from support.ruled_client import RuledClient

from gateway.bridge.seams import QueueSettings
from gateway.faces.access.making import Making
from gateway.permissions.actions import Action, ObjectKind
from gateway.permissions.asked import Asked


class Limited:
    """Rules of which a user may have made so many queues, and everything else."""

    def __init__(self, rules, queues):
        self._rules = rules
        self._queues = queues

    def __getattr__(self, name):
        return getattr(self._rules, name)

    def queues_max(self, user):
        return self._queues


def made(queues=-1):
    client = RuledClient("allow: all")
    client.in_force.rules = Limited(client.in_force.rules, queues)
    client.access.renew()
    return client, Making(client.in_force, client.access)


def to_create(name, kind=ObjectKind.QUEUE):
    return Asked(Action.CREATE, kind, name)


def declare(client, name):
    client.world.host.declaring.declare_queue(name, QueueSettings(), Session(1))
    return client.world.host.topology.queues[name]


def test_what_was_allowed_and_declared_is_the_clients():
    client, making = made()
    assert making.refusal(to_create("q")) is None
    queue = declare(client, "q")
    making.created()
    assert (queue.settings.maker, queue.settings.made_by) == ("alice", 7)


def test_a_node_that_was_there_before_stays_whose_it_is():
    client, making = made()
    queue = declare(client, "q")
    assert making.refusal(to_create("q")) is None
    making.created()
    assert queue.settings.maker == ""


def test_what_was_allowed_and_not_declared_is_nobodys():
    client, making = made()
    assert making.refusal(to_create("q")) is None
    making.created()
    queue = declare(client, "q")
    making.created()
    assert queue.settings.maker == ""


def test_a_user_has_no_more_queues_than_it_may_until_one_is_gone():
    client, making = made(queues=1)
    assert making.refusal(to_create("q")) is None
    declare(client, "q")
    making.created()
    assert making.refusal(to_create("r")).description == (
        "'alice' may have made 1 queues at a time"
    )
    assert making.refusal(to_create("e", ObjectKind.EXCHANGE)) is None
    client.world.host.declaring.delete_queue("q", Session(1), if_unused=False, if_empty=False)
    assert making.refusal(to_create("r")) is None
