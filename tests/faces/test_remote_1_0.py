"""1.0 clients at nodes of an upstream: links that wait for it, filters, and outcomes passed on."""

import pytest
from support.face_1_0 import House, body_of, message
from support.remotes import FakeRules

from gateway.amqp_1_0 import _spec, events, types
from gateway.amqp_1_0._spec import Accepted, Error, Modified, Rejected, Released
from gateway.bridge.remote import OnRejected
from gateway.bridge.seams import DeliverStatus
from gateway.message import (
    ACCEPTED,
    MODIFIED_FAILED,
    RELEASED,
    Condition,
    Flag,
    Outcome,
    OutcomeKind,
    Refusal,
)
from gateway.translate.batch import BATCH_FORMAT
from gateway.wire.buffers import Writer
from gateway.wire.tagged import Tagged

ALL = ["amqp:accepted:list", "amqp:rejected:list", "amqp:released:list", "amqp:modified:list"]
REJECTED = Outcome(OutcomeKind.REJECTED, condition=Condition.NOT_ALLOWED, description="no")
ANNOTATIONS = {"x-opt-why": Tagged(types.STRING, "because")}


class Remote:
    """A house with the remote queue ``r``, a local one ``q``, and one client."""

    def __init__(self, **arguments):
        self.rules = FakeRules()
        self.remote = self.rules.add("r")
        self.exchanges = self.rules.add_exchange("e")
        self.house = House(rules=self.rules, **arguments)
        self.house.world.queue()
        self.client = self.house.client()

    def asks(self, address="r", **source):
        """A client attaches a receiver; nothing is answered yet."""
        self.session = self.client.session()
        self.link = self.session.attach("link", _spec.RECEIVER)
        self.link.send_attach(
            source=_spec.Source(address=address, **source), target=_spec.Target(address="here")
        )
        self.client.events = []
        self.client.step()
        return self.link

    @property
    def inlet(self):
        return self.remote.inlets[-1][0]

    @property
    def published(self):
        return self.remote.inlets[-1][1].published

    def brings(self, *bodies):
        for token, body in enumerate(bodies):
            self.inlet.receive(self.house.world.message(message(body), key="r"), token)
        self.house.step()

    def relay(self, name="r"):
        return self.remote.relays[name]

    def ends(self, outcome):
        for delivery in self.relay().take():
            self.house.host.settle(delivery, outcome)
        self.house.step()

    def told(self):
        return [event.state for event in self.client.take_all(events.DispositionReceived)]


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
    at.house.end()


def test_a_receiver_that_the_upstream_refuses_is_refused():
    at = Remote()
    at.asks()
    at.inlet.on_refused(Condition.UNAUTHORIZED_ACCESS, "not you")
    at.client.step()
    assert at.client.take(events.AttachReceived).attach.source is None
    error = at.client.take(events.DetachReceived).detach.error
    assert (error.condition, error.description) == ("amqp:unauthorized-access", "not you")
    at.house.end()


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
    at.house.end()


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
    at.house.end()


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
    at.house.end()


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
    at.house.end()


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
    at.house.end()


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
    at.house.end()


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
    at.house.end()


def test_a_node_that_is_deleted_later_detaches_the_link():
    at = Remote()
    at.asks()
    at.inlet.on_attached()
    at.client.step()
    at.inlet.on_refused(Condition.RESOURCE_DELETED, "deleted")
    at.client.step()
    assert at.client.take(events.DetachReceived).detach.error.condition == "amqp:resource-deleted"
    at.house.end()


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


def test_filters_of_another_kind_are_refused_on_a_remote_queue():
    at = Remote()
    at.asks(filter={"x": described(0, "example:filter", Tagged(types.STRING, ""))})
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
    at.feed.receive(at.house.world.message(message(b"1"), key="k"), 1)
    at.house.step()
    at.client.step()
    assert [body_of(payload) for payload in at.client.received()]
    at.house.end()


