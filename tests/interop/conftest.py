"""Foreign clients against the gateway: fixtures of the peers, of the gateway, of names.

A test asks for the clients that it uses by name. One that is not installed skips the test and says
how to install it; with CI_INTEROP=1 in the environment it fails the test instead.
"""

import uuid
from collections.abc import Iterator

import pytest
from interop import foreign
from interop.content import Client, Session, talking
from interop.declaring import declare_queues
from interop.foreign import PASSWORD, USER
from interop.needed import needed
from interop.recorder import Recorder
from support.gateway_process import GatewayProcess


@pytest.fixture
def jms() -> foreign.Client:
    """The Java JMS client of AMQP 0-10."""
    needed("jms")
    return foreign.JMS


@pytest.fixture
def qpid_python() -> foreign.Client:
    """The Python client of AMQP 0-10, in its Python 2.7."""
    needed("qpid-python")
    return foreign.QPID_PYTHON


@pytest.fixture
def content(qpid_python: foreign.Client, port: int) -> Iterator[Client]:
    """The same, in the classes file and stream."""
    with talking(port) as client:
        yield client


@pytest.fixture
def a(content: Client) -> Session:
    """Its first session."""
    return content.session("a")


@pytest.fixture
def proton() -> foreign.Client:
    """Qpid Proton: a 1.0 client."""
    needed("proton")
    return foreign.PROTON


@pytest.fixture
def rhea() -> foreign.Client:
    """rhea: a 1.0 client."""
    needed("rhea")
    return foreign.RHEA


@pytest.fixture
def tshark() -> None:
    """The independent decoder is there."""
    needed("tshark")


@pytest.fixture(scope="module")
def gateway(tmp_path_factory: pytest.TempPathFactory) -> Iterator[GatewayProcess]:
    """One gateway for the tests of a file; at their end it must stop, with exit code 0.

    Anonymous clients are allowed, and USER with PASSWORD.
    """
    directory = tmp_path_factory.mktemp("gateway")
    users = directory / "users.yaml"
    made = GatewayProcess(directory, {"users_file": str(users), "anonymous": True})
    added = made.tool("user", "add", "--file", str(users), "--password-stdin", USER, given=PASSWORD)
    assert added.returncode == 0, added.stderr
    with made as running:
        yield running


@pytest.fixture
def port(gateway: GatewayProcess) -> int:
    """Where clients connect."""
    return gateway.amqp_port


@pytest.fixture
def recorder(gateway: GatewayProcess) -> Iterator[Recorder]:
    """A relay to the gateway that records what passes."""
    with Recorder(gateway.amqp_port) as relay:
        yield relay


@pytest.fixture
def name() -> str:
    """A name that no other test uses, for a queue."""
    return f"queue-{uuid.uuid4().hex[:8]}"


@pytest.fixture
def queue(port: int, name: str) -> str:
    """A durable queue of that name."""
    declare_queues(port, name)
    return name
