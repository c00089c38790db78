"""What it costs to reconcile: CPU seconds for a million records, memory, and how that grows.

    python tests/bench/accounting.py --records 1 4 16            # in millions
    python tests/bench/accounting.py --records 0.5 --hours 24

Writes the log of an honest gateway, four records a message, with checkpoints, what publishers were
told, translations that were looked at, and clients that come and go, and runs the job as people do.
With `--hours` the log grows by as many records before each of so many runs, which go on from each
other's state: what is in that, in rows and octets, is to stay as it is, and so is the time.
"""

from __future__ import annotations

import argparse
import json
import os
import struct
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from hashlib import sha256
from pathlib import Path
from typing import Any, NamedTuple
from zlib import crc32

import numpy as np
from pyarrow import parquet

from gateway.accounting.segments.columns import entry_mix
from gateway.audit.schema import FIELDS, RECORD_OCTETS, SCHEMA_VERSION, Flag, Kind, Outcome

QUEUES = 50
EXCHANGE = QUEUES + 1
LAG = 400  # messages that wait in queues, and as many that consumers have
CLIENTS = 20  # that come and go between two checkpoints
CHECKED = 64  # of so many messages one is looked at
BLOCK = 400  # records that a turn writes
SEGMENT = 600_000  # records, as 64 MiB have
PERIOD = 60_000  # records from checkpoint to checkpoint
START_MS = 1_790_000_000_000
DTYPE = np.dtype(
    {
        "names": [field.name for field in FIELDS],
        "formats": [f"<i{int(field.type[1:]) // 8}" for field in FIELDS],
        "offsets": [field.offset for field in FIELDS],
        "itemsize": RECORD_OCTETS,
    }
)

Rows = np.ndarray[Any, Any]  # structured by the schema's fields


