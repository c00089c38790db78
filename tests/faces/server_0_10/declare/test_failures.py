"""Commands of the exchange and queue classes that fail, and what is told of that."""

import pytest
from support.declares_0_10 import bind, client, declare, exchange
from support.rules import rule
from support.talk_0_10 import Gateway

from gateway.amqp_0_10 import _spec as spec
from gateway.amqp_0_10._spec_constants import BOOLEAN, INT32, STR16
from gateway.amqp_0_10.types import Command
from gateway.wire.tagged import Tagged

FAILURES = [
    ([declare("")], 531),
    pytest.param(
        [declare("none", passive=True)], 404, marks=rule("0-10", "queue.declare.passive", "passive")
    ),
    pytest.param(
        [declare(alternate_exchange="none")],
        404,
        marks=rule("0-10", "queue.declare.alternate-exchange", "unknown-exchange"),
    ),
    pytest.param(
        [declare(), declare(alternate_exchange="amq.fanout")],
        530,
        marks=rule("0-10", "queue.declare.alternate-exchange", "pre-existing-exchange"),
    ),
    ([declare(arguments=[("qpid.max_count", Tagged(INT32, -1))])], 542),
    ([declare(arguments=[("qpid.max_size", Tagged(STR16, "many"))])], 542),
    ([declare(arguments=[("qpid.max_size", Tagged(BOOLEAN, True))])], 542),
    pytest.param(
        [spec.QueueDelete(queue="none")],
        404,
        marks=rule("0-10", "queue.delete.queue", "queue-exists"),
    ),
    pytest.param([spec.QueueDelete()], 542, marks=rule("0-10", "queue.delete.queue", "empty-name")),
    pytest.param(
        [spec.QueuePurge(queue="none")],
        404,
        marks=rule("0-10", "queue.purge.queue", "queue-exists"),
    ),
    pytest.param([spec.QueuePurge()], 542, marks=rule("0-10", "queue.purge.queue", "empty-name")),
    pytest.param(
        [exchange("")],
        542,
        marks=rule("0-10", "exchange.declare.exchange", "exchange-name-required"),
    ),
    pytest.param(
        [exchange("amq.mine")],
        530,
        marks=rule("0-10", "exchange.declare.exchange", "reserved-names"),
    ),
    ([exchange("x", "xml")], 404),
    pytest.param(
        [exchange("x", "strange")],
        404,
        marks=rule("0-10", "exchange.declare.type", "exchange-type-not-found"),
    ),
    pytest.param(
        [exchange("none", passive=True)],
        404,
        marks=rule("0-10", "exchange.declare.passive", "not-found"),
    ),
    ([exchange("x", alternate_exchange="none")], 404),
    pytest.param(
        [exchange(), exchange("x", "topic")],
        530,
        marks=rule("0-10", "exchange.declare.type", "typed"),
    ),
    pytest.param(
        [exchange(), exchange("x", alternate_exchange="amq.fanout")],
        530,
        marks=rule("0-10", "exchange.declare.alternate-exchange", "pre-existing-exchange"),
    ),
    pytest.param(
        [spec.ExchangeDelete(exchange="none")],
        404,
        marks=rule("0-10", "exchange.delete.exchange", "exists"),
    ),
    pytest.param(
        [spec.ExchangeDelete()],
        542,
        marks=rule("0-10", "exchange.delete.exchange", "exchange-name-required"),
    ),
    ([spec.ExchangeDelete(exchange="amq.direct")], 530),
    (
        [declare(alternate_exchange="amq.fanout"), spec.ExchangeDelete(exchange="amq.fanout")],
        530,
    ),
    pytest.param(
        [exchange(), declare(alternate_exchange="x"), spec.ExchangeDelete(exchange="x")],
        530,
        marks=rule("0-10", "exchange.delete.exchange", "used-as-alternate"),
    ),
    pytest.param(
        [spec.ExchangeUnbind(queue="none", exchange="amq.direct")],
        404,
        marks=rule("0-10", "exchange.unbind.queue", "non-existent-queue"),
    ),
    pytest.param(
        [declare(), spec.ExchangeUnbind(queue="q", exchange="none")],
        404,
        marks=rule("0-10", "exchange.unbind.exchange", "non-existent-exchange"),
    ),
    pytest.param(
        [declare(), exchange(), bind(), spec.ExchangeDelete(exchange="x", if_unused=True)],
        406,
        marks=rule("0-10", "exchange.delete.if-unused", "exchange-in-use"),
    ),
    pytest.param(
        [bind(queue="none", to="amq.direct")],
        404,
        marks=rule("0-10", "exchange.bind.queue", "queue-existence"),
    ),
    pytest.param(
        [declare(), bind(to="none")],
        404,
        marks=rule("0-10", "exchange.bind.exchange", "exchange-existence"),
    ),
    pytest.param(
        [declare(), bind(to="")],
        542,
        marks=[
            rule("0-10", "exchange.bind.exchange", "exchange-name-required"),
            rule("0-10", "exchange", "default-access"),
        ],
    ),
    pytest.param([bind(queue="")], 542, marks=rule("0-10", "exchange.bind.queue", "empty-queue")),
    pytest.param(
        [declare(), spec.ExchangeUnbind(queue="q", exchange="amq.direct", binding_key="k")],
        404,
        marks=rule("0-10", "exchange.unbind.binding-key", "non-existent-binding-key"),
    ),
    pytest.param(
        [spec.ExchangeUnbind(queue="q")],
        542,
        marks=[
            rule("0-10", "exchange.unbind.exchange", "exchange-name-required"),
            rule("0-10", "exchange", "default-access"),
        ],
    ),
    ([declare(exclusive=True)], None),
]