@pytest.mark.parametrize("drain", [False, True])
def test_credit_for_an_exchange_that_comes_before_the_answer_counts(drain):
    at = subscribing()
    at.feed.receive(at.house.world.message(message(b"1"), key="k"), 1)
    at.link.send_flow(credit=2, drain=drain)
    at.client.step()
    assert at.client.kinds() == []
    subscribed(at)
    assert len(at.client.received()) == 1
    assert at.link.credit == (0 if drain else 1)
    at.house.end()


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
    at.house.end()


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


# Senders.


def approaching():
    """A client has attached a sender, and the upstream is asked; the link."""
    at = Remote()
    at.remote.reachable = False
    at.session = at.client.session()
    at.link = at.session.attach("link", _spec.SENDER)
    at.link.send_attach(source=_spec.Source(), target=_spec.Target(address="r"))
    at.client.events = []
    at.client.step()
    return at


def reached(at, refusal=None):
    """The upstream answers."""
    ((waiter, token),) = at.remote.waiters
    waiter.on_looked_up(token, refusal)
    at.client.step()


def test_a_sender_is_attached_when_the_upstream_has_its_queue():
    at = approaching()
    assert at.client.kinds() == []
    reached(at)
    assert at.client.take(events.AttachReceived).attach.target.address == "r"
    assert at.link.credit > 0
    assert at.client.send(at.link, message()) is None
    at.ends(ACCEPTED)
    assert at.told() == [Accepted()]
    at.house.end()


def test_a_sender_to_a_queue_that_the_upstream_does_not_have_is_refused():
    at = approaching()
    reached(at, Refusal(Condition.NOT_FOUND, "r: no such queue"))
    assert at.client.take(events.AttachReceived).attach.target is None
    detach = at.client.take(events.DetachReceived).detach
    assert detach.closed
    assert detach.error.condition == "amqp:not-found"
    assert "no such queue" in detach.error.description
    assert at.house.settings.counts.links_opened == at.house.settings.counts.links_closed
    at.house.end()


def test_a_sender_that_detaches_before_the_answer_is_let_go():
    at = approaching()
    at.session.write(_spec.Detach(handle=0, closed=True))
    at.client.step()
    assert at.client.take(events.AttachReceived).attach.target is None
    assert at.client.take(events.DetachReceived).detach.error is None
    reached(at)
    assert at.client.kinds() == []
    at.house.end()


def test_a_session_that_ends_before_a_senders_answer_leaves_nothing():
    at = approaching()
    at.session.send_end()
    at.client.step()
    reached(at, Refusal(Condition.NOT_FOUND, ""))
    assert at.client.kinds() == ["EndReceived"]
    at.house.end()


def test_a_sender_that_breaks_a_rule_before_its_answer_is_let_go():
    at = approaching()
    at.session.write(_spec.Transfer(handle=0, delivery_id=0, delivery_tag=b"1"))
    at.client.step()
    reached(at)
    assert "AttachReceived" not in at.client.kinds()
    at.house.end()


OUTCOMES = [
    (ACCEPTED, Accepted()),
    (RELEASED, Released()),
    (MODIFIED_FAILED, Modified(delivery_failed=True)),
    (REJECTED, Rejected(error=Error(condition="amqp:not-allowed", description="no"))),
    (
        Outcome(OutcomeKind.MODIFIED, undeliverable_here=True, annotations=b""),
        Modified(undeliverable_here=True),
    ),
]


@pytest.mark.parametrize(("outcome", "state"), OUTCOMES)
def test_an_outcome_is_passed_on_as_it_is(outcome, state):
    at = Remote()
    link = at.client.sender("r")
    assert at.client.send(link, message()) is None
    at.ends(outcome)
    assert at.told() == [state]
    assert at.client.face.doubt.held == 0
    at.house.end()


def test_annotations_of_a_modified_outcome_are_passed_on():
    at = Remote()
    link = at.client.sender("r")
    at.client.send(link, message())
    writer = Writer()
    types.encode_map(writer, [(Tagged(types.SYMBOL, k), v) for k, v in ANNOTATIONS.items()])
    at.ends(Outcome(OutcomeKind.MODIFIED, annotations=writer.getvalue()))
    assert at.told() == [Modified(message_annotations=ANNOTATIONS)]


