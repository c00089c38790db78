"""An idle connection with a heartbeat of two seconds stays up, whichever client keeps it."""

import pytest
from interop.foreign import Client

# Longer than the two delays after which a silent peer is taken for dead.
IDLE_MS = 5_500


@pytest.fixture
def queue(qpid_python: Client, port: int, name: str) -> str:
    """A queue that the Python client has declared."""
    address = f"{name}; {{create: always, node: {{type: queue}}}}"
    qpid_python.run("send", port, [], address=address)
    return name


def test_an_idle_connection_of_the_python_client_stays_up(
    qpid_python: Client, port: int, queue: str
) -> None:
    said = qpid_python.start(
        "receive", port, address=queue, heartbeat_s=2, timeout_ms=IDLE_MS
    ).finish()
    assert [line["event"] for line in said.events] == ["ready", "timeout", "closed"], str(said)
    assert said.exit_code == 0


def test_an_idle_connection_of_the_java_client_stays_up(jms: Client, port: int, queue: str) -> None:
    said = jms.start(
        "consume", port, destination=f"ADDR:{queue}", heartbeat_s=2, timeout_ms=IDLE_MS
    ).finish()
    assert said.named("timeout"), str(said)
    assert not said.errors
    assert said.exit_code == 0
