"""A thread that dies, in a process of its own."""

import subprocess
import sys


def test_a_thread_that_dies_ends_the_process_and_says_why() -> None:
    program = (
        "import sys, threading\n"
        "from gateway.net.logs import begin_logging\n"
        "from gateway.service.process import on_thread_died\n"
        "begin_logging(sys.stderr, level='info', form='text')\n"
        "threading.excepthook = on_thread_died\n"
        "thread = threading.Thread(target=lambda: 1 // 0, name='store')\n"
        "thread.start()\n"
        "threading.Event().wait(60)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, timeout=50, check=False
    )
    assert done.returncode == 70
    assert "thread store has died, and with it the gateway: ZeroDivisionError" in done.stderr
