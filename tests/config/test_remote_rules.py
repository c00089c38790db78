"""Upstreams and node rules: every problem at once, and what they come to."""

import pathlib

import pytest
import yaml

from gateway.config import load, notes, resolved
from gateway.errors import ConfigurationError


def problems(*changes: str) -> dict[str, str]:
    with pytest.raises(ConfigurationError) as caught:
        load(None, list(changes))
    return dict(caught.value.problems)


def upstream(**keys: object) -> str:
    given = {"hosts": ["amqp://127.0.0.1"], **keys}
    return "upstreams.up=" + yaml.safe_dump(given, default_flow_style=True)


def nodes(*given: dict[str, object]) -> str:
    return "nodes=" + yaml.safe_dump(list(given), default_flow_style=True)


@pytest.fixture
def secret(tmp_path: pathlib.Path) -> str:
    file = tmp_path / "secret"
    file.write_text("x")
    return str(file)


def test_every_problem_of_upstreams_and_nodes_is_told_at_once(tmp_path: pathlib.Path) -> None:
    file = tmp_path / "gateway.yaml"
    file.write_text("""
upstreams:
  one:
    hosts: ["amqp://user:pw@broker", "amqp://broker"]
    profile: qpidd
    username: a
    colour: blue
    back_off: {initial: 5m, maximum: 1s}
  two:
    hosts: ["amqp://broker", "amqp://broker"]
    profile: none.yaml
    mechanisms: [PLAIN]
    tls: {ca: none.pem, certificate: none.pem}
    password_file: none
    password_env: NO_SUCH_VARIABLE
  three: {profile: generic}
  bad name: {hosts: ["amqp://broker"]}
nodes:
  - {queue: a, exchange: b, upstream: one}
  - {queue: a, upstream: four}
  - {queue: a, upstream: null, spool: true}
  - {exchange: b, upstream: two, spool: true, virtual_host: other}
  - {queue: c, upstream: two, subscription: "{key}"}
  - {queue: "d*", upstream: two, address: fixed}
  - {queue: e, upstream: two, address: "{exchange}{key}"}
  - {queue: f, upstream: two, address: "{key}"}
  - {upstream: one}
""")
    with pytest.raises(ConfigurationError) as caught:
        load(file)
    assert {path for path, _text in caught.value.problems} == {
        "upstreams.one.hosts.0",
        "upstreams.one.profile",
        "upstreams.one.username",
        "upstreams.one.colour",
        "upstreams.one.back_off.initial",
        "upstreams.two.hosts",
        "upstreams.two.profile",
        "upstreams.two.mechanisms",
        "upstreams.two.tls",
        "upstreams.two.tls.ca",
        "upstreams.two.tls.certificate",
        "upstreams.two.username",
        "upstreams.two.password_file",
        "upstreams.two.password_env",
        "upstreams.three.hosts",
        "upstreams.bad name",
        "nodes.0",
        "nodes.1.upstream",
        "nodes.2",
        "nodes.2.spool",
        "nodes.3.spool",
        "nodes.3.virtual_host",
        "nodes.4.subscription",
        "nodes.5.address",
        "nodes.6.address",
        "nodes.7.address",
        "nodes.8",
    }


def test_a_broken_upstream_is_not_unknown_to_the_rules_that_name_it() -> None:
    found = problems("upstreams.up={profile: generic}", nodes({"queue": "a", "upstream": "up"}))
    assert found == {"upstreams.up.hosts": "must be set"}


def test_a_rule_with_a_problem_hides_none_of_the_others() -> None:
    rules = nodes(
        {"queue": "a", "upstream": "none"},
        {"queue": "b", "upstream": "up", "on_rejected": "explode"},
        {"queue": "c", "exchange": "d", "upstream": "up"},
    )
    assert set(problems(upstream(), rules)) == {
        "nodes.0.upstream",
        "nodes.1.on_rejected",
        "nodes.2",
    }


def test_a_list_without_items_is_told_of_once() -> None:
    with pytest.raises(ConfigurationError) as caught:
        load(None, [upstream(hosts=[])])
    assert caught.value.problems == [("upstreams.up.hosts", "must not be empty")]


