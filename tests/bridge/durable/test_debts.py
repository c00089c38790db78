"""What is to be removed at upstreams outlives the process."""

from __future__ import annotations

import pytest
from support.bridge_world import World

from gateway.bridge.durable.topology_rows import BindingRow, RowKind
from gateway.message import Kind
from gateway.store.interface import TopologyRow
from gateway.wire.tagged import Tagged


def row(upstream: str = "main", key: str = "a.#") -> BindingRow:
    arguments = {"x-match": Tagged(Kind.STRING, "all"), "n": Tagged(Kind.INTEGER, 5)}
    return BindingRow(upstream, "x", "gateway.q", key, arguments, b"")


@pytest.mark.parametrize("end", ["restart", "crash"])
def test_a_debt_is_kept_until_it_is_paid(end: str) -> None:
    world = World()
    world.bridge.debts.owe(row())
    world.bridge.debts.owe(row())
    world.bridge.debts.owe(row("other"))
    world.turn()
    getattr(world, end)()
    (owed,) = world.bridge.debts.of("main")
    assert (owed.exchange, owed.queue, owed.key) == ("x", "gateway.q", "a.#")
    assert owed.arguments["n"].value == 5
    world.bridge.debts.paid(owed)
    world.bridge.debts.paid(owed)
    world.turn()
    getattr(world, end)()
    assert world.bridge.debts.of("main") == []
    assert len(world.bridge.debts.of("other")) == 1


def test_a_debt_that_cannot_be_read_is_told_and_left() -> None:
    world = World()
    problems: list[str] = []
    broken = TopologyRow(RowKind.DEBT, "k", b"\xff")
    world.bridge.debts.recover([broken], problems)
    assert problems == ["debt 'k' is unreadable: topology row of version 255"]
