"""What an operator may say of pods, services and who watches them, and where it goes."""

import json
import pathlib
import shutil
import subprocess
from collections.abc import Callable, Iterator
from typing import Any

import pytest
import yaml

from .conftest import CHART, Render
from .scenarios import (
    BALANCED,
    ELSEWHERE,
    EVERYTHING,
    EXTRAS,
    OWN_TLS,
    POD,
    PODS,
    SCENARIOS,
    SPARK,
)

NAME = "rel-amqp-gateway"
Objects = dict[tuple[str, str], dict[str, Any]]
EACH = pytest.mark.parametrize("values", SCENARIOS.values(), ids=SCENARIOS)


def templates(objects: Objects) -> Iterator[dict[str, Any]]:
    """Of all pods that Kubernetes makes."""
    for (kind, _name), made in objects.items():
        if kind == "CronJob":
            yield made["spec"]["jobTemplate"]["spec"]["template"]
        elif kind in ("StatefulSet", "Deployment"):
            yield made["spec"]["template"]
        elif kind == "Pod":
            yield made


def pod(objects: Objects) -> dict[str, Any]:
    found: dict[str, Any] = objects["StatefulSet", NAME]["spec"]["template"]
    return found


def job(objects: Objects, name: str = "reconcile") -> dict[str, Any]:
    found: dict[str, Any] = objects["CronJob", f"{NAME}-{name}"]["spec"]["jobTemplate"]["spec"]
    template: dict[str, Any] = found["template"]
    return template


@EACH
def test_every_pod_has_a_read_only_root_and_nothing_without_a_limit(
    render: Render, values: dict[str, Any]
) -> None:
    for template in templates(render(**values)):
        spec = template["spec"]
        assert spec["securityContext"]["fsGroupChangePolicy"] == "OnRootMismatch"
        own = [each for each in spec["containers"] if each["name"] != "more"]
        assert all(each["securityContext"]["readOnlyRootFilesystem"] for each in own)
        writable = [each for each in spec["volumes"] if "emptyDir" in each]
        assert writable
        assert all(each["emptyDir"]["sizeLimit"] for each in writable)


def test_another_version_of_the_chart_is_no_reason_to_restart_the_pod(
    helm: Callable[..., subprocess.CompletedProcess[str]], tmp_path: pathlib.Path
) -> None:
    later = tmp_path / "chart"
    shutil.copytree(CHART, later)
    text = (later / "Chart.yaml").read_text()
    version = yaml.safe_load(text)["version"]
    (later / "Chart.yaml").write_text(text.replace(f"version: {version}", "version: 99.0.0"))
    rendered = [
        {
            (each["kind"], each["metadata"]["name"]): each
            for each in yaml.safe_load_all(helm("template", "rel", str(chart)).stdout)
        }
        for chart in (CHART, later)
    ]
    assert rendered[0] != rendered[1]
    assert pod(rendered[0]) == pod(rendered[1])


@pytest.mark.parametrize("of", ["gateway", "reconcile", "close"])
def test_pods_take_more_of_everything(render: Render, of: str) -> None:
    objects = render(**EXTRAS)
    template = pod(objects) if of == "gateway" else job(objects, of)
    spec, (own, more) = template["spec"], template["spec"]["containers"]
    assert template["metadata"]["annotations"] == {"note": "one", "owner": "messaging"}
    assert template["metadata"]["labels"].items() >= {
        ("team", "payments"),
        ("cost-centre", "seven"),
    }
    assert spec["priorityClassName"] == POD["priorityClassName"]
    assert spec["tolerations"] == POD["tolerations"]
    assert spec["initContainers"] == POD["initContainers"]
    assert [more] == POD["extraContainers"]
    assert own["envFrom"] == POD["extraEnvFrom"]
    assert POD["extraVolumes"][0] in spec["volumes"]
    assert POD["extraVolumeMounts"][0] in own["volumeMounts"]


