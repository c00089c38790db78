"""What a closed book covers is archived, recorded and removed; a kill is in no step's way."""

import errno
import gzip
import os
import pathlib
import shutil

import pytest
from support.closed_books import close_log
from support.faulty_disk import BROKEN, FULL, FaultyDisk
from support.lives import lived, run, told
from support.whole_gateway import WholeGateway
from twisted.logger import capturedLogs, formatEvent
from twisted.python.failure import Failure

from gateway.audit.reader import segment_paths
from gateway.audit.retention import Policy, Retention, Standing
from gateway.audit.schema import segment_numbers
from gateway.clients.client import Subscription
from gateway.errors import ConfigurationError, GatewayError, HalfDoneError
from gateway.net.upstreams.reload import Operator
from gateway.service import letting_go as letting_go_module
from gateway.service.letting_go import LettingGo

CLOSED = 6
OPERATOR = Operator("ctl", "127.0.0.1:7000")


class Keeper:
    """A gateway that lets its log go, of which a book covers the first segments."""

    def __init__(self, directory: pathlib.Path, *changes: str) -> None:
        self.data = directory / "data"
        self.archive = directory / "archive"
        self.archive.mkdir(exist_ok=True)
        self.changes = (
            *("audit.segment_age=1s", "audit.checkpoint_interval=1s", "audit.keep_age=1s"),
            f"audit.books={directory / 'books'}",
            *changes,
        )
        self.books = directory / "books"
        self.gateway = WholeGateway(self.data, *self.changes).start()

    @property
    def letting_go(self) -> LettingGo:
        return self.gateway.service.letting_go

    def age(self, seconds: int = 1) -> None:
        """Time passes, in which segments become full."""
        for _ in range(seconds):
            self.gateway.pass_time(1)
            self.gateway.wait_until(lambda: not self.letting_go._busy)

    def close(self, **other: object) -> None:
        while len(self.numbers()) < CLOSED + 3:
            self.age()
        close_log(self.books, self.data / "audit", 1, CLOSED, **other)

    def let_go(self, seconds: int = 200) -> None:
        """Until what the book covers is removed."""
        for _ in range(seconds):
            if self.numbers()[0] > CLOSED:
                return
            self.age()
        raise AssertionError(f"they stay: {self.letting_go.standing}")

    def ask(self, segment: int, seconds: int = 100, *, unbalanced: bool = False) -> str:
        """An operator lets segments to that number go: the answer. Raises GatewayError."""
        done = self.letting_go.ask(segment, OPERATOR, unbalanced=unbalanced)
        answers: list[object] = []
        done.addBoth(answers.append)
        for _ in range(seconds):
            if answers:
                break
            self.age()
        (answer,) = answers
        if isinstance(answer, Failure):
            answer.raiseException()
        return str(answer)

    def refusal(self, segment: int) -> str:
        """Why nothing of it is let go."""
        there = self.numbers()
        with pytest.raises(GatewayError) as refused:
            self.ask(segment)
        assert not isinstance(refused.value, HalfDoneError)
        assert told(self.data, "let-go") == []
        assert self.numbers()[: len(there)] == there
        return str(refused.value)

    def numbers(self) -> list[int]:
        return [segment_numbers(path.name)[0] for path in segment_paths(self.data / "audit")]


def archived(keeper: Keeper) -> list[int]:
    (folder,) = keeper.archive.iterdir()
    assert run("audit", "verify", folder).exit_code == 0
    return [segment_numbers(path.name)[0] for path in segment_paths(folder)]


def test_what_a_book_covers_is_recorded_and_then_removed(tmp_path: pathlib.Path) -> None:
    keeper = Keeper(tmp_path)
    keeper.close()
    with capturedLogs() as events:
        keeper.let_go()
    (record,) = told(keeper.data, "let-go")
    assert (record["first_segment"], record["last_segment"], record["book"]) == (1, CLOSED, 1)
    assert record["first_sequence"] == 1
    assert "archive" not in record
    lines = [formatEvent(event) for event in events]
    how = f"to record {record['last_sequence']}, are let go: by book 1, deleted"
    assert f"segments 1 to {CLOSED} of the audit log, {how}" in lines
    keeper.age()
    assert (keeper.letting_go.segments, keeper.letting_go.standing.book) == (CLOSED, 1)
    keeper.gateway.stop()
    verified = run("audit", "verify", keeper.data)
    assert verified.exit_code == 0
    assert f"segments to number {CLOSED}, records to " in verified.output
    again = WholeGateway(keeper.data)
    assert again.service.store.counts.log_differences == 0


