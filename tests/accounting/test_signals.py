"""The signals that end a job: heard meanwhile, and as before afterwards."""

import os
import signal

import pytest

from gateway.accounting.signals import SIGNALS, heard_by


@pytest.mark.parametrize("which", SIGNALS)
def test_both_are_heard_meanwhile_and_then_by_whom_they_were(which: signal.Signals) -> None:
    before = [signal.getsignal(each) for each in SIGNALS]
    heard: list[int] = []
    with heard_by(lambda number, _frame: heard.append(number)):
        os.kill(os.getpid(), which)
    assert heard == [which]
    assert [signal.getsignal(each) for each in SIGNALS] == before