def test_the_gateway_is_spread_and_stopped_as_is_said(render: Render) -> None:
    objects = render(**EXTRAS)
    stateful, spec = objects["StatefulSet", NAME]["spec"], pod(objects)["spec"]
    (spread,) = spec["topologySpreadConstraints"]
    assert spread["labelSelector"] == {"matchLabels": stateful["selector"]["matchLabels"]}
    assert spread["topologyKey"] == "zone"
    gateway = spec["containers"][0]
    assert gateway["lifecycle"] == EXTRAS["lifecycle"]
    assert gateway["args"][3:] == ["--set", "strict=true"]
    assert stateful["updateStrategy"] == {"type": "OnDelete"}
    assert stateful["persistentVolumeClaimRetentionPolicy"]["whenScaled"] == "Retain"


@EACH
def test_every_object_has_the_labels_of_all(render: Render, values: dict[str, Any]) -> None:
    more = {"commonLabels": {"of": "all"}, "commonAnnotations": {"by": "us"}}
    for key, made in render(**{**values, **more}).items():
        assert made["metadata"]["labels"]["of"] == "all", key
        assert made["metadata"]["annotations"]["by"] == "us", key


def test_the_load_balancer_is_the_clients_alone(render: Render) -> None:
    objects = render(**BALANCED)
    service, headless = (objects["Service", NAME + end] for end in ("", "-headless"))
    assert service["metadata"]["annotations"] == {"cloud.example/scheme": "internal"}
    assert "annotations" not in headless["metadata"]
    assert service["spec"].items() >= BALANCED["service"]["spec"].items()
    (amqp,) = service["spec"]["ports"]
    assert (amqp["name"], amqp["nodePort"]) == ("amqp", 30672)
    assert headless["spec"]["clusterIP"] == "None"
    assert not any("nodePort" in port for port in headless["spec"]["ports"])


def test_a_claim_that_is_there_is_everybodys_volume(render: Render) -> None:
    objects = render(**BALANCED, reconcile={"enabled": True})
    assert "volumeClaimTemplates" not in objects["StatefulSet", NAME]["spec"]
    volume = {"name": "data", "persistentVolumeClaim": {"claimName": "kept"}}
    for template in (pod(objects), job(objects)):
        assert volume in template["spec"]["volumes"]


@pytest.mark.parametrize("enabled", [True, False])
def test_one_value_takes_the_network_policy_away(render: Render, enabled: bool) -> None:
    objects = render(networkPolicy={"enabled": enabled})
    assert (("NetworkPolicy", NAME) in objects) == enabled


def test_the_admin_port_is_for_the_cluster_and_the_others_for_everybody(render: Render) -> None:
    spec = render()["NetworkPolicy", NAME]["spec"]
    clients, admin = spec["ingress"]
    assert "from" not in clients
    assert admin["from"] == [{"namespaceSelector": {}}]
    assert spec["policyTypes"] == ["Ingress"]
    stateful = render()["StatefulSet", NAME]["spec"]["selector"]
    assert spec["podSelector"] == stateful
    assert render()["PodDisruptionBudget", NAME]["spec"] == {
        "maxUnavailable": 1,
        "selector": stateful,
    }
    assert render(**BALANCED)["PodDisruptionBudget", NAME]["spec"]["minAvailable"] == 1


def test_who_may_connect_is_who_is_named_and_the_test(render: Render) -> None:
    objects = render(**EXTRAS)
    spec = objects["NetworkPolicy", NAME]["spec"]
    named, test = spec["ingress"][0]["from"]
    assert [named] == EXTRAS["networkPolicy"]["from"]
    wanted = test["podSelector"]["matchLabels"].items()
    assert wanted <= objects["Pod", NAME + "-test"]["metadata"]["labels"].items()
    assert not wanted <= pod(objects)["metadata"]["labels"].items()
    assert spec["egress"] == EXTRAS["networkPolicy"]["egress"]


def test_a_service_monitor_is_of_one_service_and_of_objects_less_often(render: Render) -> None:
    objects = render(**EVERYTHING)
    monitor = objects["ServiceMonitor", NAME]["spec"]
    chosen = [
        name
        for (kind, name), made in objects.items()
        if kind == "Service"
        and monitor["selector"]["matchLabels"].items() <= made["metadata"]["labels"].items()
    ]
    assert chosen == [NAME + "-headless"]
    assert [(each["path"], each["interval"]) for each in monitor["endpoints"]] == [
        ("/metrics", "15s"),
        ("/metrics/objects", "60s"),
    ]


