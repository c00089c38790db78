"""Who tells a gateway to stop whose event loop stands need not kill it."""

from pathlib import Path

import pytest
from support.python_programs import serve_changed

# A gateway that is told to stop and reads from a pipe that nobody writes to: at once, or as soon
# as it has heard of that.
STANDS = """
import os
from signal import SIGTERM
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
"""


@pytest.mark.process
@pytest.mark.parametrize(("where", "code"), [("before", 70), ("after", 70), ("nowhere", 0)])
def test_a_loop_that_stands_does_not_keep_the_process(
    tmp_path: Path, where: str, code: int
) -> None:
    done = serve_changed(f"WHERE = {where!r}\n{STANDS}", tmp_path, code=code)
    last = done.stderr.splitlines()[-1]
    assert ("its event loop stands" in last) is (code == 70), done.stderr
