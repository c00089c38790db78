"""1.0 clients at nodes of an upstream: receivers that wait for it, and filters."""

import pytest
from support.face_1_0 import body_of, message
from support.remote_1_0 import REJECTED, Remote

from gateway.amqp_1_0 import _spec, events, types
from gateway.amqp_1_0._spec import Accepted, Error, Modified, Rejected, Released
from gateway.message import (
    MODIFIED_FAILED,
    RELEASED,
    Condition,
    OutcomeKind,
)
from gateway.wire.tagged import Tagged


def described(code, symbol, value):
    return Tagged(
        types.DESCRIBED,
        types.Described(Tagged(types.ULONG, code) if code else Tagged(types.SYMBOL, symbol), value),
    )


def selector(text="colour = 'red'"):
    return described(_spec.SELECTOR_FILTER_CODE, "", Tagged(types.STRING, text))


# Receivers.


def test_a_receiver_is_attached_when_the_upstream_has_attached_it():
    at = Remote()
    link = at.asks()
    assert at.client.kinds() == []
    at.inlet.on_attached()
    at.client.step()
    answer = at.client.take(events.AttachReceived).attach
    assert answer.source.address == "r"
    assert answer.source.distribution_mode == _spec.DISTRIBUTION_MOVE
    link.send_flow(credit=10)
    at.client.step()
    assert at.inlet.wanted() == 10
    at.brings(b"1", b"2")
    assert [body_of(payload) for payload in at.client.received()]
    at.hub.end()


def test_a_receiver_that_the_upstream_refuses_is_refused():
    at = Remote()
    at.asks()
    at.inlet.on_refused(Condition.UNAUTHORIZED_ACCESS, "not you")
    at.client.step()
    assert at.client.take(events.AttachReceived).attach.source is None
    error = at.client.take(events.DetachReceived).detach.error
    assert (error.condition, error.description) == ("amqp:unauthorized-access", "not you")
    at.hub.end()


def test_credit_that_comes_before_the_answer_counts():
    at = Remote()
    at.link = at.asks()
    at.link.send_flow(credit=7)
    at.client.step()
    assert at.inlet.wanted() == 7
    at.inlet.on_attached()
    at.client.step()
    at.brings(b"1")
    assert len(at.client.received()) == 1
    at.hub.end()


def test_what_an_upstream_has_is_not_told_as_available():
    at = Remote()
    link = at.asks()
    at.inlet.on_attached()
    at.client.step()
    link.send_flow(credit=1, echo=True)
    at.client.step()
    at.client.take(events.FlowReceived)
    assert link.available is None
    at.hub.end()


def test_what_was_fetched_goes_back_when_the_client_takes_its_credit_back():
    at = Remote()
    link = at.asks()
    at.inlet.on_attached()
    link.send_flow(credit=2)
    at.client.step()
    link.send_flow(credit=1)
    at.client.step()
    at.brings(b"1", b"2")
    assert len(at.client.received()) == 1
    link.send_flow(credit=0)
    at.client.step()
    assert at.published == [(1, RELEASED)]
    assert at.inlet.wanted() == 0
    link.send_flow(credit=3)
    at.client.step()
    assert at.inlet.wanted() == 3
    at.hub.end()


def test_a_drain_that_comes_before_the_answer_is_done_after_it():
    at = Remote()
    at.link = at.asks()
    at.link.send_flow(credit=7, drain=True)
    at.client.step()
    at.inlet.on_attached()
    at.client.step()
    assert at.inlet.draining
    at.brings(b"1")
    at.inlet.on_drained()
    at.client.step()
    assert len(at.client.received()) == 1
    assert at.link.credit == 0
    assert at.client.take(events.FlowReceived).link is at.link
    at.hub.end()


def test_a_client_that_detaches_before_the_answer_is_let_go():
    at = Remote()
    at.link = at.asks()
    source = at.remote.inlets[0][1]
    detach = _spec.Detach(handle=0, closed=True)
    at.session.write(detach)
    at.client.step()
    assert source.left == 1
    assert at.client.take(events.AttachReceived).attach.source is None
    assert at.client.take(events.DetachReceived).detach.error is None
    at.inlet.on_attached()
    at.client.step()
    assert not at.client.face.closed
    at.hub.end()


