"""What of a row belongs into the topology table."""

from gateway.store.recovery import TopologyChanges
from gateway.store.writes import TurnWriter


def test_the_last_change_of_each_topology_row_counts_whatever_else_is_written() -> None:
    writer = TurnWriter()
    writer.topology(1, "kept", b"before")
    writer.topology(1, "gone", b"value")
    writer.dequeue(1, 1)
    writer.redelivered(1, 2, 3)
    first = writer.take()
    writer.topology(1, "kept", b"after")
    writer.topology_removed(1, "gone")
    changes = TopologyChanges(first + writer.take())
    assert changes.rows == {(1, "kept"): b"after", (1, "gone"): None}


def test_what_is_cleared_goes_first_and_what_is_written_after_that_stays() -> None:
    writer = TurnWriter()
    writer.topology(1, "b", b"before")
    writer.topology(1, "z", b"elsewhere")
    writer.topology(2, "b", b"of another kind")
    writer.topology_cleared(1, "a", "c")
    writer.topology(1, "b", b"after")
    changes = TopologyChanges(writer.take())
    assert changes.cleared == [(1, "a", "c")]
    assert changes.rows == {
        (1, "z"): b"elsewhere",
        (2, "b"): b"of another kind",
        (1, "b"): b"after",
    }
