"""Profiles are data: each is read whole, and each problem of a file is told."""

import pathlib

import pytest

from gateway.errors import ConfigurationError
from gateway.translate.profiles.loading import (
    ATTRIBUTES,
    attributes,
    default_of,
    load_profile,
    names,
)
from gateway.translate.profiles.profile import Profile


def problems(tmp_path: pathlib.Path, text: str) -> dict[str, str]:
    (tmp_path / "own.yaml").write_text(text)
    with pytest.raises(ConfigurationError) as caught:
        load_profile("own.yaml", tmp_path)
    return dict(caught.value.problems)


def test_the_table_describes_every_attribute() -> None:
    profile = Profile()
    attributes = {name for name in dir(profile) if not name.startswith("_")}
    made = {name for name in attributes if not callable(getattr(profile, name))}
    assert set(ATTRIBUTES) == made - {"name"}
    for name, attribute in ATTRIBUTES.items():
        assert attribute.help.endswith("."), name


def test_every_attribute_can_be_listed() -> None:
    listed = {name: rest for name, *rest in attributes()}
    assert set(listed) == {"like", *ATTRIBUTES}
    assert listed["queue"] == ["template", "{queue}", ATTRIBUTES["queue"].help]
    assert listed["selector"][:2] == ["flag", "false"]
    assert listed["browse"][0] == "copy or none"
    assert listed["exchange"][1] == ""


def test_every_profile_of_the_gateway_is_one() -> None:
    assert set(names()) == {
        "activemq", "amazon-mq", "artemis", "azure-service-bus", "generic", "qpid-0-10",
        "qpid-broker-j",
        "rabbitmq310", "rabbitmq4",
    }  # fmt: skip
    for name in names():
        profile = load_profile(name)
        assert profile.name == name
        assert profile.about
        assert profile.queue_address("orders")


@pytest.mark.parametrize(
    ("name", "queue", "keyed", "fanout"),
    [
        ("artemis", "a.b", "amq%2Etopic.k.l", "amq%2Efanout"),
        ("activemq", "a.b", "topic://amq%2Etopic.k.l", "topic://amq%2Efanout"),
        ("rabbitmq4", "/queues/a.b", "/exchanges/amq.topic/k.l", "/exchanges/amq.fanout"),
        ("qpid-broker-j", "a.b", "amq.topic/k.l", "amq.fanout"),
        ("azure-service-bus", "a.b", "amq.topic", "amq.fanout"),
    ],
)
def test_a_profile_says_where_to_send(name: str, queue: str, keyed: str, fanout: str) -> None:
    profile = load_profile(name)
    assert profile.queue_address("a.b") == queue
    assert profile.exchange_address("amq.topic", "k.l") == keyed
    assert profile.exchange_address("amq.fanout", "k.l", keyed=False) == fanout


def test_a_profile_says_where_a_binding_subscribes() -> None:
    activemq = load_profile("activemq")
    assert activemq.subscription_address("x", "a.#") == "topic://x.a.>"
    assert activemq.subscription_address("x", "#.a") == ""
    assert activemq.subscription_address("x", "#.a", kind="direct") == "topic://x.%23.a"
    assert activemq.subscription_address("x", "k", kind="fanout") == "topic://x"
    bus = load_profile("azure-service-bus")
    assert bus.subscription_address("x", "k", name="q") == "x/Subscriptions/q"
    assert Profile().subscription_address("x", "k") == ""
    assert Profile().exchange_address("x", "k") == ""


def test_what_a_file_leaves_out_is_as_in_the_profile_that_it_is_like(
    tmp_path: pathlib.Path,
) -> None:
    text = "like: artemis\ndurable_subscription: '{key|percent}::{name}'\n"
    (tmp_path / "own.yaml").write_text(text)
    profile = load_profile(str(tmp_path / "own.yaml"))
    assert profile.name == "own"
    assert profile.transactions
    assert profile.subscription_address("x", "k", name="q", durable=True) == "k::q"
    assert profile.subscription_address("x", "k", name="q") == "x.k"


def test_what_a_file_does_not_say_has_the_default(tmp_path: pathlib.Path) -> None:
    (tmp_path / "own.yaml").write_text("")
    profile = load_profile("own.yaml", tmp_path)
    for name in ATTRIBUTES:
        value = getattr(profile, name)
        if name == "queue":
            value = value.text
        assert (value or None) == (default_of(name) or None), name


def test_every_problem_of_a_file_is_told_with_its_attribute(tmp_path: pathlib.Path) -> None:
    found = problems(
        tmp_path,
        """
colour: blue
queue: "{queue}{key}"
exchange: 5
selector: 1
browse: move
queue_capabilities: queue
wildcards: {one: 1, colour: blue, any_last_only: 1}
""",
    )
    assert set(found) == {
        "colour", "queue", "exchange", "selector", "browse", "queue_capabilities",
        "wildcards.one", "wildcards.colour", "wildcards.any_last_only",
    }  # fmt: skip
    assert "mapping" in problems(tmp_path, "wildcards: 5")["wildcards"]


def test_templates_must_go_together(tmp_path: pathlib.Path) -> None:
    assert problems(tmp_path, "exchange: '{exchange|plain}/{key}'") == {
        "exchange": "may make the address of a queue: give them different capabilities"
    }
    found = problems(
        tmp_path,
        """
queue: /queues/all
exchange: /exchanges/{key}/{name}
fanout: /exchanges/{exchange}
""".replace("{key}/", "{key|plain}/"),
    )
    assert set(found) == {"queue", "exchange", "fanout"}


def test_attributes_must_go_together(tmp_path: pathlib.Path) -> None:
    assert "subscriptions" in problems(tmp_path, "subscriptions: address")
    assert "queue_created" in problems(tmp_path, "queue_created: made/{name}")
    assert "keys_in" in problems(tmp_path, "keys_in: to")


def test_what_is_no_profile_is_told(tmp_path: pathlib.Path) -> None:
    with pytest.raises(ConfigurationError, match='no profile "qpidd"'):
        load_profile("qpidd")
    with pytest.raises(ConfigurationError, match="cannot read"):
        load_profile("none.yaml", tmp_path)
    assert "" in problems(tmp_path, "{")
    assert "" in problems(tmp_path, "[1]")
    assert "like" in problems(tmp_path, "like: own.yaml")
    assert "" in problems(tmp_path, "like: nobody")
