"""The chart at a real API server: admitted, upgraded, and its jobs scheduled."""

import pathlib
import re
from typing import Any

import pytest
import yaml

from .conftest import CHART, Helm
from .kubernetes import Kubernetes, Object
from .scenarios import EVERYTHING, SCENARIOS

NAME = "rel-amqp-gateway"
RELEASED = pathlib.Path(__file__).parent / "released" / "amqp-gateway-0.1.0.tgz"
# Of EVERYTHING what the last release knew.
RAN_BEFORE = {
    **{key: value for key, value in EVERYTHING.items() if key not in ("dashboards", "test")},
    "serviceMonitor": {"enabled": True},
}
RESTRICTED = {"pod-security.kubernetes.io/enforce": "restricted"}


class Release:
    """One of the chart, in a namespace of its own that admits nothing but restricted pods."""

    def __init__(
        self, cluster: Kubernetes, helm: Helm, namespace: str, values: pathlib.Path
    ) -> None:
        self.cluster = cluster
        self.namespace = namespace
        self._helm = helm
        self._values = values
        cluster.create(
            {
                "apiVersion": "v1",
                "kind": "Namespace",
                "metadata": {"name": namespace, "labels": RESTRICTED},
            }
        )
        cluster.until("ServiceAccount", namespace, lambda each: _name(each) == "default")

    def upgrade(
        self, chart: pathlib.Path = CHART, helm: Helm | None = None, **values: object
    ) -> str:
        """Install it, or another version; answers what helm says if it fails."""
        self._values.write_text(yaml.safe_dump(values))
        done = (helm or self._helm)(
            *("upgrade", "--install", "rel", str(chart), "--namespace", self.namespace),
            *("--kubeconfig", str(self.cluster.config), "--values", str(self._values)),
        )
        return "" if done.returncode == 0 else done.stderr

    def get(self, kind: str, name: str = NAME) -> Object:
        return self.cluster.get(kind, name, self.namespace)

    def scheduled(self, kind: str = "gateway") -> Object:
        """The pod of that container, when a node has it."""

        def is_it(pod: Object) -> bool:
            first = pod["spec"]["containers"][0]["name"]
            return bool(first == kind and pod["spec"].get("nodeName"))

        return self.cluster.until("Pod", self.namespace, is_it)

    def run_job(self) -> Object:
        """Have the CronJob's time come, by its last time; answers its pod when a node has it."""
        before = {"status": {"lastScheduleTime": "2020-01-01T00:00:00Z"}}
        self.cluster.patch("CronJob", NAME + "-reconcile", before, self.namespace, part="status")
        return self.scheduled("reconcile")

    def remove(self, pod: Object) -> None:
        """As a kubelet would when it has stopped it."""
        self.cluster.delete("Pod", _name(pod), self.namespace, gracePeriodSeconds=0)


def _name(made: Object) -> str:
    name: str = made["metadata"]["name"]
    return name


def _uid(made: Object) -> str:
    uid: str = made["metadata"]["uid"]
    return uid


def _pods_of(made: Object) -> Object | None:
    """The template of what it makes pods by."""
    spec: Object = made.get("spec", {})
    if made["kind"] == "CronJob":
        spec = spec["jobTemplate"]["spec"]
    template: Object | None = spec.get("template")
    return made if made["kind"] == "Pod" else template


@pytest.fixture
def release(
    kubernetes: Kubernetes, helm: Helm, tmp_path: pathlib.Path, request: pytest.FixtureRequest
) -> Release:
    namespace = re.sub(r"[^a-z0-9]+", "-", request.node.name.lower()).strip("-")[-50:].strip("-")
    return Release(kubernetes, helm, namespace, tmp_path / "values.yaml")


