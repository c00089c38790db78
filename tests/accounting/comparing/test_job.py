"""The whole job: two real gateways in a row, a ledger of their consumer, and what is told."""

import json
from pathlib import Path

import pytest
from support.chain import Chain
from support.forged_logs import Forger
from support.hand_log import HandLog

from gateway.accounting import __main__ as program
from gateway.accounting import java, runs, session
from gateway.accounting.command_line import parser
from gateway.accounting.comparing import job
from gateway.accounting.comparing.arguments import asked
from gateway.audit.reader import Segment, records, segment_paths
from gateway.clients.letter import Letter, Typed

UUIDS = [f"8c79d4bf-09b3-350a-9cd3-127a4be2ac3{each}" for each in range(3)]


@pytest.fixture(scope="module")
def chain(tmp_path_factory) -> tuple[Path, Path]:
    """The logs of two gateways: ids that 0-10 has a type for, and such as it has none for."""
    two = Chain(tmp_path_factory.mktemp("chain"))
    for each in range(3):
        two.sends("1.0", Letter(Typed("string", "x"), durable=True, message_id=f"order-{each}"))
        two.sends("0-10", Letter(Typed("string", "x"), durable=True, message_id=UUIDS[each]))
    two.sends("1.0", Letter(Typed("map", {"a": Typed("string", "x")}), message_id="order-map"))
    two.sends("1.0", Letter(Typed("string", "of no name"), durable=True))
    assert len(two.receives("0-10", near=True)) == 8
    return two.logs()


def compared(spark, out: Path, *given: object) -> job.Compared:
    options = parser().parse_args(["compare", *map(str, given), "--out", str(out)])
    return job.compare(spark, asked(options), out)


def message_of(log: Path, body: str, place: int) -> int:
    """The number of the message that came as such a one."""
    segments = [Segment(path.name, path.read_bytes()) for path in segment_paths(log)]
    told = [each for segment in segments for each in records(segment) if each["kind"] == body]
    return told[place]["message"]


def test_what_left_one_gateway_is_what_the_next_received_whatever_its_ids_are(
    chain, spark, tmp_path
):
    near, far = chain
    found = compared(spark, tmp_path, near, "--upstream=far", "--against", far)
    back = compared(spark, tmp_path, far, "--against", near, "--their-upstream=far")
    assert found.matched and back.matched
    assert found.counts == back.counts == {"matched": 7, "no id": 1}
    assert (found.here.messages, found.here.without_id, found.there.without_id) == (8, 1, 1)


def test_a_message_that_is_not_in_the_next_log_is_missing_there_and_one_too_many_here(
    chain, spark, tmp_path
):
    near, far = chain
    forger = Forger(far)
    kept = {path: path.read_bytes() for path in far.iterdir()}
    forger.drop_message(message_of(far, "received", 3))
    forger.write(reseal=True)
    try:
        found = compared(spark, tmp_path, near, "--upstream=far", "--against", far, "--grace=0")
        other = compared(spark, tmp_path, far, "--ours=received", "--theirs=left", "--against",
                         near, "--their-upstream=far", "--grace=0", "--more-there")  # fmt: skip
    finally:
        for path, octets in kept.items():
            path.write_bytes(octets)
    assert (found.matched, found.wrong, found.differing) == (False, 1, 1)
    (row,) = found.listed
    assert (row["verdict"], row["here_message"]) == (
        "missing there",
        message_of(near, "received", 3),
    )
    assert (other.matched, other.counts) == (True, {"missing here": 1, "matched": 6, "no id": 1})


def test_a_consumers_book_is_held_against_what_it_was_sent(chain, spark, tmp_path):
    near, _far = chain
    ledger = tmp_path / "consumer.csv"
    ids = [*(f"order-{each},,orders" for each in (0, 1, 1)), f"ID:{UUIDS[0]},uuid,orders"]
    ids += [f"{UUIDS[1]},uuid,other", "order-77,,orders", "order-map,,orders", ",,orders"]
    ledger.write_text("\n".join(["message_id,id_type,queue", *ids]))
    found = compared(spark, tmp_path, near, "--ours=left", "--ledger", ledger, "--tolerate=4")
    assert found.counts == {
        "missing there": 2,  # order-2 and a uuid
        "missing here": 1,
        "different": 2,  # one twice, one of another queue
        "no id": 1,
        "matched": 3,
    }
    assert (found.wrong, found.matched) == (5, False)
    assert {row["text"] for row in found.listed} == {None, "order-77", "order-1", UUIDS[1]}


