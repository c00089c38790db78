"""Store and audit log belong together: neither is begun anew or emptied without a word."""

from __future__ import annotations

import shutil
import sqlite3
import subprocess
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from support import gateway_process
from support.lives import (
    all_sequences,
    criticals,
    depth,
    empty,
    lived,
    remove,
    run,
    send,
    told,
)
from support.whole_gateway import WholeGateway
from twisted.logger import capturedLogs, formatEvent

from gateway.audit.ends import LogEnd
from gateway.audit.reader import segment_paths
from gateway.audit.verify import WHOLE, verify
from gateway.clients.client import Login
from gateway.clients.letter import Letter, Typed
from gateway.errors import StartupError, UnknownStoreError
from gateway.net.data_directory import UNFINISHED_FILE
from gateway.store import outside


def served(data: Path) -> subprocess.CompletedProcess[str]:
    """A gateway that does not start, as a process: it takes signals and standard error for its."""
    options = (f"data_directory={data}", "listen.amqp=127.0.0.1:0")
    return gateway_process.run("serve", *(part for each in options for part in ("--set", each)))


@pytest.mark.parametrize(("harm", "found"), [(remove, "missing"), (empty, "empty")])
def test_a_store_that_is_gone_beside_a_log_with_messages_is_refused(
    tmp_path: Path, harm: Any, found: str
) -> None:
    data = tmp_path / "data"
    lived(data)
    harm(data)
    for _ in range(2):  # the first refusal has not made one
        with pytest.raises(UnknownStoreError, match=f"is {found}, .*--accept-new-store"):
            WholeGateway(data)
    assert verify(data / "audit") == WHOLE


@pytest.mark.process
def test_the_command_refuses_with_exit_code_2(tmp_path: Path) -> None:
    data = tmp_path / "data"
    lived(data)
    remove(data)
    refused = served(data)
    assert (refused.returncode, "--accept-new-store" in refused.stderr) == (2, True)


@pytest.mark.parametrize(("harm", "found"), [(remove, "missing"), (empty, "empty")])
def test_who_says_that_it_is_meant_starts_anew_and_the_log_says_so(
    tmp_path: Path, harm: Any, found: str
) -> None:
    data = tmp_path / "data"
    lived(data)
    last = told(data, "incarnation-stopped")[-1]["sequence"]
    harm(data)
    gateway = WholeGateway(data, accept_new_store=True).start()
    assert depth(gateway) == 0
    gateway.stop()
    (record,) = told(data, "store-accepted")
    assert (record["store"], record["last_sequence"]) == (found, last)
    starts = told(data, "incarnation-started")
    assert [each["incarnation"] for each in starts] == [1, 2]
    assert record["sequence"] == starts[-1]["sequence"] + 1
    assert verify(data / "audit") == WHOLE
    WholeGateway(data).start().stop()  # and from then on it is the store


def test_a_new_directory_and_a_log_without_messages_need_no_word(tmp_path: Path) -> None:
    data = tmp_path / "data"
    WholeGateway(data).start().stop()
    remove(data)
    WholeGateway(data).start().stop()
    assert told(data, "store-accepted") == []
    assert [each["incarnation"] for each in told(data, "incarnation-started")] == [1, 2]


def remembered(directory: Path) -> LogEnd:
    """Where the log had come to, as its store knows."""
    last = outside.known(directory).ends.last
    assert last is not None
    return last


STORE = "store.sqlite*"


def put_back(old: Path, data: Path) -> None:
    """An older copy of the store, beside the log as it is."""
    remove(data)
    for path in old.glob(STORE):
        shutil.copy(path, data / path.name)


def without_its_wal(tmp_path: Path) -> Path:
    """Killed in its second life, and the WAL removed."""
    lived(tmp_path / "data")
    gateway = lived(tmp_path / "data", stop=False)
    shutil.copytree(tmp_path / "data", tmp_path / "killed")
    gateway.stop()
    (tmp_path / "killed" / "store.sqlite-wal").unlink()
    return tmp_path / "killed"


