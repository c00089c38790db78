"""Subscriptions without acceptance, where a rule has the broker settle what it sends."""

import time

from interop.upstream.behind import PATIENCE_S, Behind
from interop.upstream.conftest import Cell
from interop.upstream.talk import ACQUIRED, NONE, Talk

from gateway.amqp_0_10 import _spec as spec

TOLD = 'gateway_upstream_outcomes_total{direction="received",outcome="accepted",upstream="main"}'
WAITING = 'gateway_upstream_waiting_messages{direction="received",upstream="main"}'
COUNT = 200
MANY, LARGE = 40, 300_000
UNLIMITED = 0xFFFFFFFF


def _told(behind: Behind) -> float:
    return behind.gateway.metrics()[TOLD]


def test_the_broker_settles_what_it_sends(behind: Behind, talk: Talk, cell: Cell) -> None:
    queue = behind.queue("settled")
    bodies = [b"%d" % number for number in range(COUNT)]
    talk.puts(queue, *bodies)
    before = _told(behind)
    reader = behind.talk()
    reader.subscribes(queue, accept=NONE, credit=COUNT)
    got = reader.gets(COUNT)
    reader.takes(*got)
    assert [each.body for each in got] == bodies
    reader.detach()  # Broker-J forgets the last of them with their link, or with new credit
    assert behind.comes_to(0, queue)
    cell("settled", "yes" if _told(behind) == before else "no")


def test_what_was_not_sent_on_is_at_the_broker_again(behind: Behind, talk: Talk) -> None:
    queue = behind.queue("settled")
    talk.puts(queue, *[b"%d" % number for number in range(COUNT)])
    reader = behind.talk()
    reader.subscribes(queue, accept=NONE, credit=COUNT)
    got = reader.gets(5)
    reader.does(spec.MessageCancel(destination="d"))  # with more of them on their way
    got += reader.gets(reader.waiting())
    left = COUNT - len(got)
    assert behind.comes_to(left, queue), behind.depth(queue)
    reader.subscribes(queue, accept=NONE, credit=COUNT)
    got += reader.gets(left)
    assert {each.body for each in got} == {b"%d" % number for number in range(COUNT)}
    assert behind.comes_to(0, queue)


def test_what_waits_for_a_slow_client_goes_back_when_that_leaves(
    behind: Behind, talk: Talk
) -> None:
    queue = behind.queue("settled")
    talk.puts(queue, *[bytes(LARGE)] * MANY)
    reader = behind.talk()
    subscribe = spec.MessageSubscribe(
        queue=queue, destination="d", accept_mode=NONE, acquire_mode=ACQUIRED
    )
    reader.says(subscribe)
    for unit, value in ((0, MANY), (1, UNLIMITED)):
        reader.says(spec.MessageFlow(destination="d", unit=unit, value=value))
    deadline = time.monotonic() + PATIENCE_S
    while behind.gateway.metrics()[WAITING] == 0:  # until its socket is full
        assert time.monotonic() < deadline
    reader.does(spec.MessageCancel(destination="d"))
    got = reader.gets(reader.waiting())
    assert len(got) < MANY
    assert behind.comes_to(MANY - len(got), queue)
