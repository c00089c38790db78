"""The credit of 0-10 subscriptions to queues that live at a broker."""

from interop.upstream.behind import Behind
from interop.upstream.conftest import Cell
from interop.upstream.talk import UNLIMITED, Talk

from gateway.amqp_0_10 import _spec as spec

BODY = b"0123456789"


def _bodies(count: int) -> list[bytes]:
    return [b"%010d" % number for number in range(count)]


def test_credit_is_spent_for_good_in_credit_mode(behind: Behind, talk: Talk, cell: Cell) -> None:
    queue = behind.queue()
    talk.puts(queue, *_bodies(6))
    talk.subscribes(queue, credit=2)
    got = talk.gets(2)
    talk.accepts(*got)
    assert talk.quiet()
    talk.flows(3)
    more = talk.gets(3)
    talk.accepts(*more)
    assert talk.quiet()
    assert [each.body for each in got + more] == _bodies(5)
    assert behind.comes_to(1, queue)
    cell("credit-mode", "yes")


def test_a_window_is_renewed_by_completion_alone(behind: Behind, talk: Talk, cell: Cell) -> None:
    queue = behind.queue()
    talk.puts(queue, *_bodies(6))
    talk.subscribes(queue, credit=2, window=True)
    got = talk.gets(2)
    talk.does(spec.MessageAccept(transfers=got[0].ids))
    assert talk.quiet()
    talk.takes(*got)
    more = talk.gets(2)
    assert talk.quiet()
    talk.does(spec.MessageAccept(transfers=got[1].ids))
    talk.accepts(*more)
    rest = talk.gets(2)
    talk.accepts(*rest)
    assert [each.body for each in got + more + rest] == _bodies(6)
    cell("window-mode", "yes")


def test_octets_are_credit_too(behind: Behind, talk: Talk, cell: Cell) -> None:
    queue = behind.queue()
    talk.puts(queue, *_bodies(4))
    probe = behind.talk()
    probe.subscribes(queue, credit=1)
    first = probe.get()
    probe.accepts(first)
    talk.subscribes(queue, octets=1)
    assert talk.quiet()
    talk.flows(1000, unit=spec.CreditUnit.BYTE)
    assert talk.gets(3)[-1].body == _bodies(4)[-1]
    cell("byte-credit", "yes")


def test_a_large_message_waits_for_octets_of_its_own(
    behind: Behind, talk: Talk, cell: Cell
) -> None:
    queue = behind.queue()
    talk.puts(queue, bytes(5000), b"small")
    talk.subscribes(queue, octets=1000)
    assert talk.quiet()
    talk.flows(20_000, unit=spec.CreditUnit.BYTE)
    assert [len(each.body) for each in talk.gets(2)] == [5000, 5]
    cell("byte-credit-large", "yes")


def test_a_flush_gives_what_is_there_and_ends_the_credit(
    behind: Behind, talk: Talk, cell: Cell
) -> None:
    queue = behind.queue()
    talk.puts(queue, *_bodies(3))
    talk.subscribes(queue, credit=10)
    flush = talk.says(spec.MessageFlush(destination="d"))
    talk.completes(flush)
    assert talk.waiting() == 3  # completed only when they had come
    talk.accepts(*talk.gets(3))
    talk.puts(queue, b"later")
    assert talk.quiet()
    talk.flows(UNLIMITED, unit=spec.CreditUnit.BYTE)
    talk.flows(1)
    late = talk.get()
    talk.accepts(late)
    assert late.body == b"later"
    cell("flush", "yes")


def test_a_flush_of_an_empty_queue_completes(behind: Behind, talk: Talk, cell: Cell) -> None:
    queue = behind.queue()
    talk.subscribes(queue, credit=10)
    talk.does(spec.MessageFlush(destination="d"))
    assert talk.waiting() == 0
    cell("flush-empty", "yes")


def test_after_a_stop_nothing_comes_until_there_is_credit_again(
    behind: Behind, talk: Talk, cell: Cell
) -> None:
    queue = behind.queue()
    talk.subscribes(queue, credit=10)
    talk.puts(queue, b"1")
    first = talk.get()
    talk.does(spec.MessageStop(destination="d"))
    talk.puts(queue, b"2")
    assert talk.quiet()
    talk.accepts(first)
    talk.flows(UNLIMITED, unit=spec.CreditUnit.BYTE)
    talk.flows(1)
    second = talk.get()
    talk.accepts(second)
    assert second.body == b"2"
    assert behind.comes_to(0, queue)
    cell("stop", "yes")


def test_what_was_fetched_and_not_sent_goes_back_at_a_cancel(
    behind: Behind, talk: Talk, cell: Cell
) -> None:
    queue = behind.queue()
    talk.puts(queue, bytes(5000), b"small")
    blocked = behind.talk()
    blocked.subscribes(queue, octets=1000)
    assert blocked.quiet()
    blocked.does(spec.MessageCancel(destination="d"))
    talk.subscribes(queue)
    got = talk.gets(2)
    talk.accepts(*got)
    assert [len(each.body) for each in got] == [5000, 5]
    marked = any(each.delivery.redelivered for each in got)
    cell("fetched-goes-back", "marked redelivered" if marked else "yes")
