"""A process of its own: what `run` wires, a thread that dies, few files that it may have open."""

import fcntl
import json
import os
import re
import resource
import subprocess
from contextlib import ExitStack, suppress
from pathlib import Path
from signal import SIGHUP, SIGTERM
from socket import create_connection

import pytest
from support.gateway_process import GatewayProcess, command, run
from support.python_programs import run_python, serve_changed
from support.raw_peers import Raw, Raw010

from gateway.amqp_0_10 import _spec as spec
from gateway.net.listening.first_octets import HEADER_0_10
from gateway.net.listening.proxy_header import SIGNATURE
from gateway.net.listening.users import make_user, write_users

pytestmark = pytest.mark.process


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
    done = run_python(program, code=70)
    assert "thread store has died, and with it the gateway: ZeroDivisionError" in done.stderr


def test_an_exception_that_nobody_can_catch_is_a_line_of_the_log() -> None:
    program = (
        "import sys\n"
        "from gateway.net.logs import begin_logging\n"
        "from gateway.service.process import on_unraisable\n"
        "begin_logging(sys.stderr, level='info', form='json')\n"
        "sys.unraisablehook = on_unraisable\n"
        "class Broken:\n"
        "    def __del__(self):\n"
        "        1 // 0\n"
        "Broken()\n"
    )
    done = run_python(program)
    (line,) = map(json.loads, done.stderr.splitlines())
    assert (line["level"], line["logger"]) == ("critical", "gateway.service.Service")
    assert "Broken.__del__" in line["message"]
    assert "ZeroDivisionError" in line["traceback"]


@pytest.mark.parametrize("said", ["log.err()", "Logger().failure('x')"])
@pytest.mark.parametrize(("error", "ends"), [("MemoryError", True), ("ZeroDivisionError", False)])
def test_memory_that_was_refused_to_others_ends_the_process(
    said: str, error: str, ends: bool
) -> None:
    program = (
        "import sys\n"
        "from twisted.logger import Logger, globalLogPublisher\n"
        "from twisted.python import log\n"
        "from gateway.net.logs import begin_logging\n"
        "from gateway.service.process import Witness\n"
        "begin_logging(sys.stderr, level='info', form='text')\n"
        "globalLogPublisher.addObserver(Witness())\n"
        "try:\n"
        f"    raise {error}\n"
        "except Exception:\n"
        f"    {said}\n"
    )
    done = run_python(program, code=70 if ends else 0)
    assert ("the gateway ends" in done.stderr) is ends


def told(gateway: GatewayProcess, name: str) -> int:
    """What the kernel tells of the process under `name`."""
    found = re.search(rf"{name}:\s+(\d+)", Path(f"/proc/{gateway.pid}/status").read_text())
    assert found is not None
    return int(found[1])


def allow_no_more(gateway: GatewayProcess) -> None:
    """It gets no more memory than it has by now."""
    limit = (told(gateway, "VmSize") * 1024, resource.RLIM_INFINITY)
    resource.prlimit(gateway.pid, resource.RLIMIT_AS, limit)


def test_whoever_logs_in_needs_no_new_thread(tmp_path: Path) -> None:
    users = tmp_path / "users.yaml"
    write_users(users, {"alice": make_user("secret", 4096)})
    with GatewayProcess(tmp_path, {"users_file": str(users)}) as gateway:
        gateway.get("/healthz")  # the reactor runs, with threads of its own
        before = told(gateway, "Threads")
        where = ("--port", str(gateway.amqp_port), "-p", "0-10", "--to", "q", "--create")
        given = ("--user", "alice", "--password-stdin")
        sent = gateway.tool("send", *where, *given, given="secret\n")
        assert (sent.returncode, sent.stderr) == (0, "")
        assert told(gateway, "Threads") == before


