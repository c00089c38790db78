"""Names of a virtual host as the translation asks for them."""

from support.face_1_0 import House
from support.remotes import FakeRules

from gateway.faces.host_nodes import HostNodes
from gateway.translate.addresses import Capability, resolve


def house_with(*patterns):
    rules = FakeRules()
    for pattern in patterns:
        rules.add_exchange(pattern)
    return House(rules=rules)


def names(house, address):
    node = resolve(address, Capability.ANY, HostNodes(house.host))
    return node and (node.exchange, node.key)


def test_a_rule_with_wildcards_knows_an_exchange_and_not_its_keys():
    house = house_with("topic-*")
    assert names(house, "topic-news/uk") == ("topic-news", "uk")
    assert names(house, "topic-news/uk/london") == ("topic-news", "uk/london")
    assert names(house, "topic-news") == ("topic-news", None)
    assert "topic-news/uk" not in house.host.topology.exchanges
    assert names(house, "other/uk") is None


def test_an_exchange_that_was_declared_with_a_slash_in_its_name_keeps_it():
    house = house_with("topic-*")
    house.host.declaring.declare_exchange("topic-news/uk", "topic")
    assert names(house, "topic-news/uk") == ("topic-news/uk", None)
    assert names(house, "topic-news/fr") == ("topic-news", "fr")


def test_a_slash_belongs_to_a_name_where_nothing_is_an_exchange_before_it():
    house = house_with("news/*")
    assert names(house, "news/uk") == ("news/uk", None)