def test_files_are_looked_for_beside_the_configuration(tmp_path: pathlib.Path) -> None:
    (tmp_path / "secret").write_text("x")
    file = tmp_path / "gateway.yaml"
    file.write_text("""
upstreams:
  one: {hosts: ["amqps://a"], username: a, password_file: secret}
  two: {hosts: ["amqps://a"], token_file: secret}
  three:
    hosts: ["amqps://a"]
    profile: azure-service-bus
    sas_key_name: root
    sas_key_file: secret
""")
    found = load(file).upstreams
    assert found["one"].password_file == tmp_path / "secret"
    assert found["two"].token_file == tmp_path / "secret"
    assert found["three"].sas_key_file == tmp_path / "secret"


def test_a_rule_says_where_its_nodes_live() -> None:
    assert problems("nodes=[{queue: a}]") == {"nodes.0.upstream": "must be set"}


def test_plain_needs_tls_or_this_machine_or_a_word(secret: str) -> None:
    keys: dict[str, object] = {"username": "a", "password_file": secret}
    far: dict[str, object] = {**keys, "hosts": ["amqp://broker"]}
    assert "amqps://" in problems(upstream(**far, mechanisms=["PLAIN"]))["upstreams.up.mechanisms"]
    load(None, [upstream(**keys, mechanisms=["PLAIN"])])
    load(None, [upstream(**far, mechanisms=["PLAIN"], allow_plain_without_tls=True)])
    load(None, [upstream(**{**far, "hosts": ["amqps://broker"]}, mechanisms=["PLAIN"])])


@pytest.mark.parametrize(
    ("keys", "mechanisms"),
    [
        ({}, ["ANONYMOUS"]),
        ({"username": "a", "password_file": ""}, ["SCRAM-SHA-512", "SCRAM-SHA-256", "PLAIN"]),
        (
            {"username": "a", "password_file": "", "hosts": ["amqp://far"]},
            ["SCRAM-SHA-512", "SCRAM-SHA-256"],
        ),
        ({"token_file": "", "hosts": ["amqps://far"]}, ["OAUTHBEARER"]),
        ({"token_file": "", "username": "a"}, ["OAUTHBEARER", "XOAUTH2", "PLAIN"]),
        ({"token_file": "", "username": "a", "hosts": ["amqp://far"]}, ["ANONYMOUS"]),
        ({"token_file": "", "username": "a", "mechanisms": ["PLAIN"]}, ["PLAIN"]),
        (
            {"tls": {"certificate": "", "key": ""}, "hosts": ["amqps://far"]},
            ["EXTERNAL"],
        ),
        ({"mechanisms": ["ANONYMOUS"]}, ["ANONYMOUS"]),
    ],
)
def test_credentials_say_which_mechanisms_are_used(
    keys: dict[str, object], mechanisms: list[str], secret: str
) -> None:
    def filled(value: object) -> object:
        if isinstance(value, dict):
            return {key: filled(each) for key, each in value.items()}
        return secret if value == "" else value

    given = {key: filled(value) for key, value in keys.items()}
    settings = load(None, [upstream(**given)])
    assert settings.upstreams["up"].all_mechanisms(cbs=False) == mechanisms
    assert resolved(settings)["upstreams"]["up"]["mechanisms"] == mechanisms


def test_tokens_for_single_nodes_are_only_for_brokers_that_take_them_and_kept_private(
    secret: str,
) -> None:
    sas = {"sas_key_name": "root", "sas_key_file": secret}
    bus = {"profile": "azure-service-bus"}
    found = problems(upstream(hosts=["amqps://bus"], **sas))
    assert "cbs" in found["upstreams.up.sas_key_name"]
    found = problems(upstream(hosts=["amqps://bus"], **bus, sas_key_name="root"))
    assert "sas_key_file" in found["upstreams.up.sas_key_name"]
    found = problems(upstream(hosts=["amqp://bus.example"], **bus, **sas))
    assert "amqps://" in found["upstreams.up.hosts"]
    found = problems(upstream(hosts=["amqp://bus.example"], **bus, token_file=secret))
    assert "amqps://" in found["upstreams.up.hosts"]
    both = upstream(hosts=["amqps://bus"], **bus, **sas, token_file=secret)
    assert "token_file" in problems(both)["upstreams.up.sas_key_name"]
    settings = load(None, [upstream(hosts=["amqps://bus"], **bus, **sas)])
    assert resolved(settings)["upstreams"]["up"]["mechanisms"] == ["ANONYMOUS"]


