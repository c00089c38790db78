"""A token that is new is shown between deliveries; one that nears its end is told of."""

from __future__ import annotations

import json
import pathlib

import pytest
from support.web_token import web_token
from support.whole_gateway import START_S, WholeGateway
from twisted.logger import capturedLogs, formatEvent

from gateway.faces.dialled.health import UpstreamState
from gateway.net.kept_files import read_all
from gateway.net.upstreams.renewal import Renewal
from gateway.service.files import kept


class FakePump:
    pass


class FakeDialer:
    """The next connection is opened at once."""

    def __init__(self, connect: object) -> None:
        self.connect = connect
        self.pump: object = FakePump()
        self.redialled = 0
        self.hastened = 0

    def redial(self) -> None:
        self.redialled += 1
        self.pump = FakePump()
        self.connect()  # type: ignore[operator]  # a function

    def hasten(self) -> None:
        self.hastened += 1


def jwt(expires_s: float) -> str:
    return web_token({"exp": expires_s}, b"key", key_id="one")


class Stand:
    """An upstream that is connected, and took the token that there was then."""

    def __init__(self, directory: pathlib.Path, profile: str = "generic", **keys: object) -> None:
        self.file = directory / "token"
        self.file.write_text("one")
        upstream = {
            "hosts": ["amqp://127.0.0.1:1"],
            "token_file": str(self.file),
            "profile": profile,
            **keys,
        }
        self.whole = WholeGateway(
            directory / "data",
            f"upstreams={json.dumps({'a': upstream})}",
            'nodes=[{"queue": "far", "upstream": "a"}]',
            "switch_timeout=5s",
        ).start()
        service = self.whole.service
        self.renewal = Renewal(
            service.clock.now_ms,
            service.turns,
            service.bridge,
            service.upstreams,
            service.reloading,
        )
        self.dialer = FakeDialer(self.connect)
        service.upstreams.dialers["a"] = self.dialer  # type: ignore[assignment]  # a fake
        queue = service.bridge.default_host.topology.find_queue("far")
        assert queue is not None
        self.queue = queue
        self.connect()

    def look(self) -> None:
        """When the files have been read again."""
        self.read()
        self.renewal.look()

    def read(self) -> None:
        service = self.whole.service
        service.files.keep(read_all(kept(service.reloading.settings)))

    def connect(self, state: UpstreamState = UpstreamState.UP) -> None:
        """What is shown is what is in the file now."""
        self.read()
        upstreams = self.whole.service.upstreams
        upstreams.credentials["a"].mechanisms(True)
        health = upstreams.upstreams["a"].health
        health.on_change = None  # its dialer would look for what it has dialled
        health.change(state)

    def rests(self) -> bool:
        assert self.queue.placement is not None
        return self.queue.placement.rests


@pytest.mark.parametrize("keys", [{}, {"username": "me", "mechanisms": ["PLAIN"]}])
def test_a_new_token_is_shown_when_what_is_in_flight_has_settled(
    tmp_path: pathlib.Path, keys: dict[str, object]
) -> None:
    stand = Stand(tmp_path, **keys)
    stand.look()
    assert not stand.rests()
    stand.queue.unsettled = 1
    stand.file.write_text("two")
    stand.look()
    assert stand.rests() and stand.whole.service.reloading.under_way
    stand.look()
    assert stand.dialer.redialled == 0
    stand.queue.unsettled = 0
    stand.look()
    assert (stand.dialer.redialled, stand.rests()) == (1, False)
    assert stand.whole.service.reloading.under_way == ""
    stand.look()
    stand.look()
    assert stand.dialer.redialled == 1


def test_what_does_not_settle_holds_a_new_token_up_for_a_while_only(tmp_path: pathlib.Path) -> None:
    stand = Stand(tmp_path)
    stand.queue.unsettled = 1
    stand.file.write_text("two")
    stand.look()
    stand.whole.pass_time(6)
    stand.look()
    assert stand.dialer.redialled == 1
    stand.queue.unsettled = 0


