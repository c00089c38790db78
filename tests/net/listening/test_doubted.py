"""A client whose certificate is not believed leaves a line, a count and an audit record."""

import pathlib

from OpenSSL import SSL
from support.bridge_world import World
from support.certificates import Authority
from support.net import Net
from support.tls_handshake import Met
from twisted.logger import capturedLogs, formatEvent

from gateway.audit.schema import Kind, Reason
from gateway.faces.visit import Silence
from gateway.net.listening.doubted import DoubtedClients
from gateway.net.tls.files import tls_context


def leaves(net: Net, context: SSL.Context, own: tuple[pathlib.Path, pathlib.Path] | None) -> None:
    pump, wire = net.connect("192.0.2.7", tls_first=True)
    wire.getHandle = Met(context, own=own).getHandle  # type: ignore[assignment]
    pump.connectionLost()


def test_who_shows_a_certificate_that_is_not_believed_is_told_of(tmp_path: pathlib.Path) -> None:
    authority = Authority(tmp_path)
    context = tls_context(
        *authority.issue("server"),
        authority.ca,
        client_crl=authority.revoke(authority.issue("eve")[0]),
        require_client_certificate=True,
    ).getContext()
    world, net = World(), Net(tls_context="context")
    told = DoubtedClients(world.bridge, net.turns, net.authentication, Silence())
    net.door.on_doubted = told.tell
    with capturedLogs() as captured:
        leaves(net, context, (tmp_path / "eve.pem", tmp_path / "eve.key"))
        leaves(net, context, None)  # it shows none
    (line,) = [str(formatEvent(event)) for event in captured]
    assert line == (
        "connection 1 from 192.0.2.7:1: refused a login: EXTERNAL, 'eve':"
        " its certificate was revoked"
    )
    assert net.authentication.refused["EXTERNAL"] == 1
    assert net.counts.handshake_failures["tls"] == 2
    world.turn()
    (record,) = [each for each in world.blocks.raw() if each["kind"] == Kind.CONNECTION_REFUSED]
    named = {key: record[key] for key in ("actor", "peer", "node", "exchange", "address")}
    assert named == {
        "actor": "eve",
        "peer": "its certificate was revoked",
        "node": "EXTERNAL",
        "exchange": "TLS",
        "address": "192.0.2.7:1",
    }
    assert (record["reason"], record["connection"]) == (Reason.LOGIN_FAILED, 1)
