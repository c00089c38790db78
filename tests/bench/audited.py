"""What the audit log costs of the throughput: audited against unaudited, in one run.

    PYTHONPATH=tests python tests/bench/audited.py [MESSAGES]

The gateway has no way to run without its log. So this makes a copy of the installed package in
which a record is not written, and a body has no digest; the compiled form has those two modules
compiled again, for which mypyc and a C compiler must be here. Both then carry messages as
`throughput` does, by turns, each time in a process of its own. CPU of the best of the rounds.

*in process*, at two sizes: like ratios mean that the cost is linear. What the commit thread does is
in neither. What stands for it only answers: to keep all blocks in memory cost the audited form a
fifth of what it was charged with, and to keep the messages made the log of durable ones look cheap.
Nor are the first messages of a process, for which memory has to be found.
*sockets*: all threads of a gateway with its disk. The commit thread hashes and writes the segments.

Still in the copy: what is done to know what would be recorded, and one translation in 64 that is
checked.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import gateway
from gateway.wire import buffers

ROUNDS = 11
ROUNDS_ON_SOCKETS = 5
COMPILED = not buffers.__file__.endswith(".py")
# Of each module: how a function begins, what its annotation ends with, and what it does instead.
LEFT_OUT = {
    "audit/packing.py": [("    def _write(", ") -> None:\n", "        return\n")],
    "audit/digests.py": [
        ("def digest(", ") -> int64:\n", "    return 0\n"),
        ("def digest_part(", ") -> int64:\n", "    return 0\n"),
    ],
}
COMPILE = """
import sys
from mypyc.build import mypycify
from setuptools import setup
paths = sys.argv[3:]
groups = [([path], path.removesuffix(".py").replace("/", ".")) for path in paths]
made = mypycify(["--config-file=", f"--cache-dir={sys.argv[2]}", *paths], opt_level="3",
                separate=groups, debug_level="0", target_dir=sys.argv[2])
for each in made:
    each.extra_compile_args.append("-w")
setup(name="copy", py_modules=[], ext_modules=made,
      script_args=["build_ext", "--build-lib", sys.argv[1], "--build-temp", sys.argv[2]])
"""
IN_PROCESS = """
import sys
from functools import partial
from bench.throughput import in_process
audit = 0
class Answering:
    def __init__(self, world):
        world.store.submit = self.submit
        self.tell, self.committed = world.calls.append, world._committed
    def submit(self, turn, writes, audit_block):
        global audit
        audit += len(audit_block)
        self.tell(partial(self.committed, turn))
durable = sys.argv[2] == "durable"
def measured(messages):
    return in_process(messages, durable=durable, seen=lambda hub: Answering(hub.world))[1]
measured(1000)
audit = 0
print(measured(int(sys.argv[1])))
assert (audit > 0) == (sys.argv[3] == "audited"), "the other form was measured"
"""
SOCKETS = """
import sys
from bench.throughput import through_sockets
print(through_sockets(int(sys.argv[1]), durable=sys.argv[2] == "durable")[1])
"""


def unaudited(directory: Path) -> None:
    """Put the copy there."""
    shutil.copytree(Path(gateway.__file__).parent, directory / "gateway")
    for name, functions in LEFT_OUT.items():
        path = directory / "gateway" / name
        text = path.read_text()
        for begins, ends, instead in functions:
            at = text.index(ends, text.index(begins)) + len(ends)
            text = text[:at] + instead + text[at:]
        path.write_text(text)
    if COMPILED:
        with tempfile.TemporaryDirectory() as scratch:
            names = [f"gateway/{name}" for name in LEFT_OUT]
            arguments = [sys.executable, "-c", COMPILE, str(directory), scratch, *names]
            subprocess.run(arguments, cwd=directory, check=True, stdout=subprocess.DEVNULL)


def cpu_of(program: str, messages: int, kind: str, copy: Path | None) -> float:
    """CPU microseconds a message, with the gateway that is in this directory, or is installed."""
    directory = copy or Path(gateway.__file__).parents[1]
    paths = f"{directory}{os.pathsep}{Path(__file__).parents[1]}"
    form = "audited" if copy is None else "unaudited"
    run = subprocess.run(
        [sys.executable, "-P", "-c", program, str(messages), kind, form],
        env=os.environ | {"PYTHONPATH": paths},
        check=True,
        text=True,
        stdout=subprocess.PIPE,
    )
    return 1e6 * float(run.stdout) / messages


def main() -> None:
    messages = int(sys.argv[1]) if len(sys.argv) > 1 else 10_000
    with tempfile.TemporaryDirectory() as scratch:
        copy = Path(scratch)
        unaudited(copy)
        print(f"{'compiled' if COMPILED else 'pure'} form, 0-10 to 1.0, CPU us a message")
        print("                        messages    audited  unaudited   unaudited / audited")
        for way, program, sizes, rounds in (
            ("in process", IN_PROCESS, (messages, 4 * messages), ROUNDS),
            ("sockets", SOCKETS, (10 * messages,), ROUNDS_ON_SOCKETS),
        ):
            for kind in ("transient", "durable"):
                for size in sizes:
                    spent = [
                        [cpu_of(program, size, kind, each) for each in (None, copy)]
                        for _ in range(rounds)
                    ]
                    audited, without = (min(each) for each in zip(*spent, strict=True))
                    figures = f"{audited:10.2f} {without:10.2f} {without / audited:10.3f}"
                    print(f"{way:11} {kind:10} {size:10,} {figures}", flush=True)


if __name__ == "__main__":
    main()
