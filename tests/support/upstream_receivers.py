"""What the tests of receiver links at an upstream have in common."""

from support.face_1_0 import body_of
from support.upstream_world import UpstreamWorld

from gateway.amqp_1_0 import _spec
from gateway.translate.profiles.profile import Profile

NOT_FOUND = _spec.Error(condition="amqp:not-found", description="no such node")
FORCED = _spec.Error(condition="amqp:link:detach-forced")
BROKEN = _spec.Error(condition="amqp:internal-error", description="oops")


def world(**profile):
    """Queues `q` and `r` at an upstream with such a profile."""
    return UpstreamWorld(profile=Profile(**profile)).place("q", "r")


def bodies(consumer):
    """What a client was sent."""
    return [body_of(payload) for payload in consumer.bodies()]


def asked(broker, address="q"):
    """The source that we asked for, and the attach."""
    for event in broker.attached:
        if event.attach.role == _spec.SENDER:
            continue
        if event.attach.source.address == address:
            return event.attach.source, event.attach
    raise AssertionError("nothing was asked for")
