"""Programs of Qpid's C++ client meet in the gateway what they met in the qpidd that they had.

Each scenario is run against both at the same time; what programs print, which exceptions they are
told of and how they end has to be equal. What exceptions say in words is each broker's own.
"""

import uuid
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from interop import installed, qpid_cpp
from interop.needed import without
from support.gateway_process import GatewayProcess

STORED = 'gateway_messages_total{outcome="entered",stage="queued"}'
SCENARIOS = qpid_cpp.scenarios()
Told = list[tuple[str, qpid_cpp.Said]]
UNANSWERED = "a queue that is full"  # by a qpidd to a sender of 1.0, which waits for ever
# Of 1.0: why a program hears something else.
OTHERWISE = {
    "a durable link with bindings of its own": "no queue takes it: rejected, by a qpidd accepted",
    "a binding by headers": "the same",
    "a topic exchange of its own": "the same",
    "nodes that are not there": "a topic that is nothing but a name is one of amq.topic, for JMS",
}
pytestmark = pytest.mark.qpidd


@pytest.fixture(scope="module", autouse=True)
def programs() -> None:
    """They are there."""
    lacking = installed.qpidd_missing()
    if lacking is not None:
        without(lacking)


@pytest.fixture(scope="module")
def broker(programs: None) -> Iterator[int]:
    """The port of a real qpidd."""
    with qpid_cpp.qpidd() as port:
        yield port


def both(scenario: str, broker: int, gateway: GatewayProcess, protocol: str) -> list[Told]:
    """What a qpidd's programs are told, and the gateway's."""

    unique = uuid.uuid4().hex[:8]
    lines = [qpid_cpp.named(line, unique) for line in SCENARIOS[scenario]]

    def all_of_it(port: int) -> Told:
        return [(line, qpid_cpp.run(line, port, f"{{protocol: {protocol}}}")) for line in lines]

    with ThreadPoolExecutor(2) as programs:
        return list(programs.map(all_of_it, (broker, gateway.amqp_port)))


@pytest.mark.parametrize("scenario", SCENARIOS)
def test_a_program_of_amqp_0_10_is_told_the_same(
    scenario: str, broker: int, gateway: GatewayProcess
) -> None:
    by_qpidd, by_gateway = both(scenario, broker, gateway, "amqp0-10")
    assert by_gateway == by_qpidd


@pytest.mark.parametrize("scenario", [each for each in SCENARIOS if each != UNANSWERED])
def test_a_program_of_amqp_1_0_is_told_the_same_but_for_what_is_lost_by_a_qpidd(
    scenario: str, broker: int, gateway: GatewayProcess
) -> None:
    by_qpidd, by_gateway = both(scenario, broker, gateway, "amqp1.0")
    if scenario in OTHERWISE:
        assert by_gateway != by_qpidd, OTHERWISE[scenario]
    else:
        assert by_gateway == by_qpidd


def test_what_reconnects_loses_nothing_when_the_gateway_is_killed(tmp_path: Path) -> None:
    gateway = GatewayProcess(tmp_path / "gateway", {"anonymous": True}).start()
    reconnect = "{protocol: amqp0-10, reconnect: true, reconnect-interval: 1}"
    send = "send -a 'q; {create: always, node: {durable: true}}' --durable yes -m 3000"
    take = "receive -a q -m 3000 --ignore-duplicates --check-redelivered --verify-sequence"
    with ThreadPoolExecutor(2) as programs:
        sent = programs.submit(qpid_cpp.run, send, gateway.amqp_port, reconnect)
        while gateway.metrics()[STORED] < 300:
            pass
        received = programs.submit(qpid_cpp.run, take, gateway.amqp_port, reconnect)
        for _ in range(2):
            gateway.kill()
            gateway.start(same_ports=True)
        assert sent.result().exit_code == 0
        lines = received.result()
    assert (lines.exit_code, lines.output.count("\n")) == (0, 3000)
    assert gateway.stop() == 0
