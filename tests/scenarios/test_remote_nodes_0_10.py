"""0-10 clients at nodes of an upstream: what waits for it, and what they hear of its answers."""

import pytest
from support.remotes import FakeRelay, FakeRemote, FakeRules, FakeSource
from support.talk_0_10 import Client, Gateway, completed

from gateway.amqp_0_10 import _spec as spec
from gateway.amqp_0_10._spec_constants import STR16
from gateway.amqp_0_10.types import Command
from gateway.bridge.remote.remote import Inlet
from gateway.faces.features import Feature
from gateway.message import (
    ACCEPTED,
    MODIFIED_FAILED,
    RELEASED,
    Condition,
    Outcome,
    OutcomeKind,
    Refusal,
)
from gateway.translate.outcomes import ROW_REJECTED
from gateway.wire.limits import Limits
from gateway.wire.tagged import Tagged

EXCEPTION = 1  # `OnRejected`
MISSING = Refusal(Condition.NOT_FOUND, "no such node")
LATE = Refusal(Condition.INTERNAL_ERROR, "the upstream did not answer")
SELECTOR = [("x-filter-jms-selector", Tagged(STR16, "colour = 'red'"))]


class Remote:
    """A gateway with the remote queue ``r``, a local one ``q``, and one client with a session."""

    def __init__(self, *, on_rejected: int = 0, limits: Limits | None = None) -> None:
        self.rules = FakeRules()
        self.remote: FakeRemote = self.rules.add("r", on_rejected=on_rejected)
        self.gateway = Gateway(rules=self.rules, limits=limits)
        self.gateway.world.queue()
        self.client: Client = self.gateway.session()

    def inlet(self) -> Inlet:
        return self.remote.inlets[-1][0]

    def source(self) -> FakeSource:
        return self.remote.inlets[-1][1]

    def relay(self) -> FakeRelay:
        return self.remote.relays["r"]

    def subscribed(self, *, acquire: int = 0) -> None:
        """The client's subscription to ``r`` is in force."""
        self.client.subscribes("r", acquire=acquire)
        self.client.hears()
        self.inlet().on_attached()
        self.client.hears()

    def looked_up(self, refusal: Refusal | None) -> None:
        waiter, token = self.remote.waiters.pop(0)
        waiter.on_looked_up(token, refusal)

    def brings(self, *bodies: bytes) -> None:
        """The upstream sends messages."""
        for token, body in enumerate(bodies):
            self.inlet().receive(self.gateway.world.message(body, key="r"), token)

    def publishes(self, *, explicit: bool = False) -> None:
        self.client.publishes(b"x", key="r", explicit=explicit)

    def ends(self, outcome: Outcome) -> None:
        """The upstream ends the copy that it was sent."""
        for delivery in self.relay().take():
            self.gateway.world.host.settlement.settle(delivery, outcome)


def rejected(condition: Condition = Condition.NONE, text: str = "") -> Outcome:
    return Outcome(OutcomeKind.REJECTED, condition=condition, description=text)


# Subscriptions.


def test_a_subscription_is_done_when_the_upstream_has_attached_it() -> None:
    at = Remote()
    at.client.subscribes("r", credit=None)
    assert at.client.hears() == []
    at.inlet().on_attached()
    assert at.client.hears() == [completed((0, 0))]


def test_a_subscription_that_the_upstream_refuses_is_an_exception_for_it() -> None:
    at = Remote()
    at.client.says(spec.ExchangeQuery(name="amq.topic"))
    at.client.hears()
    at.client.subscribes("r", credit=None)
    at.client.publishes(b"never", key="q")
    at.client.hears()
    at.inlet().on_refused(Condition.UNAUTHORIZED_ACCESS, "not you")
    assert at.client.hears() == [(403, 1), "ended 0"]
    assert at.gateway.world.depth() == 0
    at.gateway.world.check()


def test_commands_behind_it_wait_and_are_carried_out_in_their_order() -> None:
    at = Remote()
    at.client.subscribes("r")  # subscribe and two flows
    at.client.says(spec.QueueDeclare(queue="made"), spec.QueueDelete(queue="made"))
    at.client.publishes(b"x", key="q")
    at.client.says(spec.ExecutionSync(), sync=True)
    assert at.client.hears() == []
    assert at.inlet().wanted() == 0
    assert at.gateway.world.depth() == 0
    assert not at.client.face.drained()
    at.inlet().on_attached()
    assert at.client.hears() == [completed((0, 2), (5, 5)), completed((3, 4), (6, 6))]
    assert at.inlet().wanted() > 0
    assert at.gateway.world.depth() == 1
    assert at.gateway.world.host.topology.find_queue("made") is None
    assert at.client.face.drained()


