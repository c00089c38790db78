"""The chart as the real helm binary renders it: one scenario an option, whole objects compared."""

import importlib
import pathlib
import subprocess
from typing import Any

import pytest
import yaml

from gateway.config import load

from .conftest import CHART, Helm, Render, missing
from .scenarios import SCENARIOS

NAME = "rel-amqp-gateway"
DATA = {"name": "data", "persistentVolumeClaim": {"claimName": f"data-{NAME}-0"}}
TMP = {"name": "tmp", "emptyDir": {"sizeLimit": "10Gi"}}
FOLLOWING = SCENARIOS["following"]
# What they are is the operators' own: tests/helm/cluster has the API server look at them.
OF_OPERATORS = (
    *("ServiceMonitor", "PodMonitor", "PrometheusRule", "Certificate"),
    "ScheduledSparkApplication",
)
EACH = pytest.mark.parametrize("values", SCENARIOS.values(), ids=SCENARIOS)


def configuration(objects: dict[tuple[str, str], dict[str, Any]]) -> dict[str, Any]:
    loaded: dict[str, Any] = yaml.safe_load(objects["ConfigMap", NAME]["data"]["gateway.yaml"])
    return loaded


def container(objects: dict[tuple[str, str], dict[str, Any]]) -> dict[str, Any]:
    found: dict[str, Any] = objects["StatefulSet", NAME]["spec"]["template"]["spec"]["containers"][
        0
    ]
    return found


def job_pod(objects: dict[tuple[str, str], dict[str, Any]], job: str) -> dict[str, Any]:
    if job == "follow":
        found: dict[str, Any] = objects["Deployment", f"{NAME}-{job}"]["spec"]
    else:
        found = objects["CronJob", f"{NAME}-{job}"]["spec"]["jobTemplate"]["spec"]
    pod: dict[str, Any] = found["template"]["spec"]
    return pod


def run_job(
    objects: dict[tuple[str, str], dict[str, Any]], job: str, root: pathlib.Path, code: int = 0
) -> tuple[int, list[str]]:
    """Run the job's script with `root` for its volume: its exit code, and what it asked for."""
    (found,) = job_pod(objects, job)["containers"]
    (script,) = found["args"]
    program = root / "amqp-gateway"
    program.write_text(f'#!/bin/sh\nprintf "%s\\n" "$@"\nexit {code}\n')
    program.chmod(0o755)
    script = script.replace("/var/lib/amqp-gateway/", f"{root}/")
    done = subprocess.run(
        [*found["command"], script.replace("/var/lib/amqp-gateway\n", f"{root}/.\n")],
        capture_output=True,
        text=True,
        check=False,
        env={"PATH": f"{root}:/usr/bin:/bin"},
    )
    assert done.stderr == ""
    return done.returncode, done.stdout.splitlines()


@EACH
def test_neither_linter_has_anything_to_say(
    helm: Helm, helm_4: Helm, tmp_path: pathlib.Path, values: dict[str, Any]
) -> None:
    chosen = tmp_path / "values.yaml"
    chosen.write_text(yaml.safe_dump(values))
    for each in (helm, helm_4):
        done = each("lint", "--strict", str(CHART), "--values", str(chosen))
        assert done.returncode == 0, done.stdout + done.stderr


@EACH
def test_the_newest_helm_makes_the_same_of_it(
    render: Render, helm_4: Helm, tmp_path: pathlib.Path, values: dict[str, Any]
) -> None:
    chosen = tmp_path / "values.yaml"
    chosen.write_text(yaml.safe_dump(values))
    done = helm_4("template", "rel", str(CHART), "--namespace", "ns", "--values", str(chosen))
    assert done.returncode == 0, done.stderr
    made = [each for each in yaml.safe_load_all(done.stdout) if each]
    assert {(each["kind"], each["metadata"]["name"]): each for each in made} == render(**values)


@pytest.fixture(scope="module")
def kubernetes_validate() -> Any:
    """The package of that name, which has the schemas."""
    try:
        return importlib.import_module("kubernetes_validate")
    except ImportError:
        missing("kubernetes-validate")


