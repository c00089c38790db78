"""What the store has of a queue beyond its name: its discipline, and that of older rows."""

import pytest

from gateway.bridge.durable.topology_rows import ExchangeRow, QueueRow, exchange_row, queue_row
from gateway.bridge.queues.discipline import (
    PLAIN,
    AlertLimits,
    Discipline,
    FlowLimits,
    Life,
    Policy,
)
from gateway.bridge.seams import QueueSettings
from gateway.errors import DecodeError

EVERY = (
    Discipline(policy=Policy.RING, levels=3, fair=(1, 0, 4_000_000_000)),
    Discipline(policy=Policy.RING_STRICT, last_value_key="käse"),
    Discipline(policy=Policy.SELF_DESTRUCT, browse_only=True),
)


def row(discipline: Discipline) -> bytes:
    return QueueRow("main", "q", 1, QueueSettings(durable=True, discipline=discipline)).encoded()


FLOWING = (
    Discipline(flow=FlowLimits(stop_count=8, resume_count=7)),
    Discipline(policy=Policy.SELF_DESTRUCT, flow=FlowLimits(stop_size=1 << 70, resume_size=5)),
)
LATER = (
    Discipline(filter="a = 'ä'"),
    Discipline(filter="a = 1", flow=FlowLimits(stop_count=8, resume_count=7)),
    Discipline(number_header="n"),
    Discipline(alerts=AlertLimits(count=5, size=1 << 70, count_down=2, gap_ms=60_000)),
    Discipline(number_header="n", filter="a = 1", policy=Policy.RING),
)


@pytest.mark.parametrize("discipline", [PLAIN, *EVERY, *FLOWING, *LATER])
def test_a_discipline_comes_back(discipline: Discipline):
    assert queue_row(row(discipline)).settings.discipline == discipline


def test_a_plain_queue_has_the_row_that_older_gateways_wrote():
    assert row(EVERY[0]).startswith(row(PLAIN))


def test_a_row_from_before_flow_control_has_none():
    for discipline in FLOWING:
        without = Discipline(policy=discipline.policy)
        older = row(discipline)[: len(row(discipline)) - 32]
        assert queue_row(older).settings.discipline == without
        with pytest.raises(DecodeError):
            queue_row(older + b"\0" * 31)


@pytest.mark.parametrize("discipline", EVERY)
def test_one_that_cannot_be_is_unreadable(discipline: Discipline):
    octets = bytearray(row(discipline))
    octets[len(row(PLAIN))] = 9  # the policy
    with pytest.raises(DecodeError):
        queue_row(bytes(octets))
    for cut in range(len(row(PLAIN)) + 1, len(octets)):
        with pytest.raises(DecodeError):
            queue_row(bytes(octets[:cut]))


@pytest.mark.parametrize("life", Life)
def test_the_life_of_a_queue_comes_back(life: Life):
    settings = QueueSettings(durable=True, auto_delete=True, life=life)
    found = queue_row(QueueRow("main", "q", 1, settings).encoded()).settings
    assert (found.auto_delete, found.life, found.no_local) == (True, life, False)


def test_a_life_that_there_is_not_is_unreadable():
    octets = bytearray(row(PLAIN))
    octets[row(PLAIN).index(b"q") + 9] = 0x18  # behind the name and the number
    with pytest.raises(DecodeError, match="life 3"):
        queue_row(bytes(octets))


@pytest.mark.parametrize("auto_delete", [False, True])
@pytest.mark.parametrize("numbers", [False, True])
@pytest.mark.parametrize("remembers", [False, True])
def test_what_an_exchange_does_comes_back(auto_delete: bool, numbers: bool, remembers: bool):
    row = ExchangeRow(
        *("main", "x", "topic", auto_delete, "", b"", ""), numbers=numbers, remembers=remembers
    )
    found = exchange_row(row.encoded())
    told = (found.auto_delete, found.numbers, found.remembers)
    assert told == (auto_delete, numbers, remembers)
