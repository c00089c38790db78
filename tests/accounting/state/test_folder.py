"""The directory of a state: whole, or the one before."""

import json
import shutil
from collections.abc import Callable
from hashlib import sha256
from pathlib import Path

import pyarrow as pa
import pytest
from pyarrow import parquet

from gateway.accounting.state.folder import (
    FORM,
    Covered,
    Folder,
    Had,
    Said,
    State,
    StateError,
    differences,
)
from gateway.audit.let_go import Departure, LetGo

STATE = State("id", 5, (Covered("0000000001-000001.audit", 10, "a"),), (Said("00000001", 7),), "")
STATE = STATE._replace(had=Had(1, 77))


def put(directory: Path) -> Path:
    """What the state names."""
    path = directory / "00000001" / "part.parquet"
    path.parent.mkdir(parents=True)
    path.write_text("rows")
    return path


def test_what_is_written_is_read_and_a_new_directory_has_nothing(tmp_path):
    folder = Folder(tmp_path / "state")
    assert folder.read() == State()
    put(tmp_path / "state")
    folder.write(STATE)
    assert folder.read() == STATE
    folder.clear()
    assert folder.read() == State()
    assert not (tmp_path / "state" / "00000001").exists()


def test_of_what_earlier_versions_wrote_it_is_not_known_what_had_left(tmp_path):
    folder = Folder(tmp_path)
    put(tmp_path)
    folder.write(STATE)
    told = json.loads((tmp_path / "state.json").read_text())
    del told["had"], told["sha256"]
    (tmp_path / "state.json").write_text(json.dumps(told))
    assert folder.read() == STATE._replace(had=Had())


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("{", "is no state"),
        ("[" * 100_000, "is no state"),
        ("[]", "is of version None"),
        ('{"form": 1}', "is of version 1, not of 2"),
        ('{"form": "FORM", "log": ""}', "is no state"),
        (
            '{"form": "FORM", "log": "", "late_ms": 0, "segments": [], "said": [["../x", 1]],'
            ' "records": ""}',
            "is no state",
        ),
        (
            '{"form": "FORM", "log": "", "late_ms": 0, "segments": [], "said": [["00000001", 1]],'
            ' "records": ""}',
            "is missing, which the state names",
        ),
    ],
)
def test_what_is_no_state_of_this_version_is_refused_in_a_sentence(tmp_path, text, problem):
    (tmp_path / "state.json").write_text(text.replace("FORM", FORM))
    with pytest.raises(StateError, match=problem) as raised:
        Folder(tmp_path).read()
    assert "--rebuild" in str(raised.value)


@pytest.mark.parametrize(
    "harm",
    [
        lambda table: table.unlink(),
        lambda table: table.write_text("row"),
        lambda table: table.write_text("rowS"),
        lambda table: table.with_name("other.parquet").touch(),
    ],
)
def test_a_folder_that_is_not_as_it_was_left_is_refused(
    tmp_path: Path, harm: Callable[[Path], object]
) -> None:
    table = put(tmp_path)
    Folder(tmp_path).write(STATE)
    harm(table)
    with pytest.raises(StateError, match=r"00000001 is .*missing.*--rebuild"):
        Folder(tmp_path).read()


def test_a_state_of_a_version_that_did_not_say_its_tables_is_gone_on_from(tmp_path):
    put(tmp_path)
    Folder(tmp_path).write(STATE)
    file = tmp_path / "state.json"
    told = json.loads(file.read_text())
    del told["tables"], told["sha256"]
    file.write_text(json.dumps(told))
    folder = Folder(tmp_path)
    assert folder.read() == STATE
    folder.write(STATE)
    digest = sha256(b"rows").hexdigest()
    assert json.loads(file.read_text())["tables"] == {"00000001": {"part.parquet": [4, digest]}}


def test_a_state_of_a_version_that_said_no_more_than_octets_is_gone_on_from(tmp_path):
    table = put(tmp_path)
    Folder(tmp_path).write(STATE)
    file = tmp_path / "state.json"
    told = json.loads(file.read_text())
    told["tables"] = {"00000001": {"part.parquet": 4}}
    del told["sha256"]
    file.write_text(json.dumps(told))
    assert Folder(tmp_path).read() == STATE
    table.write_text("row")
    with pytest.raises(StateError, match="is not as the state has it"):
        Folder(tmp_path).read()


def test_one_flipped_bit_of_what_a_state_says_of_itself_is_refused_or_says_nothing_else(tmp_path):
    put(tmp_path)
    Folder(tmp_path).write(STATE)
    file = tmp_path / "state.json"
    octets = file.read_bytes()
    refused = 0
    for place in range(len(octets)):
        changed = bytearray(octets)
        changed[place] ^= 1 << place % 7
        file.write_bytes(changed)
        try:
            assert Folder(tmp_path).read() == STATE
        except StateError:
            refused += 1
    assert refused > len(octets) * 9 // 10


