"""What publishers were told, and what did not cross, is held against what the log says of it."""

import pytest
from support.hand_log import HandLog

from gateway.accounting.reconcile import Result, reconcile
from gateway.accounting.telling.report import html_page, summary
from gateway.audit.reader import segment_paths


class Steps(HandLog):
    """Messages by link, to one queue each."""

    def receive(self, message, link, exchange="confirmed", flags="", transaction=0):
        said = {"exchange": exchange, "copies": 1, "link": link, "flags": flags}
        self.add("RECEIVED", message=message, transaction=transaction, **said)

    def enter(self, message, exchange="confirmed", node="q", flags="", transaction=0):
        said = {"node": node, "exchange": exchange, "flags": flags, "transaction": transaction}
        self.add("ENTERED", message=message, position=message, **said)

    def confirm(self, first, last, messages, link, outcome="ACCEPTED"):
        said = {"first": first, "last": last, "messages": messages}
        self.add("CONFIRMED", link=link, outcome=outcome, **said)


def told(log: Steps) -> None:
    """102 was confirmed and is nowhere; 104 is nowhere, and nobody was told; 105 was refused."""
    for message in (101, 102, 103):
        log.receive(message, 5)
        if message != 102:
            log.enter(message)
        log.receive(message + 100, 6)  # by another link, numbered in between or not
        log.enter(message + 100)
    log.receive(104, 7)
    log.confirm(101, 103, 3, 5)
    log.confirm(201, 203, 3, 6)
    log.receive(105, 5)
    log.add("REFUSED", message=105, exchange="confirmed", reason="QUEUE_FULL")
    log.confirm(105, 105, 1, 5, "REJECTED")
    log.receive(106, 5, transaction=1)
    log.enter(106, transaction=1)


def one_of_two(log: Steps) -> None:
    """By the checkpoint one copy is missing, and the publisher of one was told."""
    for message in (301, 302):
        log.receive(message, 8, "two")
    log.confirm(302, 302, 1, 8)
    log.checkpoint({}, {"two": {"routed": 2, "pending": 1}})


def stored(log: Steps) -> None:
    """401 is durable, as its queue is, and was not stored; with the others all is well."""
    log.add("TOPOLOGY", node="kept", reason="QUEUE_DECLARED", flags="DURABLE")
    log.add("TOPOLOGY", node="scratch", reason="QUEUE_DECLARED")
    for message, node, flags, entry in (
        (401, "kept", "DURABLE", ""),
        (402, "kept", "DURABLE", "DURABLE"),
        (403, "kept", "", ""),
        (404, "scratch", "DURABLE", ""),
        (405, "kept", "DURABLE", "TRANSIT"),
    ):
        log.receive(message, 9, "stored", flags)
        log.enter(message, "stored", node, entry)
    log.confirm(401, 405, 5, 9)


def translated(log: Steps) -> None:
    """Of 501 nothing is missing, of 502 two values by one outlet; 503 is too large to look at."""
    for message in (501, 502, 503):
        log.receive(message, 10, "translated")
        log.enter(message, "translated", "t")
        if message == 502:
            for row in ("values.string", "footer"):
                log.add("TRANSLATION_CHECKED", message=message, link=11, row=row)
        else:
            reason = "NONE" if message == 501 else "TOO_LARGE"
            log.add("TRANSLATION_CHECKED", message=message, link=11, reason=reason)
        log.add("SENT", message=message, position=message, node="t", link=11)
    log.confirm(501, 503, 3, 10)


def unheard(log: Steps) -> None:
    """602 was confirmed, and no record says that it came; 605 or 606 neither, of which one did.

    By link 14 one was, of which it is said that it may be any there can be.
    """
    for message in (601, 603):
        log.receive(message, 12, "unheard")
        log.enter(message, "unheard")
    log.confirm(601, 603, 3, 12)
    log.receive(604, 13, "unheard")
    log.enter(604, "unheard")
    log.confirm(604, 606, 2, 13)
    log.confirm(0, (1 << 63) - 1, 1, 14)


@pytest.fixture(scope="module")
def result(spark, tmp_path_factory) -> Result:
    log = Steps(tmp_path_factory.mktemp("confirmed") / "log")
    log.start()
    stored(log)
    translated(log)
    one_of_two(log)
    unheard(log)
    told(log)
    return reconcile(spark, log.end(stopped=False), tmp_path_factory.mktemp("out"))


def found(result: Result, node: str) -> list[tuple]:
    return [
        (row["class"], row["message"], row["count"], row["certain"])
        for row in result.breaks
        if row["node"] == node
    ]


def test_a_message_that_was_confirmed_and_is_nowhere_is_lost_and_named(result):
    assert found(result, "confirmed") == [("LOST", 102, 1, True)]
    (row,) = [row for row in result.breaks if row["node"] == "confirmed"]
    assert "its publisher was told that it is accepted" in row["detail"]


def test_of_several_that_it_may_be_it_is_the_confirmed_one(result):
    assert found(result, "two") == [("LOST", 302, 1, True)]


def test_a_durable_message_that_its_durable_queue_did_not_store_is_lost_with_the_process(result):
    assert found(result, "kept") == [("LOST", 401, 1, True)]
    assert found(result, "scratch") == []


def test_a_message_that_was_confirmed_and_never_came_is_lost_and_named_where_it_can_be(result):
    words = "its publisher was told of it, and no record says that it came"
    rows = sorted((row for row in result.breaks if row["link"] in (12, 13, 14)), key=_link)
    told = [(row["class"], row["link"], row["message"], row["count"]) for row in rows]
    assert told == [("LOST", 12, 602, 1), ("LOST", 13, None, 1), ("LOST", 14, None, 1)]
    assert rows[0]["detail"] == words
    assert rows[1]["detail"].startswith("its publisher was told of 2 messages, from 604 to 606; ")
    assert all(row["since"] == 0 and row["proven"] for row in rows)


def test_what_came_in_records_that_are_missing_and_was_confirmed_behind_them_is_not_proven(
    spark, tmp_path
):
    log = Steps(tmp_path / "log")
    log.start()
    log.receive(701, 15)
    log.enter(701)
    log.cut()
    log.confirm(701, 701, 1, 15)
    log.end()
    next(iter(segment_paths(log.directory))).unlink()
    result = reconcile(spark, log.directory, tmp_path / "out")
    assert (result.classes, result.unproven) == ({"LOG_GAP": 1}, {"LOST": 1})


def test_what_did_not_cross_and_was_not_declared_is_found_by_its_row(result):
    (footer, text) = sorted((row for row in result.breaks if row["node"] == "t"), key=_detail)
    assert (footer["class"], footer["message"], footer["link"]) == ("UNDECLARED_LOSS", 502, 11)
    assert footer["detail"] == "row footer: a value did not cross, and no loss says so"
    assert text["detail"].startswith("row values.string: ")


def _detail(row: dict) -> str:
    return row["detail"]


def _link(row: dict) -> int:
    return row["link"]


def test_the_report_says_how_many_translations_were_looked_at(result):
    line = "2 translations looked at: 1 differ, 1 too large for it"
    assert line in summary(result, "report.html")
    assert line[1:] in html_page(result)


def test_the_report_says_what_publishers_were_told(result):
    line = "22 messages published, 21 accepted, 1 told otherwise, 1 in transactions"
    line += ", 2 never told of, 3 told of and never received"
    assert result.told["received"] == 22
    assert result.told["never"] == 2
    assert line in summary(result, "report.html")
    assert line in html_page(result)


def test_nothing_else_is_found(result):
    assert result.classes == {"LOST": 6, "UNDECLARED_LOSS": 2}
