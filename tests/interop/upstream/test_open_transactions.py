"""Transactions that are open for long: large ones, many in a row, and ones that a broker ends."""

import time
from collections.abc import Iterator
from pathlib import Path
from typing import ClassVar

import pytest
from interop.brokers.artemis import Artemis
from interop.brokers.broker_j import BrokerJ
from interop.needed import needed
from interop.upstream.behind import Behind
from interop.upstream.talk import RefusedError, Talk
from support.bridge_ledger import ledger_of

from gateway.amqp_0_10 import _spec as spec

SIZE = 16 * 1024
LARGE = 5_000
BATCH = 50
PATIENCE_S = 60.0
# What all queues of the gateway may hold is a twentieth of what the transaction has.
QUEUES = {"size_high": "1MiB", "size_low": "512KiB", "size_max": "4MiB"}
LIMITS = {"octets_in_doubt": "256KiB"}
SPENT_MIB = 40  # by a gateway through which twice as much goes


class Hasty(BrokerJ):
    """Ends connections with a transaction in which nothing was done for a second."""

    host_attributes: ClassVar[dict[str, object]] = {
        "storeTransactionIdleTimeoutClose": 1_000,
        "housekeepingCheckPeriod": 200,
    }


@pytest.fixture(scope="module")
def behind(artemis: Artemis, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Behind]:
    """A gateway with small limits in front of an Artemis; its ledger balances at the end."""
    front = Behind(artemis, tmp_path_factory.mktemp("front-open"))
    front.gateway.config |= {"queues": QUEUES, "limits": LIMITS}
    with front.gateway:
        yield front
        front.leave()
    ledger_of(front.gateway.audit).assert_balanced()


@pytest.fixture(scope="module")
def hasty(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Behind]:
    """In front of a Broker-J that is soon tired of waiting."""
    needed("broker-j")
    needed("proton")
    directory = tmp_path_factory.mktemp("hasty")
    with Hasty(directory / "broker") as broker:
        front = Behind(broker, directory / "front")
        with front.gateway:
            yield front
            front.leave()


def selected(behind: Behind) -> Talk:
    """A session that has selected transactions."""
    talk = behind.talk()
    talk.does(spec.TxSelect())
    return talk


def fills(behind: Behind, talk: Talk, queue: str, count: int) -> tuple[int, int]:
    """Publish so many messages; the most octets that the queues held and MiB that it had."""
    octets = mib = 0
    for at in range(0, count, BATCH):
        last = [talk.publishes(queue, b"%*d" % (SIZE, at + n)) for n in range(BATCH)][-1]
        talk.completes(last)
        octets = max(octets, int(behind.gateway.metrics()["gateway_queue_depth_bytes"]))
        mib = max(mib, resident_mib(behind))
    return octets, mib


def resident_mib(behind: Behind) -> int:
    status = Path(f"/proc/{behind.gateway.pid}/status").read_text()
    return int(status.split("VmRSS:")[1].split()[0]) // 1024


def drained(behind: Behind, queue: str, count: int) -> list[int]:
    """What is in the queue, in its order."""
    talk = behind.talk()
    talk.subscribes(queue, credit=None)
    talk.flows(0xFFFFFFFF, unit=spec.CreditUnit.BYTE)
    numbers = []
    for _ in range(0, count, BATCH):
        talk.flows(BATCH)
        got = talk.gets(BATCH)
        talk.takes(*got)
        talk.does(spec.MessageAccept(transfers=[(each.id, each.id) for each in got]))
        numbers += [int(each.body) for each in got]
    return numbers


def test_a_large_transaction_goes_through_a_small_gateway(behind: Behind) -> None:
    queue = behind.queue()
    talk = selected(behind)
    before = resident_mib(behind)
    octets, mib = fills(behind, talk, queue, LARGE)
    assert behind.depth(queue) == 0
    talk.does(spec.TxCommit())
    assert behind.depth(queue) == LARGE
    assert octets < 2 * 1024 * 1024
    assert mib - before < SPENT_MIB
    assert drained(behind, queue, LARGE) == list(range(LARGE))


def test_a_large_transaction_is_rolled_back(behind: Behind) -> None:
    queue = behind.queue()
    talk = selected(behind)
    fills(behind, talk, queue, 500)
    talk.does(spec.TxRollback())
    talk.puts(queue, b"the next one")
    talk.does(spec.TxCommit())
    assert behind.comes_to(1, queue)


def test_transactions_that_are_sent_in_one_go_are_done_in_their_order(behind: Behind) -> None:
    queue = behind.queue()
    talk = selected(behind)
    last = 0
    for number in range(50):
        talk.publishes(queue, b"%d" % (2 * number))
        talk.says(spec.TxCommit())
        talk.publishes(queue, b"never")
        talk.says(spec.TxRollback())
        talk.publishes(queue, b"%d" % (2 * number + 1))
        last = talk.says(spec.TxCommit())
    talk.completes(last)
    reader = behind.talk()
    reader.subscribes(queue)
    got = reader.gets(100)
    reader.accepts(*got)
    assert [int(each.body) for each in got] == list(range(100))
    assert reader.quiet()


def rolled_back(behind: Behind) -> float:
    return behind.gateway.metrics()['gateway_transactions_total{outcome="rolled_back"}']


def test_a_transaction_that_the_broker_gives_up_is_rolled_back_whole(hasty: Behind) -> None:
    queue = hasty.queue()
    talk = selected(hasty)
    before = rolled_back(hasty)
    talk.puts(queue, b"before")
    deadline = time.monotonic() + PATIENCE_S
    while rolled_back(hasty) == before:
        assert time.monotonic() < deadline
    talk.puts(queue, b"after")
    with pytest.raises(RefusedError) as refused:
        talk.does(spec.TxCommit())
    assert refused.value.code == spec.ErrorCode.INTERNAL_ERROR
    assert hasty.depth(queue) == 0
    again = selected(hasty)
    again.puts(queue, b"whole")
    again.does(spec.TxCommit())
    assert hasty.comes_to(1, queue)
