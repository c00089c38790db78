"""0-10 clients subscribe to queues that live at a broker: modes, outcomes, endings."""

import itertools

import pytest
from interop.upstream.behind import Behind
from interop.upstream.conftest import Cell
from interop.upstream.talk import (
    ACQUIRED,
    BROWSE,
    EXPLICIT,
    NONE,
    RefusedError,
    Talk,
)

from gateway.amqp_0_10 import _spec as spec
from gateway.amqp_0_10._spec_constants import STR16
from gateway.amqp_0_10.types import FieldTable
from gateway.wire.tagged import Tagged

MODES = {
    "explicit-acquired": (EXPLICIT, ACQUIRED),
    "none-acquired": (NONE, ACQUIRED),
    "explicit-browse": (EXPLICIT, BROWSE),
    "none-browse": (NONE, BROWSE),
}


def _refusal(talk: Talk, queue: str, **options: object) -> str:
    """The code that a subscription is refused with; "" when it is in force."""
    try:
        talk.subscribes(queue, **options)  # type: ignore[arg-type]
    except RefusedError as error:
        return str(error.code)
    return ""


@pytest.mark.parametrize("mode", MODES)
def test_a_subscription_has_its_modes(mode: str, behind: Behind, talk: Talk, cell: Cell) -> None:
    accept, acquire = MODES[mode]
    queue = behind.queue()
    talk.puts(queue, b"1", b"2")
    reader = behind.talk()
    refused = _refusal(reader, queue, accept=accept, acquire=acquire)
    if not refused:
        got = reader.gets(2)
        assert [each.body for each in got] == [b"1", b"2"]
        if accept == EXPLICIT:
            if acquire == ACQUIRED:
                assert behind.depth(queue) == 2
            reader.accepts(*got)
        else:
            reader.takes(*got)
        assert behind.comes_to(2 if acquire == BROWSE else 0, queue)
    cell(mode, refused or "yes")


def test_what_is_released_comes_again(behind: Behind, talk: Talk, cell: Cell) -> None:
    queue = behind.queue()
    talk.puts(queue, b"x")
    talk.subscribes(queue, credit=1)
    first = talk.get()
    assert not first.delivery.redelivered
    talk.releases(first)
    talk.flows(1)
    again = talk.get()
    talk.accepts(again)
    assert again.body == b"x"
    assert behind.comes_to(0, queue)
    cell("released", "yes")


def test_what_is_released_as_redelivered_is_marked(behind: Behind, talk: Talk, cell: Cell) -> None:
    queue = behind.queue()
    talk.puts(queue, b"x")
    talk.subscribes(queue, credit=1)
    talk.releases(talk.get(), redelivered=True)
    talk.flows(1)
    again = talk.get()
    talk.accepts(again)
    cell("modified", "marked" if again.delivery.redelivered else "not marked")


def test_what_is_rejected_is_gone_from_the_queue_or_comes_again(
    behind: Behind, talk: Talk, cell: Cell
) -> None:
    queue = behind.queue()
    talk.puts(queue, b"x", b"y")
    talk.subscribes(queue)
    bad, good = talk.gets(2)
    talk.rejects(bad)
    talk.accepts(good)
    gone = behind.empties(queue, talk)
    if not gone:
        again = talk.get()
        talk.accepts(again)
        assert again.body == b"x"
    assert behind.comes_to(0, queue)
    cell("consumer-rejects", "gone" if gone else "comes again")


def test_what_is_unsettled_at_the_end_of_a_session_comes_again(
    behind: Behind, talk: Talk, cell: Cell
) -> None:
    queue = behind.queue()
    bodies = [b"%d" % number for number in range(10)]
    talk.puts(queue, *bodies)
    leaver = behind.talk()
    leaver.subscribes(queue)
    got = leaver.gets(10)
    leaver.accepts(got[0])
    leaver.detach()
    talk.subscribes(queue)
    again = talk.gets(9)
    talk.accepts(*again)
    assert {each.body for each in again} == set(bodies[1:])
    assert behind.comes_to(0, queue)
    cell("session-end", "yes")


def test_a_cancel_leaves_what_is_unsettled_to_its_client(
    behind: Behind, talk: Talk, cell: Cell
) -> None:
    queue = behind.queue()
    talk.puts(queue, b"1", b"2", b"3", b"4")
    talk.subscribes(queue, credit=3)
    first, second, third = talk.gets(3)
    talk.does(spec.MessageCancel(destination="d"))
    other = behind.talk()
    other.subscribes(queue)
    [fourth] = other.gets(1)
    assert (fourth.body, other.quiet()) == (b"4", True)
    talk.accepts(first)
    talk.releases(second)
    talk.accepts(third)
    again = other.get()
    assert again.body == b"2"
    other.accepts(fourth, again)
    assert behind.comes_to(0, queue)
    cell("cancel", "yes")


def test_an_exclusive_subscription_is_alone(behind: Behind, talk: Talk, cell: Cell) -> None:
    queue = behind.queue()
    talk.subscribes(queue, exclusive=True)
    refused = _refusal(behind.talk(), queue)
    talk.puts(queue, b"x")
    talk.accepts(talk.get())
    cell("exclusive", refused)


@pytest.mark.parametrize("accept", [EXPLICIT, NONE])
def test_a_selector_is_applied_or_refused(
    accept: int, behind: Behind, talk: Talk, cell: Cell
) -> None:
    queue = behind.queue()
    for colour in ("red", "blue", "red"):
        headers: FieldTable = [("colour", Tagged(STR16, colour))]
        properties = spec.MessageProperties(application_headers=headers)
        talk.completes(talk.publishes(queue, colour.encode(), properties=properties))
    selector: FieldTable = [("x-filter-jms-selector", Tagged(STR16, "colour = 'blue'"))]
    refused = _refusal(talk, queue, arguments=selector, accept=accept)
    if not refused:
        got = talk.get()
        assert got.body == b"blue"
        assert talk.quiet()
        talk.accepts(got) if accept == EXPLICIT else talk.takes(got)
        assert behind.comes_to(2, queue)
    cell("selector", refused or "yes")


def test_two_subscribers_share_a_queue(behind: Behind, talk: Talk, cell: Cell) -> None:
    queue = behind.queue()
    one, two = behind.talk(), behind.talk()
    one.subscribes(queue, credit=5)
    two.subscribes(queue, credit=5)
    bodies = [b"%d" % number for number in range(10)]
    talk.puts(queue, *bodies)
    got = {each.body for each in itertools.chain(one.gets(5), two.gets(5))}
    assert got == set(bodies)
    cell("competing", "yes")
