"""Whether messages can be sent to a node: what the link to it says, soon, or nobody knows."""

import pytest
from support.upstream_world import UpstreamWorld

from gateway.amqp_1_0 import _spec
from gateway.faces.dialled.reaching import PATIENCE_MS
from gateway.message import Condition
from gateway.translate.profiles.profile import Profile
from gateway.translate.profiles.templates import Template

NOT_FOUND = _spec.Error(condition="amqp:not-found", description="no such node")
PASSING = _spec.Error(condition="amqp:link:detach-forced", description="later")
LOCKED = _spec.Error(condition="amqp:resource-locked", description="it is in use")


class Waiter:
    """What it was told, by token."""

    def __init__(self):
        self.told = []

    def on_looked_up(self, token, refusal):
        self.told.append((token, None if refusal is None else refusal.condition))


def reach(w, queue="q", token=1):
    """Ask; whether it is to be waited for, and who waits."""
    waiter = Waiter()
    return w.host.reaching.reach(queue, waiter, token), waiter


def connected(error=None, **profile):
    """A world with the remote queue ``q``, and what the broker says of it."""
    w = UpstreamWorld(profile=Profile(**profile)).place("q")

    def prepare(broker):
        if error is not None:
            broker.refusals["q"] = error

    return w, w.connect(prepare=prepare)


def test_a_node_is_there_when_the_link_to_it_is_and_asking_again_costs_nothing():
    w, broker = connected()
    waits, waiter = reach(w)
    assert waits
    w.step()
    assert waiter.told == [(1, None)]
    attached = len(broker.attached)
    assert not reach(w)[0]
    w.step()
    assert len(broker.attached) == attached == 1


def test_a_missing_node_is_told():
    w, _ = connected(NOT_FOUND)
    waits, waiter = reach(w)
    assert waits
    w.step()
    assert waiter.told == [(1, Condition.NOT_FOUND)]


def test_a_missing_node_is_asked_for_again_at_once_and_may_be_there_now():
    w, broker = connected(NOT_FOUND)
    reach(w)
    w.step()
    _, waiter = reach(w)
    w.step()
    assert waiter.told == [(1, Condition.NOT_FOUND)]
    broker.refusals.clear()
    _, waiter = reach(w)
    w.step()
    assert waiter.told == [(1, None)]


def test_a_node_that_went_away_is_asked_for_again():
    w, broker = connected()
    reach(w)
    w.step()
    broker.refusals["q"] = NOT_FOUND
    broker.link("q", sends=False).send_detach(error=NOT_FOUND)
    w.step()
    waits, waiter = reach(w)
    assert waits
    w.step()
    assert waiter.told == [(1, Condition.NOT_FOUND)]


def test_several_wait_for_one_link():
    w, broker = connected()
    first, second = reach(w, token=1)[1], reach(w, token=2)[1]
    w.step()
    assert (first.told, second.told) == ([(1, None)], [(2, None)])
    assert len(broker.attached) == 1


def test_what_may_pass_is_not_held_against_the_node():
    w, broker = connected(PASSING)
    waits, waiter = reach(w)
    assert waits
    w.step()
    assert waiter.told == []
    broker.refusals["q"] = LOCKED
    w.pass_time(PATIENCE_MS - 1)
    assert waiter.told == [(1, None)]


def test_a_broker_that_does_not_answer_is_not_waited_for_long():
    w = UpstreamWorld().place("q")
    broker = w.connect()
    broker.answers["q"] = lambda event: None
    _, waiter = reach(w)
    w.step()
    w.pass_time(PATIENCE_MS - 1)
    assert waiter.told == []
    w.pass_time(1)
    assert waiter.told == [(1, None)]


def test_a_connection_that_is_lost_answers_nothing():
    w = UpstreamWorld().place("q")
    broker = w.connect()
    broker.answers["q"] = lambda event: None
    _, waiter = reach(w)
    w.step()
    w.lose()
    assert waiter.told == [(1, None)]


