"""Attacks on TLS: what costs more than its content, and what is kept before there is any."""

from __future__ import annotations

import selectors
import socket
import ssl
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path

from support.certificates import Authority
from support.gateway_process import GatewayProcess
from support.raw_peers import HEADER_0_10, frame_0_10

from gateway.amqp_0_10.frames import CONTROL, FIRST_FRAME, FIRST_SEGMENT
from gateway.net.tls.layer import KEPT
from gateway.wire.work import TLS_HANDSHAKE, TLS_RECORD

from .hostile import Attack

MIB = 1024 * 1024
HERE = "127.0.0.1"
ENDS_WITHIN_S = 60  # of a slow machine
CLIENTS = 64
READ = 65536
RECEIVED = 'gateway_network_bytes_total{direction="received"}'
TLS = {
    "listen": {"amqps": f"{HERE}:0"},
    "tls": {"certificate": "gateway.pem", "key": "gateway.key"},
}
HELLO_OCTETS = 130_000  # that it says it will have
HELLO_SENT = 120_000
CERTIFICATES = "many.pem"
CERTIFICATES_MAX = 16 * 1024  # octets
ASKS_FOR_CERTIFICATES = TLS | {
    "anonymous": True,
    "tls": TLS["tls"] | {"client_ca": "ca.pem"},
}


def _port(gateway: GatewayProcess) -> int:
    return gateway.ports["AMQP over TLS"]


def _shaken(port: int) -> tuple[socket.socket, ssl.SSLObject, ssl.MemoryBIO]:
    """A client whose handshake is over; what is said to it is read from the last."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE
    came, to_send = ssl.MemoryBIO(), ssl.MemoryBIO()
    tls = context.wrap_bio(came, to_send)
    peer = socket.create_connection((HERE, port), timeout=30)
    while True:
        try:
            tls.do_handshake()
        except ssl.SSLWantReadError:
            peer.sendall(to_send.read())
            came.write(peer.recv(READ))
        else:
            peer.sendall(to_send.read())
            return peer, tls, to_send


def _nearly_shaken(port: int, certificates: Path) -> tuple[socket.socket, bytes]:
    """A client and the rest of its handshake, with its certificates, which it has not said yet."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE
    context.load_cert_chain(certificates, certificates.with_suffix(".key"))
    came, to_send = ssl.MemoryBIO(), ssl.MemoryBIO()
    tls = context.wrap_bio(came, to_send)
    peer = socket.create_connection((HERE, port), timeout=30)
    with suppress(ssl.SSLWantReadError):
        tls.do_handshake()
    peer.sendall(to_send.read())
    while True:
        came.write(peer.recv(READ))
        with suppress(ssl.SSLWantReadError):
            tls.do_handshake()
            return peer, to_send.read()


def _push(peers: Sequence[socket.socket], data: Sequence[bytes]) -> None:
    """Have all of them say all that, as fast as it is taken; who is cut off says no more."""
    until = time.monotonic() + ENDS_WITHIN_S
    left = {peer: memoryview(octets) for peer, octets in zip(peers, data, strict=True)}
    with selectors.DefaultSelector() as waiting:
        for peer in peers:
            peer.setblocking(False)
            waiting.register(peer, selectors.EVENT_WRITE)
        while left and time.monotonic() < until:
            for key, _ in waiting.select(1):
                peer = key.fileobj
                assert isinstance(peer, socket.socket)
                try:
                    left[peer] = left[peer][peer.send(left[peer][:READ]) :]
                except BlockingIOError:
                    continue
                except OSError:
                    left[peer] = memoryview(b"")
                if not left[peer]:
                    waiting.unregister(peer)
                    del left[peer]


def _until(over: Callable[[], bool]) -> None:
    """Return when that is so."""
    until = time.monotonic() + ENDS_WITHIN_S
    while not over():
        assert time.monotonic() < until, "it takes too long"
        time.sleep(0.1)


