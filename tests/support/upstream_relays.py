"""What the tests of relays to an upstream have in common."""

from support.face_1_0 import message as encoded
from support.upstream_world import UpstreamWorld

from gateway.translate.facts import arrival_1_0, message_from_1_0
from gateway.translate.view import READER


def publish(w, *bodies, publisher=None, key="q", exchange="", flags=0):
    """Publish 1.0 messages, as their sender takes outcomes unless `flags` say otherwise."""
    payloads = [encoded(body) for body in bodies]
    return publish_encoded(
        w, *payloads, publisher=publisher, key=key, exchange=exchange, flags=flags
    )


def publish_encoded(w, *payloads, publisher=None, key="q", exchange="", flags=0):
    """The same of messages as they came."""
    answers = []
    for token, payload in enumerate(payloads, 1):
        made = message_from_1_0(
            arrival_1_0(payload),
            payload,
            0,
            id=w.bridge.numbers.next_message(),
            exchange=exchange,
            routing_key=key,
            now_ms=w.now_ms,
            publisher=1,
            reader=READER,
        )
        made.flags |= flags
        answers.append(w.host.publishing.publish(made, publisher, token).status)
    w.step()
    return answers


def bodies(deliveries):
    """The last octet of each."""
    return [delivery.payload[-1:] for delivery in deliveries]


def world(**more):
    """A queue `q` at an upstream."""
    return UpstreamWorld(**more).place("q")
