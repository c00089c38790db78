import shutil
import threading
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.examples import examples
from support.stores import (
    Facts,
    Running,
    Segments,
    content,
    message,
    one_message,
    reopened,
    scratch,
)

from gateway.audit.records.log import AuditLog
from gateway.errors import BrokenStoreError, StartupError, StoreError, UnknownStoreError
from gateway.message import Message
from gateway.store import committer, trouble
from gateway.store.sqlite import FILE_NAME, INCARNATION_SHIFT
from gateway.store.writes import TurnWriter


class World:
    """Drives a store and a model of it, through closings and crashes."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self.generation = 0
        self.entries: dict[tuple[int, int], tuple[int, Message]] = {}
        self.topology: dict[tuple[int, str], bytes] = {}
        self.audit: list[bytes] = []
        self.audit_due = 0
        self.last_id = 0
        self.positions = 0
        self.segments = Segments()
        self.running = self.start()

    def start(self) -> Running:
        running = Running(self.directory / str(self.generation), self.segments, slack_octets=0)
        assert content(running) == self.entries
        found = {(row.kind, row.key): row.value for row in running.recovered.topology}
        assert found == self.topology
        assert running.recovered.damage == []
        assert running.recovered.highest_message_id >= self.last_id
        self.last_id = running.recovered.highest_message_id
        held = self.segments.blocks
        assert held == self.audit[: len(held)]
        assert len(held) >= self.audit_due
        del self.audit[len(held) :]
        return running

    def close(self) -> None:
        self.running.close()
        assert self.segments.blocks == self.audit
        self.running = self.start()
        assert self.running.recovered.clean

    def crash(self) -> None:
        """The machine loses power: only what is in the store's files and synced segments stays."""
        before = self.directory / str(self.generation)
        self.generation += 1
        shutil.copytree(before, self.directory / str(self.generation))
        self.segments.power_cut()
        old, self.segments = self.running, Segments()
        self.segments.blocks = list(old.segments.blocks)
        self.segments.sync()
        old.close()
        self.running = self.start()
        assert not self.running.recovered.clean

    def turn(self, data: st.DataObject) -> None:
        writer = TurnWriter()
        durable = False
        for _ in range(data.draw(st.integers(0, 6))):
            durable = True
            self.step(writer, data)
        audit = b""
        if data.draw(st.booleans()):
            self.audit.append(b"block %d" % len(self.audit))
            audit = self.audit[-1] + b";"
        if durable:
            self.audit_due = len(self.audit)
        self.running.submit(writer, audit)

    def step(self, writer: TurnWriter, data: st.DataObject) -> None:
        what = data.draw(st.integers(0, 9))
        if what < 4 or (what < 8 and not self.entries):
            self.enqueue(writer, data)
        elif what < 8:
            place = data.draw(st.sampled_from(sorted(self.entries)))
            count, sent = self.entries.pop(place)
            if what == 7:
                self.entries[place] = (count + 1, sent)
                writer.redelivered(*place, count + 1)
            else:
                writer.dequeue(*place)
                if what == 6:  # moved to another queue
                    self.positions += 1
                    writer.message(sent)
                    writer.enqueue(9, self.positions, sent.id)
                    self.entries[(9, self.positions)] = (sent.delivery_count, sent)
        elif what == 8:
            key = (data.draw(st.integers(0, 1)), data.draw(st.sampled_from("abc")))
            self.topology[key] = data.draw(st.binary(max_size=9))
            writer.topology(*key, self.topology[key])
        elif data.draw(st.booleans()):
            key = (data.draw(st.integers(0, 1)), data.draw(st.sampled_from("abc")))
            self.topology.pop(key, None)
            writer.topology_removed(*key)
        else:
            kind, first = data.draw(st.integers(0, 1)), data.draw(st.sampled_from("abc"))
            for key in [key for key in self.topology if key[0] == kind and first <= key[1] < "c"]:
                del self.topology[key]
            writer.topology_cleared(kind, first, "c")

    def enqueue(self, writer: TurnWriter, data: st.DataObject) -> None:
        self.last_id += 1
        sent = message(self.last_id, data.draw(st.binary(max_size=30)), id_digest=5, body_digest=6)
        writer.message(sent)
        for queue_id in data.draw(st.sets(st.integers(1, 3), min_size=1)):
            self.positions += 1
            writer.enqueue(queue_id, self.positions, sent.id)
            self.entries[(queue_id, self.positions)] = (sent.delivery_count, sent)