@pytest.mark.parametrize(("commands", "code"), FAILURES)
def test_what_cannot_be_declared_ends_the_session(
    commands: list[Command], code: int | None
) -> None:
    heard = client().does(*commands)
    if code is None:
        assert heard == [f"completed 0-{len(commands) - 1}"]
    else:
        assert heard[-2:] == [(code, len(commands) - 1), "ended 0"]


@rule("0-10", "queue.delete.if-unused", "if-unused-flag")
@rule("0-10", "queue.delete.if-empty", "not-empty")
def test_a_queue_in_use_or_not_empty_may_be_kept_from_deletion() -> None:
    gateway = Gateway()
    gateway.world.queue()
    for condition in ("if_empty", "if_unused"):
        talker = gateway.session()
        talker.publishes(b"x")
        talker.subscribes(credit=None)
        heard = talker.does(spec.QueueDelete(queue="q", **{condition: True}))
        assert heard[-2:] == [(406, 2), "ended 0"]
    assert gateway.session().does(spec.QueueDelete(queue="q")) == ["completed 0-0"]


@pytest.mark.parametrize(
    ("command", "code"),
    [
        pytest.param(
            declare("amq.mine"),
            530,
            marks=rule("0-10", "queue.declare.queue", "reserved-prefix"),
        ),
        pytest.param(
            declare(arguments=[("unknown", Tagged(STR16, "x"))]),
            540,
            marks=rule("0-10", "queue.declare.arguments", "unknown-argument"),
        ),
        (declare(arguments=[("qpid.policy_type", Tagged(STR16, "unknown"))]), 540),
        pytest.param(
            exchange(arguments=[("unknown", Tagged(STR16, "x"))]),
            540,
            marks=rule("0-10", "exchange.declare.arguments", "unknown-argument"),
        ),
    ],
)
def test_the_letter_of_the_specification_is_kept_where_that_is_configured(
    command: Command, code: int
) -> None:
    talker = Gateway(strict=True).session()
    assert talker.does(command) == [(code, 0), "ended 0"]


@rule("0-10", "queue.declare.exclusive", "in-use")
def test_an_exclusive_queue_is_locked_for_others() -> None:
    gateway = Gateway()
    owner, other = gateway.session(), gateway.session()
    owner.does(declare(exclusive=True))
    for command in (
        declare(),
        spec.QueueDelete(queue="q"),
        spec.QueuePurge(queue="q"),
        bind(to="amq.direct"),
    ):
        assert other.does(command)[-2:] == [(405, 0), "ended 0"]
        other.attach()
    owner.does(spec.QueuePurge(queue="q"), bind(to="amq.direct"))
    assert owner.does(spec.QueueDelete(queue="q")) == ["completed 3-3"]