def of_an_earlier_life(tmp_path: Path) -> Path:
    lived(tmp_path / "data")
    shutil.copytree(tmp_path / "data", tmp_path / "old")
    lived(tmp_path / "data")
    put_back(tmp_path / "old", tmp_path / "data")
    return tmp_path / "data"


def of_the_same_life(tmp_path: Path) -> Path:
    gateway = lived(tmp_path / "data", stop=False)
    shutil.copytree(tmp_path / "data", tmp_path / "old")
    send(gateway, durable=True)
    shutil.copytree(tmp_path / "data", tmp_path / "killed")
    gateway.stop()
    put_back(tmp_path / "old", tmp_path / "killed")
    return tmp_path / "killed"


OLDER = [without_its_wal, of_an_earlier_life, of_the_same_life]


@pytest.mark.parametrize("made", OLDER)
def test_a_store_that_is_older_than_its_log_is_refused_and_named(tmp_path: Path, made: Any) -> None:
    data = made(tmp_path)
    before = {path: path.read_bytes() for path in (data / "audit").iterdir()}
    for _ in range(2):  # the first refusal has not changed that
        with pytest.raises(UnknownStoreError, match=r"is older than .*--accept-new-store"):
            WholeGateway(data)
        verified = run("audit", "verify", data)
        assert (verified.exit_code, "store is older" in verified.output) == (1, True)
    assert {path: path.read_bytes() for path in (data / "audit").iterdir()} == before


@pytest.mark.parametrize("made", OLDER)
def test_an_older_store_that_is_meant_is_told_for_ever(tmp_path: Path, made: Any) -> None:
    data = made(tmp_path)
    with capturedLogs() as captured:
        gateway = WholeGateway(data, accept_new_store=True).start()
    critical = [str(formatEvent(each)) for each in captured if each["log_level"].name == "critical"]
    assert ["the store is older" in line for line in critical] == [True]
    assert gateway.service.store.counts.log_differences == 1
    shutil.copytree(data, tmp_path / "untold")  # before anything of this life is on disk
    gateway.stop()
    (record,) = told(data, "store-accepted")
    assert record["store"] == "older than the audit log"
    assert "the store is older" in told(data, "log-differs")[0]["problem"]
    WholeGateway(data).start().stop()  # and from then on it is the store
    assert len(told(data, "store-accepted")) == 1
    assert run("audit", "verify", data).exit_code == 1


def test_an_accepted_store_of_the_same_life_is_refused_again_until_the_log_tells(
    tmp_path: Path,
) -> None:
    data = of_the_same_life(tmp_path)
    gateway = WholeGateway(data, accept_new_store=True)
    shutil.copytree(data, tmp_path / "untold")
    gateway.start().stop()
    with pytest.raises(UnknownStoreError, match="is older than"):
        WholeGateway(tmp_path / "untold")


def test_what_only_the_log_has_makes_no_store_older(tmp_path: Path) -> None:
    data = tmp_path / "data"
    lived(data)
    gateway = lived(data, stop=False)
    shutil.copytree(data, tmp_path / "old")
    send(gateway, durable=False)
    shutil.copytree(data, tmp_path / "killed")
    gateway.stop()
    put_back(tmp_path / "old", tmp_path / "killed")
    assert run("audit", "verify", tmp_path / "killed").exit_code == 0
    again = WholeGateway(tmp_path / "killed").start()
    assert depth(again) == 6
    again.stop()


def test_a_last_row_that_cannot_be_read_is_no_older_store(tmp_path: Path) -> None:
    data = tmp_path / "data"
    gateway = lived(data, stop=False)
    shutil.copytree(data, tmp_path / "killed")
    gateway.stop()
    path = tmp_path / "killed" / "store.sqlite"
    with closing(sqlite3.connect(path, isolation_level=None)) as database:
        database.execute("DELETE FROM audit_log")
        database.execute("UPDATE log SET body = zeroblob(9)")
    copy = tmp_path / "copy"
    again = WholeGateway(tmp_path / "killed", accept_damaged_store=True).start()
    assert again.service.store.counts.rows_damaged > 0
    shutil.copytree(tmp_path / "killed", copy)  # killed again, with the rows set aside
    again.stop()
    WholeGateway(copy).start().stop()


