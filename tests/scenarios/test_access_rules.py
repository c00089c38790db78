"""A whole gateway's access rules: read at its start, again at a reload, and in the audit log."""

import pathlib
from typing import Any

import pytest
from support.whole_gateway import WholeGateway

from gateway.amqp_0_10 import _spec as spec
from gateway.audit.reader import Segment, records, segment_paths
from gateway.clients.client import Subscription
from gateway.errors import ConfigurationError
from gateway.net.upstreams.reload import SIGNALLED
from gateway.permissions.actions import Action, ObjectKind
from gateway.permissions.asked import Asked

ALL = "rules: [{allow: all}]"
NO_PUBLISH = "rules: [{deny: publish}, {allow: all}]"


@pytest.fixture
def rules(tmp_path: pathlib.Path) -> pathlib.Path:
    file = tmp_path / "access.yaml"
    file.write_text(ALL)
    return file


def log_of(directory: pathlib.Path) -> list[dict[str, Any]]:  # Any: as `audit cat` has them
    return [
        record
        for path in segment_paths(directory / "audit")
        for record in records(Segment(path.name, path.read_bytes()))
    ]


class Gateway:
    """A whole gateway whose rules are in a file that the test writes."""

    def __init__(self, directory: pathlib.Path, rules: pathlib.Path, key: str = "file") -> None:
        self.directory = directory / "data"
        self.rules = rules
        self.whole = WholeGateway(self.directory, f"access.{key}={rules}").start()

    def reload(self, text: str) -> str:
        self.rules.write_text(text)
        reloading = self.whole.service.reloading
        return str(
            self.whole.result(reloading.reload(lambda: self.whole.service.settings, SIGNALLED))
        )

    def log(self, kind: str) -> list[dict[str, Any]]:
        self.whole.stop()
        return [record for record in log_of(self.directory) if record["kind"] == kind]


@pytest.fixture
def gateway(tmp_path: pathlib.Path, rules: pathlib.Path) -> Gateway:
    return Gateway(tmp_path, rules)


@pytest.mark.parametrize("protocol", ["0-10", "1.0"])
def test_a_reload_ends_what_the_rules_forbid(gateway: Gateway, protocol: str) -> None:
    whole = gateway.whole
    client = whole.connect_0_10() if protocol == "0-10" else whole.connect_1_0()
    subscription = Subscription("amq.fanout", credit=10)
    whole.result(client.receive(subscription, lambda _delivered: None))
    gateway.reload("rules: [{deny: consume}, {allow: all}]")
    whole.run()
    counts = whole.service.faces.counts
    assert sum(counts.links_opened) == sum(counts.links_closed) == 1
    assert counts.access_refused[Action.CONSUME] == 1


@pytest.mark.parametrize(("denied", "closed"), [("news.secret", 1), ("news.secret.x", 0)])
def test_a_reload_ends_a_receiver_that_would_hear_what_is_denied_by_now(
    gateway: Gateway, denied: str, closed: int
) -> None:
    whole = gateway.whole
    client = whole.connect_1_0()
    subscription = Subscription("amq.topic/news.*", credit=10)
    whole.result(client.receive(subscription, lambda _delivered: None))
    gateway.reload(f"rules: [{{deny: bind, key: {denied}}}, {{allow: all}}]")
    whole.run()
    counts = whole.service.faces.counts
    assert (sum(counts.links_opened), sum(counts.links_closed)) == (1, closed)
    assert counts.access_refused[Action.BIND] == closed


@pytest.mark.parametrize("text", ["rules: [{allow: eat}]", ""])
def test_rules_that_are_wrong_change_nothing(gateway: Gateway, text: str) -> None:
    before = gateway.whole.service.faces.access.in_force.rules
    with pytest.raises(ConfigurationError):
        gateway.reload(text)
    assert gateway.whole.service.faces.access.in_force.rules is before


