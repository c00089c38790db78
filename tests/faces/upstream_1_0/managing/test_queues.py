import pytest
from support.management import Manager
from support.upstream_world import UpstreamWorld

from gateway.amqp_1_0 import _spec
from gateway.message import Condition
from gateway.translate.profiles.profile import Profile
from gateway.translate.profiles.templates import Template


def managed_profile():
    """Of an upstream whose management we speak."""
    return Profile(queue=Template("/queues/{queue|percent}"), management="rabbitmq")


# Deleting and emptying.


class Waiter:
    """Remembers what it was told."""

    def __init__(self):
        self.told = []

    def on_looked_up(self, token, refusal):
        self.told.append((token, refusal and refusal.condition))


def removing_world():
    w = UpstreamWorld(profile=managed_profile()).place("a/b")
    return w, Manager(w.connect()), Waiter()


def test_a_queue_is_deleted_and_emptied_by_management():
    w, manager, waiter = removing_world()
    host = w.host
    assert host.declaring.delete_at_upstream("a/b", waiter, 1) is True
    assert host.declaring.purge_at_upstream("a/b", waiter, 2) is True
    w.step()
    assert manager.take() == [
        ("DELETE", "/queues/a%2Fb", None),
        ("DELETE", "/queues/a%2Fb/messages", None),
    ]
    manager.answer(200)
    manager.answer(200)
    w.step()
    assert waiter.told == [(1, None), (2, None)]


@pytest.mark.parametrize(
    ("status", "condition"),
    [
        (400, Condition.PRECONDITION_FAILED),
        (403, Condition.UNAUTHORIZED_ACCESS),
        (404, Condition.NOT_FOUND),
        (409, Condition.RESOURCE_LOCKED),
    ],
)
def test_what_management_refuses_is_refused(status, condition):
    w, manager, waiter = removing_world()
    w.host.declaring.delete_at_upstream("a/b", waiter, 1)
    w.step()
    manager.take()
    manager.answer(status, "no")
    w.step()
    assert waiter.told == [(1, condition)]


def test_a_removal_that_gets_no_answer_fails_after_a_while():
    w, _, waiter = removing_world()
    w.host.declaring.delete_at_upstream("a/b", waiter, 1)
    w.pass_time(60_000)
    assert waiter.told == [(1, Condition.INTERNAL_ERROR)]


# Making.


class Rules:
    """Node rules that want every queue to be made."""

    def queue_address(self, host, queue):
        return None

    def creates(self, host, queue):
        return True


MISSING = _spec.Error(condition="amqp:not-found", description="no queue")
NODE_Q = "/queues/q"


def making_world():
    w = UpstreamWorld(profile=managed_profile(), rules=Rules()).place("q")
    assert w.host.topology.find_queue("q") is not None
    return w


def test_a_queue_that_is_to_be_made_is_made_on_each_connection():
    w = making_world()
    for _ in range(2):
        manager = Manager(w.connect())
        ((method, path, body),) = manager.take()
        assert (method, path, body["durable"]) == ("PUT", NODE_Q, True)
        manager.answer(201)
        w.step()
        w.lose()


def test_whoever_finds_it_missing_waits_until_it_is_made():
    w = making_world()
    manager = Manager(w.connect(prepare=lambda b: b.refusals.update({NODE_Q: MISSING})))
    consumer, _ = w.subscribe("q")
    w.publish(b"x", key="q")
    w.pass_time(10_000)
    assert consumer.attached == 0
    assert consumer.cancelled == []
    assert len(manager.take()) > 1
    manager.broker.refusals.clear()
    w.pass_time(10_000)
    assert consumer.attached == 1
    assert len(manager.broker.links(NODE_Q, sends=False)) == 1


def test_it_is_taken_to_exist():
    w = making_world()
    w.connect()
    assert w.host.reaching.look_up("q", Waiter(), 1) is False


@pytest.mark.parametrize(("status", "problem"), [(409, ""), (403, "cannot make a queue: no")])
def test_one_that_is_there_is_left_as_it_is(status, problem):
    w = making_world()
    manager = Manager(w.connect())
    manager.take()
    manager.answer(status, "no")
    w.step()
    assert w.upstream.health.last_error == problem
