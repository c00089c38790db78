"""One connection in the audit log and in the log's lines: opened and closed, or refused."""

from __future__ import annotations

from typing import Any

import pytest
from support.bridge_ledger import BlockLog

from gateway.audit.records.log import AuditLog
from gateway.audit.schema import Kind, Reason
from gateway.faces.visit import Silence, Visit


class Lines:
    """A journal that keeps what it is told."""

    def __init__(self) -> None:
        self.lines: list[tuple[object, ...]] = []

    def on_opened(self, visit: Visit) -> None:
        self.lines.append(("opened", visit.number))

    def on_refused(self, visit: Visit, reason: Reason, why: str) -> None:
        self.lines.append(("refused", reason, why))

    def on_closed(self, visit: Visit, why: str) -> None:
        self.lines.append(("closed", why))

    def on_broken(self, visit: Visit, part: str, problem: str, *, first: bool) -> None:
        self.lines.append(("broke", problem, first))

    def on_step(self, visit: Visit, what: str) -> None:
        self.lines.append(("step", what))


class Told:
    """One visit, its journal and its audit log."""

    def __init__(self) -> None:
        self.journal = Lines()
        self.audit = AuditLog(1)
        self.visit = Visit(self.journal, 7, "10.0.0.1:4711", "AMQP 0-10")
        self.visit.user = "ann"
        self.visit.product = "spout"

    def records(self) -> list[dict[str, Any]]:
        blocks = BlockLog()
        blocks.append(self.audit.take_block(1))
        names = ("kind", "connection", "reason", "exchange", "node", "peer", "actor", "address")
        return [{name: each[name] for name in names} for each in blocks.raw()]


def record(kind: Kind, reason: Reason = Reason.NONE, **more: str) -> dict[str, Any]:
    made = {"exchange": "", "node": "", "peer": "", "actor": "ann", "address": "10.0.0.1:4711"}
    return {"kind": kind, "connection": 7, "reason": reason} | made | more


def test_what_is_opened_and_closed_is_told_with_who_and_where_from() -> None:
    told = Told()
    told.visit.mechanism = "PLAIN"
    told.visit.open(told.audit, 1, "/")
    told.visit.end(told.audit, 1, Reason.NONE)
    told.visit.end(told.audit, 1, Reason.CONNECTION_LOST)
    assert told.records() == [
        record(Kind.CONNECTION_OPENED, exchange="AMQP 0-10", node="PLAIN", peer="spout"),
        record(Kind.CONNECTION_CLOSED),
    ]
    assert told.journal.lines == [("opened", 7), ("closed", "by the client")]


@pytest.mark.parametrize(
    ("reason", "recorded", "why"),
    [
        (Reason.CONNECTION_LOST, Reason.CONNECTION_LOST, "its transport ended"),
        (Reason.STOPPING, Reason.STOPPING, "the gateway stops"),
    ],
)
def test_why_it_closed_is_told(reason: Reason, recorded: Reason, why: str) -> None:
    told = Told()
    told.visit.open(told.audit, 1, "/")
    told.visit.end(told.audit, 1, reason)
    assert told.records()[-1] == record(Kind.CONNECTION_CLOSED, recorded)
    assert told.journal.lines[-1] == ("closed", why)


def test_what_was_said_first_is_why() -> None:
    told = Told()
    told.visit.open(told.audit, 1, "/")
    told.visit.because(Reason.BROKE_PROTOCOL, "a frame of 3 octets")
    told.visit.because(Reason.NOT_FOUND, "later")
    told.visit.end(told.audit, 1, Reason.CONNECTION_LOST)
    assert told.records()[-1] == record(Kind.CONNECTION_CLOSED, Reason.BROKE_PROTOCOL)
    assert told.journal.lines[-1] == ("closed", "a frame of 3 octets")


def test_what_is_not_heard_of_in_time_is_told_so() -> None:
    told = Told()
    told.visit.open(told.audit, 1, "/")
    told.visit.timed = True
    told.visit.end(told.audit, 1, Reason.CONNECTION_LOST)
    assert told.records()[-1] == record(Kind.CONNECTION_CLOSED, Reason.TIMED_OUT)


@pytest.mark.parametrize("reason", [Reason.LOGIN_FAILED, Reason.NO_MECHANISM, Reason.NOT_FOUND])
def test_what_was_not_opened_is_refused_with_what_it_asked_for(reason: Reason) -> None:
    told = Told()
    told.visit.mechanism = "GSSAPI"
    told.visit.because(reason, "so")
    told.visit.end(told.audit, 1, Reason.NONE)
    assert told.records() == [
        record(Kind.CONNECTION_REFUSED, reason, exchange="AMQP 0-10", node="GSSAPI", peer="spout")
    ]
    assert told.journal.lines == [("refused", reason, "so")]


def test_what_goes_before_it_is_open_has_left() -> None:
    told = Told()
    told.visit.user = told.visit.product = ""
    told.visit.end(told.audit, 1, Reason.CONNECTION_LOST)
    assert told.records() == [
        record(Kind.CONNECTION_REFUSED, Reason.LEFT, exchange="AMQP 0-10", actor="")
    ]


def test_the_first_breach_of_a_connection_is_told_apart() -> None:
    told = Told()
    told.visit.broke("", "one")
    told.visit.broke("", "two")
    told.visit.step("a session is attached")
    assert told.journal.lines == [
        ("broke", "one", True),
        ("broke", "two", False),
        ("step", "a session is attached"),
    ]


def test_what_a_client_says_of_itself_is_cut() -> None:
    told = Told()
    told.visit.product = told.visit.mechanism = "x" * 1000
    told.visit.open(told.audit, 1, "/")
    (opened,) = told.records()
    assert (len(opened["peer"]), len(opened["node"])) == (160, 160)


def test_silence_writes_nothing() -> None:
    visit = Visit(Silence(), 7, "10.0.0.1", "AMQP 1.0")
    audit = AuditLog(1)
    visit.broke("", "one")
    visit.step("two")
    visit.open(audit, 1, "/")
    visit.end(audit, 1, Reason.NONE)
    Visit(Silence(), 8, "10.0.0.1", "AMQP 1.0").end(audit, 1, Reason.NONE)
    assert audit.pending() > 0