@EACH
@pytest.mark.parametrize("kubernetes", ["1.25", "1.37"])
def test_every_object_is_valid_for_the_oldest_and_the_newest_kubernetes(
    render: Render, kubernetes_validate: Any, values: dict[str, Any], kubernetes: str
) -> None:
    for (kind, _name), made in render(**values).items():
        if kind not in OF_OPERATORS:
            kubernetes_validate.validate(made, kubernetes, strict=True)


def test_the_default_is_one_stateful_pod_with_two_services(render: Render) -> None:
    assert sorted(render()) == [
        ("ConfigMap", NAME),
        ("NetworkPolicy", NAME),
        ("Pod", NAME + "-test"),
        ("PodDisruptionBudget", NAME),
        ("Service", NAME),
        ("Service", NAME + "-headless"),
        ("ServiceAccount", NAME),
        ("StatefulSet", NAME),
    ]


def test_the_default_lets_nobody_in_without_a_name(render: Render) -> None:
    assert configuration(render()) == {
        "listen": {"amqp": "0.0.0.0:5672"},
        "admin": "0.0.0.0:9672",
        "data_directory": "/var/lib/amqp-gateway/data",
        "former_data_directory": "/var/lib/amqp-gateway",
        "anonymous": False,
        "reload_interval": "10s",
        "users_file": "/etc/amqp-gateway/users/users.yaml",
    }


@pytest.mark.parametrize(("qpidd", "key"), [(False, "file"), (True, "qpidd_file")])
def test_access_rules_come_from_a_config_map(render: Render, qpidd: bool, key: str) -> None:
    objects = render(access={"existingConfigMap": "rules", "key": "r.yaml", "qpidd": qpidd})
    assert configuration(objects)["access"] == {key: "/etc/amqp-gateway/access/r.yaml"}
    mount = {"name": "access", "mountPath": "/etc/amqp-gateway/access", "readOnly": True}
    assert mount in container(objects)["volumeMounts"]
    volumes = objects["StatefulSet", NAME]["spec"]["template"]["spec"]["volumes"]
    assert {"name": "access", "configMap": {"name": "rules"}} in volumes


def test_a_keytab_lets_principals_in_and_kerberos_has_where_to_write(render: Render) -> None:
    objects = render(
        kerberos={"existingSecret": "my-keytab", "key": "gateway.keytab"},
        config={"gssapi": {"realm": "EXAMPLE.ORG", "users": {"ops/admin@EXAMPLE.ORG": "root"}}},
        extraEnv=[{"name": "KRB5_CONFIG", "value": "/etc/amqp-gateway/kerberos/krb5.conf"}],
    )
    assert configuration(objects)["gssapi"] == {
        "keytab": "/etc/amqp-gateway/kerberos/gateway.keytab",
        "realm": "EXAMPLE.ORG",
        "users": {"ops/admin@EXAMPLE.ORG": "root"},
    }
    found = container(objects)
    assert found["env"][1:] == [
        {"name": "KRB5RCACHEDIR", "value": "/tmp"},
        {"name": "KRB5_CONFIG", "value": "/etc/amqp-gateway/kerberos/krb5.conf"},
    ]
    mount = {"name": "kerberos", "mountPath": "/etc/amqp-gateway/kerberos", "readOnly": True}
    assert mount in found["volumeMounts"]
    assert {"name": "tmp", "mountPath": "/tmp"} in found["volumeMounts"]
    volumes = objects["StatefulSet", NAME]["spec"]["template"]["spec"]["volumes"]
    secret = {"secretName": "my-keytab", "defaultMode": 0o440}
    assert {"name": "kerberos", "secret": secret} in volumes


def test_an_admin_secret_lets_ctl_in(render: Render) -> None:
    objects = render(admin={"existingSecret": "my-admin", "key": "ctl"})
    assert configuration(objects)["admin_token_file"] == "/etc/amqp-gateway/admin/ctl"
    assert {"name": "admin", "mountPath": "/etc/amqp-gateway/admin", "readOnly": True} in container(
        objects
    )["volumeMounts"]
    volumes = objects["StatefulSet", NAME]["spec"]["template"]["spec"]["volumes"]
    assert {"name": "admin", "secret": {"secretName": "my-admin", "defaultMode": 0o440}} in volumes


