import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.pair_1_0 import Pair
from support.rules import rule

from gateway.amqp_1_0 import _spec, events
from gateway.amqp_1_0._spec import (
    Accepted,
    Modified,
    Received,
    Rejected,
    Released,
    Source,
    Target,
    TransactionalState,
)
from gateway.amqp_1_0.transfers import resumption
from gateway.amqp_1_0.transfers.resumption import Action, ActionKind
from gateway.errors import LocalProtocolError


def received(section, offset):
    return Received(section_number=section, section_offset=offset)


# The fourteen cases of 3.4.6: ours as the sender, the receiver's (ABSENT: not in its map), and what
# is to be done.
ABSENT = "absent"
CASES = [
    (None, ABSENT, Action(ActionKind.RESEND)),
    (None, received(3, 0), Action(ActionKind.RESUME)),
    (None, Accepted(), Action(ActionKind.SETTLE, Accepted())),
    (None, None, Action(ActionKind.RESUME)),
    (received(0, 200), ABSENT, Action(ActionKind.RESEND)),
    (received(1, 150), received(2, 0), Action(ActionKind.RESUME, received(1, 150))),
    (received(0, 500), received(0, 100), Action(ActionKind.ABORT_AND_RESEND)),
    (received(3, 5), Accepted(), Action(ActionKind.SETTLE, Accepted())),
    (received(2, 0), None, Action(ActionKind.ABORT_AND_RESEND)),
    (Accepted(), ABSENT, Action(ActionKind.FORGET)),
    (Accepted(), received(1, 2000), Action(ActionKind.ABORT)),
    (Accepted(), Accepted(), Action(ActionKind.SETTLE, Accepted())),
    (Accepted(), Released(), Action(ActionKind.RESTATE, Accepted())),
    (Accepted(), None, Action(ActionKind.ABORT)),
]


@rule("1.0", "2.7.3", "both-maps-are-compared")
@rule("1.0", "2.6.13", "unknown-to-the-target-may-be-sent-again")
@rule("1.0", "3.4.6", "not-received-is-sent-without-resume")
def test_the_cases_of_the_specification_are_resolved_as_it_says():
    local = {bytes([tag]): case[0] for tag, case in enumerate(CASES, 1)}
    remote = {bytes([tag]): case[1] for tag, case in enumerate(CASES, 1) if case[1] is not ABSENT}
    remote[b"theirs alone"] = None
    found = resumption.resolve(local, remote)
    assert found == {bytes([tag]): case[2] for tag, case in enumerate(CASES, 1)}


def test_what_an_incomplete_map_lacks_has_to_wait():
    local = {b"1": None, b"2": Accepted(), b"3": None}
    found = resumption.resolve(local, {b"3": Released()}, incomplete=True)
    assert found == {
        b"1": Action(ActionKind.WAIT),
        b"2": Action(ActionKind.WAIT),
        b"3": Action(ActionKind.SETTLE, Released()),
    }


@pytest.mark.parametrize("outcome", [Accepted(), Released(), Rejected(), Modified()])
def test_every_outcome_of_the_receiver_is_taken(outcome):
    found = resumption.resolve({b"1": None}, {b"1": outcome})
    assert found == {b"1": Action(ActionKind.SETTLE, outcome)}


def test_an_outcome_that_a_transaction_was_to_bring_is_none():
    state = TransactionalState(txn_id=b"x", outcome=Accepted())
    assert resumption.resolve({b"1": None}, {b"1": state}) == {b"1": Action(ActionKind.RESUME)}


def test_the_beginning_is_the_beginning_however_it_is_said():
    found = resumption.resolve({b"1": received(0, 0)}, {b"1": None})
    assert found == {b"1": Action(ActionKind.RESUME)}


STATES = st.one_of(
    st.none(),
    st.builds(received, st.integers(0, 3), st.integers(0, 3)),
    st.sampled_from([Accepted(), Released(), TransactionalState(txn_id=b"x")]),
)
MAPS = st.dictionaries(st.binary(min_size=1, max_size=2), STATES, max_size=8)


