"""Whether nodes are where they are to live, as an upstream answers or does not."""

from __future__ import annotations

from typing import Any

import pytest
from support.upstream_world import UpstreamWorld
from twisted.internet.task import Clock

from gateway.amqp_1_0 import _spec
from gateway.config.placement import Rules, rules_of
from gateway.config.upstreams import NodeSection
from gateway.faces.upstream_1_0.context import UpstreamContext
from gateway.faces.upstream_1_0.upstream import Upstream
from gateway.net.upstreams.inquiry import (
    AT_A_TIME,
    NO_TIME,
    NOT_CONNECTED,
    TOLD_MAX,
    Arrival,
    Inquiry,
    arrivals,
)
from gateway.net.upstreams.upstreams import PlacementsByRule
from gateway.translate.profiles.profile import Profile
from gateway.translate.profiles.templates import Template

NOT_FOUND = _spec.Error(condition="amqp:not-found", description="no such node")
LOCKED = _spec.Error(condition="amqp:resource-locked", description="it is in use")
PATIENCE_MS = 5_000


def rules(profile: Profile, *nodes: dict[str, Any]) -> Rules:
    return rules_of([NodeSection(**node) for node in nodes], {"broker": profile})


class Asked:
    """A world with an upstream, and what is asked of it."""

    def __init__(self, *names: str, kind: str = "queue", profile: Profile | None = None) -> None:
        self.profile = profile or Profile(exchange=Template("{exchange}"))
        self.w = UpstreamWorld(profile=self.profile)
        self.clock = Clock()
        rule = rules(self.profile, {kind: "*", "upstream": "broker"}).rules[0]
        self.arrivals = [Arrival(rule, self.w.upstream, "default", name, name) for name in names]

    def begin(self, *, at_once: bool = True) -> Inquiry:
        self.inquiry = Inquiry(
            self.clock,
            lambda: self.w.now_ms,
            self.w.bridge,
            self.arrivals,
            at_once=at_once,
            patience_ms=PATIENCE_MS,
        )
        return self.inquiry

    def run(self) -> Inquiry:
        for _ in range(10):
            self.w.step()
            self.clock.advance(0)
        return self.inquiry


def test_what_is_there_and_what_is_not() -> None:
    asked = Asked("here", "gone", "busy")

    def prepare(broker: Any) -> None:
        broker.refusals.update({"gone": NOT_FOUND, "busy": LOCKED})

    asked.w.connect(prepare=prepare)
    inquiry = asked.begin()
    assert not inquiry.done.called
    asked.run()
    assert inquiry.done.called
    refused = "broker refuses queue 'gone' of virtual host 'default' (gone): no such node"
    assert inquiry.missing() == [("nodes.0.upstream", refused)]
    unknown = (
        "not known whether broker has queue 'busy' of virtual host 'default' (busy): it is in use"
    )
    assert inquiry.doubts() == [("nodes.0.upstream", unknown)]
    assert not asked.clock.getDelayedCalls()


def test_an_exchange_is_asked_about_by_a_sender() -> None:
    asked = Asked("news", kind="exchange")
    broker = asked.w.connect()
    asked.begin()
    asked.run()
    assert [event.attach.role for event in broker.attached] == [_spec.SENDER]
    assert asked.inquiry.missing() == asked.inquiry.doubts() == []


def test_nothing_is_asked_where_there_is_no_connection_or_no_address() -> None:
    asked = Asked("a", "b")
    asked.arrivals[1].address = ""
    inquiry = asked.begin()
    assert inquiry.done.called
    assert asked.arrivals[0].doubt == NOT_CONNECTED
    [(_key, problem)] = inquiry.missing()
    assert problem.endswith(": its profile has no address for it")


def test_a_connection_is_waited_for_where_there_is_time() -> None:
    asked = Asked("a")
    inquiry = asked.begin(at_once=False)
    asked.run()
    assert not inquiry.done.called
    asked.w.connect()
    asked.run()
    assert inquiry.done.called and asked.arrivals[0].doubt == ""


