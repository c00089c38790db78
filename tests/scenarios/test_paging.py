"""A whole gateway whose queue holds more than its memory may: with both protocols, and its disk."""

from __future__ import annotations

import pathlib
import re
from collections.abc import Callable

import pytest
from prometheus_client import generate_latest
from support.lives import criticals
from support.whole_gateway import WholeGateway
from twisted.logger import capturedLogs

from gateway.audit.schema import Kind
from gateway.clients.client import Client, Delivered, Subscription
from gateway.clients.letter import Letter, Typed
from gateway.store.spill import FOLDER

MANY = 6000
LINE = r"queue 'q': (\d+) messages that were on disk cannot be read"
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


def all_of(
    whole: WholeGateway, client: Client, until: Callable[[int], bool] = MANY.__eq__
) -> list[str]:
    came: list[Delivered] = []

    def take(delivered: Delivered) -> None:
        came.append(delivered)
        delivered.settle("accept")

    whole.result(client.receive(Subscription("q"), take))
    whole.wait_until(lambda: until(len(came)))
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


def harm(whole: WholeGateway, directory: pathlib.Path, *, durable: bool) -> None:
    """One octet: of a row of the store, or of a page that is not in it."""
    if durable:
        database = whole.service.store._database  # which lets in nobody else
        row, body = next(each for each in database.rows() if b"2100" in each[1])
        harmed = body.replace(b"2100", b"3100", 1)
        database._db.execute("UPDATE log SET body = ? WHERE number = ?", (harmed, row))
        return
    for path in sorted((directory / FOLDER).iterdir()):
        with path.open("r+b") as file:
            at = file.read().find(b"2100")
            if at >= 0:
                file.seek(at)
                file.write(b"3")
                return


@pytest.mark.parametrize("durable", [False, True], ids=["transient", "durable"])
def test_what_one_harmed_page_or_row_had_is_lost_in_the_books_the_metrics_and_the_log(
    whole: WholeGateway, tmp_path: pathlib.Path, durable: bool
) -> None:
    fill(whole, durable=durable)
    harm(whole, tmp_path, durable=durable)
    counts = whole.service.bridge.counts
    with capturedLogs() as captured:
        came = all_of(whole, whole.connect_0_10(), until=lambda seen: seen + counts.lost == MANY)
        whole.pass_time(5)
    lost = {str(number) for number in range(MANY)} - set(came)

    assert 100 < len(lost) <= 256
    assert "2100" in lost
    assert came == sorted(set(came), key=int)
    assert counts.lost == len(lost)
    told = [re.match(LINE, line) for line in criticals(captured)]
    assert sum(int(each[1]) for each in told if each) == len(lost)
    collector = whole.service.collector
    collector.take()
    metrics = generate_latest(collector.registry()).decode()
    assert f'gateway_messages_total{{outcome="lost",stage="ended"}} {len(lost)}.0' in metrics
    whole.stop()
    books = whole.ledger()
    books.assert_balanced()
    assert books.kinds[Kind.PURGED] == len(lost)