def test_a_pod_monitor_is_of_the_gateways_pods_alone(render: Render) -> None:
    objects = render(**EXTRAS)
    monitor = objects["PodMonitor", NAME]["spec"]
    wanted = monitor["selector"]["matchLabels"].items()
    chosen = [each for each in templates(objects) if wanted <= each["metadata"]["labels"].items()]
    assert chosen == [pod(objects)]
    assert monitor["podMetricsEndpoints"][1]["params"] == {"match": ["orders"]}


def test_each_dashboard_is_a_config_map_that_grafana_finds(render: Render) -> None:
    dashboards = sorted((CHART / "dashboards").glob("*.json"))
    assert dashboards
    objects = render(dashboards={"enabled": True})
    for each in dashboards:
        made = objects["ConfigMap", f"{NAME}-dashboard-{each.stem}"]
        assert json.loads(made["data"][each.name]) == json.loads(each.read_text())
        assert made["metadata"]["labels"]["grafana_dashboard"] == "1"
    assert len(render()) == len(objects) - len(dashboards)


def test_certificates_are_asked_for_and_mounted(render: Render) -> None:
    objects = render(**OWN_TLS)
    own, client = (objects["Certificate", NAME + end]["spec"] for end in ("", "-to-main"))
    assert own["secretName"] == NAME + "-tls"
    assert own["dnsNames"][:2] == [NAME, f"{NAME}.ns.svc"]
    assert client["usages"][-1] == "client auth"
    volumes = {
        each["name"]: each["secret"]["secretName"]
        for each in pod(objects)["spec"]["volumes"]
        if "secret" in each
    }
    assert volumes["tls"] == own["secretName"]
    assert volumes["upstream-tls-0"] == client["secretName"]
    assert volumes["upstream-tls-1"] == "their-ca"


def test_an_upstream_is_believed_and_shown_what_its_secret_holds(render: Render) -> None:
    objects = render(**OWN_TLS)
    loaded = yaml.safe_load(objects["ConfigMap", NAME]["data"]["gateway.yaml"])
    main, other = (f"/etc/amqp-gateway/upstream-tls/{name}" for name in ("main", "other"))
    assert loaded["upstreams"]["main"]["tls"] == {
        "ca": f"{main}/ca.crt",
        "certificate": f"{main}/tls.crt",
        "key": f"{main}/tls.key",
        "server_name": "broker.example",
    }
    assert loaded["upstreams"]["other"]["tls"] == {"ca": f"{other}/ca.crt"}
    mounted = [each["mountPath"] for each in pod(objects)["spec"]["containers"][0]["volumeMounts"]]
    assert {main, other} <= set(mounted)


def test_a_job_is_with_the_gateway_or_where_it_can_be_when_there_is_none(render: Render) -> None:
    objects = render(reconcile={"enabled": True}, auditClose={"enabled": True})
    for each in (job(objects), job(objects, "close")):
        (near,) = each["spec"]["affinity"]["podAffinity"][
            "requiredDuringSchedulingIgnoredDuringExecution"
        ]
        wanted = near["labelSelector"]["matchLabels"].items()
        assert wanted <= pod(objects)["metadata"]["labels"].items()
        # The scheduler lets the first pod of such a group go anywhere, if it belongs to it.
        assert wanted <= each["metadata"]["labels"].items()


def test_an_archived_log_is_reconciled_without_the_volume(render: Render) -> None:
    objects = render(reconcile=ELSEWHERE)
    spec = job(objects)["spec"]
    (container,) = spec["containers"]
    assert "affinity" not in spec
    assert not any("persistentVolumeClaim" in each for each in spec["volumes"])
    assert container["command"] == ["amqp-gateway"]
    assert container["args"] == [
        *("reconcile", "s3a://logs/gateway/audit", "--out", "s3a://reports/gateway"),
        *("--keep", "168", "--state", "s3a://reports/state", "--master", "local[2]"),
        *("--properties-file", "/etc/amqp-gateway/spark/spark.conf"),
    ]


