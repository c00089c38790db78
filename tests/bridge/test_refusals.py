"""Limits of what can join a queue, local or at an upstream."""

from support.bridge_world import Consumer, World, condition
from support.remotes import FakeRules

from gateway.bridge.limits import BridgeLimits
from gateway.bridge.queues.subscription import Subscription
from gateway.bridge.seams import SubscribeOptions
from gateway.message import Condition


def test_a_queue_has_no_more_subscriptions_than_the_limit_wherever_it_lives() -> None:
    rules = FakeRules()
    rules.add("far")
    world = World(rules=rules, limits=BridgeLimits(subscriptions_max=2))
    world.queue("near")
    for name in ("near", "far"):
        answers = [
            world.host.subscribing.subscribe(
                name,
                Consumer(),
                world.owner(),
                SubscribeOptions(),
            )
            for _ in range(3)
        ]
        assert condition(answers.pop()) == Condition.RESOURCE_LIMIT_EXCEEDED
        left = answers[0]
        assert isinstance(left, Subscription)
        left.cancel()
        world.subscribe(name)
