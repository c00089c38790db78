"""What the arguments of exchange.declare mean, and what queries are told of them."""

from support.talk_0_10 import Gateway

from gateway.amqp_0_10 import _spec as spec
from gateway.amqp_0_10._spec_constants import INT64, STR16, VOID
from gateway.faces.arguments.of_exchanges import AskedOfExchange
from gateway.wire.tagged import Tagged

NUMBERS = ("qpid.msg_sequence", Tagged(VOID, None))
REMEMBERS = ("qpid.ive", Tagged(STR16, "no"))
COUNTER = ("qpid.sequence_counter", Tagged(INT64, 41))
OTHER = ("x-own", Tagged(INT64, 1))


def test_each_has_its_effect_by_being_there() -> None:
    asked = AskedOfExchange([NUMBERS, REMEMBERS])
    assert (asked.numbers, asked.remembers, asked.ignored(local=True)) == (True, True, [])
    asked = AskedOfExchange([OTHER])
    assert (asked.numbers, asked.remembers, asked.ignored(local=True)) == (False, False, ["x-own"])


def test_of_an_exchange_at_an_upstream_all_are_without_effect() -> None:
    assert AskedOfExchange([NUMBERS, REMEMBERS, OTHER]).ignored(local=False) == [
        *("qpid.msg_sequence", "qpid.ive", "x-own"),
    ]


def test_one_that_numbers_tells_of_its_counter_and_takes_none() -> None:
    asked = AskedOfExchange([COUNTER, NUMBERS])
    assert asked.ignored(local=True) == []
    assert asked.told() == [NUMBERS, (COUNTER[0], Tagged(INT64, 0))]
    assert AskedOfExchange([COUNTER]).told() == [COUNTER]
    assert AskedOfExchange([COUNTER]).ignored(local=True) == [COUNTER[0]]


def test_under_strict_what_is_done_is_taken_and_the_rest_refused() -> None:
    gateway = Gateway()
    gateway.settings.strict = True
    for arguments, answer in (([NUMBERS, REMEMBERS], []), ([OTHER], [540])):
        declare = spec.ExchangeDeclare(exchange="x", type="fanout", arguments=arguments)
        heard = gateway.session().does(declare)
        assert [each[0] for each in heard if isinstance(each, tuple)] == answer
