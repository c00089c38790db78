"""Which mechanisms users are offered, best first, and the server's side of each."""

from __future__ import annotations

import secrets
from collections.abc import Callable
from typing import Final

from gateway.faces.face import Peer
from gateway.net.listening.kerberos import Kerberos
from gateway.net.listening.legacy import SECRETS
from gateway.net.listening.passwords import Passwords
from gateway.wire.cram_md5 import CramServer
from gateway.wire.digest_md5 import DIGEST_MD5, DigestServer
from gateway.wire.gssapi_server import GSSAPI, GssapiServer
from gateway.wire.sasl import PLAIN, ServerMechanism, server_mechanism
from gateway.wire.scram import PLUS, is_scram
from gateway.wire.scram_server import ScramServer

NONCE_OCTETS: Final = 24
CHALLENGER: Final = "amqp-gateway"


def user_mechanisms(passwords: Passwords, peer: Peer, legacy: tuple[str, ...]) -> list[str]:
    """Those of the users file; `legacy`: those from before SCRAM that are wanted."""
    offered = [each + PLUS for each in passwords.mechanisms] if peer.bindings else []
    offered += passwords.mechanisms
    offered += [each for each in SECRETS if each in legacy and passwords.legacy.usable(each)]
    return [*offered, PLAIN]


def server_side(
    mechanism: str,
    peer: Peer,
    passwords: Passwords | None,
    kerberos: Kerberos | None,
    hosts: frozenset[str],
    told: Callable[[str, str], None],
) -> ServerMechanism | None:
    """The server's side of a mechanism that is offered; `None`: it is not any more.

    Args:
        hosts: what DIGEST-MD5's clients may call us; empty: anything.
        told: who hears that there was nothing to verify: the user's name, and why.
    """
    if mechanism == GSSAPI and kerberos is not None:
        return GssapiServer(kerberos.accept(), told)
    nonce = secrets.token_urlsafe(NONCE_OCTETS)
    if is_scram(mechanism):
        return ScramServer(mechanism, nonce=nonce, bindings=peer.bindings, told=told)
    if mechanism not in SECRETS or passwords is None:
        return server_mechanism(mechanism, told)
    if mechanism == DIGEST_MD5:
        realms = passwords.legacy.realms  # of a file that may just have been read, in a thread
        if len(realms) != 1:
            return None
        return DigestServer(nonce=nonce, realm=realms[0], hosts=hosts, told=told)
    return CramServer(mechanism, nonce=nonce, host=CHALLENGER, told=told)
