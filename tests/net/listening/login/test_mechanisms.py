"""By which mechanisms peers may log in."""

import pathlib

import pytest
from support.login_desk import PEER, Desk, Waiter
from twisted.logger import capturedLogs, formatEvent

from gateway.faces.face import Peer
from gateway.net.listening.authenticate import Authentication
from gateway.net.listening.login import PeerAuthenticator
from gateway.net.listening.users import make_user, write_users
from gateway.wire.sasl import Credentials, StepKind


@pytest.fixture
def desk(tmp_path: pathlib.Path) -> Desk:
    return Desk(tmp_path)


def test_a_mechanism_that_was_not_offered_is_a_no(desk: Desk) -> None:
    assert desk.answer("SCRAM-SHA-1", "alice", "secret") is None
    assert desk.shared.refused["other"] == 1
    without = Authentication(desk.clock, lambda: 0, anonymous_allowed=True)
    waiter = Waiter()
    one = PeerAuthenticator(without, Peer(1, "192.0.2.1"))
    assert one.mechanisms() == ["ANONYMOUS"]
    one.authenticate(Credentials("PLAIN", username="alice", password="secret"), waiter)
    desk.clock.advance(0)
    assert waiter.answers == [None]


@pytest.mark.parametrize(
    ("mechanism", "counted"),
    [
        ("ANONYMOUS", "ANONYMOUS"),
        ("EXTERNAL", "EXTERNAL"),
        ("SCRAM-SHA-256-PLUS", "SCRAM-SHA-256-PLUS"),
        ("SCRAM-SHA-1", "other"),
        ("", "other"),
        ("x" * 1000, "other"),
    ],
)
def test_who_asks_for_what_is_not_offered_is_counted(
    desk: Desk, mechanism: str, counted: str
) -> None:
    before = dict(desk.shared.refused)
    assert PeerAuthenticator(desk.shared, Peer(1, "192.0.2.1")).begin(mechanism) is None
    assert desk.shared.refused == {**before, counted: 1}


@pytest.mark.parametrize("response", [b"xx", b"\0\0secret", b"\0\xff\0x"])
def test_a_message_that_is_none_of_its_mechanism_is_counted_and_told(
    desk: Desk, response: bytes
) -> None:
    exchange = PeerAuthenticator(desk.shared, Peer(7, "192.0.2.1")).begin("PLAIN")
    assert exchange is not None
    with capturedLogs() as captured:
        assert exchange.respond(response).kind == StepKind.DENIED
    assert desk.shared.refused["PLAIN"] == sum(desk.shared.refused.values()) == 1
    [line] = [str(formatEvent(event)) for event in captured]
    assert line.endswith("PLAIN, no name: what came is no message of that mechanism")
    assert line.startswith("connection 7 ")


def test_the_best_mechanism_is_offered_first(desk: Desk, tmp_path: pathlib.Path) -> None:
    shared = Desk(tmp_path, anonymous=True).shared
    peer = Peer(1, "192.0.2.1", certificate_name="alice")
    assert PeerAuthenticator(shared, peer).mechanisms() == [
        "EXTERNAL",
        "SCRAM-SHA-512",
        "SCRAM-SHA-256",
        "PLAIN",
        "ANONYMOUS",
    ]
    bound = Peer(1, "192.0.2.1", secure=True, bindings={"tls-exporter": b"x"})
    assert PeerAuthenticator(desk.shared, bound).mechanisms() == [
        "SCRAM-SHA-512-PLUS",
        "SCRAM-SHA-256-PLUS",
        "SCRAM-SHA-512",
        "SCRAM-SHA-256",
        "PLAIN",
    ]


def test_a_mechanism_is_offered_only_if_every_user_can_use_it(desk: Desk) -> None:
    only = {"SCRAM-SHA-256": make_user("b", 4096)["SCRAM-SHA-256"]}
    write_users(desk.path, {"alice": make_user("secret", 4096), "bob": only})
    desk.passwords.load()
    one = PeerAuthenticator(desk.shared, PEER)
    assert one.mechanisms() == ["SCRAM-SHA-256", "PLAIN"]
    assert one.begin("SCRAM-SHA-512") is None
    write_users(desk.path, {})
    desk.passwords.load()
    assert one.mechanisms() == ["PLAIN"]


def test_a_mechanism_may_be_offered_inside_tls_only(tmp_path: pathlib.Path) -> None:
    shared = Desk(tmp_path, require_tls_for=("PLAIN",)).shared
    one = PeerAuthenticator(shared, PEER)
    assert one.mechanisms() == ["SCRAM-SHA-512", "SCRAM-SHA-256"]
    assert one.begin("PLAIN") is None
    secure = PeerAuthenticator(shared, Peer(1, "192.0.2.1", secure=True))
    assert secure.mechanisms() == ["SCRAM-SHA-512", "SCRAM-SHA-256", "PLAIN"]


def test_who_sends_a_password_in_clear_text_is_named_once_and_counted(desk: Desk) -> None:
    def login(peer: Peer, password: str = "secret") -> None:
        one = PeerAuthenticator(desk.shared, peer)
        credentials = Credentials("PLAIN", username="alice", password=password)
        one.authenticate(credentials, Waiter())
        desk.threads.run_all()

    with capturedLogs() as captured:
        login(PEER)
        login(PEER)
        login(Peer(1, "127.0.0.1"))
        login(Peer(1, "192.0.2.1", secure=True))
        login(PEER, "wrong")
    said = [formatEvent(event) for event in captured]
    assert said[0] == ("alice sends a password in clear text, from 192.0.2.1: PLAIN without TLS")
    assert len(said) == 2 and ": refused a login: " in said[1]
    assert desk.shared.plain_in_clear == 2


def test_what_is_offered_follows_the_users_file_though_nobody_logs_in(desk: Desk) -> None:
    one = PeerAuthenticator(desk.shared, PEER)
    write_users(desk.path, {"alice": make_user("secret", 10)})
    desk.shared.refresh()
    desk.threads.run_all()
    assert one.mechanisms() == ["PLAIN"]
    write_users(desk.path, {"alice": make_user("secret", 4096)})
    desk.shared.refresh()
    desk.threads.run_all()
    assert one.mechanisms() == ["SCRAM-SHA-512", "SCRAM-SHA-256", "PLAIN"]
