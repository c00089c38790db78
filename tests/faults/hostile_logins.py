"""Attacks on logins: wrong passwords by the hundred, while somebody has the right one.

All come from one address, and so does who has the right password; verifiers are of 600,000
iterations, as users files of before have them.
"""

from __future__ import annotations

import selectors
import socket
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from support.gateway_process import GatewayProcess

from gateway.clients.client import Login
from gateway.clients.client_0_10 import Client010
from gateway.clients.client_1_0 import Client10
from gateway.net.listening.users import make_user, write_users
from gateway.wire.sasl import PLAIN, ClientMechanism, Derivation, plain
from gateway.wire.scram import SCRAM_SHA_256, ScramClient

from .hostile import Attack

ITERATIONS = 600_000
ENDS_WITHIN_S = 120
READ = 65536
USERS = {"anonymous": True, "users_file": "users.yaml", "scram_iterations": ITERATIONS}
CLIENTS: dict[str, type[Client010] | type[Client10]] = {"0-10": Client010, "1.0": Client10}


@dataclass(frozen=True)
class Guess:
    """A `Login` with one mechanism, which does not derive anything to be wrong."""

    username: str
    password: str
    mechanism: str
    virtual_host: str = ""

    def mechanisms(self) -> list[ClientMechanism]:
        """One."""
        if self.mechanism == PLAIN:
            return [plain(self.username, self.password)]
        return [WrongProof(self.username)]


class WrongProof:
    """SCRAM-SHA-256 by who does not know the password, and does not take long over it."""

    def __init__(self, username: str) -> None:
        self._real = ScramClient(SCRAM_SHA_256, username, "", nonce="n" * 24)

    def name(self) -> str:
        return self._real.name()

    def initial(self) -> bytes | None:
        return self._real.initial()

    def respond(self, challenge: bytes) -> bytes | None:
        nonce = challenge.partition(b",")[0]
        return b"c=biws," + nonce + b",p=" + b"A" * 43 + b"="

    def derivation(self) -> Derivation | None:
        return None

    def derived(self) -> bytes | None:
        return None

    def complete(self, data: bytes | None) -> bool:
        return True

    def problem(self) -> str:
        return ""


class Peer:
    """A client of the gateway on a socket.

    Attributes:
        entered: it is in; `False`: it was refused; `None`: neither yet.
    """

    def __init__(self, port: int, protocol: str, login: Login | Guess) -> None:
        self.entered: bool | None = None
        self._client = CLIENTS[protocol](login, 0)  # type: ignore[arg-type]  # a Guess is like a Login
        self._client.ready().addCallbacks(self._in, self._out)
        self._client.lost().addErrback(lambda _failure: None)
        self.socket = socket.create_connection(("127.0.0.1", port))
        self.write()

    def _in(self, _none: object) -> None:
        self.entered = True

    def _out(self, _failure: object) -> None:
        if self.entered is None:
            self.entered = False

    def write(self) -> None:
        """What the client has to say."""
        if octets := self._client.data_to_send():
            try:
                self.socket.sendall(octets)
            except OSError:
                self._client.receive_eof("gone")

    def read(self) -> None:
        """What the gateway says."""
        try:
            octets = self.socket.recv(READ)
        except OSError:
            octets = b""
        if octets:
            self._client.receive_data(octets, 0)
            self.write()
        else:
            self._client.receive_eof("closed")

    def close(self) -> None:
        """Gone."""
        self.socket.close()


def _come_in(port: int, protocol: str, guesses: Sequence[Guess], right: Login | Guess) -> Peer:
    """The one with the right password, who comes last; it is in, at its first try."""
    with selectors.DefaultSelector() as selector:
        for login in (*guesses, right):
            peer = Peer(port, protocol, login)
            selector.register(peer.socket, selectors.EVENT_READ, peer)
        ours = peer
        deadline = time.monotonic() + ENDS_WITHIN_S
        while ours.entered is None:
            assert time.monotonic() < deadline, "the right password is kept out"
            for key, _events in selector.select(1):
                key.data.read()
                if key.data.entered is not None:
                    selector.unregister(key.data.socket)
                    if key.data is not ours:
                        key.data.close()
        for key in list(selector.get_map().values()):
            key.data.close()
    assert ours.entered, "the right password is refused"
    return ours


def bad_logins(
    protocol: str, mechanism: str, name: str
) -> Callable[[GatewayProcess, int], Sequence[Peer]]:
    """Guesses that come at once; `name`: whose password, with the number of the guess."""

    def play(gateway: GatewayProcess, count: int) -> Sequence[Peer]:
        guesses = [
            Guess(name.format(number), f"wrong {number}", mechanism) for number in range(count)
        ]
        plain_only = Guess("alice", "secret", mechanism)
        right = plain_only if mechanism == PLAIN else Login("alice", "secret")
        return [_come_in(gateway.amqp_port, protocol, guesses, right)]

    return play


def write_the_users(directory: Path) -> None:
    """A users file of before."""
    write_users(directory / "users.yaml", {"alice": make_user("secret", ITERATIONS)})


ATTACKS = tuple(
    Attack(
        f"150 bad logins: {protocol}, {mechanism}, {whose}",
        bad_logins(protocol, mechanism, name),
        150,
        36,  # an address has 30 free, and so has a user
        config=USERS,
        prepare=write_the_users,
    )
    for protocol, mechanism, whose, name in (
        ("0-10", PLAIN, "the same name", "alice"),
        ("1.0", PLAIN, "other names", "name {}"),
        ("0-10", "SCRAM", "other names", "name {}"),
        ("1.0", "SCRAM", "the same name", "alice"),
    )
)
