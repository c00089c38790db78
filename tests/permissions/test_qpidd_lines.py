import pytest

from gateway.permissions.qpidd_lines import QpiddLines


def test_a_rule_has_a_permission_users_an_action_an_object_and_properties():
    [rule] = QpiddLines("acl deny-log bob@QPID create queue name=a=b durable=true\n").rules
    assert (rule.number, rule.allow, rule.logged) == (1, False, True)
    assert (rule.users, rule.action, rule.object) == ({"bob@QPID"}, "create", "queue")
    assert rule.properties == [("name", "a=b"), ("durable", "true")]


def test_all_is_nobody_and_nothing_in_particular():
    [rule] = QpiddLines("acl allow all all").rules
    assert (rule.users, rule.action, rule.object) == (None, None, None)


def test_a_group_stands_for_its_members_and_those_of_its_groups():
    text = "group a x@R \\\n# between\n\n  y@R\ngroup b a z@R\nacl allow b all\n"
    lines = QpiddLines(text)
    assert lines.problems == []
    assert lines.rules[0].users == {"x@R", "y@R", "z@R"}


def test_quotas_are_of_users_and_of_the_members_of_groups():
    lines = QpiddLines(
        "group few a@R b@R\nquota connections 3 few all\nquota connections 0 a@R\n"
        "quota queues 5 c@R\n"
    )
    assert lines.connections == {"a@R": 0, "b@R": 3, "all": 3}
    assert lines.queues == {"c@R": 5}


@pytest.mark.parametrize(
    ("line", "problem"),
    [
        ("acl allow all", "needs a permission, a user and an action"),
        ("acl permit all all", "'permit' is none of"),
        ("acl allow all eat", "'eat' is no action"),
        ("acl allow all create table", "'table' is no object"),
        ("acl allow all all queue", 'nothing may follow "all all"'),
        ("acl allow all create queue name", "must be a property and a value"),
        ("acl allow all create queue colour=red", "'colour' is no property"),
        ("acl allow all create queue maxqueuesize=x", "must be a number"),
        ("acl allow all create queue policytype=x", "must be one of ring"),
        ("acl allow all create \\", "only a group goes on"),
        ("group", "needs a name and members"),
        ("group a.b c@R", "cannot be a group's name"),
        ("group a b", "group 'b' is not known yet"),
        ("group a b@", "needs a realm"),
        ("group a b!@R", "a character that is not allowed"),
        ("quota connections", "needs a kind and a number"),
        ("quota sessions 1 all", "is none of connections, queues"),
        ("quota queues -1 all", "is no number up to"),
        ("allow all all", 'must begin with "group"'),
        ("\\", "nothing is continued"),
        ("acl allow all create queue name=" + "x" * 1100, "longer than 1023 octets"),
    ],
)
def test_a_line_that_cannot_be_read_is_told_by_its_number(line: str, problem: str):
    [(number, told)] = QpiddLines(f"# first\n{line}\n").problems
    assert number == 2
    assert problem in told


def test_all_problems_are_told_at_once():
    assert [number for number, _ in QpiddLines("a\nacl allow all all\nb\n").problems] == [1, 3]