def test_memory_that_is_refused_ends_the_process_as_a_kill_does(tmp_path: Path) -> None:
    gateway = GatewayProcess(tmp_path)
    large = tmp_path / "large"
    large.write_bytes(b"x" * 4_000_000)
    with gateway:
        where = ("--port", str(gateway.amqp_port), "-p", "0-10", "--to", "q", "--durable")
        assert gateway.tool("send", *where, "--create", "--count", "40").returncode == 0
        allow_no_more(gateway)
        sent = gateway.tool("send", *where, "--count", "20", "--body-file", str(large))
        assert sent.returncode == 1
        assert gateway.wait() == 70
        assert "MemoryError" in gateway.log().splitlines()[-1]
    with gateway:
        assert gateway.recovered >= 40
    checked = gateway.tool("audit", "verify", str(gateway.data))
    assert (checked.returncode, checked.stdout.count("whole")) == (0, 1)


def test_a_log_that_nobody_reads_holds_neither_clients_nor_the_stop(tmp_path: Path) -> None:
    reader, writer = os.pipe()
    fcntl.fcntl(writer, fcntl.F_SETPIPE_SZ, 4096)
    options = ["listen.amqp=127.0.0.1:0", "admin=127.0.0.1:0", "logging.level=debug"]
    options += [f"data_directory={tmp_path}/data", "store_reserve=0"]
    given = [part for option in options for part in ("--set", option)]
    process = subprocess.Popen(command("serve", *given), stdout=writer, stderr=writer)
    os.close(writer)
    with process, open(reader) as log:
        ready = next(line for line in log if " is ready: " in line)
        ports = [int(port) for port in re.findall(r"127\.0\.0\.1:(\d+)", ready)]
        try:
            for _ in range(60):  # each has several lines
                with Raw010(ports[0], patience_s=30) as client:
                    client.log_in()
            with Raw(ports[1], patience_s=30) as probe:
                probe.say(b"GET /readyz HTTP/1.1\r\nHost: x\r\n\r\n")
                assert probe.hear().startswith(b"HTTP/1.1 200 ")
            process.send_signal(SIGTERM)
            assert process.wait(60) == 0
        finally:
            process.kill()


def test_a_stop_does_not_wait_for_files_that_do_not_answer(tmp_path: Path) -> None:
    with GatewayProcess(tmp_path) as gateway:
        file = tmp_path / "gateway.yaml"
        file.unlink()
        os.mkfifo(file)
        gateway.signal(SIGHUP)
        with file.open("wb"):  # a thread of the gateway reads it now, and has nothing
            gateway.signal(SIGTERM)
            assert gateway.wait() == 0
    assert gateway.log().splitlines()[-1].endswith("Service: stopped")


# A gateway that gets a SIGHUP before it has recovered, which stands for its stop here, and each
# signal again when nothing of Python is left but that.
SIGNALLED = """
import os
from signal import SIGHUP, SIGINT, SIGTERM
from gateway.service.service import Service

class Last:
    def __del__(self, kill=os.kill, process=os.getpid(), numbers=(SIGHUP, SIGINT, SIGTERM)):
        for number in numbers:
            kill(process, number)

last = Last()
make = Service.__init__

def made(self, *arguments, **named):
    os.kill(os.getpid(), SIGHUP)
    make(self, *arguments, **named)

Service.__init__ = made
Service.reload = Service.stop
"""


def test_signals_at_the_beginning_and_at_the_end_kill_nothing(tmp_path: Path) -> None:
    done = serve_changed(SIGNALLED, tmp_path)
    assert done.stderr.splitlines()[-1].rpartition(": ")[2] == "stopped before it was ready"
    assert done.returncode == 0


# A gateway whose store is given a turn that nobody can read, as soon as it has started.
BROKEN_STORE = """
from gateway.service.service import Service

start = Service.start

def started(self):
    start(self)
    self.store.submit(1 << 40, bytes(3), b"")

Service.start = started
"""


def test_a_gateway_whose_commit_thread_dies_ends_and_says_why(tmp_path: Path) -> None:
    done = serve_changed(BROKEN_STORE, tmp_path, code=70)
    assert " is ready: " in done.stderr
    (line,) = [line for line in done.stderr.splitlines() if "critical" in line]
    assert "thread store has died, and with it the gateway: DecodeError: " in line


