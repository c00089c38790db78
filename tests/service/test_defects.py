"""Whatever nobody had foreseen is counted once when it reaches the log."""

import pytest
from support.net import counting_defects
from support.python_programs import run_python
from twisted.logger import Logger, LogLevel
from twisted.python import log
from twisted.python.failure import Failure

from gateway.net.counts import NetCounts

LOG = Logger()


def failure() -> Failure:
    return Failure(ZeroDivisionError())


@pytest.mark.parametrize(
    ("say", "defects"),
    [
        (lambda: LOG.failure("broke", failure()), 1),
        (lambda: log.err(failure(), "broke"), 1),
        (lambda: LOG.failure("expected", failure(), LogLevel.warn), 0),
        (lambda: LOG.critical("the disk is gone"), 0),
        (lambda: LOG.error("refused: {failure}", failure=failure()), 0),
        (lambda: LOG.info("stopped"), 0),
    ],
)
def test_what_is_critical_and_an_exception_is_one(say: object, defects: int) -> None:
    counts = NetCounts()
    with counting_defects(counts):
        say()  # type: ignore[operator]
    assert counts.defects == defects


CAUGHT_BY_TWISTED = """
import gc
from twisted.internet import reactor
from twisted.internet.defer import fail
from twisted.internet.threads import deferToThread
from twisted.logger import globalLogPublisher
from gateway.net.counts import NetCounts
from gateway.service.defects import Defects

counts = NetCounts()
globalLogPublisher.addObserver(Defects(counts))
seen = []

def look():
    gc.collect()
    seen.append(counts.defects)

def unheard():
    fail(ValueError())
    deferToThread(lambda: 1 // 0).addErrback(lambda failure: failure.trap(KeyError))

steps = [
    lambda: 1 // 0,
    lambda: reactor.callFromThread(lambda: 1 // 0),
    unheard,
    look,
    reactor.stop,
]
for at, step in enumerate(steps):
    reactor.callLater(at * 0.2, step)
reactor.run()
print(seen)
"""


@pytest.mark.process
def test_what_twisted_catches_is_one() -> None:
    done = run_python(CAUGHT_BY_TWISTED)
    assert done.stdout == "[4]\n"
