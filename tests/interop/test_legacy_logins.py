"""CRAM-MD5 and DIGEST-MD5 of foreign clients, where the gateway is told to offer them."""

from collections.abc import Iterator
from typing import Any

import pytest
from interop import foreign
from interop.addresses import jms_queue
from interop.declaring import declare_queues
from interop.foreign import PASSWORD, USER, Client
from interop.needed import needed
from support.gateway_process import GatewayProcess

LEGACY = ("DIGEST-MD5", "CRAM-MD5-HASHED", "CRAM-MD5")
CYRUS = pytest.mark.parametrize("mechanism", ["DIGEST-MD5", "CRAM-MD5"])
JAVA_0_10 = pytest.mark.parametrize("mechanism", ["CRAM-MD5-HASHED", "CRAM-MD5"])
USERS = [(USER, PASSWORD), ("m\u00fcller", "p\u00e4ssw\u00f6rd"), ("\u03bb", "\u03ba")]
TEXT = {"body": ["text", "proved"]}


@pytest.fixture(scope="module")
def gateway(tmp_path_factory: pytest.TempPathFactory) -> Iterator[GatewayProcess]:
    """Anonymous clients are allowed, and users with their passwords by each of them."""
    directory = tmp_path_factory.mktemp("gateway")
    users = directory / "users.yaml"
    config = {"users_file": str(users), "anonymous": True, "legacy_mechanisms": list(LEGACY)}
    made = GatewayProcess(directory, config)
    wanted = [part for each in LEGACY for part in ("--legacy", each)]
    for name, password in USERS:
        arguments = ["add", "--file", str(users), "--password-stdin", *wanted, name]
        added = made.tool("user", *arguments, given=password)
        assert added.returncode == 0, added.stderr
    with made as running:
        yield running


@pytest.fixture
def queue(gateway: GatewayProcess, name: str) -> str:
    declare_queues(gateway.amqp_port, name)
    return name


@pytest.fixture
def qpid_jms() -> Client:
    """The Java JMS client of 1.0."""
    needed("jms")
    needed("artemis")
    return foreign.JMS_1_0


def login(mechanism: str, password: str = PASSWORD) -> dict[str, Any]:
    return {"user": USER, "password": password, "mechanism": mechanism}


def counted(gateway: GatewayProcess, mechanism: str, outcome: str = "accepted") -> float:
    """How many logins by that mechanism had that outcome."""
    name = f'gateway_authentications_total{{mechanism="{mechanism}",outcome="{outcome}"}}'
    return gateway.metrics()[name]


@CYRUS
def test_cyrus_and_the_gateway_know_each_other(
    proton: Client, gateway: GatewayProcess, queue: str, mechanism: str
) -> None:
    before = counted(gateway, mechanism)
    message = {"body": ["string", "proved"]}
    proton.run("send", gateway.amqp_port, [message], address=queue, **login(mechanism))
    said = proton.run("receive", gateway.amqp_port, address=queue, **login(mechanism))
    assert [each["body"] for each in said.received] == [["string", "proved"]]
    assert counted(gateway, mechanism) == before + 2


@CYRUS
@pytest.mark.parametrize(("user", "password"), USERS[1:])
def test_names_and_passwords_beyond_ascii_are_those_of_cyrus(
    proton: Client, gateway: GatewayProcess, queue: str, mechanism: str, user: str, password: str
) -> None:
    who = {"user": user, "password": password, "mechanism": mechanism}
    message = {"body": ["string", "proved"]}
    proton.run("send", gateway.amqp_port, [message], address=queue, **who)


@JAVA_0_10
@pytest.mark.parametrize(("user", "password"), USERS[1:])
def test_names_and_passwords_beyond_ascii_are_those_of_java(
    jms: Client, gateway: GatewayProcess, queue: str, mechanism: str, user: str, password: str
) -> None:
    who = {"user": user, "password": password, "mechanism": mechanism}
    jms.run("publish", gateway.amqp_port, [TEXT], destination=jms_queue(queue), **who)


@CYRUS
def test_cyrus_is_refused_with_a_wrong_password(
    proton: Client, gateway: GatewayProcess, queue: str, mechanism: str
) -> None:
    before = counted(gateway, mechanism, "refused")
    wrong = login(mechanism, "looking-glass")
    said = proton.start("receive", gateway.amqp_port, address=queue, **wrong).finish()
    assert said.exit_code == 1
    assert said.errors
    assert counted(gateway, mechanism, "refused") == before + 1


@JAVA_0_10
def test_the_java_client_of_0_10_proves_its_password(
    jms: Client, gateway: GatewayProcess, queue: str, mechanism: str
) -> None:
    before = counted(gateway, mechanism)
    there = jms_queue(queue)
    jms.run("publish", gateway.amqp_port, [TEXT], destination=there, **login(mechanism))
    said = jms.run("consume", gateway.amqp_port, destination=there, **login(mechanism))
    assert [each["body"] for each in said.received] == [["text", "proved"]]
    assert counted(gateway, mechanism) == before + 2


@JAVA_0_10
def test_the_java_client_of_0_10_is_refused_with_a_wrong_password(
    jms: Client, gateway: GatewayProcess, queue: str, mechanism: str
) -> None:
    before = counted(gateway, mechanism, "refused")
    wrong = login(mechanism, "looking-glass")
    there = jms_queue(queue)
    said = jms.start("consume", gateway.amqp_port, destination=there, **wrong).finish()
    assert said.exit_code == 1
    assert said.errors
    assert counted(gateway, mechanism, "refused") == before + 1


def test_the_java_client_of_1_0_proves_its_password_by_cram_md5(
    qpid_jms: Client, gateway: GatewayProcess, queue: str
) -> None:
    before = counted(gateway, "CRAM-MD5")
    there = f"QUEUE:{queue}"
    qpid_jms.run("publish", gateway.amqp_port, [TEXT], destination=there, **login("CRAM-MD5"))
    said = qpid_jms.run("consume", gateway.amqp_port, destination=there, **login("CRAM-MD5"))
    assert [each["body"] for each in said.received] == [["text", "proved"]]
    assert counted(gateway, "CRAM-MD5") == before + 2


def test_check_says_what_they_cost(gateway: GatewayProcess) -> None:
    done = gateway.tool("check", "--config", str(gateway.directory / "gateway.yaml"))
    assert done.returncode == 0
    said = done.stdout + done.stderr
    for mechanism in LEGACY:
        assert f"legacy_mechanisms: {mechanism} costs what SCRAM saves" in said