def test_what_is_allowed_but_perhaps_not_meant_is_said_at_the_start(tmp_path: Path) -> None:
    users, token = tmp_path / "users.yaml", tmp_path / "token"
    write_users(users, {"alice": make_user("secret", 10)})
    users.chmod(0o604)
    token.write_text("sesame")
    token.chmod(0o600)
    config = {
        "listen": {"amqp": "0.0.0.0:0"},
        "admin": "0.0.0.0:0",
        "users_file": str(users),
        "admin_token_file": str(token),
    }
    gateway = GatewayProcess(tmp_path, config)
    with gateway:
        pass
    log = gateway.log()
    warned = [
        line.partition(" warn ")[2].partition("Service: ")[2]
        for line in log.partition(" is ready: ")[2].splitlines()
        if " warn " in line
    ]
    assert warned == [
        "access rules: there are none: everybody may do everything, and users_file has users:"
        " set access.file",
        "the admin token crosses the network in clear text on 0.0.0.0:0",
        f"users_file: other users of this machine can use {users} (mode 604); chmod 600",
        *(line for line in warned if "is not offered" in line),
        "passwords may cross the network in clear text on 0.0.0.0:0; whose do is told, and counted"
        " (gateway_plain_logins_in_clear_total)",
    ]
    assert len(warned) == 6  # no SCRAM for a user of 10 iterations


def passed_on(address: str) -> bytes:
    """What a proxy says first."""
    source = bytes(map(int, address.split(".")))
    rest = source + bytes((10, 0, 0, 1)) + (4711).to_bytes(2, "big") + bytes(2)
    return SIGNATURE + b"\x21\x11" + len(rest).to_bytes(2, "big") + rest


def test_the_address_that_a_proxy_tells_is_the_one_that_counts(tmp_path: Path) -> None:
    rules = tmp_path / "access.yaml"
    rules.write_text("rules: [{allow: all, addresses: 203.0.113.9}]")
    config = {"listen": {"proxy_protocol": ["amqp"]}, "access": {"file": str(rules)}}
    with GatewayProcess(tmp_path, config) as gateway:
        with Raw010(gateway.amqp_port, patience_s=30) as client:
            client.say(passed_on("203.0.113.9"))
            client.log_in()
        with Raw010(gateway.amqp_port, patience_s=30) as other, suppress(AssertionError):
            other.say(passed_on("203.0.113.8"))
            other.log_in()
        assert not other.connection.open
        with Raw010(gateway.amqp_port, patience_s=30) as bare, suppress(AssertionError):
            bare.log_in()  # no proxy
        assert not bare.connection.open
    log = gateway.log()
    assert "connection 1 from 203.0.113.9" in log
    assert "connection 2 from 203.0.113.8" in log
    assert "a connection from 127.0.0.1 was refused: it is no proxy" in log
    told = run("audit", "cat", str(gateway.audit)).stdout
    records = [json.loads(line) for line in told.splitlines()]
    found = [
        (record["kind"], record["address"].partition(":")[0])
        for record in records
        if record["kind"] in ("connection-opened", "connection-refused")
    ]
    assert found == [
        ("connection-opened", "203.0.113.9"),
        ("connection-refused", "203.0.113.8"),
    ]


def test_a_stop_does_not_wait_for_metrics_that_are_being_gathered(tmp_path: Path) -> None:
    queues = 3000
    config = {"queues": {"queues": 2 * queues}}
    with GatewayProcess(tmp_path, config) as gateway, ExitStack() as scrapers:
        with Raw010(gateway.amqp_port, patience_s=60) as client:
            session = client.log_in().attach()
            declared = [
                spec.QueueDeclare(queue=f"queue-{number}", durable=True) for number in range(queues)
            ]
            assert client.does(session, declared)
        # Each wants a text of its own, which a thread makes: they have work for a while.
        asked = [scrapers.enter_context(Raw(gateway.admin_port, patience_s=60)) for _ in range(12)]
        for number, scraper in enumerate(asked):
            names = b"name[]=gateway_object_queue_messages&name[]=%d" % number
            scraper.say(b"GET /metrics/objects?%b HTTP/1.1\r\nHost: x\r\n\r\n" % names)
        assert gateway.get("/healthz") == "ok\n"  # their requests have come as well
        gateway.signal(SIGTERM)
        assert gateway.wait() == 0


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
