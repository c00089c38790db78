"""The loader says every problem at once, by key path; table, schema and loader agree."""

import json
import pathlib

import hypothesis.strategies as st
import jsonschema
import pytest
import yaml
from hypothesis import given

from gateway.bridge.limits import BridgeLimits
from gateway.config import Address, Settings, keys, load, notes, resolved, schema
from gateway.config.units import (
    Host,
    format_duration,
    format_size,
    parse_address,
    parse_duration,
    parse_host,
    parse_size,
)
from gateway.errors import ConfigurationError
from gateway.wire.limits import Limits

UPSTREAM = "upstreams.NAME.hosts=['amqp://127.0.0.1']"


def problems(*changes: str, path: pathlib.Path | None = None) -> dict[str, str]:
    with pytest.raises(ConfigurationError) as caught:
        load(path, list(changes))
    return dict(caught.value.problems)


@given(st.integers(0, 10**12))
def test_a_duration_is_read_back_as_it_is_spelled(value_ms: int) -> None:
    assert parse_duration(format_duration(value_ms)) == value_ms


@given(st.integers(0, 10**14))
def test_a_size_is_read_back_as_it_is_spelled(octets: int) -> None:
    assert parse_size(format_size(octets)) == octets


@pytest.mark.parametrize("text", ["30", 30, "30 s", "s", "-1s", "1.5s", None, True, "30S"])
def test_a_duration_without_a_whole_number_and_a_unit_is_refused(text: object) -> None:
    with pytest.raises(ValueError, match="duration"):
        parse_duration(text)


@pytest.mark.parametrize("text", ["64KB", "64 KiB", -1, True, "", None, 1.5, "KiB"])
def test_a_size_in_another_unit_is_refused(text: object) -> None:
    with pytest.raises(ValueError, match="size"):
        parse_size(text)


def test_addresses_name_an_ip_address_and_a_port() -> None:
    assert parse_address("127.0.0.1:5672") == Address("127.0.0.1", 5672)
    assert parse_address("localhost:0") == Address("127.0.0.1", 0)
    assert parse_address("[::1]:5671") == Address("::1", 5671)
    assert str(Address("::1", 5671)) == "[::1]:5671"
    for wrong in ("5672", "gateway.example:5672", "127.0.0.1:70000", "127.0.0.1", ":5672", 5672):
        with pytest.raises(ValueError, match="IP address"):
            parse_address(wrong)


def test_what_is_dialled_is_a_scheme_a_host_and_a_port() -> None:
    assert parse_host("amqp://broker") == Host(False, "broker", 5672)
    assert parse_host("amqps://broker.example/") == Host(True, "broker.example", 5671)
    assert str(parse_host("amqp://[::1]:7")) == "amqp://[::1]:7"
    assert parse_host("amqp://[::1]:7").private
    assert parse_host("amqp://localhost").private
    assert not parse_host("amqp://10.0.0.1").private
    assert not parse_host("amqp://broker").private
    assert parse_host("amqps://broker").private
    for wrong in ("broker:5672", "amqp://", "amqp://b:0", "amqp://b:70000", "http://b", 5672):
        with pytest.raises(ValueError, match="amqps://HOST:PORT"):
            parse_host(wrong)
    with pytest.raises(ValueError, match="no password"):
        parse_host("amqp://user:secret@broker")


def test_without_a_configuration_only_this_machine_can_connect(
    monkeypatch: pytest.MonkeyPatch, tmp_path: pathlib.Path
) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    settings = load(None)
    assert settings.listen.amqp == Address("127.0.0.1", 5672)
    assert settings.listen.amqps is None
    assert settings.admin == Address("127.0.0.1", 9672)
    assert settings.anonymous_allowed
    assert settings.data_directory == tmp_path / "amqp-gateway"


def test_the_data_directory_falls_back_to_the_home_directory(
    monkeypatch: pytest.MonkeyPatch, tmp_path: pathlib.Path
) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", "")
    monkeypatch.setenv("HOME", str(tmp_path))
    assert load(None).data_directory == tmp_path / ".local/state/amqp-gateway"


