"""What `migrate survey` asks, against a gateway in memory: with an agent of QMF there, and without.

Requests that nobody takes are answered by the gateway itself, with an exception. One that a queue
takes is answered by whoever consumes that: here an agent that tells what was recorded.
"""

from __future__ import annotations

import json
import pathlib
from typing import Any

import pytest
from support.memory_connector import MemoryConnector
from support.whole_gateway import WholeGateway

from gateway.amqp_0_10 import _spec as spec
from gateway.clients.client import Delivered, Login, Subscription
from gateway.clients.client_0_10 import Client010
from gateway.clients.conversation import Where
from gateway.clients.letter import Letter, Typed, infer, plain
from gateway.clients.management import Wanted, survey
from gateway.migration.document import Survey

RECORDED = json.loads((pathlib.Path(__file__).parents[1] / "migration/qpidd_1_40.json").read_text())
AT = Where(port=5672)


@pytest.fixture
def connector(tmp_path: pathlib.Path) -> Any:
    return MemoryConnector(WholeGateway(tmp_path).start())


def wanted(**names: tuple[str, ...]) -> Wanted:
    return Wanted(AT, Login(), 5.0, **names)


class Agent:
    """Answers requests for all objects of a class, in two parts, but for those that it refuses."""

    def __init__(self, client: Client010, refuses: str = "") -> None:
        self._client = client
        self._refuses = refuses
        self.asked: list[str] = []

    async def begin(self) -> None:
        """Take what is sent to the broker's own agent."""
        await self._client.declare_queue("agent")
        await self._client.bind("agent", "qmf.default.direct", "broker")
        await self._client.receive(Subscription("agent"), self._take)

    def _take(self, delivered: Delivered) -> None:
        delivered.settle("accept")
        name = plain(delivered.letter.body)["_schema_id"]["_class_name"]
        self.asked.append(name)
        if name == self._refuses:
            refusal = {"_values": {"error_text": "not allowed"}}
            self._say(delivered, "_exception", refusal)
            return
        objects = RECORDED["objects"][name]
        self._say(delivered, "_query_response", objects[:1], {"partial": Typed("boolean", True)})
        self._say(delivered, "_query_response", objects[1:])

    def _say(
        self,
        asked: Delivered,
        opcode: str,
        body: object,
        more: dict[str, Typed] | None = None,
    ) -> None:
        properties = {"qmf.opcode": Typed("string", opcode), **(more or {})}
        assert asked.letter.reply_to is not None
        self._client.send(asked.letter.reply_to, Letter(body=infer(body), properties=properties))


def asked_of_an_agent(connector: Any, refuses: str = "") -> tuple[Survey, list[str]]:
    async def script() -> tuple[Survey, list[str]]:
        agent = Agent(await connector.connect_0_10(AT, Login()), refuses)
        await agent.begin()
        return await survey(connector, wanted(exchanges=("amq.topic",))), agent.asked

    found: tuple[Survey, list[str]] = connector.play(script())
    return found


def test_all_classes_are_asked_for_and_answers_in_parts_are_put_together(connector: Any) -> None:
    found, asked = asked_of_an_agent(connector)
    assert sorted(asked) == sorted(RECORDED["objects"])
    assert found.broker.asked == ["QMF"]
    assert len(found.queues) == len(RECORDED["objects"]["queue"])
    assert found.not_asked == []


def test_where_qmf_refuses_nodes_are_found_by_the_names_that_are_given(connector: Any) -> None:
    found, asked = asked_of_an_agent(connector, refuses="queue")
    assert asked[-1] == "queue"
    assert found.broker.asked == ["0-10"]
    assert found.not_asked[0] == "its QMF refuses objects of class queue by QMF: not allowed"
    assert "amq.topic" in [each.name for each in found.exchanges]


def test_a_gateway_says_that_it_has_no_qmf_and_is_asked_by_names(connector: Any) -> None:
    async def script() -> Survey:
        client = await connector.connect_0_10(AT, Login())
        await client.declare_queue("orders", durable=True)
        await client.command(spec.ExchangeDeclare(exchange="prices", type="topic"))
        return await survey(
            connector, wanted(queues=("orders", "missing"), exchanges=("prices", "gone"))
        )

    found = connector.play(script())
    assert "QMF is not offered here" in found.not_asked[0]
    assert found.not_asked[2:] == ["gone: not found", "missing: not found"]
    assert [(each.name, each.durable) for each in found.queues] == [("orders", True)]
    exchanges = {each.name: each.type for each in found.exchanges}
    assert exchanges["prices"] == "topic"
    assert exchanges["amq.match"] == "headers"
    assert found.clients == []


def test_where_to_ask_qmf_is_forbidden_that_is_told_and_nodes_are_found_by_their_names(
    tmp_path: pathlib.Path,
) -> None:
    rules = tmp_path / "rules.yaml"
    rules.write_text("rules:\n- {deny: publish, exchange: qmf.default.direct}\n- allow: all\n")
    whole = WholeGateway(tmp_path, f"access.file={rules}").start()
    connector = MemoryConnector(whole)
    asking = survey(connector, wanted())  # type: ignore[arg-type]  # a fake
    found = connector.play(asking)
    assert found.broker.asked == ["0-10"]
    assert found.not_asked[0].startswith("its QMF does not answer: ")
    assert "(403)" in found.not_asked[0]
    assert "amq.topic" in [each.name for each in found.exchanges]
