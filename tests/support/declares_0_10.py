"""Commands of the exchange and queue classes, as short as tests want them."""

from support.talk_0_10 import Client, Gateway

from gateway.amqp_0_10 import _spec as spec
from gateway.amqp_0_10.types import Command
from gateway.wire.tagged import Tagged


def client() -> Client:
    return Gateway().session()


def declare(name: str = "q", **fields: object) -> spec.QueueDeclare:
    return spec.QueueDeclare(queue=name, **fields)


def exchange(name: str = "x", kind: str = "direct", **fields: object) -> spec.ExchangeDeclare:
    return spec.ExchangeDeclare(exchange=name, type=kind, **fields)


def bind(queue: str = "q", to: str = "x", key: str = "k", **fields: object) -> spec.ExchangeBind:
    return spec.ExchangeBind(queue=queue, exchange=to, binding_key=key, **fields)


def with_headers(**headers: Tagged) -> spec.MessageProperties:
    return spec.MessageProperties(application_headers=list(headers.items()))


def result(talker: Client, command: Command) -> object:
    [answer, _] = talker.does(command)
    return answer