@pytest.mark.parametrize("path", ["listen.amqp", "admin"])
def test_another_address_needs_users_or_a_word_that_everybody_may_come(
    path: str, tmp_path: pathlib.Path
) -> None:
    users = tmp_path / "users.yaml"
    users.write_text("")
    assert "anonymous: true" in problems(f"{path}=0.0.0.0:0")[path]
    assert load(None, [f"{path}=0.0.0.0:0", "anonymous=true"]).anonymous_allowed
    assert not load(None, [f"{path}=0.0.0.0:0", f"users_file={users}"]).anonymous_allowed


def test_every_problem_is_told_at_once_with_its_key_path() -> None:
    found = problems(
        "limits.links=0",
        "limits.heartbeat=5",
        "limits.max_frame_size=1",
        "tls.key=/nowhere",
        "colour=blue",
        "virtual_hosts=[{name: ''}]",
        "queues.size_low=900MiB",
        "anonymous=perhaps",
        "admin=localhost",
        "translation=5",
        "logging.level=loud",
    )
    assert set(found) == {
        "limits.links",
        "limits.heartbeat",
        "limits.max_frame_size",
        "tls.certificate",
        "tls.key",
        "colour",
        "virtual_hosts.0.name",
        "queues.size_low",
        "anonymous",
        "admin",
        "translation",
        "logging.level",
    }
    assert found["colour"] == "there is no such key"
    assert found["limits.max_frame_size"] == "must be at least 4KiB"


def test_a_broken_key_does_not_raise_the_problems_of_rules_that_read_it() -> None:
    assert set(problems("anonymous=perhaps", "listen.amqp=0.0.0.0:5672")) == {"anonymous"}


@pytest.mark.parametrize(
    ("changes", "path"),
    [
        (["listen.amqp=null"], "listen.amqp"),
        (["listen.amqps=127.0.0.1:5671"], "listen.amqps"),
        (["listen.amqp=127.0.0.1:9672"], "admin"),
        (["anonymous=false"], "anonymous"),
        (["virtual_hosts=[{name: a}, {name: a}]"], "virtual_hosts"),
        (["virtual_hosts=[{name: a, hostnames: [x]}, {name: b, hostnames: [x]}]"], "virtual_hosts"),
        (["virtual_hosts=[{name: a, hostnames: [x]}, {name: b, hostnames: [X]}]"], "virtual_hosts"),
        (["users_file=/nowhere/users"], "users_file"),
        (["tls.certificate=/nowhere/c", "tls.key=/dev/null"], "tls.certificate"),
        (["queues.messages_max=5"], "queues.messages_high"),
        (["listen.proxy_protocol=[amqps]"], "listen.proxy_protocol"),
        (["limits.heartbeat_minimum=5m"], "limits.heartbeat_minimum"),
        (["nonsense"], "nonsense"),
        (["limits.links=[1"], "limits.links"),
    ],
)
def test_rules_across_keys_blame_one_of_them(changes: list[str], path: str) -> None:
    assert path in problems(*changes)


def test_a_certificate_that_must_be_shown_needs_an_authority(tmp_path: pathlib.Path) -> None:
    file = tmp_path / "pem"
    file.write_text("")
    changes = [f"tls.certificate={file}", f"tls.key={file}", "tls.require_client_certificate=true"]
    assert set(problems(*changes)) == {"tls.require_client_certificate"}
    assert not load(None, [*changes, f"tls.client_ca={file}"]).anonymous_allowed
    # A port where every client proves who it is needs no users file.
    open_port = [*changes, f"tls.client_ca={file}", "listen.amqps=0.0.0.0:0"]
    assert load(None, open_port).listen.amqps == Address("0.0.0.0", 0)


def test_a_file_that_is_no_configuration_is_one_problem(tmp_path: pathlib.Path) -> None:
    file = tmp_path / "gateway.yaml"
    assert problems(path=file) == {str(file): "No such file or directory"}
    file.write_text("- a\n- b\n")
    assert problems(path=file) == {str(file): "must be a mapping of keys"}
    file.write_text("a: [1\n")
    assert "line 2" in problems(path=file)[str(file)]
    file.write_text("strict: true\nlimits: {links: 1, links: 2}\n")
    assert problems(path=file) == {"links": "stands twice (line 2)"}


def test_what_is_no_yaml_is_told_with_its_place_alone(tmp_path: pathlib.Path) -> None:
    file = tmp_path / "gateway.yaml"
    file.write_text("listen:\n\tamqp: x\n")
    [said] = problems(path=file).values()
    assert "line 2, column 1" in said
    assert "<" not in said and "^" not in said