@pytest.mark.parametrize("part", [0.0, 0.5, 0.9])
def test_after_a_power_cut_the_store_writes_again_what_has_not_reached_the_disk(
    tmp_path: Path, part: float
) -> None:
    data = tmp_path / "data"
    lived(data)
    gateway = lived(data, stop=False)
    send(gateway, durable=False)
    send(gateway, durable=True)
    shutil.copytree(data, tmp_path / "cut")
    gateway.stop()
    path = segment_paths(tmp_path / "cut" / "audit")[-1]
    octets = bytearray(path.read_bytes())
    first = remembered(tmp_path / "cut").offset  # up to there it was on disk
    at = first + int(part * (len(octets) - first))
    octets[at : at + 64] = bytes(64)  # of many writes of which the system had done the others
    before = all_sequences(tmp_path / "cut")
    path.write_bytes(octets)
    assert run("audit", "verify", tmp_path / "cut").exit_code == 1
    with capturedLogs() as captured:
        again = WholeGateway(tmp_path / "cut").start()
    lines = [str(formatEvent(each)) for each in captured if each["log_level"].name == "error"]
    assert ["were not surely on disk" in line for line in lines] == [True]
    assert depth(again) == 7
    again.stop()
    after = all_sequences(tmp_path / "cut")
    assert {number: after.get(number) for number in before} == before
    assert run("audit", "verify", tmp_path / "cut").exit_code == 0


def test_verify_of_a_data_directory_says_what_it_could_not_compare(tmp_path: Path) -> None:
    data = tmp_path / "data"
    gateway = lived(data, stop=False)
    running = run("audit", "verify", data)
    assert (running.exit_code, "a gateway is using" in running.output) == (3, True)
    gateway.stop()
    whole = run("audit", "verify", data)
    assert (whole.exit_code, whole.output[-6:]) == (0, "whole\n")
    remove(data)
    gone = run("audit", "verify", data)
    assert (gone.exit_code, "there is no" in gone.output) == (3, True)
    assert "whole" not in gone.output


def halve(directory: Path) -> None:
    path = directory / "store.sqlite"
    path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])


def overwrite(directory: Path) -> None:
    path = directory / "store.sqlite"
    path.write_bytes(b"\xa5" * path.stat().st_size)


def forget(directory: Path) -> None:
    with closing(sqlite3.connect(directory / "store.sqlite", isolation_level=None)) as database:
        database.execute("DELETE FROM audit_log")


def other(directory: Path) -> None:
    remove(directory)
    with closing(sqlite3.connect(directory / "store.sqlite", isolation_level=None)) as database:
        database.execute("CREATE TABLE x (a)")


@pytest.mark.parametrize("harm", [empty, remove, forget, other])
def test_a_log_that_cannot_be_compared_is_not_called_whole(tmp_path: Path, harm: Any) -> None:
    data = tmp_path / "data"
    lived(data)
    harm(data)
    verified = run("audit", "verify", data)
    assert (verified.exit_code, "whole" in verified.output) == (3, False)
    segment_paths(data / "audit")[0].write_bytes(b"")
    assert run("audit", "verify", data).exit_code == 1


def change(directory: Path) -> None:
    with closing(sqlite3.connect(directory / "store.sqlite", isolation_level=None)) as database:
        (body,) = database.execute("SELECT body FROM log ORDER BY number LIMIT 1").fetchone()
        flipped = body[:-1] + bytes((body[-1] ^ 1,))
        database.execute("UPDATE log SET body = ? WHERE body = ?", (flipped, body))


@pytest.mark.parametrize(
    ("harm", "told"),
    [
        (halve, "it is broken: "),
        (overwrite, "it is broken: file is not a database"),
        (change, "checksum does not match"),
    ],
)
def test_verify_tells_of_a_store_with_which_no_gateway_starts(
    tmp_path: Path, harm: Any, told: str
) -> None:
    data = tmp_path / "data"
    lived(data)
    harm(data)
    verified = run("audit", "verify", data)
    (line,) = [line for line in verified.output.splitlines() if line.startswith("STORE ")]
    assert told in line
    assert (verified.exit_code, "whole" in verified.output) == (1, False)
    with pytest.raises(StartupError):
        WholeGateway(data)


