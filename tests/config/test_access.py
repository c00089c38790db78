import pathlib
from typing import Any

import pytest

from gateway.config import access
from gateway.config.access import access_notes, load_rules
from gateway.config.load import load
from gateway.config.settings import Settings
from gateway.errors import ConfigurationError
from gateway.files.yaml_text import load_marked
from gateway.permissions.actions import Action, ObjectKind
from gateway.permissions.asked import Asked, publishing

CONNECT = Asked(Action.CONNECT, ObjectKind.NOTHING)


def settings(tmp_path: pathlib.Path, text: str, key: str = "file") -> Settings:
    file = tmp_path / "access"
    file.write_text(text)
    return load(None, [f"access.{key}={file}"])


def problems(tmp_path: pathlib.Path, text: str, key: str = "file") -> list[str]:
    with pytest.raises(ConfigurationError) as raised:
        load_rules(settings(tmp_path, text, key))
    return [
        f"{path}: {problem}".replace(str(tmp_path), "") for path, problem in raised.value.problems
    ]


def test_a_file_is_parsed_once(tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch):
    parsed: list[object] = []

    def counted(text: str) -> Any:
        parsed.append(text)
        return load_marked(text)

    wanted = settings(tmp_path, "rules: [{allow: all}]")
    monkeypatch.setattr(access, "load_marked", counted)
    assert load_rules(wanted).count == 1
    assert len(parsed) == 1


def test_rules_are_read_with_their_lines(tmp_path: pathlib.Path):
    text = """
groups:
  staff: [alice, bob]
rules:
  - allow: connect
  - deny: publish
    groups: staff
    queue: secret.*
  - {allow: [publish, consume], users: alice}
"""
    loaded = load_rules(settings(tmp_path, text))
    assert loaded.rules is not None
    told = [
        str(loaded.rules.may(user, "default", "127.0.0.1", asked))
        for user, asked in (
            ("carol", CONNECT),
            ("bob", publishing("", "secret.1")),
            ("alice", publishing("", "plain")),
            ("carol", publishing("", "plain")),
        )
    ]
    assert told == [
        "allowed by line 5: {allow: connect}",
        "denied by line 6: {deny: publish, groups: staff, queue: secret.*}",
        "allowed by line 9: {allow: [publish, consume], users: alice}",
        "denied by no rule fits",
    ]


def test_all_actions_are_all(tmp_path: pathlib.Path):
    loaded = load_rules(settings(tmp_path, "rules: [{allow: all}]"))
    assert loaded.rules is not None
    assert loaded.rules.may("x", "default", "", Asked(Action.PURGE, ObjectKind.QUEUE, "q")).allowed


def test_addresses_hosts_and_properties_are_taken_over(tmp_path: pathlib.Path):
    text = """
rules:
  - allow: connect
    addresses: 10.0.0.0/8
    virtual_hosts: default
  - {allow: create, durable: false, exclusive: true, temporary: true, exchange: e, key: k}
"""
    loaded = load_rules(settings(tmp_path, text))
    assert loaded.rules is not None
    assert loaded.rules.may("x", "default", "10.0.0.1", CONNECT).allowed
    assert not loaded.rules.may("x", "default", "127.0.0.1", CONNECT).allowed


def test_every_problem_is_told_at_once_with_its_key(tmp_path: pathlib.Path):
    text = """
rules:
  - allow: connect
    deny: connect
  - {allow: publish, groups: [nobody], addresses: [example.org], virtual_hosts: [other]}
  - {allow: [bind, consume], durable: true}
  - {allow: connect, own: true}
  - {deny: publish, users: alice, login: false}
  - {deny: publish, users: ""}
"""
    assert problems(tmp_path, text) == [
        "/access: rules.0: needs either allow or deny",
        "/access: rules.1.groups: there is no group 'nobody'",
        "/access: rules.1.addresses: 'example.org' is no address and no network",
        '/access: rules.1.virtual_hosts: there is no virtual host "other"',
        "/access: rules.2.durable: is not known to connect, bind, unbind, manage and decide",
        "/access: rules.3.own: is not known to connect, manage and decide",
        "/access: rules.4.login: clients without a login are no users, and in no group",
        "/access: rules.5.users: nobody has an empty name; without a login is login: false",
    ]


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("rules: [{allow: eat}]", "rules.0.allow.0: must be 'all', 'connect'"),
        ("rules: [{allow: connect, color: red}]", "rules.0.color: there is no such key"),
        ("{}", "rules: must be set"),
        ("[]", "must be a mapping with rules"),
        ("rules: []\nrules: []", "rules: stands twice"),
        ("rules: [", "expected the node content"),
    ],
)
def test_what_is_no_rule_is_told(tmp_path: pathlib.Path, text: str, problem: str):
    [told] = problems(tmp_path, text)
    assert problem in told