def test_without_a_word_nothing_is_let_go(tmp_path: pathlib.Path) -> None:
    keeper = Keeper(tmp_path, "audit.keep_age=0s")
    keeper.close()
    keeper.age(70)
    assert keeper.numbers()[0] == 1
    keeper.gateway.stop()


def test_what_goes_is_archived_and_is_a_log_there(tmp_path: pathlib.Path) -> None:
    keeper = Keeper(tmp_path, f"audit.archive_directory={tmp_path / 'archive'}")
    keeper.close()
    keeper.let_go()
    assert archived(keeper) == list(range(1, CLOSED + 1))
    assert told(keeper.data, "let-go")[0]["archive"] == str(tmp_path / "archive")
    keeper.gateway.stop()


def test_segments_that_were_not_let_go_are_missed_as_ever(tmp_path: pathlib.Path) -> None:
    keeper = Keeper(tmp_path)
    keeper.close()
    keeper.let_go()
    keeper.gateway.stop()
    segment_paths(keeper.data / "audit")[0].unlink()
    verified = run("audit", "verify", keeper.data)
    assert verified.exit_code == 1
    assert f"segments from number {CLOSED + 1} on are missing" in verified.output
    again = WholeGateway(keeper.data)
    assert again.service.store.counts.log_differences == 1


@pytest.mark.parametrize("fault", [FULL, BROKEN])
def test_an_archive_that_refuses_is_told_and_tried_again(
    tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch, fault: str
) -> None:
    keeper = Keeper(tmp_path, f"audit.archive_directory={tmp_path / 'archive'}")
    keeper.close()
    disk = FaultyDisk(monkeypatch, keeper.archive)
    disk.fail(fault, times=1000)
    with capturedLogs() as events:
        for _ in range(200):
            keeper.age()
            if keeper.letting_go.archive_failures:
                break
    assert keeper.numbers()[0] == 1
    assert told(keeper.data, "let-go") == []
    lines = [formatEvent(event) or "" for event in events]
    assert sum("and stay: cannot write " in line for line in lines) == 1
    disk.heal()
    keeper.let_go()
    assert archived(keeper) == list(range(1, CLOSED + 1))
    keeper.gateway.stop()


STEPS = ("archived", "recorded", "remembered", "one removed", "all removed")


@pytest.mark.parametrize("step", STEPS)
def test_after_a_kill_at_any_step_the_next_life_goes_on(
    tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch, step: str
) -> None:
    (tmp_path / "one").mkdir()
    keeper = Keeper(tmp_path / "one", f"audit.archive_directory={tmp_path / 'archive'}")
    (tmp_path / "archive").mkdir(exist_ok=True)
    killed = tmp_path / "two" / "data"

    def kill() -> None:
        """What a kill at this moment would leave."""
        if not killed.exists():
            shutil.copytree(keeper.data, killed)

    remove, unlink = letting_go_module.remove, pathlib.Path.unlink
    record = LettingGo._record

    def recording(letting_go: LettingGo, *what: object) -> None:
        if step == "archived":
            kill()
        record(letting_go, *what)  # type: ignore[arg-type]

    def removing(paths: tuple[pathlib.Path, ...]) -> int:
        if step == "remembered":
            kill()
        octets = remove(paths)
        if step == "all removed":
            kill()
        return octets

    def unlinking(path: pathlib.Path, missing_ok: bool = False) -> None:
        there = path.exists()
        unlink(path, missing_ok)
        if step == "one removed" and there and path.parent == keeper.data / "audit":
            kill()

    monkeypatch.setattr(LettingGo, "_record", recording)
    monkeypatch.setattr(letting_go_module, "remove", removing)
    monkeypatch.setattr(pathlib.Path, "unlink", unlinking)
    keeper.close()
    for _ in range(200):
        keeper.age()
        if step == "recorded" and told(keeper.data, "let-go"):
            kill()
        if killed.exists():
            break
    monkeypatch.undo()
    keeper.gateway.stop()
    shutil.copytree(keeper.books, tmp_path / "two" / "books")

    verified = run("audit", "verify", killed)
    assert verified.exit_code == 0, verified.output
    second = Keeper(tmp_path / "two", f"audit.archive_directory={tmp_path / 'archive'}")
    assert second.gateway.service.store.counts.log_differences == 0
    second.let_go()
    second.gateway.stop()
    verified = run("audit", "verify", killed)
    assert verified.exit_code == 0, verified.output
    assert f"segments to number {CLOSED}, records to " in verified.output
    (folder,) = (tmp_path / "archive").iterdir()
    assert len(os.listdir(folder)) == CLOSED


