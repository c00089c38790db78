"""Kerberos: logins by GSSAPI of foreign clients, against MIT's KDC."""

import dataclasses
from collections.abc import Iterator
from pathlib import Path

import pytest
from interop import foreign
from interop.addresses import jms_queue
from interop.declaring import declare_queues
from interop.foreign import PASSWORD, USER, Client
from interop.kdc import REALM, Kdc
from interop.needed import needed
from support.gateway_process import GatewayProcess

# Cyrus asks for a ticket by what it dials, the Java client of 0-10 by its default
SERVICES = ("amqp/127.0.0.1", "AMQP/localhost")
TEXT = {"body": ["text", "proved"]}
JAAS = """\
%s {
  com.sun.security.auth.module.Krb5LoginModule required
  useTicketCache=true ticketCache="%s" doNotPrompt=true;
};
"""


@pytest.fixture(scope="module")
def kdc(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Kdc]:
    """A realm with USER and another one, and with the gateway's services."""
    needed("kerberos")
    with Kdc(tmp_path_factory.mktemp("kdc")) as running:
        running.add_user(USER, PASSWORD)
        running.add_user("mapped/admin", PASSWORD)
        for service in SERVICES:
            running.add_service(service)
        yield running


@pytest.fixture(scope="module")
def gateway(tmp_path_factory: pytest.TempPathFactory, kdc: Kdc) -> Iterator[GatewayProcess]:
    """Lets in whoever has a ticket of the realm."""
    gssapi = {
        "keytab": str(kdc.keytab),
        "realm": REALM,
        "users": {f"mapped/admin@{REALM}": "root"},
    }
    config = {"gssapi": gssapi, "anonymous": True}
    directory = tmp_path_factory.mktemp("gateway")
    with GatewayProcess(directory, config, environment=kdc.environment) as running:
        yield running


@pytest.fixture
def queue(gateway: GatewayProcess, name: str) -> str:
    declare_queues(gateway.amqp_port, name)
    return name


def of_user(client: Client, environment: dict[str, str]) -> Client:
    """The client in the environment of who has a ticket."""
    return dataclasses.replace(client, environment={**client.environment, **environment})


def java_of_user(client: Client, kdc: Kdc, directory: Path, entry: str) -> Client:
    """The same of a client of Java, which has its own ways to be told."""
    ticket = kdc.ticket(USER, PASSWORD)
    jaas = directory / "jaas.conf"
    jaas.write_text(JAAS % (entry, ticket["KRB5CCNAME"].removeprefix("FILE:")))
    options = (
        f"-Djava.security.auth.login.config={jaas}",
        f"-Djava.security.krb5.conf={ticket['KRB5_CONFIG']}",
        "-Djavax.security.auth.useSubjectCredsOnly=false",
    )
    return of_user(client, {"JAVA_TOOL_OPTIONS": " ".join(options)})


def counted(gateway: GatewayProcess, outcome: str = "accepted") -> float:
    """How many logins had that outcome."""
    name = f'gateway_authentications_total{{mechanism="GSSAPI",outcome="{outcome}"}}'
    return gateway.metrics()[name]


def opened(gateway: GatewayProcess, user: str) -> bool:
    """Whether the log has a connection of that user, by GSSAPI."""
    return any(
        f"opened: '{user}'" in line and "GSSAPI" in line for line in gateway.log().splitlines()
    )


def test_cyrus_logs_in_by_its_ticket_and_sends_and_receives(
    proton: Client, gateway: GatewayProcess, kdc: Kdc, queue: str
) -> None:
    before = counted(gateway)
    alice = of_user(proton, kdc.ticket(USER, PASSWORD))
    message = {"body": ["string", "proved"]}
    alice.run("send", gateway.amqp_port, [message], address=queue, mechanism="GSSAPI")
    said = alice.run("receive", gateway.amqp_port, address=queue, mechanism="GSSAPI")
    assert [each["body"] for each in said.received] == [["string", "proved"]]
    assert counted(gateway) == before + 2


def test_a_principal_may_be_another_user(
    proton: Client, gateway: GatewayProcess, kdc: Kdc, queue: str
) -> None:
    admin = of_user(proton, kdc.ticket("mapped/admin", PASSWORD))
    message = {"body": ["string", "proved"]}
    admin.run("send", gateway.amqp_port, [message], address=queue, mechanism="GSSAPI")
    assert "refused a login" not in gateway.log()


def test_cyrus_without_a_ticket_does_not_come_in(
    proton: Client, gateway: GatewayProcess, kdc: Kdc, queue: str
) -> None:
    before = counted(gateway)
    nobody = of_user(proton, kdc.environment)
    said = nobody.start("receive", gateway.amqp_port, address=queue, mechanism="GSSAPI").finish()
    assert said.exit_code == 1
    assert said.errors
    assert counted(gateway) == before


def test_the_java_client_of_0_10_logs_in_by_its_ticket(
    jms: Client, gateway: GatewayProcess, kdc: Kdc, queue: str, tmp_path: Path
) -> None:
    before = counted(gateway)
    alice = java_of_user(jms, kdc, tmp_path, "com.sun.security.jgss.initiate")
    there = jms_queue(queue)
    alice.run("publish", gateway.amqp_port, [TEXT], destination=there, mechanism="GSSAPI")
    said = alice.run("consume", gateway.amqp_port, destination=there, mechanism="GSSAPI")
    assert [each["body"] for each in said.received] == [["text", "proved"]]
    assert counted(gateway) == before + 2


def test_the_java_client_of_1_0_logs_in_by_its_ticket(
    gateway: GatewayProcess, kdc: Kdc, queue: str, tmp_path: Path
) -> None:
    needed("jms")
    needed("artemis")
    before = counted(gateway)
    alice = java_of_user(foreign.JMS_1_0, kdc, tmp_path, "amqp-jms-client")
    there = f"QUEUE:{queue}"
    alice.run("publish", gateway.amqp_port, [TEXT], destination=there, mechanism="GSSAPI")
    said = alice.run("consume", gateway.amqp_port, destination=there, mechanism="GSSAPI")
    assert [each["body"] for each in said.received] == [["text", "proved"]]
    assert counted(gateway) == before + 2
