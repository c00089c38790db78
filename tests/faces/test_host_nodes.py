"""Names of a virtual host as the translation asks for them."""

from support.face_1_0 import Hub
from support.remotes import FakeRules

from gateway.faces.host_nodes import HostNodes
from gateway.translate.addresses import Capability, resolve


def hub_with(*patterns):
    rules = FakeRules()
    for pattern in patterns:
        rules.add_exchange(pattern)
    return Hub(rules=rules)


def names(hub, address):
    node = resolve(address, Capability.ANY, HostNodes(hub.host))
    return node and (node.exchange, node.key)


def test_a_rule_with_wildcards_knows_an_exchange_and_not_its_keys():
    hub = hub_with("topic-*")
    assert names(hub, "topic-news/uk") == ("topic-news", "uk")
    assert names(hub, "topic-news/uk/london") == ("topic-news", "uk/london")
    assert names(hub, "topic-news") == ("topic-news", None)
    assert "topic-news/uk" not in hub.host.topology.exchanges
    assert names(hub, "other/uk") is None


def test_an_exchange_that_was_declared_with_a_slash_in_its_name_keeps_it():
    hub = hub_with("topic-*")
    hub.host.declaring.declare_exchange("topic-news/uk", "topic")
    assert names(hub, "topic-news/uk") == ("topic-news/uk", None)
    assert names(hub, "topic-news/fr") == ("topic-news", "fr")


def test_a_slash_belongs_to_a_name_where_nothing_is_an_exchange_before_it():
    hub = hub_with("news/*")
    assert names(hub, "news/uk") == ("news/uk", None)