def test_settling_goes_on_while_a_subscription_waits() -> None:
    at = Remote()
    at.gateway.world.send(b"1", b"2")
    at.client.subscribes("q", accept=0)
    assert at.client.gets() == [b"1", b"2"]
    at.client.subscribes("r", "other")
    at.client.says(spec.MessageAccept(transfers=[(0, 1)]))
    at.client.hears()
    assert at.gateway.world.depth() == 0
    at.client.says(spec.MessageCancel(destination="d"))
    at.client.says(spec.MessageRelease(transfers=[(0, 1)]))
    assert at.client.hears() == []


def test_what_waits_is_dropped_when_the_session_ends() -> None:
    at = Remote()
    at.client.subscribes("r")
    at.client.publishes(b"x", key="q")
    at.client.hears()
    assert at.client.session is not None
    at.client.session.detach()
    at.client.hears()
    assert at.source().left == 1
    at.inlet().on_attached()
    at.client.hears()
    assert at.gateway.world.depth() == 0
    at.gateway.world.check()


def test_parked_octets_pause_reading() -> None:
    at = Remote(limits=Limits(octets_in_doubt_max=1_000))
    at.client.subscribes("r")
    at.client.publishes(b"x" * 1_000, key="q")
    at.client.hears()
    assert at.client.face.reading_paused
    at.inlet().on_attached()
    at.client.hears()
    assert not at.client.face.reading_paused
    assert at.gateway.world.depth() == 1


def test_deliveries_are_settled_from_end_to_end() -> None:
    at = Remote()
    at.subscribed()
    at.brings(b"1", b"2", b"3", b"4")
    assert at.client.gets() == [b"1", b"2", b"3", b"4"]
    at.client.says(
        spec.MessageAccept(transfers=[(0, 0)]),
        spec.MessageRelease(transfers=[(1, 1)], set_redelivered=True),
        spec.MessageReject(transfers=[(2, 2)], code=1, text="no"),
    )
    at.client.hears()
    at.client.loses_transport()
    assert at.source().published == [
        (0, ACCEPTED),
        (1, MODIFIED_FAILED),
        (2, rejected(Condition.UNROUTABLE, "no")),
        (3, MODIFIED_FAILED),
    ]
    at.gateway.world.check()


def test_an_accept_after_the_link_was_lost_is_done_and_goes_nowhere() -> None:
    at = Remote()
    at.subscribed()
    at.brings(b"1")
    at.client.gets()
    at.inlet().lost()
    assert at.client.does(spec.MessageAccept(transfers=[(0, 0)])) == [completed((3, 3))]
    assert at.source().published == []
    at.gateway.world.check()


def test_a_node_that_is_deleted_later_ends_the_session() -> None:
    at = Remote()
    at.subscribed()
    at.inlet().on_refused(Condition.RESOURCE_DELETED, "deleted")
    assert at.client.hears() == [(408, None), "ended 0"]


def test_what_was_browsed_at_an_upstream_cannot_be_acquired() -> None:
    at = Remote()
    at.subscribed(acquire=1)
    assert not at.inlet().acquire
    at.brings(b"1")
    at.client.gets()
    acquired, _ = at.client.does(spec.MessageAcquire(transfers=[(0, 0)]))
    assert acquired == spec.Acquired(transfers=[])
    assert at.gateway.settings.counts.unsupported[Feature.REMOTE_ACQUIRE] == 1


# Selectors.


@pytest.mark.parametrize("name", ["x-filter-jms-selector", "x-apache-selector"])
def test_a_selector_on_a_remote_queue_is_the_upstreams_to_apply(name: str) -> None:
    at = Remote()
    at.client.subscribes("r", arguments=[(name, Tagged(STR16, "a = 1"))])
    at.client.hears()
    assert at.inlet().selector == "a = 1"
    at.inlet().on_refused(Condition.NOT_IMPLEMENTED, "no selectors there")
    assert at.client.hears() == [(540, 0), "ended 0"]


def test_a_selector_of_a_binding_goes_to_a_remote_exchange() -> None:
    rules = FakeRules()
    remote = rules.add_exchange("e")
    gateway = Gateway(rules=rules)
    gateway.world.queue()
    client = gateway.session()
    bind = spec.ExchangeBind(queue="q", exchange="e", binding_key="k", arguments=SELECTOR)
    assert client.does(bind) == [completed((0, 0))]
    feed, _ = remote.feeds[0]
    assert feed.arguments["x-filter-jms-selector"].value == "colour = 'red'"


def test_a_binding_is_not_given_another_selector() -> None:
    rules = FakeRules()
    remote = rules.add_exchange("e")
    gateway = Gateway(rules=rules)
    gateway.world.queue()
    client = gateway.session()
    bind = spec.ExchangeBind(queue="q", exchange="e", binding_key="k", arguments=SELECTOR)
    assert client.does(bind, bind) == [completed((0, 1))]
    bind.arguments = []
    assert client.does(bind) == [(406, 2), "ended 0"]
    assert len(remote.feeds) == 1


