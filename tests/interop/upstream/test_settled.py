"""Subscriptions without acceptance, where a rule has the broker settle what it sends."""

import time

from interop.upstream.behind import PATIENCE_S, Behind
from interop.upstream.conftest import Cell
from interop.upstream.talk import ACQUIRED, NONE, Talk

from gateway.amqp_0_10 import _spec as spec

TOLD = 'gateway_upstream_outcomes_total{direction="received",outcome="accepted",upstream="main"}'
WAITING = 'gateway_upstream_waiting_messages{direction="received",upstream="main"}'
BACK = (  # as a message, or as a delivery that the broker did not settle
    'gateway_upstream_outcomes_total{direction="sent",outcome="accepted",upstream="main"}',
    'gateway_upstream_outcomes_total{direction="received",outcome="released",upstream="main"}',
)
CAME = 'gateway_upstream_messages_total{direction="received",upstream="main"}'
COUNT = 200
# What a broker has taken out of its queue for a link and not written, goes with the link: at most
# once. The gateway has no more than this in the air.
CREDIT = 50
MANY, LARGE = 40, 300_000
UNLIMITED = 0xFFFFFFFF


def _told(behind: Behind) -> float:
    return behind.gateway.metrics()[TOLD]


class Passing:
    """What comes from the broker, and what it is given, from now on."""

    def __init__(self, behind: Behind) -> None:
        self._behind = behind
        self._back, self._came = self._counts()

    def goes_back_but_for(self, kept: int) -> bool:
        """Whether all that came is soon back at the broker, but for so many messages."""
        deadline = time.monotonic() + PATIENCE_S
        while time.monotonic() < deadline:
            back, came = self._counts()
            if back - self._back == came - self._came - kept:
                return True
        return False

    def _counts(self) -> tuple[float, float]:
        found = self._behind.gateway.metrics()
        return sum(found[each] for each in BACK), found[CAME]


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
    passing = Passing(behind)
    reader = behind.talk()
    reader.subscribes(queue, accept=NONE, credit=COUNT)
    got = reader.gets(5)
    reader.does(spec.MessageCancel(destination="d"))  # with more of them on their way
    got += reader.gets(reader.waiting())
    assert passing.goes_back_but_for(len(got))
    reader.subscribes(queue, accept=NONE, credit=COUNT)
    while not behind.empties(queue, reader):  # how many are left, Broker-J says before it forgets
        got += reader.gets(reader.waiting())
    bodies = [each.body for each in got]
    assert len(set(bodies)) == len(bodies) >= COUNT - CREDIT


def test_what_waits_for_a_slow_client_goes_back_when_that_leaves(
    behind: Behind, talk: Talk
) -> None:
    queue = behind.queue("settled")
    talk.puts(queue, *[bytes(LARGE)] * MANY)
    passing = Passing(behind)
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
    assert passing.goes_back_but_for(len(got))