def test_each_change_of_the_rules_is_in_the_audit_log(gateway: Gateway) -> None:
    gateway.reload("rules: [{allow: connect}]")
    gateway.reload("rules: [{allow: connect}]")
    changes = [each for each in gateway.log("rules-changed") if each["rules"] == "access"]
    assert [each.get("reason") for each in changes] == [None, "operator"]
    assert len({each["sha256"] for each in changes}) == 2


def test_a_deny_line_that_cannot_be_kept_to_refuses_the_start(tmp_path: pathlib.Path) -> None:
    file = tmp_path / "acl"
    file.write_text("acl deny all create connection host=example.org\nacl allow all all\n")
    with pytest.raises(ConfigurationError, match="cannot be kept to"):
        Gateway(tmp_path, file, "qpidd_file")


QUOTA = "quota queues 2 all\nacl allow all all\n"


def declares(whole: WholeGateway, name: str, *, durable: bool = True) -> str:
    """What a client is told that declares a queue; "" when it has it."""
    client = whole.connect_0_10()
    whole.result(client.ready())
    done = client.command(spec.QueueDeclare(queue=name, durable=durable))
    failed: list[str] = []
    done.addErrback(lambda failure: failed.append(str(failure.value)))
    whole.run()
    return failed[0] if failed else ""


def test_a_reload_takes_another_realm_over(tmp_path: pathlib.Path) -> None:
    file = tmp_path / "acl"
    file.write_text("acl deny alice@BANK purge queue\nacl allow all all\n")
    gateway = Gateway(tmp_path, file, "qpidd_file")
    in_force = gateway.whole.service.faces.access.in_force
    purge = Asked(Action.PURGE, ObjectKind.QUEUE, "q")
    assert in_force.rules is not None
    assert in_force.rules.may("alice", "", "", purge).allowed
    settings = gateway.whole.service.settings
    access = settings.access.model_copy(update={"qpidd_realm": "BANK"})
    other = settings.model_copy(update={"access": access})
    gateway.whole.result(gateway.whole.service.reloading.reload(lambda: other, SIGNALLED))
    assert in_force.realm == "BANK"
    assert not in_force.rules.may("alice", "", "", purge).allowed


@pytest.mark.parametrize("before", [QUOTA, "acl allow all all\n"])
def test_a_quota_of_queues_counts_those_that_were_made_before_the_start(
    tmp_path: pathlib.Path, before: str
) -> None:
    file = tmp_path / "acl"
    file.write_text(before)
    first = Gateway(tmp_path, file, "qpidd_file").whole
    assert declares(first, "one") == declares(first, "lost", durable=False) == ""
    first.stop()
    file.write_text(QUOTA)
    second = Gateway(tmp_path, file, "qpidd_file").whole
    assert declares(second, "two") == ""
    assert "may have made 2 queues" in declares(second, "three")
    assert declares(second, "one") == ""
    second.stop()


def test_a_quota_that_comes_with_a_reload_counts_the_queues_that_there_are(
    tmp_path: pathlib.Path,
) -> None:
    file = tmp_path / "acl"
    file.write_text("acl allow all all\n")
    gateway = Gateway(tmp_path, file, "qpidd_file")
    for name in ("one", "two"):
        assert declares(gateway.whole, name, durable=name == "one") == ""
    gateway.reload(QUOTA)
    assert "may have made 2 queues" in declares(gateway.whole, "three")


def test_whose_transport_is_gone_is_none_of_those_that_its_user_may_have(
    tmp_path: pathlib.Path,
) -> None:
    file = tmp_path / "acl"
    file.write_text("quota connections 1 all\nacl allow all all\n")
    whole = Gateway(tmp_path, file, "qpidd_file").whole
    whole.result(whole.connect_0_10().ready())
    pump = whole.guests[0].pump
    refused: list[str] = []

    def comes() -> int:
        ready = whole.connect_0_10().ready()
        ready.addErrback(lambda failure: refused.append(str(failure.value)))
        whole.run()
        return len(refused)

    assert comes() == 1
    whole.service.door.vacate(pump)  # its end waits for its turn
    assert comes() == 1
    assert comes() == 2
    whole.guests[0].hang_up()
    whole.run()
    assert comes() == 3
    whole.stop()
