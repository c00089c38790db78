"""What the recorded conversations do: one row each, with the client, the protocol and the story."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from interop.foreign import JMS, PROTON, QPID_PYTHON, RHEA, Said

_QUEUE = "ADDR:{name}; {{create: always, node: {{type: queue, durable: {durable}}}}}"
_JMS_KINDS: list[dict[str, Any]] = [
    {
        "body": ["text", "h\u00e9llo"],
        "properties": {
            "a_boolean": ["boolean", True],
            "a_byte": ["byte", -5],
            "a_short": ["short", 300],
            "an_int": ["int", -70000],
            "a_long": ["long", "9223372036854775807"],
            "a_float": ["float", "1.5"],
            "a_double": ["double", "2.5"],
            "a_string": ["string", "x"],
        },
        "durable": True,
        "priority": 7,
        "ttl-ms": 600_000,
        "jms-type": "order",
        "correlation-id": "c-1",
        "reply-to": "ADDR:amq.direct/replies",
        "group-id": "g",
        "group-sequence": 3,
    },
    {"body": ["bytes", "00ff10"]},
    {
        "body": [
            "map",
            {"i": ["int", 1], "b": ["binary", "00ff"], "c": ["char", "q"], "n": ["null", None]},
        ]
    },
    {"body": ["stream", [["long", "5"], ["string", "e"], ["boolean", False]]]},
    {"body": ["object", ["string", "serialized"]]},
    {},
]
_QPID_PYTHON_KINDS: list[dict[str, Any]] = [
    {
        "body": ["string", "h\u00e9llo"],
        "properties": {
            "a_long": ["long", "1"],
            "a_boolean": ["boolean", True],
            "a_double": ["double", "1.5"],
            "a_uuid": ["uuid", "b62c1a1b-8e83-3ac3-9874-76c503552361"],
            "a_timestamp": ["timestamp", "1795242122208"],
            "a_map": ["map", {"k": ["list", [["null", None], ["string", "e"]]]}],
        },
        "durable": True,
        "priority": 7,
        "ttl-ms": 600_000,
        "correlation-id": "c-1",
        "reply-to": "amq.direct/replies",
        "subject": "s",
        "message-id": "0f6a7c1e-52f1-4a3b-8f43-7d0a1a0d9a11",
    },
    {"body": ["map", {"x": ["long", "1"], "y": ["binary", "00ff"]}]},
    {"body": ["list", [["long", "1"], ["null", None]]]},
    {"body": ["binary", "00ff"]},
]
_KINDS_1_0: list[dict[str, Any]] = [
    {
        "body": ["string", "h\u00e9llo"],
        "properties": {
            "a_boolean": ["boolean", True],
            "a_byte": ["byte", -5],
            "a_short": ["short", 300],
            "an_int": ["int", -70000],
            "a_long": ["long", "9223372036854775807"],
            "a_ubyte": ["ubyte", 255],
            "a_ushort": ["ushort", 65535],
            "a_uint": ["uint", 4294967295],
            "a_ulong": ["ulong", "18446744073709551615"],
            "a_float": ["float", "1.5"],
            "a_double": ["double", "2.5"],
            "a_string": ["string", "x"],
            "a_binary": ["binary", "00ff"],
            "a_uuid": ["uuid", "b62c1a1b-8e83-3ac3-9874-76c503552361"],
            "a_timestamp": ["timestamp", "1795242122208"],
            "a_char": ["char", "q"],
            "a_symbol": ["symbol", "sym"],
        },
        "durable": True,
        "priority": 7,
        "ttl-ms": 600_000,
        "message-id": ["string", "m-1"],
        "correlation-id": ["ulong", "7"],
        "reply-to": "replies",
        "subject": "s",
        "group-id": "g",
        "group-sequence": 3,
    },
    {"body": ["data", "00ff10"], "content-type": "application/octet-stream"},
    {"body": ["map", {"i": ["int", 1]}], "annotations": {"x-opt-note": ["string", "n"]}},
    {"body": ["list", [["int", 1], ["null", None]]]},
    {"body": ["sequence", [["int", 1], ["string", "e"]]]},
]
_MANY = [{"body": ["string", "x" * 100], "durable": True}] * 100


@dataclass(frozen=True)
class Scenario:
    """``run`` is given the recorded port and, for what need not be recorded, the broker's."""

    protocol: str
    name: str
    client: str
    story: str
    run: Callable[[int, int], Said]
    plain: bool = False


def _jms_queue(name: str, *, durable: bool = False) -> str:
    return _QUEUE.format(name=name, durable=durable)


def _jms_publish_kinds(port: int, broker: int) -> Said:
    return JMS.run("publish", port, _JMS_KINDS, destination=_jms_queue("jms-kinds", durable=True))


def _jms_consume_client_ack(port: int, broker: int) -> Said:
    JMS.run("publish", broker, _JMS_KINDS, destination=_jms_queue("jms-acks"))
    return JMS.run(
        "consume",
        port,
        destination="ADDR:jms-acks",
        ack="client",
        count=6,
        user="guest",
        password="guest",
    )