def test_paths_in_a_file_are_relative_to_the_file(tmp_path: pathlib.Path) -> None:
    file = tmp_path / "gateway.yaml"
    (tmp_path / "users.yaml").write_text("")
    file.write_text("data_directory: data\nusers_file: users.yaml\n")
    settings = load(file)
    assert settings.data_directory == tmp_path / "data"
    assert settings.users_file == tmp_path / "users.yaml"


def test_a_file_without_keys_means_the_defaults(tmp_path: pathlib.Path) -> None:
    file = tmp_path / "gateway.yaml"
    file.write_text("# nothing set\n")
    assert load(file).model_dump() == load(None).model_dump()


def test_a_file_that_is_just_being_written_means_nothing(tmp_path: pathlib.Path) -> None:
    file = tmp_path / "gateway.yaml"
    file.write_text("\n")
    with pytest.raises(ConfigurationError, match="is empty"):
        load(file)


def test_what_check_prints_is_a_configuration_that_means_the_same() -> None:
    settings = load(None, ["limits.links=7", "drain_timeout=90s", "queues.size_high=1GiB"])
    again = Settings.model_validate(yaml.safe_load(yaml.safe_dump(resolved(settings))))
    assert resolved(again) == resolved(settings)


def test_the_schema_accepts_what_the_loader_accepts_and_names_every_key() -> None:
    validator = jsonschema.Draft202012Validator(schema())
    validator.check_schema(schema())
    validator.validate({})
    validator.validate(resolved(load(None)))
    for wrong in (
        {"colour": "blue"},
        {"drain_timeout": 25},
        {"limits": {"links": 0}},
        {"limits": {"message_size": "64KB"}},
        {"admin": "gateway"},
    ):
        assert not validator.is_valid(wrong), wrong
    text = json.dumps(schema())
    assert all(f'"{key.path.rpartition(".")[2]}"' in text for key in keys())


def test_every_key_has_a_help_text_and_a_default_that_the_loader_would_take() -> None:
    paths = [key.path for key in keys()]
    assert len(set(paths)) == len(paths) >= 40
    for key in keys():
        assert key.help.endswith(("...", ".")), key
        fixed = key.default not in ("none", "required") and "$" not in key.default
        if (
            fixed
            and not key.path.startswith(("tls.", "gssapi.", "tracing.", "nodes[]", "virtual_hosts[]"))
            and ".tls." not in key.path
        ):
            around = [UPSTREAM] if key.path.startswith("upstreams.") else []
            load(None, [*around, f"{key.path}={key.default}"])


def test_every_limit_of_the_protocol_packages_has_a_key_with_the_same_default() -> None:
    assert Settings().limits.as_limits() == Limits()
    limits = Settings().queues.as_limits(Settings().store_backlog, Settings().limits)
    assert limits == BridgeLimits()


@pytest.mark.parametrize(
    ("upstreams", "nodes", "at"),
    [
        ({}, [{"upstream": "nowhere"}], [0]),
        ({}, [{"queue": 5, "upstream": "nowhere"}], [0]),
        ({}, [5, {"queue": "x", "upstream": "nowhere"}], [1]),
        ({}, [{"queue": "y"}, {"queue": "x", "upstream": "nowhere", "spool": "maybe"}], [1]),
        ({"a": {"hosts": ["x"]}}, [{"queue": "y"}, {"queue": "x", "upstream": "nowhere"}], [1]),
        ({"a": {"hosts": ["x"]}}, [5, {"queue": "x", "upstream": "a"}], []),
        (None, [5, {"queue": "x", "upstream": "nowhere"}, {"queue": "y", "upstream": 7}], [1]),
    ],
)
def test_an_upstream_that_there_is_not_is_told_whatever_else_is_wrong(
    upstreams: object, nodes: list[object], at: list[int]
) -> None:
    found = problems(f"upstreams={json.dumps(upstreams)}", f"nodes={json.dumps(nodes)}")
    told = [path for path, text in found.items() if text == 'there is no upstream "nowhere"']
    assert told == [f"nodes.{each}.upstream" for each in at]
    assert len(found) > len(told)


