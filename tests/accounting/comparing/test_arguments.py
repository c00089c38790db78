"""The words that a comparison is run with: what they come to, and what is refused."""

from pathlib import Path

import pytest

from gateway.accounting import __main__ as program
from gateway.accounting.command_line import parser
from gateway.accounting.comparing.arguments import Asked, Ledger, Of, asked

LOGS = ["compare", "a", "b", "--out", "out"]


def test_logs_in_a_chain_are_compared_by_what_left_the_one_and_what_the_other_received():
    options = parser().parse_args([*LOGS, "--upstream", "far", "--against", "c"])
    ours = Of("left", "far")
    assert asked(options) == Asked((Path("a"), Path("b")), ours, (Path("c"),), Of("received"))
    assert ours.in_words() == "what it sent for upstream far"


def test_a_ledger_has_the_names_of_its_columns_and_the_type_of_its_ids():
    given = ["--ours=received", "--ledger=l.csv", "--column=message_id=Id", "--id-type=uuid"]
    given += ["--queue=q", "--queue=r", "--their-queue=s", "--since=1970-01-02", "--grace=1.5"]
    given += ["--tolerate=2", "--more-there"]
    found = asked(parser().parse_args([*LOGS, *given]))
    columns = {name: name for name in ("id_type", "queue", "time", "count")}
    ledger = Ledger(Path("l.csv"), {"message_id": "Id", **columns}, "uuid", ",", counts=False)
    assert found.ledger == ledger
    assert found.ours.in_words() == "what it received from publishers, q or r"
    assert found.theirs == Of("", "", ("s",))
    bounds = (found.since_ms, found.grace_ms, found.tolerate, found.more_here, found.more_there)
    assert bounds == (86_400_000, 1500, 2, False, True)


def test_all_that_is_read_may_be_elsewhere():
    given = ["compare", "s3a://logs/a", "--ours=left", "--ledger=s3a://books/l.csv", "--out=out"]
    found = asked(parser().parse_args(given))
    assert found.ledger is not None
    assert (str(found.logs[0]), str(found.ledger.where)) == ("s3a://logs/a", "s3a://books/l.csv")


@pytest.mark.parametrize(
    ("given", "told"),
    [
        ("", "one of the arguments --against --ledger --counts is required"),
        ("--ledger=l", "say --ours received or --ours left"),
        ("--ledger=l --ours=left --theirs=left", "--theirs and --their-upstream go with"),
        ("--against=c --id-type=uuid", "go with --ledger and --counts"),
        ("--counts=l --ours=left --delimiter=", "--delimiter is one character"),
        ("--against=c --since=2026-01-02 --until=2026-01-01", "--since is before --until"),
        ("--against=c --since=soon", "'soon' is no time"),
        ("--against=c --grace=-1", "'-1' is no length of time"),
        ("--against=c --grace=long", "'long' is no length of time"),
        ("--against=c --share=0", "'0' is no part of all"),
        ("--counts=c --ours=left --share=0.5", "--share is of ids"),
        ("--against=c --tolerate=some", "'some' is no number of messages"),
        ("--ledger=l --column=colour=red", "'colour=red' is not one of message_id"),
        ("--against=gs://logs/b", "argument --against: gs:// is not known: a path, file:"),
        ("--ledger=s3a://me:secret@logs/b", "an address has no name or key in it"),
    ],
)
def test_what_does_not_go_together_exits_2(given, told, capsys):
    with pytest.raises(SystemExit) as exit_:
        program.main([*LOGS, *given.split()])
    assert exit_.value.code == 2
    said = capsys.readouterr().err
    assert told in said
    assert (said.startswith("compare: "), said.count("\n"), "secret" in said) == (True, 1, False)
