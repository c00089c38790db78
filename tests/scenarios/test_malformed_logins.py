"""Whatever a client says in a login, it is refused as the protocol has it, and nothing breaks."""

import pathlib
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support import drive_0_10 as drive
from support.face_1_0 import Hub
from support.frames_1_0 import octets_of, read_frames
from support.login_desk import Desk
from support.talk_0_10 import Gateway
from twisted.logger import capturedLogs

from gateway.amqp_0_10 import _spec as spec
from gateway.amqp_0_10.frames import PROTOCOL_HEADER
from gateway.amqp_1_0 import _spec, frames
from gateway.faces.face import Face, Peer
from gateway.faces.server_0_10.connection import ServerConnection as Server010
from gateway.faces.server_1_0.connection import ServerConnection as Server10
from gateway.net.listening.kerberos import Principals
from gateway.net.listening.legacy import SECRETS
from gateway.net.listening.login import PeerAuthenticator
from gateway.wire.gssapi_server import GSSAPI, GssapiRefusedError
from gateway.wire.sasl import PLAIN

MECHANISMS = [GSSAPI, "SCRAM-SHA-512", "SCRAM-SHA-256", *SECRETS, PLAIN, "NO-SUCH"]
SAID = st.one_of(
    st.none(),
    st.just(b""),
    st.binary(max_size=60),
    st.sampled_from(
        [
            b"\0alice\0guess",
            b"alice " + b"0" * 32,
            b"n,,n=alice,r=abc",
            b"c=biws,r=abc,p=AAAA",
            b'username="alice",realm="QPID",nonce="n",cnonce="c",nc=00000001,qop=auth,'
            b'digest-uri="amqp/x",response=' + b"0" * 32,
            b"token",
        ]
    ),
)


class Context:
    """Takes no token."""

    def accept(self, token: bytes) -> bytes:
        raise GssapiRefusedError("no ticket")

    def complete(self) -> bool:
        return False


class Keys:
    """In place of `Kerberos`."""

    principals = Principals("EXAMPLE", users={})

    def accept(self) -> Context:
        return Context()


PEER = Peer(1, "192.0.2.1")


@pytest.fixture(scope="module")
def desk(tmp_path_factory: pytest.TempPathFactory) -> Desk:
    directory: pathlib.Path = tmp_path_factory.mktemp("desk")
    made = Desk(directory, legacy=tuple(SECRETS))
    keys: Any = Keys()
    made.shared.kerberos = keys
    return made


def answers(desk: Desk, face: Face, said: list[bytes]) -> Iterator[bytes]:
    """What the face writes, each time that it is told something."""
    for octets in said:
        if not face.closed:
            face.receive_data(octets, 0)
        for _ in range(3):
            desk.threads.run_all()
            desk.clock.advance(10)
        yield face.data_to_send()


@given(st.sampled_from(MECHANISMS), st.lists(SAID, min_size=1, max_size=3))
def test_by_0_10_a_login_that_is_none_is_closed_or_dropped(
    desk: Desk, mechanism: str, said: list[bytes | None]
) -> None:
    gateway = Gateway()
    authenticator = PeerAuthenticator(desk.shared, PEER)
    face = Server010(gateway.world.bridge, gateway, authenticator, PEER, gateway.settings, 0)
    begin = spec.ConnectionStartOk(mechanism=mechanism, response=said[0])
    rest = [spec.ConnectionSecureOk(response=each) for each in said[1:]]
    octets = [PROTOCOL_HEADER, *[drive.control(each) for each in (begin, *rest)]]
    with capturedLogs() as captured:
        heard = [one for each in answers(desk, face, octets) for one in drive.values(each)]
    assert not [event for event in captured if "log_failure" in event]
    assert not any(isinstance(each, spec.ConnectionTune) for each in heard)
    closes = [each for each in heard if isinstance(each, spec.ConnectionClose)]
    assert [(each.reply_code, each.reply_text) for each in closes] in (
        [],
        [(320, "authentication failed")],
    )


@given(st.sampled_from(MECHANISMS), st.lists(SAID, min_size=1, max_size=3))
def test_by_1_0_a_login_that_is_none_has_its_outcome(
    desk: Desk, mechanism: str, said: list[bytes | None]
) -> None:
    hub = Hub()
    authenticator = PeerAuthenticator(desk.shared, PEER)
    face = Server10(hub.world.bridge, hub.turns, authenticator, PEER, hub.settings, 0)
    begin = _spec.SaslInit(mechanism=mechanism, initial_response=said[0])
    rest = [_spec.SaslResponse(response=each or b"") for each in said[1:]]
    octets = [octets_of(each, kind=frames.SASL_FRAME) for each in (begin, *rest)]
    with capturedLogs() as captured:
        written = b"".join(answers(desk, face, [frames.PROTOCOL_SASL, *octets]))
    assert not [event for event in captured if "log_failure" in event]
    heard = [frame for _, frame in read_frames(written)]
    codes = [each.code for each in heard if isinstance(each, _spec.SaslOutcome)]
    assert codes in ([], [_spec.SASL_AUTH])
    assert bool(codes) == face.closed
