"""The oldest segments go that are old or too many, where a closed book covers them."""

import os
import shutil
import sys
from hashlib import sha256

import pytest
from support.audit_logs import ScriptedGateway
from support.closed_books import close_log
from support.keys import Key

from gateway.audit import retention as retention_module
from gateway.audit.ends import LogEnd, beginning, last_sequence_of, log_id_in
from gateway.audit.reader import segment_paths
from gateway.audit.retention import Policy, Retention, Standing, remove
from gateway.audit.schema import segment_numbers

AGE_MS = 1_000_000
OLD = Policy(keep_age_ms=AGE_MS)
LATER_MS = 10 * AGE_MS


class Kept:
    """A log of some segments, its books and its archive."""

    def __init__(self, directory):
        self.log = directory / "audit"
        self.books = directory / "books"
        self.archive = directory / "archive"
        self.archive.mkdir()
        gateway = ScriptedGateway(self.log, segment_octets=600)
        for _ in range(24):
            gateway.publish("orders")
            gateway.turn()
        gateway.stop()
        gateway.close()
        self.now_ms = gateway.now_ms + LATER_MS
        self.retention = Retention(self.log)
        self.first = beginning(self.log)
        self.last = LogEnd(last_sequence_of(self.paths), len(self.paths), 0, "")

    @property
    def paths(self):
        return segment_paths(self.log)

    def close(self, first, last, **other):
        """A book of these; the gateway is told of the books."""
        close_log(self.books, self.log, first, last, **other)
        self.retention.read_books(self.books, None)

    def look(self, policy=OLD, **other) -> Standing:
        said = {
            "log": log_id_in(self.log),
            "first": self.first,
            "last": self.last,
            "now_ms": self.now_ms,
            **other,
        }
        return self.retention.look(policy, **said)

    def gone(self, policy=OLD, **other):
        """The last segment that may go; 0: none."""
        departing = self.look(policy, **other).departing
        return 0 if departing is None else departing.last_segment


@pytest.fixture
def kept(tmp_path):
    return Kept(tmp_path)


def test_nothing_goes_unless_it_is_wanted(kept):
    kept.close(1, 5)
    standing = kept.look(Policy())
    assert (standing.departing, standing.overdue, standing.why) == (None, 0, "")


def test_what_a_look_finds_is_counted(kept):
    kept.close(1, 3)
    standing = kept.look(Policy())
    sizes = [path.stat().st_size for path in kept.paths]
    assert (standing.segments, standing.octets) == (len(sizes), sum(sizes))
    assert standing.uncovered_octets == sum(sizes[3:])
    assert standing.oldest_ms == 1_790_000_000_000
    assert (standing.book, standing.balanced, standing.book_ms) == (1, True, 9_000)


def test_old_segments_go_as_far_as_a_book_covers_them(kept):
    kept.close(1, 3)
    standing = kept.look()
    departing = standing.departing
    assert departing is not None
    assert (departing.first_segment, departing.last_segment, departing.book) == (1, 3, 1)
    assert departing.first_sequence == 1
    assert departing.last_sequence == last_sequence_of(kept.paths[:3])
    assert departing.sha256 == sha256(kept.paths[2].read_bytes()).hexdigest()
    assert departing.begins == beginning(kept.log, 4)
    assert standing.overdue == len(kept.paths) - 4
    assert standing.why == "no closed book covers segment number 4"


def test_the_segment_that_the_log_ends_in_never_goes(kept):
    kept.close(1, len(kept.paths))
    assert kept.gone() == len(kept.paths) - 1
    assert kept.gone(last=LogEnd(1, 4, 0, "")) == 3
    assert kept.gone(last=LogEnd(1, 1, 0, "")) == 0


def test_what_is_not_older_than_wanted_stays(kept):
    kept.close(1, 6)
    young = kept.now_ms - LATER_MS
    assert kept.gone(now_ms=young + AGE_MS - 100) == 0
    assert kept.look(now_ms=young + AGE_MS - 100).overdue == 0
    assert 0 < kept.gone(now_ms=young + AGE_MS - 10) < kept.gone()


def test_no_more_goes_than_is_too_many(kept):
    kept.close(1, 9)
    sizes = [path.stat().st_size for path in kept.paths]
    assert kept.gone(Policy(keep_octets=sum(sizes))) == 0
    assert kept.gone(Policy(keep_octets=sum(sizes) - 1)) == 1
    assert kept.gone(Policy(keep_octets=sum(sizes[4:]))) == 4
    assert kept.gone(Policy(keep_octets=sum(sizes[4:]) - 1)) == 5


def test_without_a_book_they_go_only_if_that_is_said(kept):
    assert kept.gone() == 0
    assert kept.look().why == "no closed book covers segment number 1"
    standing = kept.look(OLD._replace(keep_unclosed=False))
    assert standing.departing is not None
    assert standing.departing.book == 0
    assert standing.departing.last_segment == len(kept.paths) - 1