def test_a_file_that_is_no_text_is_told(tmp_path: pathlib.Path):
    made = settings(tmp_path, "")
    (tmp_path / "access").write_bytes(b"\xff\xfe")
    with pytest.raises(ConfigurationError, match="no UTF-8"):
        load_rules(made)


def test_a_qpidds_file_is_read_and_its_problems_are_told_by_line(tmp_path: pathlib.Path):
    loaded = load_rules(settings(tmp_path, "acl allow all create link\n", "qpidd_file"))
    assert loaded.rules is not None
    [note] = loaded.notes
    assert note.endswith("access:1: there is no such thing here: acl allow all create link")
    assert problems(tmp_path, "acl\nallow\n", "qpidd_file") == [
        "/access:1: a rule needs a permission, a user and an action",
        '/access:2: must begin with "group", "acl" or "quota"',
    ]


def test_one_file_or_the_other(tmp_path: pathlib.Path):
    file = tmp_path / "access"
    file.write_text("rules: []")
    with pytest.raises(ConfigurationError, match=r"either this or access\.file"):
        load(None, [f"access.file={file}", f"access.qpidd_file={file}"])


def test_paths_are_those_beside_the_configuration(tmp_path: pathlib.Path):
    (tmp_path / "rules.yaml").write_text("rules: []")
    (tmp_path / "gateway.yaml").write_text("access: {file: rules.yaml}")
    assert load_rules(load(tmp_path / "gateway.yaml")).file == tmp_path / "rules.yaml"


def test_without_rules_it_is_said_that_everybody_may_everything(tmp_path: pathlib.Path):
    plain = load(None, [])
    assert access_notes(load_rules(plain), plain) == ["there are none: everybody may do everything"]
    (tmp_path / "users.yaml").write_text("# nobody")
    with_users = load(None, [f"users_file={tmp_path}/users.yaml"])
    [note] = access_notes(load_rules(with_users), with_users)
    assert note.endswith("and users_file has users: set access.file")


def test_what_has_no_effect_is_noted_with_the_number_of_rules(tmp_path: pathlib.Path):
    made = settings(tmp_path, "acl allow all create link\nacl allow all all\n", "qpidd_file")
    told = access_notes(load_rules(made), made)
    assert told[0] == f"2 from {tmp_path}/access, 1 without effect"
    assert len(told) == 2


def test_what_is_wrong_with_a_key_does_not_hide_what_is_wrong_with_others(tmp_path: pathlib.Path):
    text = """
groups: {a: [b], c: {d: e}}
rules:
- {deny: publish, users: [x, 3], addresses: 10.0.0.0/33}
- {allow: connect, groups: nogroup}
- {allow: eat}
- {allow: connect, groups: c}
foo: 1
"""
    assert sorted(problems(tmp_path, text)) == [
        "/access: foo: there is no such key",
        "/access: groups.c: must be a valid list",
        "/access: rules.0.addresses: '10.0.0.0/33' is no address and no network",
        "/access: rules.0.users.1: must be a valid string",
        "/access: rules.1.groups: there is no group 'nogroup'",
        "/access: rules.2.allow.0: must be 'all', 'connect', 'publish', 'consume', 'browse',"
        " 'create', 'delete', 'bind', 'unbind', 'purge', 'manage' or 'decide'",
    ]


@pytest.mark.parametrize("text", ["", "\n", " \n\t\n"])
@pytest.mark.parametrize("key", ["file", "qpidd_file"])
def test_a_file_that_may_be_being_written_is_none_of_no_rules(
    tmp_path: pathlib.Path, key: str, text: str
):
    (problem,) = problems(tmp_path, text, key)
    assert problem.endswith(": is empty: for no rules, write so in a comment")
    for each in ("file", "qpidd_file"):
        loaded = load_rules(settings(tmp_path, "# none", each))
        assert loaded.count == 0
        assert loaded.rules is not None
