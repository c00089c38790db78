import pathlib

import click
import pytest
from click.testing import CliRunner
from support.own_rules import own_rules
from support.talk_0_10 import Gateway

from gateway.amqp_0_10 import _spec as spec
from gateway.amqp_0_10.types import Command
from gateway.bridge.topology import PREDECLARED
from gateway.cli.check_may import Question
from gateway.cli.main import commands
from gateway.config.access import LoadedRules
from gateway.permissions.qpidd_rules import QpiddRules
from gateway.permissions.rules import AccessRules

OWN = """
rules:
  - allow: connect
    addresses: 127.0.0.0/8
  - {allow: publish, users: alice, queue: orders}
  - {allow: publish, exchange: amq.topic, key: news.#}
  - {allow: bind, exchange: amq.topic, queue: q, key: news.#}
  - {allow: delete, exchange: mine}
  - {deny: consume, users: carol, durable: true}
  - {deny: consume, users: carol, temporary: true, own: false}
  - {allow: [consume, publish], users: carol}
  - {allow: create, users: carol, own: true, exclusive: true}
  - {allow: bind, users: carol, own: true}
  - {allow: purge, login: false}
  - {allow: create, users: dave, queue: "*"}
  - {allow: create, users: erin}
  - {allow: publish, users: frank, exclusive: false}
  - {allow: bind, users: ivan, key: a.*}
"""
ACL = """acl allow bob@QPID publish exchange name=amq.default routingkey=orders
acl deny all all
"""


@pytest.fixture
def files(tmp_path: pathlib.Path) -> pathlib.Path:
    (tmp_path / "access.yaml").write_text(OWN)
    (tmp_path / "acl").write_text(ACL)
    return tmp_path


def asked(files: pathlib.Path, key: str, *question: str) -> tuple[int, str]:
    """Exit code and what was printed."""
    file = files / ("access.yaml" if key == "file" else "acl")
    found = CliRunner().invoke(
        commands, ["check", "--set", f"access.{key}={file}", "--may", *question]
    )
    return found.exit_code, found.output.strip()


