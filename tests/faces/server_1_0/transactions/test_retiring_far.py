"""What is retired at an upstream is so when the upstream says so."""

import pytest
from support.controller_1_0 import ACCEPTED, Controller, error_of

from gateway.amqp_1_0 import _spec, events
from gateway.amqp_1_0._spec import Modified, Released
from gateway.message import Condition, OutcomeKind, Refusal

ROLLBACK = "amqp:transaction:rollback"
REFUSED = Refusal(Condition.INTERNAL_ERROR, "it burns")


def retired_far(at, outcome=ACCEPTED, *, settled=False):
    """A delivery of the upstream, in a transaction of which the commit is asked for."""
    session = at.session
    receiver = session.attach("far", _spec.RECEIVER)
    receiver.send_attach(source=_spec.Source(address="r"), target=_spec.Target(address="here"))
    at.client.step()
    at.brings()
    at.client.take(events.AttachReceived)
    receiver.send_flow(credit=10)
    at.client.step()
    at.brings(b"1")
    (event,) = at.gets(receiver)
    txn_id = at.declares()
    at.retires(event, txn_id, outcome, settled=settled)
    assert at.remote.branches == []
    assert at.commits(txn_id) is None
    branch = at.begins()
    assert branch.retired == [0]
    assert branch.discharged == [False]
    return receiver, event, branch


@pytest.mark.parametrize("outcome", [ACCEPTED, Released(), Modified(delivery_failed=True)])
def test_what_is_retired_at_an_upstream_is_so_when_it_says_so(outcome):
    at = Controller()
    _, _, branch = retired_far(at, outcome)
    assert at.settlements() == []
    branch.work.on_discharged(None)
    at.hub.step()
    assert (at.told(), at.settlements()) == ([ACCEPTED], [outcome])
    ((_, told),) = at.remote.inlets[-1][1].published
    assert told.kind != OutcomeKind.REJECTED
    at.end()


@pytest.mark.parametrize("settled", [False, True])
def test_what_an_upstream_does_not_commit_is_as_it_was(settled):
    at = Controller()
    _, event, branch = retired_far(at, settled=settled)
    branch.work.on_discharged(REFUSED)
    at.hub.step()
    (state,) = at.told()
    assert error_of(state) == ROLLBACK
    published = at.remote.inlets[-1][1].published
    assert [outcome.kind for _, outcome in published] == ([OutcomeKind.MODIFIED] if settled else [])
    if not settled:
        at.settles(event)
        assert [outcome.kind for _, outcome in published] == [OutcomeKind.ACCEPTED]
    at.end()


def test_a_link_that_goes_while_the_commit_is_under_way_takes_nothing_with_it():
    at = Controller()
    receiver, _, branch = retired_far(at)
    receiver.send_detach()
    at.client.step()
    published = at.remote.inlets[-1][1].published
    assert published == []
    branch.work.on_discharged(None)
    at.hub.step()
    assert [outcome.kind for _, outcome in published] == [OutcomeKind.ACCEPTED]
    assert at.client.face.transactions.kept == 0
    at.end()


def test_an_outcome_comes_too_late_while_the_commit_is_under_way():
    at = Controller()
    _, event, branch = retired_far(at)
    at.settles(event, Released())
    branch.work.on_discharged(None)
    at.hub.step()
    published = at.remote.inlets[-1][1].published
    assert [outcome.kind for _, outcome in published] == [OutcomeKind.ACCEPTED]
    at.end()