@rule("1.0", "2.7.5", "resumed-only-if-unsettled")
@given(MAPS, MAPS, st.booleans())
def test_nothing_is_lost_and_nothing_resumed_that_the_receiver_does_not_know(local, remote, part):
    found = resumption.resolve(local, remote, incomplete=part)
    assert list(found) == list(local)
    for tag, action in found.items():
        resumed = action.kind not in (ActionKind.RESEND, ActionKind.FORGET, ActionKind.WAIT)
        assert resumed == (tag in remote)
        if action.kind == ActionKind.RESEND:
            assert not isinstance(local[tag], Accepted | Released)
    settled = resumption.settled_by_sender(local, remote, incomplete=part)
    assert set(settled) == (set() if part else set(local) - set(remote))


# Through the pipe.

SOURCE, TARGET = Source(address="a", durable=2, expiry_policy="never"), Target(address="b")


def resumed(pair, session, role, ours, theirs, **flags):
    """A link of the client's, both ends attaching with their maps; client's end, server's end."""
    link = session.attach("link", role)
    link.send_attach(
        source=SOURCE,
        target=TARGET,
        unsettled=ours,
        incomplete_unsettled=flags.get("ours_incomplete", False),
    )
    pair.step()
    came = pair.take("server", events.AttachReceived)
    assert came.attach.unsettled == ours
    came.link.send_attach(
        source=SOURCE,
        target=TARGET,
        unsettled=theirs,
        incomplete_unsettled=flags.get("theirs_incomplete", False),
    )
    pair.step()
    answer = pair.take("client", events.AttachReceived)
    assert answer.attach.unsettled == theirs
    (came.link if role == _spec.SENDER else link).send_flow(credit=20)
    pair.step()
    pair.take("client" if role == _spec.SENDER else "server", events.FlowReceived)
    return link, came.link


def begun():
    pair = Pair().open()
    session, _ = pair.begin()
    return pair, session


@rule("1.0", "2.6.3", "unsettled-state-is-told")
@rule("1.0", "2.6.13", "known-to-both-is-resumed")
@rule("1.0", "2.6.13", "resume-flag")
def test_a_sender_resumes_what_the_receiver_still_has():
    pair, session = begun()
    theirs = {b"half": received(0, 1), b"done": Accepted(), b"gone": None}
    ours = {b"half": None, b"done": None, b"gone": received(1, 0), b"new": None}
    link, _ = resumed(pair, session, _spec.SENDER, ours, theirs)
    todo = resumption.resolve(ours, link.attach.unsettled)
    assert [action.kind for action in todo.values()] == [
        ActionKind.RESUME,
        ActionKind.SETTLE,
        ActionKind.ABORT_AND_RESEND,
        ActionKind.RESEND,
    ]
    link.send_delivery(b"half", b"", b"whole", settled=False, resume=True)
    link.send_delivery(b"done", b"", b"", settled=True, state=todo[b"done"].state, resume=True)
    link.send_abort(b"gone")
    link.send_delivery(b"new", b"", b"text", settled=False)
    pair.step()
    assert link.credit == 16
    assert len(session.sending.unsettled) == 2
    found = [e for e in pair.at_server if not isinstance(e, events.FlowReceived)]
    half, done, gone, new = found
    assert (half.tag, half.resume, half.settled, half.payload) == (b"half", True, False, b"whole")
    assert (done.tag, done.resume, done.settled, done.payload) == (b"done", True, True, b"")
    assert done.state == Accepted()
    assert isinstance(gone, events.DeliveryAborted)
    assert gone.tag == b"gone"
    assert (new.tag, new.resume, new.payload) == (b"new", False, b"text")
    assert not [e for e in pair.at_client if not isinstance(e, events.FlowReceived)]


