"""What commits of 0-10 clients do at a broker with transactions, and what its loss does to them."""

import pytest
from interop.upstream.behind import Behind
from interop.upstream.talk import RefusedError, Talk

from gateway.amqp_0_10 import _spec as spec

WITH = ("artemis", "activemq", "broker_j")
pytestmark = pytest.mark.parametrize("upstream_broker", WITH, indirect=True, scope="session")


@pytest.fixture
def session(talk: Talk) -> Talk:
    """A session that has selected transactions."""
    talk.does(spec.TxSelect())
    return talk


def ended(behind: Behind, outcome: str) -> float:
    return behind.gateway.metrics()[f'gateway_transactions_total{{outcome="{outcome}"}}']


def test_what_is_committed_is_at_the_broker_and_what_is_rolled_back_is_not(
    behind: Behind, session: Talk
) -> None:
    queue = behind.queue()
    session.puts(queue, b"never")
    session.does(spec.TxRollback())
    session.puts(queue, b"1", b"2")
    assert behind.depth(queue) == 0
    before = ended(behind, "committed")
    session.does(spec.TxCommit())
    assert behind.depth(queue) == 2
    assert ended(behind, "committed") == before + 1
    other = behind.talk()
    other.subscribes(queue)
    got = other.gets(2)
    other.accepts(*got)
    assert [each.body for each in got] == [b"1", b"2"]


def test_accepts_and_publishes_are_committed_together(behind: Behind, session: Talk) -> None:
    source, target = behind.queue(), behind.queue()
    behind.talk().puts(source, b"a", b"b", b"c")
    session.subscribes(source)
    got = session.gets(3)
    session.accepts(got[0], got[1])
    session.puts(target, b"made of them")
    assert behind.depth(source) == 3
    session.does(spec.TxCommit())
    assert behind.comes_to(1, source)
    assert behind.depth(target) == 1


def test_what_is_rolled_back_stays_with_the_client_and_goes_back_when_it_leaves(
    behind: Behind, session: Talk
) -> None:
    queue = behind.queue()
    behind.talk().puts(queue, b"a", b"b")
    session.subscribes(queue)
    first, second = session.gets(2)
    session.accepts(first, second)
    session.does(spec.TxRollback())
    assert session.quiet()
    session.accepts(first)
    session.does(spec.TxCommit())
    session.detach()
    assert behind.comes_to(1, queue)
    other = behind.talk()
    other.subscribes(queue)
    got = other.get()
    other.accepts(got)
    assert (got.body, got.delivery.redelivered) == (b"b", True)


def test_a_hundred_messages_in_a_row_of_transactions_stay_in_order(
    behind: Behind, session: Talk
) -> None:
    queue = behind.queue()
    bodies = [b"%d" % number for number in range(100)]
    for at in range(0, 100, 10):
        session.puts(queue, *bodies[at : at + 10])
        session.does(spec.TxCommit())
    other = behind.talk()
    other.subscribes(queue)
    got = other.gets(100)
    other.accepts(*got)
    assert [each.body for each in got] == bodies


def test_a_commit_to_a_queue_that_is_full_before_its_end_is_kept_whole_or_not_at_all(
    behind: Behind, session: Talk
) -> None:
    queue = behind.limited_queue()
    for number in range(20):
        session.puts(queue, b"%d" % number)
    kept = 20
    try:
        session.does(spec.TxCommit())
    except RefusedError:
        kept = 0
    if behind.name == "artemis":
        assert kept == 0
    assert behind.comes_to(kept, queue)


def test_what_is_published_around_a_broker_s_death_is_rolled_back_as_one(
    behind: Behind, session: Talk
) -> None:
    queue = behind.queue()
    session.puts(queue, b"before")
    before = ended(behind, "rolled_back")
    behind.broker.kill()
    session.puts(queue, b"meanwhile")
    behind.broker.start()
    session.puts(queue, b"after")
    with pytest.raises(RefusedError) as refused:
        session.does(spec.TxCommit())
    assert refused.value.code == spec.ErrorCode.INTERNAL_ERROR
    assert ended(behind, "rolled_back") == before + 1
    again = behind.talk()
    again.does(spec.TxSelect())
    again.puts(queue, b"whole")
    again.does(spec.TxCommit())
    assert behind.comes_to(1, queue)


def test_a_broker_that_dies_rolls_the_transaction_back(behind: Behind, session: Talk) -> None:
    queue = behind.queue()
    behind.talk().puts(queue, b"a")
    session.subscribes(queue)
    session.accepts(session.get())
    behind.broker.kill()
    behind.broker.start()
    with pytest.raises(RefusedError) as refused:
        session.does(spec.TxCommit())
    assert refused.value.code == spec.ErrorCode.INTERNAL_ERROR
    assert behind.comes_to(1, queue)
