"""What a client may publish, and the record of what it may not, which has the message's number."""

from support.ruled_client import RuledClient

from gateway.audit.schema import Reason
from gateway.faces.access.publish_access import PublishAccess, reason_of
from gateway.message import Condition, Refusal
from gateway.permissions.actions import Action


def made(*rules):
    client = RuledClient(*rules)
    client.world.queue("q")
    return client, PublishAccess(client.in_force, client.access)


def test_a_message_is_recorded_as_denied_when_it_has_a_number_and_once():
    client, publish_access = made("allow: publish, queue: q")
    assert publish_access.refusal("", "q") is None
    refusal = publish_access.refusal("amq.topic", "news")
    assert reason_of(refusal) == Reason.NOT_ALLOWED
    assert client.recorded() == []
    publish_access.record_denied(5)
    publish_access.record_denied(6)
    what = "exchange 'amq.topic', key 'news'"
    assert client.recorded() == [("alice", "publish", what, "no rule fits", 7, 5)]


def test_of_a_node_that_it_must_not_see_a_message_hears_as_it_has_named_it():
    _, publish_access = made("allow: consume, queue: q")
    seen = publish_access.refusal("", "q", "q")
    assert seen.description == "'alice' may not publish queue 'q'"
    hidden = publish_access.refusal("amq.topic", "news", "amq.topic/news")
    lost = publish_access.lost_refusal("nowhere")
    assert hidden.description == "'alice' may not publish queue 'amq.topic/news'"
    assert lost.description == "'alice' may not publish queue 'nowhere'"


def test_that_no_node_is_there_others_say_to_who_may_hear_it():
    _, publish_access = made("allow: publish, queue: nowhere")
    assert publish_access.lost_refusal("nowhere") is None


def test_anothers_user_id_is_told_and_recorded_with_the_message():
    client, publish_access = made("allow: all")
    publish_access.deny_claim("bob")
    told = ("publish as user-id 'bob'", "denied: it is not the connection's user")
    assert client.told == [told]
    assert client.counts.access_refused[Action.PUBLISH] == 1
    publish_access.record_denied(5)
    assert [each[1:4] for each in client.recorded()] == [("publish", "user-id 'bob'", "")]


def test_what_is_too_large_to_be_asked_about_is_no_denial():
    _, publish_access = made("allow: publish, exchange: amq.topic, key: a.#")
    refusal = publish_access.refusal("amq.topic", "x." * 100_000)
    assert refusal.condition == Condition.INVALID_ARGUMENT
    assert reason_of(refusal) == Reason.TOO_LARGE
    assert reason_of(Refusal(Condition.RESOURCE_LIMIT_EXCEEDED, "")) == Reason.TOO_LARGE
