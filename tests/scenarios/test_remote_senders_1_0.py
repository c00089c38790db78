"""1.0 clients that send to nodes of an upstream: links that wait, and outcomes passed on."""

import pytest
from support.face_1_0 import message
from support.remote_1_0 import REJECTED, Remote

from gateway.amqp_1_0 import _spec, events, types
from gateway.amqp_1_0._spec import Accepted, Error, Modified, Rejected, Released
from gateway.bridge.remote.remote import OnRejected
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
ANNOTATIONS = {"x-opt-why": Tagged(types.STRING, "because")}


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
    at.hub.end()


def test_a_sender_to_a_queue_that_the_upstream_does_not_have_is_refused():
    at = approaching()
    reached(at, Refusal(Condition.NOT_FOUND, "r: no such queue"))
    assert at.client.take(events.AttachReceived).attach.target is None
    detach = at.client.take(events.DetachReceived).detach
    assert detach.closed
    assert detach.error.condition == "amqp:not-found"
    assert "no such queue" in detach.error.description
    assert at.hub.settings.counts.links_opened == at.hub.settings.counts.links_closed
    at.hub.end()


def test_a_sender_that_detaches_before_the_answer_is_let_go():
    at = approaching()
    at.session.write(_spec.Detach(handle=0, closed=True))
    at.client.step()
    assert at.client.take(events.AttachReceived).attach.target is None
    assert at.client.take(events.DetachReceived).detach.error is None
    reached(at)
    assert at.client.kinds() == []
    at.hub.end()


def test_a_session_that_ends_before_a_senders_answer_leaves_nothing():
    at = approaching()
    at.session.send_end()
    at.client.step()
    reached(at, Refusal(Condition.NOT_FOUND, ""))
    assert at.client.kinds() == ["EndReceived"]
    at.hub.end()


def test_a_sender_that_breaks_a_rule_before_its_answer_is_let_go():
    at = approaching()
    at.session.write(_spec.Transfer(handle=0, delivery_id=0, delivery_tag=b"1"))
    at.client.step()
    reached(at)
    assert "AttachReceived" not in at.client.kinds()
    at.hub.end()


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
    assert at.client.face.client.doubt.held == 0
    at.hub.end()


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
    assert at.client.face.client.doubt.held > 0
    at.ends(ACCEPTED)
    assert at.client.face.client.doubt.held == 0
    assert at.told() == []
    at.hub.end()


def test_a_batch_has_the_worst_of_its_outcomes_and_what_is_released_is_kept():
    at = Remote()
    link = at.client.sender("r")
    writer = Writer()
    for body in (b"1", b"2", b"3"):
        _data(writer, message(body))
    link.send_delivery(b"t", b"", writer.getvalue(), settled=False, message_format=BATCH_FORMAT)
    at.client.step()
    first, second, third = at.relay().take()
    settle = at.hub.host.settlement.settle
    settle(first, ACCEPTED)
    settle(second, REJECTED)
    settle(third, RELEASED)
    at.hub.step()
    assert at.told() == []
    at.ends(ACCEPTED)
    assert at.told() == [Rejected(error=Error(condition="amqp:not-allowed", description="no"))]
    assert at.client.face.client.doubt.held == 0
    at.hub.end()


def _data(writer, octets):
    writer.raw(b"\x00\x53\x75\xb0" + len(octets).to_bytes(4, "big") + octets)


def test_a_message_too_large_for_the_upstream_is_rejected():
    at = Remote()
    link = at.client.sender("r")
    at.relay().answers.append(DeliverStatus.REFUSED)
    state = at.client.send(link, message())
    assert state.error.condition == "amqp:link:message-size-exceeded"


def lasting(at, unsettled=None):
    """A client attaches a sender that is to outlive its link; the gateway's map."""
    at.session = at.client.session()
    at.link = at.session.attach("lasting", _spec.SENDER)
    target = _spec.Target(address="r", timeout=60)
    at.link.send_attach(source=_spec.Source(), target=target, unsettled=unsettled)
    at.client.step()
    if at.remote.waiters:
        reached(at)
        at.remote.waiters = []
    return at.client.take(events.AttachReceived).attach.unsettled


def loses_its_client(at):
    at.client.face.receive_eof(at.hub.world.now_ms)
    at.hub.clients.remove(at.client)
    at.hub.world.turn()
    at.client = at.hub.client()


@pytest.mark.parametrize("reachable", [True, False])
def test_a_sender_that_is_back_hears_what_the_upstream_says_of_what_it_sent_before(reachable):
    at = Remote()
    assert lasting(at) is None
    assert at.client.send(at.link, message(b"1"), tag=b"1") is None
    assert at.client.send(at.link, message(b"2"), tag=b"2") is None
    loses_its_client(at)
    first, second = at.relay().take()
    at.hub.host.settlement.settle(first, RELEASED)
    at.hub.step()
    at.remote.reachable = reachable
    local = lasting(at, {b"1": None, b"2": None, b"3": None})
    assert local == {b"1": Released(), b"2": None}
    assert at.client.send(at.link, message(b"2"), tag=b"2", resume=True) is None
    at.hub.host.settlement.settle(second, ACCEPTED)
    at.hub.step()
    assert at.told() == [Accepted()]
    at.hub.end()