def binding(*, durable: bool = False) -> tuple[Gateway, FakeRemote, Client]:
    """A client has bound a queue to a remote exchange, whose subscription is asked for."""
    rules = FakeRules()
    remote = rules.add_exchange("e")
    gateway = Gateway(rules=rules)
    remote.feeds_late = True
    gateway.world.queue(durable=durable)
    client = gateway.session()
    client.says(spec.ExchangeBind(queue="q", exchange="e", binding_key="k"))
    return gateway, remote, client


def test_a_binding_is_done_when_the_upstream_feeds_it_and_what_follows_waits() -> None:
    _, remote, client = binding()
    client.publishes(b"x", to="e", key="k")
    assert client.hears() == []
    assert remote.relays["e"].take() == []
    ((waiter, token),) = remote.waiters
    waiter.on_looked_up(token, None)
    assert client.hears() == [completed((0, 0))]
    (delivery,) = remote.relays["e"].take()
    assert delivery.message.routing_key == "k"


def test_a_binding_is_done_when_it_is_safe_too() -> None:
    gateway, remote, client = binding(durable=True)
    gateway.world.auto_commit = False
    client.hears()
    ((waiter, token),) = remote.waiters
    waiter.on_looked_up(token, None)
    assert client.hears() == []
    gateway.world.commit()
    assert client.hears() == [completed((0, 0))]


def test_a_session_that_ends_while_its_binding_waits_keeps_the_binding() -> None:
    gateway, remote, client = binding()
    client.hears()
    client.loses_transport()
    ((waiter, token),) = remote.waiters
    waiter.on_looked_up(token, None)
    exchange = gateway.world.host.topology.find_exchange("e")
    assert exchange is not None
    assert [(each.queue.name, each.key) for each in exchange.every()] == [("q", "k")]
    gateway.world.check()


def test_a_binding_that_the_upstream_cannot_feed_is_refused() -> None:
    rules = FakeRules()
    remote = rules.add_exchange("e")
    gateway = Gateway(rules=rules)
    remote.unfed = Refusal(Condition.NOT_IMPLEMENTED, "no subscriptions there")
    gateway.world.queue()
    bind = spec.ExchangeBind(queue="q", exchange="e", binding_key="k")
    assert gateway.session().does(bind) == [(540, 0), "ended 0"]
    assert remote.feeds == []


# Questions about nodes.


QUESTIONS: list[Command] = [
    spec.QueueDeclare(queue="r", passive=True),
    spec.QueueQuery(queue="r"),
    spec.QueueDelete(queue="r"),
    spec.QueuePurge(queue="r"),
    spec.ExchangeBound(exchange="r", queue="r"),
]


def heard_of(command: Command, refusal: Refusal | None) -> list[object]:
    """What a client hears of a command when the upstream answers so."""
    at = Remote()
    at.client.says(command)
    at.client.says(spec.ExchangeQuery(name="amq.topic"))
    assert at.client.hears() == []
    at.looked_up(refusal)
    heard = at.client.hears()
    if at.remote.asked:  # to do it, too
        assert heard == []
        at.looked_up(None)
        heard = at.client.hears()
    return heard


@pytest.mark.parametrize("command", QUESTIONS)
def test_a_question_about_a_remote_queue_waits_for_the_upstream(command: Command) -> None:
    heard = heard_of(command, None)
    assert completed((0, 0)) in heard or completed((0, 1)) in heard


@pytest.mark.parametrize("command", [QUESTIONS[0], QUESTIONS[2], QUESTIONS[3]])
def test_a_queue_that_the_upstream_does_not_have_is_not_found(command: Command) -> None:
    assert heard_of(command, MISSING) == [(404, 0), "ended 0"]


@pytest.mark.parametrize(
    ("command", "asked"), [(QUESTIONS[2], ("delete", "r")), (QUESTIONS[3], ("purge", "r"))]
)
def test_a_removal_is_carried_out_there_first(command: Command, asked: tuple[str, str]) -> None:
    at = Remote()
    at.client.says(command)
    at.client.hears()
    at.looked_up(None)
    assert at.client.hears() == []
    assert at.remote.asked == [asked]
    at.looked_up(Refusal(Condition.RESOURCE_LOCKED, "in use there"))
    assert at.client.hears() == [(405, 0), "ended 0"]
    assert "r" in at.remote.relays


def test_a_removal_that_the_upstream_offers_no_way_for_is_not_implemented() -> None:
    at = Remote()
    at.remote.answer = Refusal(Condition.NOT_IMPLEMENTED, "not from here")
    at.client.says(spec.QueueDelete(queue="r"))
    at.client.hears()
    at.looked_up(None)
    assert at.client.hears() == [(540, 0), "ended 0"]


