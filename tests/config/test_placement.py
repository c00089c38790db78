"""The first rule that fits a name says where it lives, and by what address."""

import pytest

from gateway.bridge.remote.remote import OnRejected
from gateway.config.placement import NodeRule, Rules, matches, rules_of
from gateway.config.upstreams import NodeSection
from gateway.translate.profiles.profile import Profile
from gateway.translate.profiles.templates import Template, Wildcards


def rules(*nodes: dict[str, object]) -> Rules:
    profiles = {"up": Profile(queue_created=Template("made/{queue}"))}
    return rules_of([NodeSection.model_validate(node) for node in nodes], profiles)


@pytest.mark.parametrize(
    ("pattern", "fitting", "not_fitting"),
    [
        ("orders", ["orders"], ["order", "orders.", "xorders", ""]),
        ("orders.*", ["orders.", "orders.eu.1"], ["orders", "x.orders.1"]),
        ("*", ["", "a", "a\nb"], []),
        ("*.dlq", [".dlq", "a.dlq"], ["dlq", "a.dlq.b"]),
        ("a*b*c", ["abc", "a-b-c", "abcbc"], ["ac", "acb", "ab", "bc"]),
        ("a*a", ["aa", "aba"], ["a"]),
        ("*a*a*", ["aa", "xaya"], ["a", "xay"]),
        ("a.b?[c]", ["a.b?[c]"], ["axb?c"]),
    ],
)
def test_an_asterisk_is_any_run_of_characters(
    pattern: str, fitting: list[str], not_fitting: list[str]
) -> None:
    assert [name for name in fitting if not matches(pattern, name)] == []
    assert [name for name in not_fitting if matches(pattern, name)] == []


def test_the_first_rule_that_fits_decides() -> None:
    made = rules(
        {"queue": "orders.local", "upstream": None},
        {"queue": "orders.*", "upstream": "artemis", "spool": True, "on_rejected": "drop"},
        {"queue": "*", "upstream": "rabbit", "virtual_host": "second", "max_redeliveries": 3},
        {"exchange": "amq.topic", "upstream": "artemis"},
    )
    assert made.queue("first", "orders.local") is None
    found = made.queue("first", "orders.eu")
    assert found is not None
    assert (found.number, found.upstream, found.spool) == (1, "artemis", True)
    assert found.on_rejected == OnRejected.DROP
    assert made.queue("first", "amq.topic") is None
    other = made.queue("second", "amq.topic")
    assert other is not None
    assert (other.upstream, other.max_redeliveries) == ("rabbit", 3)
    exchange = made.exchange("first", "amq.topic")
    assert exchange is not None
    assert exchange.kind == "exchange"
    assert made.exchange("first", "amq.direct") is None


def test_the_queue_of_dead_letters_and_the_default_exchange_live_here() -> None:
    made = rules({"queue": "*", "upstream": "up"}, {"exchange": "*", "upstream": "up"})
    assert made.queue("h", "gateway.rejected") is None
    assert made.queue("h", "gateway.rejected.2") is not None
    assert made.exchange("h", "") is None


def test_nodes_that_are_named_one_by_one_are_listed_where_their_rule_decides() -> None:
    made = rules(
        {"queue": "a", "upstream": "up"},
        {"queue": "b", "upstream": "up", "virtual_host": "second"},
        {"queue": "c", "upstream": None},
        {"queue": "d*", "upstream": None},
        {"queue": "d1", "upstream": "up"},
        {"queue": "e*", "upstream": "up"},
        {"exchange": "x", "upstream": "up"},
    )
    assert made.exact_queues("first") == ["a"]
    assert made.exact_queues("second") == ["a", "b"]


def test_a_rule_may_give_addresses_of_its_own() -> None:
    made = rules(
        {"queue": "orders", "upstream": "up", "address": "shop/orders"},
        {"queue": "new.*", "upstream": "up", "create": True},
        {"queue": "*", "upstream": "up"},
        {
            "exchange": "amq.topic",
            "upstream": "up",
            "address": "{key|percent}",
            "subscription": "{key|percent}::{name}",
        },
        {"exchange": "x", "upstream": "up", "address": "{exchange|word}.{key|percent}"},
        {"exchange": "y", "upstream": "up"},
    )
    assert made.queue_address("h", "orders") == "shop/orders"
    assert made.queue_address("h", "new.1") == "made/new.1"
    assert made.queue_address("h", "other") is None
    assert made.exchange_address("h", "amq.topic", "a.b") == "a.b"
    assert made.exchange_address("h", "y", "a") is None
    assert made.exchange_address("h", "z", "a") is None
    topic = Wildcards("*", ">")
    first = made.subscription_address("h", "amq.topic", "a.#", name="q", wildcards=topic)
    assert first == "a.>::q"
    assert made.subscription_address("h", "x", "a.#", wildcards=None) == "x.a.%23"
    assert made.subscription_address("h", "y", "a.#", wildcards=None) is None


def test_what_is_remembered_is_bounded() -> None:
    made = Rules([NodeRule(0, "queue", "a*", None, "up")], remembered_max=3)
    for name in ("a1", "b", "a2", "a3", "a1", "b"):
        assert (made.queue("h", name) is not None) == name.startswith("a")
        assert len(made._remembered) <= 3


def test_a_queue_has_the_shadow_that_its_rule_says_wherever_it_lives() -> None:
    made = rules(
        {"queue": "here.*", "upstream": None, "shadow": {"upstream": "new"}},
        {"queue": "*", "upstream": "old", "shadow": {"upstream": "new", "queue": "trial.{queue}"}},
        {"exchange": "x", "upstream": "old"},
    )
    assert made.queue("", "here.1") is None
    assert made.shadow_name("", "here.1") == "here.1.shadow"
    assert made.shadow_name("", "far") == "trial.far"
    found = made.shadow("", "far")
    assert found is not None
    assert found.shadow is not None
    assert (found.shadow.upstream, found.shadow.share) == ("new", 1.0)
    assert made.shadow("", "gateway.rejected") is None
    assert rules({"queue": "q", "upstream": None}).shadow_name("", "q") is None