class Copies:
    """Whether a backup is made is what a test says."""

    def __init__(self) -> None:
        self.making = True
        self.removing = False


def test_no_segment_is_removed_while_a_backup_is_made(tmp_path: pathlib.Path) -> None:
    keeper = Keeper(tmp_path)
    copies = Copies()
    keeper.letting_go._copies = copies
    keeper.close()
    for _ in range(200):
        keeper.age()
        if keeper.letting_go.standing.leftovers:
            break
    keeper.age(10)
    assert keeper.numbers()[0] == 1
    copies.making = False
    keeper.let_go()
    keeper.age()
    assert not copies.removing
    keeper.gateway.stop()


def test_no_backup_is_begun_while_segments_are_removed(tmp_path: pathlib.Path) -> None:
    keeper = Keeper(tmp_path)
    backup = keeper.gateway.service.backup
    backup.removing = True
    with pytest.raises(GatewayError, match="segments of the audit log are being removed"):
        backup.make(tmp_path / "backup")
    backup.removing = False
    keeper.gateway.result(backup.make(tmp_path / "backup"))
    assert not backup.making
    keeper.gateway.stop()


def test_a_backup_of_a_log_that_was_let_go_is_whole_and_begins_as_late(
    tmp_path: pathlib.Path,
) -> None:
    keeper = Keeper(tmp_path)
    keeper.close()
    keeper.let_go()
    keeper.age(5)
    keeper.gateway.result(keeper.gateway.service.backup.make(tmp_path / "backup"))
    keeper.gateway.stop()
    assert run("audit", "verify", tmp_path / "backup").exit_code == 0
    again = WholeGateway(tmp_path / "backup")
    assert again.service.store.counts.log_differences == 0