@pytest.mark.parametrize(
    ("outcomes", "flagged"),
    [
        (None, True),
        (ALL, True),
        (["amqp:accepted:list", "amqp:rejected:list", "amqp:modified:list"], True),
        (["amqp:accepted:list", "amqp:rejected:list"], False),
        (["amqp:accepted:list", "amqp:released:list"], False),
    ],
)
def test_what_the_source_cannot_know_stays_with_the_gateway(outcomes, flagged):
    at = Remote()
    link = at.client.sender("r", source=_spec.Source(address="here", outcomes=outcomes))
    at.client.send(link, message())
    (delivery,) = at.relay().deliveries
    assert bool(delivery.message.flags & Flag.OUTCOMES) is flagged
    at.ends(RELEASED)
    assert len(at.told()) == flagged
    assert len(at.relay().deliveries) == (not flagged)


@pytest.mark.parametrize(
    ("known", "outcome", "state"),
    [
        ("amqp:modified:list", RELEASED, Modified()),
        ("amqp:released:list", MODIFIED_FAILED, Released()),
        (
            "amqp:released:list",
            Outcome(OutcomeKind.MODIFIED, undeliverable_here=True),
            Rejected(
                error=Error(
                    condition="amqp:precondition-failed",
                    description="the message was not accepted",
                )
            ),
        ),
    ],
)
def test_an_outcome_that_the_source_does_not_name_is_told_by_the_nearest(known, outcome, state):
    at = Remote()
    outcomes = ["amqp:accepted:list", "amqp:rejected:list", known]
    link = at.client.sender("r", source=_spec.Source(address="here", outcomes=outcomes))
    at.client.send(link, message())
    at.ends(outcome)
    assert at.told() == [state]


def test_a_rejection_that_the_source_cannot_know_detaches_the_link():
    at = Remote()
    at.rules.add("r", on_rejected=OnRejected.EXCEPTION)
    at.remote.relays["r"].queue.placement.on_rejected = OnRejected.EXCEPTION
    link = at.client.sender(
        "r", source=_spec.Source(address="here", outcomes=["amqp:accepted:list"])
    )
    at.client.send(link, message())
    at.ends(REJECTED)
    assert at.client.take(events.DetachReceived).detach.error.condition == "amqp:not-allowed"


def test_what_came_settled_is_not_passed_on():
    at = Remote()
    link = at.client.sender("r")
    at.client.send(link, message(), settled=True)
    (delivery,) = at.relay().deliveries
    assert not delivery.message.flags & Flag.OUTCOMES
    assert at.client.face.doubt.held > 0
    at.ends(ACCEPTED)
    assert at.client.face.doubt.held == 0
    assert at.told() == []
    at.house.end()


def test_a_batch_has_the_worst_of_its_outcomes_and_what_is_released_is_kept():
    at = Remote()
    link = at.client.sender("r")
    writer = Writer()
    for body in (b"1", b"2", b"3"):
        _data(writer, message(body))
    link.send_delivery(b"t", b"", writer.getvalue(), settled=False, message_format=BATCH_FORMAT)
    at.client.step()
    first, second, third = at.relay().take()
    settle = at.house.host.settle
    settle(first, ACCEPTED)
    settle(second, REJECTED)
    settle(third, RELEASED)
    at.house.step()
    assert at.told() == []
    at.ends(ACCEPTED)
    assert at.told() == [Rejected(error=Error(condition="amqp:not-allowed", description="no"))]
    assert at.client.face.doubt.held == 0
    at.house.end()


def _data(writer, octets):
    writer.raw(b"\x00\x53\x75\xb0" + len(octets).to_bytes(4, "big") + octets)


def test_a_message_too_large_for_the_upstream_is_rejected():
    at = Remote()
    link = at.client.sender("r")
    at.relay().answers.append(DeliverStatus.REFUSED)
    state = at.client.send(link, message())
    assert state.error.condition == "amqp:link:message-size-exceeded"
