from typing import Any

import pytest

from gateway.permissions.actions import Action, ObjectKind
from gateway.permissions.asked import ALL as ALL_MESSAGES
from gateway.permissions.asked import ITSELF, NO, YES, Asked, binding, publishing
from gateway.permissions.hosts import network
from gateway.permissions.own_rules import OwnRule, OwnRules
from gateway.permissions.rules import TOO_LONG, TOO_MUCH, Decision
from gateway.wire.work import RULE, VERB, WORDS_MAX, WORK

ALL = (1 << len(Action)) - 1


def rule(line: int, allowed: bool, *actions: Action, **more: Any) -> OwnRule:
    decision = Decision(allowed, line, "")
    chosen = sum(1 << action for action in actions) or ALL
    for key in ("queue", "exchange"):
        if key in more:
            more[key] = more[key].split("*")
    if "key" in more:
        more["key"] = more["key"].split(".")
    return OwnRule(decision, chosen, **more)


def decided(rules: list[OwnRule], asked: Asked, user: str = "alice", **where: str) -> int:
    """The line that decided, below 0 where it denied; 0 if none did."""
    host, address = where.get("host", "default"), where.get("address", "127.0.0.1")
    decision = OwnRules(rules).may(user, host, address, asked)
    return decision.line if decision.allowed else -decision.line


def queue(action: Action, name: str, **more: Any) -> Asked:
    return Asked(action, ObjectKind.QUEUE, name, **more)


CONNECT = Asked(Action.CONNECT, ObjectKind.NOTHING)


def test_the_first_rule_that_fits_decides():
    rules = [
        rule(1, False, Action.CONSUME, queue="secret*"),
        rule(2, True, Action.CONSUME),
    ]
    assert decided(rules, queue(Action.CONSUME, "secret.1")) == -1
    assert decided(rules, queue(Action.CONSUME, "plain")) == 2


def test_where_no_rule_fits_the_answer_is_no():
    answer = OwnRules([]).may("alice", "default", "", CONNECT)
    assert (answer.allowed, answer.line) == (False, 0)


def test_a_rule_is_for_its_users_hosts_and_addresses():
    net = network("10.0.0.0/8")
    assert net is not None
    rules = [
        rule(
            1,
            True,
            Action.CONNECT,
            users=frozenset(("alice",)),
            hosts=[["test", ""]],
            addresses=[net],
        )
    ]
    fitting = {"host": "test.1", "address": "10.0.0.1"}
    assert decided(rules, CONNECT, **fitting) == 1
    assert decided(rules, CONNECT, "bob", **fitting) == 0
    assert decided(rules, CONNECT, host="default", address="10.0.0.1") == 0
    assert decided(rules, CONNECT, host="test.1", address="127.0.0.1") == 0


def test_a_rule_about_queues_is_not_for_exchanges():
    rules = [rule(1, True, queue="*"), rule(2, True, exchange="amq.*")]
    assert decided(rules, publishing("", "q")) == 1
    assert decided(rules, publishing("amq.topic", "q")) == 2
    assert decided(rules, publishing("other", "q")) == 0


def test_a_binding_has_an_exchange_a_queue_and_a_key():
    rules = [rule(1, True, Action.BIND, exchange="amq.topic", queue="q*", key="a.#")]
    assert decided(rules, binding(Action.BIND, "amq.topic", "q1", "a.b")) == 1
    assert decided(rules, binding(Action.BIND, "amq.topic", "r", "a.b")) == 0
    assert decided(rules, binding(Action.BIND, "amq.topic", "q1", "b")) == 0
    assert decided(rules, binding(Action.UNBIND, "amq.topic", "q1", "a.b")) == 0


