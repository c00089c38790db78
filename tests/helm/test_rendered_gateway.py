"""What the chart renders, run here: its command with its configuration, on loopback."""

import contextlib
import pathlib
import signal
import socket
import subprocess
import sys
import urllib.request
from typing import Any

import yaml

from .conftest import Render

NAME = "rel-amqp-gateway"


def free_port() -> int:
    with contextlib.closing(socket.socket()) as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def here(text: str, root: pathlib.Path, ports: dict[str, int]) -> str:
    """The pod's paths under `root`, and its addresses on loopback with free ports."""
    for path in ("/etc/amqp-gateway", "/var/lib/amqp-gateway"):
        text = text.replace(path, f"{root}{path}")
    for address, port in ports.items():
        text = text.replace(address, f"127.0.0.1:{port}")
    return text


def add_user(root: pathlib.Path) -> None:
    directory = root / "etc/amqp-gateway/users"
    directory.mkdir(parents=True)
    subprocess.run(
        [
            *(sys.executable, "-P", "-m", "gateway", "user", "add"),
            *("--file", str(directory / "users.yaml"), "--password-stdin", "alice"),
        ],
        input="wonderland",
        text=True,
        check=True,
        capture_output=True,
    )


def test_the_rendered_command_and_configuration_start_and_stop_the_gateway(
    render: Render, tmp_path: pathlib.Path
) -> None:
    objects: dict[tuple[str, str], dict[str, Any]] = render(config={"drain_timeout": "1s"})
    ports = {"0.0.0.0:5672": free_port(), "0.0.0.0:9672": free_port()}
    add_user(tmp_path)
    file = tmp_path / "etc/amqp-gateway/gateway.yaml"
    file.write_text(here(objects["ConfigMap", NAME]["data"]["gateway.yaml"], tmp_path, ports))
    assert "0.0.0.0" not in file.read_text()
    pod = objects["StatefulSet", NAME]["spec"]["template"]["spec"]
    (container,) = pod["containers"]
    arguments = [here(argument, tmp_path, ports) for argument in container["args"]]
    with subprocess.Popen(
        [sys.executable, "-P", "-m", "gateway", *arguments], stderr=subprocess.PIPE, text=True
    ) as process:
        assert process.stderr is not None
        said = ""
        for line in process.stderr:
            said += line
            if "is ready" in line:
                break
        assert process.poll() is None, said
        for probe in ("startupProbe", "livenessProbe", "readinessProbe"):
            path = container[probe]["httpGet"]["path"]
            url = f"http://127.0.0.1:{ports['0.0.0.0:9672']}{path}"
            with urllib.request.urlopen(url, timeout=5) as answer:
                assert answer.status == 200
        process.send_signal(signal.SIGTERM)
        said += process.stderr.read()
        assert process.wait(pod["terminationGracePeriodSeconds"]) == 0, said
    assert (tmp_path / "var/lib/amqp-gateway/audit").is_dir()


def test_every_default_of_the_chart_is_a_configuration_that_check_accepts(
    render: Render, tmp_path: pathlib.Path
) -> None:
    add_user(tmp_path)
    text = render()["ConfigMap", NAME]["data"]["gateway.yaml"]
    assert yaml.safe_load(text)
    file = tmp_path / "etc/amqp-gateway/gateway.yaml"
    file.write_text(here(text, tmp_path, {}))
    done = subprocess.run(
        [sys.executable, "-P", "-m", "gateway", "check", "--config", str(file)],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
