"""Transactions of 0-10 sessions on queues that live at a broker: its coordinator's, or refused."""

from interop.upstream.behind import Behind
from interop.upstream.conftest import Cell
from interop.upstream.talk import RefusedError, Talk

from gateway.amqp_0_10 import _spec as spec


def test_what_is_published_in_a_transaction_is_there_after_its_commit_alone(
    behind: Behind, talk: Talk, cell: Cell
) -> None:
    queue = behind.queue()
    outcome = "yes"
    talk.does(spec.TxSelect())
    try:
        talk.puts(queue, b"1", b"2")
        talk.does(spec.TxRollback())
        assert behind.depth(queue) == 0
        talk.puts(queue, b"3", b"4")
        talk.does(spec.TxCommit())
    except RefusedError as error:
        outcome = str(error.code)
    reader = behind.talk()
    reader.subscribes(queue)
    if outcome == "yes":
        got = reader.gets(2)
        reader.accepts(*got)
        assert [each.body for each in got] == [b"3", b"4"]
    assert reader.quiet()
    cell("tx-publish", outcome)


def test_what_is_accepted_in_a_transaction_is_gone_after_its_commit_alone(
    behind: Behind, talk: Talk, cell: Cell
) -> None:
    queue = behind.queue()
    behind.talk().puts(queue, b"1", b"2")
    outcome = "yes"
    talk.does(spec.TxSelect())
    talk.subscribes(queue)
    got = talk.gets(2)
    try:
        talk.accepts(*got)
        talk.does(spec.TxRollback())
        assert behind.depth(queue) == 2
        talk.does(*[spec.MessageAccept(transfers=each.ids) for each in got])
        talk.does(spec.TxCommit())
        assert behind.comes_to(0, queue)
    except RefusedError as error:
        outcome = str(error.code)
        assert behind.comes_to(2, queue)
    cell("tx-accept", outcome)


def test_an_uncommitted_transaction_ends_with_its_session(
    behind: Behind, talk: Talk, cell: Cell
) -> None:
    queue = behind.queue()
    behind.talk().puts(queue, b"kept")
    talk.does(spec.TxSelect())
    talk.subscribes(queue)
    outcome = "yes"
    try:
        talk.accepts(talk.get())
        talk.puts(queue, b"never")
    except RefusedError as error:
        outcome = str(error.code)
    talk.detach()
    reader = behind.talk()
    reader.subscribes(queue)
    got = reader.get()
    reader.accepts(got)
    assert got.body == b"kept"
    assert reader.quiet()
    cell("tx-session-end", outcome)