@settings(max_examples=examples(25))
@given(st.data(), st.sampled_from([1, 3, 1000]), st.sampled_from([0, 10_000]))
def test_whatever_the_turns_the_store_holds_what_the_model_holds(
    data: st.DataObject, dead_rows: int, loose_octets: int
) -> None:
    with scratch() as directory, pytest.MonkeyPatch.context() as patch:
        patch.setattr(committer, "DEAD_ROWS", dead_rows)
        patch.setattr(committer, "LOOSE_OCTETS", loose_octets)
        world = World(Path(directory))
        for _ in range(data.draw(st.integers(1, 25))):
            what = data.draw(st.integers(0, 9))
            if what < 7:
                world.turn(data)
                if what < 5:
                    world.running.wait()
            else:
                world.running.wait()
                world.close() if what == 7 else world.crash()
        world.running.wait()
        world.close()
        world.running.close()


def fill(directory: Path, turns: int) -> list[dict[tuple[int, int], Facts]]:
    """One row a turn, each two messages and one dequeue; the content after each turn."""
    running = Running(directory)
    contents: list[dict[tuple[int, int], Facts]] = [{}]
    for turn in range(1, turns + 1):
        writer = TurnWriter()
        after = dict(contents[-1])
        for number in (2 * turn, 2 * turn + 1):
            sent = message(number)
            writer.message(sent)
            writer.enqueue(1, number, number)
            after[(1, number)] = (sent.delivery_count, sent)
        if turn > 1:
            writer.dequeue(1, 2 * turn - 2)
            del after[(1, 2 * turn - 2)]
        running.commit(writer)
        contents.append(after)
    running.close()
    return contents


@settings(max_examples=examples(20))
@given(st.data())
def test_a_row_with_any_octet_changed_is_refused_or_left_out_and_reported(
    data: st.DataObject,
) -> None:
    with scratch() as path:
        directory = Path(path)
        everything = fill(directory, 5)[-1]
        database = committer.Database(directory / FILE_NAME)
        rows = list(database.rows())
        number, row = data.draw(st.sampled_from(rows))
        at = data.draw(st.integers(0, len(row) - 1))
        damaged = bytearray(row)
        damaged[at] ^= data.draw(st.integers(1, 255))
        database.delete([number])
        database.commit(number, bytes(damaged), {})
        database.close()
        for _ in range(2):  # the first refusal changes nothing
            with pytest.raises(UnknownStoreError, match=rf"row {number} .*--accept-damaged-store"):
                Running(directory)
        recovered = reopened(directory, accept_damaged=True)
        found = content(recovered)
        lost = {(1, 2 * number), (1, 2 * number + 1)}
        back = {(1, 2 * number - 2)} - {(1, 0)}  # what only the damaged row said had left
        assert set(found) == (set(everything) - lost) | (back & {(1, n) for n in range(2, 12)})
        assert all(found[place] == everything[place] for place in found if place not in back)
        assert [f"row {number} " in line for line in recovered.damage] == [True]
        assert not recovered.clean
        again = reopened(directory)
        assert (content(again), again.damage) == (found, [])
        assert [f"row {number} " in line for line in again.aside] == [True]


@settings(max_examples=examples(25))
@given(st.data())
def test_a_file_with_any_octet_changed_is_refused_or_yields_only_true_entries(
    data: st.DataObject,
) -> None:
    with scratch() as path:
        directory = Path(path)
        contents = fill(directory, 5)
        ever: dict[tuple[int, int], Facts] = {}
        for after in contents:
            ever.update(after)
        file = directory / FILE_NAME
        octets = bytearray(file.read_bytes())
        at = data.draw(st.integers(0, len(octets) - 1))
        octets[at] ^= data.draw(st.integers(1, 255))
        file.write_bytes(octets)
        try:
            found = content(reopened(directory))
        except (StoreError, UnknownStoreError) as error:
            assert "\n" not in str(error)
            return
        assert all(ever[place] == found[place] for place in found)


def test_a_torn_wal_yields_a_prefix_of_the_turns(tmp_path: Path) -> None:
    running = Running(tmp_path / "store")
    for position in range(1, 9):
        running.commit(one_message(position))
    shutil.copytree(tmp_path / "store", tmp_path / "crashed")
    running.close()
    wal = tmp_path / "crashed" / f"{FILE_NAME}-wal"
    whole = wal.read_bytes()
    held = set()
    for cut in range(0, len(whole), 4099):
        copy = tmp_path / f"cut{cut}"
        shutil.copytree(tmp_path / "crashed", copy)
        (copy / f"{FILE_NAME}-wal").write_bytes(whole[:cut])
        if cut < 3 * 8192:  # not even the schema is there
            continue
        found = sorted(position for _queue, position in content(reopened(copy)))
        assert found == list(range(1, len(found) + 1))
        held.add(len(found))
    assert held >= {1, 4, 7}


