"""0-10 clients through the gateway to a 1.0 container and back, all of it in memory."""

import pytest
from support.face_1_0 import body_of, message
from support.talk_0_10 import Gateway, completed
from support.upstream_world import UpstreamWorld

from gateway.amqp_0_10 import _spec as spec
from gateway.amqp_0_10._spec_constants import STR16
from gateway.amqp_1_0 import _spec as spec_1_0
from gateway.amqp_1_0._spec import Accepted, Error, Modified, Rejected, Released
from gateway.translate.profiles.profile import Profile
from gateway.wire.tagged import Tagged


class Through:
    """A container with the node ``q``, and a 0-10 client with a session."""

    def __init__(self, *, prepare=None, connect=True, profile=None, **rule):
        self.upstream = UpstreamWorld(profile=profile)
        self.upstream.place("q", **rule)
        self.gateway = Gateway(world=self.upstream.world)
        if connect:
            self.broker = self.upstream.connect(prepare=prepare)
        self.client = self.gateway.session()

    def hears(self):
        """What the client hears until all is quiet everywhere."""
        heard = []
        for _ in range(20):
            some = self.client.hears()
            heard += some
            self.upstream.step()
        return heard

    def receives(self):
        """The deliveries that the container has got."""
        self.hears()
        return self.broker.received()


def refusing(condition):
    def prepare(broker):
        broker.refusals["q"] = Error(condition=condition, description="no")

    return prepare


def test_a_transfer_is_completed_when_the_container_has_accepted_it():
    at = Through()
    at.client.publishes(b"hello", key="q", explicit=True)
    (delivery,) = at.receives()
    assert body_of(delivery.payload) == b"hello"
    assert at.hears() == []
    at.broker.settle(delivery)
    assert at.hears() == [spec.MessageAccept(transfers=[(0, 0)]), completed((0, 0))]
    at.upstream.check()


def test_a_transfer_waits_while_the_container_is_away():
    at = Through(connect=False)
    at.client.publishes(b"hello", key="q")
    assert at.hears() == []
    at.broker = at.upstream.connect()
    (delivery,) = at.receives()
    at.broker.settle(delivery)
    assert at.hears() == [completed((0, 0))]


def test_a_rejected_transfer_is_told_with_the_containers_words():
    at = Through()
    at.client.publishes(b"hello", key="q", explicit=True)
    (delivery,) = at.receives()
    error = Error(condition="amqp:not-allowed", description="not on my watch")
    at.broker.settle(delivery, Rejected(error=error))
    reject, done = at.hears()
    assert (reject.transfers, reject.code, reject.text) == ([(0, 0)], 0, "not on my watch")
    assert done == completed((0, 0))


@pytest.mark.parametrize("state", [Released(), Modified(delivery_failed=True)])
def test_a_transfer_that_is_not_taken_is_sent_again(state):
    at = Through()
    at.client.publishes(b"hello", key="q")
    (delivery,) = at.receives()
    at.broker.settle(delivery, state)
    assert at.hears() == []
    at.upstream.pass_time(60_000)
    (again,) = at.broker.received()
    at.broker.settle(again)
    assert at.hears()[-1] == completed((0, 0))


def test_messages_come_from_the_container_and_are_settled_there():
    at = Through()
    at.client.subscribes("q")
    assert at.hears()[-1] == completed((0, 2))
    for body in (b"1", b"2", b"3"):
        at.broker.deliver("q", message(body))
    at.upstream.step()
    assert at.client.gets() == [b"1", b"2", b"3"]
    at.client.says(
        spec.MessageAccept(transfers=[(0, 0)]),
        spec.MessageReject(transfers=[(1, 1)], code=0, text="no"),
    )
    at.hears()
    at.client.loses_transport()
    at.upstream.step()
    error = Error(condition="amqp:precondition-failed", description="no")
    wanted = [Accepted(), Rejected(error=error), Modified(delivery_failed=True)]
    states = at.broker.states()
    assert len(states) == 3
    assert all(state in states for state in wanted)
    at.upstream.check()


@pytest.mark.parametrize(
    ("condition", "code"), [("amqp:not-found", 404), ("amqp:unauthorized-access", 403)]
)
def test_a_subscription_that_the_container_refuses_is_an_exception(condition, code):
    at = Through(prepare=refusing(condition))
    at.client.subscribes("q")
    assert at.hears() == [(code, 0), "ended 0"]


def test_a_subscription_waits_for_a_container_that_is_away_until_the_time_is_over():
    at = Through(connect=False)
    at.client.subscribes("q")
    assert at.hears() == []
    at.upstream.pass_time(600_000)
    assert at.hears() == [(541, 0), "ended 0"]


def test_questions_about_a_node_are_answered_by_the_container():
    at = Through()
    at.client.says(spec.QueueDeclare(queue="q", passive=True), spec.QueueQuery(queue="q"))
    heard = at.hears()
    assert [one.queue for one in heard if isinstance(one, spec.QueueQueryResult)] == ["q"]
    absent = Through(prepare=refusing("amqp:not-found"))
    absent.client.says(spec.QueueQuery(queue="q"), spec.QueueDeclare(queue="q", passive=True))
    heard = absent.hears()
    assert spec.QueueQueryResult() in heard
    assert heard[-2:] == [(404, 1), "ended 0"]


def test_a_selector_is_applied_by_the_container_or_the_subscription_refused():
    arguments = [("x-filter-jms-selector", Tagged(STR16, "a = 1"))]
    at = Through(profile=Profile(selector=True))
    at.client.subscribes("q", arguments=arguments)
    assert at.hears()[-1] == completed((0, 2))
    (event,) = [one for one in at.broker.attached if one.attach.role == spec_1_0.RECEIVER]
    assert list(event.attach.source.filter) == ["apache.org:selector-filter:string"]

    def without(event):
        at.broker.accept(event, source=spec_1_0.Source(address="q"))

    at = Through(profile=Profile(selector=True))
    at.broker.answers["q"] = without
    at.client.subscribes("q", arguments=arguments)
    assert at.hears() == [(540, 0), "ended 0"]
