"""What the configuration has of exchanges, queues and bindings is there from the start."""

import pathlib

import pytest
import yaml
from support.whole_gateway import WholeGateway
from twisted.logger import capturedLogs, formatEvent

from gateway.clients.client import Client, Delivered, Subscription
from gateway.clients.letter import Letter, Typed
from gateway.errors import ConfigurationError

HOST = {
    "name": "main",
    "exchanges": [
        {"name": "all", "type": "fanout"},
        {"name": "kinds", "type": "topic", "alternate_exchange": "all"},
    ],
    "queues": [
        {"name": "everything"},
        {"name": "news", "arguments": {"qpid.policy_type": "ring", "qpid.max_count": 2}},
    ],
    "bindings": [
        {"exchange": "all", "queue": "everything"},
        {"exchange": "kinds", "queue": "news", "key": "news.#"},
    ],
}


def configured(**changes: object) -> str:
    return "virtual_hosts=" + yaml.safe_dump([HOST | changes], default_flow_style=True)


def depths(gateway: WholeGateway) -> dict[str, int]:
    queues = gateway.service.bridge.default_host.topology.queues
    return {name: queue.depth for name, queue in queues.items()}


def publish(gateway: WholeGateway, address: str, *bodies: str) -> None:
    client = gateway.connect_1_0()
    for body in bodies:
        letter = Letter(body=Typed("string", body), durable=True)
        assert gateway.result(client.send(address, letter)) == "accepted"


def test_clients_find_them_and_a_restart_makes_nothing_twice(tmp_path: pathlib.Path):
    for _ in range(2):
        gateway = WholeGateway(tmp_path, configured()).start()
        publish(gateway, "kinds/news.uk", "1", "2")
        publish(gateway, "kinds/weather", "3")
        gateway.stop()
    gateway = WholeGateway(tmp_path, configured()).start()
    assert depths(gateway) == {"news": 2, "everything": 2}
    gateway.stop()


def test_a_queue_that_is_there_stays_as_it_is_and_that_is_told(tmp_path: pathlib.Path):
    WholeGateway(tmp_path, configured()).start().stop()
    with capturedLogs() as events:
        gateway = WholeGateway(
            tmp_path, configured(queues=[{"name": "everything"}, {"name": "news"}])
        ).start()
    publish(gateway, "kinds/news.uk", "1", "2", "3")
    assert depths(gateway)["news"] == 2
    gateway.stop()
    told = [formatEvent(event) for event in events]
    [line] = [line for line in told if "was declared otherwise" in line]
    assert "'news'" in line and "max_count=2" in line and "ring" in line


def received(gateway: WholeGateway, client: Client, address: str) -> list[tuple[object, ...]]:
    """Body and numbers of what is there, as that client sees them."""
    taken: list[Letter] = []

    def take(delivered: Delivered) -> None:
        taken.append(delivered.letter)
        delivered.settle("accept")

    gateway.result(client.receive(Subscription(address), take))
    gateway.let_happen(lambda: bool(taken))
    return [
        (each.body.value, *[each.properties[name].value for name in ("qpid.msg_sequence", "seq")])
        for each in taken
    ]


@pytest.mark.parametrize("protocol", ["0-10", "1.0"])
def test_messages_are_numbered_and_remembered_for_clients_of_both_protocols(
    tmp_path: pathlib.Path, protocol: str
):
    marks = {"qpid.msg_sequence": 1, "qpid.ive": 1}
    changes = {
        "exchanges": [{"name": "all", "type": "fanout", "arguments": marks}],
        "queues": [{"name": "everything", "arguments": {"qpid.queue_msg_sequence": "seq"}}],
        "bindings": [],
    }
    gateway = WholeGateway(tmp_path, configured(**changes)).start()
    for body in ("first", "last"):
        publish(gateway, "all", body)
    host = gateway.service.bridge.default_host
    assert host.bindings.bind("everything", "all", "", {}, b"") is None
    client = gateway.connect_0_10() if protocol == "0-10" else gateway.connect_1_0()
    assert received(gateway, client, "everything") == [("last", 3, 1)]
    gateway.stop()
    gateway.ledger().assert_balanced()


def test_an_exchange_of_another_type_is_a_problem_of_its_key(tmp_path: pathlib.Path):
    WholeGateway(tmp_path, configured()).start().stop()
    with pytest.raises(ConfigurationError) as caught:
        WholeGateway(
            tmp_path,
            configured(exchanges=[{"name": "all", "type": "direct"}, HOST["exchanges"][1]]),
        )
    [(path, why)] = caught.value.problems
    assert (path, why) == ("virtual_hosts.0.exchanges.0", "exchange 'all' is of type fanout")
