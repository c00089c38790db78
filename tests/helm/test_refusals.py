"""What the chart refuses before anything is installed, and that it says why."""

import pathlib
import shutil
from typing import Any

import pytest
import yaml

from .conftest import CHART, Helm, Refusal
from .scenarios import ELSEWHERE, PODS, SPARK


@pytest.mark.parametrize(
    ("values", "told"),
    [
        ({"users": {"existingSecret": ""}}, "nobody could connect: set users.existingSecret"),
        ({"tls": {"verifyClients": True}}, "tls.verifyClients needs tls.existingSecret"),
        ({"kerberos": {"existingSecret": "tab"}}, "kerberos needs config.gssapi.realm"),
        (
            {"serviceMonitor": {"enabled": True}, "podMonitor": {"enabled": True}},
            "each pod would be scraped twice",
        ),
        (
            {
                "persistence": {"accessModes": ["ReadWriteOncePod"]},
                "reconcile": {"enabled": True},
            },
            "which it makes impossible; say ReadWriteOnce",
        ),
        (
            {"upstreams": {"tls": {"main": {"existingSecret": "theirs"}}}},
            "upstreams.tls.main is of no upstream in config.upstreams",
        ),
        ({"tls": {"certificate": {"create": True}}}, "needs an issuerRef"),
        (
            {"reconcile": {"enabled": True, "runner": "submit", "spark": SPARK}},
            "reconcile.runner needs reconcile.log",
        ),
        ({"reconcile": {**ELSEWHERE, "out": ""}}, "reconcile.log needs reconcile.out"),
        ({"replicas": 2}, "which needs config.group"),
        (
            {**PODS, "persistence": {"existingClaim": "one"}},
            "persistence.existingClaim is one volume",
        ),
        ({"reconcile": {**ELSEWHERE, "runner": "operator"}}, "needs reconcile.spark.image"),
        ({"reconcile": {**ELSEWHERE, "follow": {"enabled": True}}}, "reconcile.follow follows"),
    ],
)
def test_what_could_not_run_is_refused(refusal: Refusal, values: dict[str, Any], told: str) -> None:
    assert told in refusal(**values)


@pytest.mark.parametrize(
    ("reconcile", "told"),
    [
        ({"follow": {"enabled": True}}, "reconcile.follow.enabled needs reconcile.enabled"),
        (
            {"enabled": True, "follow": {"enabled": True}, "arguments": ["--state=/elsewhere"]},
            "reconcile.arguments has --state=/elsewhere, which reconcile.follow says itself",
        ),
        ({"enabled": True, "follow": {"enabled": True, "seconds": 0}}, "seconds"),
    ],
)
def test_what_cannot_be_followed_so_is_refused_before_anything_is_installed(
    refusal: Refusal, reconcile: dict[str, Any], told: str
) -> None:
    assert told in refusal(reconcile=reconcile)


@pytest.mark.parametrize(
    "audit",
    [
        {"trustedKeys": {"existingConfigMap": "my-keys"}},
        {"books": {"enabled": True, "existingConfigMap": "auditors"}},
    ],
)
def test_books_that_nobody_would_believe_are_refused_before_anything_is_installed(
    refusal: Refusal, audit: dict[str, Any]
) -> None:
    assert "auditClose.signingKey.existingSecret is needed" in refusal(
        audit=audit, auditClose={"enabled": True}
    )


@pytest.mark.parametrize(
    ("values", "named"),
    [
        ({"config": {"no_such_key": 1}}, "no_such_key"),
        ({"service": {"amqpPort": "many"}}, "amqpPort"),
        ({"nonsense": True}, "nonsense"),
    ],
)
def test_values_that_the_schema_does_not_know_are_refused_by_name(
    refusal: Refusal, values: dict[str, Any], named: str
) -> None:
    assert named in refusal(**values)


@pytest.mark.parametrize("enabled", [True, False])
def test_a_parent_chart_may_have_a_condition_and_values_for_all(
    helm: Helm, tmp_path: pathlib.Path, enabled: bool
) -> None:
    shutil.copytree(CHART, tmp_path / "charts" / "amqp-gateway")
    version = yaml.safe_load((CHART / "Chart.yaml").read_text())["version"]
    needed = {"name": "amqp-gateway", "version": version, "condition": "amqp-gateway.enabled"}
    parent = {"apiVersion": "v2", "name": "parent", "version": "1.0.0", "dependencies": [needed]}
    (tmp_path / "Chart.yaml").write_text(yaml.safe_dump(parent))
    values = {"amqp-gateway": {"enabled": enabled}, "global": {"imageRegistry": "registry.example"}}
    (tmp_path / "values.yaml").write_text(yaml.safe_dump(values))
    done = helm("template", "rel", str(tmp_path))
    assert done.returncode == 0, done.stderr
    assert ("kind: StatefulSet" in done.stdout) == enabled