def test_a_turn_is_reported_only_when_another_connection_would_find_it(tmp_path: Path) -> None:
    running = Running(tmp_path / "store")
    for position in range(1, 30):
        running.submit(one_message(position))
        running.wait()
        shutil.copytree(tmp_path / "store", tmp_path / "copy", dirs_exist_ok=True)
        assert len(reopened(tmp_path / "copy").entries) == position
        shutil.rmtree(tmp_path / "copy")
    running.close()


def test_turns_that_wait_are_one_commit_and_one_report(tmp_path: Path) -> None:
    running = Running(tmp_path)
    held = threading.Event()
    commit = running.store._database.commit

    def slow_commit(*arguments: object) -> None:
        held.wait(30)
        commit(*arguments)  # type: ignore[arg-type]  # passed through

    running.store._database.commit = slow_commit  # type: ignore[method-assign]  # a slow disk
    for position in range(1, 101):
        running.submit(one_message(position))
    held.set()
    running.wait()
    assert running.store.counts.commits <= 3
    assert len(running.reactor.committed) <= 3
    assert running.store.counts.turns == 100
    assert running.store.counts.turns_waiting == 0
    assert running.store.counts.octets_waiting == 0
    running.close()
    assert len(reopened(tmp_path).entries) == 100


def test_a_turn_that_made_nothing_durable_is_reported_without_a_commit(tmp_path: Path) -> None:
    running = Running(tmp_path)
    running.commit(audit=b"a;")
    assert running.store.counts.commits == 0
    assert running.segments.blocks == [b"a"]
    running.close()


def test_copies_of_a_message_share_it_when_recovered(tmp_path: Path) -> None:
    running = Running(tmp_path)
    writer = one_message(1)
    writer.enqueue(2, 1, 1)
    running.commit(writer)
    running.close()
    first, second = reopened(tmp_path).entries
    assert first.message is second.message


def test_message_ids_and_incarnations_are_never_used_again(tmp_path: Path) -> None:
    running = Running(tmp_path)
    first = running.recovered
    number = first.highest_message_id + 1
    running.commit(one_message(1, number))
    gone = TurnWriter()
    gone.dequeue(1, 1)
    running.commit(gone)
    running.close()
    second = reopened(tmp_path)
    assert (first.incarnation, second.incarnation) == (1, 2)
    assert second.highest_message_id == 2 << INCARNATION_SHIFT
    assert second.highest_message_id > number


def test_a_first_start_is_clean_and_empty(tmp_path: Path) -> None:
    recovered = reopened(tmp_path / "new" / "directory")
    assert (recovered.clean, recovered.entries, recovered.topology) == (True, [], [])


def test_a_start_that_the_full_disk_does_not_take_is_written_as_soon_as_it_does(
    tmp_path: Path,
) -> None:
    running = Running(tmp_path)
    running.commit(one_message(1), b"a;")
    running.commit(one_message(2), b"b;")
    running.close()
    segments = Segments()
    segments.full = True
    segments.refusals = 4  # at the start, with what was set aside given up, twice by the thread
    running = Running(tmp_path, segments)
    assert [entry.position for entry in running.entries] == [1, 2]
    running.submit(one_message(3), b"c;")
    running.wait()
    assert running.reactor.failures == ["no space for audit"] * 2
    assert running.reactor.eased == 1
    assert segments.blocks == [b"a", b"b", b"c"]
    running.close()
    after = reopened(tmp_path)
    assert [entry.position for entry in after.entries] == [1, 2, 3]
    assert (after.incarnation, after.clean) == (3, True)