def test_a_query_of_a_queue_that_the_upstream_does_not_have_is_answered_so() -> None:
    assert heard_of(QUESTIONS[1], MISSING)[0] == spec.QueueQueryResult()
    bound = heard_of(QUESTIONS[4], MISSING)[0]
    assert bound == spec.ExchangeBoundResult(exchange_not_found=True, queue_not_found=True)


@pytest.mark.parametrize("command", QUESTIONS)
def test_an_upstream_that_cannot_be_asked_is_no_answer_about_the_queue(command: Command) -> None:
    assert heard_of(command, LATE) == [(541, 0), "ended 0"]


def test_an_answer_that_comes_too_late_is_nothing() -> None:
    at = Remote()
    at.client.says(QUESTIONS[0])
    at.client.hears()
    at.client.loses_transport()
    at.looked_up(MISSING)
    assert at.client.face.data_to_send() == b""


def test_other_commands_and_local_queues_wait_for_nobody() -> None:
    at = Remote()
    at.client.says(
        spec.QueueDeclare(queue="r"),
        spec.QueueQuery(queue="q"),
        spec.ExchangeBound(exchange="amq.topic"),
        spec.ExchangeQuery(name="r"),
    )
    assert at.client.hears()[-1] == completed((0, 3))


# Publishing.


def test_a_transfer_is_done_when_the_upstream_has_accepted_it() -> None:
    at = Remote()
    at.publishes()
    at.publishes(explicit=True)
    assert at.client.hears() == []
    at.ends(ACCEPTED)
    assert at.client.hears() == [
        spec.MessageAccept(transfers=[(1, 1)]),
        completed((0, 1)),
    ]
    assert at.client.face.client.doubt.held == 0


def test_a_rejected_transfer_is_told_by_reject_to_who_asked() -> None:
    at = Remote()
    at.publishes(explicit=True)
    at.client.hears()
    at.ends(rejected(Condition.NOT_FOUND, "nobody there"))
    reject = spec.MessageReject(transfers=[(0, 0)], code=1, text="nobody there")
    assert at.client.hears() == [reject, completed((0, 0))]


def test_a_reason_that_a_reject_cannot_tell_is_a_counted_loss() -> None:
    at = Remote()
    lost = at.client.face.settings.translated.lost
    for condition in (Condition.UNROUTABLE, Condition.RESOURCE_LIMIT_EXCEEDED):
        at.publishes(explicit=True)
        at.client.hears()
        at.ends(rejected(condition, "why"))
        at.client.hears()
    assert lost[ROW_REJECTED] == 1


@pytest.mark.parametrize(
    ("outcome", "code"),
    [
        (rejected(Condition.RESOURCE_LIMIT_EXCEEDED, "full"), 506),
        (rejected(Condition.MESSAGE_SIZE_EXCEEDED, "too large"), 506),
        (rejected(), 406),
    ],
)
def test_a_rejected_transfer_is_an_exception_where_the_rule_says_so(
    outcome: Outcome, code: int
) -> None:
    at = Remote(on_rejected=EXCEPTION)
    at.publishes()
    at.publishes()
    at.client.hears()
    at.ends(outcome)
    assert at.client.hears() == [(code, 0), "ended 0"]
    assert at.client.face.client.doubt.held == 0
    at.gateway.world.check()


def test_a_rejected_transfer_is_dead_lettered_where_nobody_asked() -> None:
    at = Remote()
    at.publishes()
    at.client.hears()
    at.ends(rejected())
    assert at.client.hears() == [completed((0, 0))]
    assert at.gateway.world.depth("gateway.rejected") == 1


@pytest.mark.parametrize("outcome", [RELEASED, MODIFIED_FAILED])
def test_a_transfer_that_the_upstream_does_not_take_now_is_offered_again(outcome: Outcome) -> None:
    at = Remote()
    at.publishes()
    at.client.hears()
    at.ends(outcome)
    assert at.client.hears() == []
    at.ends(ACCEPTED)
    assert at.client.hears() == [completed((0, 0))]


def test_an_outcome_that_is_none_for_0_10_counts_as_rejected() -> None:
    at = Remote()
    at.publishes(explicit=True)
    at.publishes()
    at.client.hears()
    session = next(iter(at.gateway.settings.attached.values()))
    transfers = session.transfers  # type: ignore[attr-defined]  # the session of the face
    transfers.on_published(0, RELEASED)
    transfers.on_published(1, MODIFIED_FAILED)
    reject = spec.MessageReject(transfers=[(0, 0)], code=0, text=None)
    assert at.client.hears() == [reject, completed((0, 0)), (406, 1), "ended 0"]