def beside_another_wal(directory: Path) -> None:
    """An older copy of the store, beside the WAL of a gateway that was killed."""
    shutil.copy(directory / "store.sqlite", directory.parent / "old")
    gateway = lived(directory, stop=False)
    client = gateway.connect_0_10()
    for _ in range(10):
        letter = Letter(body=Typed("string", "x" * 100_000), durable=True)
        gateway.result(client.send("q", letter))
    gateway.stop()
    gateway = lived(directory, stop=False)
    wal = (directory / "store.sqlite-wal").read_bytes()
    gateway.stop()
    shutil.copy(directory.parent / "old", directory / "store.sqlite")
    (directory / "store.sqlite-wal").write_bytes(wal)


@pytest.mark.parametrize("harm", [halve, overwrite, beside_another_wal])
def test_a_store_of_which_nothing_can_be_read_is_refused_and_what_to_do_is_said(
    tmp_path: Path, harm: Any
) -> None:
    data = tmp_path / "data"
    lived(data)
    harm(data)
    before = {path: path.read_bytes() for path in (data / "audit").iterdir()}
    for accept in (False, True):
        with pytest.raises(UnknownStoreError, match="Put back both as they were together") as told:
            WholeGateway(data, accept_damaged_store=accept)
    assert str(data / "store.sqlite") in str(told.value)
    assert "--accept-new-store" in str(told.value)
    assert {path: path.read_bytes() for path in (data / "audit").iterdir()} == before
    remove(data)  # as it says
    gateway = WholeGateway(data, accept_new_store=True).start()
    assert depth(gateway) == 0
    gateway.stop()


def test_a_file_in_the_place_of_the_log_is_told_in_a_sentence(tmp_path: Path) -> None:
    data = tmp_path / "data"
    lived(data)
    shutil.rmtree(data / "audit")
    (data / "audit").touch()
    with pytest.raises(StartupError, match=f"cannot use {data}/audit: it is no directory"):
        WholeGateway(data)


def test_verify_tells_of_a_backup_that_is_not_finished(tmp_path: Path) -> None:
    data = tmp_path / "data"
    lived(data)
    (data / UNFINISHED_FILE).touch()
    verified = run("audit", "verify", data)
    assert (verified.exit_code, "STORE a backup that is not finished: " in verified.output) == (
        1,
        True,
    )


def test_a_single_segment_is_verified_too(tmp_path: Path) -> None:
    data = tmp_path / "data"
    lived(data)
    (path,) = segment_paths(data / "audit")
    assert run("audit", "verify", path).exit_code == 0
    path.write_bytes(path.read_bytes()[:-1])
    verified = run("audit", "verify", path)
    assert (verified.exit_code, "incomplete block" in verified.output) == (1, True)


@pytest.mark.parametrize(("table", "messages"), [("log", 0), ("topology", 3)])
def test_rows_that_somebody_deleted_are_refused_or_told_for_ever(
    tmp_path: Path, table: str, messages: int
) -> None:
    data = tmp_path / "data"
    lived(data)
    with closing(sqlite3.connect(data / "store.sqlite", isolation_level=None)) as database:
        database.execute(f"DELETE FROM {table}")
    with pytest.raises(UnknownStoreError, match=f"the table {table} has 0 rows"):
        WholeGateway(data)
    with capturedLogs() as captured:
        gateway = WholeGateway(data, accept_damaged_store=True).start()
    assert any(f"the table {table} has 0 rows" in line for line in criticals(captured))
    assert gateway.service.recovered.count == messages
    assert gateway.service.store.counts.rows_damaged == 1
    gateway.stop()
    (record,) = told(data, "log-differs")
    assert f"the store was damaged: the table {table} has 0 rows" in record["problem"]
    again = WholeGateway(data).start()
    assert again.service.store.counts.rows_damaged == 0
    again.stop()