@pytest.mark.parametrize("values", SCENARIOS.values(), ids=SCENARIOS)
def test_every_scenario_is_admitted_and_so_are_all_of_its_pods(
    release: Release, kubernetes: Kubernetes, helm_4: Helm, values: dict[str, Any]
) -> None:
    assert release.upgrade(helm=helm_4, **values) == ""
    rendered = helm_4(
        *("template", "rel", str(CHART), "--namespace", release.namespace),
        *("--values", str(release._values)),
    )
    templates = [
        template
        for made in yaml.safe_load_all(rendered.stdout)
        if made and made["kind"] != "ScheduledSparkApplication"
        if (template := _pods_of(made))
    ]
    assert templates
    for number, template in enumerate(templates):
        metadata = {**template["metadata"], "name": f"pod-{number}"}
        spec = {"restartPolicy": "Never", **template["spec"]}
        if any(each["name"] == "data" for each in spec["volumes"]):
            spec["volumes"] = [each for each in spec["volumes"] if each["name"] != "data"]
        else:  # of the StatefulSet, which adds it
            spec["volumes"] = [*spec["volumes"], {"name": "data", "emptyDir": {}}]
        if not any(each["name"] == "data" for each in spec["volumes"]):
            spec["volumes"].append({"name": "data", "emptyDir": {}})
        pod = {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec}
        kubernetes.create(pod, release.namespace, dry=True)


@pytest.mark.parametrize("values", [{}, RAN_BEFORE], ids=["default", "everything"])
def test_what_the_last_release_has_made_is_kept_by_an_upgrade(
    release: Release, helm_4: Helm, values: dict[str, Any]
) -> None:
    assert release.upgrade(RELEASED, **values) == ""
    before = release.get("StatefulSet")
    claim = release.cluster.until("PersistentVolumeClaim", release.namespace, lambda _each: True)
    for helm in (None, helm_4, None):
        assert release.upgrade(helm=helm, **values) == ""
    after = release.get("StatefulSet")
    assert _uid(after) == _uid(before)
    assert after["spec"]["volumeClaimTemplates"] == before["spec"]["volumeClaimTemplates"]
    assert after["metadata"]["generation"] == before["metadata"]["generation"] + 1
    assert _uid(release.get("PersistentVolumeClaim", _name(claim))) == _uid(claim)


def test_another_size_is_refused_with_what_to_do_which_does_it(release: Release) -> None:
    assert release.upgrade() == ""
    pod = release.scheduled()
    told = release.upgrade(persistence={"size": "20Gi"})
    assert f"kubectl --namespace {release.namespace} patch pvc data-{NAME}-0" in told
    assert f"delete statefulset {NAME} --cascade=orphan" in told
    (patch,) = re.findall(r"--patch '(.*?)'", told.replace("\\", ""))
    release.cluster.patch(
        "PersistentVolumeClaim", f"data-{NAME}-0", yaml.safe_load(patch), release.namespace
    )
    release.cluster.delete("StatefulSet", NAME, release.namespace, propagationPolicy="Orphan")
    release.cluster.until(
        "StatefulSet", release.namespace, lambda each: _name(each) == NAME, gone=True
    )
    assert release.upgrade(persistence={"size": "20Gi"}) == ""
    assert _uid(release.get("Pod", _name(pod))) == _uid(pod)
    claim = release.get("PersistentVolumeClaim", f"data-{NAME}-0")
    assert claim["spec"]["resources"]["requests"]["storage"] == "20Gi"


def test_a_job_runs_on_the_gateways_node_and_also_when_there_is_no_gateway(
    release: Release,
) -> None:
    assert release.upgrade(reconcile={"enabled": True, "schedule": "* * * * *"}) == ""
    gateway = release.scheduled()
    beside = release.run_job()
    assert beside["spec"]["nodeName"] == gateway["spec"]["nodeName"]
    release.cluster.patch("StatefulSet", NAME, {"spec": {"replicas": 0}}, release.namespace)
    release.remove(gateway)
    release.cluster.delete(
        "Job",
        beside["metadata"]["labels"]["job-name"],
        release.namespace,
        propagationPolicy="Background",
    )
    release.remove(beside)
    alone = release.run_job()
    assert _uid(alone) != _uid(beside)
    assert alone["spec"]["nodeName"]
