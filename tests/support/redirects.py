"""Containers that redirect links, and what comes of it at both ends."""

from gateway.amqp_1_0 import _spec, types
from gateway.faces.dialled.location import Location
from gateway.wire.tagged import Tagged

HOME = "a.example"
OTHER = "b.example"


def redirect(host=None, port=None, hostname=None, address=None):
    """The error of a link that is at another place."""
    texts = {"network-host": host, "hostname": hostname, "address": address}
    info = {key: Tagged(types.STRING, text) for key, text in texts.items() if text is not None}
    if port is not None:
        info["port"] = Tagged(types.USHORT, port)
    return _spec.Error(condition="amqp:link:redirect", info=info)


def connect(w, **more):
    """The upstream itself is at home."""
    return w.connect(location=Location(network_host=HOME, port=5672, hostname=HOME), **more)


def redirecting(*addresses, **where):
    """Has a container redirect what attaches to these addresses."""

    def prepare(broker):
        broker.refusals.update(dict.fromkeys(addresses, redirect(**where)))

    return prepare


def bodies(consumer):
    """What a consumer got, of messages with one octet."""
    return [each[-1:] for each in consumer.bodies()]


def attaches(broker, address):
    """How often one of our links came for an address."""
    return broker.asked_for.count(address)