def test_an_upstream_that_does_not_answer_is_not_waited_for() -> None:
    asked = Asked("a", "b")

    def prepare(broker: Any) -> None:
        broker.answers["b"] = lambda event: None

    asked.w.connect(prepare=prepare)
    asked.begin()
    asked.run()
    assert not asked.inquiry.done.called
    asked.clock.advance(PATIENCE_MS / 1000)
    assert asked.inquiry.done.called
    assert [each.doubt for each in asked.arrivals] == ["", NO_TIME]
    asked.w.lose()  # the answer that comes too late is for nobody
    asked.w.pass_time(60_000)
    assert asked.arrivals[1].doubt == NO_TIME


def test_many_are_asked_about_some_at_a_time_and_told_in_part() -> None:
    count = TOLD_MAX + AT_A_TIME
    asked = Asked(*[f"q{number}" for number in range(count)])

    def prepare(broker: Any) -> None:
        for each in asked.arrivals:
            broker.refusals[each.address] = NOT_FOUND

    broker = asked.w.connect(prepare=prepare)
    asked.begin()
    asked.w.step()
    assert len(broker.attached) == AT_A_TIME
    asked.run()
    assert len(broker.attached) == count
    missing = asked.inquiry.missing()
    assert len(missing) == TOLD_MAX + 1
    assert missing[-1] == ("nodes.0.upstream", f"and {AT_A_TIME} more nodes")


class Upstreams:
    """An upstream of each profile."""

    def __init__(self, **profiles: Profile) -> None:
        self.profiles = profiles
        self.w = UpstreamWorld()
        self.upstreams = {
            name: Upstream(
                UpstreamContext(
                    self.w.bridge,
                    self.w.turns,
                    self.w.upstream.context.settings,
                    profile,
                    self.w.faces,
                    self.w.counts,
                )
            )
            for name, profile in profiles.items()
        }

    def placements(self, *nodes: dict[str, Any]) -> PlacementsByRule:
        found = rules_of([NodeSection(**node) for node in nodes], self.profiles)
        return PlacementsByRule(found, self.upstreams)


@pytest.mark.parametrize(
    ("to", "asked"),
    [
        ({"upstream": "b"}, ["/b/near"]),
        ({"upstream": "b", "address": "x.{queue}"}, ["x.near"]),
        ({"upstream": "a", "address": "x.{queue}"}, ["x.near"]),
        ({"upstream": "a"}, []),  # it stays
        ({"upstream": "a", "paused": True}, []),
        ({"upstream": None}, []),
        ({"upstream": "auto"}, []),  # asking would make it
        ({"upstream": "b", "create": True}, []),
    ],
)
def test_only_what_moves_and_asking_does_not_make_is_asked_about(
    to: dict[str, Any], asked: list[str]
) -> None:
    u = Upstreams(
        a=Profile(), b=Profile(queue=Template("/b/{queue}")), auto=Profile(missing="auto")
    )
    before = u.placements({"queue": "ne*", "upstream": "a"})
    u.w.bridge.place(before, [])
    assert u.w.host.topology.find_queue("near") is not None
    after = u.placements({"queue": "ne*", **to})
    assert [each.address for each in arrivals(u.w.bridge, before, after)] == asked


def test_exchanges_are_asked_about_that_are_used_or_named() -> None:
    u = Upstreams(a=Profile(exchange=Template("{exchange|percent}/{key}")))
    none = u.placements()
    everything = u.placements({"exchange": "*", "upstream": "a"})
    assert arrivals(u.w.bridge, none, everything) == []
    u.w.host.declaring.declare_exchange(
        "mine",
        "topic",
        durable=False,
        auto_delete=False,
        alternate_exchange="",
        arguments=b"",
        passive=False,
    )
    assert [each.name for each in arrivals(u.w.bridge, none, everything)] == ["mine"]
    one = u.placements({"exchange": "amq.topic", "upstream": "a"})
    assert [each.address for each in arrivals(u.w.bridge, none, one)] == ["amq.topic/"]
