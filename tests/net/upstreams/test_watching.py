"""A reload when the files that it would read are others than those that count."""

import os
import pathlib
from collections.abc import Callable

import pytest
from twisted.internet.defer import Deferred, maybeDeferred, succeed

from gateway.config import Settings, load
from gateway.net.counts import NetCounts
from gateway.net.upstreams.reload import Operator
from gateway.net.upstreams.watching import WATCHED, Prints, Watching, reloaded


class Gateway:
    """Reloads as is said, and counts how often."""

    def __init__(self, directory: pathlib.Path) -> None:
        self.file = directory / "gateway.yaml"
        self.users = directory / "users.yaml"
        self.users.write_text("{}\n")
        self.say("strict: false")
        self.settings = load(self.file)
        self.counts = NetCounts()
        self.reloads = 0
        self.answer: bool | None = True
        self.on_reading: Callable[[], None] = lambda: None
        self.watching = Watching(
            lambda: self.settings,
            in_thread=lambda call: maybeDeferred(call),
            reload=self.reload,
            counts=self.counts,
        )

    def say(self, line: str) -> None:
        """Write another configuration."""
        self.file.write_text(f"{line}\nusers_file: users.yaml\n")

    def reload(self, by: Operator) -> Deferred[bool | None]:
        assert by == WATCHED
        self.reloads += 1
        if self.answer:
            self.read()
        return succeed(self.answer)

    def read(self) -> None:
        """As a reload does, whoever asks for it."""
        settings = self.watching.reading(self._read_again)
        found = self.watching.before(settings)
        self.settings = settings
        self.watching.adopt(found)

    def _read_again(self) -> Settings:
        settings = load(self.file)
        self.on_reading()
        return settings

    def look(self, times: int = 1) -> int:
        """How many reloads there were by then."""
        for _ in range(times):
            self.watching.look()
        return self.reloads


@pytest.fixture
def gateway(tmp_path: pathlib.Path) -> Gateway:
    return Gateway(tmp_path)


def test_files_that_stay_as_they_are_are_not_read_again(gateway: Gateway) -> None:
    assert gateway.look(5) == 0


@pytest.mark.parametrize("which", ["file", "users"])
def test_what_two_looks_have_found_alike_counts(gateway: Gateway, which: str) -> None:
    path: pathlib.Path = getattr(gateway, which)
    path.write_text(path.read_text() + "# more\n")
    assert gateway.look() == 0
    assert gateway.look() == 1
    assert gateway.look(5) == 1
    assert gateway.counts.refused_files == 0


def test_a_file_that_is_being_written_is_waited_for(gateway: Gateway) -> None:
    for line in range(5):
        gateway.users.write_text(f"# {line}\n")
        assert gateway.look() == 0
    assert gateway.look() == 1


def test_what_was_refused_is_told_and_tried_again_when_it_changes(gateway: Gateway) -> None:
    gateway.answer = False
    gateway.say("strict: true")
    assert gateway.look(10) == 1
    assert gateway.counts.refused_files == 1
    gateway.say("strict: false # again")
    assert gateway.look(10) == 2
    gateway.answer = True
    gateway.say("strict: false # at last")
    assert gateway.look(10) == 3
    assert gateway.counts.refused_files == 0


def test_what_is_put_back_is_what_counts_already(gateway: Gateway) -> None:
    gateway.answer = False
    gateway.say("strict: true")
    gateway.look(2)
    gateway.say("strict: false")
    assert gateway.look(5) == 1
    assert gateway.counts.refused_files == 0


def test_where_something_else_is_under_way_it_is_tried_again(gateway: Gateway) -> None:
    gateway.answer = None
    gateway.say("strict: true")
    assert gateway.look(4) == 3
    assert gateway.counts.refused_files == 0
    gateway.answer = True
    assert gateway.look(4) == 4


def test_what_an_operator_has_read_is_not_read_once_more(gateway: Gateway) -> None:
    gateway.say("strict: true")
    gateway.read()
    assert gateway.look(5) == 0


def test_what_changes_while_it_is_read_is_read_again(gateway: Gateway) -> None:
    gateway.on_reading = lambda: gateway.say("strict: true # newer")
    gateway.read()
    gateway.on_reading = lambda: None
    assert gateway.look(5) == 1
    assert gateway.settings.strict is True


def test_a_change_by_hand_is_no_reading_of_the_configuration(gateway: Gateway) -> None:
    gateway.say("strict: true")
    gateway.watching.adopt(gateway.watching.before(gateway.settings.model_copy()))
    assert gateway.look(5) == 1


def test_a_file_that_is_gone_is_another(gateway: Gateway) -> None:
    gateway.answer = False
    gateway.users.unlink()
    assert gateway.look(5) == 1


def test_a_pipe_is_not_opened_since_a_reload_is_to_read_it(
    gateway: Gateway, monkeypatch: pytest.MonkeyPatch
) -> None:
    gateway.users.unlink()
    os.mkfifo(gateway.users)
    opened: list[str] = []

    def read(path: pathlib.Path, _octets: int) -> bytes:
        opened.append(path.name)
        return b""

    monkeypatch.setattr("gateway.net.upstreams.watching.read_regular", read)
    gateway.look(2)
    assert set(opened) == {"gateway.yaml"}


def test_the_files_are_those_of_the_settings_in_force(tmp_path: pathlib.Path) -> None:
    named = ("server.pem", "server.key", "clients.pem", "rules.yaml", "key.pem", "own.yaml")
    for each in named:
        (tmp_path / each).touch()
    settings = Settings.model_validate(
        {
            "tls": {
                "certificate": tmp_path / "server.pem",
                "key": tmp_path / "server.key",
                "client_ca": tmp_path / "clients.pem",
            },
            "access": {"file": tmp_path / "rules.yaml"},
            "audit": {"signing_key_file": tmp_path / "key.pem"},
            "upstreams": {
                "main": {"hosts": ["amqp://127.0.0.1"], "profile": f"{tmp_path}/own.yaml"},
                "other": {"hosts": ["amqp://127.0.0.1"], "profile": "artemis"},
            },
        }
    )
    assert {path for path, _octets in reloaded(settings)} == {tmp_path / each for each in named}


def test_nothing_is_looked_at_twice_at_a_time(gateway: Gateway) -> None:
    asked: list[Deferred[Prints]] = []

    def ask(_call: Callable[[], Prints]) -> Deferred[Prints]:
        asked.append(Deferred())
        return asked[-1]

    watching = Watching(
        lambda: gateway.settings, in_thread=ask, reload=gateway.reload, counts=gateway.counts
    )
    watching.look()
    watching.look()
    assert len(asked) == 1
    asked[0].callback({})
    watching.look()
    assert len(asked) == 2
