"""A whole gateway whose queue holds more than its memory may: with both protocols, and its disk."""

from __future__ import annotations

import pathlib

import pytest
from support.whole_gateway import WholeGateway

from gateway.clients.client import Client, Delivered, Subscription
from gateway.clients.letter import Letter, Typed
from gateway.store.spill import FOLDER

MANY = 6000
SMALL = ("queues.memory=1MiB", "queues.size_high=4MiB", "queues.size_low=3MiB")


@pytest.fixture
def whole(tmp_path: pathlib.Path) -> WholeGateway:
    made = WholeGateway(tmp_path, *SMALL).start()
    owner = made.connect_0_10()
    made.result(owner.declare_queue("q", durable=True))
    return made


def fill(whole: WholeGateway, *, durable: bool) -> None:
    sender = whole.connect_1_0()
    for first in range(0, MANY, 200):
        answers = [
            sender.send("q", Letter(body=Typed("string", str(first + each)), durable=durable))
            for each in range(200)
        ]
        for answer in answers:
            assert whole.result(answer) == "accepted"


def all_of(whole: WholeGateway, client: Client) -> list[str]:
    came: list[Delivered] = []

    def take(delivered: Delivered) -> None:
        came.append(delivered)
        delivered.settle("accept")

    whole.result(client.receive(Subscription("q"), take))
    whole.wait_until(lambda: len(came) == MANY)
    values = [each.letter.body.value for each in came]
    return [value.decode() if isinstance(value, bytes) else str(value) for value in values]


@pytest.mark.parametrize("durable", [False, True], ids=["transient", "durable"])
@pytest.mark.parametrize("protocol", ["0-10", "1.0"])
def test_what_does_not_fit_into_memory_comes_out_in_its_order(
    whole: WholeGateway, tmp_path: pathlib.Path, protocol: str, durable: bool
) -> None:
    fill(whole, durable=durable)
    bridge = whole.service.bridge
    assert bridge.pressure.away_messages > MANY // 2
    assert bridge.pressure.octets < 2 * 1024 * 1024
    assert bool(list((tmp_path / FOLDER).iterdir())) is not durable  # which the store's log has
    client = whole.connect_0_10() if protocol == "0-10" else whole.connect_1_0()
    assert all_of(whole, client) == [str(number) for number in range(MANY)]
    whole.run()
    assert bridge.pressure.held == 0
    whole.stop()
    assert not list((tmp_path / FOLDER).iterdir())
    whole.ledger().assert_balanced()


def test_what_is_durable_is_back_after_a_stop(whole: WholeGateway, tmp_path: pathlib.Path) -> None:
    fill(whole, durable=True)
    assert whole.service.bridge.pressure.away_messages > MANY // 2
    whole.stop()
    again = WholeGateway(tmp_path, *SMALL).start()
    assert all_of(again, again.connect_1_0()) == [str(number) for number in range(MANY)]
    again.stop()
    again.ledger().assert_balanced()