def test_closed_books_are_in_the_volume_and_their_keys_in_a_config_map(render: Render) -> None:
    books = {"enabled": True, "existingConfigMap": "my-keys", "key": "books.pem"}
    objects = render(audit={"books": books}, config={"audit": {"keep_age": "30d"}})
    assert configuration(objects)["audit"] == {
        "keep_age": "30d",
        "books": "/var/lib/amqp-gateway/books",
        "book_keys_file": "/etc/amqp-gateway/books/books.pem",
    }
    mount = {"name": "books", "mountPath": "/etc/amqp-gateway/books", "readOnly": True}
    assert mount in container(objects)["volumeMounts"]
    volumes = objects["StatefulSet", NAME]["spec"]["template"]["spec"]["volumes"]
    assert {"name": "books", "configMap": {"name": "my-keys"}} in volumes


def test_a_signing_secret_has_the_audit_log_signed_and_trusted_keys_are_reconciled_with(
    render: Render,
) -> None:
    audit = {
        "signingKey": {"existingSecret": "my-key", "key": "key.pem"},
        "trustedKeys": {"existingConfigMap": "my-keys"},
    }
    objects = render(
        audit=audit, reconcile={"enabled": True}, config={"audit": {"seal_interval": "5s"}}
    )
    assert configuration(objects)["audit"] == {
        "seal_interval": "5s",
        "signing_key_file": "/etc/amqp-gateway/signing/key.pem",
    }
    mount = {"name": "signing", "mountPath": "/etc/amqp-gateway/signing", "readOnly": True}
    assert mount in container(objects)["volumeMounts"]
    volumes = objects["StatefulSet", NAME]["spec"]["template"]["spec"]["volumes"]
    assert {"name": "signing", "secret": {"secretName": "my-key", "defaultMode": 0o440}} in volumes
    job = job_pod(objects, "reconcile")
    (reconciling,) = job["containers"]
    (script,) = reconciling["args"]
    assert script.rstrip().endswith("--trust '/etc/amqp-gateway/trusted/keys.pem'")
    assert {"name": "trusted", "configMap": {"name": "my-keys"}} in job["volumes"]


def test_without_a_users_secret_and_with_anonymous_everybody_comes_in(render: Render) -> None:
    configured = configuration(render(users={"existingSecret": ""}, anonymous=True))
    assert configured["anonymous"] is True
    assert "users_file" not in configured


def test_the_chart_decides_over_the_values_where_it_mounts(render: Render) -> None:
    configured = configuration(render(config={"data_directory": "/elsewhere", "strict": True}))
    assert configured["data_directory"] == "/var/lib/amqp-gateway/data"
    assert configured["strict"] is True


@pytest.mark.parametrize(
    ("keep_plain", "listens", "named"),
    [
        (False, {"amqp": None, "amqps": "0.0.0.0:5671"}, ["amqps"]),
        (True, {"amqp": "0.0.0.0:5672", "amqps": "0.0.0.0:5671"}, ["amqp", "amqps"]),
    ],
)
def test_a_tls_secret_opens_one_port_in_place_of_the_other_everywhere(
    render: Render, keep_plain: bool, listens: dict[str, str | None], named: list[str]
) -> None:
    tls = {"existingSecret": "my-tls", "verifyClients": True, "keepPlain": keep_plain}
    objects = render(tls=tls)
    assert configuration(objects)["listen"] == listens
    assert configuration(objects)["tls"] == {
        "certificate": "/etc/amqp-gateway/tls/tls.crt",
        "key": "/etc/amqp-gateway/tls/tls.key",
        "client_ca": "/etc/amqp-gateway/tls/ca.crt",
    }
    assert [port["name"] for port in container(objects)["ports"]] == [*named, "admin"]
    for service in (NAME, NAME + "-headless"):
        ports = [port["name"] for port in objects["Service", service]["spec"]["ports"]]
        assert ports == [*named, "admin"]
    allowed = objects["NetworkPolicy", NAME]["spec"]["ingress"][0]["ports"]
    assert [each["port"] for each in allowed] == named


