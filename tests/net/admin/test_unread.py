"""Requests one behind the other: each is looked at when its turn comes."""

from support.admin_site import PROBE, Caller, Site, answers
from support.work import units_of

from gateway.net.admin.channel import AHEAD
from gateway.wire.work import ASKED, ASKED_OCTET, SHARE

PIPELINED = 400


def flood(made: Site, callers: int) -> list[Caller]:
    """Connections with very many requests each; none of them is looked at yet."""
    flooding = [Caller(made) for _ in range(callers)]
    for caller in flooding:
        caller.channel.dataReceived(PROBE * PIPELINED)
    return flooding


def test_requests_of_all_connections_have_one_share_of_work_a_pass() -> None:
    made = Site()
    flooding = flood(made, 10)
    asked, passes = 0, 0
    while asked < 10 * PIPELINED:
        assert units_of(made.loop.turn) <= SHARE + ASKED + ASKED_OCTET * len(PROBE)
        before, asked = asked, sum(map(answers, flooding))
        assert asked > before
        passes += 1
    assert passes >= 10 * PIPELINED * ASKED // SHARE


def test_who_asks_once_is_answered_before_those_who_ask_very_often() -> None:
    made = Site(connections_max=200)
    flooding = flood(made, 99)
    probe = Caller(made)
    probe.channel.dataReceived(PROBE)
    while not answers(probe):
        assert made.loop.turn()
    assert all(answers(each) <= 2 for each in flooding)


def test_no_request_is_looked_at_before_the_answer_to_the_one_before_has_left() -> None:
    made = Site()
    caller = Caller(made)
    caller.wire.takes = 0
    caller.say(PROBE * PIPELINED)
    assert answers(caller) == 1
    assert made.kept.held > 0
    caller.wire.clear()
    caller.channel.resumeProducing()
    made.settle()
    assert answers(caller) == 1
    caller.wire.clear()
    caller.wire.takes = 1 << 30
    caller.channel.resumeProducing()
    made.settle()
    assert answers(caller) == PIPELINED - 2
    assert made.kept.held == 0
    caller.hang_up()
    assert made.clock.getDelayedCalls() == []


def test_what_is_not_looked_at_is_on_the_account_and_little_more_is_read() -> None:
    made = Site()
    caller = Caller(made)
    caller.wire.takes = 0
    caller.say(PROBE)
    assert caller.wire.producerState == "producing"
    answered = made.kept.held
    caller.say(PROBE.ljust(AHEAD))
    assert caller.wire.producerState == "producing"
    caller.say(b"x")
    assert caller.wire.producerState == "paused"
    assert made.kept.held == answered + AHEAD + 1
    caller.hang_up()
    assert made.kept.held == 0
    assert made.clock.getDelayedCalls() == []