def _jms_consume_auto_ack_selector(port: int, broker: int) -> Said:
    JMS.run("publish", broker, _JMS_KINDS, destination=_jms_queue("jms-selected"))
    return JMS.run("consume", port, destination="ADDR:jms-selected", selector="an_int < 0")


def _jms_burl_queue(port: int, broker: int) -> Said:
    return JMS.run(
        "publish",
        port,
        _JMS_KINDS[:2],
        destination="BURL:direct://amq.direct//burl-queue?durable='true'",
    )


def _jms_burl_consume(port: int, broker: int) -> Said:
    url = "BURL:direct://amq.direct//burl-consumed"
    waiting = JMS.start("consume", port, destination=url)
    waiting.until("ready")
    JMS.run("publish", broker, _JMS_KINDS[:1], destination=url)
    return waiting.finish().without_error()


def _jms_topic(port: int, broker: int) -> Said:
    waiting = JMS.start("consume", port, destination="TOPIC:news.*", count=2)
    waiting.until("ready")
    JMS.run("publish", broker, _JMS_KINDS[:2], destination="TOPIC:news.uk")
    return waiting.finish().without_error()


def _jms_durable_subscription(port: int, broker: int) -> Said:
    waiting = JMS.start(
        "consume",
        port,
        destination="TOPIC:weather",
        durable_subscription="sub",
        client_id="client-1",
        count=1,
    )
    waiting.until("ready")
    JMS.run("publish", broker, _JMS_KINDS[:1], destination="TOPIC:weather")
    return waiting.finish().without_error()


def _jms_fanout(port: int, broker: int) -> Said:
    waiting = JMS.start("consume", port, destination="ADDR:amq.fanout")
    waiting.until("ready")
    JMS.run("publish", broker, _JMS_KINDS[:1], destination="ADDR:amq.fanout")
    return waiting.finish().without_error()


def _jms_transaction(port: int, broker: int) -> Said:
    return JMS.run(
        "publish", port, _JMS_KINDS[:3], destination=_jms_queue("jms-tx"), ack="transacted"
    )


def _jms_rollback(port: int, broker: int) -> Said:
    JMS.run("publish", broker, _JMS_KINDS[:3], destination=_jms_queue("jms-back"))
    return JMS.run(
        "consume", port, destination="ADDR:jms-back", ack="transacted", end="rollback", count=2
    )


def _jms_browse(port: int, broker: int) -> Said:
    JMS.run("publish", broker, _JMS_KINDS[:3], destination=_jms_queue("jms-browsed"))
    return JMS.run("browse", port, destination="ADDR:jms-browsed")


def _jms_request(port: int, broker: int) -> Said:
    JMS.run("publish", broker, [], destination=_jms_queue("jms-asked"))
    answering = JMS.start("respond", broker, destination="ADDR:jms-asked")
    answering.until("ready")
    said = JMS.run("request", port, _JMS_KINDS[:1], destination="ADDR:jms-asked")
    answering.finish().without_error()
    return said


def _jms_not_found(port: int, broker: int) -> Said:
    return JMS.start(
        "consume", port, destination="ADDR:nothing-here; {create: never, assert: always}"
    ).finish()


def _python_send(port: int, broker: int) -> Said:
    return QPID_PYTHON.run(
        "send", port, _QPID_PYTHON_KINDS, address="python-kinds; {create: always}"
    )


def _python_receive(port: int, broker: int) -> Said:
    QPID_PYTHON.run("send", broker, _QPID_PYTHON_KINDS, address="python-read; {create: always}")
    return QPID_PYTHON.run(
        "receive", port, address="python-read", count=4, user="guest", password="guest"
    )


def _python_topic(port: int, broker: int) -> Said:
    waiting = QPID_PYTHON.start("receive", port, address="amq.topic/news.#", count=1)
    waiting.until("ready")
    QPID_PYTHON.run("send", broker, [{"body": ["string", "n"]}], address="amq.topic/news.uk")
    return waiting.finish().without_error()


def _python_transaction(port: int, broker: int) -> Said:
    QPID_PYTHON.run("send", broker, _QPID_PYTHON_KINDS, address="python-tx; {create: always}")
    return QPID_PYTHON.run("receive", port, address="python-tx", count=2, transacted="yes")


def _proton_send(port: int, broker: int) -> Said:
    return PROTON.run("send", port, _KINDS_1_0, address="auto.proton-kinds")


def _proton_receive(port: int, broker: int) -> Said:
    PROTON.run("send", broker, _KINDS_1_0, address="auto.proton-read")
    return PROTON.run(
        "receive", port, address="auto.proton-read", count=5, user="guest", password="guest"
    )


def _proton_send_many(port: int, broker: int) -> Said:
    return PROTON.run("send", port, _MANY, address="auto.proton-many")


def _proton_modified(port: int, broker: int) -> Said:
    PROTON.run("send", broker, _KINDS_1_0, address="auto.proton-modified")
    return PROTON.run("receive", port, address="auto.proton-modified", count=2, outcome="modified")


