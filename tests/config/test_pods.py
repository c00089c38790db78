"""Several gateways behind one address: what each is called, and what may not live in one."""

import pytest

from gateway.config import load, resolved
from gateway.errors import ConfigurationError

UP = 'upstreams={up: {hosts: ["amqp://127.0.0.1"], profile: artemis}}'
ALL = (
    'nodes=[{queue: "*", upstream: up, on_rejected: "queue:dead"},'
    ' {exchange: "*", upstream: up, on_rejected: "queue:dead"}]'
)
GROUP = ("group=orders", UP, ALL)


def problems(*changes: str) -> dict[str, str]:
    with pytest.raises(ConfigurationError) as caught:
        load(None, list(changes))
    return dict(caught.value.problems)


def test_the_first_pod_may_be_the_only_one_and_any_other_is_refused_by_name() -> None:
    load(None, ["pod=gateway-0"])
    load(None, ["pod=gateway"])
    assert problems("pod=gateway-1")["pod"].startswith("gateway-1 is not the only pod")


def test_in_a_group_the_container_id_is_the_group_and_the_number_of_the_pod() -> None:
    settings = load(None, [*GROUP, "pod=release-gateway-12"])
    assert resolved(settings)["upstreams"]["up"]["container_id"] == "orders-12"


def test_a_pod_of_a_group_has_a_number() -> None:
    assert list(problems(*GROUP)) == ["pod"]
    assert list(problems(*GROUP, "pod=gateway")) == ["pod"]


def test_a_group_leaves_no_container_id_to_upstreams() -> None:
    found = problems(*GROUP, "pod=g-0", "upstreams.up.container_id=mine")
    assert list(found) == ["upstreams.up.container_id"]


def test_in_a_group_every_rule_is_remote_and_so_is_what_is_rejected() -> None:
    nodes = (
        'nodes=[{queue: "here", upstream: null}, {queue: "kept", upstream: up, spool: true,'
        ' on_rejected: "queue:dead"}, {queue: "orders", upstream: up},'
        ' {exchange: "lost", upstream: up, on_rejected: drop},'
        ' {queue: "dead", upstream: up, on_rejected: "queue:dead"}]'
    )
    found = problems("group=orders", "pod=g-1", UP, nodes)
    assert {path: text.split(" would")[0] for path, text in found.items() if "would" in text} == {
        "nodes.0.upstream": 'queue "here"',
        "nodes.1.spool": 'queue "kept"',
        "nodes.2.on_rejected": 'what is rejected of queue "orders"',
        "nodes.3.on_rejected": 'what is rejected of exchange "lost"',
    }
    assert len(found) == 4


def test_in_a_group_nothing_that_the_configuration_declares_is_local() -> None:
    declared = (
        "virtual_hosts=[{name: v, queues: [{name: q}, {name: far}],"
        " exchanges: [{name: e, type: topic}], bindings: [{exchange: amq.topic, queue: q}]}]"
    )
    nodes = 'nodes=[{queue: "far", upstream: up, on_rejected: "queue:far"}]'
    found = problems("group=orders", "pod=g-1", UP, nodes, declared)
    assert list(found) == [
        "virtual_hosts.0.queues.0.name",
        "virtual_hosts.0.exchanges.0.name",
        "virtual_hosts.0.bindings.0.exchange",
    ]


def test_a_queue_for_what_is_rejected_is_at_an_upstream() -> None:
    nodes = 'nodes=[{queue: "orders", upstream: up, on_rejected: "queue:dead"}]'
    found = problems(UP, nodes)
    assert list(found) == ["nodes.0.on_rejected"]
    assert '"dead"' in found["nodes.0.on_rejected"]