def test_what_is_there_is_recalled_while_the_full_disk_does_not_take_the_start(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(trouble, "RETRY_S", 1000.0)
    running = Running(tmp_path)
    running.commit(one_message(1), b"a;")
    running.close()
    segments = Segments()
    segments.full = True
    segments.refusals = 3  # at the start, with what was set aside given up, once by the thread
    running = Running(tmp_path, segments)
    assert [entry.position for entry in running.entries] == [1]
    assert running.store._database.meta("incarnation") == 1  # that of the life before
    running.close()
    assert reopened(tmp_path).incarnation == 3


def test_a_directory_belongs_to_one_store_at_a_time(tmp_path: Path) -> None:
    running = Running(tmp_path)
    with pytest.raises(StartupError, match="used by another process"):
        Running(tmp_path)
    running.close()
    reopened(tmp_path)


def test_a_directory_that_cannot_be_made_is_one_line(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(StartupError, match="cannot use data directory"):
        Running(tmp_path / "file" / "store")


def test_a_file_that_is_no_store_is_refused_and_the_lock_let_go(tmp_path: Path) -> None:
    (tmp_path / FILE_NAME).write_bytes(b"no database at all " * 1000)
    for _ in range(2):
        with pytest.raises(BrokenStoreError, match="cannot open"):
            Running(tmp_path)
    (tmp_path / FILE_NAME).unlink()
    reopened(tmp_path)


def test_a_store_of_a_newer_format_is_refused(tmp_path: Path) -> None:
    reopened(tmp_path)
    database = committer.Database(tmp_path / FILE_NAME)
    database._set_meta("format", 2)
    database.close()
    with pytest.raises(StoreError, match="format 2"):
        Running(tmp_path)


@pytest.mark.parametrize("value", ["x'00'", "'text'", "7", "NULL"])
def test_topology_that_is_not_as_written_is_refused_or_set_aside(
    tmp_path: Path, value: str
) -> None:
    running = Running(tmp_path)
    writer = TurnWriter()
    writer.topology(1, "queue", b"settings")
    writer.topology(1, "sound", b"settings")
    running.commit(writer)
    running.close()
    database = committer.Database(tmp_path / FILE_NAME)
    database._db.execute(f"UPDATE topology SET value = {value} WHERE key = 'queue'")
    database.close()
    with pytest.raises(UnknownStoreError, match="topology 1 'queue': checksum does not match"):
        Running(tmp_path)
    recovered = reopened(tmp_path, accept_damaged=True)
    assert [row.key for row in recovered.topology] == ["sound"]
    told = ["topology 1 'queue': checksum does not match"]
    assert (recovered.damage, recovered.aside) == (told, [])
    again = reopened(tmp_path)
    assert ([row.key for row in again.topology], again.damage) == (["sound"], [])
    assert again.aside == told


class WholeBlocks(Segments):
    """Takes what an audit log gives."""

    def append(self, blocks: bytes) -> None:
        self.blocks.append(blocks)


def test_of_a_damaged_row_the_messages_are_told_and_the_log_gets_its_audit_blocks(
    tmp_path: Path,
) -> None:
    running = Running(tmp_path / "store")
    running.commit(one_message(1))
    audit = AuditLog(1, 1)
    audit.incarnation_started(1, "1")
    block = audit.take_block(1)
    running.commit(one_message(2), block)
    shutil.copytree(tmp_path / "store", tmp_path / "killed")
    running.close()
    database = committer.Database(tmp_path / "killed" / FILE_NAME)
    number, row = list(database.rows())[-1]
    at = row.index(b"x")
    database.delete([number])
    database.commit(number, row[:at] + bytes([row[at] ^ 1]) + row[at + 1 :], {})
    database.close()
    segments = WholeBlocks()
    again = Running(tmp_path / "killed", segments, accept_damaged=True)
    again.close()
    [line] = again.recovered.damage
    sent = message(2).id
    assert f"as far as it can be read, messages {sent} to {sent}, 1 copies" in line
    assert block in segments.blocks


def test_rows_set_aside_by_a_life_that_was_cut_off_are_found_once_more(tmp_path: Path) -> None:
    fill(tmp_path / "store", 3)
    database = committer.Database(tmp_path / "store" / FILE_NAME)
    database._db.execute("UPDATE log SET body = zeroblob(9) WHERE number = 2")
    database.close()
    first = Running(tmp_path / "store", accept_damaged=True)
    shutil.copytree(tmp_path / "store", tmp_path / "killed")
    first.close()
    second = Running(tmp_path / "killed")
    assert second.recovered.damage == first.recovered.damage == second.recovered.aside
    assert second.store.counts.rows_damaged == 1
    shutil.copytree(tmp_path / "killed", tmp_path / "again")
    second.close()
    assert reopened(tmp_path / "again").damage == first.recovered.damage
    third = reopened(tmp_path / "killed")
    assert (third.damage, third.aside) == ([], second.recovered.aside)