def test_a_session_that_ends_before_the_answer_leaves_nothing():
    at = Remote()
    at.asks()
    at.session.send_end()
    at.client.step()
    assert at.remote.inlets[0][1].left == 1
    at.inlet.on_attached()
    at.inlet.on_refused(Condition.NOT_FOUND, "")
    at.client.step()
    assert at.client.kinds() == ["EndReceived"]
    at.hub.end()


def test_outcomes_go_from_end_to_end():
    at = Remote()
    link = at.asks()
    at.inlet.on_attached()
    link.send_flow(credit=10)
    at.client.step()
    at.brings(b"1", b"2", b"3", b"4", b"5")
    states = [
        Accepted(),
        Released(),
        Rejected(error=Error(condition="amqp:not-allowed", description="no")),
        Modified(delivery_failed=True, undeliverable_here=True),
    ]
    deliveries = at.client.take_all(events.DeliveryReceived)
    for delivery, state in zip(deliveries, states, strict=False):
        link.session.settle_incoming(delivery.delivery_id, state)
    at.client.step()
    link.send_detach()
    at.client.step()
    told = dict(at.published)
    kinds = [told[token].kind for token in range(5)]
    assert kinds == [
        OutcomeKind.ACCEPTED,
        OutcomeKind.RELEASED,
        OutcomeKind.REJECTED,
        OutcomeKind.MODIFIED,
        OutcomeKind.MODIFIED,
    ]
    assert told[2] == REJECTED
    assert told[3].undeliverable_here
    assert told[4] == MODIFIED_FAILED
    at.hub.end()


def test_a_settlement_after_the_upstreams_link_was_lost_is_confirmed_and_goes_nowhere():
    at = Remote()
    link = at.asks()
    at.inlet.on_attached()
    link.send_flow(credit=10)
    at.client.step()
    at.brings(b"1")
    (delivery,) = at.client.take_all(events.DeliveryReceived)
    at.inlet.lost()
    link.session.settle_incoming(delivery.delivery_id, Accepted(), settled=False)
    at.client.step()
    assert at.published == []
    assert at.client.face.drained()
    at.hub.end()


def test_a_node_that_is_deleted_later_detaches_the_link():
    at = Remote()
    at.asks()
    at.inlet.on_attached()
    at.client.step()
    at.inlet.on_refused(Condition.RESOURCE_DELETED, "deleted")
    at.client.step()
    assert at.client.take(events.DetachReceived).detach.error.condition == "amqp:resource-deleted"
    at.hub.end()


def test_browsing_asks_the_upstream_for_copies():
    at = Remote()
    at.asks(distribution_mode=_spec.DISTRIBUTION_COPY)
    assert not at.inlet.acquire
    at.inlet.on_attached()
    at.client.step()
    answer = at.client.take(events.AttachReceived).attach
    assert answer.source.distribution_mode == _spec.DISTRIBUTION_COPY


# Filters.


def test_a_selector_is_the_upstreams_to_apply_and_answered_when_it_does():
    at = Remote()
    at.asks(filter={"jms-selector": selector()})
    assert at.inlet.selector == "colour = 'red'"
    at.inlet.on_attached()
    at.client.step()
    answer = at.client.take(events.AttachReceived).attach
    assert list(answer.source.filter) == ["jms-selector"]


def test_a_selector_is_known_by_its_symbol_too():
    at = Remote()
    at.asks(filter={"s": described(0, _spec.SELECTOR_FILTER, Tagged(types.STRING, "a = 1"))})
    assert at.inlet.selector == "a = 1"


def test_a_selector_that_the_upstream_does_not_apply_refuses_the_link():
    at = Remote()
    at.asks(filter={"jms-selector": selector()})
    at.inlet.on_refused(Condition.NOT_IMPLEMENTED, "no selectors there")
    at.client.step()
    assert at.client.take(events.AttachReceived).attach.source is None
    assert at.client.refused() == "amqp:not-implemented"


@pytest.mark.parametrize(
    "filters",
    [
        {"s": described(_spec.SELECTOR_FILTER_CODE, "", Tagged(types.INT, 1))},
        {"s": selector(), "t": selector()},
    ],
)
def test_a_selector_is_one_string(filters):
    at = Remote()
    at.asks(filter=filters)
    at.client.take(events.AttachReceived)
    assert at.client.refused() == "amqp:invalid-field"