def test_a_profile_that_there_is_not_is_told_whatever_else_is_wrong() -> None:
    wrong = {
        "a": {"hosts": ["http://x"], "profile": "nope"},
        "b": {"hosts": 5, "profile": "p.yaml"},
    }
    found = problems(f"upstreams={json.dumps(wrong)}")
    assert found["upstreams.a.profile"].startswith('there is no profile "nope": activemq')
    assert "upstreams.b.profile" in found
    assert {"upstreams.a.hosts.0", "upstreams.b.hosts"} <= set(found)


def test_kerberos_is_a_login_as_users_are(tmp_path: pathlib.Path) -> None:
    keytab = tmp_path / "keytab"
    file = tmp_path / "gateway.yaml"
    file.write_text("listen: {amqp: 0.0.0.0:5672}\ngssapi: {keytab: keytab, realm: EXAMPLE}\n")
    assert problems(path=file) == {"gssapi.keytab": f"there is no file {keytab}"}
    keytab.touch()
    settings = load(file)
    assert settings.gssapi is not None
    assert settings.gssapi.keytab == keytab
    assert not settings.anonymous_allowed


def test_mechanisms_of_users_and_places_of_hosts_need_them() -> None:
    assert problems("legacy_mechanisms=[CRAM-MD5]", "elsewhere={b: {redirect: amqp://a}}") == {
        "legacy_mechanisms": "needs users_file",
        "elsewhere.b": "there is no virtual host of that name",
    }


def test_a_key_that_yaml_takes_for_something_else_is_told() -> None:
    told = problems("upstreams={no: {hosts: [amqp://a]}, 1: {hosts: [amqp://b]}}")
    assert told == {"upstreams": "has the key 1, which is no text: put it in quotes"}
    nested = problems("gssapi={keytab: k, realm: R, users: {~: a}}", "limits.links=0")
    assert nested["gssapi.users"] == "has the key None, which is no text: put it in quotes"
    assert "limits.links" in nested


def test_memory_of_queues_that_is_never_reached_is_told() -> None:
    [note] = notes(load(None, ["queues.memory=1GiB"]))
    assert note.startswith("queues.memory: 1073741824 octets are of no use")
    for change in ("queues.memory=0", "queues.memory=511MiB"):
        assert notes(load(None, [change])) == []


def test_a_reserve_that_one_publisher_could_use_up_is_told() -> None:
    [note] = notes(load(None, ["store_reserve=31MiB"]))
    assert note.startswith("store_reserve: 32505856 octets are soon used up")
    for change in ("store_reserve=32MiB", "store_reserve=0"):
        assert notes(load(None, [change])) == []


def test_files_that_are_missing_are_told_whatever_else_is_wrong(tmp_path: pathlib.Path) -> None:
    rules = tmp_path / "access.yaml"
    rules.write_text("rules: [{allow: publish, groups: nobody}]")
    found = problems(
        "tls.certificate=/nowhere/c",  # without its key
        "upstreams={a: {password_file: /nowhere/p, tls: {ca: /nowhere/ca}}}",  # without hosts
        f"access.file={rules}",
        "limits.links=0",
    )
    assert set(found) == {
        "tls.key",
        "tls.certificate",
        "upstreams.a.hosts",
        "upstreams.a.password_file",
        "upstreams.a.tls.ca",
        "limits.links",
        f"{rules}: rules.0.groups",
    }
    assert found["tls.certificate"] == "there is no file /nowhere/c"


@pytest.mark.parametrize(
    ("key", "text", "most"),
    [
        ("nodes", "- {queue: a, upstream: b}\n", 10_000),
        ("virtual_hosts", "- {name: a}\n", 1_000),
    ],
)
def test_rules_are_compared_with_one_another_up_to_a_number(
    key: str, text: str, most: int, tmp_path: pathlib.Path
) -> None:
    file = tmp_path / "gateway.yaml"
    file.write_text(f"{key}:\n{text * (most + 1)}")
    told = f"has {most + 1} entries; {most} are the most there may be"
    assert problems(path=file) == {key: told}


def test_of_very_many_problems_the_first_are_told(tmp_path: pathlib.Path) -> None:
    file = tmp_path / "gateway.yaml"
    file.write_text("".join(f"key{at}: 1\n" for at in range(1_500)))
    told = problems(path=file)
    assert (len(told), told[""]) == (1_001, "and 500 more problems")
