"""What `check --connect` shows of what was found out."""

from __future__ import annotations

from gateway.cli.check_connect import lines
from gateway.clients.findings import Ability, Finding, Node, Presence


def finding() -> Finding:
    return Finding(
        "main",
        profile="artemis",
        reached=True,
        host="amqps://broker-b:5671",
        other_hosts={"amqps://broker-a:5671": "connection refused"},
        product="Some Broker",
        version="1.2",
        mechanism="PLAIN",
        mechanisms=["PLAIN", "ANONYMOUS"],
        tls="TLSv1.3, certificate of CN=broker, valid until 2027-01-01",
        frame_size=131072,
        channels=64,
        idle_timeout_ms=30_000,
        message_size=1 << 24,
        abilities=[
            Ability("transactions", True, False, "amqp:not-implemented"),
            Ability("browsing", False, True),
            Ability("selectors", True, True),
            Ability("nodes on request", False, False, "no such"),
            Ability("modified", True),
        ],
        nodes=[
            Node("nodes.0", "queue", "orders", "orders", state=Presence.YES, spool=True),
            Node("nodes.1", "queue", "a", "a", state=Presence.NO, problem="amqp:not-found"),
        ],
        lacks=[("queue.purge: 540", ["nodes.0", "nodes.1"])],
    )


def test_what_is_wrong_is_marked_and_all_else_is_told() -> None:
    assert list(lines(finding())) == [
        "   main: amqps://broker-b:5671: Some Broker 1.2 (profile artemis)",
        "     another host: amqps://broker-a:5671: connection refused",
        "     login: PLAIN (offered: PLAIN, ANONYMOUS)",
        "     TLS: TLSv1.3, certificate of CN=broker, valid until 2027-01-01",
        "     limits: frames up to 128KiB, 64 sessions, closes after 30 s of silence",
        "     largest message: 16MiB; the gateway rejects larger ones",
        "     it says: nothing in particular",
        "!!   transactions: REFUSED, but profile artemis counts on it: amqp:not-implemented",
        "     browsing: not used: it answers yes, but the profile does not trust it",
        "     selectors: yes",
        "     nodes on request: no: no such",
        "     modified: yes, by the profile",
        "     nodes.0: queue orders (spool): orders: found",
        "!!   nodes.1: queue a: a: missing: amqp:not-found",
        "     will not work, by the profile:",
        "       queue.purge: 540 (nodes.0, nodes.1)",
    ]


def test_one_that_cannot_be_reached_is_one_line_and_its_nodes() -> None:
    gone = Finding(
        "main", problem="amqp://a:1: refused", nodes=[Node("nodes.0", "queue", "q", "q")]
    )
    assert list(lines(gone)) == [
        "!! main: cannot be reached: amqp://a:1: refused",
        "!!   nodes.0: queue q: q: not known",
    ]


def test_a_broker_that_the_profile_is_not_of_is_wrong() -> None:
    other = Finding("main", "rabbitmq4", ["RabbitMQ 4"], reached=True, product="Some", version="1")
    told = "!!   it is not what profile rabbitmq4 is for: RabbitMQ 4; nothing was asked of it"
    assert told in list(lines(other))


def test_an_interrogation_that_broke_off_is_wrong() -> None:
    broken = Finding("main", reached=True, problem="the connection ended")
    assert "!!   it was not asked everything: the connection ended" in list(lines(broken))
