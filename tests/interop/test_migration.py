"""From a real old broker to real new ones: what is surveyed and planned is taken and works."""

from __future__ import annotations

import json
import os
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
import yaml
from interop import installed, qpid_cpp
from interop.brokers.artemis import Artemis
from interop.brokers.broker import Broker
from interop.brokers.broker_j import BrokerJ
from interop.brokers.rabbitmq import RabbitMQ4
from interop.needed import without
from interop.old_installation import QUEUES, furnish
from interop.record_access import Qpidd
from support.gateway_process import GatewayProcess, run
from support.lines import Lines

from gateway.amqp_0_10 import _spec as spec
from gateway.clients.client import Delivered, Subscription
from gateway.clients.letter import Letter, Typed
from gateway.migration import qmf
from gateway.migration.document import Survey, as_yaml, read

RECORDED = Path(__file__).parents[1] / "migration/qpidd_1_40.json"
RULES = "group admins admin@QPID\nacl allow admins all all\nacl allow all all\n"
PATIENCE_S = 60


@pytest.fixture
def old(tmp_path: Path) -> Iterator[int]:
    """The port of a real qpidd with rules, furnished, and linked to another one."""
    lacking = installed.qpidd_missing()
    if lacking is not None:
        without(lacking)
    with qpid_cpp.qpidd() as head_office:
        broker = Qpidd(installed.qpidd(), RULES, tmp_path)
        lines = furnish(broker.port, head_office)
        yield broker.port
        lines.hang_up()
        broker.stop()


def planned(survey: Path, target: str, broker: Broker | None, directory: Path) -> dict[str, Any]:
    """The configuration that is planned, with what a person adds to it.

    Something is left to decide: federation, or names on demand; in front of the old broker nothing.
    """
    at = [] if broker is None else ["--at", f"amqp://127.0.0.1:{broker.port}"]
    done = run("migrate", "plan", str(survey), "--target", target, *at, "-o", str(directory))
    assert done.returncode == (0 if target == "old" else 1), done.stderr
    config: dict[str, Any] = yaml.safe_load((directory / "gateway.yaml").read_text())
    if "access" in config:
        config["access"]["qpidd_file"] = str(directory / config["access"]["qpidd_file"])
    if broker is not None:
        secret = directory / "password"
        secret.write_text(broker.password)
        config["upstreams"]["new"] |= {
            "username": broker.username,
            "password_file": str(secret),
        }
    return config


@pytest.mark.qpidd
def test_what_a_real_qpidd_has_is_surveyed_and_stands_at_a_gateway_as_planned(
    old: int, tmp_path: Path
) -> None:
    survey = tmp_path / "survey.yaml"
    acl = tmp_path / "acl"
    with watching(old):
        done = run("migrate", "survey", "--port", str(old), "--acl", str(acl), "-o", str(survey))
    assert done.returncode == 0, done.stderr
    assert "\n!! link to-head-office to 127.0.0.1:" in done.stdout
    found = read(survey.read_bytes(), "survey")
    recorded = of_recording()
    assert named(found) == named(recorded)
    arguments = {each.name: each.arguments for each in found.queues}
    assert arguments == {each.name: each.arguments for each in recorded.queues}
    assert sorted(map(str, found.bindings)) == sorted(map(str, recorded.bindings))
    [watcher] = [each for each in found.clients if each.process == "qpid-receive"]
    assert (watcher.protocol, watcher.user) == ("AMQP 0-10", "anonymous")
    browsing = [(each.queue, each.browse, each.client) for each in found.subscriptions]
    assert browsing == [("urgent", True, watcher.address)]

    config = planned(survey, "local", None, tmp_path / "plan")
    with GatewayProcess(tmp_path / "gateway", config | {"anonymous": True}) as gateway:
        lines = Lines(gateway.amqp_port)
        for name in QUEUES:
            sent = lines.connect_0_10().send(name, Letter(body=Typed("string", name)))
            assert lines.wait_for(sent) == "accepted"
        lines.hang_up()

    at_old = Lines(old)
    asker = at_old.connect_0_10()
    before = at_old.wait_for(asker.query(spec.QueueQuery(queue="orders"))).message_count
    in_front = planned(survey, "old", None, tmp_path / "in-front")
    routed(in_front, tmp_path / "gateway-in-front", ("orders", "trades/uk.london"))
    after = at_old.wait_for(asker.query(spec.QueueQuery(queue="orders"))).message_count
    assert after == before + 2
    at_old.hang_up()


def of_recording() -> Survey:
    """The survey of the recording, which has been checked against the real one above."""
    recorded = json.loads(RECORDED.read_text())
    return qmf.survey_of(recorded["objects"], "old:5672", recorded["asker"])


def named(survey: Survey) -> list[list[str]]:
    """The names of what is there."""
    return [
        sorted(each.name for each in kind)
        for kind in (survey.exchanges, survey.queues, survey.links, survey.bridges)
    ]


@contextmanager
def watching(port: int) -> Iterator[None]:
    """A C++ client that browses, and goes on doing so."""
    with subprocess.Popen(
        [
            *("./qpid-receive", "--broker", f"127.0.0.1:{port}", "-f"),
            *("--address", "urgent; {mode: browse}", "--ready-address", "numbered"),
            *("--connection-options", "{protocol: amqp0-10}"),
        ],
        cwd=installed.qpidd(),
        env={**os.environ, "LD_LIBRARY_PATH": "lib"},
    ) as client:
        lines = Lines(port)
        ready: list[Delivered] = []
        lines.wait_for(lines.connect_0_10().receive(Subscription("numbered"), ready.append))
        lines.run_until(lambda: bool(ready))
        lines.hang_up()
        try:
            yield
        finally:
            client.terminate()