@pytest.mark.parametrize("action", [Action.BIND, Action.UNBIND])
@pytest.mark.parametrize(
    ("key", "line"),
    [
        ("a.*", 1),
        ("a.b", 1),
        ("a.#", 0),
        ("#", -2),
        ("news.*", -2),
        ("news.secret.#", -2),
        ("news.#.secret", -2),
        ("news.*.*", 3),
        ("news.de.#", 3),
        ("news.s*", 3),
    ],
)
def test_a_binding_key_is_for_all_the_keys_that_it_lets_in(action: Action, key: str, line: int):
    rules = [
        rule(1, True, Action.BIND, Action.UNBIND, key="a.*"),
        rule(2, False, Action.BIND, Action.UNBIND, key="news.secret"),
        rule(3, True, Action.BIND, Action.UNBIND, key="news.#"),
    ]
    assert decided(rules, binding(action, "amq.topic", "q", key)) == line


def test_what_a_binding_key_is_for_depends_on_the_exchange():
    rules = [rule(1, False, key="secret"), rule(2, True, key="*"), rule(3, True, key="#")]
    asked = binding(Action.BIND, "e", "q", "*")
    assert decided(rules, asked) == -1
    asked.meant = ITSELF
    assert decided(rules, asked) == 2
    asked = binding(Action.BIND, "e", "q", "x")
    assert decided(rules, asked) == 2
    asked.meant = ALL_MESSAGES
    assert decided(rules, asked) == -1
    assert decided(rules[1:], asked) == 3


def test_a_message_has_one_key_whatever_is_in_it():
    rules = [rule(1, False, key="news.secret"), rule(2, True, key="news.*")]
    assert decided(rules, publishing("amq.topic", "news.*")) == 2
    assert decided(rules, publishing("amq.topic", "news.#")) == 2


@pytest.mark.parametrize("name", ["durable", "exclusive", "temporary", "own"])
def test_a_rule_is_for_objects_with_its_properties(name: str):
    rules = [rule(1, True, Action.CREATE, **{name: YES})]
    assert decided(rules, queue(Action.CREATE, "q", **{name: YES})) == 1
    assert decided(rules, queue(Action.CREATE, "q", **{name: NO})) == 0


def test_what_a_question_about_a_node_does_not_say_keeps_no_rule_that_allows_from_fitting():
    rules = [rule(1, False, Action.CONSUME, durable=YES), rule(2, True, durable=NO)]
    assert decided(rules, queue(Action.ACCESS, "q")) == 2
    assert decided(rules, queue(Action.CONSUME, "q")) == 0


def test_what_is_not_there_could_only_be_made_or_be_bound_to():
    rules = [rule(1, True, Action.CONSUME, own=YES), rule(2, True, Action.BIND, own=YES)]
    assert decided(rules, queue(Action.ACCESS, "q")) == 0
    assert decided(rules, Asked(Action.ACCESS, ObjectKind.EXCHANGE, "amq.topic", own=NO)) == 2
    assert decided(rules, binding(Action.ACCESS, "amq.topic", "q", "a")) == 0
    rules = [rule(1, True, Action.CREATE, own=YES)]
    assert decided(rules, queue(Action.ACCESS, "q")) == 1
    assert decided(rules, queue(Action.ACCESS, "q", own=NO)) == 0


def test_whose_the_queue_of_a_binding_is_does_not_say_whose_the_exchange_is():
    rules = [rule(1, True, Action.DELETE, own=YES)]
    asked = binding(Action.ACCESS, "e", "q", "a")
    asked.own = YES
    assert decided(rules, asked) == 0


def test_a_client_without_a_login_is_no_user():
    rules = [
        rule(1, True, users=frozenset(("anonymous",))),
        rule(2, True, queue="${user}*"),
        rule(3, True, exchange="*", key="${user}.#"),
        rule(4, True, Action.PUBLISH, login=YES),
        rule(5, True, Action.CONSUME, login=NO),
    ]
    assert decided(rules, queue(Action.CONSUME, "q"), "") == 5
    assert decided(rules, publishing("amq.topic", ".a"), "") == 0
    assert decided(rules, queue(Action.CONSUME, "q"), "bob") == 0
    assert decided(rules, publishing("amq.topic", "a"), "bob") == 4


