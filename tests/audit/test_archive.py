"""A segment is kept elsewhere, or it is told why it is not."""

import os
import stat
import sys
from hashlib import sha256

import pytest
from support.faulty_disk import BROKEN, FULL, SHORT, FaultyDisk

from gateway.audit.archive import ArchiveError, copy_into, hand_over

NAME = "0000000001-000001.audit"
CONTENT = b"segment" * 1000
DIGEST = sha256(CONTENT).hexdigest()


@pytest.fixture
def segment(tmp_path):
    path = tmp_path / NAME
    path.write_bytes(CONTENT)
    return path


@pytest.fixture
def archive(tmp_path):
    (tmp_path / "archive").mkdir()
    return tmp_path / "archive"


def test_it_is_copied_to_a_folder_of_its_log_for_its_owner_alone(segment, archive):
    copy_into(archive, "ab12", segment, DIGEST)
    copy = archive / "ab12" / NAME
    assert copy.read_bytes() == CONTENT
    assert stat.S_IMODE(copy.stat().st_mode) == 0o600
    assert segment.exists()
    assert os.listdir(archive / "ab12") == [NAME]


def test_one_that_is_there_already_is_the_same_or_stays_as_it_is(segment, archive):
    copy_into(archive, "ab12", segment, DIGEST)
    copy_into(archive, "ab12", segment, DIGEST)
    copy = archive / "ab12" / NAME
    copy.write_bytes(b"other")
    with pytest.raises(ArchiveError, match="is there already, and is another one"):
        copy_into(archive, "ab12", segment, DIGEST)
    assert copy.read_bytes() == b"other"


@pytest.mark.parametrize("how", ["symbolic link", "hard link", "folder that is a link"])
def test_the_segment_itself_is_no_copy_of_it(how, segment, archive):
    folder = archive / "ab12"
    if how == "folder that is a link":
        folder.symlink_to(segment.parent)
    else:
        folder.mkdir()
        made = folder / segment.name
        made.symlink_to(segment) if how == "symbolic link" else made.hardlink_to(segment)
    with pytest.raises(ArchiveError, match="is the segment itself, and no copy of it"):
        copy_into(archive, "ab12", segment, DIGEST)
    assert segment.is_file()


def test_what_a_kill_left_half_copied_is_in_nobodys_way(segment, archive):
    (archive / "ab12").mkdir()
    (archive / "ab12" / f"{NAME}.new").write_bytes(CONTENT[:10])
    copy_into(archive, "ab12", segment, DIGEST)
    assert os.listdir(archive / "ab12") == [NAME]


def test_an_archive_that_is_not_there_is_not_made(segment, tmp_path):
    with pytest.raises(ArchiveError, match=r"cannot write .*elsewhere/ab12: No such file"):
        copy_into(tmp_path / "elsewhere", "ab12", segment, DIGEST)


def test_what_was_changed_meanwhile_is_not_kept(segment, archive):
    with pytest.raises(ArchiveError, match="is not what was written to it"):
        copy_into(archive, "ab12", segment, "0" * 64)
    assert os.listdir(archive / "ab12") == []


@pytest.mark.parametrize("fault", [FULL, BROKEN, SHORT])
def test_a_disk_that_refuses_anything_leaves_nothing_that_could_be_taken_for_it(
    segment, archive, monkeypatch, fault
):
    disk = FaultyDisk(monkeypatch, archive)
    at = 0
    while True:
        failed = disk.failed
        disk.fail(fault, at=at)
        try:
            copy_into(archive, "ab12", segment, DIGEST)
        except ArchiveError as error:
            assert str(error).startswith("cannot write ")
        copy = archive / "ab12" / NAME
        assert not copy.exists() or copy.read_bytes() == CONTENT
        disk.heal()
        if disk.failed == failed:
            break
        copy_into(archive, "ab12", segment, DIGEST)
        copy.unlink()
        (archive / "ab12").rmdir()
        at += 1
    assert at > 1


def program(code, *more):
    return [sys.executable, "-c", f"import sys\n{code}", *more]


@pytest.mark.process
def test_a_program_is_given_the_path_behind_its_arguments(segment, tmp_path):
    kept = tmp_path / "kept"
    code = "import shutil; shutil.copy(sys.argv[2], sys.argv[1])"
    hand_over(program(code, str(kept)), segment)
    assert kept.read_bytes() == CONTENT


@pytest.mark.process
@pytest.mark.parametrize(
    ("command", "problem"),
    [
        (program("sys.exit(3)"), f"{NAME}: exit code 3$"),
        (program("sys.exit('a\\nno bucket\\x1b[2J\\n')"), r"exit code 1: no bucket\\x1b\[2J$"),
        (program("import os; os.kill(os.getpid(), 9)"), "signal 9$"),
        (["/nowhere/archive"], "cannot run /nowhere/archive: .*No such file"),
        (["archive\0"], "cannot run .*null byte"),
    ],
)
def test_a_program_that_fails_is_told_with_its_last_word(segment, command, problem):
    with pytest.raises(ArchiveError, match=problem) as told:
        hand_over(command, segment)
    assert "\n" not in str(told.value)
    assert "\x1b" not in str(told.value)


@pytest.mark.process
def test_a_program_that_does_not_end_is_ended(segment):
    with pytest.raises(ArchiveError, match=r"has not ended after 0\.2 s"):
        hand_over(program("import time; time.sleep(600)"), segment, 0.2)


@pytest.mark.process
def test_what_a_program_says_without_end_is_not_kept_in_memory(segment):
    code = "sys.stderr.write('x' * 3_000_000); sys.exit(1)"
    with pytest.raises(ArchiveError) as told:
        hand_over(program(code), segment)
    assert len(str(told.value)) < 1_000