@pytest.mark.parametrize(
    ("question", "answer"),
    [
        ("alice publish orders", (0, "allowed by line 5: ")),
        ("bob publish orders", (1, "denied by no rule fits")),
        ("bob publish amq.topic/news.de", (0, "allowed by line 6: ")),
        ("bob publish amq.topic", (0, "allowed by line 6: ")),
        ("bob publish amq.topic/weather", (1, "denied by ")),
        ("bob bind amq.topic/q/news.de", (0, "allowed by line 7: ")),
        ("bob delete mine", (1, "denied by ")),
        ("frank publish amq.topic/x", (0, "allowed by line 17: ")),
        ("frank publish amq.topic/x --exchange --not-durable", (0, "allowed by line 17: ")),
        ("frank publish q --exclusive --durable", (1, "denied by ")),
        ("bob delete mine --exchange", (0, "allowed by line 8: ")),
        ("bob connect -", (0, "allowed by line 3: ")),
        ("bob connect - --address 192.0.2.1", (1, "denied by ")),
        ("dave create mine --queue", (0, "allowed by line 15: ")),
        ("dave create amq.topic --queue", (1, "denied by no rule fits about create exchange 'amq")),
        ("dave create amq.topic/a --queue", (1, "denied by no rule fits about create exchange")),
        ("dave create amq.topic/a", (1, "denied by no rule fits")),
        ("erin create amq.topic/a --queue", (0, "allowed by line 16: ")),
        ("bob access orders --virtual-host default", (1, "denied by ")),
        ("bob manage broker", (1, "denied by ")),
        ("carol publish q", (0, "allowed by line 11: ")),
        ("carol consume q", (3, "depends on whether it is durable, whether it is temporary")),
        ("carol consume q --durable", (1, "denied by line 9: ")),
        ("carol consume q --not-durable", (3, "depends on whether it is temporary, whether it is")),
        ("carol consume q --not-durable --own", (0, "allowed by line 11: ")),
        ("carol consume q --not-durable --temporary --not-own", (1, "denied by line 10: ")),
        ("carol create q", (3, "depends on whether it is exclusive: denied by no rule fits; or ")),
        ("carol create q --exclusive", (0, "allowed by line 12: ")),
        ("carol bind amq.topic/q/x", (3, "depends on whether it is the user's own: ")),
        ("carol bind amq.topic/q/x --not-own", (1, "denied by ")),
        ("carol purge q", (1, "denied by ")),
        ("bob bind amq.topic/q/news.*.#", (0, "allowed by line 7: ")),
        ("bob bind amq.topic/q/#", (1, "denied by no rule fits")),
        ("ivan bind amq.topic/q/a.*", (0, "allowed by line 18: ")),
        ("ivan bind amq.topic/q/a.#", (1, "denied by ")),
        ("ivan bind amq.direct/q/a.#", (0, "allowed by line 18: ")),
        ("ivan bind amq.fanout/q/a.b", (1, "denied by ")),
        ("ivan bind e/q/a.b", (3, "depends on its type: allowed by line 18: ")),
        ("ivan bind e/q/a.b --type topic", (0, "allowed by line 18: ")),
        ("ivan bind e/q/a.b --type fanout", (1, "denied by ")),
        ("ivan bind e/q/x", (1, "denied by ")),
        ("erin create gateway.rejected --temporary", (1, "denied by being the gateway's: ")),
        ("erin create gateway.rejected --exclusive", (1, "denied by being the gateway's: ")),
        ("erin create gateway.rejected --not-durable", (1, "denied by being the gateway's: ")),
        ("erin create gateway.rejected --exchange", (0, "allowed by line 16: ")),
        (
            "erin create gateway.rejected --durable --not-exclusive --not-temporary",
            (0, "allowed by line 16: "),
        ),
        ("carol create q --exclusive --not-durable --not-temporary", (2, "Usage: ")),
    ],
)
def test_the_answer_names_the_line(
    files: pathlib.Path, question: str, answer: tuple[int, str]
) -> None:
    code, told = asked(files, "file", *question.split())
    assert (code, told[: len(answer[1])]) == answer


SUBSCRIPTION = "subscription.alice.app.s"


@pytest.mark.parametrize(
    ("question", "answer"),
    [
        (f"grace consume {SUBSCRIPTION} --not-own", (1, "denied by being a durable subscript")),
        (f"grace consume {SUBSCRIPTION} --own", (0, "allowed by line 19: ")),
        (f"grace browse {SUBSCRIPTION}", (3, "depends on whether it is the user's own: denied ")),
        (f"grace purge {SUBSCRIPTION} --not-own", (1, "denied by being a durable subscript")),
        (f"grace delete {SUBSCRIPTION} --not-own", (1, "denied by being a durable subscript")),
        (f"grace access {SUBSCRIPTION} --not-own", (1, "denied by being a durable subscript")),
        (f"grace bind amq.topic/{SUBSCRIPTION}/k --not-own", (1, "denied by being a durable")),
        (f"grace publish {SUBSCRIPTION}", (1, "denied by being a durable subscription, by")),
        (f"grace consume {SUBSCRIPTION} --not-own --not-durable", (0, "allowed by line 19: ")),
        ("grace consume subscription.alice --not-own", (0, "allowed by line 19: ")),
        (f"grace create {SUBSCRIPTION} --durable", (0, "allowed by line 19: ")),
        (f"hugo consume {SUBSCRIPTION} --not-own", (1, "denied by no rule fits")),
    ],
)
@pytest.mark.parametrize("key", ["file", "qpidd_file"])
def test_what_is_called_as_a_durable_subscription_is_its_users_alone(
    files: pathlib.Path, question: str, answer: tuple[int, str], key: str
) -> None:
    rules = "  - {allow: all, users: grace}\n"
    (files / "access.yaml").write_text(
        OWN.replace(
            "- {deny: consume, users: carol, durable: true}", "- {deny: consume, users: nobody}"
        )
        + rules
    )
    (files / "acl").write_text(
        "acl allow grace@QPID all\nacl allow carol@QPID all\nacl deny all all\n"
    )
    code, told = asked(files, key, *question.split())
    expected = answer[1]
    if key == "qpidd_file":  # its lines have other numbers
        expected = expected.partition(" line ")[0].partition(" no rule ")[0]
    assert (code, told[: len(expected)]) == (answer[0], expected)