def test_what_upstreams_need_is_mounted_where_the_configuration_can_name_it(
    render: Render,
) -> None:
    upstream = {
        "hosts": ["amqps://broker.example:5671"],
        "profile": "artemis",
        "username": "gateway",
        "password_file": "/etc/amqp-gateway/upstreams/password",
    }
    objects = render(
        upstreams={"existingSecret": "my-upstreams"},
        config={"upstreams": {"broker": upstream}, "nodes": [{"queue": "*", "upstream": "broker"}]},
    )
    assert configuration(objects)["upstreams"] == {"broker": upstream}
    assert {
        "name": "upstreams",
        "mountPath": "/etc/amqp-gateway/upstreams",
        "readOnly": True,
    } in container(objects)["volumeMounts"]
    volumes = objects["StatefulSet", NAME]["spec"]["template"]["spec"]["volumes"]
    assert {
        "name": "upstreams",
        "secret": {"secretName": "my-upstreams", "defaultMode": 0o440},
    } in volumes


def test_the_pod_is_given_longer_to_stop_than_the_drain_takes(render: Render) -> None:
    pod = render()["StatefulSet", NAME]["spec"]["template"]["spec"]
    drain_timeout_s, close_timeout_s = 25, 2
    assert pod["terminationGracePeriodSeconds"] > drain_timeout_s + close_timeout_s


def test_a_changed_configuration_may_restart_the_pod(render: Render) -> None:
    def stamp(**values: object) -> str:
        template = render(restartOnChange=True, **values)["StatefulSet", NAME]["spec"]["template"]
        found: str = template["metadata"]["annotations"]["checksum/config"]
        return found

    assert stamp() != stamp(config={"strict": True})
    assert stamp() == stamp(podLabels={"team": "payments"})


def test_without_restart_on_change_the_pod_stays_whatever_changes(render: Render) -> None:
    def pod(**values: object) -> dict[str, Any]:
        objects = render(**values)
        found: dict[str, Any] = objects["StatefulSet", NAME]["spec"]["template"]
        return found

    assert "annotations" not in pod()["metadata"]
    assert pod() == pod(config={"strict": True})
    assert pod(podAnnotations={"a": "b"})["metadata"]["annotations"] == {"a": "b"}


def test_the_configuration_is_mounted_as_a_directory_which_a_running_pod_sees_change(
    render: Render,
) -> None:
    found = container(render())
    mounts = {each["name"]: each for each in found["volumeMounts"]}
    assert mounts["config"] == {
        "name": "config",
        "mountPath": "/etc/amqp-gateway/config",
        "readOnly": True,
    }
    assert found["args"] == ["serve", "--config", "/etc/amqp-gateway/config/gateway.yaml"]
    paths = [pathlib.PurePath(each["mountPath"]) for each in found["volumeMounts"]]
    assert not any(one in other.parents for one in paths for other in paths)


def test_the_reconciliation_runs_where_the_volume_is(render: Render) -> None:
    pod = job_pod(render(reconcile={"enabled": True}), "reconcile")
    assert pod["volumes"] == [DATA, TMP]
    (container,) = pod["containers"]
    assert container["volumeMounts"] == [
        {"name": "data", "mountPath": "/var/lib/amqp-gateway", "readOnly": True},
        {"name": "data", "mountPath": "/var/lib/amqp-gateway-reports", "subPath": "reports"},
        {"name": "tmp", "mountPath": "/tmp"},
    ]


@pytest.mark.parametrize(
    ("stores", "log"),
    [
        (["data"], "data/audit"),
        ([], "data/audit"),
        (["."], "./audit"),
        ([".", "data"], "data/audit"),
    ],
)
@pytest.mark.parametrize("job", ["reconcile", "close"])
def test_the_jobs_read_the_log_where_the_gateway_has_it(
    render: Render, tmp_path: pathlib.Path, job: str, stores: list[str], log: str
) -> None:
    for store in stores:
        (tmp_path / store).mkdir(exist_ok=True)
        (tmp_path / store / "store.sqlite").touch()
    objects = render(reconcile={"enabled": True}, auditClose={"enabled": True})
    _ended, asked = run_job(objects, job, tmp_path)
    command = {"reconcile": ["reconcile"], "close": ["audit", "close"]}[job]
    assert asked[: len(command) + 1] == [*command, f"{tmp_path}/{log}"]
    settings = load(
        None,
        [f"data_directory={tmp_path}/data", f"former_data_directory={tmp_path}"],
    )
    assert settings.data_directory / "audit" == tmp_path / log


