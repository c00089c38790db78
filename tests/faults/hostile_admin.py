"""Attacks on the admin port, and on what keys of topics make the gateway keep."""

from __future__ import annotations

import contextlib
from collections.abc import Sequence
from pathlib import Path

from support.gateway_process import GatewayProcess
from support.raw_peers import Raw, Raw010, Raw10

from gateway.amqp_0_10 import _spec as spec
from gateway.amqp_1_0 import _spec, types
from gateway.wire.tagged import Tagged
from gateway.wire.work import ASKED, SHARE

from .hostile import Attack

MIB = 1024 * 1024
PIECE = bytes(64 * 1024)
TOKEN = "sesame"
CONNECTIONS_MAX = 50
LONG = 2000  # words of a key of 4 KB
PIPELINED = 3000  # requests
SYNCED = 3
BEGINS = b"H"  # an answer, and nothing else in it
SMALL = 2048  # octets of a socket's buffer
PROBE = b"GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n"
SCRAPE = b"GET /metrics HTTP/1.1\r\nHost: x\r\n\r\n"
TOPIC = _spec.LEGACY_AMQP_TOPIC_BINDING
TOPIC_CODE = _spec.LEGACY_AMQP_TOPIC_BINDING_CODE
ENDLESS = (
    b"POST /ctl/reload HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer sesame\r\n"
    b"Content-Length: %d\r\n\r\n",
    b"POST /ctl/reload HTTP/1.1\r\nHost: x\r\nContent-Length: %d\r\n\r\n",
    b"POST /metrics HTTP/1.1\r\nHost: x\r\nContent-Length: %d\r\n\r\n",
    b"POST /ctl/reload HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer sesame\r\n"
    b"Transfer-Encoding: chunked\r\n\r\n%x\r\n",
    b"GET /%d HTTP/1.1\r\nHost: x\r\nX-Endless: ",
)


def token(directory: Path) -> None:
    """The one that `ctl` has to show."""
    file = directory / "token"
    file.write_text(TOKEN)
    file.chmod(0o600)


def endless_requests(gateway: GatewayProcess, octets: int) -> Sequence[Raw]:
    """Requests with so much behind their heads, with the token and without: all are refused."""
    clients: list[Raw] = []
    for head in ENDLESS:
        client = Raw(gateway.admin_port, patience_s=5)
        client.say(head % octets)
        for _ in range(0, octets, len(PIECE)):
            if not client.say(PIECE):
                break
        clients.append(client)
    metrics = gateway.metrics()
    assert metrics['gateway_admin_refused_total{reason="body"}'] >= 2
    assert metrics['gateway_admin_refused_total{reason="no_token"}'] >= 1
    return clients


def many_admin_connections(gateway: GatewayProcess, count: int) -> Sequence[Raw]:
    """Connections that ask nothing, or do not end what they ask; probes get in."""
    clients: list[Raw] = []
    for number in range(count):
        client = Raw(gateway.admin_port)
        with contextlib.suppress(OSError):
            client.say(b"" if number % 2 else b"GET /metrics HTTP/1.1\r\nHost: ")
        clients.append(client)
        if number % 100 == 0:
            assert gateway.get("/healthz") == gateway.get("/readyz") == "ok\n"
    metrics = gateway.metrics()
    assert metrics["gateway_admin_connections"] <= CONNECTIONS_MAX
    assert metrics["gateway_admin_connections_cut_total"] >= count - CONNECTIONS_MAX
    return clients


def pipelined_probes(gateway: GatewayProcess, count: int) -> Sequence[Raw]:
    """Requests one behind the other; a client is answered long before most of them are."""
    other = Raw010(gateway.amqp_port, patience_s=120).log_in()
    session = other.attach()
    clients = [Raw(gateway.admin_port, patience_s=60) for _ in range(count)]
    for client in clients:
        assert client.say(PROBE * PIPELINED)
    for _ in range(SYNCED):
        assert other.does(session, [spec.ExchangeQuery(name="amq.topic")])
    answered = [_answers(client, PIPELINED, waits=False) for client in clients]
    assert sum(answered) < count * PIPELINED // 8
    for client, already in zip(clients, answered, strict=True):
        assert already + _answers(client, PIPELINED - already, waits=True) == PIPELINED
    return [*clients, other]


def _answers(client: Raw, most: int, *, waits: bool) -> int:
    """How many answers to probes come, until there are so many, or no more for now."""
    answered = 0
    client.socket.settimeout(60 if waits else 0)
    with contextlib.suppress(BlockingIOError):
        while answered < most:
            octets = client.socket.recv(1 << 20)
            assert octets, "the connection was ended"
            answered += octets.count(BEGINS)
    return answered


def unread_answers(gateway: GatewayProcess, count: int) -> Sequence[Raw]:
    """Requests one behind the other for long answers, of which none is read."""
    clients: list[Raw] = []
    for _ in range(count):
        client = Raw(gateway.admin_port, patience_s=0.1, receives=SMALL)
        client.say(SCRAPE * PIPELINED)
        clients.append(client)
    for _ in range(120):  # in each of which all who wait are answered
        assert gateway.metrics()["gateway_kept_bytes"] > 0
    return clients


def long_topic_keys(gateway: GatewayProcess, count: int) -> Sequence[Raw]:
    """1.0 links by keys of 4 KB: of 2,000 words, which are refused, and of as many as may be."""
    client = Raw10(gateway.amqp_port, patience_s=60).log_in()
    client.begin()
    for number in range(count):
        for words in (LONG, 1000):
            handle = number * 2 + (words < LONG)
            key = f"{number}" + ".a" * (words - 1) + "x" * (4096 - words * 2)
            source = _spec.Source(address="amq.topic", filter={TOPIC: _topic(key)})
            client.performs(
                _spec.Attach(
                    name=f"l{handle}",
                    handle=handle,
                    role=_spec.RECEIVER,
                    source=source,
                    target=_spec.Target(),
                )
            )
    bound = 'gateway_links{protocol="1.0"}'
    while gateway.metrics()[bound] < count:
        assert client.hear(), "the links with keys that may be are not attached"
    publisher = Raw010(gateway.amqp_port, patience_s=60).log_in()
    session = publisher.attach()
    assert publisher.does(session, [spec.ExchangeQuery(name="amq.topic")])
    metrics = gateway.metrics()
    assert metrics[bound] == count
    assert metrics["gateway_topology_bytes"] <= count * 64 * 1024
    return [client, publisher]


def _topic(key: str) -> Tagged:
    described = types.Described(Tagged(types.ULONG, TOPIC_CODE), Tagged(types.STRING, key))
    return Tagged(types.DESCRIBED, described)


ATTACKS = (
    Attack(
        "400 MB at the admin port",
        endless_requests,
        400 * MIB,
        40 * MIB,
        config={"admin_token_file": "token"},
        prepare=token,
        grown_max=30 * MIB,
    ),
    Attack(
        "3,000 admin connections",
        many_admin_connections,
        3000,
        300,
        config={"admin_connections": CONNECTIONS_MAX},
    ),
    Attack(
        "pipelined probes",
        pipelined_probes,
        90,
        20,
        units_min=20 * PIPELINED * ASKED,
        grown_max=20 * MIB,
    ),
    Attack(
        "answers of the admin port not read",
        unread_answers,
        95,
        95,
        kept_max=95 * 128 * 1024,
        grown_max=40 * MIB,
    ),
    Attack("topic keys of 4 KB", long_topic_keys, 100, 50, kept_max=32 * MIB, units_max=8 * SHARE),
)