def test_spark_submit_has_executors_of_its_own_and_may_make_them(render: Render) -> None:
    objects = render(reconcile={**ELSEWHERE, "runner": "submit", "spark": SPARK})
    spec = job(objects)["spec"]
    (container,) = spec["containers"]
    arguments = container["args"]
    assert arguments[:4] == [
        *("--master", "k8s://https://kubernetes.default.svc"),
        *("--deploy-mode", "client"),
    ]
    conf = [arguments[at + 1] for at, each in enumerate(arguments) if each == "--conf"]
    assert "spark.driver.host=$(POD_IP)" in conf
    assert "spark.ui.enabled=false" in conf
    assert {"POD_IP", "POD_NAME"} <= {each["name"] for each in container["env"]}
    program = arguments.index("s3a://jobs/jobs.py")
    assert arguments[program + 1 : program + 3] == ["reconcile", "s3a://logs/gateway/audit"]
    assert spec["serviceAccountName"] == NAME + "-spark"
    assert spec["automountServiceAccountToken"] is True
    (rule,) = objects["Role", NAME + "-spark"]["rules"]
    assert {"pods", "services", "configmaps"} <= set(rule["resources"])
    (subject,) = objects["RoleBinding", NAME + "-spark"]["subjects"]
    assert subject["name"] == spec["serviceAccountName"]


def test_the_operator_is_handed_the_same_reconciliation(render: Render) -> None:
    objects = render(**SCENARIOS["operated"])
    assert not [name for kind, name in objects if kind == "CronJob"]
    spec = objects["ScheduledSparkApplication", NAME + "-reconcile"]["spec"]
    template = spec["template"]
    assert (spec["schedule"], spec["concurrencyPolicy"]) == ("17 * * * *", "Forbid")
    assert template["arguments"][:2] == ["reconcile", "s3a://logs/gateway/audit"]
    assert template["restartPolicy"] == {"type": "Never"}
    assert template["driver"]["configMaps"][0]["path"] == "/etc/amqp-gateway/trusted"
    assert template["driver"]["serviceAccount"] == NAME + "-spark"


def test_of_several_pods_each_has_its_volume_and_jobs_for_it(render: Render) -> None:
    objects = render(**PODS)
    stateful = objects["StatefulSet", NAME]["spec"]
    assert stateful["replicas"] == 3
    for name in ("reconcile", "close"):
        for number in range(3):
            template = job(objects, f"{name}-{number}")
            (claim,) = [each for each in template["spec"]["volumes"] if each["name"] == "data"]
            assert claim["persistentVolumeClaim"]["claimName"] == f"data-{NAME}-{number}"
            affinity = template["spec"]["affinity"]["podAffinity"]
            (term,) = affinity["requiredDuringSchedulingIgnoredDuringExecution"]
            labels = {"statefulset.kubernetes.io/pod-name": f"{NAME}-{number}"}
            assert term["labelSelector"]["matchLabels"] == labels
            assert template["metadata"]["labels"].items() >= labels.items()
        assert ("CronJob", f"{NAME}-{name}") not in objects


def test_pods_know_their_names_and_several_are_kept_apart(render: Render) -> None:
    for values in ({}, PODS):
        (container, *_more) = pod(render(**values))["spec"]["containers"]
        (name,) = [each for each in container["env"] if each["name"] == "AMQP_GATEWAY_POD"]
        assert name["valueFrom"] == {"fieldRef": {"fieldPath": "metadata.name"}}
    (term,) = pod(render(**PODS))["spec"]["affinity"]["podAntiAffinity"][
        "preferredDuringSchedulingIgnoredDuringExecution"
    ]
    labels = render(**PODS)["StatefulSet", NAME]["spec"]["selector"]["matchLabels"]
    assert term["podAffinityTerm"]["labelSelector"]["matchLabels"] == labels
