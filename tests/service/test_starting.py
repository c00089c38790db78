"""A start in shares: who comes meanwhile waits, the admin port says why, and a stop is heard."""

from __future__ import annotations

import pathlib
from typing import Any

import pytest
from support.whole_gateway import THREAD_TIMEOUT_S, ThreadedMemoryReactor, WholeGateway
from twisted.internet.defer import Deferred
from twisted.web.test.requesthelper import DummyRequest

from gateway.clients.letter import Letter, Typed
from gateway.config import load
from gateway.errors import StoreError
from gateway.service.service import Service
from gateway.service.starting import NotBegun, StoppedError
from gateway.store.recall import recalling

MESSAGES = 7


def filled(directory: pathlib.Path) -> None:
    """A data directory with a queue of some durable messages."""
    whole = WholeGateway(directory).start()
    client = whole.connect_0_10()
    whole.result(client.declare_queue("q", durable=True))
    for number in range(MESSAGES):
        whole.result(client.send("q", Letter(Typed("string", str(number)), durable=True)))
    whole.stop()


class Beginning:
    """A service that is still to begin, whose threads answer one at a time."""

    def __init__(self, directory: pathlib.Path) -> None:
        self.reactor = ThreadedMemoryReactor()
        given = ["listen.amqp=127.0.0.1:0", "admin=127.0.0.1:0", f"data_directory={directory}"]
        settings = load(None, [*given, "store_reserve=0"])
        self.service = Service(settings, self.reactor)  # type: ignore[arg-type]  # a fake
        self.outcomes: list[Any] = []
        begun: Deferred[None] = self.service.begin()
        begun.addBoth(self.outcomes.append)

    def step(self) -> None:
        self.reactor.from_threads.get(timeout=THREAD_TIMEOUT_S)()

    def until_some_are_back(self) -> None:
        while not self.service.counts.start_messages_recovered:
            self.step()

    def end(self) -> Any:
        while not self.outcomes:
            self.step()
        return self.outcomes[0]

    def asks(self, path: bytes) -> tuple[int, bytes]:
        site = self.reactor.tcpServers[-1][1].inner
        request: Any = DummyRequest([path])
        body = site.resource.children[path].render_GET(request)
        return request.responseCode or 200, body


def test_the_admin_port_says_how_far_it_is_and_nobody_else_is_let_in(
    tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    filled(tmp_path)
    monkeypatch.setattr(recalling, "PIECE_ENTRIES", 2)
    beginning = Beginning(tmp_path)
    amqp = beginning.reactor.tcpServers[0][1]
    assert amqp.buildProtocol(None) is None
    assert beginning.asks(b"healthz") == (200, b"ok\n")
    status, said = beginning.asks(b"readyz")
    assert (status, said) == (503, b"starting: 0 of 0 MB of the store are read\n")
    beginning.until_some_are_back()
    assert beginning.asks(b"readyz") == (503, b"starting: 2 of 7 messages are back\n")
    assert beginning.end() is None
    assert amqp.buildProtocol(None) is None
    assert beginning.service.ready() == "starting"
    beginning.service.start()
    assert beginning.service.ready() is None
    assert beginning.asks(b"readyz") == (200, b"ok\n")
    assert amqp.inner is not None
    beginning.service.store.close(b"")


def test_a_stop_before_all_is_back_leaves_everything_as_it_was(
    tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    filled(tmp_path)
    with monkeypatch.context() as patch:
        patch.setattr(recalling, "PIECE_ENTRIES", 2)
        beginning = Beginning(tmp_path)
        beginning.until_some_are_back()
        beginning.service.stop()
        assert isinstance(beginning.end().value, StoppedError)
        assert beginning.service.ports.open == {}
    again = WholeGateway(tmp_path).start()
    assert again.service.recovered.clean
    assert again.service.recovered.count == MESSAGES
    again.stop()
    again.ledger()


def test_a_stop_while_the_store_is_read_ends_the_start(tmp_path: pathlib.Path) -> None:
    filled(tmp_path)
    beginning = Beginning(tmp_path)
    beginning.service.stop()
    assert isinstance(beginning.end().value, StoppedError)


def test_a_row_that_cannot_be_read_again_ends_the_start(
    tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    filled(tmp_path)

    def refused(_row: bytes) -> None:
        raise StoreError("row 1: the disk has it no more")

    with monkeypatch.context() as patch:
        patch.setattr(recalling, "unpack_row", refused)
        failure = Beginning(tmp_path).end()
    assert str(failure.value).startswith("cannot read the data directory: row 1")
    WholeGateway(tmp_path).start().stop()


class Told:
    """A bridge that notes what it is told."""

    def __init__(self) -> None:
        self.turns: list[int] = []
        self.errors: list[StoreError] = []

    def on_committed(self, turn: int) -> None:
        self.turns.append(turn)

    def on_store_failed(self, error: StoreError) -> None:
        self.errors.append(error)


def test_what_the_disk_said_meanwhile_is_passed_on_to_the_bridge() -> None:
    before = NotBegun()
    told: Any = Told()
    before.pass_on(told)
    assert (told.turns, told.errors) == ([], [])
    error = StoreError("full")
    before.on_committed(3)
    before.on_committed(4)
    before.on_store_failed(StoreError("another"))
    before.on_store_eased()
    before.on_store_failed(error)
    before.pass_on(told)
    assert (told.turns, told.errors) == ([4], [error])
    assert not before.end_turn(5)
    assert before.next_deadline() is None