def test_a_segment_that_is_not_what_its_book_says_stays(kept):
    kept.close(1, 6)
    octets = bytearray(kept.paths[2].read_bytes())
    octets[-1] ^= 1
    kept.paths[2].write_bytes(octets)
    standing = kept.look()
    assert kept.gone() == 2
    assert standing.why == "segment number 3 is not what book 1 says"


def test_a_segment_that_is_missing_holds_them_up_unless_a_book_knows(kept):
    kept.close(1, 2)
    shutil.copytree(kept.log, kept.log.with_name("before"))
    kept.paths[3].unlink()
    kept.close(3, 6, balanced=False, classes={"LOG_GAP": 1})
    archive = OLD._replace(archive_directory=kept.archive)
    departing = kept.look(archive).departing
    assert departing is not None
    assert departing.last_segment == 6
    shutil.copy(kept.log.with_name("before") / "0000000004-000001.audit", kept.log)
    assert kept.look(archive).why == "segment number 4 is not what book 2 says"


def test_a_missing_one_is_the_last_that_goes_where_what_is_behind_stays(kept):
    digest = sha256(kept.paths[2].read_bytes()).hexdigest()
    kept.paths[3].unlink()
    kept.close(1, 4, balanced=False, classes={"LOG_GAP": 1})
    departing = kept.look(OLD._replace(archive_directory=kept.archive)).departing
    assert departing is not None
    assert (departing.last_segment, departing.sha256) == (4, "")
    assert digest != ""


def test_without_an_archive_segments_of_a_book_that_is_not_balanced_stay(kept):
    kept.close(1, 3)
    kept.close(4, 6, balanced=False, classes={"LOST": 1})
    standing = kept.look()
    assert kept.gone() == 3
    assert standing.why == "book 2 is not balanced, and there is no archive for the segments"
    assert kept.gone(OLD._replace(archive_directory=kept.archive)) == 6


def test_a_book_that_is_not_balanced_holds_all_behind_it_and_how_much_that_is_is_known(kept):
    kept.close(1, 3)
    assert kept.look(Policy()).held_octets == 0
    kept.close(4, 5, balanced=False, classes={"LOST": 1})
    kept.close(6, 6)
    sizes = [path.stat().st_size for path in kept.paths]
    assert kept.look(Policy()).held_octets == sum(sizes[3:])
    assert kept.look(Policy(keep_unclosed=False)).held_octets == 0
    assert kept.look(Policy(archive_directory=kept.archive)).held_octets == 0
    remove(kept.paths[:4])
    kept.first = beginning(kept.log, 5)
    assert kept.look(Policy()).held_octets == sum(sizes[4:])
    remove(kept.paths[:1])
    kept.first = beginning(kept.log, 6)
    assert kept.look(Policy()).held_octets == 0


def test_a_book_of_another_log_covers_nothing(kept):
    kept.close(1, 3)
    standing = kept.look(log="ab")
    assert standing.departing is None
    assert standing.why.startswith("book 1 is of another log, with id ")


def test_a_book_that_is_wrong_covers_nothing_and_the_reason_is_told(kept):
    kept.close(1, 3)
    (kept.books / "0000000001.book" / "book.json").write_text("{}")
    standing = kept.look()
    assert standing.why == "no closed book covers segment number 1: 0000000001.book: it is no book"
    assert standing.books_problem == "0000000001.book: it is no book"


def test_a_book_whose_table_was_changed_covers_nothing(kept):
    kept.close(1, 3)
    (kept.books / "0000000001.book" / "closing.jsonl").write_text("")
    assert kept.look().why == "book 1: its table closing is not what it was"


def test_with_trusted_keys_only_signed_books_count(kept):
    key = Key()
    kept.close(1, 3, signer=key.sign)
    kept.close(4, 5)
    kept.retention.read_books(kept.books, key.trusted())
    assert kept.gone() == 3
    assert kept.look().why == "no closed book covers segment number 4: book 2: it is not signed"


def test_what_goes_is_archived_first(kept):
    kept.close(1, 3)
    before = {path.name: path.read_bytes() for path in kept.paths[:3]}
    assert kept.gone(OLD._replace(archive_directory=kept.archive)) == 3
    copies = (kept.archive / log_id_in(kept.log)).iterdir()
    assert {path.name: path.read_bytes() for path in copies} == before


def test_what_cannot_be_archived_stays_and_so_does_all_behind_it(kept):
    kept.close(1, 5)
    folder = kept.archive / log_id_in(kept.log)
    folder.mkdir()
    (folder / kept.paths[2].name).write_text("another")
    standing = kept.look(OLD._replace(archive_directory=kept.archive))
    assert standing.departing is not None
    assert standing.departing.last_segment == 2
    assert "is there already, and is another one" in standing.failure
    assert standing.why == standing.failure


