"""A qpidd as somebody has had it for years: every discipline, exchange type and kind of binding."""

from __future__ import annotations

from typing import Any, Final

from support.lines import Lines

from gateway.amqp_0_10 import _spec as spec
from gateway.clients.client import Login
from gateway.clients.client_0_10 import Client010
from gateway.clients.codec_0_10 import to_table
from gateway.clients.letter import Letter, Typed, infer

QUEUES: Final[dict[str, dict[str, Any]]] = {  # by name: arguments
    "orders": {},
    "limited": {"qpid.max_count": 100, "qpid.max_size": 65536, "qpid.policy_type": "reject"},
    "ring": {"qpid.max_count": 10, "qpid.policy_type": "ring"},
    "strict-ring": {"qpid.max_size": 4096, "qpid.policy_type": "ring_strict"},
    "self-destruct": {"qpid.max_count": 1000, "qpid.policy_type": "self-destruct"},
    "prices": {"qpid.last_value_queue_key": "symbol"},
    "old-lvq": {"qpid.last_value_queue": 1},
    "urgent": {"qpid.priorities": 10, "qpid.fairshare": 3},
    "grouped": {"qpid.group_header_key": "customer", "qpid.shared_msg_group": 1},
    "browsed": {"qpid.browse-only": 1},
    "filtered": {"qpid.filter": "kind = 'a'"},
    "numbered": {"qpid.queue_msg_sequence": "number"},
    "slowed": {"qpid.flow_stop_count": 50, "qpid.flow_resume_count": 20},
    "alerted": {"qpid.alert_count": 10, "qpid.alert_repeat_gap": 5},
    "paged": {"qpid.paging": 1, "qpid.max_pages_loaded": 8},
    "described": {"x-qpid-description": "what it is for", "qpid.trace.id": "site-1"},
}
EXCHANGES: Final[dict[str, tuple[str, dict[str, Any]]]] = {
    "dead": ("fanout", {}),
    "trades": ("topic", {"qpid.msg_sequence": 1}),
    "last-trade": ("direct", {"qpid.ive": 1}),
    "everybody": ("fanout", {}),
    "by-headers": ("headers", {}),
}
BINDINGS: Final[tuple[tuple[str, str, str, dict[str, Any]], ...]] = (
    ("orders", "amq.direct", "new", {}),
    ("orders", "trades", "uk.#", {}),
    ("prices", "trades", "*.price", {}),
    ("ring", "everybody", "", {}),
    ("urgent", "by-headers", "x", {"x-match": "all", "level": 9, "kind": "alarm"}),
    ("limited", "amq.match", "y", {"x-match": "any", "kind": "order"}),
    ("dead-letters", "dead", "", {}),
)
DURABLE_SUBSCRIPTION: Final = "app:news"


def furnish(port: int, link_port: int, messages: int = 7) -> Lines:
    """Make all of it, with a link and a bridge to whoever listens at the other port.

    What is returned keeps the client that holds the durable subscription.
    """
    lines = Lines(port, Login("admin@QPID", "secret"))
    client = lines.connect_0_10()
    for name, (type, arguments) in EXCHANGES.items():
        declare = spec.ExchangeDeclare(
            exchange=name,
            type=type,
            durable=True,
            alternate_exchange="dead" if name == "trades" else None,
            arguments=to_table(infer(arguments).value),
        )
        lines.wait_for(client.command(declare))
    _queue(lines, client, "dead-letters", {})
    for name, arguments in QUEUES.items():
        _queue(lines, client, name, arguments, "dead" if name in ("orders", "ring") else None)
    for queue, exchange, key, arguments in BINDINGS:
        table = to_table(infer(arguments).value)
        bind = spec.ExchangeBind(queue=queue, exchange=exchange, binding_key=key, arguments=table)
        lines.wait_for(client.command(bind))
    for number in range(messages):
        client.send("orders", Letter(body=Typed("string", f"order {number}"), durable=True))
    _subscribe_durably(lines, client)
    link = {"host": "127.0.0.1", "port": link_port, "transport": "tcp", "durable": False}
    _create(lines, client, "link", "to-head-office", link)
    bridge = {"link": "to-head-office", "src": "amq.topic", "dest": "amq.topic", "key": "uk.#"}
    _create(lines, client, "bridge", "news-from-there", bridge)
    return lines


def _queue(
    lines: Lines,
    client: Client010,
    name: str,
    arguments: dict[str, Any],
    alternate: str | None = None,
) -> None:
    declare = spec.QueueDeclare(
        queue=name,
        durable=True,
        alternate_exchange=alternate,
        arguments=to_table(infer(arguments).value),
    )
    lines.wait_for(client.command(declare))


def _subscribe_durably(lines: Lines, client: Client010) -> None:
    """As the Java client does."""
    name = DURABLE_SUBSCRIPTION
    lines.wait_for(client.command(spec.QueueDeclare(queue=name, durable=True, exclusive=True)))
    selector = {"x-filter-jms-selector": "size > 3"}
    bind = spec.ExchangeBind(
        queue=name,
        exchange="amq.topic",
        binding_key="news",
        arguments=to_table(infer(selector).value),
    )
    lines.wait_for(client.command(bind))


def _create(
    lines: Lines, client: Client010, type: str, name: str, properties: dict[str, Any]
) -> None:
    """Have the broker's management make something; its answer is not waited for."""
    request = {
        "_object_id": {"_object_name": "org.apache.qpid.broker:broker:amqp-broker"},
        "_method_name": "create",
        "_arguments": {"type": type, "name": name, "properties": properties, "strict": True},
    }
    letter = Letter(
        body=infer(request),
        app_id="qmf2",
        reply_to="amq.direct/nobody",
        correlation_id=name,
        properties={
            "method": Typed("string", "request"),
            "qmf.opcode": Typed("string", "_method_request"),
        },
    )
    client.send("qmf.default.direct/broker", letter)
    lines.wait_for(client.query(spec.ExchangeQuery(name="dead")))
