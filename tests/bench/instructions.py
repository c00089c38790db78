"""How many instructions a message takes, by callgrind: on a busy machine a clock says little.

    PYTHONPATH=tests python tests/bench/instructions.py [MESSAGES]

What `throughput` does, in processes under valgrind, at MESSAGES (2,000) and five times as many: the
difference is that of the messages alone. A gateway on sockets does something each second besides,
which counts for nothing where messages come as fast as they do, and for much under valgrind, which
is 50 times slower: what an idle one does in the time is taken off. Two builds are compared by
running this twice, each with its own Python and, if its `throughput` is another, its own tests.
"""

from __future__ import annotations

import re
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import NamedTuple

import throughput
from support import gateway_process
from support.gateway_process import GatewayProcess

TIMES = 5
IDLE_S = 20
STARTS_WITHIN_S = 900
VALGRIND = ["valgrind", "--tool=callgrind", "--callgrind-out-file=/dev/null"]
IN_PROCESS = "import sys, throughput; throughput.in_process(int(sys.argv[1]), durable=bool({}))"
_COLLECTED = re.compile(r"Collected : (\d+)")


class Run(NamedTuple):
    """How many instructions, and how long valgrind took for what was measured."""

    instructions: int
    seconds: float


def instructions_in(told: str) -> int:
    """As valgrind says at the end."""
    found = _COLLECTED.search(told)
    assert found is not None, told
    return int(found[1])


def in_process(messages: int, *, durable: bool) -> Run:
    """The faces and the bridge alone."""
    program = [sys.executable, "-P", "-c", IN_PROCESS.format(int(durable)), str(messages)]
    ran = subprocess.run(
        [*VALGRIND, *program],
        capture_output=True,
        text=True,
        check=True,
        env={"PYTHONPATH": ":".join(sys.path), "PYTHONHASHSEED": "0", "PATH": "/usr/bin:/bin"},
    )
    return Run(instructions_in(ran.stderr), 0)


def through_sockets(messages: int, *, durable: bool, idle_s: float = 0) -> Run:
    """A gateway from its start to its stop."""
    with tempfile.TemporaryDirectory() as scratch:
        gateway = GatewayProcess(Path(scratch)).start()
        try:
            time.sleep(idle_s)
            seconds, _ = throughput._through_sockets(gateway, messages, durable)
        finally:
            gateway.stop()
        return Run(instructions_in(gateway.log()), seconds + idle_s)


def idle_a_second(messages: int) -> float:
    """What a gateway does when it has nothing to do."""
    busy = through_sockets(messages, durable=False)
    idle = through_sockets(messages, durable=False, idle_s=IDLE_S)
    return (idle.instructions - busy.instructions) / (idle.seconds - busy.seconds)


def main() -> None:
    messages = int(sys.argv[1]) if len(sys.argv) > 1 else 2000
    plain = gateway_process.command
    gateway_process.command = lambda *words: [*VALGRIND, *plain(*words)]
    gateway_process.STARTS_WITHIN_S = gateway_process.STOPS_WITHIN_S = STARTS_WITHIN_S
    idle = idle_a_second(messages)
    print(f"idle       {idle:10,.0f} instructions a second", flush=True)
    for name, run in (("in-process", in_process), ("sockets", through_sockets)):
        for durable in (False, True):
            few, many = (run(size, durable=durable) for size in (messages, TIMES * messages))
            spent = many.instructions - few.instructions - idle * (many.seconds - few.seconds)
            kind = "durable" if durable else "transient"
            print(
                f"{name:10} {kind:9} {spent / (TIMES - 1) / messages:10,.0f} a message", flush=True
            )


if __name__ == "__main__":
    main()