@pytest.mark.parametrize(
    ("keys", "path"),
    [
        ({"mechanisms": []}, "mechanisms"),
        ({"mechanisms": ["ANONYMOUS", "ANONYMOUS"]}, "mechanisms"),
        ({"mechanisms": ["SCRAM-SHA-256"]}, "mechanisms"),
        ({"mechanisms": ["OAUTHBEARER"]}, "mechanisms"),
        ({"mechanisms": ["PLAIN"]}, "mechanisms"),
        ({"mechanisms": ["PLAIN"], "token_file": "/dev/null"}, "mechanisms"),
        ({"mechanisms": ["EXTERNAL"]}, "mechanisms"),
        ({"mechanisms": ["GSSAPI"]}, "mechanisms.0"),
        ({"username": "a"}, "username"),
        ({"password_file": "/dev/null"}, "username"),
        ({"hosts": []}, "hosts"),
        ({"tls": {"verify": False}}, "tls"),
    ],
)
def test_what_does_not_go_together_is_one_problem(keys: dict[str, object], path: str) -> None:
    assert f"upstreams.up.{path}" in problems(upstream(**keys))


def test_the_password_is_never_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("UPSTREAM_PASSWORD", "very secret")
    settings = load(None, [upstream(username="a", password_env="UPSTREAM_PASSWORD")])
    assert "very secret" not in yaml.safe_dump(resolved(settings))
    assert "very secret" not in repr(settings)


def test_a_profile_of_ones_own_is_relative_to_the_configuration(tmp_path: pathlib.Path) -> None:
    (tmp_path / "own.yaml").write_text("like: rabbitmq4\ncolour: blue\n")
    (tmp_path / "pw").write_text("x")
    file = tmp_path / "gateway.yaml"
    file.write_text("""
upstreams:
  up: {hosts: ["amqp://localhost"], profile: ./own.yaml, username: a, password_file: pw}
""")
    with pytest.raises(ConfigurationError) as caught:
        load(file)
    assert caught.value.problems == [("upstreams.up.profile", "colour: there is no such attribute")]
    (tmp_path / "own.yaml").write_text("like: rabbitmq4\n")
    up = load(file).upstreams["up"]
    assert up.profile == str(tmp_path / "own.yaml")
    assert up.password_file == tmp_path / "pw"


@pytest.mark.parametrize(
    ("profile", "node", "path"),
    [
        ("rabbitmq310", {"queue": "a/b", "upstream": "up"}, "nodes.0.upstream"),
        ("generic", {"queue": "a", "upstream": "up", "create": True}, "nodes.0.create"),
    ],
)
def test_a_rule_asks_for_no_more_than_its_profile_can(
    profile: str, node: dict[str, object], path: str
) -> None:
    assert path in problems(upstream(profile=profile), nodes(node))


def test_settled_is_for_queues_of_upstreams_that_do_it(tmp_path: pathlib.Path) -> None:
    own = tmp_path / "own.yaml"
    own.write_text("like: artemis\nsettled: false\n")
    node: dict[str, object] = {"queue": "q", "upstream": "up", "settled": True}
    assert "nodes.0.settled" in problems(upstream(profile=str(own)), nodes(node))
    assert "nodes.0.settled" in problems(nodes({"queue": "q", "upstream": None, "settled": True}))
    exchange: dict[str, object] = {"exchange": "x", "upstream": "up", "settled": True}
    assert "nodes.0.settled" in problems(upstream(profile="artemis"), nodes(exchange))
    load(None, [upstream(profile="artemis"), nodes(node)])


def test_an_exchange_needs_an_address_from_somewhere(tmp_path: pathlib.Path) -> None:
    own = tmp_path / "own.yaml"
    own.write_text("queue: '{queue}'\n")
    node: dict[str, object] = {"exchange": "x", "upstream": "up"}
    assert "nodes.0.upstream" in problems(upstream(profile=str(own)), nodes(node))
    load(None, [upstream(profile=str(own)), nodes({**node, "address": "{key}"})])


