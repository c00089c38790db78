"""Which exchanges, queues and bindings of an old broker stand in the configuration."""

from __future__ import annotations

from typing import Any

from gateway.migration.document import Binding, Broker, Exchange, Queue, Survey
from gateway.migration.planned_nodes import (
    PlannedNodes,
    binding_entry_of,
    entry_of,
    planned_nodes,
    queue_entry_of,
)


def planned(**what: Any) -> PlannedNodes:
    return planned_nodes(Survey(broker=Broker(address="old:5672"), **what))


def names(nodes: PlannedNodes) -> list[str]:
    return [each.name for each in nodes.queues]


def test_a_queue_keeps_what_has_an_effect_and_what_has_none_is_told() -> None:
    arguments = {"qpid.max_count": 5, "x-qpid-description": "d"}
    nodes = planned(queues=[Queue(name="q", durable=True, arguments=arguments)])
    [queue] = nodes.queues
    assert queue_entry_of(queue, remote=False) == {
        "name": "q",
        "arguments": {"qpid.max_count": 5},
    }
    assert queue_entry_of(queue, remote=True) == {"name": "q"}
    assert "x-qpid-description" in nodes.told[0]
    assert nodes.left == []


def test_a_transient_queue_is_transient_where_it_is_local() -> None:
    [queue] = planned(queues=[Queue(name="q")]).queues
    assert queue_entry_of(queue, remote=False) == {"name": "q", "durable": False}
    assert queue_entry_of(queue, remote=True) == {"name": "q"}


def test_what_clients_make_for_themselves_is_not_planned() -> None:
    queues = [
        Queue(name="reply", exclusive=True, auto_delete=True),
        Queue(name="shared", auto_delete=True),
        Queue(name="qpid.bridge_queue_1", auto_delete=True),
    ]
    nodes = planned(queues=queues)
    assert names(nodes) == []
    assert nodes.told == ["2 queues go with their clients, which make them: reply, shared"]


def test_a_durable_subscription_is_not_planned_also_while_its_client_is_away() -> None:
    queues = [
        Queue(name="here", durable=True, exclusive=True),
        Queue(name="app:news", durable=True),
        Queue(name="a:queue", durable=True),
    ]
    bindings = [Binding(exchange="amq.topic", queue="app:news", key="news")]
    nodes = planned(queues=queues, bindings=bindings)
    assert names(nodes) == ["a:queue"]
    assert nodes.bindings == []
    assert nodes.told[0].startswith("2 durable subscriptions")
    assert nodes.told[0].endswith(": here, app:news")


def test_a_queue_whose_declare_would_be_refused_is_left() -> None:
    wrong = {"qpid.priorities": 5, "qpid.last_value_queue_key": "k"}
    nodes = planned(queues=[Queue(name="q", arguments=wrong)])
    assert nodes.left == ["queue q: last values do not go with priorities"]


def test_an_exchange_stands_behind_its_alternate() -> None:
    exchanges = [
        Exchange(name="a", type="topic", durable=True, alternate_exchange="b"),
        Exchange(name="b", type="direct", durable=True, alternate_exchange="c"),
        Exchange(name="c", type="fanout", durable=True),
    ]
    nodes = planned(exchanges=exchanges)
    assert [each.name for each in nodes.exchanges] == ["c", "b", "a"]
    assert entry_of(nodes.exchanges[1]) == {
        "name": "b",
        "type": "direct",
        "alternate_exchange": "c",
    }


def test_an_alternate_that_is_not_there_is_left_out_and_told() -> None:
    exchanges = [Exchange(name="a", type="topic", alternate_exchange="x")]
    queues = [Queue(name="q", alternate_exchange="x")]
    nodes = planned(exchanges=exchanges, queues=queues)
    assert nodes.exchanges[0].alternate_exchange == ""
    assert nodes.queues[0].queue.alternate_exchange == ""
    assert nodes.left == [
        "exchange a: its alternate x is not planned",
        "queue q: its alternate x is not planned",
    ]


def test_an_exchange_of_a_type_or_a_name_that_is_not_offered_is_left_with_its_bindings() -> None:
    exchanges = [
        Exchange(name="x", type="xml"),
        Exchange(name="qpid.own", type="direct"),
        Exchange(name="gone", type="direct", auto_delete=True),
        Exchange(name="amq.direct", type="direct"),
        Exchange(name="qmf.default.topic", type="topic"),
    ]
    bindings = [Binding(exchange="x", queue="q", key="k")]
    nodes = planned(exchanges=exchanges, queues=[Queue(name="q")], bindings=bindings)
    assert nodes.exchanges == []
    assert nodes.left == [
        "exchange x: the type xml is not offered",
        "exchange qpid.own: its name is reserved",
        "binding of q to x by 'k': its exchange is not planned",
    ]


def test_marks_of_an_exchange_are_kept_and_what_has_no_effect_is_not() -> None:
    arguments = {"qpid.ive": 1, "other": 1}
    [made] = planned(exchanges=[Exchange(name="x", type="direct", arguments=arguments)]).exchanges
    assert entry_of(made)["arguments"] == {"qpid.ive": 1}


def test_bindings_keep_their_keys_headers_and_selectors() -> None:
    headers = {"x-match": "any", "level": 9}
    bindings = [
        Binding(exchange="amq.match", queue="q", key="k", arguments=headers),
        Binding(exchange="amq.fanout", queue="q"),
    ]
    nodes = planned(queues=[Queue(name="q")], bindings=bindings)
    assert [binding_entry_of(each) for each in nodes.bindings] == [
        {"exchange": "amq.match", "queue": "q", "key": "k", "arguments": headers},
        {"exchange": "amq.fanout", "queue": "q"},
    ]


def test_a_binding_that_cannot_be_made_is_left() -> None:
    bindings = [
        Binding(exchange="amq.match", queue="q", key="none", arguments={"level": 9}),
        Binding(exchange="amq.topic", queue="q", key="f", arguments={"qpid.fed.op": "B"}),
        Binding(exchange="amq.match", queue="q", key="deep", arguments={"x-match": "all", "a": []}),
        Binding(exchange="amq.topic", queue="q", key="s", arguments={"x-apache-selector": "a ="}),
    ]
    nodes = planned(queues=[Queue(name="q")], bindings=bindings)
    assert nodes.bindings == []
    assert nodes.left.pop().startswith("binding of q to amq.topic by 's': ")
    assert nodes.left == [
        "binding of q to amq.match by 'none': it says neither x-match=all nor x-match=any",
        "binding of q to amq.topic by 'f': it is one of federation",
        "binding of q to amq.match by 'deep': an argument is neither a number nor a text, true nor"
        " false",
    ]


def test_a_queue_that_is_an_alternate_has_an_exchange_in_front_of_it() -> None:
    queues = [
        Queue(name="a", durable=True, alternate_queue="dead"),
        Queue(name="b", durable=True, alternate_queue="dead"),
        Queue(name="c", durable=True, alternate_queue="gone"),
        Queue(name="dead", durable=True),
    ]
    nodes = planned(queues=queues)
    assert [entry_of(each) for each in nodes.exchanges] == [
        {"name": "alternate.dead", "type": "fanout"}
    ]
    assert [binding_entry_of(each) for each in nodes.bindings] == [
        {"exchange": "alternate.dead", "queue": "dead"}
    ]
    alternates = [each.queue.alternate_exchange for each in nodes.queues]
    assert alternates == ["alternate.dead", "alternate.dead", "", ""]
    assert nodes.left == ["queue c: its alternate gone is not planned"]