def test_nor_does_it_hold_it_up_until_the_old_token_expires(tmp_path: pathlib.Path) -> None:
    stand = Stand(tmp_path)
    stand.file.write_text(jwt(START_S + 5))
    stand.connect()
    stand.queue.unsettled = 1
    stand.file.write_text(jwt(START_S + 600))
    stand.look()
    stand.whole.pass_time(2)
    stand.look()
    assert stand.dialer.redialled == 0
    stand.whole.pass_time(1)
    stand.look()
    assert stand.dialer.redialled == 1
    stand.queue.unsettled = 0


def test_a_connection_that_ended_meanwhile_needs_no_other_end(tmp_path: pathlib.Path) -> None:
    stand = Stand(tmp_path)
    stand.queue.unsettled = 1
    stand.file.write_text("two")
    stand.look()
    stand.dialer.pump = FakePump()
    stand.connect()
    stand.look()
    assert (stand.dialer.redialled, stand.rests()) == (0, False)
    assert stand.whole.service.reloading.under_way == ""
    stand.queue.unsettled = 0


def test_a_token_that_was_replaced_right_after_it_was_shown_is_not_taken_for_the_shown_one(
    tmp_path: pathlib.Path,
) -> None:
    stand = Stand(tmp_path)
    stand.file.write_text("two")  # before anybody has looked
    stand.look()
    stand.look()
    assert stand.dialer.redialled == 1


def test_a_token_that_a_detour_has_shown_is_new_to_the_upstream_itself(
    tmp_path: pathlib.Path,
) -> None:
    stand = Stand(tmp_path)
    stand.look()
    stand.file.write_text("two")
    stand.connect()  # not to the upstream itself
    stand.look()
    stand.look()
    assert stand.dialer.redialled == 1
    stand.look()
    assert (stand.dialer.redialled, stand.rests()) == (1, False)


def test_a_token_that_a_new_connection_has_shown_is_not_new(tmp_path: pathlib.Path) -> None:
    stand = Stand(tmp_path)
    stand.look()
    stand.file.write_text("two")
    stand.dialer.pump = FakePump()
    stand.connect()
    stand.look()
    stand.look()
    assert (stand.dialer.redialled, stand.rests()) == (0, False)


def test_a_new_token_ends_the_wait_for_the_next_try_once(tmp_path: pathlib.Path) -> None:
    stand = Stand(tmp_path)
    stand.connect(UpstreamState.DOWN)
    stand.look()
    assert stand.dialer.hastened == 0
    stand.file.write_text("two")
    stand.look()
    stand.look()
    assert (stand.dialer.hastened, stand.dialer.redialled, stand.rests()) == (1, 0, False)


def test_a_token_file_that_is_empty_or_gone_changes_nothing(tmp_path: pathlib.Path) -> None:
    stand = Stand(tmp_path)
    stand.file.write_text("")
    stand.look()
    stand.file.unlink()
    stand.look()
    assert (stand.dialer.redialled, stand.rests()) == (0, False)


def test_a_token_for_single_nodes_needs_no_new_connection(tmp_path: pathlib.Path) -> None:
    stand = Stand(tmp_path, "azure-service-bus")
    stand.file.write_text("two")
    stand.look()
    stand.look()
    assert (stand.dialer.redialled, stand.rests()) == (0, False)


def test_a_token_without_successor_is_told_of_once(tmp_path: pathlib.Path) -> None:
    stand = Stand(tmp_path)
    stand.file.write_text(jwt(START_S + 90))
    stand.connect()
    with capturedLogs() as logs:
        stand.look()
        assert logs == []
        stand.whole.pass_time(40)
        stand.look()
        stand.look()
    told = [formatEvent(each) for each in logs if each["log_source"] is stand.renewal]
    assert told == ["upstream a: its token expires in 50 s, and token_file has no other"]


def test_a_token_that_has_expired_is_told_of_too(tmp_path: pathlib.Path) -> None:
    stand = Stand(tmp_path)
    stand.file.write_text(jwt(START_S - 1))
    stand.connect(UpstreamState.DOWN)
    with capturedLogs() as logs:
        stand.look()
        stand.look()
    told = [formatEvent(each) for each in logs if each["log_source"] is stand.renewal]
    assert told == ["upstream a: its token has expired, and token_file has no other"]
