"""A process of its own: a thread that dies, and few files that it may have open."""

import re
import resource
import subprocess
import sys
from contextlib import ExitStack, suppress
from pathlib import Path
from socket import create_connection

from support.gateway_process import GatewayProcess

from gateway.net.listening.first_octets import HEADER_0_10


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


def test_memory_that_is_refused_ends_the_process_as_a_kill_does(tmp_path: Path) -> None:
    gateway = GatewayProcess(tmp_path)
    large = tmp_path / "large"
    large.write_bytes(b"x" * 4_000_000)
    with gateway:
        where = ("--port", str(gateway.amqp_port), "-p", "0-10", "--to", "q", "--durable")
        assert gateway.tool("send", *where, "--create", "--count", "40").returncode == 0
        taken = re.search(r"VmSize:\s+(\d+) kB", Path(f"/proc/{gateway.pid}/status").read_text())
        assert taken is not None
        limit = (int(taken[1]) * 1024, resource.RLIM_INFINITY)
        resource.prlimit(gateway.pid, resource.RLIMIT_AS, limit)
        sent = gateway.tool("send", *where, "--count", "20", "--body-file", str(large))
        assert sent.returncode == 1
        assert gateway.wait() == 70
        assert "MemoryError" in gateway.log().splitlines()[-1]
    with gateway:
        assert gateway.recovered >= 40
    checked = gateway.tool("audit", "verify", str(gateway.data))
    assert (checked.returncode, checked.stdout.count("whole")) == (0, 1)


def test_clients_that_want_all_files_leave_some_for_probes_and_for_the_log(tmp_path: Path) -> None:
    gateway = GatewayProcess(tmp_path, {"audit": {"segment_size": "64KiB"}}, files=48)
    with gateway, ExitStack() as clients:
        heard = 0
        for _ in range(60):
            client = clients.enter_context(create_connection(("127.0.0.1", gateway.amqp_port), 30))
            client.sendall(HEADER_0_10)
            with suppress(ConnectionError):
                heard += client.recv(8) == HEADER_0_10
        assert 0 < heard < 40
        assert (gateway.get("/healthz"), gateway.get("/readyz")) == ("ok\n", "ok\n")
        refused = f'gateway_connections_refused_total{{reason="files"}} {60 - heard}.0'
        assert refused in gateway.get("/metrics")
    log = gateway.log()
    assert f"only 48 files may be open (ulimit -n): {heard} clients are let in" in log
    assert "from 127.0.0.1 was refused: there are as many as files may be open for" in log
