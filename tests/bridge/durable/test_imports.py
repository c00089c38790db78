"""What an import has put into the store has come in, by the audit log, and counts as that."""

from __future__ import annotations

import pytest
from support.bridge_world import World

from gateway.audit.schema import Kind
from gateway.bridge.durable.imports import ALL, ImportRow, import_row
from gateway.bridge.durable.topology_rows import QueueRow, RowKind, row_key
from gateway.bridge.queues.discipline import Discipline
from gateway.bridge.seams import QueueSettings
from gateway.errors import DecodeError
from gateway.store.writes import TurnWriter

FIRST = 7 << 44
POSITION = 7 << 40
QUEUE = 7 << 32
MANY = 6000  # copies whose records are more than one turn has


def bring(
    world: World, *names: str, copies: int = 2, host: str = "/", kind: RowKind = RowKind.QUEUE
) -> None:
    """As `store import` does, of queues that are not there."""
    writes = TurnWriter()
    row = ImportRow(7, "ab" * 32, "file (ann)", world.now_ms, FIRST, FIRST + 2 * MANY)
    number = FIRST
    for at, name in enumerate(names):
        queue = QueueRow(host, name, QUEUE + at, QueueSettings(durable=True))
        writes.topology(kind, row_key(host, name), queue.encoded())
        row.declared.append((int(kind), host, name))
        for position in range(POSITION, POSITION + copies):
            message = world.message(b"body", key=name, durable=True)
            message.id, number = number, number + 1
            writes.message(message)
            writes.enqueue(QUEUE + at, position, message.id)
    writes.topology(RowKind.IMPORT, row.key(), row.encoded())
    world.store.submit(0, writes.take(), b"")


def told(world: World) -> ImportRow:
    rows = [row for row in world.store.topology() if row.kind == RowKind.IMPORT]
    return import_row(rows[0].value)


def test_a_row_is_read_as_it_was_written() -> None:
    row = ImportRow(7, "ab" * 32, "ann: \u2028file", 1, 2, 3)
    row.declared = [(2, "/", "q"), (1, "other", "e")]
    row.told = (5, 6)
    again = import_row(row.encoded())
    for name in ("number", "digest", "who", "at_ms", "first", "last", "declared", "told"):
        assert getattr(again, name) == getattr(row, name), name
    with pytest.raises(DecodeError, match="version 9"):
        import_row(b"\x09" + row.encoded()[1:])


def test_what_was_brought_is_received_by_a_link_of_its_own_and_has_entered() -> None:
    world = World()
    bring(world, "a", "b")
    world.crash()
    ledger = world.check()
    kinds = ledger.kinds
    assert [kinds[kind] for kind in (Kind.RECEIVED, Kind.ENTERED, Kind.RECOVERED)] == [4, 4, 0]
    assert kinds[Kind.LINK_ATTACHED] == kinds[Kind.LINK_DETACHED] == 1
    (received, *_more) = [row for row in world.blocks.raw() if row["kind"] == Kind.RECEIVED]
    (link,) = [row for row in world.blocks.raw() if row["kind"] == Kind.LINK_ATTACHED]
    assert received["exchange"] == link["node"] == "import abababababababab"
    assert received["link"] == link["link"]
    assert (link["actor"], link["peer"]) == ("operator by store import", "import: file (ann)")
    declared = [
        row["node"]
        for row in world.blocks.raw()
        if row["kind"] == Kind.TOPOLOGY and row["actor"] == "operator by store import"
    ]
    assert declared == ["a", "b"]
    counts = world.bridge.copies.ledger.counts
    assert (counts.received, counts.entered_durable, counts.recovered) == (4, 4, 0)


def test_it_is_told_once() -> None:
    world = World()
    bring(world, "a")
    world.crash()
    assert told(world).told == ALL
    world.crash()
    world.restart()
    kinds = world.check().kinds
    assert [kinds[kind] for kind in (Kind.RECEIVED, Kind.ENTERED, Kind.RECOVERED)] == [2, 2, 4]


def test_a_start_that_ends_between_its_turns_leaves_the_rest(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    world = World()
    bring(world, "a", "b", copies=MANY)
    submit = world.store.submit
    turns: list[int] = []

    def until_killed(turn: int, writes: bytes, audit_block: bytes) -> None:
        turns.append(turn)
        if len(turns) <= 1:
            submit(turn, writes, audit_block)

    monkeypatch.setattr(world.store, "submit", until_killed)
    world.crash()
    assert len(turns) > 2
    entered = [row for row in world.blocks.raw() if row["kind"] == Kind.ENTERED]
    assert 0 < len(entered) < MANY
    assert told(world).told == (QUEUE, entered[-1]["position"])
    monkeypatch.setattr(world.store, "submit", submit)
    world.crash()
    kinds = world.check().kinds
    assert (kinds[Kind.RECEIVED], kinds[Kind.ENTERED]) == (2 * MANY, 2 * MANY)
    assert kinds[Kind.RECOVERED] == len(entered)


def test_messages_for_a_host_that_is_not_configured_come_in_and_are_kept() -> None:
    world = World()
    bring(world, "a", host="other")
    world.crash()
    ledger = world.check()
    assert ledger.depths["other/a"] == 2
    assert ledger.kinds[Kind.ENTERED] == 2
    assert world.bridge.copies.ledger.counts.orphaned == 2
    world.restart()
    assert world.check().kinds[Kind.RECOVERED] == 2


def test_a_queue_that_was_brought_is_as_any_other() -> None:
    world = World()
    bring(world, "a")
    world.crash()
    consumer, _ = world.subscribe("a")
    world.turn()
    assert consumer.bodies() == [b"body", b"body"]
    assert [each.delivery_count for each in consumer.deliveries] == [0, 0]
    world.check()


def test_a_copy_keeps_its_lane_in_the_log() -> None:
    world = World()
    bring(world, "a", copies=1)
    writes = TurnWriter()
    settings = QueueSettings(durable=True)
    settings.discipline = Discipline(levels=10)
    row = QueueRow("/", "a", QUEUE, settings)
    writes.topology(RowKind.QUEUE, row_key("/", "a"), row.encoded())
    world.store.submit(0, writes.take(), b"")
    world.crash()
    queue = world.host.topology.find_queue("a")
    assert queue is not None
    (entry,) = [queue.places.next_at(0)]
    assert entry is not None
    (entered,) = [each for each in world.blocks.raw() if each["kind"] == Kind.ENTERED]
    assert entered["copies"] == queue.lane_of(entry)
    world.check()
