"""`ctl connections` and `ctl close`: who is there, and how a connection ends by an operator."""

from __future__ import annotations

import json
import pathlib
from typing import Any

import pytest
from support.net import Wire
from support.whole_gateway import WholeGateway
from twisted.internet.address import IPv4Address

from gateway.clients.client import Client
from gateway.clients.letter import Letter, Typed
from gateway.errors import ConfigurationError
from gateway.net.admin.connections import close, connections


@pytest.fixture
def whole(tmp_path: pathlib.Path) -> WholeGateway:
    return WholeGateway(tmp_path / "data").start()


def connected(whole: WholeGateway, protocol: str) -> Client:
    client: Client = whole.connect_0_10() if protocol == "0-10" else whole.connect_1_0()
    whole.result(client.ready())
    return client


def told(whole: WholeGateway) -> list[dict[str, Any]]:
    text = "".join(connections(whole.service.door))
    found: list[dict[str, Any]] = json.loads(text)["connections"]
    return found


def end_of(whole: WholeGateway, client: Client) -> str:
    lost: list[str] = []
    client.lost().addErrback(lambda failure: lost.append(str(failure.value)))
    whole.run()
    return lost[0] if lost else ""


def test_a_connection_is_told_with_all_that_is_known_of_it(whole: WholeGateway) -> None:
    old, new = connected(whole, "0-10"), connected(whole, "1.0")
    new.send("amq.fanout", Letter(body=Typed("string", "x" * 1000)))
    whole.pass_time(5)
    first, second = told(whole)
    assert [each["number"] for each in (first, second)] == [1, 2]
    assert [each["protocol"] for each in (first, second)] == ["0-10", "1.0"]
    for each in (first, second):
        who = (each["address"], each["user"], each["mechanism"])
        assert who == ("127.0.0.1:40000", "", "ANONYMOUS")
        assert (each["open"], each["tls"], each["sessions"], each["since_s"]) == (True, False, 1, 5)
        assert each["since"] == "2023-11-14T22:13:20+00:00"
        assert "127.0.0.1" not in each["product"]
    assert "amqp-gateway-client-" in second["product"]
    assert (first["links"], second["links"]) == (0, 1)
    assert second["octets_in"] > 1000 > second["octets_out"] > 0
    assert old is not new
    whole.stop()


def test_what_has_not_said_who_it_is_is_told_too(whole: WholeGateway) -> None:
    pump = whole.service.door.admit("192.0.2.7", tls_first=False)
    assert pump is not None
    (only,) = told(whole)
    assert (only["open"], only["protocol"], only["address"]) == (False, None, "192.0.2.7")


@pytest.mark.parametrize(("protocol", "code"), [("0-10", "320"), ("1.0", "amqp:connection:forced")])
def test_a_connection_is_closed_and_its_client_told_why(
    whole: WholeGateway, protocol: str, code: str
) -> None:
    one, other = connected(whole, protocol), connected(whole, protocol)
    assert close(whole.service.door, 1, "moved away").startswith("connection 1 of no user")
    end = end_of(whole, one)
    assert "moved away" in end
    assert code in end
    assert end_of(whole, other) == ""
    assert [each["number"] for each in told(whole)] == [2]
    whole.stop()


@pytest.mark.parametrize("said", [b"", b"AMQP\x01\x01\x00\x0a", b"AMQP\x03\x01\x00\x00"])
def test_what_is_not_in_yet_is_closed_at_once(whole: WholeGateway, said: bytes) -> None:
    factory = whole.reactor.tcpServers[0][1]
    pump = factory.buildProtocol(IPv4Address("TCP", "192.0.2.7", 40_000))
    wire = Wire()
    wire.protocol = pump
    pump.makeConnection(wire)
    pump.dataReceived(said)
    whole.run()
    told_it = close(whole.service.door, 1, "no")
    assert told_it == "connection 1 of a client that is not in yet from 192.0.2.7:40000 is closed"
    whole.run()
    assert wire.half_closed or wire.aborted
    pump.connectionLost()
    assert told(whole) == []


def test_without_a_reason_it_is_told_who_did_it(whole: WholeGateway) -> None:
    client = connected(whole, "1.0")
    close(whole.service.door, 1, "")
    assert "closed by an operator" in end_of(whole, client)


@pytest.mark.parametrize(("number", "text"), [(7, ""), (1, "\N{SNOWMAN}" * 100)])
def test_what_cannot_be_closed_is_a_problem(whole: WholeGateway, number: int, text: str) -> None:
    connected(whole, "1.0")
    with pytest.raises(ConfigurationError):
        close(whole.service.door, number, text)
    assert len(told(whole)) == 1
