"""Secrets that others on the machine can read are told, each with its key."""

import pathlib

from gateway.config import load
from gateway.service.exposed import exposed


def test_each_secret_that_others_can_read_is_named(tmp_path: pathlib.Path) -> None:
    directory = tmp_path / "data"
    directory.mkdir(mode=0o700)
    for name in ("users", "token", "password", "key"):
        (tmp_path / name).write_text("x")
        (tmp_path / name).chmod(0o600)
    upstream = f"{{hosts: ['amqps://h'], username: u, password_file: {tmp_path}/password}}"
    settings = load(
        None,
        [
            f"data_directory={directory}",
            f"users_file={tmp_path}/users",
            f"admin_token_file={tmp_path}/token",
            f"upstreams.main={upstream}",
        ],
    )
    assert exposed(settings) == []
    (tmp_path / "users").chmod(0o644)
    (tmp_path / "password").chmod(0o664)
    (tmp_path / "token").chmod(0o640)  # a group may be meant
    directory.chmod(0o755)
    told = exposed(settings)
    assert [line.partition(":")[0] for line in told] == [
        "users_file",
        "upstreams.main.password_file",
        "data_directory",
    ]
    assert told[0].endswith("(mode 644); chmod 640")
    (tmp_path / "users").unlink()
    assert len(exposed(settings)) == 2


def test_what_the_gateway_goes_by_is_named_when_others_can_write_it(tmp_path: pathlib.Path) -> None:
    (tmp_path / "data").mkdir(mode=0o700)
    for name in ("users", "rules", "ca", "crl", "certificate", "key", "upstream-ca"):
        (tmp_path / name).write_text("x")
        (tmp_path / name).chmod(0o600 if name in ("users", "key") else 0o644)
    tls = f"{{certificate: {tmp_path}/certificate, key: {tmp_path}/key, client_ca: {tmp_path}/ca"
    upstream = f"{{hosts: ['amqps://h'], tls: {{ca: {tmp_path}/upstream-ca}}}}"
    settings = load(
        None,
        [
            f"data_directory={tmp_path}/data",
            f"users_file={tmp_path}/users",
            f"access.file={tmp_path}/rules",
            f"tls={tls}, client_crl: {tmp_path}/crl}}",
            f"upstreams.main={upstream}",
        ],
    )
    assert exposed(settings) == []
    for name in ("users", "rules", "ca", "crl", "upstream-ca"):
        (tmp_path / name).chmod(0o666)
    told = exposed(settings)
    assert [line.partition(":")[0] for line in told] == [
        "users_file",
        "access.file",
        "tls.client_ca",
        "tls.client_crl",
        "upstreams.main.tls.ca",
    ]
    assert told[0].endswith("(mode 666); chmod 640")
    assert told[1].endswith("(mode 666); chmod 644")


def test_a_configuration_that_others_can_write_is_named_and_so_is_its_directory(
    tmp_path: pathlib.Path,
) -> None:
    directory, file = tmp_path / "etc", tmp_path / "etc" / "gateway.yaml"
    directory.mkdir(mode=0o755)
    (tmp_path / "data").mkdir(mode=0o700)
    file.write_text(f"data_directory: {tmp_path}/data\nadmin_token_file: token\n")
    (directory / "token").touch(mode=0o600)
    file.chmod(0o644)
    assert exposed(load(file)) == []
    file.chmod(0o666)
    (told,) = exposed(load(file))
    assert told.startswith("the configuration: other users of this machine can change ")
    file.chmod(0o600)
    directory.chmod(0o777)
    (told,) = exposed(load(file))
    assert told.endswith(f"{directory} has mode 777; chmod 755")
    directory.chmod(0o1777)  # as /tmp has it: each may remove its own files only
    assert exposed(load(file)) == []
