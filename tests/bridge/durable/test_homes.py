"""Which queues of a store would live elsewhere by other rules."""

from __future__ import annotations

from gateway.bridge.durable.homes import Home, SentAway, queue_rows, sent_away
from gateway.bridge.durable.topology_rows import QueueRow, RowKind
from gateway.bridge.seams import QueueSettings, Subscriber
from gateway.store.interface import TopologyRow

SUBSCRIBER = Subscriber("ann", "app", "sub")


def rows(
    *upstreams: str, subscriber: Subscriber | None = None, alternate: str = ""
) -> list[TopologyRow]:
    """Queues "q1", "q2" ..., by where they lived."""
    found: list[TopologyRow] = []
    for number, upstream in enumerate(upstreams, 1):
        settings = QueueSettings(durable=True, subscriber=subscriber, alternate_exchange=alternate)
        row = QueueRow("/", f"q{number}", number, settings, upstream)
        found.append(TopologyRow(RowKind.QUEUE, f"key {number}", row.encoded()))
    return found


def everything_at_far(host: str, name: str) -> Home | None:
    return Home("far") if host == "/" else None


def everything_dropped(host: str, name: str) -> Home | None:
    return Home("far", drops=True)


def test_a_queue_that_lived_here_and_holds_messages_is_sent_away() -> None:
    (found,) = sent_away(rows("", ""), {1: 2}, everything_at_far)
    assert found == SentAway("/", "q1", 2, Home("far"))
    assert str(found) == "'q1' of virtual host '/' holds 2 messages, and would live at far"


def test_where_the_upstream_may_reject_them_for_good_that_is_said() -> None:
    (found,) = sent_away(rows(""), {1: 1}, everything_dropped)
    assert "at far, and what that rejects is dropped" in str(found)
    (kept,) = sent_away(rows("", alternate="amq.fanout"), {1: 1}, everything_dropped)
    assert "dropped" not in str(kept)


def test_one_that_lived_at_an_upstream_or_stays_here_is_not() -> None:
    held = {1: 1, 2: 1}
    assert sent_away(rows("far", "other"), held, everything_at_far) == []
    assert sent_away(rows("", ""), held, lambda _host, _name: None) == []


def test_no_rule_places_the_queue_of_a_durable_subscription() -> None:
    assert sent_away(rows("", subscriber=SUBSCRIBER), {1: 1}, everything_at_far) == []


def test_a_row_that_cannot_be_read_is_left_to_recovery() -> None:
    broken = TopologyRow(RowKind.QUEUE, "key", b"\xff")
    assert [row.name for row in queue_rows([broken, *rows("")])] == ["q1"]
    assert list(queue_rows(rows(""), RowKind.TRANSIT)) == []
