"""Whose a node is, for rules about a client's own."""

import pytest
from support.bridge_world import Session
from support.ruled_client import RuledClient

from gateway.bridge.remote.remote import REJECTED_QUEUE
from gateway.bridge.seams import QueueSettings
from gateway.permissions.actions import Action, ObjectKind
from gateway.permissions.asked import NO, UNKNOWN, YES, Asked


def own(client, action, name, kind=ObjectKind.QUEUE):
    asked = Asked(action, kind, name)
    client.access.belongings.look_up(asked)
    return asked.own


@pytest.mark.parametrize(
    ("maker", "made_by", "found"),
    [("alice", 3, YES), ("", 7, YES), ("bob", 3, NO), ("", 0, NO), ("anonymous", 3, NO)],
)
def test_a_node_is_its_makers_or_that_of_the_connection_that_made_it(maker, made_by, found):
    client = RuledClient()
    client.world.queue("q")
    queue = client.world.host.topology.queues["q"]
    queue.settings.maker, queue.settings.made_by = maker, made_by
    exchange = client.world.host.topology.exchanges["amq.topic"]
    exchange.maker, exchange.made_by = maker, made_by
    assert own(client, Action.CONSUME, "q") == found
    assert own(client, Action.BIND, "amq.topic", ObjectKind.EXCHANGE) == found


def test_who_has_no_login_owns_nothing_by_the_name_that_it_is_called_by():
    client = RuledClient(user="anonymous", proved=False)
    client.world.queue("q")
    client.world.host.topology.queues["q"].settings.maker = "anonymous"
    assert own(client, Action.CONSUME, "q") == NO


@pytest.mark.parametrize(("connection", "found"), [(7, YES), (8, NO)])
def test_an_exclusive_queue_is_that_of_the_connection_that_has_it(connection, found):
    client = RuledClient()
    settings = QueueSettings(exclusive=True)
    client.world.host.declaring.declare_queue("q", settings, Session(1, connection))
    assert own(client, Action.CONSUME, "q") == found


def test_what_is_to_be_made_will_be_its_own_but_for_the_queue_of_rejected_messages():
    client = RuledClient()
    assert own(client, Action.CREATE, "new") == YES
    assert own(client, Action.CREATE, REJECTED_QUEUE) == NO
    assert own(client, Action.CREATE, "new", ObjectKind.EXCHANGE) == YES
    assert own(client, Action.CONSUME, "new") == UNKNOWN


def test_a_queue_of_the_same_name_is_not_the_one_that_lived():
    client = RuledClient()
    host = client.world.host.name
    client.world.queue("q")
    queue = client.world.host.topology.queues["q"]
    lives = client.access.belongings.lives
    assert lives(host, "q", queue.number)
    assert not lives(host, "q", queue.number + 1)
    assert not lives("nowhere", "q", queue.number)