def test_that_holds_without_rules_too() -> None:
    question = ["check", "--may", "eve", "consume", SUBSCRIPTION, "--not-own"]
    found = CliRunner().invoke(commands, question)
    assert (found.exit_code, found.output[:31]) == (1, "denied by being a durable subsc")


def test_a_queue_that_may_hide_an_exchange_is_told_of(files: pathlib.Path) -> None:
    code, told = asked(files, "file", "dave", "create", "orders/a", "--queue")
    assert code == 0
    assert "; if there is one, denied to create exchange 'orders', which the queue would" in told
    assert "if there is one" not in asked(files, "file", "erin", "create", "orders")[1]


def test_a_client_without_a_login_is_asked_for_by_an_empty_name(files: pathlib.Path) -> None:
    assert asked(files, "file", "", "purge", "q")[0] == 0


ACL_DECLARED = """acl allow bob@QPID create queue name=a* durable=true
acl allow bob@QPID delete queue name=a* exclusive=true
acl allow bob@QPID create exchange type=topic
acl allow bob@QPID purge queue
acl deny all all
"""


@pytest.mark.parametrize(
    ("question", "answer"),
    [
        ("bob create abc", (3, "depends on whether it is durable: ")),
        ("bob create abc --durable", (0, "allowed by line 1: ")),
        ("bob create abc --not-durable", (1, "denied by line 5: ")),
        ("bob delete abc", (3, "depends on whether it is exclusive: ")),
        ("bob create e --exchange", (3, "depends on its type: ")),
        ("bob purge q", (0, "allowed by line 4: ")),
    ],
)
def test_how_a_node_is_declared_counts_in_a_qpidds_file(
    files: pathlib.Path, question: str, answer: tuple[int, str]
) -> None:
    (files / "acl").write_text(ACL_DECLARED)
    code, told = asked(files, "qpidd_file", *question.split())
    assert (code, told[: len(answer[1])]) == answer


def test_a_qpidds_lines_are_named_too(files: pathlib.Path) -> None:
    code, told = asked(files, "qpidd_file", "bob", "publish", "orders")
    assert (code, told) == (
        0,
        "allowed by line 1: acl allow bob@QPID publish exchange name=amq.default routingkey=orders",
    )
    assert asked(files, "qpidd_file", "bob", "consume", "orders")[0] == 1


def test_without_a_line_about_publishing_nobody_is_asked(files: pathlib.Path) -> None:
    (files / "acl").write_text("acl deny all all\n")
    code, told = asked(files, "qpidd_file", "bob", "publish", "orders")
    assert (code, "no rule is about publishing" in told) == (0, True)


def test_without_rules_everybody_may() -> None:
    found = CliRunner().invoke(commands, ["check", "--may", "bob", "purge", "q"])
    assert (found.exit_code, found.output.strip()) == (
        0,
        "allowed by no rules: everybody may do everything",
    )


@pytest.mark.parametrize(
    ("action", "node", "problem"),
    [("eat", "q", "'eat' is none of connect"), ("bind", "amq.topic", "EXCHANGE/QUEUE/KEY")],
)
def test_what_is_no_question_is_told(action: str, node: str, problem: str) -> None:
    with pytest.raises(click.UsageError, match=problem):
        Question("bob", action, node, host="default", address="", exchange=False)


def test_check_lists_what_has_no_effect_and_warns_of_users_without_rules(
    files: pathlib.Path,
) -> None:
    (files / "acl").write_text("acl allow all create link\n")
    found = CliRunner().invoke(commands, ["check", "--set", f"access.qpidd_file={files}/acl"])
    assert "# access rules: 1 from" in found.output
    assert "acl:1: there is no such thing here" in found.output
    (files / "users.yaml").write_text("# nobody")
    found = CliRunner().invoke(commands, ["check", "--set", f"users_file={files}/users.yaml"])
    assert "# access rules: there are none" in found.output
    assert "and users_file has users" in found.output