def _proton_not_found(port: int, broker: int) -> Said:
    return PROTON.start("receive", port, address="nothing-here").finish()


def _rhea_send(port: int, broker: int) -> Said:
    return RHEA.run("send", port, _KINDS_1_0, address="auto.rhea-kinds")


def _rhea_receive(port: int, broker: int) -> Said:
    RHEA.run("send", broker, _KINDS_1_0, address="auto.rhea-read")
    return RHEA.run(
        "receive", port, address="auto.rhea-read", count=5, user="guest", password="guest"
    )


SERVER = "Apache Qpid Broker-J 9.2.0"
_JAVA = "Qpid JMS AMQP 0-x 6.4.0"
_PYTHON = "qpid-python 1.36.0"
_PROTON = "python-qpid-proton 0.40.0"
_RHEA = "rhea 3.0.5"

SCENARIOS: tuple[Scenario, ...] = (
    Scenario(
        "0-10",
        "jms-publish-kinds",
        _JAVA,
        "ANONYMOUS; declares a durable queue by address, publishes one message of each kind",
        _jms_publish_kinds,
    ),
    Scenario(
        "0-10",
        "jms-consume-client-ack",
        _JAVA,
        "PLAIN; consumes the six kinds from a queue, acknowledges once",
        _jms_consume_client_ack,
        plain=True,
    ),
    Scenario(
        "0-10",
        "jms-consume-selector",
        _JAVA,
        "consumes one message with a selector, auto acknowledge",
        _jms_consume_auto_ack_selector,
    ),
    Scenario(
        "0-10",
        "jms-publish-burl",
        _JAVA,
        "binding URL of a durable queue on amq.direct; publishes two messages",
        _jms_burl_queue,
    ),
    Scenario(
        "0-10",
        "jms-consume-burl",
        _JAVA,
        "binding URL: declares and binds the queue, consumes one message",
        _jms_burl_consume,
    ),
    Scenario(
        "0-10",
        "jms-consume-topic",
        _JAVA,
        "topic news.* made by the session: temporary queue on amq.topic, two messages",
        _jms_topic,
    ),
    Scenario(
        "0-10",
        "jms-durable-subscription",
        _JAVA,
        "client id and durable topic subscription, one message",
        _jms_durable_subscription,
    ),
    Scenario(
        "0-10", "jms-consume-fanout", _JAVA, "address of amq.fanout, one message", _jms_fanout
    ),
    Scenario(
        "0-10",
        "jms-publish-commit",
        _JAVA,
        "transacted session: publishes three, commits",
        _jms_transaction,
    ),
    Scenario(
        "0-10",
        "jms-consume-rollback",
        _JAVA,
        "transacted session: consumes two, rolls back",
        _jms_rollback,
    ),
    Scenario("0-10", "jms-browse", _JAVA, "browses a queue of three", _jms_browse),
    Scenario(
        "0-10", "jms-request", _JAVA, "temporary reply queue, one request, its reply", _jms_request
    ),
    Scenario(
        "0-10",
        "jms-not-found",
        _JAVA,
        "consumes from an address that does not exist",
        _jms_not_found,
    ),
    Scenario(
        "0-10",
        "python-send-kinds",
        _PYTHON,
        "ANONYMOUS; creates a queue, sends text, map, list and octets, each synchronously",
        _python_send,
    ),
    Scenario(
        "0-10",
        "python-receive",
        _PYTHON,
        "PLAIN; receives four, acknowledges each",
        _python_receive,
        plain=True,
    ),
    Scenario(
        "0-10",
        "python-receive-topic",
        _PYTHON,
        "receives one message from amq.topic by news.#",
        _python_topic,
    ),
    Scenario(
        "0-10",
        "python-receive-commit",
        _PYTHON,
        "transactional session: receives two, acknowledges, commits",
        _python_transaction,
    ),
    Scenario(
        "1.0",
        "proton-send-kinds",
        _PROTON,
        "SASL ANONYMOUS; sends one message of each body kind, the first with every simple type",
        _proton_send,
    ),
    Scenario(
        "1.0",
        "proton-receive",
        _PROTON,
        "SASL PLAIN; receives five, accepts each",
        _proton_receive,
        plain=True,
    ),
    Scenario(
        "1.0",
        "proton-send-many",
        _PROTON,
        "sends 100 durable messages with the credit it is given",
        _proton_send_many,
    ),
    Scenario(
        "1.0",
        "proton-receive-modified",
        _PROTON,
        "receives two, answers modified(delivery-failed)",
        _proton_modified,
    ),
    Scenario(
        "1.0",
        "proton-not-found",
        _PROTON,
        "attaches to an address that does not exist",
        _proton_not_found,
    ),
    Scenario(
        "1.0",
        "rhea-send-kinds",
        _RHEA,
        "sends one message of each body kind, the first with every simple type",
        _rhea_send,
    ),
    Scenario(
        "1.0",
        "rhea-receive",
        _RHEA,
        "SASL PLAIN; receives five, accepts each",
        _rhea_receive,
        plain=True,
    ),
)
