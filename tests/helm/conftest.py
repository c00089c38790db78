"""The real helm, promtool and Kubernetes, as fixtures; tests/helm/install brings them."""

import hashlib
import os
import pathlib
import shutil
import subprocess
from collections.abc import Callable, Iterator
from typing import Any

import pytest
import yaml

from .kubernetes import Kubernetes, furnish

CHART = pathlib.Path(__file__).parents[2] / "helm"
CACHE = pathlib.Path(
    os.environ.get("GATEWAY_INTEROP_CACHE")
    or pathlib.Path(os.environ.get("XDG_CACHE_HOME") or "~/.cache").expanduser()
    / "amqp-gateway-interop"
)

LOADER = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
Render = Callable[..., dict[tuple[str, str], dict[str, Any]]]
Refusal = Callable[..., str]


def missing(component: str) -> None:
    """Skip, saying what to install; where nothing may be missing, fail."""
    message = f"{component} is missing: run tests/helm/install"
    if os.environ.get("CI_INTEROP"):
        pytest.fail(message)
    pytest.skip(message)


def _cached(name: str) -> pathlib.Path:
    path = CACHE / "helm" / name
    if not path.exists():
        missing(name)
    return path


Helm = Callable[..., subprocess.CompletedProcess[str]]


def _helm(name: str) -> Helm:
    binary = _cached(name)

    def run(*arguments: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [str(binary), *arguments], capture_output=True, text=True, check=False, timeout=120
        )

    return run


@pytest.fixture(scope="session")
def helm() -> Helm:
    """Of the oldest version that is served."""
    return _helm("helm")


@pytest.fixture(scope="session")
def helm_4() -> Helm:
    """Of the newest."""
    return _helm("helm-4.3.1")


@pytest.fixture(scope="session")
def prometheus() -> str:
    """Where the program is."""
    binary = shutil.which("prometheus") or str(CACHE / "helm" / "prometheus")
    if not pathlib.Path(binary).exists():
        missing("prometheus")
    return binary


@pytest.fixture(scope="session")
def promtool() -> Callable[..., subprocess.CompletedProcess[str]]:
    binary = shutil.which("promtool") or str(CACHE / "helm" / "promtool")
    if not pathlib.Path(binary).exists():
        missing("promtool")

    def run(*arguments: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [binary, *arguments], capture_output=True, text=True, check=False, timeout=60
        )

    return run


@pytest.fixture(scope="session")
def render(
    helm: Helm,
    tmp_path_factory: pytest.TempPathFactory,
) -> Render:
    """Renders the chart with the given values; answers the objects by kind and name."""
    rendered: dict[str, str] = {}
    chosen = tmp_path_factory.mktemp("helm") / "values.yaml"

    def template(**values: object) -> dict[tuple[str, str], dict[str, Any]]:
        said = yaml.safe_dump(values)
        if said not in rendered:
            chosen.write_text(said)
            done = helm("template", "rel", str(CHART), "--namespace", "ns", "--values", str(chosen))
            assert done.returncode == 0, done.stderr
            rendered[said] = done.stdout
        objects = [each for each in yaml.load_all(rendered[said], LOADER) if each]
        return {(each["kind"], each["metadata"]["name"]): each for each in objects}

    return template


@pytest.fixture
def refusal(helm: Helm, tmp_path: pathlib.Path) -> Refusal:
    """Renders the chart with values that it refuses; answers why."""

    def template(**values: object) -> str:
        chosen = tmp_path / "values.yaml"
        chosen.write_text(yaml.safe_dump(values))
        done = helm("template", "rel", str(CHART), "--values", str(chosen))
        assert done.returncode != 0
        return done.stderr

    return template


@pytest.fixture(scope="session")
def kubernetes(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Kubernetes]:
    """A real API server with controllers and scheduler, and nodes that nothing runs on."""
    sources = sorted((pathlib.Path(__file__).parent / "cluster").iterdir())
    built = hashlib.sha256(b"".join(each.read_bytes() for each in sources)).hexdigest()[:16]
    binaries, etcd = _cached(f"kubernetes-{built}"), _cached("etcd")
    cluster = Kubernetes(binaries, etcd, tmp_path_factory.mktemp("kubernetes"))
    try:
        furnish(cluster, nodes=2, volumes=12)
        yield cluster
    finally:
        cluster.stop()
