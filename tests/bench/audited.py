"""What the audit log costs of the throughput: audited against unaudited, in one run.

    PYTHONPATH=tests python tests/bench/audited.py [MESSAGES]

The gateway has no way to run without its log. So this makes a copy of the installed package in
which a record is not written, and a body has no digest; the compiled form has those two modules
compiled again, for which mypyc and a C compiler must be here. Both then carry messages as
`throughput` does in process, by turns, each time in a process of its own. CPU of the best of the
rounds, at two sizes: like ratios mean that the cost is linear.

Still in the copy: what is done to know what would be recorded, and one translation in 64 that is
checked. In neither: what the commit thread does, which writes the segments beside the store. What
stands for it here only answers: to keep all blocks in memory cost the audited form a fifth of what
it was charged with, and to keep the messages made the log of durable ones look cheap. Nor the first
messages of a process, for which memory has to be found.
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
MEASURE = """
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
print(measured(int(sys.argv[1])), audit)
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


def cpu_of(messages: int, kind: str, copy: Path | None) -> float:
    """CPU microseconds a message, with the gateway that is in this directory, or is installed."""
    directory = copy or Path(gateway.__file__).parents[1]
    paths = f"{directory}{os.pathsep}{Path(__file__).parents[1]}"
    environment = os.environ | {"PYTHONPATH": paths}
    arguments = [sys.executable, "-c", MEASURE, str(messages), kind]
    run = subprocess.run(
        arguments, env=environment, cwd="/", check=True, text=True, stdout=subprocess.PIPE
    )
    cpu, octets = run.stdout.split()
    assert (int(octets) == 0) == (copy is not None), "the other form was measured"
    return 1e6 * float(cpu) / messages


def main() -> None:
    messages = int(sys.argv[1]) if len(sys.argv) > 1 else 10_000
    with tempfile.TemporaryDirectory() as scratch:
        copy = Path(scratch)
        unaudited(copy)
        print(f"{'compiled' if COMPILED else 'pure'} form, 0-10 to 1.0, CPU us a message")
        print("             messages    audited  unaudited   unaudited / audited")
        for kind in ("transient", "durable"):
            for size in (messages, 4 * messages):
                rounds = [
                    (cpu_of(size, kind, None), cpu_of(size, kind, copy)) for _ in range(ROUNDS)
                ]
                audited, without = (min(each) for each in zip(*rounds, strict=True))
                figures = f"{size:10,} {audited:10.2f} {without:10.2f} {without / audited:10.3f}"
                print(f"{kind:10} {figures}", flush=True)


if __name__ == "__main__":
    main()
