"""The dashboards: what they ask is there, and a real Prometheus answers it."""

import contextlib
import json
import math
import pathlib
import re
import socket
import subprocess
import threading
import time
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Self

import pytest
import yaml
from support.gateway_process import GatewayProcess, command

from gateway.accounting.telling.verdicts import HELP
from gateway.codegen.boards import DASHBOARDS
from gateway.codegen.dashboards import expressions
from gateway.metrics import METRICS, OBJECT_METRICS

from .conftest import CHART

WITHIN_S = 40
FILES = sorted((CHART / "dashboards").glob("*.json"))
# What the jobs push, as it is when they have found nothing.
VERDICT = "".join(
    f'{name}{{class="lost"}} 0\n'
    if name in ("gateway_reconcile_breaks", "gateway_reconcile_unproven")
    else f"{name} 1\n"
    for name in HELP
)


def asked(file: pathlib.Path) -> list[str]:
    """Every expression in a file."""
    panels = json.loads(file.read_text())["panels"]
    return [target["expr"] for panel in panels for target in panel.get("targets", ())]


@pytest.mark.parametrize("file", FILES, ids=lambda file: str(file.stem))
def test_a_dashboard_asks_only_for_metrics_whose_names_are_promised(file: pathlib.Path) -> None:
    rows = (*METRICS, *OBJECT_METRICS)
    promised = {row.name for row in rows if row.stable}
    ends = {
        f"{row.name}_{end}"
        for row in rows
        if row.kind == "histogram"
        for end in ("bucket", "count")
    }
    for expression in asked(file):
        named = set(re.findall(r"gateway_\w+", expression))
        assert named <= promised | ends | set(HELP), expression


def test_each_dashboard_is_a_file() -> None:
    assert {file.stem for file in FILES} == set(DASHBOARDS)


class Verdict(BaseHTTPRequestHandler):
    """What a Pushgateway would say of a reconciliation."""

    def do_GET(self) -> None:
        self.send_response(200)
        self.send_header("content-type", "text/plain; version=0.0.4")
        self.end_headers()
        self.wfile.write(VERDICT.encode())

    def log_message(self, format: str, *arguments: Any) -> None:
        """Nothing."""


@contextlib.contextmanager
def pushed() -> Iterator[int]:
    """The port of a place where the last verdict is."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), Verdict)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        yield server.server_port
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


def free_port() -> int:
    with contextlib.closing(socket.socket()) as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


class Prometheus:
    """A real one, that scrapes each second."""

    def __init__(self, binary: str, directory: pathlib.Path, scrapes: dict[str, list[int]]) -> None:
        """`scrapes`: path -> ports."""
        jobs = [
            {
                "job_name": path,
                "metrics_path": path,
                "static_configs": [{"targets": [f"127.0.0.1:{port}" for port in ports]}],
            }
            for path, ports in scrapes.items()
        ]
        every = {"scrape_interval": "1s", "evaluation_interval": "1s"}
        file = directory / "prometheus.yaml"
        file.write_text(yaml.safe_dump({"global": every, "scrape_configs": jobs}))
        self._port = free_port()
        self._log = (directory / "prometheus.log").open("wb")
        self._process = subprocess.Popen(
            [
                *(binary, f"--config.file={file}", f"--storage.tsdb.path={directory / 'tsdb'}"),
                f"--web.listen-address=127.0.0.1:{self._port}",
            ],
            stdout=self._log,
            stderr=self._log,
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_error: object) -> None:
        self._process.terminate()
        self._process.wait(30)
        self._log.close()

    def ask(self, expression: str) -> list[float]:
        """The values that it answers now."""
        query = urllib.parse.urlencode({"query": expression})
        address = f"http://127.0.0.1:{self._port}/api/v1/query?{query}"
        with contextlib.suppress(urllib.error.URLError, ConnectionError):
            with urllib.request.urlopen(address, timeout=10) as answer:
                found = json.loads(answer.read())["data"]["result"]
            return [float(each["value"][1]) for each in found]
        assert self._process.poll() is None, "prometheus has ended"
        return []

    def unanswered(self, wanted: list[str]) -> list[str]:
        """Expressions without data: no numbers at all."""
        return [each for each in wanted if all(math.isnan(value) for value in self.ask(each))]


def wait_until(happened: Callable[[], bool]) -> None:
    deadline = time.monotonic() + WITHIN_S
    while not happened() and time.monotonic() < deadline:
        time.sleep(0.2)


def load(front: GatewayProcess) -> None:
    """Messages by both protocols, in memory, on disk and by way of the upstream."""
    at = ("--port", str(front.amqp_port))
    old, new = ("--protocol", "0-10"), ("--protocol", "1.0")
    for arguments in (
        ("send", *at, *old, "--to", "near", "--create", "--count", "200", "--durable"),
        ("send", *at, *new, "--to", "near", "--count", "200", "--transient"),
        ("receive", *at, *new, "--from", "near", "--count", "300"),
        ("send", *at, *old, "--to", "far", "--count", "200"),
        ("receive", *at, *old, "--from", "far", "--count", "100"),
    ):
        does(front, *arguments)


def does(gateway: GatewayProcess, *arguments: str) -> None:
    done = gateway.tool(*arguments)
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.process
def test_every_expression_has_data_in_a_prometheus_that_scrapes_a_gateway_at_work(
    prometheus: str, tmp_path: pathlib.Path
) -> None:
    wanted = [
        expression
        for dashboard in DASHBOARDS.values()
        for expression in expressions(dashboard, at='instance=~".*"', rate="30s")
    ]
    assert len(wanted) == sum(len(asked(file)) for file in FILES) > 60
    with contextlib.ExitStack() as stack:
        back = stack.enter_context(GatewayProcess(tmp_path / "back"))
        at = ("--port", str(back.amqp_port), "--protocol", "0-10")
        does(back, "send", *at, "--to", "far", "--create")
        config = {
            "upstreams": {
                "back": {"hosts": [f"amqp://127.0.0.1:{back.amqp_port}"], "profile": "generic"}
            },
            "nodes": [{"queue": "far", "upstream": "back"}],
        }
        front = stack.enter_context(GatewayProcess(tmp_path / "front", config))
        verdict = stack.enter_context(pushed())
        scrapes = {
            "/metrics": [front.admin_port, verdict],
            "/metrics/objects": [front.admin_port],
        }
        found = stack.enter_context(Prometheus(prometheus, tmp_path, scrapes))
        wait_until(lambda: found.ask("gateway_ready") == [1])
        load(front)
        arguments = ("receive", "--port", str(front.amqp_port), "--from", "near")
        reader = subprocess.Popen(command(*arguments), stdout=subprocess.DEVNULL)
        stack.callback(reader.wait)
        stack.callback(reader.kill)
        wait_until(lambda: not found.unanswered(wanted))
        assert found.unanswered(wanted) == []
        for counted in (
            "gateway_enter_settle_duration_seconds_count{source='0-10', target='1.0'}",
            "gateway_enter_settle_duration_seconds_count{source='0-10', target='upstream'}",
            "gateway_enter_settle_duration_seconds_count{source='upstream', target='0-10'}",
            "gateway_publish_confirm_duration_seconds_count{source='0-10', target='disk'}",
            "gateway_publish_confirm_duration_seconds_count{source='0-10', target='upstream'}",
            "gateway_publish_confirm_duration_seconds_count{source='1.0', target='memory'}",
            "gateway_upstream_settle_duration_seconds_count",
            "gateway_store_commit_duration_seconds_count",
            "gateway_object_queue_left_total{queue='near'}",
        ):
            assert found.ask(counted)[0] > 0, counted