@rule("1.0", "2.6.13", "unknown-to-the-source-is-settled")
@rule("1.0", "2.6.13", "resumed-and-unknown-is-ignored")
def test_a_receiver_of_ours_takes_up_what_it_had_attached_with_and_ignores_the_rest():
    pair, session = begun()
    ours = {b"kept": received(1, 0), b"aborted": received(1, 0), b"settled": Accepted()}
    _, sender = resumed(pair, session, _spec.RECEIVER, ours, {b"kept": None, b"aborted": None})
    assert resumption.settled_by_sender(ours, {b"kept": None, b"aborted": None}) == [b"settled"]
    sender.send_delivery(b"unknown", b"", b"x", settled=False, resume=True)
    sender.send_delivery(b"kept", b"", b"x", settled=False, resume=True)
    sender.send_delivery(b"kept", b"", b"x", settled=False, resume=True)
    sender.send_abort(b"aborted")
    sender.send_abort(b"unknown")
    pair.step()
    kept, *nothing = [event for event in pair.at_client if event.tag != b"unknown"]
    again, aborted = nothing
    assert all(isinstance(event, events.DeliveryAborted) for event in nothing)
    assert again.tag == b"kept"  # it has been taken up
    assert (kept.tag, kept.resume) == (b"kept", True)
    session.settle_incoming(kept.delivery_id, Accepted())
    assert aborted.tag == b"aborted"


def test_a_resumed_delivery_may_be_larger_than_a_frame():
    pair, session = begun()
    link, _ = resumed(pair, session, _spec.SENDER, {b"1": None}, {b"1": received(0, 7)})
    body = bytes(200_000)
    link.send_delivery(b"1", b"", body, settled=False, state=received(0, 0), resume=True)
    pair.step()
    came = pair.take("server", events.DeliveryReceived)
    assert (came.resume, came.state, came.payload) == (True, received(0, 0), body)


def test_a_large_resumed_delivery_that_is_unknown_is_ignored():
    pair, session = begun()
    link, _ = resumed(pair, session, _spec.SENDER, {b"1": None}, {})
    link.send_delivery(b"1", b"", bytes(200_000), settled=False, resume=True)
    pair.step()
    assert pair.kinds("server") == ["DeliveryAborted"]


@rule("1.0", "2.7.3", "incomplete-unsettled-forbids-new-deliveries")
@pytest.mark.parametrize("whose", ["ours_incomplete", "theirs_incomplete"])
def test_with_an_incomplete_map_nothing_new_is_sent(whose):
    pair, session = begun()
    flags = {whose: True}
    link, _ = resumed(pair, session, _spec.SENDER, {b"1": None}, {b"1": None}, **flags)
    assert link.resume_only
    with pytest.raises(LocalProtocolError):
        link.send_delivery(b"2", b"", b"x", settled=False)
    link.send_delivery(b"1", b"", b"x", settled=False, resume=True)
    pair.step()
    assert pair.take("server", events.DeliveryReceived).resume


@rule("1.0", "2.7.3", "incomplete-unsettled-forbids-new-deliveries")
def test_a_receiver_with_an_incomplete_map_refuses_what_is_new():
    pair, session = begun()
    maps = {b"1": received(1, 0)}, {b"1": None}
    _, sender = resumed(pair, session, _spec.RECEIVER, *maps, ours_incomplete=True)
    # The other side attached completely, and is made to forget that ours was not.
    sender.attach.incomplete_unsettled = None
    sender.send_delivery(b"2", b"", b"x", settled=False)
    pair.step()
    assert pair.take("client", events.LinkViolation).error.condition == "amqp:not-allowed"


def test_a_link_that_is_suspended_can_be_resumed_on_the_same_session():
    pair, session = begun()
    link, theirs = pair.attach(session, _spec.SENDER)
    theirs.send_flow(credit=1)
    pair.step()
    delivery = link.send_delivery(b"t", b"", b"x", settled=False)
    pair.step()
    pair.take("server", events.DeliveryReceived)
    theirs.send_detach(closed=False)
    pair.step()
    detached = pair.take("client", events.DetachReceived)
    assert not detached.detach.closed
    assert list(session.sending.unsettled.values()) == [delivery]
    link.send_detach(closed=False)
    pair.step()
    assert not session.sending.unsettled
    pair.at_client.clear()
    pair.at_server.clear()
    again, _ = resumed(pair, session, _spec.SENDER, {b"t": None}, {b"t": Accepted()})
    assert again.attached
