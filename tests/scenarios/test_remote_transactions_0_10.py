"""tx over 0-10 whose queues are at an upstream."""

import pytest
from support.remotes import FakeBranch, FakeRemote, FakeRules
from support.talk_0_10 import Client, Gateway
from support.transactions_0_10 import (
    COMMITTED,
    IN_DOUBT,
    ROLLED_BACK,
    accept,
    check,
    ended,
    selected,
)

from gateway.amqp_0_10 import _spec as spec
from gateway.audit.schema import Kind
from gateway.bridge.limits import BridgeLimits
from gateway.bridge.remote.remote import Placement
from gateway.message import ACCEPTED, REJECTED, Condition, Outcome, OutcomeKind, Refusal


def away(limits: BridgeLimits | None = None) -> tuple[Gateway, FakeRemote, Client]:
    """A gateway with the remote queue ``r``, and a client in a transaction."""
    rules = FakeRules()
    remote = rules.add("r")
    gateway = Gateway(rules=rules, bridge_limits=limits)
    gateway.world.queue()
    return gateway, remote, selected(gateway)


def begun(remote: FakeRemote) -> FakeBranch:
    """The transaction that the upstream was asked for last, which begins."""
    branch = remote.branches[-1]
    branch.work.on_begun()
    return branch


def presumes(
    gateway: Gateway, remote: FakeRemote, branch: FakeBranch, *outcomes: Outcome
) -> list[bytes]:
    """The upstream tells presumptive outcomes of what it is sent; the bodies of that."""
    gateway.world.turn()
    bodies = []
    for delivery, outcome in zip(remote.relays["r"].take(), outcomes, strict=True):
        bodies.append(delivery.message.body())
        branch.work.on_presumed(delivery, outcome)
    return bodies


def test_transfers_are_sent_at_once_and_done_when_their_outcome_is_presumed() -> None:
    gateway, remote, client = away()
    assert remote.branches == []
    client.publishes(b"1", key="r")
    assert client.hears() == []
    branch = begun(remote)
    assert presumes(gateway, remote, branch, ACCEPTED) == [b"1"]
    assert client.hears() == ["completed 1-1"]
    client.publishes(b"2", key="r")
    assert client.hears() == []
    assert presumes(gateway, remote, branch, ACCEPTED) == [b"2"]
    assert client.hears() == ["completed 2-2"]
    assert not client.face.drained()
    assert client.does(spec.TxCommit()) == []
    assert (len(remote.branches), branch.discharged) == (1, [False])
    branch.work.on_discharged(None)
    assert client.hears() == ["completed 3-3"]
    assert ended(gateway) == [(COMMITTED, 1)]
    check(gateway)


@pytest.mark.parametrize("asked", [True, False], ids=["commit before", "commit after"])
def test_a_queue_that_is_deleted_before_the_upstream_begins_fails_the_commit(asked: bool) -> None:
    gateway, remote, client = away()
    client.publishes(b"1", key="r")
    if asked:
        client.says(spec.TxCommit())
    client.hears()
    assert gateway.world.host.declaring.delete_queue("r") is None
    branch = begun(remote)
    if not asked:
        client.says(spec.TxCommit())
    heard = client.hears()
    assert branch.discharged == [True]
    branch.work.on_discharged(None)
    assert (408, 2) in heard + client.hears()
    assert ended(gateway) == [(ROLLED_BACK, 1)]
    check(gateway)


def test_what_is_sent_in_a_transaction_does_not_go_to_the_alternate_of_a_deleted_queue() -> None:
    gateway, remote, client = away()
    gateway.world.host.bindings.bind("q", "amq.fanout", "", {}, b"")
    client.does(spec.QueueDeclare(queue="r", alternate_exchange="amq.fanout"))
    client.publishes(b"1", key="r")
    client.hears()
    branch = begun(remote)
    assert gateway.world.host.declaring.delete_queue("r") is None
    gateway.world.turn()
    assert gateway.world.depth() == 0
    client.says(spec.TxCommit())
    heard = client.hears()
    assert branch.discharged == [True]
    branch.work.on_discharged(None)
    assert (408, 3) in heard + client.hears()
    check(gateway)


