"""`serve` as a process, on real ports: health, metrics, TLS, users, signals, failing starts."""

from __future__ import annotations

import contextlib
import hashlib
import json
import pathlib
import re
import shutil
import signal
import socket
import ssl
import subprocess
import sys
import urllib.error
import urllib.request
from collections.abc import Iterator

import pytest
from prometheus_client.parser import text_string_to_metric_families
from support.certificates import Authority
from support.frames_1_0 import octets_of, read_frames

from gateway.amqp_1_0 import _spec
from gateway.amqp_1_0.connection import Connection
from gateway.amqp_1_0.events import (
    Authenticated,
    DerivationRequested,
    OpenReceived,
    Violation,
)
from gateway.metrics import METRICS
from gateway.net.listening.first_octets import HEADER_0_10, HEADER_1_0_TLS
from gateway.wire.limits import Limits
from gateway.wire.sasl import external
from gateway.wire.scram import ScramClient

pytestmark = pytest.mark.alone
READY = re.compile(r"is ready: (.*), data in")


class Served:
    """A gateway in a process of its own; `ports` by name, once it is ready."""

    def __init__(self, directory: pathlib.Path, *changes: str) -> None:
        self.directory = directory
        given = ["listen.amqp=127.0.0.1:0", "admin=127.0.0.1:0", f"data_directory={directory}/data"]
        options = [part for change in (*given, *changes) for part in ("--set", change)]
        self.process = subprocess.Popen(
            [sys.executable, "-m", "gateway", "serve", *options], stderr=subprocess.PIPE, text=True
        )
        self.ports: dict[str, int] = {}
        self.said: list[str] = []

    def ready(self) -> Served:
        assert self.process.stderr is not None
        for line in self.process.stderr:
            self.said.append(line)
            found = READY.search(line)
            if found:
                for part in found[1].split(", "):
                    name, _, port = part.rpartition(":")
                    self.ports[name.rpartition(" ")[0]] = int(port)
                return self
        raise AssertionError(f"not ready: {self.said}")

    def ended(self) -> tuple[int, str]:
        """Exit code, and everything that it said since it was ready."""
        _, text = self.process.communicate(timeout=180)
        assert "Traceback" not in text, text
        return self.process.returncode, text

    def stop(self) -> tuple[int, str]:
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
        return self.ended()

    def get(self, path: str) -> tuple[int, str]:
        try:
            with urllib.request.urlopen(
                f"http://127.0.0.1:{self.ports['admin']}{path}", timeout=180
            ) as answer:
                return answer.status, answer.read().decode()
        except urllib.error.HTTPError as error:
            return error.code, error.read().decode()

    def tool(self, *arguments: str, given: str | None = None) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [sys.executable, "-m", "gateway", *arguments],
            capture_output=True,
            text=True,
            check=False,
            input=given,
            timeout=180,
        )


@pytest.fixture
def served(tmp_path: pathlib.Path) -> Iterator[Served]:
    made = Served(tmp_path).ready()
    yield made
    made.process.kill()
    made.process.communicate()


def test_it_is_alive_ready_and_measured_and_stops_well(served: Served) -> None:
    assert served.get("/healthz") == served.get("/readyz") == (200, "ok\n")
    port = str(served.ports["AMQP"])
    options = ["--protocol", "0-10", "--port", port, "--to", "q", "--create", "--body", "x"]
    assert served.tool("send", *options).stdout == "1 accepted\n"
    status, text = served.get("/metrics")
    families = {family.name: family for family in text_string_to_metric_families(text)}
    assert status == 200
    assert {row.name.removesuffix("_total") for row in METRICS} <= set(families)
    assert families["gateway_queue_depth_messages"].samples[0].value == 1
    assert "process_cpu_seconds" in families
    assert 'queue="q"' in served.get("/metrics/objects")[1]
    assert served.get("/nothing")[0] == 404
    promtool = shutil.which("promtool")
    if promtool:
        subprocess.run([promtool, "check", "metrics"], input=text, text=True, check=True)
    code, said = served.stop()
    assert code == 0
    assert "Traceback" not in said


def test_two_signals_end_it_at_once_and_without_a_traceback(served: Served) -> None:
    with socket.create_connection(("127.0.0.1", served.ports["AMQP"])) as client:
        client.sendall(HEADER_0_10)
        assert client.recv(8) == HEADER_0_10
        served.process.send_signal(signal.SIGINT)
        served.process.send_signal(signal.SIGTERM)
        code, said = served.ended()
    assert (code, "Traceback" in said) == (0, False)


