"""Queues made by the project's 0-10 client: a foreign one would have to be started for each."""

from interop.upstream.talk import Talk

from gateway.amqp_0_10 import _spec as spec


def declare_queues(port: int, *names: str) -> None:
    """Durable ones, at the gateway on this port."""
    talk = Talk(port)
    talk.does(*[spec.QueueDeclare(queue=name, durable=True) for name in names])
    talk.detach()
