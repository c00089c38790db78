"""What nodes are called at an upstream: by the rules, else by the profile."""

import pytest
from support.upstream_world import UpstreamWorld

from gateway.bridge.remote.remote import Target
from gateway.translate.profiles.loading import load_profile
from gateway.translate.profiles.profile import Profile


class Rules:
    """Addresses of some nodes."""

    def creates(self, host, queue):
        return queue == "made"

    def queue_address(self, host, queue):
        return "elsewhere" if queue == "q" else None

    def exchange_address(self, host, exchange, key):
        return f"topic/{key}" if exchange == "x" else None

    def subscription_address(self, host, exchange, key, *, name, wildcards):
        return f"sub/{key}/{name}" if exchange == "x" else None

    def shadow_name(self, host, queue):
        return f"{queue}.shadow" if queue == "n" else None


def test_a_rules_address_goes_before_the_profiles():
    addresses = UpstreamWorld(rules=Rules()).upstream.context.addresses
    assert addresses.queue_address("/", "q") == "elsewhere"
    assert addresses.queue_address("/", "r") == "r"
    assert addresses.exchange_address("/", "x", "k") == "topic/k"
    assert addresses.subscription_address("/", "x", "k", "q") == "sub/k/q"


def test_only_queues_of_a_rule_that_creates_are_made_and_only_by_management():
    managed = UpstreamWorld(
        profile=load_profile("rabbitmq4"), rules=Rules()
    ).upstream.context.addresses
    assert managed.managed_name("/", "r") == "r"
    assert (managed.made_name("/", "made"), managed.made_name("/", "r")) == ("made", "")
    plain = UpstreamWorld(profile=Profile(), rules=Rules()).upstream.context.addresses
    assert (plain.managed_name("/", "r"), plain.made_name("/", "made")) == ("", "")


@pytest.mark.parametrize(
    ("target", "one", "address"),
    [
        (Target.QUEUE, "n", "n"),
        (Target.EXCHANGE, None, "topic/k"),
        (Target.ADDRESS, None, "k"),
        (Target.SHADOW, "n.shadow", "n.shadow"),
    ],
)
def test_a_message_goes_where_the_queue_in_front_stands_for(target, one, address):
    at = UpstreamWorld(rules=Rules())
    addresses = at.upstream.context.addresses
    name = "x" if target == Target.EXCHANGE else "n"
    at.world.queue(name)
    queue = at.host.topology.find_queue(name)
    queue.target = target
    assert addresses.queue_target(queue) == one
    assert addresses.target_of(queue, at.world.message(b"1", key="k")) == address
