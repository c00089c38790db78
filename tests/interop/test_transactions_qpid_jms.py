"""Transacted sessions of the Java JMS client of AMQP 1.0, as Artemis' own tools use it."""

import subprocess
from collections.abc import Iterator

import pytest
from interop.installed import ARTEMIS
from interop.needed import needed
from support.serve_1_0 import Serving

TIME_LIMIT_S = 60


@pytest.fixture(scope="module")
def serving(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Serving]:
    needed("artemis")
    serving = Serving(tmp_path_factory.mktemp("data"))
    yield serving
    assert serving.stop() == 0


def tool(serving: Serving, verb: str, *options: str) -> str:
    """Run a tool on the queue ``durable``; what it says."""
    where = ["--protocol", "AMQP", "--url", f"amqp://127.0.0.1:{serving.port}"]
    who = ["--user", "anybody", "--password", "any", "--destination", "queue://durable"]
    done = subprocess.run(
        [str(ARTEMIS / "bin" / "artemis"), verb, *where, *who, *options],
        capture_output=True,
        text=True,
        timeout=TIME_LIMIT_S,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_what_is_sent_and_received_in_transactions_is_there_once(serving: Serving) -> None:
    sent = tool(serving, "producer", "--message-count", "100", "--txt-size", "10")
    assert "Committing transaction: 8" in sent
    assert "Produced: 100 messages" in sent
    received = tool(serving, "consumer", "--message-count", "100", "--txt-size", "10")
    assert "Committing transaction: 9" in received
    assert "Consumed: 100 messages" in received
    rest = tool(
        serving, "consumer", "--message-count", "1", "--receive-timeout", "500", "--break-on-null"
    )
    assert "Consumed: 0 messages" in rest
