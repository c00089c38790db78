"""What of a survey will not work the same behind the gateway.

What is known of arguments, features and rules is known where it is done: `migration.arguments`,
`faces.features`, `permissions.qpidd_rules`. docs/protocols.md says more of each.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from typing import Final

from gateway.bridge.exchanges.exchange import TYPES
from gateway.config.settings import AccessSettings, LimitSettings
from gateway.config.topology import PREDECLARED, field_table
from gateway.faces.arguments.of_exchanges import AskedOfExchange
from gateway.faces.features import EXCHANGES, FEDERATION_PREFIX, Feature
from gateway.migration.arguments import fates_of, known
from gateway.migration.document import Client, Exchange, Finding, Queue, Severity, Survey
from gateway.permissions.qpidd_rules import QpiddRules

AMQP_1_0: Final = "AMQP 1.0"
LEGACY: Final = ("DIGEST-MD5", "CRAM-MD5", "CRAM-MD5-HASHED")
GATEWAY: Final = "amqp-gateway"
BRIDGE_QUEUE: Final = "qpid.bridge_queue_"  # of a broker that takes from here by federation
NAMED_MAX: Final = 5  # of queues that have the same
RANK: Final[dict[str, int]] = {"breaks": 0, "differs": 1, "note": 2}


def findings(survey: Survey) -> list[Finding]:
    """All of them, the worst first."""
    found = [
        *_of_broker(survey),
        *_of_acl(survey),
        *lost_findings(survey),
        *(each for exchange in survey.exchanges for each in of_exchange(exchange)),
        *_of_queues(survey.queues),
        *_of_durable_subscriptions(survey),
        *_of_clients(survey.clients),
    ]
    return sorted(found, key=lambda each: RANK[each.severity])


def lost_findings(survey: Survey) -> list[Finding]:
    """Those of what no configuration brings back."""
    return [*_of_federation(survey), *_of_management(survey), *_of_made_on_demand(survey)]


def _of_made_on_demand(survey: Survey) -> Iterator[Finding]:
    patterns = ", ".join(survey.broker.made_on_demand)
    if patterns:
        what = "are made there when somebody asks for them, here when they are declared"
        yield _found("breaks", f"nodes called {patterns}", what)


def _found(severity: Severity, where: str, what: str) -> Finding:
    return Finding(severity=severity, where=where, what=what)


def _of_broker(survey: Survey) -> Iterator[Finding]:
    broker = survey.broker
    if survey.not_asked:
        yield _found("note", "the survey", f"is not whole: {'; '.join(survey.not_asked)}")
    if broker.prepared:
        what = f"{broker.prepared} branches are prepared: have their managers decide them first"
        yield _found("note", "distributed transactions", what)
    if broker.ha:
        what = f"it is {broker.ha} in a cluster: amq.failover is not there, `elsewhere` tells"
        yield _found("differs", "clients that fail over", f"{what} clients where else to go")
    if broker.connections_per_user or broker.queues_per_user:
        what = "limits of connections or queues of one user: say them by `quota` in an ACL file"
        yield _found("note", "the broker's options", what)
    messages = sum(each.messages for each in survey.queues)
    if messages:
        octets = sum(each.octets for each in survey.queues)
        queues = sum(1 for each in survey.queues if each.messages)
        what = f"{messages} messages in {queues} queues, {octets} octets: they do not move by"
        yield _found("note", "what waits", f"{what} themselves; have them consumed, or moved")


def _of_acl(survey: Survey) -> Iterator[Finding]:
    acl = survey.acl
    if acl is None:
        return
    where = f"access rules {acl.at_broker}".strip()
    if acl.kind != "qpidd":
        what = "are Broker-J's, which the gateway does not read: write them anew (docs/access.md)"
        yield _found("differs", where, what)
    elif acl.text is None:
        what = "are in force and were not given: copy the file, and survey again with --acl FILE"
        yield _found("note", where, what)
    else:
        rules = QpiddRules(acl.text, AccessSettings().qpidd_realm)
        for line, problem in sorted(rules.problems):
            yield _found("breaks", f"{where}, line {line}", f"cannot be kept to: {problem}")
        for line, note in sorted(rules.notes):
            yield _found("note", f"{where}, line {line}", note)


def _of_federation(survey: Survey) -> Iterator[Finding]:
    for link in survey.links:
        what = "federation is not offered: its routes end, and so does what they bring"
        yield _found("breaks", f"link {link.name} to {link.host}:{link.port}", what)
    for bridge in survey.bridges:
        way = f"from {bridge.source} to {bridge.destination}" + (" there" if bridge.push else "")
        what = f"what it brings {way} is to be published where it is wanted"
        yield _found("breaks", f"bridge {bridge.name}", what)
    count = sum(1 for each in survey.queues if each.name.startswith(BRIDGE_QUEUE))
    others = [each for each in survey.clients if each.product != GATEWAY]  # it says that it is one
    if count or any(each.federation for each in others):
        what = f"other brokers take from here by {count} bridges: they get nothing any longer"
        yield _found("breaks", "federation from others", what)


def _of_management(survey: Survey) -> Iterator[Finding]:
    """Who is bound to the exchanges that brokers have for their own ends."""
    for name, feature in EXCHANGES.items():
        queues = {each.queue for each in survey.bindings if each.exchange == name}
        if queues:
            what = f"{len(queues)} queues are bound to it, as {sorted(queues)[0]}: "
            told = "QMF is answered with an exception; `ctl` and the metrics tell of the gateway"
            if feature == Feature.FAILOVER:
                told = "there is none; `elsewhere.NAME.known_hosts` tells clients where to go"
            yield _found("breaks", f"exchange {name}", what + told)


def of_exchange(exchange: Exchange) -> Iterator[Finding]:
    """What is wrong with one."""
    where = f"exchange {exchange.name}"
    if exchange.type not in TYPES:
        yield _found("breaks", where, f"type {exchange.type} is not offered: refused, 404")
        return
    if exchange.name in PREDECLARED or exchange.name in EXCHANGES:
        return
    arguments = known(exchange.arguments)
    for name in AskedOfExchange(field_table(arguments)).ignored(local=True):
        yield _found("differs", where, f"{name}: kept and counted, without effect")


def _of_queues(queues: Iterable[Queue]) -> Iterator[Finding]:
    """What is wrong with them; of many that have the same, once."""
    found: dict[tuple[Severity, str], list[str]] = {}
    for queue in queues:
        if not queue.name.startswith(BRIDGE_QUEUE):
            for problem in of_queue(queue):
                found.setdefault(problem, []).append(queue.name)
    for (severity, what), names in found.items():
        yield _found(severity, f"queue {names[0]}{_others(names)}", what)


def of_queue(queue: Queue) -> Iterator[tuple[Severity, str]]:
    """What is wrong with one."""
    fates = fates_of(queue.arguments)
    if fates.refused:
        yield "breaks", f"a declare with these arguments is refused: {fates.refused}"
    if queue.alternate_queue:
        yield "differs", "its alternate is a queue; here it is an exchange, to which that is bound"
    for name, why in fates.without_effect.items():
        yield "differs", f"{name}: kept and counted, without effect; {why}"


def _others(names: list[str]) -> str:
    more = len(names) - NAMED_MAX
    told = "".join(f", {name}" for name in names[1:NAMED_MAX])
    return told if more <= 0 else f"{told} and {more} others"


def is_durable_subscription(queue: Queue) -> bool:
    """Whether it is one client's, and stays when that is away: as JMS has durable subscriptions."""
    return queue.durable and queue.exclusive and not queue.auto_delete