def test_a_port_in_use_is_one_line(served: Served, tmp_path: pathlib.Path) -> None:
    port = served.ports["AMQP"]
    other = Served(tmp_path / "other", f"listen.amqp=127.0.0.1:{port}")
    code, said = other.ended()
    assert code == 1
    assert said == f"amqp-gateway: cannot listen on 127.0.0.1:{port}: Address already in use\n"


def test_a_data_directory_in_use_is_one_line(served: Served) -> None:
    code, said = Served(served.directory).ended()
    assert code == 1
    assert said.startswith("amqp-gateway: data directory ")
    assert said.count("\n") == 1


def test_json_log_lines(tmp_path: pathlib.Path) -> None:
    made = Served(tmp_path, "logging.format=json").ready()
    assert made.said[-1].startswith('{"time": "2')
    assert made.stop()[0] == 0


# TLS.


class Secured:
    """A gateway with TLS, users, and an authority of client certificates."""

    def __init__(self, tmp_path: pathlib.Path, *changes: str, revokes: bool = False) -> None:
        self.authority = Authority(tmp_path)
        if revokes:
            changes += (f"tls.client_crl={self.authority.revoke()}",)
        certificate, key = self.authority.issue("gateway")
        self.users = tmp_path / "users.yaml"
        self.users.write_text("# nobody yet")
        self.served = Served(
            tmp_path,
            "listen.amqps=127.0.0.1:0",
            f"tls.certificate={certificate}",
            f"tls.key={key}",
            f"tls.client_ca={self.authority.ca}",
            f"users_file={self.users}",
            *changes,
        ).ready()

    def context(self, name: str | None = None) -> ssl.SSLContext:
        made = ssl.create_default_context(cafile=str(self.authority.ca))
        if name is not None:
            made.load_cert_chain(*self.authority.issue(name))
        return made


@pytest.fixture
def secured(tmp_path: pathlib.Path) -> Iterator[Secured]:
    made = Secured(tmp_path)
    yield made
    assert made.served.stop()[0] == 0


@pytest.mark.parametrize("protocol", ["0-10", "1.0"])
def test_users_come_in_over_tls_first_and_others_do_not(secured: Secured, protocol: str) -> None:
    tool = secured.served.tool
    add = ["user", "add", "--file", str(secured.users), "--password-stdin", "alice"]
    assert tool(*add, given="secret").returncode == 0
    send = ["send", "-p", protocol, "--to", "amq.fanout", "--body", "x", "--user", "alice"]
    send += ["--password-stdin", "--port", str(secured.served.ports["AMQP over TLS"])]
    send += ["--tls-ca", str(secured.authority.ca)]
    good = tool(*send, given="secret\n")
    # Nothing is bound to the exchange: the message was taken, and then what each protocol says.
    assert good.stdout in ("1 accepted\n", "1 rejected: no queue took the message\n")
    bad = tool(*send, given="wrong\n")
    assert (bad.returncode, bad.stdout) == (1, "")
    anonymous = tool(*send[:7], *send[10:])
    assert (anonymous.returncode, anonymous.stdout) == (1, "")


def opened_by_external(transport: ssl.SSLSocket) -> list[object]:
    """Authenticate by the certificate alone and open: the events that came, to the first end."""
    client = Connection(
        server=False, container_id="c", limits=Limits(), now_ms=0, able=[external()]
    )
    client.send_open()
    came: list[object] = []
    while not any(isinstance(event, OpenReceived | Violation) for event in came):
        transport.sendall(client.data_to_send())
        data = transport.recv(65536)
        if not data:
            break
        came += client.receive_data(data, 0)
    return came


def test_a_verified_certificate_is_an_identity(secured: Secured) -> None:
    address = ("127.0.0.1", secured.served.ports["AMQP over TLS"])
    with (
        socket.create_connection(address, timeout=180) as plain,
        secured.context("bob").wrap_socket(plain, server_hostname="127.0.0.1") as client,
    ):
        came = opened_by_external(client)
    assert any(isinstance(event, Authenticated) for event in came)
    text = secured.served.get("/metrics")[1]
    assert 'gateway_authentications_total{mechanism="EXTERNAL",outcome="accepted"} 1.0' in text


def opened_without_a_login(transport: ssl.SSLSocket) -> None:
    client = Connection(server=False, container_id="c", limits=Limits(), now_ms=0)
    client.send_open()
    came: list[object] = []
    while not any(isinstance(event, OpenReceived) for event in came):
        transport.sendall(client.data_to_send())
        came += client.receive_data(transport.recv(65536), 0)


