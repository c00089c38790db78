"""`audit compare`: what it hands on to its job, and what it refuses."""

from __future__ import annotations

import pytest
from support.verbs import amqp_gateway, becomes

COMMON = ["--out=comparison", "--master=local[*]"]


@pytest.fixture
def ran(monkeypatch: pytest.MonkeyPatch) -> list[list[str]]:
    """The commands that are run."""
    return becomes(monkeypatch)


def test_it_hands_on_the_logs_of_both_sides(ran: list[list[str]]) -> None:
    given = ("/a", "/b", "--upstream", "far", "--against", "/c", "--against", "-d", "--queue", "q")
    assert amqp_gateway("audit", "compare", *given).exit_code == 0
    assert ran[0][1:] == [
        *("-P", "-m", "gateway.accounting", "compare", "--against=/c", "--against=-d"),
        *("--upstream=far", "--queue=q", *COMMON, "--", "/a", "/b"),
    ]


def test_it_hands_on_a_book_and_its_bounds(ran: list[list[str]]) -> None:
    given = ["/a", "--ours", "left", "--ledger", "l.csv", "--id-type", "uuid", "--more-there"]
    given += ["--since", "2026-11-23T09:00", "--grace", "5", "--tolerate", "2", "--require-final"]
    amqp_gateway("audit", "compare", *given, "--column", "queue=Q", "--their-queue", "r")
    assert ran[0][5:] == [
        *("--ledger=l.csv", "--ours=left", "--their-queue=r", "--column=queue=Q", "--id-type=uuid"),
        *("--since=2026-11-23T09:00:00+00:00", "--grace=5.0", "--tolerate=2", "--more-there"),
        *("--require-final", *COMMON, "--", "/a"),
    ]


def test_it_hands_on_addresses_and_how_they_are_reached(ran: list[list[str]]) -> None:
    given = ["s3a://logs/a", "--against", "s3a://logs/b", "--out", "s3a://reports"]
    amqp_gateway("audit", "compare", *given, "--properties-file", "spark.conf")
    assert ran[0][5:] == [
        *("--against=s3a://logs/b", "--out=s3a://reports", "--master=local[*]"),
        *("--properties-file=spark.conf", "--", "s3a://logs/a"),
    ]


@pytest.mark.parametrize(
    ("given", "told"),
    [
        ([], "the other side is one of"),
        (["--against", "/b", "--counts", "c"], "the other side is one of"),
        (["--counts", "c"], "say --ours received or --ours left"),
        (["--against", "/b", "--since", "soon"], "is no time"),
        (["--against", "/b", "--tolerate", "-1"], "--tolerate"),
    ],
)
def test_what_does_not_go_together_is_a_wrong_argument(
    given: list[str], told: str, ran: list[list[str]]
) -> None:
    done = amqp_gateway("audit", "compare", "/a", *given)
    assert (done.exit_code, told in done.stderr, ran) == (2, True, [])