def test_counts_of_queues_are_held_against_what_was_sent_of_them(chain, spark, tmp_path):
    counts = tmp_path / "counts.csv"
    counts.write_text("name,count\norders,7\n")
    given = ["--ours=left", "--counts", counts, "--column=queue=name"]
    found = compared(spark, tmp_path, chain[1], *given)
    assert (found.by_queue, found.counts, found.wrong) == (True, {"different": 1}, 1)
    assert compared(spark, tmp_path, chain[1], *given, "--tolerate=1").matched
    assert [path.name for path in tmp_path.iterdir() if path.is_dir()] == ["queues"]


def test_one_log_twice_on_a_side_is_refused(chain, spark, tmp_path):
    near, far = chain
    with pytest.raises(job.ComparisonError, match="are one log, with id"):
        compared(spark, tmp_path, near, near, "--against", far)


def test_without_a_log_it_says_so_and_exits_3(chain, tmp_path, capsys):
    command = ["compare", str(chain[0]), "--against", str(tmp_path), "--out", str(tmp_path / "o")]
    assert program.main(command) == 3
    assert capsys.readouterr().err == f"compare: no audit segments in {tmp_path}\n"


def test_a_book_that_is_not_what_it_is_said_to_be_is_told_before_spark_is_started(
    chain, tmp_path, capsys, monkeypatch
):
    monkeypatch.setattr(java, "java_home", lambda scratch: None)
    book = tmp_path / "l.csv"
    book.write_text("id\n1\n")
    command = ["compare", str(chain[0]), "--ours=left", "--out", str(tmp_path / "o"), "--ledger"]
    assert program.main([*command, str(book)]) == 3
    assert program.main([*command, str(tmp_path / "none.csv")]) == 3
    assert capsys.readouterr().err.splitlines() == [
        f"compare: {book} has no column 'message_id': it has id",
        f"compare: {tmp_path / 'none.csv'} cannot be read: No such file or directory",
    ]


def test_without_java_it_says_what_to_install_and_exits_3(chain, tmp_path, capsys, monkeypatch):
    monkeypatch.setattr(java, "java_home", lambda scratch: None)
    command = ["compare", *map(str, chain[:1]), "--against", str(chain[1]), "--out", str(tmp_path)]
    assert program.main(command) == 3
    assert capsys.readouterr().err == f"compare: {java.MISSING}\n"


def test_a_run_tells_what_it_found_and_leaves_a_report(chain, spark, tmp_path, monkeypatch, capsys):
    log = HandLog(tmp_path / "log")
    log.now_ms = 1_700_000_000_000  # while the others ran
    log.start()
    log.add("SENT", message=9, position=1, link=1, id_digest=5, node="q\x1b", flags="SETTLED")
    log.end(stopped=False)
    out = tmp_path / "out"
    monkeypatch.setattr(session, "spark_session", lambda *_given, **_memory: _Given(spark))
    command = ["compare", str(log.directory), "--ours=left", "--against", str(chain[1])]
    command += ["--theirs=left", "--grace=0", "--more-there", "--out", str(out)]
    assert program.main(command) == 1
    told = capsys.readouterr().out.splitlines()
    assert told[0] == f"not matched: {log.directory} and {chain[1]}"
    assert any("missing there: id with digest 0000000000000005, 1 here, 0 there" in each
               for each in told)  # fmt: skip
    (made,) = runs.finished(out)
    assert told[-1] == f"  report   {made / 'report.json'}"
    report = json.loads((out / "latest" / "report.json").read_text())
    assert (report["verdict"], report["counts"]["missing here"]) == ("not matched", 7)


class _Given:
    """A session that goes on."""

    def __init__(self, spark) -> None:
        self._spark = spark

    def __enter__(self):
        return self._spark

    def __exit__(self, *_error: object) -> None:
        pass
