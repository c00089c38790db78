"""A whole gateway at a scripted Azure Service Bus over TLS: keys, tokens, a host that is down."""

import base64
import contextlib
import hashlib
import hmac
import pathlib
import socket
import ssl
import threading
import time
from collections.abc import Iterator
from types import TracebackType
from typing import Any, Self
from urllib.parse import parse_qs

import pytest
from interop.brokers.broker import free_ports
from interop.upstream.talk import RefusedError, Talk
from support.certificates import Authority
from support.gateway_process import GatewayProcess
from support.service_bus import NAMESPACE, ServiceBus

pytestmark = pytest.mark.alone
KEY = "c2VjcmV0IGtleQ=="
ENTITY = "orders"
LOOKS_EVERY_S = 0.02


class Service:
    """A namespace with one entity behind a TLS port; a thread that serves a connection at a time.

    Attributes:
        buses: the script of each connection.
        stored: the payloads in the entity.
    """

    def __init__(self, certificate: pathlib.Path, key: pathlib.Path) -> None:
        self._context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        self._context.load_cert_chain(certificate, key)
        self._socket = socket.create_server(("127.0.0.1", 0))
        self._socket.settimeout(LOOKS_EVERY_S)
        self.port: int = self._socket.getsockname()[1]
        self.buses: list[Any] = []
        self.stored: list[bytes] = []
        self.statuses: dict[str, tuple[int, str]] = {}
        self._ends = threading.Event()
        self._thread = threading.Thread(target=self._serve)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._ends.set()
        self._thread.join(10)
        self._socket.close()

    def _serve(self) -> None:
        while not self._ends.is_set():
            with contextlib.suppress(TimeoutError, OSError):
                raw, _ = self._socket.accept()
                raw.settimeout(5)
                with self._context.wrap_socket(raw, server_side=True) as taken:
                    taken.settimeout(LOOKS_EVERY_S)
                    self._talk(taken)

    def _talk(self, taken: ssl.SSLSocket) -> None:
        bus = ServiceBus(_now_ms(), statuses=self.statuses)
        self.buses.append(bus)
        while not self._ends.is_set():
            with contextlib.suppress(TimeoutError):
                octets = taken.recv(1 << 16)
                if not octets:
                    return
                bus.receive(octets, _now_ms())
            for delivery in bus.received():
                bus.settle(delivery)
                self.stored.append(delivery.payload)
            for link in bus.links(ENTITY, sends=True):
                if link.credit and self.stored:
                    bus.deliver(ENTITY, self.stored.pop(0))
            octets = bus.connection.data_to_send()
            if octets:
                taken.sendall(octets)


def _now_ms() -> int:
    return int(time.monotonic() * 1000)


@pytest.fixture
def service(tmp_path: pathlib.Path) -> Iterator[Service]:
    """It runs."""
    certificate, key = Authority(tmp_path).issue("bus")
    with Service(certificate, key) as running:
        yield running


def gateway_at(service: Service, tmp_path: pathlib.Path, **keys: object) -> GatewayProcess:
    (closed,) = free_ports(1)
    upstream = {
        "hosts": [f"amqps://127.0.0.1:{port}" for port in (closed, service.port)],
        "profile": "azure-service-bus",
        "hostname": NAMESPACE,
        "tls": {"ca": str(tmp_path / "ca.pem")},
        "back_off": {"initial": "50ms", "maximum": "200ms"},
        **keys,
    }
    return GatewayProcess(
        tmp_path / "gateway",
        {"upstreams": {"bus": upstream}, "nodes": [{"queue": ENTITY, "upstream": "bus"}]},
    )


def with_key(service: Service, tmp_path: pathlib.Path) -> GatewayProcess:
    file = tmp_path / "key"
    file.write_text(KEY + "\n")
    return gateway_at(service, tmp_path, sas_key_name="root", sas_key_file=str(file))


def test_a_0_10_client_sends_to_an_entity_and_receives_from_it(
    service: Service, tmp_path: pathlib.Path
) -> None:
    with with_key(service, tmp_path) as gateway:
        talk = Talk(gateway.amqp_port)
        talk.puts(ENTITY, b"1", b"2")
        talk.subscribes(ENTITY)
        got = talk.gets(2)
        assert [each.body for each in got] == [b"1", b"2"]
        talk.accepts(*got)
        talk.detach()
        talk.hang_up()
    (bus,) = service.buses
    assert bus.refused == []
    (put,) = bus.puts
    _kind, _, fields = put["token"].partition(" ")
    values = {name: each[0] for name, each in parse_qs(fields).items()}
    assert put["name"] == values["sr"] == f"sb://{NAMESPACE}/{ENTITY}"
    signed = f"sb%3A%2F%2F{NAMESPACE}%2F{ENTITY}\n{values['se']}".encode()
    assert base64.b64decode(values["sig"]) == hmac.digest(KEY.encode(), signed, hashlib.sha256)
    assert int(values["se"]) == pytest.approx(time.time() + 3600, abs=60)


def test_a_token_that_is_not_taken_is_said_in_the_log_and_to_the_client(
    service: Service, tmp_path: pathlib.Path
) -> None:
    service.statuses[ENTITY] = (401, "InvalidSignature")
    with with_key(service, tmp_path) as gateway:
        talk = Talk(gateway.amqp_port)
        with pytest.raises(RefusedError, match="401 InvalidSignature") as refused:
            talk.subscribes(ENTITY)
        assert refused.value.code == 403
        talk.hang_up()
        assert gateway.said(f"token for {ENTITY}: 401 InvalidSignature")
        assert KEY not in gateway.log()


def test_a_bearer_token_in_a_file_is_put_for_the_entity(
    service: Service, tmp_path: pathlib.Path
) -> None:
    file = tmp_path / "token"
    file.write_text("opaque\n")
    with gateway_at(service, tmp_path, token_file=str(file)) as gateway:
        talk = Talk(gateway.amqp_port)
        talk.puts(ENTITY, b"1")
        talk.hang_up()
    (put,) = service.buses[0].puts
    assert (put["type"], put["token"]) == ("jwt", "opaque")
