"""What the chart renders, run here: its command with its configuration, on loopback."""

import contextlib
import pathlib
import re
import shutil
import signal
import socket
import subprocess
import sys
import urllib.request
from typing import Any

import pytest
import yaml
from support.certificates import Authority

from gateway.config import load

from .conftest import Render
from .scenarios import SCENARIOS

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


def mount_certificate(root: pathlib.Path) -> None:
    """As the Secret of `tls` has it."""
    mounted = root / "etc/amqp-gateway/tls"
    mounted.mkdir(parents=True)
    authority = Authority(root)
    made = (*authority.issue("server"), authority.ca)
    for each, name in zip(made, ("tls.crt", "tls.key", "ca.crt"), strict=True):
        shutil.copy(each, mounted / name)


def helm_test(
    objects: dict[tuple[str, str], dict[str, Any]], root: pathlib.Path, port: int, password: str
) -> subprocess.CompletedProcess[str]:
    """What the pod of `helm test` does, as the user alice."""
    (container,) = objects["Pod", NAME + "-test"]["spec"]["containers"]
    (script,) = container["args"]
    program = root / "amqp-gateway"
    program.write_text(f'#!/bin/sh\nexec {sys.executable} -P -m gateway "$@"\n')
    program.chmod(0o755)
    script = script.replace(f"--host {NAME} ", "--host 127.0.0.1 ").replace("/tmp/", f"{root}/")
    script = script.replace("/etc/amqp-gateway", f"{root}/etc/amqp-gateway")
    return subprocess.run(
        [*container["command"], re.sub(r"--port \d+", f"--port {port}", script)],
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
        env={"PATH": f"{root}:/usr/bin:/bin", "USERNAME": "alice", "PASSWORD": password},
    )


def test_the_rendered_command_and_configuration_start_and_stop_the_gateway(
    render: Render, tmp_path: pathlib.Path
) -> None:
    objects: dict[tuple[str, str], dict[str, Any]] = render(
        config={"drain_timeout": "1s"}, test={"existingSecret": "alice"}
    )
    ports = {"0.0.0.0:5672": free_port(), "0.0.0.0:9672": free_port()}
    add_user(tmp_path)
    file = tmp_path / "etc/amqp-gateway/config/gateway.yaml"
    file.parent.mkdir()
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
            with urllib.request.urlopen(url, timeout=60) as answer:
                assert answer.status == 200
        tested = helm_test(objects, tmp_path, ports["0.0.0.0:5672"], "wonderland")
        assert tested.returncode == 0, tested.stdout + tested.stderr
        assert "helm test of " in tested.stdout
        assert helm_test(objects, tmp_path, ports["0.0.0.0:5672"], "wrong").returncode != 0
        process.send_signal(signal.SIGTERM)
        said += process.stderr.read()
        assert process.wait(pod["terminationGracePeriodSeconds"]) == 0, said
    data = tmp_path / "var/lib/amqp-gateway/data"
    assert (data / "audit").is_dir()
    assert data.stat().st_mode & 0o777 == 0o700