def test_who_may_publish_by_every_key_is_asked_for_where_the_key_may_be_any():
    every = Asked(Action.PUBLISH, ObjectKind.EXCHANGE, "e", every_key=True)
    assert decided([rule(1, True, exchange="e", key="a.#")], every) == 0
    assert decided([rule(1, True, exchange="e", key="#")], every) == 1
    assert decided([rule(1, True, exchange="e")], every) == 1
    assert decided([rule(1, False, key="secret"), rule(2, True)], every) == -1


def test_a_question_knows_whether_a_rule_has_looked_at_its_object():
    rules = [rule(1, True, queue="a"), rule(2, True, temporary=YES)]
    for name, looked in (("a", False), ("b", True)):
        asked = publishing("", name)
        asked.temporary = YES
        decided(rules, asked)
        assert asked.looked is looked


def test_who_may_use_a_node_may_ask_about_it():
    rules = [rule(1, False, Action.DELETE), rule(2, True, Action.PUBLISH, queue="orders")]
    assert decided(rules, queue(Action.ACCESS, "orders")) == 2
    assert decided(rules, queue(Action.ACCESS, "others")) == -1


def test_who_may_use_a_queue_may_declare_it_again():
    rules = [rule(1, True, Action.CONSUME, queue="orders")]
    assert decided(rules, queue(Action.CREATE, "orders", exists=True)) == 1
    assert decided(rules, queue(Action.CREATE, "orders")) == 0


def test_who_may_publish_by_some_key_may_attach_to_the_exchange():
    some = Asked(Action.PUBLISH, ObjectKind.EXCHANGE, "amq.topic")
    rules = [
        rule(1, False, Action.PUBLISH, exchange="amq.topic", key="secret.#"),
        rule(2, True, Action.PUBLISH, exchange="amq.topic", key="news.#"),
    ]
    assert decided(rules, some) == 2
    assert decided(rules, publishing("amq.topic", "secret.x")) == -1
    assert decided(rules, publishing("amq.topic", "other")) == 0


def test_a_pattern_may_have_the_user_in_it():
    rules = [
        rule(1, True, queue="reply.${user}.*"),
        rule(2, True, exchange="amq.topic", key="from.${user}.#"),
    ]
    assert decided(rules, queue(Action.CONSUME, "reply.alice.7")) == 1
    assert decided(rules, queue(Action.CONSUME, "reply.bob.7")) == 0
    assert decided(rules, publishing("amq.topic", "from.alice.x")) == 2
    assert decided(rules, publishing("amq.topic", "from.bob.x")) == 0
    assert decided(rules, publishing("amq.topic", "from.al.ice.x"), "al.ice") == 2


def test_the_name_of_a_user_is_no_pattern():
    rules = [
        rule(1, True, queue="reply.${user}.*"),
        rule(2, True, exchange="amq.topic", key="${user}.#"),
    ]
    assert decided(rules, queue(Action.CONSUME, "reply.bob.7"), "*") == 0
    assert decided(rules, publishing("amq.topic", "bob.x"), "*") == 0
    assert decided(rules, publishing("amq.topic", "bob.x"), "#") == 0


@pytest.mark.parametrize("user", ["alice", "*", "#", "a*"])
def test_no_name_gets_round_what_is_denied_to_its_user(user: str):
    rules = [rule(1, False, exchange="amq.topic", key="to.${user}.#"), rule(2, True)]
    assert decided(rules, publishing("amq.topic", f"to.{user}.x"), user) == -1
    assert decided(rules, publishing("amq.topic", "other"), user) == 2


def test_publishing_is_always_asked_for_and_nothing_has_a_quota():
    rules = OwnRules([])
    assert not rules.publish_unchecked()
    assert (rules.connections_max("alice"), rules.queues_max("alice")) == (-1, -1)


