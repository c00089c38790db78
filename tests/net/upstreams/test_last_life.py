"""What may come again after a kill is read from the audit log."""

from pathlib import Path

from support.audit_logs import BODY, ScriptedGateway

from gateway.audit.digests import digest
from gateway.audit.schema import Flag, Outcome
from gateway.net.upstreams.last_life import LastLife

NODE = "orders from main"


def receive(gateway: ScriptedGateway, name: bytes, upstream: str = "upstream main") -> int:
    """A message comes from an upstream; its id here."""
    gateway.message += 1
    gateway.log.received(
        gateway.now_ms,
        gateway.message,
        link=1,
        exchange=gateway.log.name(upstream),
        copies=1,
        id_digest=digest(name),
        body_digest=BODY,
        size=10,
        flags=0,
        connection=0,
    )
    return gateway.message


def settle(gateway: ScriptedGateway, message: int) -> None:
    """A client settles it."""
    gateway.log.settled(
        gateway.now_ms,
        message,
        message,
        node=gateway.log.name(NODE),
        link=2,
        outcome=int(Outcome.ACCEPTED),
        flags=int(Flag.REMOVED),
    )


def expected(*names: bytes) -> list[int]:
    """As an intake knows them."""
    return [digest(name) ^ BODY for name in names]


def test_what_was_not_settled_may_come_again_and_what_was_settled_last(tmp_path: Path) -> None:
    gateway = ScriptedGateway(tmp_path)
    for name in (b"a", b"b", b"c"):
        settle(gateway, receive(gateway, name))
    receive(gateway, b"d")
    gateway.turn()
    found = LastLife(recent=2).read(tmp_path)
    assert found == {"main": expected(b"b", b"c", b"d")}


def test_each_upstream_has_its_own_and_clients_messages_are_nobodys(tmp_path: Path) -> None:
    gateway = ScriptedGateway(tmp_path)
    receive(gateway, b"a")
    receive(gateway, b"b", "upstream other")
    receive(gateway, b"c", "host/upstream other")
    receive(gateway, b"d", "amq.direct")
    gateway.turn()
    found = LastLife(recent=10).read(tmp_path)
    assert found == {"main": expected(b"a"), "other": expected(b"b", b"c")}


def test_only_the_last_incarnation_counts_whatever_segments_it_is_in(tmp_path: Path) -> None:
    gateway = ScriptedGateway(tmp_path, segment_octets=1)
    receive(gateway, b"long ago")
    gateway.turn()
    gateway.start()
    receive(gateway, b"a")
    gateway.turn()
    receive(gateway, b"b")
    gateway.turn()
    assert LastLife(recent=10).read(tmp_path) == {"main": expected(b"a", b"b")}


def test_an_empty_log_knows_nothing(tmp_path: Path) -> None:
    assert LastLife(recent=10).read(tmp_path) == {}
