"""What is told, counted and recorded of what a client is refused."""

from support.ruled_client import RuledClient

from gateway.faces.access.denials import undecided
from gateway.message import Condition
from gateway.permissions.actions import Action, ObjectKind
from gateway.permissions.asked import Asked, publishing
from gateway.permissions.rules import TOO_LONG, TOO_MUCH, Decision

PURGE = Asked(Action.PURGE, ObjectKind.QUEUE, "q")
BY_LINE = Decision(False, 3, "deny: purge")


def test_a_denial_is_counted_told_and_recorded_and_says_who_may_not():
    client = RuledClient()
    refusal = client.access.denials.deny(PURGE, BY_LINE)
    assert refusal.condition == Condition.UNAUTHORIZED_ACCESS
    assert refusal.description == "'alice' may not purge queue 'q'"
    assert client.counts.access_refused[Action.PURGE] == 1
    assert client.told == [("purge queue 'q'", "denied by line 3: deny: purge")]
    assert client.recorded() == [("alice", "purge", "queue 'q'", "access.yaml:3", 7, 0)]


def test_who_has_no_login_is_not_called_by_a_name():
    client = RuledClient(user="anonymous", proved=False)
    refusal = client.access.denials.deny(PURGE, BY_LINE)
    assert refusal.description == "a client without a login may not purge queue 'q'"


def test_what_others_record_is_counted_and_told_alone():
    client = RuledClient()
    client.access.denials.refuse(publishing("", "q"), BY_LINE)
    assert client.counts.access_refused[Action.PUBLISH] == 1
    assert len(client.told) == 1
    assert client.recorded() == []


def test_what_a_quota_denies_says_how_much_there_may_be():
    client = RuledClient()
    asked = Asked(Action.CONNECT, ObjectKind.NOTHING)
    assert client.access.denials.deny_over_quota(asked, "no more").description == "no more"
    assert client.told == [("connect", "denied by a quota: no more")]
    host = f"virtual host {client.world.host.name!r}"
    assert client.recorded() == [("alice", "connect", host, "a quota", 7, 0)]


def test_rules_that_were_not_asked_have_denied_nothing():
    assert undecided(BY_LINE) is None
    assert undecided(TOO_LONG).condition == Condition.INVALID_ARGUMENT
    assert undecided(TOO_MUCH).condition == Condition.RESOURCE_LIMIT_EXCEEDED