@pytest.mark.parametrize(
    ("first", "second", "hidden"),
    [
        ({"queue": "*"}, {"queue": "a"}, True),
        ({"queue": "a*"}, {"queue": "ab*"}, True),
        ({"queue": "ab*"}, {"queue": "a*"}, False),
        ({"queue": "*"}, {"exchange": "a"}, False),
        ({"queue": "a", "virtual_host": "default"}, {"queue": "a"}, False),
        ({"queue": "a"}, {"queue": "a", "virtual_host": "default"}, True),
    ],
)
def test_a_rule_that_can_never_decide_is_a_problem(
    first: dict[str, object], second: dict[str, object], hidden: bool
) -> None:
    given = nodes({**first, "upstream": None}, {**second, "upstream": None})
    if hidden:
        assert "comes first" in problems(given)["nodes.1"]
    else:
        load(None, [given])


def test_check_says_where_nodes_live_and_what_cannot_be_done() -> None:
    settings = load(
        None,
        [
            upstream(profile="rabbitmq4"),
            nodes(
                {"queue": "a b", "upstream": "up", "virtual_host": "default"},
                {"queue": "c*", "upstream": "up"},
                {"queue": "*", "upstream": None},
                {"exchange": "x", "upstream": "up"},
            ),
        ],
    )
    told = notes(settings)
    assert told[:4] == [
        'nodes.0: queue "a b" of virtual host "default" lives at up: /queues/a%20b',
        'nodes.1: queue "c*" lives at up: /queues/{queue|percent}',
        'nodes.2: queue "*" is local',
        'nodes.3: exchange "x" lives at up: /exchanges/{exchange|percent}/{key|percent};'
        " bindings are made at the upstream",
    ]
    assert "reply-to" in told[4]
    alone = load(None, [upstream(), nodes({"exchange": "x", "upstream": "up"})])
    assert "cannot be bound" in notes(alone)[0]


def test_what_an_old_broker_is_not_asked_for_is_refused_by_name() -> None:
    old = upstream(profile="qpid-0-10")
    rules = nodes(
        {"queue": "a", "upstream": "up", "settled": True},
        {"queue": "b", "upstream": "up", "address": "old.{queue}", "create": True},
        {"exchange": "c", "upstream": "up", "subscription": "{exchange}"},
        {"exchange": "d", "upstream": "up", "address": "{exchange}/{key}"},
        {"queue": "e", "upstream": "up", "address": "old.{queue}", "spool": True},
        {"exchange": "f", "upstream": "up", "address": "old.{exchange}"},
    )
    assert set(problems(old, rules)) == {
        "nodes.0.settled",
        "nodes.1.create",
        "nodes.2.subscription",
        "nodes.3.address",
    }


def test_what_is_wrong_with_a_shadow_is_told() -> None:
    found = problems(
        upstream(),
        nodes(
            {"queue": "a", "upstream": None, "shadow": {"upstream": "nowhere"}},
            {"exchange": "x", "upstream": "up", "shadow": {"upstream": "up"}},
            {"queue": "b", "upstream": "up", "shadow": {"upstream": "up", "queue": "{queue}"}},
            {"queue": "c*", "upstream": "up", "shadow": {"upstream": "up", "queue": "one"}},
            {"queue": "d", "upstream": None, "shadow": {"upstream": "up", "queue": "{key}"}},
        ),
    )
    assert found == {
        "nodes.0.shadow.upstream": 'there is no upstream "nowhere"',
        "nodes.1.shadow": "is only for queues",
        "nodes.2.shadow.queue": "is the queue itself: what is published would come to it twice",
        "nodes.3.shadow.queue": "needs {queue}: else several nodes have one address",
        "nodes.4.shadow.queue": "has no part {key}",
    }
    given = {"upstream": "up", "share": 0}
    assert "nodes.0.shadow.share" in problems(
        upstream(), nodes({"queue": "a", "upstream": None, "shadow": given})
    )


def test_a_shadow_needs_nothing_but_its_upstream() -> None:
    settings = load(
        None, [upstream(), nodes({"queue": "a", "upstream": None, "shadow": {"upstream": "up"}})]
    )
    (node,) = settings.nodes
    assert node.shadow is not None
    assert (node.shadow.queue, node.shadow.max_size) == ("{queue}.shadow", 16 * 1024 * 1024)
    assert notes(settings)[0] == (
        'nodes.0: queue "a" is local; 100% of it has a shadow at up: a.shadow'
    )
