"""What a Broker-J says of itself by its REST, as a survey.

Its attributes are told by the arguments of 0-10 that would make the same; those that no argument
makes stand among the arguments by their own names, so that they are found to be unknown.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

from gateway.migration.document import (
    Acl,
    Binding,
    Broker,
    Client,
    Exchange,
    Queue,
    Subscription,
    Survey,
)

Values = dict[str, Any]  # Any: what JSON holds
Told = dict[str, list[Values]]  # by `PARTS`

# What is asked for, below the URL of the API; HOST is the virtual host, behind its node.
NODES: Final = "virtualhostnode?depth=1&actuals=true"
PARTS: Final = {
    "broker": "broker?depth=0",
    "queue": "queue/HOST?depth=1&actuals=true",
    "exchange": "exchange/HOST?depth=0",
    "connection": "connection?depth=0",
    "rules": "accesscontrolprovider?depth=0",
    "rules_of_host": "virtualhostaccesscontrolprovider?depth=0",
}
ARGUMENTS: Final = {
    "maximumQueueDepthMessages": "qpid.max_count",
    "maximumQueueDepthBytes": "qpid.max_size",
    "priorities": "qpid.priorities",
    "lvqKey": "qpid.last_value_queue_key",
    "sortKey": "qpid.queue_sort_key",
    "messageGroupKeyOverride": "qpid.group_header_key",
    "messageGroupDefaultGroup": "qpid.default-message-group",
    "maximumDeliveryAttempts": "x-qpid-maximum-delivery-count",
    "ensureNondestructiveConsumers": "qpid.ensure_nondestructive_consumers",
    "noLocal": "no-local",
    "alertThresholdQueueDepthMessages": "qpid.alert_count",
    "alertThresholdQueueDepthBytes": "qpid.alert_size",
    "alertThresholdMessageAge": "x-qpid-maximum-message-age",
    "defaultFilters": "qpid.default_filters",
    "messageDurability": "qpid.message_durability",
    "description": "x-qpid-description",
}
# Attributes that are told otherwise, or say nothing of how a queue behaves.
ELSEWHERE: Final = frozenset(
    (
        *("id", "name", "type", "durable", "exclusive", "lifetimePolicy", "alternateBinding"),
        *("overflowPolicy", "messageGroupType", "alertRepeatGap", "statistics", "consumers"),
        *("lastUpdatedBy", "lastUpdatedTime", "createdBy", "createdTime", "lastOpenedTime"),
        *("desiredState", "state", "context"),
    )
)
POLICIES: Final = {"RING": "ring", "REJECT": "reject", "FLOW_TO_DISK": "flow_to_disk"}
WAITING: Final = "PRODUCER_FLOW_CONTROL"
RESUME_PERCENT: Final = 80  # as it has it where nothing is configured
LIMITS: Final = {"qpid.max_count": "count", "qpid.max_size": "size"}
GROUP_KEY: Final = "JMSXGroupID"
PROTOCOLS: Final = {"AMQP_0_10": "AMQP 0-10", "AMQP_1_0": "AMQP 1.0"}


def host_of(nodes: list[Values], name: str) -> str:
    """NODE/HOST of the virtual host of that name, or of the default one; "" if there is none."""
    hosts = [(node, host["name"]) for node in nodes for host in node.get("virtualhosts", [])]
    if name:
        chosen = [each for each in hosts if each[1] == name]
    else:
        chosen = [each for each in hosts if str(each[0].get("defaultVirtualHostNode")) == "true"]
        chosen = chosen or (hosts if len(hosts) == 1 else [])
    return f"{chosen[0][0]['name']}/{chosen[0][1]}" if chosen else ""


def survey_of(told: Told, nodes: list[Values], host: str, address: str) -> Survey:
    """What it says of one virtual host, NODE/HOST."""
    node, _, name = host.partition("/")
    broker = next(iter(told["broker"]), {})
    exchanges = {each["name"] for each in told["exchange"]}
    connections = {_number(each): each for each in told["connection"]}
    return Survey(
        broker=Broker(
            address=address,
            asked=["REST"],
            product="qpid-broker-j",
            version=str(broker.get("productVersion", "")),
            virtual_host=name,
            made_on_demand=[*_patterns(nodes, node)],
        ),
        exchanges=[_exchange(each, exchanges) for each in told["exchange"]],
        queues=[_queue(each, exchanges) for each in told["queue"]],
        bindings=[
            Binding(
                exchange=exchange["name"],
                queue=each["destination"],
                key=each.get("bindingKey") or "",
                arguments=each.get("arguments") or {},
            )
            for exchange in told["exchange"]
            for each in exchange.get("bindings") or []
        ],
        subscriptions=[
            _subscription(queue, each, connections)
            for queue in told["queue"]
            for each in queue.get("consumers") or []
        ],
        clients=[_client(each) for each in told["connection"]],
        acl=_rules(told),
    )


def _patterns(nodes: list[Values], node: str) -> Iterator[str]:
    """The names of nodes that it makes when somebody asks for them."""
    for each in nodes:
        for host in each.get("virtualhosts", []) if each["name"] == node else []:
            for policy in host.get("nodeAutoCreationPolicies") or []:
                yield str(policy.get("pattern", ""))


def _alternate(values: Values) -> str:
    binding: Values = values.get("alternateBinding") or {}
    return str(binding.get("destination", ""))


def _exchange(values: Values, exchanges: set[str]) -> Exchange:
    alternate = _alternate(values)
    return Exchange(
        name=values["name"],
        type=values["type"],
        durable=bool(values.get("durable")),
        auto_delete=values.get("lifetimePolicy", "PERMANENT") != "PERMANENT",
        alternate_exchange=alternate if alternate in exchanges else "",
    )


def _queue(values: Values, exchanges: set[str]) -> Queue:
    alternate = _alternate(values)
    statistics: Values = values.get("statistics") or {}
    return Queue(
        name=values["name"],
        durable=bool(values.get("durable")),
        auto_delete=values.get("lifetimePolicy", "PERMANENT") != "PERMANENT",
        exclusive=values.get("exclusive", "NONE") != "NONE",
        alternate_exchange=alternate if alternate in exchanges else "",
        alternate_queue="" if alternate in exchanges else alternate,
        arguments=_arguments(values),
        messages=int(statistics.get("queueDepthMessages", 0)),
        octets=int(statistics.get("queueDepthBytes", 0)),
    )


def _arguments(values: Values) -> Values:
    """By which arguments of 0-10 a queue would be made that does the same."""
    found = {
        ARGUMENTS.get(name, name): value
        for name, value in values.items()
        if name not in ELSEWHERE and value not in (None, "") and value != -1
    }
    policy = values.get("overflowPolicy")
    if policy in POLICIES:
        found["qpid.policy_type"] = POLICIES[policy]
    elif policy == WAITING:  # it takes what comes, and publishers wait
        for limit, what in LIMITS.items():
            if limit in found:
                stop = int(found.pop(limit))
                found[f"qpid.flow_stop_{what}"] = stop
                found[f"qpid.flow_resume_{what}"] = stop * RESUME_PERCENT // 100
    if values.get("messageGroupType", "NONE") != "NONE":
        found.setdefault("qpid.group_header_key", GROUP_KEY)
        if values["messageGroupType"] == "SHARED_GROUPS":
            found["qpid.shared_msg_group"] = 1
    if values.get("alertRepeatGap"):
        found["qpid.alert_repeat_gap"] = int(values["alertRepeatGap"]) // 1000
    return found


def _number(connection: Values) -> str:
    """That of a connection, as its name begins with: [7] 10.0.0.1:41010."""
    return str(connection["name"]).partition("]")[0].removeprefix("[")


def _subscription(queue: Values, values: Values, connections: dict[str, Values]) -> Subscription:
    number = str(values["name"]).partition("|")[0]  # of its connection
    client = connections.get(number, {})
    selector = values.get("selector")
    return Subscription(
        queue=queue["name"],
        client=str(client.get("name", "")),
        browse=values.get("distributionMode") == "COPY",
        exclusive=bool(values.get("exclusive")),
        arguments={"x-filter-jms-selector": selector} if selector else {},
    )


def _client(values: Values) -> Client:
    statistics: Values = values.get("statistics") or {}
    protocol = str(values.get("protocol", ""))
    return Client(
        address=values["name"],
        user=str(values.get("principal", "")),
        protocol=PROTOCOLS.get(protocol, protocol),
        product=str(values.get("clientProduct") or ""),
        version=str(values.get("clientVersion") or ""),
        process=str(values.get("remoteProcessName") or ""),
        transactions=bool(statistics.get("localTransactionBegins")),
    )


def _rules(told: Told) -> Acl | None:
    found = [*told["rules"], *told["rules_of_host"]]
    names = [str(each.get("path") or each["name"]) for each in found]
    return Acl(at_broker=", ".join(names), kind="broker-j") if names else None
