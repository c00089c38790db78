"""Kubernetes without nodes: etcd, API server, controllers and scheduler, on loopback.

What it is told to run it admits and schedules; there is no kubelet that would start it.
"""

import contextlib
import json
import pathlib
import socket
import ssl
import subprocess
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from typing import Any

from cryptography.hazmat.primitives.asymmetric import rsa
from cryptography.hazmat.primitives.serialization import (
    Encoding,
    NoEncryption,
    PrivateFormat,
)

Object = dict[str, Any]  # Any: what JSON holds
TOKEN = "operator"
CONTROLLERS = (
    *("cronjob-controller", "job-controller", "statefulset-controller", "deployment-controller"),
    *("replicaset-controller", "serviceaccount-controller", "garbage-collector-controller"),
    *("persistentvolume-binder-controller", "disruption-controller"),
)
GROUPS = {  # of what is not in the core: kind -> plural, group and version
    "StatefulSet": ("statefulsets", "apps/v1"),
    "CronJob": ("cronjobs", "batch/v1"),
    "Job": ("jobs", "batch/v1"),
    "StorageClass": ("storageclasses", "storage.k8s.io/v1"),
    "PriorityClass": ("priorityclasses", "scheduling.k8s.io/v1"),
    "CustomResourceDefinition": ("customresourcedefinitions", "apiextensions.k8s.io/v1"),
    "Namespace": ("namespaces", "v1"),
    "Node": ("nodes", "v1"),
    "Pod": ("pods", "v1"),
    "PersistentVolume": ("persistentvolumes", "v1"),
    "PersistentVolumeClaim": ("persistentvolumeclaims", "v1"),
    "ServiceAccount": ("serviceaccounts", "v1"),
}
MERGE = "application/merge-patch+json"
PATIENCE_S = 60.0


class RefusedError(Exception):
    """The API server's word."""


class Kubernetes:
    """The programs of `binaries`, with their data and logs in `root`."""

    def __init__(self, binaries: pathlib.Path, etcd: pathlib.Path, root: pathlib.Path) -> None:
        self.root = root
        self.config = root / "kubeconfig"
        self._binaries = binaries
        self._programs: list[subprocess.Popen[bytes]] = []
        client, peer, self._port = (_free_port() for _ in range(3))
        own, other = (f"http://127.0.0.1:{port}" for port in (client, peer))
        self._start(
            etcd,
            *(f"--data-dir={root}/etcd", "--unsafe-no-fsync", f"--initial-cluster=default={other}"),
            *(f"--listen-client-urls={own}", f"--advertise-client-urls={own}"),
            *(f"--listen-peer-urls={other}", f"--initial-advertise-peer-urls={other}"),
        )
        self._context = ssl.create_default_context()
        self._context.check_hostname = False
        self._context.verify_mode = ssl.CERT_NONE
        self._begin(own)

    def _begin(self, etcd: str) -> None:
        key = self.root / "service-accounts.key"
        made = rsa.generate_private_key(public_exponent=65537, key_size=2048)
        key.write_bytes(made.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()))
        (self.root / "tokens").write_text(f'{TOKEN},operator,operator,"system:masters"\n')
        self.config.write_text(json.dumps(self._kubeconfig()))
        self._start(
            self._binaries / "kube-apiserver",
            *(f"--etcd-servers={etcd}", "--authorization-mode=RBAC"),
            *(f"--secure-port={self._port}", "--bind-address=127.0.0.1"),
            *("--advertise-address=127.0.0.1", "--service-cluster-ip-range=10.0.0.0/16"),
            *(f"--cert-dir={self.root}/certificates", f"--token-auth-file={self.root}/tokens"),
            *(f"--service-account-key-file={key}", f"--service-account-signing-key-file={key}"),
            "--service-account-issuer=https://kubernetes.default.svc",
        )
        self._ready()
        known = (f"--kubeconfig={self.config}", "--leader-elect=false", "--secure-port=0")
        self._start(
            self._binaries / "kube-controller-manager",
            *(*known, f"--controllers={','.join(CONTROLLERS)}"),
        )
        self._start(self._binaries / "kube-scheduler", *known)

    def _kubeconfig(self) -> Object:
        at = {"server": f"https://127.0.0.1:{self._port}", "insecure-skip-tls-verify": True}
        return {
            "apiVersion": "v1",
            "kind": "Config",
            "clusters": [{"name": "here", "cluster": at}],
            "users": [{"name": "operator", "user": {"token": TOKEN}}],
            "contexts": [{"name": "here", "context": {"cluster": "here", "user": "operator"}}],
            "current-context": "here",
        }

    def _start(self, program: pathlib.Path, *arguments: str) -> None:
        with (self.root / f"{program.name}.log").open("wb") as log:
            self._programs.append(
                subprocess.Popen([program, *arguments], stdout=log, stderr=subprocess.STDOUT)
            )

    def _ready(self) -> None:
        until = time.monotonic() + PATIENCE_S
        while True:
            try:
                self._ask("GET", "/readyz").close()
            except (RefusedError, OSError):
                ended = [each.args for each in self._programs if each.poll() is not None]
                assert not ended, f"{ended}: see {self.root}"
                assert time.monotonic() < until, f"the API server is not ready: see {self.root}"
                time.sleep(0.1)
            else:
                return

    def stop(self) -> None:
        """End all of it."""
        for program in reversed(self._programs):
            program.kill()  # what it has nobody needs
            program.wait()

    # What it is asked.

    def create(self, made: Object, namespace: str = "", *, dry: bool = False) -> Object:
        """Have it made; or, `dry`, be told whether it would be."""
        path = _path(made["kind"], namespace) + ("?dryRun=All" if dry else "")
        return self._answer("POST", path, made)

    def get(self, kind: str, name: str, namespace: str = "") -> Object:
        return self._answer("GET", f"{_path(kind, namespace)}/{name}")

    def patch(
        self, kind: str, name: str, change: Object, namespace: str = "", *, part: str = ""
    ) -> Object:
        path = f"{_path(kind, namespace)}/{name}" + (f"/{part}" if part else "")
        return self._answer("PATCH", path, change, MERGE)

    def delete(self, kind: str, name: str, namespace: str = "", **options: object) -> None:
        self._answer("DELETE", f"{_path(kind, namespace)}/{name}", options)

    def until(
        self, kind: str, namespace: str, wanted: Callable[[Object], bool], *, gone: bool = False
    ) -> Object:
        """The first of them that is as wanted, or that was when it went."""
        # From any state on: the newest is what etcd 3.4 cannot be asked for.
        asked = f"watch=1&resourceVersion=0&timeoutSeconds={PATIENCE_S:.0f}"
        path = f"{_path(kind, namespace)}?{asked}"
        with self._ask("GET", path) as events:
            for line in events:
                event = json.loads(line)
                if (event["type"] == "DELETED") == gone and wanted(event["object"]):
                    found: Object = event["object"]
                    return found
        raise AssertionError(f"no such {kind} in {namespace}: see {self.root}")

    def _answer(
        self, method: str, path: str, body: Object | None = None, form: str = "application/json"
    ) -> Object:
        with self._ask(method, path, body, form) as answer:
            told: Object = json.load(answer)
        return told

    def _ask(
        self, method: str, path: str, body: Object | None = None, form: str = "application/json"
    ) -> Any:
        request = urllib.request.Request(
            f"https://127.0.0.1:{self._port}{path}",
            method=method,
            data=None if body is None else json.dumps(body).encode(),
            headers={"Authorization": f"Bearer {TOKEN}", "Content-Type": form},
        )
        try:
            return urllib.request.urlopen(request, context=self._context, timeout=2 * PATIENCE_S)
        except urllib.error.HTTPError as error:
            raise RefusedError(error.read().decode()) from None


