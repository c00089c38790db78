"""Which queues of a store would live elsewhere by other rules."""

from __future__ import annotations

from support.stores import message

from gateway.bridge.durable.homes import SentAway, queue_rows, sent_away
from gateway.bridge.durable.topology_rows import QueueRow, RowKind
from gateway.bridge.seams import QueueSettings, Subscriber
from gateway.store.interface import Entry, TopologyRow

SUBSCRIBER = Subscriber("ann", "app", "sub")


def rows(*upstreams: str, subscriber: Subscriber | None = None) -> list[TopologyRow]:
    """Queues "q1", "q2" ..., by where they lived."""
    found: list[TopologyRow] = []
    for number, upstream in enumerate(upstreams, 1):
        settings = QueueSettings(durable=True, subscriber=subscriber)
        row = QueueRow("/", f"q{number}", number, settings, upstream)
        found.append(TopologyRow(RowKind.QUEUE, f"key {number}", row.encoded()))
    return found


def entries(*queues: int) -> list[Entry]:
    return [Entry(queue, at, 0, message(at)) for at, queue in enumerate(queues, 1)]


def everything_at_far(host: str, name: str) -> str:
    return "far" if host == "/" else ""


def test_a_queue_that_lived_here_and_holds_messages_is_sent_away() -> None:
    (found,) = sent_away(rows("", ""), entries(1, 1), everything_at_far)
    assert found == SentAway("/", "q1", 2, "far")
    assert str(found) == "'q1' of virtual host '/' holds 2 messages, and would live at far"


def test_one_that_lived_at_an_upstream_or_stays_here_is_not() -> None:
    held = entries(1, 2)
    assert sent_away(rows("far", "other"), held, everything_at_far) == []
    assert sent_away(rows("", ""), held, lambda _host, _name: "") == []


def test_no_rule_places_the_queue_of_a_durable_subscription() -> None:
    assert sent_away(rows("", subscriber=SUBSCRIBER), entries(1), everything_at_far) == []


def test_a_row_that_cannot_be_read_is_left_to_recovery() -> None:
    broken = TopologyRow(RowKind.QUEUE, "key", b"\xff")
    assert [row.name for row in queue_rows([broken, *rows("")])] == ["q1"]
    assert list(queue_rows(rows(""), RowKind.TRANSIT)) == []