def test_a_commit_waits_for_the_upstream_and_what_follows_waits_for_it() -> None:
    gateway, remote, client = away()
    client.publishes(b"1", key="r")
    client.says(spec.TxCommit())
    client.publishes(b"2", key="q")
    client.says(spec.TxCommit())
    assert client.hears() == []
    branch = begun(remote)
    presumes(gateway, remote, branch, ACCEPTED)
    assert branch.discharged == [False]
    assert client.hears() == ["completed 1-1"]
    assert not client.face.drained()
    branch.work.on_discharged(None)
    assert client.hears() == ["completed 2-3", "completed 4-4"]
    assert gateway.world.depth() == 1
    assert [outcome for outcome, _ in ended(gateway)] == [COMMITTED, COMMITTED]
    check(gateway)


def test_a_commit_that_fails_there_is_an_exception_and_accepts_go_back() -> None:
    gateway, remote, client = away()
    client.subscribes("r")
    client.hears()
    inlet, source = remote.inlets[-1]
    inlet.on_attached()
    inlet.receive(gateway.world.message(b"x", key="r"), 5)
    assert client.gets() == [b"x"]
    client.says(accept((0, 0)))
    client.hears()
    assert remote.branches == []
    client.says(spec.TxCommit())
    client.hears()
    branch = begun(remote)
    assert (branch.retired, branch.discharged) == ([5], [False])
    branch.work.on_lost(Refusal(Condition.INTERNAL_ERROR, "gone"))
    assert client.hears()[-2:] == [(541, 5), "ended 0"]
    assert [(token, outcome.kind) for token, outcome in source.published] == [
        (5, OutcomeKind.MODIFIED)
    ]
    assert [outcome for outcome, _ in ended(gateway)] == [IN_DOUBT]
    check(gateway)


def test_what_is_published_after_the_loss_falls_with_the_rest_and_the_commit_says_so() -> None:
    gateway, remote, client = away()
    client.publishes(b"1", key="r")
    assert client.hears() == []
    branch = begun(remote)
    presumes(gateway, remote, branch, ACCEPTED)
    branch.work.on_lost(Refusal(Condition.INTERNAL_ERROR, "gone"))
    client.publishes(b"2", key="r")
    assert client.hears() == ["completed 1-2"]
    assert presumes(gateway, remote, branch) == []
    assert len(remote.branches) == 1
    assert client.does(spec.TxCommit()) == [(541, 3), "ended 0"]
    assert ended(gateway) == [(ROLLED_BACK, 1)]
    assert check(gateway).kinds[Kind.ROLLED_BACK] == 1


def test_after_a_loss_a_rollback_is_all_that_is_needed() -> None:
    gateway, remote, client = away()
    client.publishes(b"1", key="r")
    assert client.hears() == []
    first = begun(remote)
    first.work.on_lost(Refusal(Condition.INTERNAL_ERROR, "gone"))
    client.says(spec.TxRollback())
    client.publishes(b"2", key="r")
    client.says(spec.TxCommit())
    client.hears()
    second = begun(remote)
    assert second is not first
    assert presumes(gateway, remote, second, ACCEPTED) == [b"2"]
    second.work.on_discharged(None)
    assert client.hears() == ["completed 3-4"]
    assert ended(gateway) == [(ROLLED_BACK, 1), (COMMITTED, 2)]
    check(gateway)


def test_a_rollback_is_done_at_once_and_the_next_transaction_begins() -> None:
    gateway, remote, client = away()
    client.publishes(b"1", key="r")
    assert client.hears() == []
    first = begun(remote)
    presumes(gateway, remote, first, ACCEPTED)
    client.says(spec.TxRollback())
    client.publishes(b"2", key="r")
    assert client.hears() == ["completed 1-2"]
    assert first.discharged == [True]
    second = begun(remote)
    assert presumes(gateway, remote, second, ACCEPTED) == [b"2"]
    first.work.on_discharged(None)
    client.loses_transport()
    assert second.discharged == [True]
    second.work.on_discharged(None)
    gateway.world.turn()
    assert ended(gateway) == [(ROLLED_BACK, 1), (ROLLED_BACK, 2)]
    check(gateway)


