"""The store on a disk that fails, at each of its operations in turn: run on the preloaded disk.

    LD_PRELOAD=... FAULTS_CONTROL=FILE PYTHONPATH=tests:. python tests/faults/store_on_disk.py FILE

For each fault and each operation a store and an audit log of their own take some turns, however
often they have to try. In the end all of it must be there, once, and the log be whole. Prints how
many stores there were.
"""

from __future__ import annotations

import sys
from pathlib import Path

from faults.disk import AUDIT, STORE, Disk
from support.stores import Reactor, one_message, reopened, scratch

from gateway.audit.records.log import AuditLog
from gateway.audit.verify import WHOLE, verify
from gateway.errors import StartupError
from gateway.net.data_directory import open_store
from gateway.service.late_segments import LateSegments
from gateway.store import committer, trouble
from gateway.store.sqlite import SqliteStore
from gateway.store.writes import TurnWriter

TURNS = 8
FAULTS = ("full", "broken", "short", "unsynced")


def taken(disk: Disk, directory: Path, fault: str, after: int, times: int) -> bool:
    """One store, with one fault; whether the fault came."""
    segments = LateSegments(directory / "audit")
    reactor = Reactor()
    store = SqliteStore(
        directory,
        segments,
        reactor.calls.put,
        reactor.committed.append,
        reactor.on_failed,
        reactor.on_eased,
        reserve_octets=4096,
    )
    before = disk.failed
    disk.fail(fault, STORE | AUDIT, after=after, times=times)
    for _ in range(times + 1):
        try:
            open_store(store, directory)
            break
        except StartupError:  # the process would end, and be started again
            continue
    audit = AuditLog(1, segments.writer().last_sequence + 1, segment_octets=500)
    for turn in range(1, TURNS + 1):
        writer = one_message(turn) if turn % 3 else TurnWriter()
        if turn == TURNS:
            writer.dequeue(1, 1)
        audit.transaction(1, turn, connection=1, outcome=6)
        block = audit.take_block(turn, writer.any())
        store.submit(turn, writer.take(), block)
        reactor.run_until(lambda turn=turn: turn in reactor.committed)
    store.close(b"")
    disk.heal()
    assert verify(directory / "audit") == WHOLE
    assert segments.writer().last_sequence == TURNS
    kept = [entry.position for entry in reopened(directory).entries]
    assert kept == [2, 4, 5, 7, 8], kept
    return disk.failed > before


def main(control: Path) -> None:
    disk = Disk.attached(control)
    trouble.RETRY_S = 0.0005  # type: ignore[misc]  # of a test
    committer.LOOSE_OCTETS = 1  # type: ignore[misc]  # sync often
    committer.WAL_OCTETS = 20_000  # type: ignore[misc]  # and copy the WAL often
    stores = 0
    for fault in FAULTS:
        for times in (1, 3):
            after, came = 0, True
            while came:
                with scratch() as directory:
                    try:
                        came = taken(disk, Path(directory), fault, after, times)
                    except Exception as error:
                        raise AssertionError(f"{fault} x {times} after {after}") from error
                stores += 1
                after += 1
    print(stores)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
