"""What a new node would take from 1.0 clients, and who may make it all the same."""

import pytest
from support.own_rules import own_rules
from support.talk_0_10 import Gateway

from gateway.amqp_0_10 import _spec as spec
from gateway.amqp_0_10.types import Command
from gateway.audit.schema import Kind
from gateway.permissions.actions import Action
from gateway.permissions.qpidd_rules import QpiddRules
from gateway.permissions.rules import AccessRules

UNAUTHORIZED = 403
NOT_ALLOWED = 530
QUEUES = ("allow: [create, consume], users: eve, temporary: true, own: true", "allow: manage")


def gateway(rules: AccessRules | None) -> Gateway:
    made = Gateway()
    declaring = made.world.host.declaring
    declaring.declare_exchange("e", "fanout", durable=True)
    declaring.declare_exchange("t", "fanout", auto_delete=True)
    made.settings.access.in_force.rules = rules
    return made


def own(*rules: str) -> Gateway:
    return gateway(own_rules(*rules))


def qpidd(*lines: str) -> Gateway:
    return gateway(QpiddRules("\n".join(lines) + "\n", "QPID"))


def queue(name: str) -> Command:
    return spec.QueueDeclare(queue=name, auto_delete=True)


def exchange(name: str) -> Command:
    return spec.ExchangeDeclare(exchange=name, type="fanout")


def answers(world: Gateway, user: str, command: Command) -> int:
    """The code of the exception, 0 for none."""
    heard = world.session(user).does(command)
    codes = [each[0] for each in heard if isinstance(each, tuple) and isinstance(each[0], int)]
    return codes[0] if codes else 0


@pytest.mark.parametrize("name", ["e", "e/k", "t", "t/k", "e/", "amq.topic", "amq.match/a/b"])
def test_a_queue_that_hides_an_exchange_needs_leave_to_make_that(name: str) -> None:
    made = name.partition("/")[0]
    assert answers(own(*QUEUES), "eve", queue(name)) == UNAUTHORIZED
    assert answers(own(*QUEUES, f"allow: create, exchange: {made}"), "eve", queue(name)) == 0
    assert answers(own("allow: all"), "eve", queue(name)) == 0
    assert answers(gateway(None), "eve", queue(name)) == 0


@pytest.mark.parametrize("name", ["q", "amq.topic_1", "none/k", "/e", "E"])
def test_a_queue_that_hides_nothing_needs_no_more_than_leave_for_itself(name: str) -> None:
    assert answers(own(*QUEUES), "eve", queue(name)) == 0


def test_what_is_refused_so_is_counted_and_recorded() -> None:
    world = own(*QUEUES)
    assert answers(world, "eve", queue("e/k")) == UNAUTHORIZED
    assert world.settings.counts.access_refused[Action.CREATE] == 1
    raw = world.world.blocks.raw()
    [record] = [each for each in raw if each["kind"] == Kind.ACCESS_REFUSED]
    assert (record["exchange"], record["node"]) == ("create", "exchange 'e'")


def test_who_has_made_the_exchange_may_hide_it() -> None:
    rules = ("allow: create, temporary: true, own: true", "allow: [publish, bind]")
    world = own(*rules)
    made = spec.ExchangeDeclare(exchange="mine", type="fanout", auto_delete=True)
    assert answers(world, "eve", made) == 0
    assert answers(world, "eve", queue("mine/k")) == 0
    assert answers(world, "bob", queue("mine/x")) == UNAUTHORIZED


def test_a_queue_that_is_there_is_declared_again() -> None:
    world = own("allow: consume, users: eve", "allow: all")
    world.world.queue("e/k")
    assert answers(world, "eve", spec.QueueDeclare(queue="e/k")) == 0


def test_an_exchange_that_hides_a_key_of_another_needs_leave_to_make_that() -> None:
    rules = ("allow: create, exchange: e/k", "allow: [publish, bind], exchange: amq.topic")
    assert answers(own(*rules), "eve", exchange("e/k")) == UNAUTHORIZED
    assert answers(own(*rules, "allow: create, exchange: e"), "eve", exchange("e/k")) == 0


def test_an_exchange_takes_the_name_of_a_topic_only_by_a_rule_about_it() -> None:
    create = "allow: create, users: eve, own: true"
    may = "allow: [publish, bind], exchange: amq.topic, key:"
    assert answers(own(create), "eve", exchange("prices")) == UNAUTHORIZED
    assert answers(own(create, f"{may} news"), "eve", exchange("prices")) == UNAUTHORIZED
    one = f"{may.replace('[publish, bind]', 'publish')} prices"
    assert answers(own(create, one), "eve", exchange("prices")) == UNAUTHORIZED
    assert answers(own(create, f"{may} prices"), "eve", exchange("prices")) == 0
    assert answers(own("allow: create, exchange: pri*"), "eve", exchange("prices")) == 0


@pytest.mark.parametrize("name", ["prices", "prices/de"])
def test_an_exchange_is_not_made_that_another_users_queue_hides(name: str) -> None:
    world = own(*QUEUES, "allow: all, users: [bob, carol]")
    assert answers(world, "eve", queue(name)) == 0
    assert answers(world, "eve", queue("pricesx")) == 0
    assert answers(world, "bob", exchange("prices")) == NOT_ALLOWED
    assert answers(world, "bob", spec.QueueDelete(queue=name)) == 0
    assert answers(world, "bob", queue(name)) == 0
    assert answers(world, "carol", exchange("prices")) == 0


def test_the_queues_of_operators_and_ones_own_hide_what_is_made_later() -> None:
    world = own("allow: create, users: eve, exchange: prices", *QUEUES)
    world.world.queue("prices", durable=True)
    assert answers(world, "eve", queue("prices/de")) == 0
    assert answers(world, "eve", exchange("prices")) == 0


def test_as_at_a_qpidd_a_queue_hides_the_exchange_of_its_name_but_no_key_of_it() -> None:
    lines = ("acl allow all create queue", "acl deny all all")
    assert answers(qpidd(*lines), "eve", queue("e")) == 0
    assert answers(qpidd(*lines), "eve", queue("e/k")) == UNAUTHORIZED
    more = "acl allow all create exchange name=e durable=true type=fanout"
    assert answers(qpidd(more, *lines), "eve", queue("e/k")) == 0
    assert answers(qpidd("acl allow all create exchange", *lines), "eve", exchange("x")) == 0
