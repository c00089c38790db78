"""What a real qpidd decides is compared in tests/vectors; here is what it says nothing about."""

import pytest

from gateway.permissions.actions import Action, ObjectKind
from gateway.permissions.asked import Asked, binding, publishing
from gateway.permissions.qpidd_rules import QpiddRules
from gateway.permissions.rules import TOO_LONG, TOO_MUCH
from gateway.wire.work import RULE, VERB, WORDS_MAX, WORK


def rules(*lines: str) -> QpiddRules:
    return QpiddRules("\n".join(lines) + "\n", "QPID")


def test_a_decision_names_the_line_that_made_it():
    read = rules("# nothing", "acl deny bob@QPID publish exchange name=e", "acl allow all all")
    decision = read.may("bob", "default", "", publishing("e", "k"))
    assert str(decision) == "denied by line 2: acl deny bob@QPID publish exchange name=e"
    other = read.may("bob", "default", "", publishing("f", "k"))
    assert str(other) == "allowed by line 3: acl allow all all"


def test_a_user_without_a_realm_is_of_the_realm_that_is_told():
    read = rules("acl allow bob@QPID purge queue")
    asked = Asked(Action.PURGE, ObjectKind.QUEUE, "q")
    assert read.may("bob", "", "", asked).allowed
    assert read.may("bob@QPID", "", "", asked).allowed
    assert not read.may("bob@ELSEWHERE", "", "", asked).allowed


def test_to_browse_is_to_consume():
    read = rules("acl allow bob@QPID consume queue")
    assert read.may("bob", "", "", Asked(Action.BROWSE, ObjectKind.QUEUE, "q")).allowed


def test_management_is_access_to_its_methods():
    read = rules("acl deny bob@QPID access method name=delete", "acl allow all all")
    asked = Asked(Action.MANAGE, ObjectKind.METHOD, "delete", properties={})
    assert not read.may("bob", "", "", asked).allowed


def test_an_allow_line_without_effect_is_noted():
    read = rules(
        "acl allow bob@QPID create link",
        "acl allow bob@QPID consume queue durable=true",
        "acl allow bob@QPID create connection host=example.org",
        "acl deny all access method",
        "acl allow all all",
    )
    assert read.problems == []
    assert [line for line, _ in read.notes] == [1, 2, 3, 4]
    assert "there is no such thing here" in read.notes[3][1]
    assert ["there is no such thing here" in read.notes[0][1], "never" in read.notes[1][1]] == [
        True,
        True,
    ]


@pytest.mark.parametrize("host", ["example.org", "10.0.0.9,10.0.0.1"])
def test_a_deny_line_that_cannot_be_kept_to_is_a_problem(host: str):
    [(line, problem)] = rules("#", f"acl deny all create connection host={host}").problems
    assert line == 2
    assert "cannot be kept to" in problem


def test_a_limit_that_is_passed_makes_an_allow_line_deny():
    read = rules("acl allow all create queue maxqueuecount=10", "acl allow all all")
    asked = Asked(Action.CREATE, ObjectKind.QUEUE, "q", properties={"maxqueuecount": "11"})
    decision = read.may("bob", "", "", asked)
    assert (decision.allowed, decision.line) == (False, 1)
    assert "with a limit passed" in decision.rule


def test_lines_that_log_say_so():
    read = rules("acl allow-log bob@QPID purge queue", "acl deny-log all all")
    asked = Asked(Action.PURGE, ObjectKind.QUEUE, "q")
    assert [read.may(user, "", "", asked).logged for user in ("bob", "alice")] == [True, True]


def test_rules_that_are_looked_at_are_work_and_too_much_of_it_is_not_done():
    denied = "acl deny bob@QPID publish exchange name=e routingkey="
    read = rules(*[f"{denied}#.c{number}.#" for number in range(1000)], "acl allow all all")
    units = WORK.units
    assert read.may("bob", "", "", publishing("f", "w")).allowed
    assert WORK.units - units == 1000 * RULE
    longest = ".".join(["w"] * WORDS_MAX)
    units, refused = WORK.units, WORK.refused
    assert read.may("bob", "", "", publishing("e", longest)) is TOO_MUCH
    assert WORK.refused == refused + 1
    assert VERB < WORK.units - units < 2 * VERB


@pytest.mark.parametrize("exchange", ["e", ""])
def test_a_key_of_too_many_words_is_not_compared_with_any_rule(exchange: str):
    read = rules("acl deny bob@QPID publish exchange routingkey=#.c", "acl allow all all")
    long = ".".join(["w"] * (WORDS_MAX + 1))
    assert read.may("bob", "", "", publishing(exchange, long)) is TOO_LONG
    assert read.may("bob", "", "", binding(Action.BIND, "e", "q", long)) is TOO_LONG


def test_who_may_publish_nothing_at_all_is_known_before_he_says_where():
    read = rules(
        "acl deny eve@QPID publish exchange",
        "acl allow bob@QPID publish exchange name=e",
        "acl deny bob@QPID publish exchange",
        "acl deny all all",
    )
    decided = {user: read.may_publish_any(user, "", "") for user in ("eve", "bob", "carol")}
    assert {user: (each.allowed, each.line) for user, each in decided.items()} == {
        "eve": (False, 1),
        "bob": (True, 2),
        "carol": (False, 4),
    }
