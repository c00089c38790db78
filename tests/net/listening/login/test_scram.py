"""Logins by SCRAM, from a client of ours."""

import pathlib

import pytest
from support.login_desk import PEER, Desk, ScramPeer
from twisted.logger import capturedLogs, formatEvent

from gateway.faces.face import Peer
from gateway.net.listening.login import PeerAuthenticator
from gateway.net.listening.passwords import Passwords
from gateway.wire.sasl import StepKind
from gateway.wire.scram import ScramClient


@pytest.fixture
def desk(tmp_path: pathlib.Path) -> Desk:
    return Desk(tmp_path)


@pytest.mark.parametrize("mechanism", ["SCRAM-SHA-256", "SCRAM-SHA-512"])
def test_scram_lets_in_whoever_knows_the_password_and_nobody_else(
    desk: Desk, mechanism: str
) -> None:
    assert ScramPeer(desk, mechanism, "alice", "secret", PEER).meet()
    assert not ScramPeer(desk, mechanism, "alice", "guess", PEER).meet()
    assert not ScramPeer(desk, mechanism, "mallory", "secret", PEER).meet()
    assert not ScramPeer(desk, mechanism, "mallory", "", PEER).meet()
    assert desk.shared.accepted[mechanism] == 1
    assert desk.shared.refused[mechanism] == 3


def test_scram_binds_to_the_connection_where_tls_lets_it(desk: Desk) -> None:
    peer = Peer(1, "192.0.2.1", secure=True, bindings={"tls-exporter": b"x" * 32})
    assert ScramPeer(desk, "SCRAM-SHA-256-PLUS", "alice", "secret", peer).meet()
    assert desk.shared.accepted["SCRAM-SHA-256-PLUS"] == 1


def test_a_name_that_nobody_has_has_a_salt_of_its_own_like_any_other(
    tmp_path: pathlib.Path,
) -> None:
    def first(desk: Desk, name: str, mechanism: str = "SCRAM-SHA-256") -> list[str]:
        text = ScramPeer(desk, mechanism, name, "x", PEER).first().decode()
        return text.split(",")[1:]

    desk = Desk(tmp_path)
    real, unknown = first(desk, "alice"), first(desk, "mallory")
    assert real[1] == unknown[1] == "i=4096"
    assert len(real[0]) == len(unknown[0])
    assert first(desk, "mallory") == unknown != first(desk, "trudy")
    assert first(desk, "mal\u00adlory") == unknown
    assert first(desk, "mallory", "SCRAM-SHA-512") != unknown
    secret = b"s" * 32
    once, again = Passwords(desk.path, secret), Passwords(desk.path, secret)
    assert once.keys("mallory", "SCRAM-SHA-256") == again.keys("mallory", "SCRAM-SHA-256")


def test_nobody_may_act_for_somebody_else_by_scram(desk: Desk) -> None:
    one = ScramPeer(desk, "SCRAM-SHA-256", "alice", "secret", PEER)
    one.client = ScramClient("SCRAM-SHA-256", "alice", "secret", nonce="abc", authorization="root")
    step = one.ask(one.server.respond(one.client.initial()))
    assert step.kind == StepKind.DENIED


def test_signs_of_somebody_in_between_are_counted_and_told(desk: Desk) -> None:
    bindings = {"tls-exporter": b"ours"}
    peer = Peer(1, "192.0.2.1", secure=True, bindings=bindings)
    with capturedLogs() as captured:
        for mechanism, first in (
            ("SCRAM-SHA-256", b"y,,n=alice,r=abc"),
            ("SCRAM-SHA-256-PLUS", b"p=tls-unique,,n=alice,r=abc"),
        ):
            exchange = PeerAuthenticator(desk.shared, peer).begin(mechanism)
            assert exchange is not None
            assert exchange.respond(first).kind == StepKind.DENIED
            desk.now_ms += 2000
    assert desk.shared.refused["SCRAM-SHA-256"] == 1
    assert desk.shared.refused["SCRAM-SHA-256-PLUS"] == 1
    first_line, second_line = [str(formatEvent(event)) for event in captured]
    assert "'alice': it says that no channel binding was offered, but it was" in first_line
    assert "'alice': unsupported-channel-binding-type" in second_line