def test_the_reconciliation_has_the_arguments_that_are_given(
    render: Render, tmp_path: pathlib.Path
) -> None:
    more = ["--push=http://pushgateway:9091", "--require-final"]
    objects = render(reconcile={"enabled": True, "arguments": more})
    _ended, asked = run_job(objects, "reconcile", tmp_path)
    assert asked[2:] == [
        *("--out", "/var/lib/amqp-gateway-reports", "--keep", "168"),
        *("--master", "local[2]", *more),
    ]


def test_instead_of_a_schedule_one_pod_follows_the_log_with_its_state_in_the_volume(
    render: Render, tmp_path: pathlib.Path
) -> None:
    scheduled = job_pod(render(reconcile={"enabled": True}), "reconcile")
    more = {"follow": {"enabled": True, "seconds": 10}, "arguments": ["--require-final"]}
    objects = render(reconcile={"enabled": True, **more}, auditClose={"enabled": True})
    assert [name for kind, name in objects if kind == "CronJob"] == [f"{NAME}-close"]
    spec = objects["Deployment", f"{NAME}-follow"]["spec"]
    assert (spec["replicas"], spec["strategy"]) == (1, {"type": "Recreate"})
    assert spec["selector"]["matchLabels"].items() <= spec["template"]["metadata"]["labels"].items()
    pod = job_pod(objects, "follow")
    assert pod["terminationGracePeriodSeconds"] == 120
    assert "restartPolicy" not in pod
    for each in ("affinity", "securityContext", "volumes"):
        assert pod[each] == scheduled[each]
    for each in ("image", "resources", "securityContext", "volumeMounts"):
        assert pod["containers"][0][each] == scheduled["containers"][0][each]
    _ended, asked = run_job(objects, "follow", tmp_path)
    assert asked == [
        *("reconcile", f"{tmp_path}/data/audit"),
        *("--out", "/var/lib/amqp-gateway-reports", "--keep", "168"),
        *("--master", "local[2]", "--require-final"),
        *("--state", "/var/lib/amqp-gateway-reports/following", "--follow", "10"),
    ]


def test_books_are_closed_in_the_volume_with_a_key_that_the_gateway_does_not_have(
    render: Render, tmp_path: pathlib.Path
) -> None:
    objects = render(
        audit={
            "trustedKeys": {"existingConfigMap": "my-keys"},
            "books": {"enabled": True, "existingConfigMap": "auditors", "key": "auditors.pem"},
        },
        auditClose={
            "enabled": True,
            "schedule": "5 4 * * *",
            "signingKey": {"existingSecret": "auditor", "key": "key.pem"},
            "arguments": ["--late-after=3600"],
        },
    )
    _ended, asked = run_job(objects, "close", tmp_path)
    assert asked[3:] == [
        *("--books", "/var/lib/amqp-gateway-books"),
        *("--state", "/var/lib/amqp-gateway-closing/state"),
        *("--out", "/var/lib/amqp-gateway-closing/report", "--keep", "31"),
        *("--master", "local[2]"),
        *("--late-after=3600", "--key", "/etc/amqp-gateway/books-key/key.pem"),
        *("--trust", "/etc/amqp-gateway/trusted/keys.pem"),
        *("--trust", "/etc/amqp-gateway/books/auditors.pem"),
    ]
    cron = objects["CronJob", NAME + "-close"]["spec"]
    assert (cron["schedule"], cron["concurrencyPolicy"]) == ("5 4 * * *", "Forbid")
    pod = job_pod(objects, "close")
    (closing,) = pod["containers"]
    assert closing["image"].startswith("amqp-gateway-accounting:")
    assert closing["volumeMounts"] == [
        {"name": "data", "mountPath": "/var/lib/amqp-gateway", "readOnly": True},
        {"name": "data", "mountPath": "/var/lib/amqp-gateway-books", "subPath": "books"},
        {"name": "data", "mountPath": "/var/lib/amqp-gateway-closing", "subPath": "closing"},
        {"name": "tmp", "mountPath": "/tmp"},
        {"name": "books-key", "mountPath": "/etc/amqp-gateway/books-key", "readOnly": True},
        {"name": "trusted", "mountPath": "/etc/amqp-gateway/trusted", "readOnly": True},
        {"name": "books", "mountPath": "/etc/amqp-gateway/books", "readOnly": True},
    ]
    assert pod["volumes"] == [
        DATA,
        TMP,
        {"name": "books-key", "secret": {"secretName": "auditor", "defaultMode": 0o440}},
        {"name": "trusted", "configMap": {"name": "my-keys"}},
        {"name": "books", "configMap": {"name": "auditors"}},
    ]
    # Where the gateway looks for them.
    assert configuration(objects)["audit"]["books"] == "/var/lib/amqp-gateway/books"
    assert "'auditor'" not in str(objects["StatefulSet", NAME])


