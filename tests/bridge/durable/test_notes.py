"""Notes of others: written with the turn, back after a restart, gone when too many or too old."""

from hypothesis import given
from hypothesis import strategies as st
from support.bridge_world import START_MS, World, recover

from gateway.bridge.durable.notes import AGE_MAX_MS, Note, Notebook
from gateway.bridge.durable.topology_rows import NotesRow, RowKind, notes_row
from gateway.store.interface import Recovered, TopologyRow
from gateway.store.recovery import TopologyChanges
from gateway.store.writes import TurnWriter

OCTETS = st.binary(max_size=40)


class Source:
    """A `NoteSource`."""

    def __init__(self) -> None:
        self.new: list[Note] = []
        self.restored: list[Note] = []

    def take_new(self) -> list[Note]:
        new, self.new = self.new, []
        return new

    def restore(self, entries: list[Note]) -> None:
        self.restored += entries


def attached(world: World, host: str = "/") -> Source:
    source = Source()
    world.bridge.keep_notes(host, source)
    return source


def pages(world: World) -> list[str]:
    return [row.key for row in world.store.topology() if row.kind == RowKind.NOTES]


def test_what_was_noted_in_a_turn_is_back_after_a_crash() -> None:
    world = World()
    source = attached(world)
    source.new = [(b"k1", START_MS, b"v1"), (b"k2", START_MS, b"")]
    world.turn()
    source.new = [(b"lost", START_MS, b"v")]
    world.crash()  # before the turn ended
    assert attached(world).restored == [(b"k1", START_MS, b"v1"), (b"k2", START_MS, b"")]


def test_a_turn_without_notes_writes_nothing() -> None:
    world = World()
    attached(world)
    submitted = world.store.counts.commits
    world.turn()
    assert world.store.counts.commits == submitted


def test_a_waiter_is_told_only_when_the_notes_are_safe() -> None:
    world = World()
    world.auto_commit = False
    source = attached(world)
    source.new = [(b"k", START_MS, b"v")]
    world.bridge.end_turn(world.now_ms)
    assert not world.bridge.idle()
    world.commit()
    assert world.bridge.idle()


def test_each_host_has_its_own() -> None:
    world = World(hosts=["/", "other"])
    one, other = attached(world), attached(world, "other")
    one.new, other.new = [(b"k", START_MS, b"1")], [(b"k", START_MS, b"2")]
    world.turn()
    world.restart()
    assert attached(world).restored == [(b"k", START_MS, b"1")]
    assert attached(world, "other").restored == [(b"k", START_MS, b"2")]


def test_pages_are_removed_from_the_store_when_they_are_too_old_before_and_after_a_restart() -> (
    None
):
    world = World()
    source = attached(world)
    for _ in range(3):
        source.new = [(b"k", world.now_ms, b"v")]
        world.turn()
        world.pass_time(AGE_MAX_MS // 2)
    world.bridge.checkpoint(world.now_ms)
    world.turn()
    assert len(pages(world)) == 2
    world.restart()
    assert len(attached(world).restored) == 2
    world.pass_time(AGE_MAX_MS)
    world.bridge.checkpoint(world.now_ms)
    world.turn()
    assert pages(world) == []


def test_numbers_go_on_after_a_restart() -> None:
    world = World()
    for _ in range(2):
        source = attached(world)
        source.new = [(b"k", START_MS, b"v")]
        world.turn()
        world.restart()
    assert len(pages(world)) == len(attached(world).restored) == 2


def test_a_page_goes_when_newer_ones_are_enough() -> None:
    source, writes = Source(), TurnWriter()
    notebook = Notebook("/", notes_max=5)
    notebook.attach(source)
    for number in range(20):
        source.new = [(bytes([number, index]), START_MS, b"v") for index in range(2)]
        notebook.collect(writes, START_MS)
        assert notebook.notes <= 6
    kept = [row for row in TopologyChanges(writes.take()).rows.values() if row is not None]
    assert [note[0][0] for row in kept for note in notes_row(row).notes] == [17, 17, 18, 18, 19, 19]


def test_their_octets_are_bounded() -> None:
    source, writes = Source(), TurnWriter()
    notebook = Notebook("/", octets_max=1000)
    notebook.attach(source)
    for number in range(20):
        source.new = [(bytes([number]), START_MS, b"v" * 300)]
        notebook.collect(writes, START_MS)
    kept = [row for row in TopologyChanges(writes.take()).rows.values() if row is not None]
    assert sum(map(len, kept)) == notebook.octets
    assert 1000 <= notebook.octets < 1400


def test_unreadable_pages_are_reported_and_those_of_other_hosts_left() -> None:
    world = World()
    recover(
        world.bridge,
        Recovered(
            topology=[
                TopologyRow(RowKind.NOTES, "odd", b"\x09"),
                TopologyRow(RowKind.NOTES, "x", NotesRow("nowhere", 1, []).encoded()),
            ],
            held={},
            highest_message_id=0,
            incarnation=1,
            clean=True,
            damage=[],
            aside=[],
        ),
    )
    assert world.bridge.problems == ["notes 'odd' are unreadable: topology row of version 9"]
    assert attached(world).restored == []


@given(
    st.text(max_size=9),
    st.integers(0, 2**62),
    st.lists(st.tuples(OCTETS, st.integers(0, 2**62), OCTETS)),
)
def test_a_page_is_read_as_it_was_written(host: str, number: int, notes: list[Note]) -> None:
    row = notes_row(NotesRow(host, number, notes).encoded())
    assert (row.host, row.number, row.notes) == (host, number, notes)
