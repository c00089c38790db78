"""What one client may, by the rules that are in force."""

from support.own_rules import own_rules
from support.ruled_client import RuledClient

from gateway.permissions.actions import Action, ObjectKind
from gateway.permissions.asked import Asked, publishing


def purge(name="q"):
    return Asked(Action.PURGE, ObjectKind.QUEUE, name)


def test_a_refusal_is_told_and_a_question_is_not():
    client = RuledClient("allow: consume")
    assert not client.access.may(purge())
    assert client.told == []
    assert client.access.refusal(purge()) is not None
    assert len(client.told) == len(client.recorded()) == 1


def test_what_is_allowed_is_told_where_the_rule_says_so():
    client = RuledClient("allow: purge, log: true")
    assert client.access.refusal(purge()) is None
    assert [what for what, _ in client.told] == ["purge queue 'q'"]
    assert client.recorded() == []


def test_who_stands_in_for_a_client_that_has_left_decides_by_the_rules_of_the_day():
    client = RuledClient("allow: publish")
    who = client.access.who
    stand_in = client.access.stand_in(client.world.host, who.user, who.login)
    client.access.leave()
    assert not client.access.may(publishing("", "q"))
    assert stand_in.may(publishing("", "q"))
    client.in_force.rules = own_rules("allow: consume")
    stand_in.keep_up()
    assert not stand_in.may(publishing("", "q"))


def test_sending_on_to_an_exchange_needs_leave_to_publish_there_by_any_key():
    client = RuledClient(
        "allow: publish, exchange: amq.topic, key: a.#", "allow: publish, queue: q"
    )
    assert client.access.alternate_refusal("") is None
    assert client.access.alternate_refusal("amq.topic") is not None
    client = RuledClient("allow: publish, exchange: amq.topic")
    assert client.access.alternate_refusal("amq.topic") is None


def test_who_may_do_something_with_a_node_hears_of_it():
    client = RuledClient("allow: consume, queue: q", "allow: publish, exchange: amq.topic")
    client.world.queue("q")
    assert client.access.sees("q", "q")
    assert not client.access.sees("r")
    assert client.access.sees("amq.topic/news")
    assert client.access.sees("amq.topic/news", "", "amq.topic")
