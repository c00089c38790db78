"""A token that is new is shown between deliveries; one that nears its end is told of."""

from __future__ import annotations

import base64
import json
import pathlib

from support.house import START_S, House

from gateway.net.renewal import Renewal


class FakePump:
    pass


class FakeDialer:
    def __init__(self) -> None:
        self.pump: object = FakePump()
        self.redialled = 0

    def redial(self) -> None:
        self.redialled += 1
        self.pump = FakePump()


def jwt(expires_s: float) -> str:
    claims = base64.urlsafe_b64encode(json.dumps({"exp": expires_s}).encode()).decode()
    return f"e30.{claims.rstrip('=')}.x"


class Stand:
    def __init__(self, directory: pathlib.Path, profile: str = "generic") -> None:
        self.file = directory / "token"
        self.file.write_text("one")
        upstream = {
            "hosts": ["amqp://127.0.0.1:1"],
            "token_file": str(self.file),
            "profile": profile,
        }
        self.house = House(
            directory / "data",
            f"upstreams={json.dumps({'a': upstream})}",
            'nodes=[{"queue": "far", "upstream": "a"}]',
            "switch_timeout=5s",
        ).start()
        service = self.house.service
        self.renewal = Renewal(
            service.clock.now_ms,
            service.turns,
            service.bridge,
            service.upstreams,
            service.reloading,
        )
        self.dialer = FakeDialer()
        service.upstreams.dialers["a"] = self.dialer  # type: ignore[assignment]  # a fake

    def rests(self) -> bool:
        queue = self.house.service.bridge.default_host.queue("far")
        assert queue is not None and queue.placement is not None
        return queue.placement.rests


def test_a_new_token_is_shown_when_what_is_in_flight_has_settled(tmp_path: pathlib.Path) -> None:
    stand = Stand(tmp_path)
    stand.renewal.look()
    stand.renewal.look()
    assert not stand.rests()
    queue = stand.house.service.bridge.default_host.queue("far")
    assert queue is not None
    queue.unsettled = 1
    stand.file.write_text("two")
    stand.renewal.look()
    assert stand.rests() and stand.house.service.reloading.under_way
    stand.renewal.look()
    assert stand.dialer.redialled == 0
    queue.unsettled = 0
    stand.renewal.look()
    assert (stand.dialer.redialled, stand.rests()) == (1, False)
    assert stand.house.service.reloading.under_way == ""
    stand.renewal.look()
    stand.renewal.look()
    assert stand.dialer.redialled == 1


def test_what_does_not_settle_holds_a_new_token_up_for_a_while_only(tmp_path: pathlib.Path) -> None:
    stand = Stand(tmp_path)
    stand.renewal.look()
    queue = stand.house.service.bridge.default_host.queue("far")
    assert queue is not None
    queue.unsettled = 1
    stand.file.write_text("two")
    stand.renewal.look()
    stand.house.pass_time(6)
    stand.renewal.look()
    assert stand.dialer.redialled == 1
    queue.unsettled = 0


def test_a_token_for_single_nodes_needs_no_new_connection(tmp_path: pathlib.Path) -> None:
    stand = Stand(tmp_path, "azure-service-bus")
    stand.renewal.look()
    stand.file.write_text("two")
    stand.renewal.look()
    stand.renewal.look()
    assert (stand.dialer.redialled, stand.rests()) == (0, False)


def test_a_token_without_successor_is_told_of_once(tmp_path: pathlib.Path) -> None:
    stand = Stand(tmp_path)
    stand.file.write_text(jwt(START_S + 90))
    told: list[str] = []
    stand.renewal.look()
    stand.renewal.log = FakeLog(told)  # type: ignore[misc, assignment]  # a fake
    stand.renewal.look()
    assert told == []
    stand.house.pass_time(40)
    stand.renewal.look()
    stand.renewal.look()
    assert told == ["a"]


class FakeLog:
    def __init__(self, told: list[str]) -> None:
        self.told = told

    def warn(self, text: str, *, name: str) -> None:
        self.told.append(name)