# The new brokers.


@pytest.fixture
def survey(tmp_path: Path) -> Path:
    """Of the recording, as a document."""
    file = tmp_path / "survey.yaml"
    file.write_text(as_yaml(of_recording()))
    return file


AT_THE_GATEWAY = ("trades/uk.london", "amq.direct/new")


def routed(
    config: dict[str, Any], directory: Path, addresses: tuple[str, ...] = AT_THE_GATEWAY
) -> None:
    """Publish to addresses of the gateway from which messages get into queue orders, each one."""
    with GatewayProcess(directory, config | {"anonymous": True}) as gateway:
        lines = Lines(gateway.amqp_port)
        client = lines.connect_0_10()
        for address in addresses:
            letter = Letter(body=Typed("string", address), durable=True)
            assert lines.wait_for(client.send(address, letter)) == "accepted"
        lines.hang_up()


def test_rabbitmq_takes_its_definitions_and_gets_what_is_bound_at_the_gateway(
    rabbitmq4: RabbitMQ4, survey: Path, tmp_path: Path
) -> None:
    config = planned(survey, "rabbitmq", rabbitmq4, tmp_path / "plan")
    rabbitmq4.import_definitions((tmp_path / "plan/rabbitmq-definitions.json").read_text())
    assert {each["queue"] for each in config["nodes"]} <= rabbitmq4.queue_names()
    assert rabbitmq4.binding_keys("orders") == {"orders", "uk.#", "new"}
    before = rabbitmq4.queue_depth("orders")
    routed(config, tmp_path / "gateway")
    assert rabbitmq4.queue_depth("orders") == before + 2


def test_artemis_takes_its_sections_and_gets_what_is_bound_at_the_gateway(
    artemis: Artemis, survey: Path, tmp_path: Path
) -> None:
    config = planned(survey, "artemis", artemis, tmp_path / "plan")
    artemis.add_sections((tmp_path / "plan/artemis-broker.xml").read_text())
    names = {each["queue"] for each in config["nodes"]}
    deadline = time.monotonic() + PATIENCE_S
    while not names <= set(artemis.address_names()):  # it looks at its file every few seconds
        assert time.monotonic() < deadline, artemis.log[-4000:]
    assert artemis.queue_attribute("ring", "getRingSize") == 10
    assert artemis.queue_attribute("prices", "getLastValueKey") == "symbol"
    assert artemis.queue_attribute("orders", "getDeadLetterAddress") == "dead-letters"
    before = artemis.queue_depth("orders")
    routed(config, tmp_path / "gateway")
    assert artemis.queue_depth("orders") == before + 2


def test_a_broker_j_is_surveyed_by_its_rest_and_stands_at_a_gateway_as_planned(
    broker_j: BrokerJ, tmp_path: Path, name: str
) -> None:
    queues: dict[str, dict[str, Any]] = {
        "dead": {},
        "values": {"type": "lvq", "lvqKey": "symbol"},
        "urgent": {"type": "priority", "priorities": 5},
        "ring": {"maximumQueueDepthMessages": 5, "overflowPolicy": "RING"},
        "waiting": {"maximumQueueDepthBytes": 50_000, "overflowPolicy": "PRODUCER_FLOW_CONTROL"},
        "grouped": {"messageGroupKeyOverride": "g", "messageGroupType": "SHARED_GROUPS"},
        "orders": {"alternateBinding": {"destination": f"{name}.dead"}},
    }
    for kind, attributes in queues.items():
        made = {"durable": True, **attributes}
        broker_j.change("PUT", f"queue/default/default/{name}.{kind}", made)
    bound = {"destination": f"{name}.orders", "bindingKey": f"{name}.#", "arguments": {}}
    broker_j.change("POST", "exchange/default/default/amq.topic/bind", bound)
    lines = Lines(broker_j.anonymous_port)
    client = lines.connect_0_10()
    lines.wait_for(client.receive(Subscription(f"{name}.ring", browse=True), lambda _: None))
    survey = tmp_path / "survey.yaml"
    done = run("migrate", "survey", "--rest", broker_j.management, "-o", str(survey))
    lines.hang_up()
    assert done.returncode == 0, done.stderr
    found = read(survey.read_bytes(), "survey")
    assert (found.broker.product, found.broker.made_on_demand) == ("qpid-broker-j", ["auto[.].*"])
    arguments = {
        each.name.partition(".")[2]: each.arguments
        for each in found.queues
        if each.name.startswith(name)
    }
    assert arguments == {
        "dead": {},
        "values": {"qpid.last_value_queue_key": "symbol"},
        "urgent": {"qpid.priorities": 5},
        "ring": {"qpid.max_count": 5, "qpid.policy_type": "ring"},
        "waiting": {"qpid.flow_stop_size": 50_000, "qpid.flow_resume_size": 40_000},
        "grouped": {"qpid.group_header_key": "g", "qpid.shared_msg_group": 1},
        "orders": {},
    }
    [watching] = [each for each in found.subscriptions if each.queue == f"{name}.ring"]
    clients = {each.address: each for each in found.clients}
    assert (watching.browse, clients[watching.client].product) == (True, "amqp-gateway")

    config = planned(survey, "local", None, tmp_path / "plan")
    with GatewayProcess(tmp_path / "gateway", config | {"anonymous": True}) as gateway:
        lines = Lines(gateway.amqp_port)
        letter = Letter(body=Typed("string", "an order"))
        sent = lines.connect_0_10().send(f"amq.topic/{name}.new", letter)
        assert lines.wait_for(sent) == "accepted"
        lines.hang_up()