def test_a_certificate_that_is_revoked_ends_its_connections_with_the_reload(
    tmp_path: pathlib.Path,
) -> None:
    secured = Secured(tmp_path, "anonymous=true", revokes=True)
    address = ("127.0.0.1", secured.served.ports["AMQP over TLS"])
    clients = {}
    for name, enter in (
        ("alice", opened_by_external),
        ("bob", opened_by_external),
        ("carol", opened_without_a_login),
    ):
        plain = socket.create_connection(address, timeout=180)
        clients[name] = secured.context(name).wrap_socket(plain, server_hostname="127.0.0.1")
        enter(clients[name])
    secured.authority.revoke(tmp_path / "alice.pem", tmp_path / "carol.pem")
    secured.served.process.send_signal(signal.SIGHUP)
    for name in ("alice", "carol"):
        assert b"amqp:unauthorized-access" in clients[name].recv(65536)
    clients["bob"].sendall(octets_of(_spec.Close()))
    assert read_frames(clients["bob"].recv(65536)) == [(0, _spec.Close())]
    for client in clients.values():
        client.close()
    assert secured.served.stop()[0] == 0


def test_a_certificate_that_is_not_believed_is_in_both_logs(tmp_path: pathlib.Path) -> None:
    secured = Secured(tmp_path, revokes=True)
    (tmp_path / "other").mkdir()
    other = Authority(tmp_path / "other", "another authority")
    revoked = secured.authority.issue("mallory")
    secured.authority.revoke(revoked[0])
    secured.served.process.send_signal(signal.SIGHUP)
    assert any("configuration reloaded" in line for line in secured.served.process.stderr or ())
    address = ("127.0.0.1", secured.served.ports["AMQP over TLS"])
    for own in (other.issue("eve"), revoked):
        context = secured.context()
        context.load_cert_chain(*own)
        with contextlib.suppress(OSError), socket.create_connection(address, timeout=180) as plain:
            context.wrap_socket(plain, server_hostname="127.0.0.1").recv(1)
    code, said = secured.served.stop()
    assert code == 0
    assert "EXTERNAL, 'eve': its certificate is of an authority that is not trusted" in said
    log = secured.served.tool("audit", "cat", str(tmp_path / "data" / "audit")).stdout
    records = [json.loads(line) for line in log.splitlines()]
    refused = [each for each in records if each["kind"] == "connection-refused"]
    assert sorted((each["actor"], each["peer"]) for each in refused) == [
        ("eve", "its certificate is of an authority that is not trusted"),
        ("mallory", "its certificate was revoked"),
    ]


def test_without_a_certificate_external_is_not_offered(secured: Secured) -> None:
    address = ("127.0.0.1", secured.served.ports["AMQP over TLS"])
    with (
        socket.create_connection(address, timeout=180) as plain,
        secured.context().wrap_socket(plain, server_hostname="127.0.0.1") as client,
    ):
        [refused] = opened_by_external(client)
    assert isinstance(refused, Violation)  # of what is offered, nothing is what it can do


def test_a_certificate_of_another_authority_opens_nothing(
    secured: Secured, tmp_path: pathlib.Path
) -> None:
    (tmp_path / "elsewhere").mkdir()
    stranger = secured.context()
    stranger.load_cert_chain(*Authority(tmp_path / "elsewhere").issue("alice"))
    address = ("127.0.0.1", secured.served.ports["AMQP over TLS"])
    with (
        socket.create_connection(address, timeout=180) as plain,
        pytest.raises((ssl.SSLError, ConnectionError)),
        stranger.wrap_socket(plain, server_hostname="127.0.0.1") as client,
    ):
        opened_by_external(client)
    text = secured.served.get("/metrics")[1]
    assert 'gateway_handshake_failures_total{reason="tls"} 1.0' in text


def test_tls_is_started_by_the_amqp_header_even_with_the_hello_behind_it(
    secured: Secured,
) -> None:
    incoming, outgoing = ssl.MemoryBIO(), ssl.MemoryBIO()
    tls = secured.context("bob").wrap_bio(incoming, outgoing, server_hostname="127.0.0.1")
    with pytest.raises(ssl.SSLWantReadError):
        tls.do_handshake()
    address = ("127.0.0.1", secured.served.ports["AMQP"])
    with socket.create_connection(address, timeout=180) as client:
        client.sendall(HEADER_1_0_TLS + outgoing.read())
        assert client.recv(8) == HEADER_1_0_TLS
        shaken = False
        while not shaken:
            incoming.write(client.recv(65536))
            try:
                tls.do_handshake()
                shaken = True
            except ssl.SSLWantReadError:
                pass
            client.sendall(outgoing.read())
        tls.write(HEADER_0_10)
        client.sendall(outgoing.read())
        answer = b""
        while len(answer) < 8:
            try:
                answer += tls.read(65536)
            except ssl.SSLWantReadError:
                incoming.write(client.recv(65536))
    assert answer[:8] == HEADER_0_10
    assert b"EXTERNAL" in answer or len(answer) == 8