def test_no_local_on_a_remote_queue_is_asked_of_the_upstream():
    at = Remote()
    no_local = described(_spec.NO_LOCAL_FILTER_CODE, "", Tagged(types.LIST, []))
    at.asks(filter={"no-local": no_local})
    assert at.inlet.no_local


def test_a_filter_that_nobody_knows_is_not_asked_of_an_upstream():
    at = Remote()
    at.asks(filter={"x": described(0, "example:filter", Tagged(types.STRING, ""))})
    at.inlet.on_attached()
    at.client.step()
    assert at.client.take(events.AttachReceived).attach.source.filter is None


def test_filters_of_another_kind_are_refused_on_a_remote_queue():
    at = Remote()
    at.asks(filter={"x": described(_spec.SQL_FILTER_CODE, "", Tagged(types.STRING, ""))})
    at.client.take(events.AttachReceived)
    assert at.client.refused() == "amqp:not-implemented"


def test_a_durable_subscription_that_comes_back_with_another_selector_is_bound_anew():
    at = Remote()
    for text in ("a = 1", "a = 1", "a = 2"):
        link = at.asks("e/k", durable=_spec.DURABLE_UNSETTLED_STATE, filter={"s": selector(text)})
        link.send_detach(closed=False)
        at.client.step()
    texts = [feed.arguments["x-filter-jms-selector"].value for feed, _ in at.exchanges.feeds]
    assert texts == ["a = 1", "a = 2"]
    assert [source.left for _, source in at.exchanges.feeds] == [1, 0]


def subscribing():
    """A client has attached a receiver to a remote exchange, whose subscription is asked for."""
    at = Remote()
    at.exchanges.feeds_late = True
    at.asks("e/k")
    at.feed = at.exchanges.feeds[0][0]
    return at


def subscribed(at):
    """The upstream has answered."""
    ((waiter, token),) = at.exchanges.waiters
    waiter.on_looked_up(token, None)
    at.client.step()


def test_a_receiver_of_an_exchange_is_attached_when_the_subscription_is_there():
    at = subscribing()
    assert at.client.kinds() == []
    subscribed(at)
    assert at.client.take(events.AttachReceived).attach.source.address == "e/k"
    at.link.send_flow(credit=1)
    at.feed.receive(at.hub.world.message(message(b"1"), key="k"), 1)
    at.hub.step()
    at.client.step()
    assert [body_of(payload) for payload in at.client.received()]
    at.hub.end()


@pytest.mark.parametrize("drain", [False, True])
def test_credit_for_an_exchange_that_comes_before_the_answer_counts(drain):
    at = subscribing()
    at.feed.receive(at.hub.world.message(message(b"1"), key="k"), 1)
    at.link.send_flow(credit=2, drain=drain)
    at.client.step()
    assert at.client.kinds() == []
    subscribed(at)
    assert len(at.client.received()) == 1
    assert at.link.credit == (0 if drain else 1)
    at.hub.end()


@pytest.mark.parametrize("ends_session", [False, True])
def test_a_receiver_of_an_exchange_that_goes_before_the_answer_leaves_nothing(ends_session):
    at = subscribing()
    if ends_session:
        at.session.send_end()
    else:
        at.session.write(_spec.Detach(handle=0, closed=True))
    at.client.step()
    assert at.exchanges.feeds[0][1].left == 1
    before = at.client.kinds()
    subscribed(at)
    assert at.client.kinds() == before
    assert not at.client.face.closed
    at.hub.end()


def test_a_selector_on_a_remote_exchange_is_an_argument_of_the_binding():
    at = Remote()
    at.asks("e/k", filter={"jms-selector": selector()})
    feed, _ = at.exchanges.feeds[0]
    assert feed.arguments["x-filter-jms-selector"].value == "colour = 'red'"
    answer = at.client.take(events.AttachReceived).attach
    assert list(answer.source.filter) == ["jms-selector"]


def test_no_local_on_a_remote_exchange_is_refused():
    at = Remote()
    no_local = described(_spec.NO_LOCAL_FILTER_CODE, "", Tagged(types.LIST, []))
    at.asks("e/k", filter={"no-local": no_local})
    at.client.take(events.AttachReceived)
    assert at.client.refused() == "amqp:not-implemented"