def _path(kind: str, namespace: str) -> str:
    plural, version = GROUPS[kind]
    root = "/api" if version == "v1" else "/apis"
    return f"{root}/{version}" + (f"/namespaces/{namespace}" if namespace else "") + f"/{plural}"


def _free_port() -> int:
    with contextlib.closing(socket.socket()) as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


# What a cluster has before anything is installed.

OPERATORS = {  # kind -> plural and group; what they are in full is the operators' own
    "ServiceMonitor": ("servicemonitors", "monitoring.coreos.com", "v1"),
    "PodMonitor": ("podmonitors", "monitoring.coreos.com", "v1"),
    "PrometheusRule": ("prometheusrules", "monitoring.coreos.com", "v1"),
    "Certificate": ("certificates", "cert-manager.io", "v1"),
    "ScheduledSparkApplication": (
        "scheduledsparkapplications",
        "sparkoperator.k8s.io",
        "v1beta2",
    ),
}


def definitions() -> Iterator[Object]:
    """That there are such kinds."""
    for kind, (plural, group, version) in OPERATORS.items():
        schema = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
        yield {
            "apiVersion": "apiextensions.k8s.io/v1",
            "kind": "CustomResourceDefinition",
            "metadata": {
                "name": f"{plural}.{group}",
                "annotations": {"api-approved.kubernetes.io": "unapproved, of the operator"},
            },
            "spec": {
                "group": group,
                "scope": "Namespaced",
                "names": {"kind": kind, "plural": plural, "singular": kind.lower()},
                "versions": [
                    {
                        "name": version,
                        "served": True,
                        "storage": True,
                        "schema": {"openAPIV3Schema": schema},
                    }
                ],
            },
        }


def furnish(cluster: Kubernetes, *, nodes: int, volumes: int) -> None:
    """Nodes that say that they are ready, and volumes that any of them could mount."""
    for made in definitions():
        cluster.create(made)
    for name in ("standard", "fast"):
        cluster.create(
            {
                "apiVersion": "storage.k8s.io/v1",
                "kind": "StorageClass",
                "metadata": {
                    "name": name,
                    "annotations": {
                        "storageclass.kubernetes.io/is-default-class": str(
                            name == "standard"
                        ).lower()
                    },
                },
                "provisioner": "kubernetes.io/no-provisioner",
                "volumeBindingMode": "WaitForFirstConsumer",
                "allowVolumeExpansion": True,
            }
        )
    high = {"metadata": {"name": "high"}, "value": 1000}
    cluster.create({"apiVersion": "scheduling.k8s.io/v1", "kind": "PriorityClass", **high})
    for number in range(volumes):
        cluster.create(
            {
                "apiVersion": "v1",
                "kind": "PersistentVolume",
                "metadata": {"name": f"volume-{number}"},
                "spec": {
                    "storageClassName": "standard",
                    "capacity": {"storage": "100Gi"},
                    "accessModes": ["ReadWriteOnce"],
                    "hostPath": {"path": f"/volumes/{number}"},
                },
            }
        )
    for number in range(nodes):
        _add_node(cluster, f"node-{number}")


def _add_node(cluster: Kubernetes, name: str) -> None:
    room = {"cpu": "8", "memory": "16Gi", "pods": "100"}
    cluster.create(
        {
            "apiVersion": "v1",
            "kind": "Node",
            "metadata": {"name": name, "labels": {"kubernetes.io/hostname": name}},
        }
    )
    ready = [{"type": "Ready", "status": "True"}]
    status = {"capacity": room, "allocatable": room, "conditions": ready}
    cluster.patch("Node", name, {"status": status}, part="status")
    cluster.patch("Node", name, {"spec": {"taints": None}})
