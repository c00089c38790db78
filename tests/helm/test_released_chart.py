"""The chart as a release makes and pushes it, by the real helm, to a registry on the loopback."""

import json
from pathlib import Path

from release import publishing
from support.registry import registry

from gateway import __version__

from .conftest import CHART, Helm


def test_what_is_pushed_is_installed_from_there_by_its_version(
    helm_4: Helm, tmp_path: Path
) -> None:
    def run(command: list[str]) -> None:
        assert command[0] == "helm"
        done = helm_4(*command[1:])
        assert done.returncode == 0, done.stderr

    (tmp_path / "helm").symlink_to(CHART)
    with registry() as server:
        one = publishing.Release(tmp_path, __version__, f"{server.host}/team")
        publishing.chart(one, run)
        publishing.push_chart(one, run, ("--plain-http",))
        held = server.manifests[f"/v2/team/charts/amqp-gateway/manifests/{__version__}"]
        shown = helm_4(
            *("show", "chart", f"oci://{server.host}/team/charts/amqp-gateway"),
            *("--version", __version__, "--plain-http"),
        )
    assert json.loads(held)["config"]["mediaType"] == "application/vnd.cncf.helm.config.v1+json"
    assert f"appVersion: {__version__}" in shown.stdout, shown.stderr
