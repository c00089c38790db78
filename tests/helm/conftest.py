"""The real helm, promtool and Kubernetes schemas, as fixtures; tests/helm/install brings them."""

import os
import pathlib
import shutil
import subprocess
from collections.abc import Callable
from typing import Any

import pytest
import yaml

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


@pytest.fixture(scope="session")
def helm() -> Callable[..., subprocess.CompletedProcess[str]]:
    binary = CACHE / "helm" / "helm"
    if not binary.exists():
        missing("helm")

    def run(*arguments: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [str(binary), *arguments], capture_output=True, text=True, check=False, timeout=60
        )

    return run


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
    helm: Callable[..., subprocess.CompletedProcess[str]],
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
def refusal(
    helm: Callable[..., subprocess.CompletedProcess[str]], tmp_path: pathlib.Path
) -> Refusal:
    """Renders the chart with values that it refuses; answers why."""

    def template(**values: object) -> str:
        chosen = tmp_path / "values.yaml"
        chosen.write_text(yaml.safe_dump(values))
        done = helm("template", "rel", str(CHART), "--values", str(chosen))
        assert done.returncode != 0
        return done.stderr

    return template
