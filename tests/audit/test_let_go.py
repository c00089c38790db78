"""What is gone on purpose is no gap; what is gone beyond that, or otherwise, is."""

from hashlib import sha256

import pytest
from support.audit_logs import ScriptedGateway
from support.closed_books import book_of, book_of_log
from support.keys import Key

from gateway.audit.ends import last_sequence_of
from gateway.audit.let_go import Departure, LetGo, departed_by
from gateway.audit.provenance import Anchor, Provenance
from gateway.audit.reader import segment_paths
from gateway.audit.seals import Head
from gateway.audit.verify import WHOLE, verify


def test_the_last_record_that_says_exactly_so_counts_most():
    let_go = LetGo()
    first, again, far = (Departure(last, last * 10, "", 0, last + 100) for last in (3, 3, 7))
    let_go.note([first, again, far])
    assert let_go.through(3) == again
    assert let_go.through(5) == far
    assert let_go.through(7) == far
    assert let_go.through(8) is None


def test_a_record_that_cannot_be_trusted_says_nothing():
    let_go = LetGo()
    let_go.note([Departure(3, 30, "", 0, 100), Departure(7, 70, "", 0, 200)])
    let_go.discount(150, 200)
    assert let_go.through(7) is None
    assert let_go.through(3) is not None


def test_a_book_says_of_each_of_its_segments_what_it_was():
    book = book_of(4, 6)._replace(number=2)
    let_go = LetGo(departed_by([book]))
    assert let_go.through(5) == Departure(5, 50, book.segments[1].sha256, 2, 0)
    assert let_go.through(3) is None


def test_it_is_told_in_words():
    by_both, by_record, by_book = (
        Departure(3, 30, "", book, record) for book, record in ((2, 100), (0, 100), (2, 0))
    )
    gone = "segments to number 3, records to 30, were let go"
    assert str(by_both) == f"{gone}, by record 100 and book 2"
    assert str(by_record) == f"{gone}, by record 100"
    assert str(by_book) == f"{gone}, and book 2 has them"


class KeptLog:
    """A log of many segments, of which some are let go."""

    def __init__(self, directory, sign=None):
        self.directory = directory
        self.gateway = ScriptedGateway(directory, segment_octets=600, sign=sign)
        self.publish(24)

    def publish(self, count):
        for _ in range(count):
            self.gateway.publish("orders")
            self.gateway.turn()

    def tell(self, last, **said):
        """Record that segments to this one are let go; `said`: something else than is so."""
        path = self.path(last)
        log = self.gateway.log
        told = {
            "first_segment": 1,
            "last_segment": last,
            "first_sequence": 1,
            "last_sequence": last_sequence_of([path]),
            "sha256": sha256(path.read_bytes()).hexdigest(),
            "book": 0,
            **said,
        }
        digest, archive = log.passing(told.pop("sha256")), log.passing("")
        log.let_go(self.gateway.now_ms, **told, sha256=digest, archive=archive)
        self.gateway.turn()

    def path(self, number):
        return segment_paths(self.directory)[number - 1]

    def remove(self, *numbers):
        for path in [self.path(number) for number in numbers]:
            path.unlink()

    def end(self):
        self.publish(3)
        self.gateway.stop()
        self.gateway.close()


@pytest.fixture
def kept(tmp_path):
    return KeptLog(tmp_path / "audit")


def problems(directory, *more):
    return [damage.problem for damage in verify(directory, *more).damages]


def test_what_its_own_record_says_is_gone_is_no_gap(kept):
    kept.tell(3, book=2)
    kept.end()
    assert verify(kept.directory) == WHOLE
    provenance = Provenance()
    kept.remove(1, 2, 3)
    assert verify(kept.directory, provenance) == WHOLE
    assert provenance.lines()[0].startswith("segments to number 3, records to ")
    assert provenance.lines()[0].endswith(" and book 2")


@pytest.mark.parametrize("removed", [(1,), (1, 2), (1, 3), (2,), (3,)])
def test_what_a_kill_has_left_of_it_is_no_gap_either(kept, removed):
    kept.tell(3)
    kept.end()
    kept.remove(*removed)
    assert verify(kept.directory) == WHOLE


def test_what_is_gone_beyond_the_record_is_a_gap(kept):
    kept.tell(3)
    kept.end()
    kept.remove(1, 2, 3, 4)
    assert len(problems(kept.directory)) == 1


def test_a_log_that_begins_later_without_a_record_has_a_gap(kept):
    kept.end()
    kept.remove(1, 2, 3)
    (damage,) = verify(kept.directory).damages
    assert (damage.expected, damage.problem) == (1, "gap")


def test_a_hole_in_the_middle_is_a_gap_whatever_was_let_go(kept):
    kept.tell(3)
    kept.end()
    kept.remove(1, 2, 3, 5)
    assert problems(kept.directory) == ["segment number 5 is missing"]


def test_several_departures_add_up(kept):
    kept.tell(2)
    kept.publish(2)
    kept.tell(4, first_segment=3)
    kept.end()
    kept.remove(1, 2, 3, 4)
    assert verify(kept.directory) == WHOLE


@pytest.mark.parametrize(
    ("said", "problem"),
    [
        ({"sha256": "0" * 64}, "segment number 3 was let go, and is not the one that came before"),
        ({"last_sequence": 7}, "segment number 3 was let go with record 7"),
    ],
)
def test_what_is_there_must_be_what_came_behind_it(kept, said, problem):
    kept.tell(3, **said)
    kept.end()
    kept.remove(1, 2, 3)
    (told,) = problems(kept.directory)
    assert told.startswith(problem)


def test_a_book_that_is_given_says_so_too(kept):
    kept.end()
    book = book_of_log(kept.directory, 1, 5)._replace(number=1)
    kept.remove(1, 2, 3)
    provenance = Provenance()
    provenance.by_books = departed_by([book])
    assert verify(kept.directory, provenance) == WHOLE
    assert provenance.lines()[0].endswith("and book 1 has them")
    other = book._replace(segments=(*book.segments[:2], book.segments[2]._replace(sha256="1" * 64)))
    provenance.by_books = departed_by([other])
    assert problems(kept.directory, provenance) == [
        "segment number 3 was let go, and is not the one that came before this one"
    ]


def test_with_trusted_keys_a_record_that_is_not_sealed_says_nothing(tmp_path):
    key = Key()
    kept = KeptLog(tmp_path / "audit", key.sign)
    kept.gateway.writer.seal()
    kept.tell(3)
    kept.gateway.writer.sync()  # a kill: what is behind the seal is nobody's word
    kept.remove(1, 2, 3)
    assert problems(kept.directory) == []
    assert problems(kept.directory, Provenance(key.trusted())) == ["gap"]
    kept.gateway.writer.seal()
    assert problems(kept.directory, Provenance(key.trusted())) == []


def test_a_head_of_what_was_let_go_is_not_missed(kept):
    kept.tell(3)
    kept.end()
    log = kept.gateway.writer.log
    gone, missing, other = (
        Anchor(Head(name, number, 900, 1, 1, "0" * 64), f"heads line {number}")
        for name, number in ((log, 2), (log, 99), ("cd", 2))
    )
    kept.remove(1, 2, 3)
    provenance = Provenance(anchors=[gone, missing, other])
    verify(kept.directory, provenance)
    told = [str(each) for each in provenance.found()]
    assert len(told) == 2
    assert "segment number 99 is missing" in told[0]
    assert "it is of another log" in told[1]
    assert "held against one head kept elsewhere; 2 more of what was let go" in provenance.lines()