def test_both_jobs_are_for_themselves_and_where_the_volume_is(
    render: Render, tmp_path: pathlib.Path
) -> None:
    objects = render(reconcile={"enabled": True}, auditClose={"enabled": True})
    reconciling, closing = job_pod(objects, "reconcile"), job_pod(objects, "close")
    for each in ("affinity", "securityContext", "restartPolicy", "volumes"):
        assert closing[each] == reconciling[each]
    written = [
        {mount["subPath"] for mount in pod["containers"][0]["volumeMounts"] if "subPath" in mount}
        for pod in (reconciling, closing)
    ]
    assert written == [{"reports"}, {"books", "closing"}]


def test_a_long_name_leaves_jobs_the_52_characters_that_theirs_may_have(render: Render) -> None:
    name = "n" * 60
    jobs = {"reconcile": {"enabled": True}, "auditClose": {"enabled": True}}
    found = [each for kind, each in render(fullnameOverride=name, **jobs) if kind == "CronJob"]
    assert sorted(found) == ["n" * 42 + "-reconcile", "n" * 46 + "-close"]
    assert {len(each) for each in found} == {52}
    assert ("Deployment", "n" * 40 + "-follow") in render(fullnameOverride=name, **FOLLOWING)


@pytest.mark.parametrize("job", ["reconcile", "close"])
@pytest.mark.parametrize("code", [0, 1, 3])
def test_a_job_ends_as_its_command_does_and_is_not_tried_again(
    render: Render, tmp_path: pathlib.Path, job: str, code: int
) -> None:
    objects = render(reconcile={"enabled": True}, auditClose={"enabled": True})
    assert run_job(objects, job, tmp_path, code=code)[0] == code
    spec = objects["CronJob", f"{NAME}-{job}"]["spec"]["jobTemplate"]["spec"]
    assert (spec["backoffLimit"], spec["template"]["spec"]["restartPolicy"]) == (0, "Never")


def test_metrics_may_want_a_token_and_the_admin_port_may_speak_https(render: Render) -> None:
    objects = render(
        admin={"existingSecret": "my-admin", "metricsKey": "seen"},
        serviceMonitor={"enabled": True, "tlsConfig": {"serverName": "gateway"}},
        tls={"existingSecret": "my-tls"},
        config={"admin_tls": True},
    )
    configured = configuration(objects)
    assert configured["metrics_token_file"] == "/etc/amqp-gateway/admin/seen"
    assert configured["admin_tls"] is True
    (endpoint,) = objects["ServiceMonitor", NAME]["spec"]["endpoints"]
    assert endpoint["scheme"] == "https"
    assert endpoint["tlsConfig"] == {"serverName": "gateway"}
    assert endpoint["authorization"] == {"credentials": {"name": "my-admin", "key": "seen"}}
    for probe in ("startupProbe", "livenessProbe", "readinessProbe"):
        assert container(objects)[probe]["httpGet"]["scheme"] == "HTTPS"