def test_what_is_being_rolled_back_already_is_discharged_once() -> None:
    gateway, remote, client = away()
    client.publishes(b"1", key="r")
    assert client.hears() == []
    branch = begun(remote)
    presumes(gateway, remote, branch, REJECTED)
    assert branch.discharged == [True]
    assert client.does(spec.TxRollback()) == ["completed 1-2"]
    assert branch.discharged == [True]
    branch.work.on_discharged(None)
    gateway.world.turn()
    assert ended(gateway) == [(ROLLED_BACK, 1)]
    check(gateway)


@pytest.mark.parametrize("leaves", [False, True])
def test_a_transaction_that_has_not_begun_is_given_up(leaves: bool) -> None:
    gateway, remote, client = away()
    client.publishes(b"1", key="r")
    client.hears()
    if leaves:
        client.loses_transport()
    else:
        assert client.does(spec.TxRollback()) == ["completed 1-2"]
    [branch] = remote.branches
    assert branch.given_up
    assert ended(gateway) == [(ROLLED_BACK, 1)]
    assert check(gateway).kinds[Kind.ROLLED_BACK] == 1


def test_who_asked_for_outcomes_hears_of_a_rejection_and_everybody_of_it_at_the_commit() -> None:
    gateway, remote, client = away()
    client.publishes(b"1", key="r", explicit=True)
    client.publishes(b"2", key="r")
    assert client.hears() == []
    branch = begun(remote)
    no = Outcome(OutcomeKind.REJECTED, condition=Condition.NOT_ALLOWED, description="no")
    presumes(gateway, remote, branch, no, no)
    heard = client.hears()
    assert [each for each in heard if isinstance(each, spec.MessageReject)] != []
    assert heard[-1] == "completed 1-2"
    assert branch.discharged == [True]
    assert client.does(spec.TxCommit()) == [(530, 3), "ended 0"]
    branch.work.on_discharged(None)
    gateway.world.turn()
    assert ended(gateway) == [(ROLLED_BACK, 1)]
    check(gateway)


def test_what_was_presumed_is_held_without_its_octets() -> None:
    limits = BridgeLimits(transaction_octets_max=10 * 256)
    gateway, remote, client = away(limits)
    branch = None
    for _ in range(10):
        client.publishes(bytes(1000), key="r")
        client.hears()
        branch = branch or begun(remote)
        presumes(gateway, remote, branch, ACCEPTED)
    pressure = gateway.world.bridge.pressure
    assert (pressure.payload, pressure.messages) == (0, 10)
    client.publishes(b"one too many", key="r")
    assert client.hears()[-2:] == [(506, 11), "ended 0"]
    assert branch is not None
    assert branch.discharged == [True]
    branch.work.on_discharged(None)
    gateway.world.turn()
    assert gateway.world.bridge.pressure.messages == 0
    check(gateway)


def test_a_client_that_leaves_during_a_commit_has_committed() -> None:
    gateway, remote, client = away()
    client.publishes(b"1", key="r")
    client.says(spec.TxCommit())
    client.hears()
    client.loses_transport()
    branch = begun(remote)
    presumes(gateway, remote, branch, ACCEPTED)
    branch.work.on_discharged(None)
    check(gateway)
    assert [outcome for outcome, _ in ended(gateway)] == [COMMITTED]


def test_a_queue_that_has_moved_before_the_transaction_began_fails_it() -> None:
    gateway, remote, client = away()
    client.publishes(b"1", key="r")
    client.says(spec.TxCommit())
    client.hears()
    queue = gateway.world.host.topology.find_queue("r")
    assert queue is not None
    queue.placement = Placement(FakeRemote("other"))
    branch = begun(remote)
    assert branch.discharged == [True]
    branch.work.on_discharged(None)
    assert client.hears()[-2:] == [(541, 2), "ended 0"]
    assert [outcome for outcome, _ in ended(gateway)] == [ROLLED_BACK]
    check(gateway)


def test_a_second_resource_is_not_offered() -> None:
    gateway, _, client = away()
    client.publishes(b"1", key="r")
    client.publishes(b"2", key="q")
    assert client.hears()[-2:] == [(540, 2), "ended 0"]
    check(gateway)


def test_accepts_of_another_resource_are_not_offered() -> None:
    gateway, _, client = away()
    gateway.world.send(b"1")
    client.subscribes("q")
    client.gets()
    client.publishes(b"1", key="r")
    assert client.does(accept((0, 0)))[-2:] == [(540, 5), "ended 0"]
    assert gateway.world.depth() == 1
    check(gateway)