def change_a_row(directory: Path, table: str) -> None:
    """One octet of what a stopped gateway has left."""
    what = {"log": "body", "topology": "value"}[table]
    with closing(sqlite3.connect(directory / "store.sqlite", isolation_level=None)) as database:
        asked = (
            "SELECT number, body FROM log"
            if table == "log"
            else ("SELECT key, value FROM topology WHERE kind = 2")
        )
        key, value = database.execute(asked).fetchall()[-1]
        at = len(value) // 2
        changed = value[:at] + bytes([value[at] ^ 1]) + value[at + 1 :]
        name = {"log": "number", "topology": "key"}[table]
        database.execute(f"UPDATE {table} SET {what} = ? WHERE {name} = ?", (changed, key))


@pytest.mark.parametrize(("table", "row"), [("log", "row "), ("topology", "topology 2 ")])
def test_one_octet_of_a_stored_row_is_refused_or_told_for_ever(
    tmp_path: Path, table: str, row: str
) -> None:
    data = tmp_path / "data"
    lived(data)
    change_a_row(data, table)
    before = {path: path.read_bytes() for path in (data / "audit").iterdir()}
    with pytest.raises(UnknownStoreError, match="--accept-damaged-store"):
        WholeGateway(data)
    assert {path: path.read_bytes() for path in (data / "audit").iterdir()} == before
    with capturedLogs() as captured:
        gateway = WholeGateway(data, accept_damaged_store=True).start()
    assert [row in line for line in criticals(captured)] == [True]
    assert gateway.service.store.counts.rows_damaged == 1
    gateway.stop()
    (accepted,) = told(data, "store-accepted")
    assert accepted["store"] == "damaged"
    for _ in range(2):
        with capturedLogs() as captured:
            again = WholeGateway(data).start()
        assert ["set aside" in line and row in line for line in criticals(captured)] == [True]
        assert again.service.store.counts.rows_damaged == 1
        again.stop()
    (record,) = told(data, "log-differs")
    assert f"the store was damaged: {row}" in record["problem"]
    verified = run("audit", "verify", data)
    assert (verified.exit_code, "the store was damaged" in verified.output) == (1, True)


def lose_the_row(directory: Path) -> None:
    with closing(sqlite3.connect(directory / "store.sqlite", isolation_level=None)) as database:
        database.execute("DELETE FROM topology WHERE kind = 2")


def damage_the_row(directory: Path) -> None:
    change_a_row(directory, "topology")


@pytest.mark.parametrize("harm", [lose_the_row, damage_the_row])
@pytest.mark.parametrize("host", ["/", "other"])
def test_a_queue_whose_row_is_gone_has_its_messages_back_under_its_name(
    tmp_path: Path, harm: Any, host: str
) -> None:
    data = tmp_path / "data"
    hosts = ("virtual_hosts=[{name: /}, {name: other}]",)
    gateway = WholeGateway(data, *hosts).start()
    client = gateway.connect_0_10(Login(virtual_host=host))
    gateway.result(client.declare_queue("q", durable=True))
    gateway.result(client.bind("q", "amq.topic", "news"))
    for _ in range(3):
        gateway.result(client.send("q", Letter(body=Typed("string", "x"), durable=True)))
    gateway.stop()
    harm(data)
    again = WholeGateway(data, *hosts, accept_damaged_store=True).start()
    for number in range(2):
        client = again.connect_0_10(Login(virtual_host=host))
        letter = Letter(body=Typed("string", "x"), durable=True)
        again.result(client.send("amq.topic/news", letter))
        queue = again.service.bridge.hosts[host].topology.queues["q"]
        assert queue.depth == 4 + number
        again.stop()
        again.ledger().assert_balanced()
        again = WholeGateway(data, *hosts).start()
    again.stop()


def test_a_queue_that_not_even_the_log_names_is_called_by_its_number(tmp_path: Path) -> None:
    data = tmp_path / "data"
    lived(data)
    lose_the_row(data)
    for path in segment_paths(data / "audit"):
        path.unlink()
    gateway = WholeGateway(data, accept_damaged_store=True).start()
    [name] = gateway.service.bridge.default_host.topology.queues
    assert name.startswith("recovered.")
    assert gateway.service.bridge.default_host.topology.queues[name].depth == 3
    gateway.stop()