def test_each_rule_that_is_looked_at_and_each_word_that_is_tried_is_counted():
    few, many = ([rule(1, True, Action.PUBLISH, queue="x")] * count for count in (10, 100))
    costs = []
    for rules in (few, many):
        units = WORK.units
        assert decided(rules, publishing("", "q")) == 0
        costs.append(WORK.units - units)
    assert costs == [10 * RULE, 100 * RULE]
    by_key = [rule(1, True, Action.PUBLISH, key="#.x.#")]
    for words in (10, 1000):
        units = WORK.units
        assert decided(by_key, publishing("e", ".".join(["w"] * words))) == 0
        assert WORK.units - units >= 2 * words


def test_a_key_of_too_many_words_is_not_compared_with_any_rule():
    rules = OwnRules([rule(1, True, Action.PUBLISH, Action.BIND, key="#")])
    longest = ".".join(["w"] * WORDS_MAX)
    assert rules.may("alice", "", "", publishing("e", longest)).allowed
    units = WORK.units
    for asked in (publishing("e", longest + ".w"), binding(Action.BIND, "e", "q", longest + ".w")):
        assert rules.may("alice", "", "", asked) is TOO_LONG
    assert WORK.units == units


@pytest.mark.parametrize("by", [{"key": "#.c.#"}, {"exchange": "*c*d*"}])
def test_what_would_be_too_much_work_to_decide_is_not_done(by: dict[str, str]):
    rules = [rule(1, False, Action.PUBLISH, **by)] * 1000 + [rule(2, True, Action.PUBLISH)]
    units, refused = WORK.units, WORK.refused
    asked = publishing("e" * 2**20, ".".join(["w"] * WORDS_MAX))
    assert OwnRules(rules).may("alice", "", "", asked) is TOO_MUCH
    assert WORK.refused == refused + 1
    assert VERB < WORK.units - units < 2 * VERB
    assert decided(rules, publishing("e", "w")) == 2


@pytest.mark.parametrize("allowed", [True, False])
def test_very_long_binding_keys_are_too_much_work_for_many_rules(allowed: bool):
    pattern = "#.w.w.w.w.w.w.w.w.w.x.#"
    rules = [rule(1, allowed, Action.BIND, key=pattern)] * 1000 + [rule(2, True, Action.BIND)]
    units, refused = WORK.units, WORK.refused
    asked = binding(Action.BIND, "e", "q", ".".join(["*"] + ["w"] * (WORDS_MAX - 1)))
    assert OwnRules(rules).may("alice", "", "", asked) is TOO_MUCH
    assert WORK.refused == refused + 1
    assert VERB < WORK.units - units < 2 * VERB


@pytest.mark.parametrize(
    ("rules", "line"),
    [
        ([], 0),
        ([rule(1, True, Action.CONSUME)], 0),
        ([rule(1, True, Action.PUBLISH, queue="q")], 1),
        ([rule(1, True, Action.PUBLISH, own=YES)], 1),
        ([rule(1, True, Action.PUBLISH, users=frozenset(("bob",)))], 0),
        ([rule(1, False, Action.PUBLISH), rule(2, True)], -1),
        ([rule(1, False, Action.PUBLISH, exchange="e"), rule(2, True)], 2),
        ([rule(1, False, Action.PUBLISH, durable=NO), rule(2, True)], 2),
    ],
)
def test_who_may_publish_nothing_at_all_is_known_before_he_says_where(
    rules: list[OwnRule], line: int
):
    decision = OwnRules(rules).may_publish_any("alice", "default", "127.0.0.1")
    assert (decision.allowed, decision.line) == (line > 0, abs(line))


def test_to_look_for_anything_to_publish_is_work_and_too_much_of_it_is_not_done():
    many = [rule(each + 1, True, Action.CONSUME) for each in range(VERB // RULE + 1)]
    before = WORK.units
    assert OwnRules(many).may_publish_any("alice", "default", "") is TOO_MUCH
    assert WORK.units - before > VERB