@pytest.mark.process
def test_a_program_archives_them_one_after_the_other(kept, tmp_path):
    kept.close(1, 3)
    (tmp_path / "kept").mkdir()
    copy = "import shutil, sys; shutil.copy(sys.argv[2], sys.argv[1])"
    command = (sys.executable, "-c", copy, str(tmp_path / "kept"))
    assert kept.gone(OLD._replace(archive_command=command)) == 3
    assert len(os.listdir(tmp_path / "kept")) == 3
    refusing = (sys.executable, "-c", "raise SystemExit(2)")
    assert kept.gone(OLD._replace(archive_command=refusing)) == 0
    assert kept.look(OLD._replace(archive_command=refusing)).failure.endswith("exit code 2")


def test_only_so_many_go_at_a_time(kept, monkeypatch):
    kept.close(1, 9)
    monkeypatch.setattr(retention_module, "TOGETHER", 2)
    assert kept.gone() == 2
    monkeypatch.setattr(retention_module, "OCTETS_TOGETHER", 1)
    assert kept.gone() == 1


def test_what_has_gone_already_is_removed_before_anything_else_goes(kept):
    kept.close(1, 6)
    kept.first = beginning(kept.log, 4)
    standing = kept.look()
    assert standing.departing is None
    assert list(standing.leftovers) == kept.paths[:3]
    assert standing.segments == len(kept.paths) - 3
    octets = sum(path.stat().st_size for path in kept.paths[:3])
    assert remove(standing.leftovers) == octets
    assert segment_numbers(kept.paths[0].name)[0] == 4
    assert kept.gone() == 6


def test_where_nobody_can_say_what_came_before_nothing_goes(kept):
    octets = bytearray(kept.paths[2].read_bytes())
    octets[20] ^= 1  # of its header
    kept.paths[2].write_bytes(octets)
    kept.close(1, 1)
    standing = kept.look(OLD._replace(keep_unclosed=False))
    assert standing.departing is not None
    assert standing.departing.last_segment == 1
    assert standing.why == "segment number 3, behind it, cannot be read"


def test_a_log_of_nothing_has_nothing_to_let_go(tmp_path):
    (tmp_path / "audit").mkdir()
    retention = Retention(tmp_path / "audit")
    end = LogEnd(0, 1, 0, "")
    assert retention.look(OLD, log="ab", first=end, last=end, now_ms=1) == Standing()
    assert remove([]) == 0


ASKED = Policy()  # nothing is too old, nor are there too many


def test_what_somebody_asks_for_goes_and_nothing_else_does(kept):
    kept.close(1, 6)
    departing = kept.look(ASKED, asked=3).departing
    assert (departing.first_segment, departing.last_segment, departing.book) == (1, 3, 1)
    assert kept.gone(OLD, asked=3) == 3
    standing = kept.look(ASKED)
    assert (standing.departing, standing.why) == (None, "")


def test_all_goes_that_is_asked_for_or_none_if_no_book_covers_one_of_them(kept):
    kept.close(1, 3)
    standing = kept.look(ASKED, asked=4)
    assert standing.departing is None
    assert standing.why == "no closed book covers segment number 4"
    assert standing.remedy == "amqp-gateway audit close makes one"
    assert kept.gone(Policy(keep_unclosed=False), asked=4) == 4


def test_a_missing_segment_in_the_middle_must_be_covered_too(kept):
    kept.close(1, 2)
    kept.paths[2].unlink()
    standing = kept.look(ASKED, asked=2)
    assert standing.departing is None
    assert standing.why == "no closed book covers segment number 3"


def test_the_segment_that_the_log_ends_in_stays_whoever_asks(kept):
    count = len(kept.paths)
    kept.close(1, count)
    assert kept.gone(ASKED, asked=count + 7) == count - 1
    assert kept.gone(ASKED, asked=count, last=LogEnd(1, 4, 0, "")) == 3


def test_what_can_be_done_about_what_stays_is_said(kept):
    assert kept.look(ASKED, asked=1).remedy == "set audit.books, or audit.keep_unclosed: false"
    kept.close(1, 3, balanced=False, classes={"LOST": 1})
    archive = "set audit.archive_directory or audit.archive_command; or, when they are kept "
    assert kept.look(ASKED, asked=3).remedy == f"{archive}elsewhere, ctl let-go --unbalanced"
    assert kept.gone(ASKED._replace(unbalanced=True), asked=3) == 3
    assert kept.gone(Policy(archive_directory=kept.archive), asked=3) == 3
    (kept.books / "0000000001.book" / "book.json").write_text("{}")
    kept.retention.read_books(kept.books, None)
    standing = kept.look(ASKED, asked=3)
    assert standing.why.endswith("0000000001.book: it is no book")
    assert standing.remedy == "put that right, for none behind it counts"


def test_more_than_go_together_are_asked_for_again_and_again(kept, monkeypatch):
    kept.close(1, 6)
    monkeypatch.setattr(retention_module, "TOGETHER", 2)
    assert kept.gone(ASKED, asked=5) == 2
    remove(kept.paths[:2])
    kept.first = beginning(kept.log, 3)
    assert kept.gone(ASKED, asked=5) == 4