class Log:
    """An honest gateway's log, of one run, which goes on."""

    def __init__(self, directory: Path, name: str = "bench") -> None:
        """`name`: its id."""
        directory.mkdir(parents=True)
        self.directory, self.name = directory, name
        self.slots = 0  # messages so far
        self.visits = 0  # of clients
        self.sequence = 0
        self.number = 0
        self.before = "0" * 64

    def grow(self, records: int) -> None:
        """So many more, in segments that are closed."""
        while records > 0:
            wanted = min(records, SEGMENT)
            self._segment(wanted)
            records -= wanted

    def _segment(self, records: int) -> None:
        self.number += 1
        parts: list[Rows] = []
        if self.number == 1:
            start = np.zeros(1, DTYPE)
            start["kind"], start["message"], start["position"] = Kind.INCARNATION_STARTED, 1, -1
            parts.append(start)
        left = records
        while left > 0:
            before = self.slots
            parts.append(self._messages(min(left, PERIOD) // 4))
            parts += (self._told(before), self._visits(), self._checkpoint())
            left -= PERIOD
        rows = np.concatenate(parts)
        rows["sequence"] = np.arange(self.sequence + 1, self.sequence + 1 + len(rows))
        rows["time_ms"] = START_MS + rows["sequence"] // 4
        self.sequence += len(rows)
        self._write(rows)

    def _messages(self, count: int) -> Rows:
        """Of each slot: one comes and enters, an earlier one is sent, one before that settled."""
        slots = np.arange(self.slots + 1, self.slots + 1 + count)
        self.slots += count
        rows = np.zeros((count, 4), DTYPE)
        kinds = (Kind.SETTLED, Kind.SENT, Kind.RECEIVED, Kind.ENTERED)
        for place, (kind, lag) in enumerate(zip(kinds, (2 * LAG, LAG, 0, 0), strict=True)):
            column, message = rows[:, place], slots - lag
            column["kind"], column["message"] = kind, message
            column["link"] = 1 + message % QUEUES
            column["size"] = 100
            column["body_digest"] = message * 7919 + 1
            if kind in (Kind.RECEIVED, Kind.SENT):
                column["id_digest"] = message * 104_729 + 1
            if kind == Kind.RECEIVED:
                column["exchange"], column["copies"] = EXCHANGE, 1
                column["flags"] = Flag.DURABLE
                continue
            column["position"] = message
            column["node"] = 1 + message % QUEUES
            if kind == Kind.ENTERED:
                column["exchange"], column["link"], column["flags"] = EXCHANGE, 0, Flag.DURABLE
            if kind == Kind.SETTLED:
                column["body_digest"] = column["size"] = 0
                column["outcome"], column["flags"] = Outcome.ACCEPTED, Flag.REMOVED
        flat = rows.reshape(-1)
        return flat[flat["message"] > 0]

    def _told(self, before: int) -> Rows:
        """To publishers, of all that came since; and what was looked at of what was sent."""
        rows = np.zeros(QUEUES, DTYPE)
        for link in range(1, QUEUES + 1):
            came = np.arange(before + 1, self.slots + 1)
            mine = came[1 + came % QUEUES == link]
            if len(mine):
                row = rows[link - 1 : link]
                row["kind"], row["outcome"], row["link"] = Kind.CONFIRMED, Outcome.ACCEPTED, link
                row["message"], row["position"], row["copies"] = mine[0], mine[-1], len(mine)
        sent = np.arange(max(before - LAG, 0) + 1, self.slots - LAG + 1)
        sent = sent[sent % CHECKED == 0]
        looked = np.zeros(len(sent), DTYPE)
        looked["kind"], looked["message"] = Kind.TRANSLATION_CHECKED, sent
        looked["link"] = 1 + sent % QUEUES
        return np.concatenate((rows[rows["kind"] != 0], looked))

    def _visits(self) -> Rows:
        """Clients that open a connection, a session and a link, and close them again."""
        kinds = (
            *(Kind.CONNECTION_OPENED, Kind.SESSION_ATTACHED, Kind.LINK_ATTACHED),
            *(Kind.LINK_DETACHED, Kind.SESSION_DETACHED, Kind.CONNECTION_CLOSED),
        )
        rows = np.zeros((CLIENTS, len(kinds)), DTYPE)
        numbers = QUEUES + self.visits + np.arange(1, CLIENTS + 1)
        self.visits += CLIENTS
        for place, kind in enumerate(kinds):
            rows[:, place]["kind"], rows[:, place]["connection"] = kind, numbers
            if kind in (Kind.LINK_ATTACHED, Kind.LINK_DETACHED):
                rows[:, place]["link"], rows[:, place]["node"] = numbers, 1
        return rows.reshape(-1)

    def _checkpoint(self) -> Rows:
        there = np.arange(max(1, self.slots - 2 * LAG + 1), self.slots + 1)
        mixes = entry_mix(there, there)
        queues, outlets = np.zeros(QUEUES, DTYPE), np.zeros(QUEUES, DTYPE)
        rest = np.zeros(2, DTYPE)
        for queue in range(QUEUES):
            mine = there % QUEUES == queue
            at = queues[queue : queue + 1]
            at["kind"], at["node"] = Kind.QUEUE_CHECKPOINT, queue + 1
            at["position"] = np.count_nonzero(mine)
            at["id_digest"] = np.bitwise_xor.reduce(mixes[mine])
            at = outlets[queue : queue + 1]
            at["kind"], at["link"] = Kind.OUTLET_CHECKPOINT, queue + 1
            at["copies"] = np.count_nonzero(there[mine] <= self.slots - LAG)
        rest["kind"] = Kind.ROUTE_CHECKPOINT, Kind.CLOCK
        rest["exchange"][0] = EXCHANGE
        return np.concatenate((queues, outlets, rest))

    def _write(self, rows: Rows) -> None:
        header = {"schema": SCHEMA_VERSION, "incarnation": 1, "number": self.number}
        header |= {"log": self.name}
        text = json.dumps(header | {"previous_sha256": self.before}).encode()
        parts = [struct.pack("<8sII", b"AMQPAUDT", crc32(text), len(text)), text]
        names = [b"queue.%d" % number for number in range(QUEUES)] + [b"amq.topic"]
        entries = [struct.pack("<iH", at, len(name)) + name for at, name in enumerate(names, 1)]
        parts += block(1, b"".join(entries))
        octets = rows.tobytes()
        for at in range(0, len(octets), BLOCK * RECORD_OCTETS):
            parts += block(2, octets[at : at + BLOCK * RECORD_OCTETS])
        whole = b"".join(parts)
        self.before = sha256(whole).hexdigest()
        (self.directory / f"{self.number:010d}-000001.audit").write_bytes(whole)


def block(kind: int, content: bytes) -> Iterator[bytes]:
    """One block, its header first."""
    rest = struct.pack("<IBBH", len(content), kind, 0, SCHEMA_VERSION)
    yield struct.pack("<I", crc32(content, crc32(rest))) + rest
    yield content


class Cost(NamedTuple):
    """What all processes of a run took together; `java_s`: of the CPU, what was Java's."""

    seconds: float
    cpu_s: float
    java_s: float
    peak_mib: float
    code: int
    said: str


def run(command: list[str]) -> Cost:
    """Run it to its end; Spark's processes are those of its session."""
    began = time.monotonic()
    process = subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, start_new_session=True, text=True
    )
    ticks: dict[int, int] = {}
    java: set[int] = set()
    peak = 0
    while process.poll() is None:
        resident = 0
        for stat in Path("/proc").glob("[0-9]*/stat"):
            try:
                name, _, rest = stat.read_text().rpartition(")")
            except OSError:  # it has just ended
                continue
            said = rest.split()
            if int(said[3]) == process.pid:
                number = int(stat.parent.name)
                ticks[number] = int(said[11]) + int(said[12])
                if name.endswith("(java"):
                    java.add(number)
                resident += int(said[21])
        peak = max(peak, resident)
        time.sleep(0.2)
    assert process.stdout is not None
    return Cost(
        time.monotonic() - began,
        sum(ticks.values()) / os.sysconf("SC_CLK_TCK"),
        sum(ticks[each] for each in java) / os.sysconf("SC_CLK_TCK"),
        peak * os.sysconf("SC_PAGE_SIZE") / 2**20,
        process.returncode,
        process.stdout.read(),
    )


def reconcile(log: Log, scratch: Path, master: str, *flags: str) -> Cost:
    """As people do it; what it says is shown where it does not say that all is well."""
    job = [sys.executable, "-m", "gateway.accounting", "reconcile", str(log.directory)]
    cost = run([*job, "--out", str(scratch / "out"), "--master", master, *flags])
    if cost.code:
        print(cost.said)
    return cost


def left(state: Path) -> tuple[int, int]:
    """How many rows and octets a state has."""
    tables = list(state.glob("*/*.parquet"))
    rows = sum(parquet.ParquetFile(table).metadata.num_rows for table in tables)
    return rows, sum(table.stat().st_size for table in tables)


def shown(cost: Cost, millions: float) -> str:
    """One line's worth."""
    return (
        f"{cost.seconds:6.1f} s, {cost.cpu_s:6.1f} CPU s ({cost.cpu_s / millions:.1f} a million), "
        f"{cost.peak_mib:.0f} MiB, exit code {cost.code}"
    )


def main() -> None:
    """See the module."""
    assert __doc__ is not None
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--records", type=float, nargs="+", default=[1], help="in millions")
    parser.add_argument("--hours", type=int, default=0, help="runs with one state")
    parser.add_argument("--master", default="local[2]")
    parser.add_argument("--directory", type=Path, help="for the logs (default: a temporary one)")
    options = parser.parse_args()
    for millions in options.records:
        with tempfile.TemporaryDirectory(dir=options.directory) as name:
            scratch = Path(name)
            log = Log(scratch / "log")
            for hour in range(1, options.hours + 1):
                log.grow(int(millions * 1_000_000))
                cost = reconcile(log, scratch, options.master, f"--state={scratch / 'state'}")
                rows, size = left(scratch / "state")
                print(f"run {hour:3}: {shown(cost, millions)}; {rows} rows, {size} octets")
                sys.stdout.flush()
            if not options.hours:
                log.grow(int(millions * 1_000_000))
                cost = reconcile(log, scratch, options.master)
                print(f"{millions:6g} million records: {shown(cost, millions)}", flush=True)


if __name__ == "__main__":
    main()