def _of_durable_subscriptions(survey: Survey) -> Iterator[Finding]:
    names = [each.name for each in survey.queues if is_durable_subscription(each)]
    if names:
        what = f"{len(names)} queues are durable and exclusive, as {names[0]}: each client makes"
        then = "its own at the gateway; have it connect there once before publishers move"
        yield _found("note", "durable subscriptions", f"{what} {then}")


def _of_clients(clients: Iterable[Client]) -> Iterator[Finding]:
    counted = Counter(
        (_product(each), each.protocol or "AMQP 0-10") for each in clients if not each.federation
    )
    for (product, protocol), count in counted.most_common():
        yield _found("note", "clients", f"{count} of {product}, by {protocol}")
    mechanisms = Counter(each.mechanism for each in clients)
    for mechanism, count in mechanisms.items():
        what = ""
        if mechanism in LEGACY:
            what = f"{count} clients: name it in `legacy_mechanisms`, and make its verifiers"
        elif mechanism == "GSSAPI":
            what = f"{count} clients: set `gssapi`, with a keytab for the gateway's host"
        elif mechanism == "EXTERNAL":
            what = f"{count} clients with certificates: set `tls.client_ca`"
        if what:
            yield _found("note", f"logins by {mechanism}", what)
    most = LimitSettings().session_timeout // 1000
    long = [each.detached_lifespan_s for each in clients if each.detached_lifespan_s > most]
    if long:
        what = f"{len(long)} clients have sessions outlive them for up to {max(long)} s:"
        yield _found("differs", "sessions", f"{what} `limits.session_timeout` grants {most} s")


def _product(client: Client) -> str:
    told = f"{client.product} {client.version}".strip()
    if told and client.process:
        return f"{told} ({client.process})"
    return told or client.process or "a client that does not say what it is"


def is_federated(arguments: Iterable[str]) -> bool:
    """Whether a binding is one of federation, by the names of its arguments."""
    return any(name.startswith(FEDERATION_PREFIX) for name in arguments)
