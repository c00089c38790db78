"""Who tells a gateway to stop whose event loop stands need not kill it."""

import subprocess
import sys
from pathlib import Path

import pytest

# A gateway that is told to stop and reads from a pipe that nobody writes to: at once, or as soon
# as it has heard of that.
STANDS = """
import os, sys
from signal import SIGTERM
from gateway.cli import main
from gateway.service import standing
from gateway.service.service import Service

standing.STANDS_S = standing.LOOK_S = 0.2
reader, writer = os.pipe()
start, stop = Service.start, Service.stop

def hang():
    os.kill(os.getpid(), SIGTERM)
    if WHERE == "before":
        os.read(reader, 1)

def started(self):
    start(self)
    self.reactor.callLater(0, hang)

def told(self):
    os.read(reader, 1)

Service.start = started
if WHERE == "after":
    Service.stop = told
sys.argv[0] = "amqp-gateway"
main()
"""


@pytest.mark.process
@pytest.mark.parametrize(("where", "code"), [("before", 70), ("after", 70), ("nowhere", 0)])
def test_a_loop_that_stands_does_not_keep_the_process(
    tmp_path: Path, where: str, code: int
) -> None:
    options = ["listen.amqp=127.0.0.1:0", "admin=127.0.0.1:0", f"data_directory={tmp_path}/data"]
    given = [part for option in options for part in ("--set", option)]
    done = subprocess.run(
        [sys.executable, "-c", f"WHERE = {where!r}\n{STANDS}", "serve", *given],
        capture_output=True,
        text=True,
        timeout=50,
        check=False,
    )
    last = done.stderr.splitlines()[-1]
    assert (done.returncode, "its event loop stands" in last) == (code, code == 70), done.stderr
