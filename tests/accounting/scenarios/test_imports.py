"""The job on logs of gateways into whose stores an operator has brought messages."""

from __future__ import annotations

import io
from pathlib import Path

from support.reconciling import Reconcile
from support.stopped import fill, filled, held, killed, take
from support.whole_gateway import WholeGateway

from gateway.offline.compacting import compact
from gateway.offline.directory import to_read
from gateway.offline.exporting import Wanted, export
from gateway.offline.importing import import_into


def bring(directory: Path, octets: bytes, *, again: bool = False) -> None:
    source = io.BytesIO(octets)
    import_into(directory, source, size=0, who="ann", now_ms=1_700_000_000_000, again=again)


def test_what_an_operator_brought_is_accounted_for_to_its_end(
    reconcile: Reconcile, tmp_path: Path
) -> None:
    out = io.BytesIO()
    with to_read(filled(tmp_path / "a", 5)) as database:
        export(database, Wanted([]), out, 0)
    gateway = WholeGateway(tmp_path / "b").start()
    fill(gateway, 3)
    take(gateway, 1)
    data = killed(gateway, tmp_path / "killed")
    gateway.stop()
    bring(data, out.getvalue())
    bring(data, out.getvalue(), again=True)
    again = WholeGateway(data).start()
    fill(again, 2)
    assert len(take(again, 8)) == 8
    data = killed(again, tmp_path / "killed-again")
    again.stop()
    compact(data)
    assert held(data) == {"orders": 6}
    compact(data)
    assert held(data) == {"orders": 6}
    reconcile(data / "audit")