def test_without_a_connection_nobody_is_asked():
    w = UpstreamWorld().place("q")
    assert not reach(w)[0]


@pytest.mark.parametrize("rule", [{"spool": True}, {"paused": True}])
def test_what_is_kept_here_for_now_needs_no_node(rule):
    w = UpstreamWorld().place("q", **rule)
    w.connect()
    assert not reach(w)[0]


def test_local_queues_and_unknown_names_are_not_asked_for():
    w = UpstreamWorld()
    w.connect()
    w.world.queue("here")
    assert not reach(w, "here")[0]
    assert not reach(w, "nowhere")[0]


def test_where_attaching_tells_nothing_the_look_up_does():
    w, broker = connected(missing="drop")
    broker.answers["q"] = lambda event: (
        broker.accept(event) if event.link.role else event.link.refuse(NOT_FOUND)
    )
    _, waiter = reach(w)
    w.step()
    assert waiter.told == [(1, Condition.NOT_FOUND)]


def test_a_node_that_takes_settled_deliveries_only_is_for_the_messages_to_find_out():
    w = UpstreamWorld().place("q")
    broker = w.connect()
    broker.answers["q"] = lambda event: broker.accept(event, snd_settle_mode=_spec.SND_SETTLED)
    _, waiter = reach(w)
    w.step()
    assert waiter.told == [(1, None)]


# Bindings to remote exchanges.


def bind(w, key="a", token=1):
    """Bind; whether it is to be waited for, and who waits."""
    assert w.host.bindings.bind("here", "x", key, {}, b"") is None
    return reach_binding(w, key, token)


def reach_binding(w, key="a", token=1):
    """Ask for a binding that there is."""
    waiter = Waiter()
    return w.host.reaching.reach_binding("here", "x", key, waiter, token), waiter


def exchange():
    """A world with the remote exchange ``x``, and a queue of ours that is not bound yet."""
    w = UpstreamWorld(
        profile=Profile(exchange=Template("{exchange|plain}/{key}"), subscriptions="address")
    )
    w.place(exchange="x")
    w.host.declaring.declare_exchange("x", "direct")
    w.world.queue("here")
    return w


def test_a_binding_takes_effect_when_the_upstream_has_the_subscription():
    w = exchange()
    broker = w.connect()
    waits, waiter = bind(w)
    assert waits
    assert waiter.told == []
    w.step()
    assert waiter.told == [(1, None)]
    assert broker.link("x/a").credit > 0
    assert not reach_binding(w)[0]


def test_a_binding_that_the_upstream_does_not_want_is_not_waited_for_again():
    w = exchange()
    w.connect().refusals["x/a"] = NOT_FOUND
    waits, waiter = bind(w)
    assert waits
    w.step()
    assert waiter.told == [(1, None)]
    assert not reach_binding(w)[0]


def test_a_binding_that_the_upstream_does_not_answer_is_not_waited_for_long():
    w = exchange()
    w.connect().answers["x/a"] = lambda event: None
    _, waiter = bind(w)
    w.step()
    w.pass_time(PATIENCE_MS - 1)
    assert waiter.told == []
    w.pass_time(1)
    assert waiter.told == [(1, None)]


def test_a_binding_that_goes_before_the_answer_is_not_waited_for():
    w = exchange()
    w.connect().answers["x/a"] = lambda event: None
    _, waiter = bind(w)
    w.step()
    assert w.host.bindings.unbind("here", "x", "a") is None
    assert waiter.told == []
    w.pass_time(0)
    assert waiter.told == [(1, None)]
    assert not reach_binding(w)[0]


def test_without_a_connection_or_a_remote_exchange_no_binding_is_waited_for():
    w = exchange()
    assert not bind(w)[0]
    assert w.host.bindings.bind("here", "amq.direct", "a", {}, b"") is None
    assert not w.host.reaching.reach_binding("here", "amq.direct", "a", Waiter(), 1)
