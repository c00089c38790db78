"""A whole gateway whose files change under it: what it then goes by, without being told."""

import pathlib

import pytest
from support.certificates import DAY, Authority
from support.whole_gateway import WholeGateway

from gateway.net.listening.users import make_user, write_users


class Gateway:
    """One whose files are looked at every 10 s."""

    def __init__(self, directory: pathlib.Path) -> None:
        self.authority = Authority(directory)
        certificate, key = self.authority.issue("server", lasts=DAY)
        self.users, self.access = directory / "users.yaml", directory / "access.yaml"
        write_users(self.users, {"alice": make_user("one")})
        self.access.write_text("rules: [{allow: all}]")
        self.whole = WholeGateway(
            directory / "data",
            *("reload_interval=10s", "listen.amqps=127.0.0.1:0"),
            *(f"tls.certificate={certificate}", f"tls.key={key}"),
            *(f"users_file={self.users}", f"access.file={self.access}"),
        ).start()

    def look(self, times: int) -> dict[str, int]:
        """What has become of changes by then."""
        service = self.whole.service
        for _ in range(times):
            self.whole.pass_time(10)
            self.whole.wait_until(lambda: not service.watching.looking)
        return service.counts.changes


@pytest.fixture
def gateway(tmp_path: pathlib.Path) -> Gateway:
    return Gateway(tmp_path)


def test_another_certificate_is_shown(gateway: Gateway) -> None:
    before = gateway.whole.service.named.certificate_expires_s
    gateway.authority.issue("server", lasts=3 * DAY)
    assert gateway.look(3) == {"done": 1, "refused": 0}
    assert gateway.whole.service.named.certificate_expires_s > before + DAY.total_seconds()
    gateway.whole.stop()


def test_a_certificate_without_its_key_is_refused_until_the_key_has_come(gateway: Gateway) -> None:
    service, before = gateway.whole.service, gateway.whole.service.named.tls
    key = gateway.authority.directory / "server.key"
    old = key.read_bytes()
    gateway.authority.issue("server", lasts=3 * DAY)
    new = key.read_bytes()
    key.write_bytes(old)
    assert gateway.look(5) == {"done": 0, "refused": 1}
    assert (service.named.tls is before, service.counts.refused_files) == (True, 1)
    key.write_bytes(new)
    assert gateway.look(2) == {"done": 1, "refused": 1}
    assert (service.named.tls is before, service.counts.refused_files) == (False, 0)
    gateway.whole.stop()


def test_users_and_rules_count_and_rules_that_are_wrong_do_not(gateway: Gateway) -> None:
    service = gateway.whole.service
    write_users(gateway.users, {"bob": make_user("two")})
    gateway.access.write_text("rules: [{deny: publish}, {allow: all}]")
    assert gateway.look(3) == {"done": 1, "refused": 0}
    assert service.authentication.passwords is not None
    assert service.authentication.passwords.has("bob")
    rules = service.faces.access.in_force.rules
    gateway.access.write_text("rules: [{allow: eat}]")
    assert gateway.look(3) == {"done": 1, "refused": 1}
    assert service.faces.access.in_force.rules is rules
    assert service.counts.refused_files == 1
    gateway.whole.stop()
