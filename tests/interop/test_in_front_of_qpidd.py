"""A gateway in front of a real qpidd, as a 0-10 client of it: its clients notice no difference."""

import uuid
from collections.abc import Iterator
from pathlib import Path

import pytest
from interop import installed, qpid_cpp
from interop.needed import without
from support.gateway_process import GatewayProcess
from support.lines import Lines

from gateway.clients.client import Delivered, Subscription
from gateway.clients.letter import Letter, Typed

pytestmark = pytest.mark.qpidd
OPTIONS = "{protocol: amqp0-10}"
MESSAGE = (
    "--content-string body --correlation-id c --priority 3"
    " --durable yes --property a=1 --user-id guest"
)


@pytest.fixture(scope="module")
def broker() -> Iterator[int]:
    """The port of the qpidd."""
    lacking = installed.qpidd_missing()
    if lacking is not None:
        without(lacking)
    with qpid_cpp.qpidd() as port:
        yield port


@pytest.fixture(scope="module")
def gateway(broker: int, tmp_path_factory: pytest.TempPathFactory) -> Iterator[int]:
    """The port of the gateway, in front of it."""
    config = {
        "upstreams": {"old": {"hosts": [f"amqp://127.0.0.1:{broker}"], "profile": "qpid-0-10"}},
        "nodes": [
            {"queue": "queue-*", "upstream": "old", "on_rejected": "exception"},
            {"exchange": "amq.topic", "upstream": "old"},
        ],
    }
    directory: Path = tmp_path_factory.mktemp("in-front")
    with GatewayProcess(directory, config) as running:
        yield running.amqp_port


@pytest.fixture
def queue(broker: int) -> str:
    """A queue at the qpidd, empty, for five messages."""
    name = f"queue-{uuid.uuid4().hex[:8]}"
    made = (
        f"{name}; {{create: always, node: {{x-declare: {{arguments: {{'qpid.max_count': 5}}}}}}}}"
    )
    said = qpid_cpp.run(f'receive --address "{made}" --timeout 0', broker, OPTIONS)
    assert said.exit_code == 0, said
    return name


def sends(port: int, queue: str, what: str = MESSAGE) -> qpid_cpp.Said:
    return qpid_cpp.run(f"send --address {queue} {what}", port, OPTIONS)


def receives(port: int, queue: str, what: str = "--timeout 0") -> str:
    said = qpid_cpp.run(f"receive --address {queue} --print-headers yes {what}", port, OPTIONS)
    assert said.exit_code == 0, said
    return said.output


def test_a_message_comes_out_as_it_went_in_whoever_is_asked(
    broker: int, gateway: int, queue: str
) -> None:
    seen: list[str] = []
    for sender, receiver in (
        (broker, broker),
        (gateway, broker),
        (broker, gateway),
        (gateway, gateway),
    ):
        assert sends(sender, queue).exit_code == 0
        seen.append(receives(receiver, queue, "--timeout 10 --messages 1"))
    assert "body" in seen[0]
    assert seen == [seen[0]] * 4


def test_a_queue_that_was_deleted_refuses_and_no_message_is_lost_with_success(
    broker: int, gateway: int, queue: str
) -> None:
    assert sends(gateway, queue).exit_code == 0
    receives(broker, f'"{queue}; {{delete: always}}"')
    said = sends(gateway, queue)
    assert (said.exit_code, said.exceptions) == (1, ["not-found"])


def test_a_queue_that_is_full_refuses_with_its_own_code(
    broker: int, gateway: int, queue: str
) -> None:
    said = sends(gateway, queue, "--messages 9 --content-string x --durable no")
    assert (said.exit_code, set(said.exceptions)) == (1, {"resource-limit-exceeded"})
    assert receives(broker, queue).count("x\n") >= 5


def test_a_client_of_1_0_sends_to_it_and_receives_from_it(
    broker: int, gateway: int, queue: str
) -> None:
    lines = Lines(gateway)
    client = lines.connect_1_0()
    assert lines.wait_for(client.send(queue, Letter(Typed("string", "from 1.0")))) == "accepted"
    assert "from 1.0" in receives(broker, queue)
    assert sends(broker, queue).exit_code == 0
    found: list[Delivered] = []
    lines.wait_for(client.receive(Subscription(queue, credit=1), found.append))
    lines.run_until(lambda: len(found) == 1)
    assert found[0].letter.correlation_id == "c"
    found[0].settle("release")
    lines.turn()
    lines.hang_up()
    assert "body" in receives(broker, queue, "--timeout 10 --messages 1")


def test_who_is_subscribed_to_its_exchange_gets_what_is_published_here(
    broker: int, gateway: int
) -> None:
    queue = f"queue-{uuid.uuid4().hex[:8]}"
    bound = (
        f"{queue}; {{create: always, node: {{x-bindings:"
        f" [{{exchange: amq.topic, queue: {queue}, key: 'uk.#'}}]}}}}"
    )
    receives(broker, f'"{bound}"')
    assert sends(gateway, "amq.topic/uk.mud", "--content-string news").exit_code == 0
    assert "news" in receives(broker, queue, "--timeout 10 --messages 1")


def test_a_queue_that_is_bound_here_gets_what_is_published_there(broker: int, gateway: int) -> None:
    lines = Lines(gateway)
    client = lines.connect_0_10()
    found: list[Delivered] = []
    lines.wait_for(client.receive(Subscription("amq.topic/fr.#"), found.append))
    for sender in (broker, gateway):
        assert sends(sender, "amq.topic/fr.wine", "--content-string vin").exit_code == 0
    lines.run_until(lambda: len(found) == 2)
    lines.hang_up()


def test_who_asks_on_one_side_is_answered_from_the_other(
    broker: int, gateway: int, queue: str
) -> None:
    """qpid-receive answers with what it has received."""
    ask = "--content-string again --reply-to answers"
    for asker, responder in ((gateway, broker), (broker, gateway)):
        receives(asker, '"answers; {create: always}"')
        assert sends(asker, queue, ask).exit_code == 0
        assert "again" in receives(responder, queue, "--timeout 10 --messages 1")
        assert "again" in receives(asker, "answers", "--timeout 10 --messages 1")