def test_one_flipped_bit_of_what_a_table_says_of_itself_is_refused(tmp_path):
    table = put(tmp_path)
    parquet.write_table(pa.table({"message": [1, 2, 3]}), table, write_page_checksum=True)
    Folder(tmp_path).write(STATE)
    octets = table.read_bytes()
    footer = 8 + int.from_bytes(octets[-8:-4], "little")
    for place in range(len(octets) - footer, len(octets)):
        changed = bytearray(octets)
        changed[place] ^= 1 << place % 8
        table.write_bytes(changed)
        with pytest.raises(StateError, match="is not as the state has it, changed"):
            Folder(tmp_path).read()
    table.write_bytes(octets)
    assert Folder(tmp_path).read() == STATE


def test_what_goes_while_a_run_goes_on_from_it_is_told_and_nothing_is_left_by_that_run(tmp_path):
    table = put(tmp_path / "state")
    folder = Folder(tmp_path / "state")
    folder.write(STATE)
    with folder.held():
        folder.read()
        table.unlink()
        with pytest.raises(StateError, match="is missing"):
            folder.write(STATE)
    table.write_text("rows")
    with folder.held():
        folder.read()
        shutil.rmtree(folder.path)
        put(folder.path)
        with pytest.raises(StateError, match="was removed while this run went on from it"):
            folder.write(STATE)
    assert not (folder.path / "state.json").exists()


def begin(folder: Folder) -> None:
    """As a run does that writes the first of its two folders."""
    one, _other = folder.fresh(folder.read())
    (folder.path / one).mkdir()
    (folder.path / one / "part.parquet").write_text("rows")


def there(folder: Folder) -> list[str]:
    return sorted(path.name for path in folder.path.iterdir())


def test_a_run_that_breaks_off_leaves_nothing_where_the_disk_is_full(tmp_path):
    put(tmp_path)
    folder = Folder(tmp_path)
    folder.write(STATE)
    with pytest.raises(OSError, match="No space"), folder.held():
        begin(folder)
        raise OSError(28, "No space left on device")
    assert there(folder) == ["00000001", "lock", "state.json"]
    assert folder.read() == STATE


def test_what_a_killed_run_has_left_goes_before_the_next_one_needs_the_room(tmp_path):
    put(tmp_path)
    folder = Folder(tmp_path)
    folder.write(STATE)
    (tmp_path / "00000004").mkdir()
    assert folder.fresh(folder.read()) == ("00000005", "00000006")
    assert there(folder) == ["00000001", "state.json"]


def test_a_run_whose_lock_was_removed_deletes_nothing_of_the_one_that_came_after_it(tmp_path):
    folder, other = Folder(tmp_path / "state"), Folder(tmp_path / "state")
    with folder.held():
        begin(folder)
        shutil.rmtree(folder.path)
        with other.held():
            begin(other)
            other.write(STATE)
    assert there(other) == ["00000001", "lock", "state.json"]
    assert other.read() == STATE


def test_half_a_state_is_not_left_beside_the_one_before(tmp_path, monkeypatch):
    put(tmp_path)
    folder = Folder(tmp_path)
    folder.write(STATE)

    def full(_handle: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("os.fsync", full)
    with pytest.raises(OSError, match="No space"):
        folder.write(STATE._replace(late_ms=9))
    assert there(folder) == ["00000001", "state.json"]
    assert folder.read() == STATE


def test_two_runs_do_not_use_one_state(tmp_path):
    folder = Folder(tmp_path / "state")
    with folder.held(), pytest.raises(StateError, match="in use by another run"), folder.held():
        pass
    with folder.held():
        pass


def test_segments_that_are_not_as_they_were_are_told():
    assert differences(STATE, {STATE.last: 10}, LetGo()) == []
    assert "not there any more" in differences(STATE, {}, LetGo())[0][1]
    assert "10 octets" in differences(STATE, {STATE.last: 11}, LetGo())[0][1]


def test_segments_that_were_let_go_are_told_only_where_they_went_as_others():
    def found(*departures: Departure) -> list[tuple[str, str]]:
        let_go = LetGo()
        let_go.note(departures)
        return differences(STATE, {}, let_go)

    assert found(Departure(1, 20, "a", 1, 30)) == []
    assert found(Departure(5, 90, "e", 1, 95)) == []
    assert "not what was reconciled" in found(Departure(1, 20, "b", 1, 30))[0][1]
