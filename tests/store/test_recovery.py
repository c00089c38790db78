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