def test_a_key_that_is_not_the_certificates_is_one_line(tmp_path: pathlib.Path) -> None:
    authority = Authority(tmp_path)
    certificate, _ = authority.issue("one")
    _, key = authority.issue("two")
    code, said = Served(tmp_path, f"tls.certificate={certificate}", f"tls.key={key}").ended()
    assert code == 2
    assert said.startswith(f"tls.key: {key} cannot be used")
    assert said.count("\n") == 1


def test_scram_is_bound_to_the_connection_by_the_servers_certificate(secured: Secured) -> None:
    add = ["user", "add", "--file", str(secured.users), "--password-stdin", "alice"]
    assert secured.served.tool(*add, given="secret").returncode == 0
    # A login makes the gateway look into its users file, of which the offer depends.
    send = ["send", "-p", "1.0", "--to", "amq.fanout", "--user", "alice", "--password-stdin"]
    send += ["--port", str(secured.served.ports["AMQP over TLS"])]
    secured.served.tool(*send, "--tls-ca", str(secured.authority.ca), given="secret\n")
    for binding, fits in ((None, True), (b"x" * 32, False)):
        address = ("127.0.0.1", secured.served.ports["AMQP over TLS"])
        with (
            socket.create_connection(address, timeout=180) as plain,
            secured.context().wrap_socket(plain, server_hostname="127.0.0.1") as client,
        ):
            shown = client.getpeercert(binary_form=True)
            assert shown is not None
            bound = binding or hashlib.sha256(shown).digest()
            came = met(client, bound)
        assert any(isinstance(event, OpenReceived) for event in came) is fits, came


def met(transport: ssl.SSLSocket, bound: bytes) -> list[object]:
    """Authenticate by SCRAM-SHA-256-PLUS and open: the events that came, to the first end."""
    able = ScramClient(
        "SCRAM-SHA-256-PLUS",
        "alice",
        "secret",
        nonce="rOprNGfwEbeRWgbNEkqO",
        binding=("tls-server-end-point", bound),
    )
    client = Connection(server=False, container_id="c", limits=Limits(), now_ms=0, able=[able])
    client.send_open()
    came: list[object] = []
    while not any(isinstance(event, OpenReceived | Violation) for event in came):
        octets = client.data_to_send()
        if octets:
            transport.sendall(octets)
        data = transport.recv(65536)
        if not data:
            break
        came += client.receive_data(data, 0)
        if came and isinstance(came[-1], DerivationRequested):
            came[-1].derivation.run()
            client.send_derived()
    return came


def test_the_admin_port_may_speak_https_and_ctl_with_it(tmp_path: pathlib.Path) -> None:
    (tmp_path / "token").write_text("secret")
    made = Secured(tmp_path, "admin_tls=true", f"admin_token_file={tmp_path}/token")
    url = f"https://127.0.0.1:{made.served.ports['admin']}"
    with urllib.request.urlopen(f"{url}/healthz", timeout=180, context=made.context()) as answer:
        assert answer.read() == b"ok\n"
    ctl = ["ctl", "--admin", url, "--token-file", str(tmp_path / "token")]
    done = made.served.tool(*ctl, "--tls-ca", str(made.authority.ca), "reload")
    assert done.returncode == 0, done.stderr
    assert made.served.tool(*ctl, "reload").returncode == 1  # nobody we believe
    assert made.served.tool(*ctl, "--tls-ca", str(tmp_path / "token"), "reload").returncode == 2
    with pytest.raises(urllib.error.HTTPError, match="400") as refused:
        urllib.request.urlopen(f"http{url[5:]}/healthz", timeout=180)
    assert refused.value.read() == b"This port speaks HTTPS.\n"
    backup = ["backup", *ctl[1:]]
    assert made.served.tool(*backup, str(tmp_path / "copy")).returncode == 1
    done = made.served.tool(*backup, "--tls-ca", str(made.authority.ca), str(tmp_path / "copy"))
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "copy" / "store.sqlite").exists()
    large = urllib.request.Request(f"{url}/ctl/reload", data=b"x" * 200_000)
    with pytest.raises(urllib.error.HTTPError, match="401"):
        urllib.request.urlopen(large, timeout=180, context=made.context())
    code, said = made.served.stop()
    assert code == 0
    assert said.count("plain HTTP at the admin port, which speaks HTTPS, from 127.0.0.1") == 1