def tiny_records(clients: int) -> Callable[[GatewayProcess, int], Sequence[socket.socket]]:
    """A start-ok without end, before any login, in records of one octet."""

    def play(gateway: GatewayProcess, records: int) -> Sequence[socket.socket]:
        peers, data = [], []
        frame = frame_0_10(FIRST_FRAME | FIRST_SEGMENT, CONTROL, 0, b"\x01\x02" + bytes(60_000))
        for _ in range(clients):
            peer, tls, to_send = _shaken(_port(gateway))
            tls.write(HEADER_0_10)
            for at in range(records):
                tls.write(frame[at : at + 1])
            peers.append(peer)
            data.append(to_send.read())
        _push(peers, data)
        _until(lambda: gateway.metrics()[RECEIVED] >= clients * records)
        return peers

    return play


def unfinished_hellos(gateway: GatewayProcess, count: int) -> Sequence[socket.socket]:
    """Hellos that say that they have 130 KB, of which nearly all comes."""
    hello = b"\x01" + HELLO_OCTETS.to_bytes(3) + b"\x03\x03" + bytes(HELLO_SENT)
    records = [hello[at : at + 16_000] for at in range(0, len(hello), 16_000)]
    said = b"".join(b"\x16\x03\x01" + len(each).to_bytes(2) + each for each in records)
    peers = [socket.create_connection((HERE, _port(gateway)), timeout=30) for _ in range(count)]
    _push(peers, [said] * count)
    for peer in peers:
        peer.settimeout(ENDS_WITHIN_S)
        with suppress(ConnectionResetError):
            assert not peer.recv(READ)
    return peers


def hellos_at_once(gateway: GatewayProcess, count: int) -> Sequence[socket.socket]:
    """Whole hellos, all at the same time, whose answers nobody reads."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname = False
    to_send = ssl.MemoryBIO()
    try:
        context.wrap_bio(ssl.MemoryBIO(), to_send).do_handshake()
    except ssl.SSLWantReadError:
        said = to_send.read()
    peers = [socket.create_connection((HERE, _port(gateway)), timeout=30) for _ in range(count)]
    _push(peers, [said] * count)
    for peer in peers:
        peer.settimeout(ENDS_WITHIN_S)
        assert peer.recv(1)
    return peers


def certificates_at_once(gateway: GatewayProcess, count: int) -> Sequence[socket.socket]:
    """As many of somebody else as may be shown, all at the same time, again and again."""
    file = gateway.directory / CERTIFICATES
    peers: list[socket.socket] = []
    for _ in range(count // CLIENTS):
        for peer in peers:
            peer.close()
        shaken = [_nearly_shaken(_port(gateway), file) for _ in range(CLIENTS)]
        peers = [peer for peer, _ in shaken]
        _push(peers, [said for _, said in shaken])
        for peer in peers:
            peer.settimeout(ENDS_WITHIN_S)
            assert peer.recv(1)  # of an alert
    return peers


def with_certificates(directory: Path) -> None:
    """And what a stranger shows: its own, which is nobody's, and others."""
    with_certificate(directory)
    other = directory / "other"
    other.mkdir()
    one, key = Authority(other).issue("mallory")
    octets = len(ssl.PEM_cert_to_DER_cert(one.read_text())) + 5
    many = directory / CERTIFICATES
    many.write_bytes(one.read_bytes() * (CERTIFICATES_MAX // octets))
    many.with_suffix(".key").write_bytes(key.read_bytes())


def with_certificate(directory: Path) -> None:
    """What the configuration names."""
    Authority(directory).issue("gateway")


ATTACKS = (
    Attack(
        "tiny records, before login",
        tiny_records(CLIENTS),
        30_000,
        1_500,
        config=TLS,
        prepare=with_certificate,
        kept_max=CLIENTS * (KEPT + 64 * 1024),
        units_min=CLIENTS * 1_000 * TLS_RECORD,
    ),
    Attack(
        "unfinished hellos of 120 KB",
        unfinished_hellos,
        900,
        150,
        config=TLS,
        prepare=with_certificate,
        grown_max=12 * MIB,
    ),
    Attack(
        "hellos at once",
        hellos_at_once,
        500,
        100,
        config=TLS,
        prepare=with_certificate,
        kept_max=100 * 2 * KEPT,
        units_min=100 * TLS_HANDSHAKE,
    ),
    Attack(
        "certificates of strangers at once",
        certificates_at_once,
        10 * CLIENTS,
        CLIENTS,
        config=ASKS_FOR_CERTIFICATES,
        prepare=with_certificates,
        kept_max=CLIENTS * 2 * KEPT,
        units_min=CLIENTS * TLS_HANDSHAKE,
    ),
)