def test_what_cannot_be_removed_is_told_and_tried_again(
    tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refused(paths: tuple[pathlib.Path, ...]) -> int:
        raise OSError(errno.EROFS, os.strerror(errno.EROFS), str(paths[0]))

    keeper = Keeper(tmp_path)
    keeper.close()
    with monkeypatch.context() as patched, capturedLogs() as events:
        patched.setattr(letting_go_module, "remove", refused)
        for _ in range(200):
            keeper.age()
            if keeper.letting_go.standing.leftovers:
                break
        keeper.age(10)
    lines = [formatEvent(event) or "" for event in events]
    assert sum(line.endswith("Read-only file system") for line in lines) == 1
    assert not keeper.gateway.service.backup.removing
    keeper.let_go()
    keeper.gateway.stop()


def test_a_defect_is_told_and_what_goes_is_looked_at_again(
    tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(_retention: Retention, _policy: Policy, **_more: object) -> Standing:
        raise RuntimeError("a defect")

    keeper = Keeper(tmp_path)
    keeper.close()
    with monkeypatch.context() as patched, capturedLogs() as events:
        patched.setattr(Retention, "look", broken)
        keeper.age(70)
    lines = [formatEvent(event) or "" for event in events]
    assert any("letting segments of the audit log go broke off" in line for line in lines)
    keeper.let_go()
    keeper.gateway.stop()


def test_books_that_are_wrong_are_told_once_and_when_they_are_not_any_more(
    tmp_path: pathlib.Path,
) -> None:
    keeper = Keeper(tmp_path, "audit.keep_age=0s")
    keeper.close()
    book = keeper.books / "0000000001.book" / "book.json"
    text = book.read_text()
    book.write_text("{}")
    problem = "closed books: 0000000001.book: it is no book; none behind that counts"
    with capturedLogs() as events:
        keeper.age(200)
        book.write_text(text)
        keeper.age(70)
    lines = [formatEvent(event) for event in events]
    assert lines.count(problem) == 1
    assert any("all closed books count" in (line or "") for line in lines)
    keeper.gateway.stop()


def test_a_reload_may_say_otherwise_how_long_the_log_is_kept(tmp_path: pathlib.Path) -> None:
    keeper = Keeper(tmp_path, "audit.keep_age=0s")
    keeper.close()
    keeper.age(70)
    service = keeper.gateway.service
    audit = service.settings.audit.model_copy(update={"keep_age": 1000})
    service.read_again = lambda: service.settings.model_copy(update={"audit": audit})
    service.reload()
    keeper.gateway.run()
    keeper.let_go()
    keeper.gateway.stop()


BY_HAND = "audit.keep_age=0s"


def test_what_an_operator_asks_for_goes_and_the_log_says_who_asked(tmp_path: pathlib.Path) -> None:
    keeper = Keeper(tmp_path, BY_HAND, f"audit.archive_directory={tmp_path / 'archive'}")
    keeper.close()
    octets = sum(path.stat().st_size for path in segment_paths(keeper.data / "audit")[:4])
    assert keeper.ask(4) == (
        f"segments 1 to 4 of the audit log are let go, archived by {tmp_path / 'archive'}: "
        f"4 segments, {octets} octets"
    )
    assert keeper.numbers()[0] == 5
    assert archived(keeper) == [1, 2, 3, 4]
    (record,) = told(keeper.data, "let-go")
    assert (record["first_segment"], record["last_segment"], record["book"]) == (1, 4, 1)
    assert (record["actor"], record["address"]) == ("operator by ctl", "127.0.0.1:7000")
    assert (keeper.letting_go.segments, keeper.letting_go.octets) == (4, octets)
    keeper.age(70)
    assert keeper.numbers()[0] == 5
    keeper.gateway.stop()
    verified = run("audit", "verify", keeper.data)
    assert verified.exit_code == 0, verified.output


def test_what_goes_for_its_age_was_asked_for_by_nobody(tmp_path: pathlib.Path) -> None:
    keeper = Keeper(tmp_path)
    keeper.close()
    keeper.let_go()
    (record,) = told(keeper.data, "let-go")
    assert not {"actor", "address"} & record.keys()
    keeper.gateway.stop()


def test_what_no_book_covers_stays_whoever_asks(tmp_path: pathlib.Path) -> None:
    keeper = Keeper(tmp_path, BY_HAND)
    keeper.close()
    problem = f"no closed book covers segment number {CLOSED + 1}"
    with capturedLogs() as events:
        assert keeper.refusal(CLOSED + 2) == f"{problem}: amqp-gateway audit close makes one"
    assert not any("and stay: " in (formatEvent(event) or "") for event in events)
    assert (keeper.letting_go.standing.overdue, keeper.letting_go.standing.why) == (0, "")
    assert keeper.ask(CLOSED).endswith(" octets")
    keeper.gateway.stop()


def test_what_a_book_that_is_not_balanced_holds_goes_when_an_operator_says_that_it_may(
    tmp_path: pathlib.Path,
) -> None:
    keeper = Keeper(tmp_path, BY_HAND)
    keeper.close(balanced=False, classes={"LOST": 1})
    assert keeper.refusal(CLOSED) == (
        "book 1 is not balanced, and there is no archive for the segments: set "
        "audit.archive_directory or audit.archive_command; or, when they are kept elsewhere, "
        "ctl let-go --unbalanced"
    )
    keeper.age(70)
    closed = sum(path.stat().st_size for path in segment_paths(keeper.data / "audit")[:CLOSED])
    assert keeper.letting_go.standing.held_octets > closed
    assert keeper.ask(CLOSED, unbalanced=True).startswith(f"segments 1 to {CLOSED} of the audit")
    (record,) = told(keeper.data, "let-go")
    assert (record["book"], record["actor"]) == (1, "operator by ctl")
    keeper.age(70)
    assert keeper.letting_go.standing.held_octets == 0
    keeper.gateway.stop()


def test_the_open_segment_and_those_that_are_gone_cannot_be_asked_for(
    tmp_path: pathlib.Path,
) -> None:
    keeper = Keeper(tmp_path, BY_HAND, "audit.keep_unclosed=false")
    assert keeper.refusal(1) == "no segment of the audit log is closed"
    keeper.close()
    last = keeper.letting_go._log.last
    assert last is not None
    closed = f"those that are closed have the numbers 1 to {last.segment - 1}"
    for number in (last.segment, 10**400, 0, -1):
        assert keeper.refusal(number) == f"segment: no such segment can be let go: {closed}"
    assert keeper.ask(2).startswith("segments 1 to 2 of the audit log are let go, deleted: 2 ")
    with pytest.raises(ConfigurationError, match="have the numbers 3 to "):
        keeper.ask(2)
    keeper.gateway.stop()


def test_one_operator_is_served_at_a_time_and_none_while_a_backup_is_made(
    tmp_path: pathlib.Path,
) -> None:
    keeper = Keeper(tmp_path, BY_HAND)
    keeper.close()
    copies, keeper.letting_go._copies = keeper.letting_go._copies, Copies()
    assert keeper.refusal(2) == "a backup is being made: ask again later"
    keeper.letting_go._copies = copies
    first = keeper.letting_go.ask(2, OPERATOR)
    with pytest.raises(GatewayError, match="segments to number 2 are being let go"):
        keeper.letting_go.ask(3, OPERATOR)
    keeper.age(50)
    assert first.called
    assert keeper.ask(3).startswith("segments 3 to 3 ")
    keeper.gateway.stop()


def test_an_archive_that_fails_on_the_way_is_told_with_what_went(tmp_path: pathlib.Path) -> None:
    keeper = Keeper(tmp_path, BY_HAND, f"audit.archive_directory={tmp_path / 'archive'}")
    keeper.close()
    kept = segment_paths(keeper.data / "audit")[3].name
    folder = keeper.archive / keeper.letting_go._log.log_id
    folder.mkdir()
    (folder / kept).write_bytes(b"another")
    with pytest.raises(HalfDoneError) as failed:
        keeper.ask(CLOSED)
    text = str(failed.value)
    assert text.startswith("3 segments, ")
    assert " octets, are let go, and not the others: " in text
    assert text.endswith("is there already, and is another one")
    assert keeper.numbers()[0] == 4
    keeper.gateway.stop()


def test_what_is_recorded_and_cannot_be_removed_is_no_refusal(
    tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refused(paths: tuple[pathlib.Path, ...]) -> int:
        raise OSError(errno.EROFS, os.strerror(errno.EROFS), str(paths[0]))

    keeper = Keeper(tmp_path, BY_HAND)
    keeper.close()
    with monkeypatch.context() as patched:
        patched.setattr(letting_go_module, "remove", refused)
        with pytest.raises(HalfDoneError, match=r"are not removed yet: .*Read-only file system"):
            keeper.ask(3)
    assert keeper.numbers()[0] == 1
    keeper.age(70)
    assert keeper.numbers()[0] == 4
    keeper.gateway.stop()


def test_a_defect_ends_what_was_asked_for_and_not_what_is_asked_next(
    tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(_retention: Retention, _policy: Policy, **_more: object) -> Standing:
        raise RuntimeError("a defect")

    keeper = Keeper(tmp_path, BY_HAND)
    keeper.close()
    with monkeypatch.context() as patched, capturedLogs():
        patched.setattr(Retention, "look", broken)
        assert keeper.refusal(2) == "a defect of the gateway: see its log"
    assert keeper.ask(2).startswith("segments 1 to 2 ")
    keeper.gateway.stop()


def test_segments_that_are_missing_already_are_not_said_to_go(tmp_path: pathlib.Path) -> None:
    keeper = Keeper(tmp_path, BY_HAND, "audit.keep_unclosed=false")
    keeper.close()
    for path in segment_paths(keeper.data / "audit")[:2]:
        path.unlink()
    assert keeper.refusal(2).startswith("no segment to number 2 is there: ")
    keeper.gateway.stop()


def test_who_waits_is_told_that_the_gateway_stops(tmp_path: pathlib.Path) -> None:
    keeper = Keeper(tmp_path, BY_HAND)
    keeper.close()
    answers: list[Failure] = []
    keeper.letting_go.ask(2, OPERATOR).addErrback(answers.append)
    keeper.gateway.stop()
    assert "the gateway is stopping" in answers[0].getErrorMessage()
    with pytest.raises(GatewayError, match="the gateway is stopping"):
        keeper.letting_go.ask(2, OPERATOR)
    assert run("audit", "verify", keeper.data).exit_code == 0


def test_what_an_operator_let_go_is_removed_after_a_kill_though_nobody_asks_again(
    tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "one").mkdir()
    keeper = Keeper(tmp_path / "one", BY_HAND)
    killed = tmp_path / "two" / "data"

    def removing(paths: tuple[pathlib.Path, ...]) -> int:
        shutil.copytree(keeper.data, killed)  # what a kill at this moment would leave
        return remove(paths)

    remove = letting_go_module.remove
    monkeypatch.setattr(letting_go_module, "remove", removing)
    keeper.close()
    keeper.ask(3)
    monkeypatch.undo()
    keeper.gateway.stop()
    second = Keeper(tmp_path / "two", BY_HAND)
    assert second.numbers()[0] == 1
    second.age(20)
    assert second.numbers()[0] == 4
    second.gateway.stop()
    verified = run("audit", "verify", killed)
    assert verified.exit_code == 0, verified.output


def test_a_segment_is_an_eighth_of_itself_when_a_program_compresses_it(tmp_path):
    gateway = lived(tmp_path, messages=500, stop=False)

    def take(delivered):
        delivered.settle("accepted")

    gateway.result(gateway.connect_0_10().receive(Subscription("q"), take))
    gateway.stop()
    (path,) = segment_paths(tmp_path / "audit")
    octets = path.read_bytes()
    assert len(told(tmp_path, "settled")) == 500
    assert len(gzip.compress(octets, 1)) * 8 <= len(octets)
