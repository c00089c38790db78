"""The JMS client of 0-10 with XA, and Narayana or Atomikos as the manager of its transactions.

What it takes of one queue and sends to another is done as one: where it commits and where it rolls
back, and where manager and gateway are gone in the middle and the manager's log decides. The log is
written between prepare and commit; until then whoever starts again rolls back.
"""

from collections.abc import Iterator
from pathlib import Path

import pytest
from interop.declaring import declare_queues
from interop.foreign import XA, Said
from interop.needed import needed
from support.gateway_process import GatewayProcess
from support.lines import Lines

from gateway.amqp_0_10 import _spec as spec
from gateway.clients.client import Subscription
from gateway.clients.letter import Letter, Typed

GONE = 9  # the exit code of who dies in the middle


class Manager:
    """Either with its log, and the gateways that its transactions are about."""

    def __init__(self, name: str, log: Path, *gateways: GatewayProcess) -> None:
        self.name = name
        self.log = log
        self.gateways = gateways

    def run(self, verb: str, exit_code: int = 0, **options: object) -> Said:
        """Its command, to its end."""
        first, *second = [each.amqp_port for each in self.gateways]
        if second:
            options["second"] = second[0]
        said = XA.start(verb, first, manager=self.name, log=self.log, **options).finish()
        assert said.exit_code == exit_code and not said.errors, said
        return said

    def works(self, exit_code: int = 0, **options: object) -> None:
        """A transaction that takes a message of "one" and sends another to "two"."""
        given = {"takes": "one", "sends": "two", "text": "new"} | options
        said = self.run("work", exit_code, **given)
        assert len(said.received) == len(said.sent) == 1, said

    def recovers(self) -> tuple[list[int], list[int]]:
        """It starts again; how many branches each gateway had in doubt, and has then."""
        said = self.run("recover")
        return said.named("before")[0]["in-doubt"], said.named("after")[0]["in-doubt"]


def started(directory: Path) -> Iterator[GatewayProcess]:
    """With queues "one" and "two"; in "one" is a message "old"."""
    needed("xa")
    gateway = GatewayProcess(directory).start()
    declare_queues(gateway.amqp_port, "one", "two")
    lines = Lines(gateway.amqp_port)
    old = Letter(body=Typed("string", "old"), durable=True)
    assert lines.wait_for(lines.connect_0_10().send("one", old)) == "accepted"
    lines.hang_up()
    yield gateway
    assert gateway.stop() == 0


@pytest.fixture
def first(tmp_path: Path) -> Iterator[GatewayProcess]:
    """One gateway."""
    yield from started(tmp_path / "first")


@pytest.fixture(params=["narayana", "atomikos"])
def manager(request: pytest.FixtureRequest) -> str:
    """Who manages the transactions."""
    return str(request.param)


@pytest.fixture
def second(tmp_path: Path) -> Iterator[GatewayProcess]:
    """Another one."""
    yield from started(tmp_path / "second")


def browsed(gateway: GatewayProcess) -> list[tuple[str, str, bool]]:
    """What is in its queues: queue, text, and whether it was out before."""
    lines = Lines(gateway.amqp_port)
    client = lines.connect_0_10()
    found: list[tuple[str, str, bool]] = []
    for queue in ("one", "two"):
        depth = lines.wait_for(client.query(spec.QueueQuery(queue=queue))).message_count
        letters: list[Letter] = []
        browser = Subscription(queue, credit=depth or 1, once=True, settled=True, browse=True)
        lines.wait_for(client.receive(browser, lambda got, into=letters: into.append(got.letter)))
        lines.run_until(lambda want=depth or 0, got=letters: len(got) >= want)
        found += [(queue, str(each.body.value), each.redelivered) for each in letters]
    lines.hang_up()
    return found


def dies(gateways: tuple[GatewayProcess, ...]) -> None:
    """All of them, and they start again where they were."""
    for gateway in gateways:
        gateway.kill()
    for gateway in gateways:
        gateway.start(same_ports=True)


def test_what_is_committed_is_done_in_both_queues(
    manager: str, first: GatewayProcess, tmp_path: Path
) -> None:
    Manager(manager, tmp_path / "log", first).works()
    assert browsed(first) == [("two", "new", False)]


def test_what_is_rolled_back_is_done_in_neither(
    manager: str, first: GatewayProcess, tmp_path: Path
) -> None:
    Manager(manager, tmp_path / "log", first).works(end="rollback")
    assert browsed(first) == [("one", "old", True)]


# Atomikos takes the second for the first one again.
@pytest.mark.parametrize("manager", ["narayana"])
def test_two_sessions_of_a_client_work_in_one_branch(
    manager: str, first: GatewayProcess, tmp_path: Path
) -> None:
    Manager(manager, tmp_path / "log", first).works(sends="other:two", sessions=2)
    assert browsed(first) == [("two", "new", False)]


def test_of_two_gateways_both_do_it(
    manager: str, first: GatewayProcess, second: GatewayProcess, tmp_path: Path
) -> None:
    Manager(manager, tmp_path / "log", first, second).works(sends="2:two")
    assert browsed(first) == []
    assert browsed(second) == [("one", "old", False), ("two", "new", False)]


def test_what_was_prepared_and_logged_is_committed_when_all_have_died(
    manager: str, first: GatewayProcess, second: GatewayProcess, tmp_path: Path
) -> None:
    either = Manager(manager, tmp_path / "log", first, second)
    either.works(GONE, sends="2:two", dies="logged")
    assert browsed(first) == []
    dies(either.gateways)
    assert browsed(first) == []
    assert either.recovers() == ([1, 1], [0, 0])
    assert browsed(first) == []
    assert browsed(second) == [("one", "old", False), ("two", "new", False)]


def test_what_was_prepared_and_not_logged_is_rolled_back_when_all_have_died(
    manager: str, first: GatewayProcess, second: GatewayProcess, tmp_path: Path
) -> None:
    either = Manager(manager, tmp_path / "log", first, second)
    either.works(GONE, sends="2:two", dies="unlogged")
    dies(either.gateways)
    assert either.recovers() == ([1, 1], [0, 0])
    assert browsed(first) == [("one", "old", True)]
    assert browsed(second) == [("one", "old", False)]