REFUSED = (403, 530)
OWN_SETS = [
    ("allow: [create, publish], own: true",),
    ("allow: create, own: true, durable: false",),
    ("allow: create",),
    ('allow: create, exchange: "*"',),
    ("allow: all, exclusive: false, own: true",),
    ("allow: all, own: true",),
    ("allow: all",),
    ("allow: create, own: true", "allow: [publish, bind], exchange: amq.topic, key: nx1"),
    ("allow: create, own: true", "allow: publish, exchange: amq.topic"),
    ("allow: create, own: true", "allow: create, exchange: amq.topic"),
    ("deny: bind, key: nx1", "allow: all"),
    ('allow: create, queue: "*"',),
    ("allow: publish, exchange: amq.*",),
    ("allow: create, exchange: nx*, durable: true",),
    ("allow: create, durable: true", "allow: all, durable: true"),
]
ACL_SETS = [
    ("acl allow all all",),
    ("acl allow all create queue", "acl deny all all"),
    ("acl allow all create exchange", "acl deny all all"),
    ("acl allow all create exchange name=amq.topic", "acl allow all create queue"),
    ("acl allow all create exchange name=nx* durable=true", "acl deny all all"),
]
RULES = [own_rules(*each) for each in OWN_SETS]
RULES += [QpiddRules("\n".join(each) + "\n", "QPID") for each in ACL_SETS]
# None has to do with another: what was made is there for the next.
NODES = [
    ("exchange", "nx1", False),
    ("exchange", "nx2", True),
    ("exchange", "nx3/a", False),
    ("exchange", "qmf.default.topic/a", False),
    ("exchange", "qmf.default.direct/a/b", True),
    ("exchange", "amq.direct", True),
    ("queue", "q", True),
    ("queue", "q/a", False),
    ("queue", "amq.fanout", False),
    ("queue", "amq.topic/k", True),
]


def server_says(gateway: Gateway, kind: str, name: str, durable: bool) -> bool:
    """Whether a user may make that; by a qpidd's rules reserved names are not allowed."""
    command: Command = spec.QueueDeclare(queue=name, durable=durable)
    if kind == "exchange":
        type = dict(PREDECLARED).get(name, "direct")
        command = spec.ExchangeDeclare(exchange=name, type=type, durable=durable)
    heard = gateway.session("bob").does(command)
    return not [each for each in heard if isinstance(each, tuple) and each[0] in REFUSED]


@pytest.mark.parametrize("rules", RULES, ids=[" | ".join(each) for each in OWN_SETS + ACL_SETS])
def test_who_asks_who_may_make_a_node_hears_what_the_server_does(rules: AccessRules) -> None:
    gateway = Gateway()
    gateway.settings.access.in_force.rules = rules
    for kind, name, durable in NODES:
        question = Question(
            "bob",
            "create",
            name,
            host="default",
            address="",
            exchange=kind == "exchange",
            queue=kind == "queue",
            known={"durable": durable, "temporary": False, "exclusive": False},
        )
        answer = question.answer(LoadedRules(rules))
        told = (kind, name, answer)
        assert (answer.code, told) == (int(not server_says(gateway, kind, name, durable)), told)


def test_what_an_exchange_would_take_is_told(files: pathlib.Path) -> None:
    code, told = asked(files, "file", "carol", "create", "nx1", "--exchange")
    assert code == 1
    assert told.startswith("denied by no rule fits")
    (files / "access.yaml").write_text("rules:\n- {allow: create, own: true}\n")
    code, told = asked(files, "file", "bob", "create", "nx1", "--exchange")
    assert (code, told) == (
        1,
        "denied by no rule fits about publish exchange 'amq.topic', key 'nx1': exchange 'nx1' would"
        " take the topic of that name from 1.0 clients",
    )
