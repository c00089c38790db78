"""What a qpidd says of itself by QMF, version 2, as a survey.

QMF has no specification but its clients and qpidd's schema of management objects, of which these
are the classes: a request asks for all objects of a class, an answer is a list of maps, each with
its ``_object_id`` and ``_values``, and references to others by their names.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Final

from gateway.faces.features import FEDERATION_PROPERTY
from gateway.migration.document import (
    Acl,
    Binding,
    Bridge,
    Broker,
    Client,
    Exchange,
    Link,
    Queue,
    Subscription,
    Survey,
)

BROKER: Final = "org.apache.qpid.broker"
# The classes that are asked for, by the names that `Objects` has them under, and their packages.
CLASSES: Final = {
    "broker": BROKER,
    "exchange": BROKER,
    "queue": BROKER,
    "binding": BROKER,
    "subscription": BROKER,
    "outgoing": BROKER,  # subscriptions of 1.0
    "connection": BROKER,
    "session": BROKER,
    "link": BROKER,
    "bridge": BROKER,
    "acl": "org.apache.qpid.acl",
    "habroker": "org.apache.qpid.ha",
    "store": "org.apache.qpid.linearstore",
}
REPLICATE: Final = "qpid.replicate"  # which a qpidd adds to all that there is
NOT_REPLICATED: Final = "none"
STANDALONE: Final = ("", "standalone")

Values = dict[str, Any]  # Any: whatever a map of AMQP holds
Objects = dict[str, list[Values]]  # by class: as they were answered


def query(name: str) -> Values:
    """The body of the request for all objects of a class."""
    return {
        "_what": "OBJECT",
        "_schema_id": {"_class_name": name, "_package_name": CLASSES[name]},
    }


def survey_of(objects: Objects, address: str, asker: str) -> Survey:
    """What the objects say; `asker` is the queue by which they were asked, which is left out."""
    names = _Names(objects)
    own = names.connection_of(asker)
    sessions = [each["_values"] for each in objects.get("session", [])]
    return Survey(
        broker=_broker(objects, address),
        exchanges=[_exchange(values) for values in _values(objects, "exchange") if values["name"]],
        queues=[_queue(values) for values in _values(objects, "queue") if values["name"] != asker],
        bindings=[
            binding
            for values in _values(objects, "binding")
            if (binding := _binding(values)).exchange and binding.queue != asker
        ],
        subscriptions=[
            Subscription(
                queue=named,
                client=names.address_of(values),
                browse=bool(values.get("browsing")),
                exclusive=bool(values.get("exclusive")),
                arguments=_arguments(values),
            )
            for values in _values(objects, "subscription")
            if (named := _named(values.get("queueRef"))) != asker
        ]
        + [
            Subscription(queue=str(values["source"]), client=names.address_of(values))
            for values in _values(objects, "outgoing")
        ],
        clients=[
            _client(values, [each for each in sessions if _connection(each) == values["address"]])
            for values in _values(objects, "connection")
            if values["address"] != own and values.get("incoming", True)
        ],
        links=[_link(values) for values in _values(objects, "link")],
        bridges=[_bridge(values) for values in _values(objects, "bridge")],
        acl=_acl(objects),
    )


def _values(objects: Objects, name: str) -> Iterable[Values]:
    return (each["_values"] for each in objects.get(name, []))


def _named(reference: Any) -> str:  # Any: a value of an object
    """The name of what a reference refers to: behind package and class, which have no colons."""
    name = str(reference.get("_object_name", "")) if isinstance(reference, dict) else ""
    return name.split(":", 2)[2] if name.count(":") >= 2 else name


def _arguments(values: Values) -> Values:
    """Those that a client has said."""
    given: Values = values.get("arguments") or {}
    added = given.get(REPLICATE) == NOT_REPLICATED
    return {name: each for name, each in given.items() if not (added and name == REPLICATE)}


def _connection(session: Values) -> str:
    return _named(session.get("connectionRef"))


class _Names:
    """Which connection a subscription is of: by its session."""

    def __init__(self, objects: Objects) -> None:
        self._objects = objects
        self._sessions = {
            _named({"_object_name": each["_object_id"]["_object_name"]}): _connection(
                each["_values"]
            )
            for each in objects.get("session", [])
        }

    def address_of(self, subscription: Values) -> str:
        """The address of its connection."""
        return self._sessions.get(_named(subscription.get("sessionRef")), "")

    def connection_of(self, queue: str) -> str:
        """The address of the connection that subscribes to a queue."""
        for values in _values(self._objects, "subscription"):
            if _named(values.get("queueRef")) == queue:
                return self.address_of(values)
        return ""


def _broker(objects: Objects, address: str) -> Broker:
    values = next(iter(_values(objects, "broker")), {})
    acl = next(iter(_values(objects, "acl")), {})
    ha = next(iter(_values(objects, "habroker")), {})
    store = next(iter(_values(objects, "store")), {})
    part = str(ha.get("status", ""))
    return Broker(
        address=address,
        asked=["QMF"],
        product="qpid-cpp",
        version=str(values.get("version", "")),
        prepared=int(store.get("tplTransactionDepth", 0)),
        ha="" if part in STANDALONE else part,
        connections_per_address=int(acl.get("maxConnectionsPerIp", 0)),
        connections_per_user=int(acl.get("maxConnectionsPerUser", 0)),
        queues_per_user=int(acl.get("maxQueuesPerUser", 0)),
    )


def _exchange(values: Values) -> Exchange:
    return Exchange(
        name=values["name"],
        type=values["type"],
        durable=values["durable"],
        auto_delete=bool(values.get("autoDelete")),
        alternate_exchange=_named(values.get("altExchange")),
        arguments=_arguments(values),
    )


def _queue(values: Values) -> Queue:
    return Queue(
        name=values["name"],
        durable=values["durable"],
        auto_delete=values["autoDelete"],
        exclusive=values["exclusive"],
        alternate_exchange=_named(values.get("altExchange")),
        arguments=_arguments(values),
        messages=values.get("msgDepth", 0),
        octets=values.get("byteDepth", 0),
    )


def _binding(values: Values) -> Binding:
    return Binding(
        exchange=_named(values.get("exchangeRef")),
        queue=_named(values.get("queueRef")),
        key=values["bindingKey"],
        arguments=_arguments(values),
    )


def _client(values: Values, sessions: list[Values]) -> Client:
    said: Values = values.get("remoteProperties") or {}
    process = str(said.get("qpid.client_process") or values.get("remoteProcessName") or "")
    return Client(
        address=values["address"],
        user=str(values.get("authIdentity", "")),
        mechanism=str(values.get("saslMechanism", "")),
        protocol=str(values.get("protocol", "")),
        product=str(said.get("product", "")),
        version=str(said.get("version", "")),
        platform=str(said.get("platform", "")),
        process=process,
        federation=bool(values.get("federationLink") or FEDERATION_PROPERTY in said),
        detached_lifespan_s=max([int(each.get("detachedLifespan", 0)) for each in sessions] or [0]),
        transactions=any(each.get("TxnStarts") for each in sessions),
    )


def _link(values: Values) -> Link:
    return Link(
        name=str(values.get("name", "")),
        host=str(values.get("host", "")),
        port=int(values.get("port", 0)),
        durable=bool(values.get("durable")),
        state=str(values.get("state", "")),
    )


def _bridge(values: Values) -> Bridge:
    return Bridge(
        name=str(values.get("name", "")),
        link=_named(values.get("linkRef")),
        source=str(values.get("src", "")),
        destination=str(values.get("dest", "")),
        key=str(values.get("key", "")),
        dynamic=bool(values.get("dynamic")),
        source_is_queue=bool(values.get("srcIsQueue")),
        push=bool(values.get("srcIsLocal")),
    )


def _acl(objects: Objects) -> Acl | None:
    """What it enforces, if it does."""
    values = next(iter(_values(objects, "acl")), {})
    if not values.get("policyFile"):
        return None
    return Acl(at_broker=str(values["policyFile"]))
