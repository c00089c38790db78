from gateway.permissions.asked import NO, YES, Asked
from gateway.permissions.own_rules import OwnRule, OwnRules
from gateway.permissions.permits import REMEMBERED_OCTETS, Permits
from gateway.permissions.rules import Decision
from gateway.wire.work import WORK


class Rules:
    """Allows keys that begin with "a"; counts how often it is asked."""

    def __init__(self) -> None:
        self.asked: list[Asked] = []

    def may(self, user: str, host: str, address: str, asked: Asked) -> Decision:
        self.asked.append(asked)
        return Decision((asked.key or asked.name).startswith("a"), len(self.asked), "")

    def may_publish_any(self, user: str, host: str, address: str) -> Decision:
        return Decision(False, 0, "")

    def asks_access(self) -> bool:
        return False

    def hides(self) -> bool:
        return False

    def publish_unchecked(self) -> bool:
        return False

    def connections_max(self, user: str) -> int:
        return -1

    def queues_max(self, user: str) -> int:
        return -1


def permits(rules: Rules | None) -> Permits:
    return Permits(rules, "alice", "host", "127.0.0.1")


class Looking(Rules):
    """Allows what is whoever asks' own, durable or not."""

    def may(self, user: str, host: str, address: str, asked: Asked) -> Decision:
        asked.looked = True
        self.asked.append(asked)
        return Decision(asked.own == YES, 1, "")


class Node:
    """What every node is like."""

    def __init__(self) -> None:
        self.own, self.durable = NO, YES
        self.properties: dict[str, str] | None = None

    def look_up(self, asked: Asked) -> None:
        asked.own, asked.durable, asked.properties = self.own, self.durable, self.properties


def test_what_depends_on_the_node_is_decided_again_when_that_is_otherwise():
    rules, node = Looking(), Node()
    mine = Permits(rules, "alice", "host", "127.0.0.1", node)
    answers = []
    for own, durable in ((NO, YES), (NO, YES), (YES, YES), (YES, YES), (YES, NO), (NO, NO)):
        node.own, node.durable = own, durable
        answers.append(mine.may_publish("", "a queue").allowed)
    assert answers == [False, False, True, True, True, False]
    assert len(rules.asked) == 4
    for number in range(1000):
        mine.may_publish("e", "a" * 200 + str(number))
        assert 0 < mine.octets <= REMEMBERED_OCTETS


def test_what_depends_on_more_than_that_is_decided_each_time():
    rules, node = Looking(), Node()
    node.properties = {"durable": "true"}
    mine = Permits(rules, "alice", "host", "127.0.0.1", node)
    for _ in range(3):
        assert not mine.may_publish("", "a queue").allowed
    assert len(rules.asked) == 3


def test_each_exchange_and_key_is_decided_once():
    rules = Rules()
    mine = permits(rules)
    for _ in range(3):
        assert mine.may_publish("amq.topic", "a.b").allowed
        assert not mine.may_publish("amq.topic", "b").allowed
        assert mine.may_publish("", "a queue").allowed
    assert [str(asked) for asked in rules.asked] == [
        "publish exchange 'amq.topic', key 'a.b'",
        "publish exchange 'amq.topic', key 'b'",
        "publish queue 'a queue'",
    ]


def test_what_is_remembered_has_a_limit_in_octets():
    rules = Rules()
    mine = permits(rules)
    for number in range(1000):
        mine.may_publish("e", "a" * 200 + str(number))
        assert mine.octets <= REMEMBERED_OCTETS
    mine.may_publish("e", "a" * 200 + "0")
    assert len(rules.asked) == 1001


def test_a_key_that_is_larger_than_all_that_may_be_remembered_is_decided_each_time():
    rules = Rules()
    mine = permits(rules)
    for _ in range(2):
        assert mine.may_publish("e", "a" * REMEMBERED_OCTETS).allowed
    assert (len(rules.asked), mine.octets) == (2, 0)


def test_without_rules_everybody_may_everything():
    assert permits(None).open
    assert permits(None).may_publish("e", "k").allowed


def test_what_is_remembered_costs_no_work():
    rules = OwnRules([OwnRule(Decision(True, 1, ""), -1, key=["a", "#"])] * 10)
    mine = Permits(rules, "alice", "host", "127.0.0.1")
    units = WORK.units
    assert mine.may_publish("e", "a.b").allowed
    once = WORK.units - units
    assert once > 0
    assert mine.may_publish("e", "a.b").allowed
    assert WORK.units - units == once