def test_every_default_of_the_chart_is_a_configuration_that_check_accepts(
    render: Render, tmp_path: pathlib.Path
) -> None:
    add_user(tmp_path)
    text = render()["ConfigMap", NAME]["data"]["gateway.yaml"]
    assert yaml.safe_load(text)
    file = tmp_path / "etc/amqp-gateway/config/gateway.yaml"
    file.parent.mkdir()
    file.write_text(here(text, tmp_path, {}))
    done = subprocess.run(
        [sys.executable, "-P", "-m", "gateway", "check", "--config", str(file)],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("values", SCENARIOS.values(), ids=SCENARIOS)
def test_the_configuration_of_every_scenario_is_one_that_the_gateway_takes(
    render: Render,
    tmp_path: pathlib.Path,
    monkeypatch: pytest.MonkeyPatch,
    values: dict[str, Any],
) -> None:
    monkeypatch.setenv("AMQP_GATEWAY_POD", f"{NAME}-2" if "replicas" in values else f"{NAME}-0")
    text = here(render(**values)["ConfigMap", NAME]["data"]["gateway.yaml"], tmp_path, {})
    for named in re.findall(rf"{tmp_path}/etc/\S+", text):
        pathlib.Path(named).parent.mkdir(parents=True, exist_ok=True)
        pathlib.Path(named).touch()
    file = tmp_path / "gateway.yaml"
    file.write_text(text)
    assert load(file).data_directory == tmp_path / "var/lib/amqp-gateway/data"


class Volume:
    """A ConfigMap as the kubelet mounts it: files are links into a directory that is swapped."""

    def __init__(self, mounted: pathlib.Path) -> None:
        self._mounted = mounted
        self._versions = 0
        mounted.mkdir(parents=True)
        (mounted / "gateway.yaml").symlink_to("..data/gateway.yaml")

    def put(self, text: str) -> None:
        self._versions += 1
        version = self._mounted / f"..version-{self._versions}"
        version.mkdir()
        (version / "gateway.yaml").write_text(text)
        fresh = self._mounted / "..data_tmp"
        fresh.symlink_to(version.name)
        fresh.rename(self._mounted / "..data")


def test_what_changes_where_it_is_mounted_counts_by_itself_or_is_refused(
    render: Render, tmp_path: pathlib.Path
) -> None:
    ports = {"0.0.0.0:5671": free_port(), "0.0.0.0:9672": free_port()}
    chosen: dict[str, Any] = {
        "admin": {"existingSecret": "my-admin"},
        "tls": {"existingSecret": "my-tls"},
        "test": {"existingSecret": "alice"},
    }

    def rendered(**config: object) -> tuple[list[str], str]:
        objects = render(**chosen, config={"reload_interval": "100ms", **config})
        pod = objects["StatefulSet", NAME]["spec"]["template"]["spec"]
        arguments = [here(each, tmp_path, ports) for each in pod["containers"][0]["args"]]
        return arguments, here(objects["ConfigMap", NAME]["data"]["gateway.yaml"], tmp_path, ports)

    add_user(tmp_path)
    mount_certificate(tmp_path)
    token = tmp_path / "etc/amqp-gateway/admin/token"
    token.parent.mkdir()
    token.write_text("secret\n")
    volume = Volume(tmp_path / "etc/amqp-gateway/config")
    arguments, before = rendered()
    volume.put(before)
    gateway = [sys.executable, "-P", "-m", "gateway"]
    admin = f"http://127.0.0.1:{ports['0.0.0.0:9672']}"
    ctl = [*gateway, "ctl", "--admin", admin, "--token-file", str(token)]
    with subprocess.Popen([*gateway, *arguments], stderr=subprocess.PIPE, text=True) as process:
        assert process.stderr is not None
        assert any("is ready" in line for line in process.stderr)
        changed = {"upstreams": {"new": {"hosts": ["amqp://127.0.0.1:1"]}}}
        volume.put(rendered(**changed)[1])
        assert any("configuration reloaded" in line for line in process.stderr)
        shown = subprocess.run([*ctl, "status"], capture_output=True, text=True, check=False)
        assert shown.stdout.splitlines()[1].startswith("new ")
        tested = helm_test(render(**chosen), tmp_path, ports["0.0.0.0:5671"], "wonderland")
        assert (tested.returncode, tested.stderr) == (0, "")
        volume.put(rendered(**changed, strict=True)[1])
        refused = next(line for line in process.stderr if "configuration not reloaded" in line)
        assert "strict: cannot change while the gateway runs: restart it" in refused
        with urllib.request.urlopen(f"{admin}/metrics", timeout=60) as answer:
            assert "\ngateway_refused_files 1.0\n" in answer.read().decode()
        process.send_signal(signal.SIGTERM)
        process.stderr.read()
        assert process.wait(60) == 0
