"""What a gateway says itself that it has lost is no purge."""

from __future__ import annotations

from pathlib import Path

from support.audit_logs import ScriptedGateway

from gateway.accounting.reconcile import reconcile
from gateway.audit.schema import Reason


def test_what_could_not_be_read_from_the_disk_is_lost_and_named(spark, tmp_path: Path):
    gateway = ScriptedGateway(tmp_path / "log")
    messages = [gateway.publish("orders") for _ in range(10)]
    gateway.turn()
    lost, purged = messages[3:5], messages[5]
    for message in (*lost, purged):
        gateway.log.purged(
            gateway.now_ms,
            message,
            gateway.position_of("orders", message),
            node=gateway.log.name("orders"),
            reason=Reason.PURGE if message == purged else Reason.UNDECODABLE,
        )
        gateway.lose("orders", message)
    gateway.consume("orders", messages[0])
    gateway.stop()
    result = reconcile(spark, gateway.close(), tmp_path / "out")
    found = sorted((row["class"], row["message"], row["node"]) for row in result.breaks)
    assert found == [("LOST", message, "orders") for message in lost]
    assert result.classes == {"LOST": 2}
